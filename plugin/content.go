package plugin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/internal/filename"
	"github.com/plugberth/plugberth/internal/filetree"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/paths"
)

// content is the files of a package in memory. It is immutable once collected.
type content struct {
	files []contentFile // by path
	dirs  []string      // that hold nothing, by path
}

type contentFile struct {
	path string
	exec bool
	data []byte
}

// sums returns what the content hash is made of.
func (c *content) sums() []fileSum {
	out := make([]fileSum, len(c.files))
	for i, f := range c.files {
		out[i] = fileSum{f.path, f.exec, sha256.Sum256(f.data)}
	}
	return out
}

// collector gathers the content of a package within bounds, and refuses names
// that do not mean the same everywhere.
type collector struct {
	ctx    context.Context
	bounds Bounds
	budget int64 // bytes that all files together may have
	why    string
	count  int
	total  int64
	top    entryNode
	out    content
}

func newCollector(ctx context.Context, bounds Bounds) *collector {
	c := &collector{ctx: ctx, bounds: bounds.withDefaults()}
	c.top.dir = true
	c.limit(c.bounds.Total, "the files have more than %d bytes together")
	return c
}

// limit bounds the bytes of all files together.
func (c *collector) limit(n int64, why string) { c.budget, c.why = n, why }

// entryNode is one name of the package, in the tree of its directories.
type entryNode struct {
	name     string
	dir      bool
	explicit bool
	below    map[string]*entryNode // by what the name is where letter case does not count
}

// enter takes down a name, which must be new and portable, and the directories
// that it stands in.
func (c *collector) enter(name string, dir bool) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if flaw := filename.PathFlaw(name); flaw != "" {
		return entryError(ErrEntry, name, "%s", flaw)
	}
	node := &c.top
	for rest := name; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		last := rest == ""
		key := filename.Key(part)
		next := node.below[key]
		switch {
		case next == nil:
			if c.count++; c.count > c.bounds.Entries {
				return entryError(ErrBounds, name, "there are more than %d files and directories", c.bounds.Entries)
			}
			next = &entryNode{name: part, dir: dir || !last}
			if node.below == nil {
				node.below = map[string]*entryNode{}
			}
			node.below[key] = next
		case next.name != part:
			return entryError(ErrEntry, name, "it differs from another name in letter case or Unicode form alone")
		case !last && !next.dir, last && next.dir != dir:
			return entryError(ErrEntry, name, "it is a file and a directory")
		case last && next.explicit:
			return entryError(ErrEntry, name, "it stands twice")
		}
		if node = next; last {
			node.explicit = true
		}
	}
	return nil
}

// addDir adds a directory, which may turn out to hold something.
func (c *collector) addDir(name string) error { return c.enter(name, true) }

// addFile adds a file and reads its content; size is what it is said to have.
func (c *collector) addFile(name string, exec bool, size int64, r io.Reader) error {
	if err := c.enter(name, false); err != nil {
		return err
	}
	data, err := c.read(name, size, r)
	if err != nil {
		return err
	}
	c.out.files = append(c.out.files, contentFile{name, exec, data})
	return nil
}

// maxHint bounds how much is allocated because a file claims to be large.
const maxHint = 64 << 20

// read reads a file within the bounds.
func (c *collector) read(name string, size int64, r io.Reader) ([]byte, error) {
	limit := min(c.bounds.File, c.budget-c.total)
	over := func() error {
		if limit == c.bounds.File {
			return entryError(ErrBounds, name, "the file has more than %d bytes", c.bounds.File)
		}
		return entryError(ErrBounds, name, c.why, c.budget)
	}
	if size > limit {
		return nil, over()
	}
	// A size that is not kept ends the collecting, so this much is in vain once.
	buf := make([]byte, 0, min(max(size, 0), maxHint)+1)
	for {
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, max(512, len(buf)/2))
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), len(buf)+1<<20)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, over()
		case err == io.EOF:
			c.total += int64(len(buf))
			return buf[:len(buf):len(buf)], nil
		case err != nil:
			return nil, err
		}
	}
}

// addTree adds the files of a file system below a prefix, with links counted as
// what they lead to. What skip says is left out.
func (c *collector) addTree(fsys fs.FS, prefix string, skip func(name string) bool) error {
	return filetree.Walk(c.ctx, fsys, c.bounds.Entries, func(e filetree.Entry) error {
		name := path.Join(prefix, e.Path)
		switch {
		case skip != nil && skip(e.Path):
			return nil
		case e.Dir:
			return c.addDir(name)
		}
		return c.addFile(name, e.Exec, e.Size, e.File)
	})
}

// treeError makes an error of a walk one of this package's kinds.
func treeError(err error) error {
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		return err
	}
	switch {
	case errors.Is(err, ErrBounds), errors.Is(err, ErrEntry):
		return pe.Err // it says which entry
	case errors.Is(err, filetree.ErrTooMany), errors.Is(err, paths.ErrTooLarge):
		return entryError(ErrBounds, pe.Path, "%w", pe.Err)
	}
	for _, cause := range []error{paths.ErrEscape, paths.ErrDangling, paths.ErrNotRegular, paths.ErrTooLong, filetree.ErrCycle, filetree.ErrTooDeep, fs.ErrInvalid} {
		if errors.Is(err, cause) {
			return entryError(ErrEntry, pe.Path, "%w", pe.Err)
		}
	}
	return fmt.Errorf("plugin: %s: %w", printable.Quote(pe.Path), pe.Err)
}

// finish returns what was collected.
func (c *collector) finish() *content {
	c.emptyDirs("", &c.top)
	slices.Sort(c.out.dirs)
	slices.SortFunc(c.out.files, func(a, b contentFile) int { return cmp.Compare(a.path, b.path) })
	return &c.out
}

func (c *collector) emptyDirs(prefix string, node *entryNode) {
	for _, next := range node.below {
		switch {
		case next.dir && len(next.below) == 0:
			c.out.dirs = append(c.out.dirs, prefix+next.name)
		case next.dir:
			c.emptyDirs(prefix+next.name+"/", next)
		}
	}
}
