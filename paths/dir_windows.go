package paths

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"
)

// nonBlock: opening does not wait on Windows.
const nonBlock = 0

var systemWalker = walker{
	lstat: func(p string) (fs.FileMode, error) {
		info, err := os.Lstat(p)
		if err != nil {
			return 0, err
		}
		mode := info.Mode().Type()
		if mode&fs.ModeIrregular != 0 {
			if _, err := os.Readlink(p); err == nil {
				mode = fs.ModeSymlink // a junction
			}
		}
		return mode, nil
	},
	readlink: os.Readlink,
	join:     func(dir, name string) string { return filepath.Join(dir, name) },
	parent:   func(p string) (string, error) { return filepath.Dir(p), nil },
	split: func(p string) []string {
		p = p[len(filepath.VolumeName(p)):]
		return strings.FieldsFunc(p, func(r rune) bool { return r == '/' || r == '\\' })
	},
	root: func(target, at string) string {
		switch {
		case filepath.IsAbs(target):
			return filepath.VolumeName(target) + `\`
		case target != "" && os.IsPathSeparator(target[0]):
			return filepath.VolumeName(at) + `\` // on the drive of the link
		}
		return ""
	},
	missing: func(err error) bool {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) ||
			errors.Is(err, errInvalidName) || errors.Is(err, errDirectory)
	},
}

const (
	errInvalidName  = syscall.Errno(123)  // ERROR_INVALID_NAME
	errDirectory    = syscall.Errno(267)  // ERROR_DIRECTORY
	errCannotFollow = syscall.Errno(1921) // ERROR_CANT_RESOLVE_FILENAME: too many links
)

// resolveSystem decides on the final path of an opened handle, since junctions
// and other reparse points count; only what is missing is walked by name.
// Windows applies ".." before it looks at the disk, and so does this.
func resolveSystem(base, name string, inside func(string) bool) (resolved, error) {
	name = filepath.Clean(filepath.FromSlash(name))
	full := filepath.Join(base, name)
	final, err := finalPath(full)
	if errors.Is(err, errCannotFollow) {
		return resolved{}, ErrLoop
	}
	if err != nil {
		if !systemWalker.missing(err) {
			return resolved{}, err
		}
		return systemWalker.walk(base, name, inside)
	}
	info, err := os.Lstat(final)
	if err != nil {
		return resolved{}, err
	}
	return resolved{path: final, mode: info.Mode().Type(), exists: true, linked: final != full}, nil
}

func resolveRoot(abs string) (string, error) { return finalPath(abs) }

var getFinalPathName = syscall.NewLazyDLL("kernel32.dll").NewProc("GetFinalPathNameByHandleW")

// finalPath opens what is at p, all links followed, and asks for its path.
func finalPath(p string) (string, error) {
	name, err := syscall.UTF16PtrFromString(p)
	if err != nil {
		return "", err
	}
	h, err := syscall.CreateFile(name, 0,
		syscall.FILE_SHARE_READ|syscall.FILE_SHARE_WRITE|syscall.FILE_SHARE_DELETE,
		nil, syscall.OPEN_EXISTING, syscall.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return "", &fs.PathError{Op: "open", Path: p, Err: err}
	}
	defer syscall.CloseHandle(h)
	buf := make([]uint16, 512)
	for {
		n, _, err := getFinalPathName.Call(uintptr(h), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0)
		if n == 0 {
			return "", &fs.PathError{Op: "resolve", Path: p, Err: err}
		}
		if int(n) < len(buf) {
			break
		}
		buf = make([]uint16, n+1)
	}
	final := syscall.UTF16ToString(buf)
	if rest, ok := strings.CutPrefix(final, `\\?\UNC\`); ok {
		return `\\` + rest, nil
	}
	return strings.TrimPrefix(final, `\\?\`), nil
}
