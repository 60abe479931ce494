package main

import (
	"bytes"
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

// installDemo puts the demo package together in one directory and installs it in
// another, as a host installs what it has downloaded: judged first, and then at once
// and whole.
func installDemo(ctx context.Context, build, dir string) error {
	if err := buildDemo(build); err != nil {
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
	pkg, err := draft.Build(ctx, plugin.BuildOptions{})
	if err != nil {
		return err
	}
	return pkg.WriteDir(ctx, dir, plugin.WriteOptions{})
}

// buildDemo writes the files of the demo package. The program of its server is this
// one, which is there already.
func buildDemo(dir string) error {
	files, err := fs.Sub(demoFiles, "demo")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	if runtime.GOOS != "windows" {
		return copySelf(filepath.Join(dir, "bin"), "changes")
	}
	config, err := fs.ReadFile(files, "mcp.json")
	if err != nil {
		return err
	}
	config = bytes.Replace(config, []byte("./bin/changes"), []byte("./bin/changes.exe"), 1)
	if err := os.WriteFile(filepath.Join(dir, "mcp.json"), config, 0o644); err != nil {
		return err
	}
	return copySelf(filepath.Join(dir, "bin"), "changes.exe")
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
