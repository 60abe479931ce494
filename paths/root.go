package paths

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Root is a directory that nothing read through it can leave. The zero value
// is unusable: every method of it fails. A Root keeps no handle open between
// calls, needs no closing and is safe for concurrent use; of a Root made by
// [New] that is so if its file system is.
type Root struct {
	t tree
}

// tree is what a directory and an fs.FS have to do for a Root. Names are
// slash-separated and relative; those that openers take are link-free.
type tree interface {
	// resolve follows all links of name. It fails with ErrEscape, ErrLoop or
	// the system's error; something missing is no error.
	resolve(name string) (Location, error)
	// openFile opens a regular file or directory, never blocking, never
	// following a link: then it fails with errLink.
	openFile(name string) (fs.File, error)
	// appendFile appends a regular file's content to buf, under the same rules.
	appendFile(buf []byte, name string, limit int64) ([]byte, error)
	// exact reports whether the directory lists an entry of just that name,
	// given that something is found under it.
	exact(ctx context.Context, dir, base string) (bool, error)
	// hold keeps what the calls above need open until release.
	hold() (release func(), err error)
	// dir is the absolute path of the root, empty where it has none.
	dir() string
}

var (
	errLink = errors.New("a link stands on the path")
	// errNoRoot is for the zero Root; it is an fs.ErrInvalid.
	errNoRoot error = &kin{"the root was not opened", fs.ErrInvalid}
)

// attempts is how often a path that changes under our feet is tried again.
const attempts = 4

// Open returns the Root for a directory. The path is made absolute and its own
// links are followed. It fails with fs.ErrInvalid for an empty path or one with a
// NUL, with [ErrNotDirectory], and with the system's error, such as
// fs.ErrNotExist.
func Open(dir string) (*Root, error) {
	if dir == "" || strings.ContainsRune(dir, 0) {
		return nil, pathError("open", dir, fs.ErrInvalid)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	t, err := openDir(abs)
	if err != nil {
		return nil, err
	}
	return &Root{t}, nil
}

// New returns a Root for a file system. Its root must be a directory. It fails
// with fs.ErrInvalid for a nil file system, with [ErrNotDirectory] and with the
// file system's error.
func New(fsys fs.FS) (*Root, error) {
	if fsys == nil {
		return nil, &kin{"paths: the file system is nil", fs.ErrInvalid}
	}
	info, err := fs.Stat(fsys, ".")
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, pathError("open", ".", ErrNotDirectory)
	}
	return &Root{newFSTree(fsys)}, nil
}

func (r *Root) tree() (tree, error) {
	if r == nil || r.t == nil {
		return nil, errNoRoot
	}
	return r.t, nil
}

// Dir returns the absolute, resolved path of the root's directory, or "" for a
// Root made of an fs.FS.
func (r *Root) Dir() string {
	if t, err := r.tree(); err == nil {
		return t.dir()
	}
	return ""
}

// Hold keeps one handle on the directory open until release is called. Calls
// made meanwhile cost less, and open nothing in another directory that takes
// its place, though they may fail then. Of a Root made by [New] they may not
// notice entries that appear meanwhile. Calls of Hold nest; release may be
// called again and does nothing then.
func (r *Root) Hold() (release func(), err error) {
	t, err := r.tree()
	if err != nil {
		return nil, err
	}
	return t.hold()
}

// Resolve follows name from the root, component by component, all links
// included (AP §4.1). From the first missing component on the rest is applied
// lexically, and what is there at the resulting path must be contained too,
// though the location counts as missing. It fails with [ErrEscape] where the
// result lies outside, with [ErrLoop] on a loop of links, with [ErrTooLong], and
// with the system's error where a component cannot be looked at. A name is
// relative and may begin with "./"; on Windows a backslash separates too.
func (r *Root) Resolve(name string) (Location, error) {
	t, err := r.tree()
	if err != nil {
		return Location{}, err
	}
	if !validName(name) {
		return Location{}, pathError("resolve", name, fs.ErrInvalid)
	}
	loc, err := t.resolve(name)
	if err != nil {
		return Location{}, pathError("resolve", name, err)
	}
	return loc, nil
}

// validName reports whether name can be resolved at all.
func validName(name string) bool {
	return !strings.ContainsRune(name, 0) && !path.IsAbs(name)
}

// find calls open with a link-free name for name: with name itself first, and
// where that meets a link, with what it resolves to.
func (r *Root) find(op, name string, open func(t tree, name string) error) error {
	t, err := r.tree()
	if err != nil {
		return err
	}
	release, err := t.hold()
	if err != nil {
		return err
	}
	defer release()
	direct := open(t, name)
	if direct == nil {
		return nil
	}
	// A link stands on the way, or the error may be that of something outside.
	for range attempts {
		loc, err := t.resolve(name)
		switch {
		case err != nil:
		case !loc.exists:
			err = loc.absence()
		case !loc.linked && direct != errLink:
			err = direct
		default:
			err = open(t, loc.name)
		}
		if err == nil {
			return nil
		}
		if err != errLink {
			return pathError(op, name, err)
		}
	}
	return pathError(op, name, ErrChanged)
}

