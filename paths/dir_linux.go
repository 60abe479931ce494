package paths

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// dirTree reads a directory on Linux by openat2, or where that is missing by
// openat, component by component, and never through a link, which is proof of
// containment by itself and costs about half of what os.Root does.
type dirTree struct {
	path string
	old  atomic.Bool // openat2 is missing or forbidden

	mu    sync.Mutex
	holds int
	fd    int
}

func (d *dirTree) dir() string { return d.path }

func (d *dirTree) hold() (func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds == 0 {
		fd, err := open(func() (int, error) {
			return syscall.Open(d.path, passFlags, 0)
		})
		if err != nil {
			return nil, pathError("open", d.path, err)
		}
		d.fd = fd
	}
	d.holds++
	return sync.OnceFunc(d.release), nil
}

func (d *dirTree) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds--; d.holds == 0 {
		syscall.Close(d.fd)
	}
}

func (d *dirTree) resolve(name string) (Location, error) { return within(d.path, name) }

// open repeats a system call that a signal interrupted.
func open(call func() (int, error)) (int, error) {
	for {
		fd, err := call()
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// oPath is O_PATH, which syscall does not have: it asks for no permission and
// opens nothing, also no device. It is the same wherever Go runs on Linux.
const oPath = 0x200000

const (
	atFlags   = oPath | syscall.O_NOFOLLOW | syscall.O_CLOEXEC
	passFlags = atFlags | syscall.O_DIRECTORY // to pass through a directory
	dirFlags  = syscall.O_RDONLY | syscall.O_DIRECTORY | syscall.O_NOFOLLOW | syscall.O_CLOEXEC
)

// openAt opens name without following links. It fails with errLink where one
// may stand in the way, and where name is not one that resolving gives.
func (d *dirTree) openAt(name string, flags int) (int, error) {
	if !d.old.Load() {
		fd, err := open(func() (int, error) { return openat2(d.fd, name, flags) })
		switch err {
		case syscall.ENOSYS, syscall.EPERM, syscall.EINVAL:
			d.old.Store(true) // sandboxes answer EPERM; no file here can
		case syscall.ELOOP, syscall.ENOTDIR, syscall.EXDEV, syscall.EAGAIN:
			return -1, errLink // O_DIRECTORY says ENOTDIR of a link
		default:
			return fd, err
		}
	}
	return d.walkAt(name, flags)
}

// walkAt is openAt by openat alone.
func (d *dirTree) walkAt(name string, flags int) (int, error) {
	parent := d.fd
	for {
		first, rest, more := strings.Cut(name, "/")
		use := flags
		if more {
			use = passFlags
		}
		fd, err := -1, errLink
		if first != ".." && first != "" {
			fd, err = open(func() (int, error) { return syscall.Openat(parent, first, use, 0) })
		}
		if parent != d.fd {
			syscall.Close(parent)
		}
		switch {
		case err == syscall.ELOOP, err == syscall.ENOTDIR:
			return -1, errLink
		case err != nil:
			return -1, err
		case !more:
			return fd, nil
		}
		parent, name = fd, rest
	}
}

// kindAt looks at name before it is opened: opening a device can have effects.
func (d *dirTree) kindAt(name string) (uint32, error) {
	var st syscall.Stat_t
	p := d.path
	if name != "." {
		p = systemWalker.join(p, name)
	}
	for {
		err := syscall.Lstat(p, &st)
		if err == syscall.EINTR {
			continue
		}
		if err == syscall.ENOTDIR || err == syscall.ELOOP {
			err = errLink
		}
		return st.Mode & syscall.S_IFMT, err
	}
}

// openKind opens name if it is of a kind that may be opened, and makes sure of
// that again afterwards.
func (d *dirTree) openKind(name string, dirs bool) (fd int, st syscall.Stat_t, err error) {
	kind, err := d.kindAt(name)
	if err != nil {
		return -1, st, err
	}
	flags := syscall.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW | syscall.O_CLOEXEC
	switch {
	case kind == syscall.S_IFLNK:
		return -1, st, errLink
	case kind == syscall.S_IFREG:
	case kind == syscall.S_IFDIR && dirs:
		flags = dirFlags
	default:
		return -1, st, ErrNotRegular
	}
	if fd, err = d.openAt(name, flags); err != nil {
		return -1, st, err
	}
	if err = syscall.Fstat(fd, &st); err == nil && st.Mode&syscall.S_IFMT != kind {
		err = ErrNotRegular
	}
	if err != nil {
		syscall.Close(fd)
		return -1, st, err
	}
	return fd, st, nil
}

func (d *dirTree) openFile(name string) (fs.File, error) {
	fd, st, err := d.openKind(name, true)
	if err != nil {
		return nil, err
	}
	if st.Mode&syscall.S_IFMT == syscall.S_IFREG {
		if err := syscall.SetNonblock(fd, false); err != nil {
			syscall.Close(fd)
			return nil, err
		}
	}
	file := os.NewFile(uintptr(fd), path.Join(d.path, name))
	if st.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		return &dirFile{file, d, name}, nil
	}
	return file, nil
}

// dirFile is an open directory. The entries that os.File lists look for their
// FileInfo by path, through any link that took the directory's place; these do
// not.
type dirFile struct {
	fs.ReadDirFile
	tree *dirTree
	name string
}

func (f *dirFile) ReadDir(n int) ([]fs.DirEntry, error) {
	entries, err := f.ReadDirFile.ReadDir(n)
	for i, e := range entries {
		entries[i] = &dirEntry{e, f}
	}
	return entries, err
}

type dirEntry struct {
	fs.DirEntry
	dir *dirFile
}

func (e *dirEntry) Info() (fs.FileInfo, error) {
	d, name := e.dir.tree, path.Join(e.dir.name, e.Name())
	release, err := d.hold()
	if err != nil {
		return nil, err
	}
	defer release()
	fd, err := d.openAt(name, atFlags)
	if err == errLink {
		err = ErrChanged
	}
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	return file.Stat()
}

func (d *dirTree) appendFile(buf []byte, name string, limit int64) ([]byte, error) {
	fd, st, err := d.openKind(name, false)
	if err != nil {
		return buf, err
	}
	defer syscall.Close(fd)
	return readLimited(buf, &fdReader{fd: fd, size: st.Size}, st.Size, limit)
}

// fdReader reads a descriptor of a regular file. It ends where the file ended
// when it was opened, which saves a call; some files of the kernel claim to be
// empty and are read to their end.
type fdReader struct {
	fd         int
	size, read int64
}

func (r *fdReader) Read(p []byte) (int, error) {
	if r.size > 0 && r.read >= r.size {
		return 0, io.EOF
	}
	for {
		n, err := syscall.Read(r.fd, p)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		r.read += int64(n)
		return n, nil
	}
}

// exact asks for another spelling first: where that finds nothing, the file
// system tells letters apart and what was found has the very name.
func (d *dirTree) exact(ctx context.Context, dir, base string) (bool, error) {
	other := swapCase(base)
	if other != base {
		if _, err := d.kindAt(dir + "/" + other); errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
	}
	file, err := d.openFile(dir)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return listed(ctx, file, base)
}

// swapCase changes the letter case of the first ASCII letter.
func swapCase(s string) string {
	for i := range len(s) {
		if c := s[i] | 0x20; c >= 'a' && c <= 'z' {
			return s[:i] + string(rune(s[i]^0x20)) + s[i+1:]
		}
	}
	return s
}
