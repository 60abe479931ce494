package paths

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// fsTree serves any fs.FS. Links are followed only where they can be read.
type fsTree struct {
	fsys fs.FS
}

func (t fsTree) dir() string { return "" }

func (t fsTree) hold() (func(), error) { return func() {}, nil }

func (t fsTree) walker() *walker {
	return &walker{
		lstat: func(p string) (fs.FileMode, error) {
			mode, err := t.lstat(p)
			if _, ok := t.fsys.(fs.ReadLinkFS); !ok && mode&fs.ModeSymlink != 0 {
				mode = fs.ModeIrregular // a link that cannot be read is no file
			}
			return mode, err
		},
		readlink: func(p string) (string, error) { return fs.ReadLink(t.fsys, p) },
		join:     func(dir, name string) string { return path.Join(dir, name) },
		parent: func(p string) (string, error) {
			if p == "." {
				return "", ErrEscape
			}
			return path.Dir(p), nil
		},
		split:   func(p string) []string { return strings.Split(p, "/") },
		root:    func(string) string { return "" },
		missing: func(err error) bool { return errors.Is(err, fs.ErrNotExist) },
	}
}

// lstat returns the type of the entry at p, which has no links before it.
func (t fsTree) lstat(p string) (fs.FileMode, error) {
	if !fs.ValidPath(p) {
		return 0, fs.ErrInvalid
	}
	if p == "." {
		return fs.ModeDir, nil
	}
	if links, ok := t.fsys.(fs.ReadLinkFS); ok {
		info, err := links.Lstat(p)
		if err != nil {
			return 0, err
		}
		return info.Mode().Type(), nil
	}
	// Stat would follow links: only a listing tells.
	entries, err := fs.ReadDir(t.fsys, path.Dir(p))
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if e.Name() == path.Base(p) {
			return e.Type(), nil
		}
	}
	return 0, fs.ErrNotExist
}

func (t fsTree) resolve(name string) (Location, error) {
	w := t.walker()
	readlink := w.readlink
	w.readlink = func(p string) (string, error) {
		target, err := readlink(p)
		if err == nil && (path.IsAbs(target) || strings.ContainsRune(target, 0)) {
			return "", ErrEscape // nothing in a file system is absolute
		}
		return target, err
	}
	at, err := w.walk(".", name, func(string) bool { return true })
	if err != nil {
		return Location{}, err
	}
	return Location{name: at.path, mode: at.mode, exists: at.exists, linked: at.linked}, nil
}

// openKind opens name if it is of a kind that may be opened.
func (t fsTree) openKind(name string, dirs bool) (fs.File, fs.FileInfo, error) {
	loc, err := t.resolve(name)
	switch {
	case err != nil:
		return nil, nil, err
	case !loc.exists:
		return nil, nil, loc.absence()
	case !loc.mode.IsRegular() && (!dirs || !loc.mode.IsDir()):
		return nil, nil, ErrNotRegular
	}
	file, err := t.fsys.Open(loc.name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().Type() != loc.mode {
		err = ErrNotRegular
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func (t fsTree) openFile(name string) (fs.File, error) {
	file, _, err := t.openKind(name, true)
	return file, err
}

func (t fsTree) appendFile(buf []byte, name string, limit int64) ([]byte, error) {
	file, info, err := t.openKind(name, false)
	if err != nil {
		return buf, err
	}
	defer file.Close()
	return readLimited(buf, file, info.Size(), limit)
}

func (t fsTree) exact(dir, base string) (bool, error) {
	loc, err := t.resolve(dir)
	if err != nil {
		return false, err
	}
	file, err := t.fsys.Open(loc.name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return listed(file, base)
}