// Open implements fs.FS: it opens a regular file or a directory inside the
// root, links followed. It fails with [ErrEscape], [ErrNotRegular],
// [ErrDangling], [ErrChanged] or the system's error.
func (r *Root) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, pathError("open", name, fs.ErrInvalid)
	}
	var file fs.File
	err := r.find("open", name, func(t tree, name string) (err error) {
		file, err = t.openFile(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Stat implements fs.StatFS: it describes the regular file or directory that
// name resolves to, and fails as [Root.Open] does.
func (r *Root) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, pathError("stat", name, fs.ErrInvalid)
	}
	file, err := r.Open(name)
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	defer file.Close()
	return file.Stat()
}

// ReadDir implements fs.ReadDirFS: the entries sorted by name, links shown as
// links. Use [Root.List] where a directory may be of any size.
func (r *Root) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, _, err := r.List(context.Background(), name, 0)
	return entries, err
}

// List returns the first max entries of a directory in the order of their
// names, and whether there were more; a max of 0 or less means all of them. It
// keeps no more than twice max entries in memory, and those that it has just
// read. It ends with the context's error when that ends.
func (r *Root) List(ctx context.Context, name string, max int) (entries []fs.DirEntry, more bool, err error) {
	file, err := r.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	byName := func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }
	err = eachEntry(ctx, file, func(e fs.DirEntry) error {
		entries = append(entries, e)
		if max > 0 && len(entries)/2 >= max {
			slices.SortFunc(entries, byName)
			clear(entries[max:])
			entries, more = entries[:max], true
		}
		return nil
	})
	if err != nil {
		return nil, false, pathError("readdir", name, err)
	}
	slices.SortFunc(entries, byName)
	if max > 0 && len(entries) > max {
		entries, more = entries[:max], true
	}
	return entries, more, nil
}

// ReadFile implements fs.ReadFileFS. It reads files of any size; use
// [Root.AppendFile] for one that somebody else wrote.
func (r *Root) ReadFile(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, pathError("read", name, fs.ErrInvalid)
	}
	return r.AppendFile(nil, name, 1<<62)
}

// AppendFile appends the content of a regular file to buf and returns the
// result. It fails with [ErrTooLarge], before reading where the size is known,
// if there are more than limit bytes, and else as [Root.Open] does. The name
// is one as [Root.Resolve] takes it; it need not be UTF-8.
func (r *Root) AppendFile(buf []byte, name string, limit int64) ([]byte, error) {
	if !validName(name) {
		return buf, pathError("read", name, fs.ErrInvalid)
	}
	out := buf
	err := r.find("read", name, func(t tree, name string) (err error) {
		out, err = t.appendFile(buf, name, limit)
		return err
	})
	if err != nil {
		return buf, err
	}
	return out, nil
}

// Exact reports whether the last component of name, which has been found, is
// spelled in its directory exactly so. On a file system that ignores letter
// case "skill.md" is found as "SKILL.md" too, but is not exact. The root itself
// is. It ends with the context's error when that ends.
func (r *Root) Exact(ctx context.Context, name string) (bool, error) {
	t, err := r.tree()
	if err != nil {
		return false, err
	}
	if !validName(name) {
		return false, pathError("readdir", name, fs.ErrInvalid)
	}
	release, err := t.hold()
	if err != nil {
		return false, err
	}
	defer release()
	if path.Clean(name) == "." {
		return true, nil
	}
	dir, base := path.Split(strings.TrimRight(name, "/"))
	dir = strings.TrimSuffix(dir, "/")
	if dir == "" {
		dir = "."
	}
	ok, err := t.exact(ctx, dir, base)
	if errors.Is(err, errLink) {
		var loc Location
		if loc, err = t.resolve(dir); err == nil {
			ok, err = t.exact(ctx, loc.name, base)
		}
	}
	if err != nil {
		return false, pathError("readdir", dir, err)
	}
	return ok, nil
}

// listed reports whether a directory, opened as file, has an entry name.
func listed(ctx context.Context, file fs.File, name string) (found bool, err error) {
	err = eachEntry(ctx, file, func(e fs.DirEntry) error {
		if e.Name() == name {
			found = true
			return io.EOF
		}
		return nil
	})
	if err == io.EOF {
		err = nil
	}
	return found, err
}

// eachEntry calls visit for the entries of a directory, opened as file, until
// that fails or the context ends.
func eachEntry(ctx context.Context, file fs.File, visit func(fs.DirEntry) error) error {
	dir, ok := file.(fs.ReadDirFile)
	if !ok {
		return ErrNotDirectory
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch, err := dir.ReadDir(1024)
		for _, e := range batch {
			if err := visit(e); err != nil {
				return err
			}
		}
		if err == io.EOF || err == nil && len(batch) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// maxHint bounds how much is allocated because a file claims to be large.
const maxHint = 1 << 20

// readLimited appends what file holds to buf; size is a hint, which a hostile
// archive chooses.
func readLimited(buf []byte, file io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return buf, ErrTooLarge
	}
	start := len(buf)
	buf = slices.Grow(buf, int(min(max(size, 0), maxHint))+1)
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, 512)
		}
		n, err := file.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)-start) > limit {
			return buf[:start], ErrTooLarge
		}
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf[:start], err
		}
	}
}
