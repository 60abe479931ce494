package main

import (
	"context"
	"embed"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/plugberth/plugberth/plugin"
)

//go:embed all:demo
var demoFiles embed.FS

// packages are the directories of the packages to use: those of the command line, or
// the demo, which is installed in dir.
func (set *settings) packages(ctx context.Context, dir string) ([]string, error) {
	if set.plugins == nil {
		demo := filepath.Join(dir, "release-desk")
		return []string{demo}, installDemo(ctx, filepath.Join(dir, "build"), demo)
	}
	var dirs []string
	for _, dir := range set.plugins {
		found, err := packagesIn(dir)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, found...)
	}
	return dirs, nil
}

// packagesIn returns the directory itself, if it has a plugin.json, or those in it.
func packagesIn(dir string) ([]string, error) {
	if _, err := os.Lstat(filepath.Join(dir, "plugin.json")); err == nil {
		return []string{dir}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		below := filepath.Join(dir, e.Name())
		if info, err := os.Stat(below); err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			found = append(found, below)
		}
	}
	return found, nil
}

// installDemo builds the demo package in one directory and installs it in another, as
// a host installs what it has downloaded: judged first, and then at once and whole.
func installDemo(ctx context.Context, build, dir string) error {
	files, err := fs.Sub(demoFiles, "demo")
	if err != nil {
		return err
	}
	if err := os.CopyFS(build, files); err != nil {
		return err
	}
	// The program of its server is this one, so that a compiler need not be there.
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	if err := copySelf(filepath.Join(build, "bin"), "changes"+suffix); err != nil {
		return err
	}
	source, err := plugin.Load(ctx, build, plugin.Options{})
	if err != nil {
		return err
	}
	draft, err := source.Draft(ctx)
	if err != nil {
		return err
	}
	draft.Servers[0].Stdio.Command += suffix
	pkg, err := draft.Build(ctx, plugin.BuildOptions{})
	if err != nil {
		return err
	}
	return pkg.WriteDir(ctx, dir, plugin.WriteOptions{})
}

// copySelf makes a directory with a copy of this program.
func copySelf(dir, name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := os.Open(self)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// tempDir makes a directory for all that this program writes. Its path has no links,
// so that it can be told in others.
func tempDir() (string, error) {
	dir, err := os.MkdirTemp("", "plugberth-host-")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}
