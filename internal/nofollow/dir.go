// Package nofollow reads and writes below a directory without following links.
//
// An os.Root keeps what is done through it inside its directory, but follows
// links that stay inside, and so may write into, or remove from, a directory
// other than the one that was meant. Here every directory on the way is opened
// by itself and must be the very directory that stands under its name, and only
// regular files are read.
package nofollow

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/internal/filelock"
	"github.com/plugberth/plugberth/paths"
)

// ErrLink: a link or something else that is no directory, or no regular file,
// stands where one is needed.
var ErrLink = errors.New("a link or something of another kind stands in its place")

// tempSuffix ends the names of files that are not complete yet.
const tempSuffix = ".plugberth-tmp"

// Dir is an open directory. Names are single components. Safe for concurrent
// use as os.Root is.
type Dir struct{ root *os.Root }

// Open opens the directory at a path of the host, whose own links are followed.
func Open(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{root}, nil
}

// Close closes the directory.
func (d *Dir) Close() error { return d.root.Close() }

func check(op, name string) error {
	bad := "/\x00"
	if runtime.GOOS == "windows" {
		bad = "/\\:\x00"
	}
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, bad) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return nil
}

// Lstat describes an entry.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	if err := check("lstat", name); err != nil {
		return nil, err
	}
	return d.root.Lstat(name)
}

// Self describes the directory itself.
func (d *Dir) Self() (fs.FileInfo, error) { return d.root.Stat(".") }

// Open opens a directory in d. It fails with [ErrLink] for anything else, with
// paths.ErrChanged where something took the directory's place meanwhile, and
// with fs.ErrNotExist.
func (d *Dir) Open(name string) (*Dir, error) {
	before, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrLink}
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	now, err := root.Stat(".")
	if err == nil && !os.SameFile(before, now) {
		err = &fs.PathError{Op: "open", Path: name, Err: paths.ErrChanged}
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return &Dir{root}, nil
}

// Make opens a directory in d, which it makes where there is none.
func (d *Dir) Make(name string, perm fs.FileMode) (dir *Dir, made bool, err error) {
	if err := check("mkdir", name); err != nil {
		return nil, false, err
	}
	err = d.root.Mkdir(name, perm)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, false, err
	}
	made = err == nil
	dir, err = d.Open(name)
	return dir, made && err == nil, err
}

// List returns the entries, sorted by name. It fails with paths.ErrTooLarge
// where there are more than max.
func (d *Dir) List(max int) ([]fs.DirEntry, error) {
	file, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var list []fs.DirEntry
	for {
		batch, err := file.ReadDir(1024)
		list = append(list, batch...)
		if len(list) > max {
			return nil, &fs.PathError{Op: "readdir", Path: ".", Err: paths.ErrTooLarge}
		}
		if err == io.EOF || err == nil && len(batch) == 0 {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// open opens a regular file.
func (d *Dir) open(name string, flags int) (*os.File, fs.FileInfo, error) {
	before, err := d.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "open", Path: name, Err: ErrLink}
	}
	file, err := d.root.OpenFile(name, flags|nonBlock, 0)
	if err != nil {
		return nil, nil, err
	}
	now, err := file.Stat()
	if err == nil && !os.SameFile(before, now) {
		err = &fs.PathError{Op: "open", Path: name, Err: paths.ErrChanged}
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, now, nil
}

// ReadFile reads a regular file. It fails with [ErrLink] for anything else, and
// with paths.ErrTooLarge beyond limit bytes.
func (d *Dir) ReadFile(name string, limit int64) ([]byte, fs.FileInfo, error) {
	file, info, err := d.open(name, os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info.Size() > limit {
		return nil, nil, &fs.PathError{Op: "read", Path: name, Err: paths.ErrTooLarge}
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: paths.ErrTooLarge}
	}
	if err != nil {
		return nil, nil, err
	}
	return data, info, nil
}

// Create writes a file that must not exist.
func (d *Dir) Create(name string, data []byte, perm fs.FileMode) error {
	return d.create(name, data, perm, false)
}

func (d *Dir) create(name string, data []byte, perm fs.FileMode, sync bool) error {
	if err := check("create", name); err != nil {
		return err
	}
	file, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if sync && err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// OpenOrCreate opens a regular file to be locked.
func (d *Dir) OpenOrCreate(name string, perm fs.FileMode) (*os.File, error) {
	if err := d.Create(name, nil, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	file, _, err := d.open(name, os.O_RDWR)
	return file, err
}

// Replace writes a file as a whole: under a temporary name first, which then
// takes the place of what stands there. What a run that was interrupted left
// under the temporary name is removed. With sync the content is on the disk
// before it takes the place. It fails with [ErrLink] where something else than a
// regular file stands there.
func (d *Dir) Replace(name string, data []byte, perm fs.FileMode, sync bool) error {
	if err := d.regular("replace", name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.Forget(name); err != nil {
		return err
	}
	temp := name + tempSuffix
	err := d.create(temp, data, perm, sync)
	if err == nil {
		err = d.root.Rename(temp, name)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		d.root.Remove(temp)
	}
	return err
}

// regular reports what keeps an entry from being a regular file.
func (d *Dir) regular(op, name string) error {
	info, err := d.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: op, Path: name, Err: ErrLink}
	}
	return err
}

// Forget removes what a [Dir.Replace] that was interrupted left of a file. It
// fails with [ErrLink] where something else than a regular file stands there.
func (d *Dir) Forget(name string) error {
	temp := name + tempSuffix
	err := d.regular("remove", temp)
	if err == nil {
		err = d.root.Remove(temp)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// IsTemp reports whether name is that of a file which [Dir.Replace] did not
// complete.
func IsTemp(name string) bool { return strings.HasSuffix(name, tempSuffix) }

// Rename moves an entry within d to a name where nothing stands. Each name may
// have several components with slashes between them, whose directories are
// those that stand there at the time.
func (d *Dir) Rename(from, to string) error {
	for _, name := range []string{from, to} {
		for c := range strings.SplitSeq(name, "/") {
			if err := check("rename", c); err != nil {
				return err
			}
		}
	}
	if _, err := d.root.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
		}
		return err
	}
	return d.root.Rename(from, to)
}

// Lock keeps others who call it from the directory until release, without
// waiting: it reports false where one of them has it. Where the system cannot lock
// a directory, it lets everybody through.
func (d *Dir) Lock() (release func(), ok bool, err error) {
	if runtime.GOOS == "windows" {
		return func() {}, true, nil
	}
	file, err := d.root.Open(".")
	if errors.Is(err, fs.ErrPermission) {
		return func() {}, true, nil // it can be written to and not read
	}
	if err != nil {
		return nil, false, err
	}
	if ok, err := filelock.Try(file); err == nil && !ok {
		file.Close()
		return nil, false, nil
	}
	return func() { file.Close() }, true, nil
}

// Chmod changes the permissions of a regular file.
func (d *Dir) Chmod(name string, perm fs.FileMode) error {
	file, _, err := d.open(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Chmod(perm)
}

// Remove removes a file, a link or an empty directory.
func (d *Dir) Remove(name string) error {
	if err := check("remove", name); err != nil {
		return err
	}
	return d.root.Remove(name)
}
