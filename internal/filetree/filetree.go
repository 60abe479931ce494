// Package filetree goes through the files of a package: with links counted as
// what they lead to, inside one root, and never twice around.
package filetree

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/paths"
)

// Errors of [Walk], beside those of paths.
var (
	ErrTooMany = errors.New("there are more entries than the bound allows")
	ErrCycle   = errors.New("a link leads back into a directory that it stands in")
	ErrTooDeep = errors.New("directories are nested too deep")
)

// maxDepth bounds how deep directories may be nested.
const maxDepth = 128

// View is a directory of a root as a file system, without some of its entries.
// [Walk] follows links in it as far as the whole root.
type View struct {
	root *paths.Root
	dir  string
	omit map[string]bool
}

// NewView returns the view of the directory dir, resolved, of root. The omitted
// names are relative to dir; what is below them is left out too.
func NewView(root *paths.Root, dir string, omit ...string) *View {
	v := &View{root, dir, map[string]bool{}}
	for _, name := range omit {
		v.omit[name] = true
	}
	return v
}

func (v *View) omits(name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if v.omit[name] {
			return true
		}
	}
	return false
}

// Open implements fs.FS.
func (v *View) Open(name string) (fs.File, error) {
	switch {
	case !fs.ValidPath(name):
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	case v.omits(name):
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	file, err := v.root.Open(path.Join(v.dir, name))
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = &fs.PathError{Op: "open", Path: name, Err: pe.Err}
		}
		return nil, err
	}
	if dir, ok := file.(fs.ReadDirFile); ok {
		return &viewDir{dir, v, name}, nil
	}
	return file, nil
}

// viewDir is a directory without what the view omits.
type viewDir struct {
	fs.ReadDirFile
	v    *View
	name string
}

func (d *viewDir) ReadDir(n int) ([]fs.DirEntry, error) {
	for {
		list, err := d.ReadDirFile.ReadDir(n)
		full := len(list)
		list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return d.v.omit[path.Join(d.name, e.Name())] })
		if n <= 0 || err != nil || len(list) > 0 || full == 0 {
			return list, err
		}
	}
}

// Entry is a file, or a directory with nothing in it.
type Entry struct {
	Path string // slash-separated
	Dir  bool
	Exec bool    // one of the executable bits is set
	Size int64   // as the file system says
	File fs.File // open while the entry is visited, nil for a directory
}

// Walk visits the files and empty directories below a file system, at most max
// entries of them and of the directories that hold them. Links are followed
// inside the root where fsys is a *paths.Root, a *[View], or can read links; one
// that leads elsewhere or back, and anything that is neither file nor directory,
// is an error of type *fs.PathError with the path as it is walked. So is what
// visit returns, but for errors that are one already.
func Walk(ctx context.Context, fsys fs.FS, max int, visit func(Entry) error) error {
	w := walker{ctx: ctx, left: max, visit: visit}
	dir := "."
	switch f := fsys.(type) {
	case *paths.Root:
		w.root = f
	case *View:
		w.root, w.view, dir = f.root, f, f.dir
	default:
		root, err := paths.New(fsys)
		if err != nil {
			return err
		}
		w.root = root
	}
	release, err := w.root.Hold()
	if err != nil {
		return err
	}
	defer release()
	_, err = w.walk(dir, "")
	return err
}

type walker struct {
	ctx   context.Context
	root  *paths.Root
	view  *View // may be nil
	left  int
	open  []string // resolved directories on the way
	visit func(Entry) error
}

func fail(name string, err error) error {
	var pe *fs.PathError
	switch {
	case errors.As(err, &pe):
		err = pe.Err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return &fs.PathError{Op: "read", Path: name, Err: err}
}

// walk goes through the directory dir, resolved, whose entries appear below
// prefix. It reports how many there are.
func (w *walker) walk(dir, prefix string) (n int, err error) {
	here := strings.TrimSuffix(prefix, "/")
	if here == "" {
		here = "."
	}
	switch {
	case slices.Contains(w.open, dir):
		return 0, fail(here, ErrCycle)
	case len(w.open) >= maxDepth:
		return 0, fail(here, ErrTooDeep)
	}
	w.open = append(w.open, dir)
	defer func() { w.open = w.open[:len(w.open)-1] }()
	entries, more, err := w.root.List(w.ctx, dir, w.left+1)
	if ctxErr := w.ctx.Err(); ctxErr != nil {
		return 0, ctxErr
	}
	if err != nil {
		return 0, fail(here, err)
	}
	if more {
		return 0, fail(here, ErrTooMany)
	}
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return 0, err
		}
		name := prefix + e.Name()
		if w.view != nil && w.view.omit[name] {
			continue
		}
		n++
		if w.left--; w.left < 0 {
			return 0, fail(name, ErrTooMany)
		}
		if err := w.entry(path.Join(dir, e.Name()), name, e); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// entry looks at one entry, which stands at at.
func (w *walker) entry(at, name string, e fs.DirEntry) error {
	isDir := e.IsDir()
	if !isDir && !e.Type().IsRegular() {
		loc, err := w.root.Resolve(at)
		switch {
		case err != nil:
			return fail(name, err)
		case !loc.Exists():
			return fail(name, paths.ErrDangling)
		case !loc.IsDir() && !loc.IsRegular():
			return fail(name, paths.ErrNotRegular)
		}
		at, isDir = loc.Name(), loc.IsDir()
	}
	if isDir {
		n, err := w.walk(at, name+"/")
		if err != nil || n > 0 {
			return err
		}
		if err := w.visit(Entry{Path: name, Dir: true}); err != nil {
			return fail(name, err)
		}
		return nil
	}
	file, err := w.root.Open(at)
	if err != nil {
		return fail(name, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = paths.ErrNotRegular
	}
	if err == nil {
		err = w.visit(Entry{Path: name, Exec: info.Mode()&0o111 != 0, Size: info.Size(), File: file})
	}
	if err != nil {
		return fail(name, err)
	}
	return nil
}
