//go:build unix

package paths

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

var systemWalker = walker{
	lstat: func(p string) (fs.FileMode, error) {
		info, err := os.Lstat(p)
		if err != nil {
			return 0, err
		}
		return info.Mode().Type(), nil
	},
	readlink: os.Readlink,
	join: func(dir, name string) string {
		if dir == "/" {
			return dir + name
		}
		return dir + "/" + name
	},
	parent: func(p string) (string, error) { return filepath.Dir(p), nil },
	split:  func(p string) []string { return strings.Split(p, "/") },
	root: func(target, _ string) string {
		if strings.HasPrefix(target, "/") {
			return "/"
		}
		return ""
	},
	missing: func(err error) bool {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	},
}

func resolveSystem(base, name string, inside func(string) bool) (resolved, error) {
	return systemWalker.walk(base, name, inside)
}

func resolveRoot(abs string) (string, error) { return filepath.EvalSymlinks(abs) }
