//go:build !linux

package paths

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// dirTree reads a directory through os.Root, by the resolved name: os.Root
// keeps what is opened inside, even if a link takes its place meanwhile.
type dirTree struct {
	path string

	mu    sync.Mutex
	holds int
	root  *os.Root
}

func (d *dirTree) dir() string { return d.path }

func (d *dirTree) hold() (func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds == 0 {
		root, err := os.OpenRoot(d.path)
		if err != nil {
			return nil, err
		}
		// OpenRoot follows a link that took the directory's place.
		opened, err := root.Stat(".")
		if err == nil {
			var there fs.FileInfo
			if there, err = os.Lstat(d.path); err == nil && !os.SameFile(opened, there) {
				err = pathError("open", d.path, ErrChanged)
			}
		}
		if err != nil {
			root.Close()
			return nil, err
		}
		d.root = root
	}
	d.holds++
	return sync.OnceFunc(d.release), nil
}

func (d *dirTree) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds--; d.holds == 0 {
		d.root.Close()
		d.root = nil
	}
}

func (d *dirTree) resolve(name string) (Location, error) { return within(d.path, name) }

// escaped reports whether err is what os.Root says of a link that leads out. os
// gives that error no name, but always says it of "..".
func (d *dirTree) escaped(err error) bool {
	_, out := d.root.Stat("..")
	return errors.Is(err, errors.Unwrap(out))
}

// openKind opens name if it is link-free and of a kind that may be opened.
func (d *dirTree) openKind(name string, dirs bool) (*os.File, fs.FileInfo, error) {
	loc, err := d.resolve(name)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !loc.exists:
		return nil, nil, loc.absence()
	case !loc.mode.IsRegular() && (!dirs || !loc.mode.IsDir()):
		return nil, nil, ErrNotRegular
	}
	file, err := d.root.OpenFile(filepath.FromSlash(loc.name), os.O_RDONLY|nonBlock, 0)
	if err != nil && d.escaped(err) {
		err = errLink // put there since
	}
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

func (d *dirTree) openFile(name string) (fs.File, error) {
	file, _, err := d.openKind(name, true)
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (d *dirTree) appendFile(buf []byte, name string, limit int64) ([]byte, error) {
	file, info, err := d.openKind(name, false)
	if err != nil {
		return buf, err
	}
	defer file.Close()
	return readLimited(buf, file, info.Size(), limit)
}

func (d *dirTree) exact(ctx context.Context, dir, base string) (bool, error) {
	file, err := d.openFile(dir)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return listed(ctx, file, base)
}
