package paths

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// maxListing is how many entries of one directory are kept in memory.
const maxListing = 1 << 20

var errListing = fmt.Errorf("the directory has more than %d entries", maxListing)

// fsTree serves any fs.FS. Links are followed only where they can be read.
type fsTree struct {
	fsys  fs.FS
	links fs.ReadLinkFS // nil where links cannot be read

	mu       sync.Mutex
	holds    int
	listings map[string]map[string]fs.FileMode // by directory, while held; without links
}

func newFSTree(fsys fs.FS) *fsTree {
	links, ok := fsys.(fs.ReadLinkFS)
	if ok {
		// What fs.Sub returns always has the methods. Of a file system without
		// them its ReadLink says ErrInvalid of any name, and its Lstat follows
		// links.
		if _, err := links.ReadLink("no such entry"); errors.Is(err, fs.ErrInvalid) {
			links = nil
		}
	}
	return &fsTree{fsys: fsys, links: links}
}

func (t *fsTree) dir() string { return "" }

func (t *fsTree) hold() (func(), error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holds++
	return sync.OnceFunc(t.release), nil
}

func (t *fsTree) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holds--; t.holds == 0 {
		t.listings = nil
	}
}

// list returns the types of a directory's entries. They are kept until the
// last hold ends: every look at an entry asks for them.
func (t *fsTree) list(dir string) (map[string]fs.FileMode, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.listings[dir]; known != nil {
		return known, nil
	}
	file, err := t.fsys.Open(dir)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	types := map[string]fs.FileMode{}
	err = eachEntry(context.Background(), file, func(e fs.DirEntry) error {
		if len(types) == maxListing {
			return errListing
		}
		types[e.Name()] = e.Type()
		return nil
	})
	if err != nil {
		return nil, err
	}
	if t.holds > 0 {
		if t.listings == nil {
			t.listings = map[string]map[string]fs.FileMode{}
		}
		t.listings[dir] = types
	}
	return types, nil
}

func (t *fsTree) walker() *walker {
	return &walker{
		lstat:    t.lstat,
		readlink: t.readlink,
		join:     func(dir, name string) string { return path.Join(dir, name) },
		parent: func(p string) (string, error) {
			if p == "." {
				return "", ErrEscape
			}
			return path.Dir(p), nil
		},
		split:   func(p string) []string { return strings.Split(p, "/") },
		root:    func(string, string) string { return "" },
		missing: func(err error) bool { return errors.Is(err, fs.ErrNotExist) },
	}
}

// lstat returns the type of the entry at p, which has no links before it. A
// link that cannot be read is no file.
func (t *fsTree) lstat(p string) (fs.FileMode, error) {
	if !fs.ValidPath(p) {
		return 0, fs.ErrInvalid
	}
	if p == "." {
		return fs.ModeDir, nil
	}
	if t.links != nil {
		info, err := t.links.Lstat(p)
		if err != nil {
			return 0, err
		}
		return info.Mode().Type(), nil
	}
	// Stat would follow links: only a listing tells.
	types, err := t.list(path.Dir(p))
	if err != nil {
		return 0, err
	}
	mode, ok := types[path.Base(p)]
	switch {
	case !ok:
		return 0, fs.ErrNotExist
	case mode&fs.ModeSymlink != 0:
		return fs.ModeIrregular, nil
	}
	return mode, nil
}

func (t *fsTree) readlink(p string) (string, error) {
	target, err := t.links.ReadLink(p)
	if err == nil && (path.IsAbs(target) || strings.ContainsRune(target, 0)) {
		return "", ErrEscape // nothing in a file system is absolute
	}
	return target, err
}

func (t *fsTree) resolve(name string) (Location, error) {
	at, err := t.walker().walk(".", name, func(string) bool { return true })
	if err != nil {
		return Location{}, err
	}
	return Location{name: at.path, mode: at.mode, exists: at.exists, linked: at.linked, dangling: at.dangling}, nil
}

// openKind opens name if it is of a kind that may be opened.
func (t *fsTree) openKind(name string, dirs bool) (fs.File, fs.FileInfo, error) {
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

func (t *fsTree) openFile(name string) (fs.File, error) {
	file, _, err := t.openKind(name, true)
	return file, err
}

func (t *fsTree) appendFile(buf []byte, name string, limit int64) ([]byte, error) {
	file, info, err := t.openKind(name, false)
	if err != nil {
		return buf, err
	}
	defer file.Close()
	return readLimited(buf, file, info.Size(), limit)
}

func (t *fsTree) exact(ctx context.Context, dir, base string) (bool, error) {
	if t.links == nil {
		_, err := t.lstat(path.Join(dir, base)) // which looks into the listing
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
	file, err := t.openFile(dir)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return listed(ctx, file, base)
}
