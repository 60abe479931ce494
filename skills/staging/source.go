package staging

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/internal/filename"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/paths"
)

const skillFile = "SKILL.md"

// file is one file to be staged.
type file struct {
	path       string // relative to the skill's directory, slash-separated
	data       []byte
	executable bool
	sum        string
}

// reader collects the files of one skill.
type reader struct {
	ctx     context.Context
	item    Item
	limits  Limits
	fsys    fs.FS
	open    []fs.FileInfo     // directories on the way, to notice a link back
	seen    map[string]string // paths by their key
	entries int
	bytes   int64
	files   []file
	left    []LeftOut
}

// readSkill reads what is to be staged of a skill.
func readSkill(ctx context.Context, item Item, limits Limits) (*reader, error) {
	fsys, err := item.Skill.FS()
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, item: item, limits: limits, fsys: fsys, seen: map[string]string{}}
	info, err := fs.Stat(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("the skill's directory: %w", report.Innermost(err))
	}
	if err := r.directory(".", info, 0); err != nil {
		return nil, err
	}
	for _, f := range r.files {
		if f.path == skillFile {
			if !holds(f.data, item.Skill.Frontmatter()) {
				return nil, ErrSource
			}
			return r, nil
		}
	}
	return nil, ErrSource
}

// holds reports whether a SKILL.md still has the frontmatter that was judged.
func holds(content []byte, front string) bool {
	text := strings.TrimPrefix(string(content), "\ufeff")
	for {
		line, rest, ok := strings.Cut(text, "\n")
		text = rest
		switch {
		case isDelimiter(line):
			rest, ok = strings.CutPrefix(rest, front)
			line, _, _ = strings.Cut(rest, "\n")
			return ok && isDelimiter(line)
		case !ok || strings.Trim(line, " \t\r") != "":
			return false
		}
	}
}

// isDelimiter reports whether frontmatter begins or ends with that line.
func isDelimiter(line string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), "---")
	return ok && strings.TrimLeft(rest, " \t") == ""
}

// fault says what is wrong with a file of the skill.
func fault(name string, err error) error {
	return fmt.Errorf("%s: %w", printable.Quote(name), report.Innermost(err))
}

func (r *reader) directory(dir string, info fs.FileInfo, depth int) error {
	if depth > r.limits.Depth {
		return fmt.Errorf("%w: directories are nested deeper than %d", ErrLimit, r.limits.Depth)
	}
	for _, open := range r.open {
		if os.SameFile(open, info) {
			return fault(dir, paths.ErrLoop)
		}
	}
	r.open = append(r.open, info)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	entries, err := r.list(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := r.entry(path.Join(dir, e.Name()), e, depth); err != nil {
			return err
		}
	}
	return nil
}

// list returns the entries of a directory in the order of their names.
func (r *reader) list(dir string) ([]fs.DirEntry, error) {
	f, err := r.fsys.Open(dir)
	if err != nil {
		return nil, fault(dir, err)
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, fault(dir, paths.ErrNotDirectory)
	}
	var list []fs.DirEntry
	for {
		batch, err := d.ReadDir(256)
		list = append(list, batch...)
		if r.entries += len(batch); r.entries > r.limits.Entries {
			return nil, fmt.Errorf("%w: there are more than %d entries", ErrLimit, r.limits.Entries)
		}
		if err == io.EOF || err == nil && len(batch) == 0 {
			break
		}
		if err != nil {
			return nil, fault(dir, err)
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

func (r *reader) entry(name string, e fs.DirEntry, depth int) error {
	if reason := byName(name, r.item.Scripts); reason != "" {
		r.left = append(r.left, LeftOut{name, reason})
		return nil
	}
	if flaw := filename.Flaw(e.Name(), runtime.GOOS == "windows"); flaw != "" {
		return fmt.Errorf("%w: %s: %s", ErrName, printable.Quote(name), flaw)
	}
	info, err := fs.Stat(r.fsys, name)
	if err != nil {
		return fault(name, err)
	}
	switch {
	case info.IsDir():
		if err := r.unique(name); err != nil {
			return err
		}
		return r.directory(name, info, depth+1)
	case !info.Mode().IsRegular():
		return fault(name, paths.ErrNotRegular)
	}
	return r.file(name)
}

// unique refuses a path that some file system takes for one that was there.
func (r *reader) unique(name string) error {
	key := filename.Key(name)
	if other, ok := r.seen[key]; ok {
		return fmt.Errorf("%w: %s and %s differ only in letter case or Unicode form", ErrName, printable.Quote(other), printable.Quote(name))
	}
	r.seen[key] = name
	return nil
}

func (r *reader) file(name string) error {
	f, err := r.fsys.Open(name)
	if err != nil {
		return fault(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fault(name, err)
	}
	if !info.Mode().IsRegular() {
		return fault(name, paths.ErrNotRegular)
	}
	data, err := r.content(f, info)
	if err != nil {
		return err
	}
	executable := info.Mode()&0o111 != 0
	if reason := byContent(name, data, executable, r.item.Scripts); reason != "" {
		r.left = append(r.left, LeftOut{name, reason})
		return nil
	}
	if err := r.unique(name); err != nil {
		return err
	}
	if len(r.files) == r.limits.Files {
		return fmt.Errorf("%w: there are more than %d files", ErrLimit, r.limits.Files)
	}
	r.bytes += int64(len(data))
	sum := sha256.Sum256(data)
	r.files = append(r.files, file{
		path: name, data: data, sum: hex.EncodeToString(sum[:]),
		executable: executable && r.item.Scripts && name != skillFile,
	})
	return nil
}

// content reads a file within what is left of the limit.
func (r *reader) content(f fs.File, info fs.FileInfo) ([]byte, error) {
	max := r.limits.Bytes - r.bytes
	if info.Size() <= max {
		data, err := io.ReadAll(io.LimitReader(&cancelable{r.ctx, f}, max+1))
		if err != nil {
			if r.ctx.Err() != nil {
				return nil, r.ctx.Err()
			}
			return nil, fault(info.Name(), err)
		}
		if int64(len(data)) <= max {
			return data, nil
		}
	}
	return nil, fmt.Errorf("%w: the files have more than %d bytes", ErrLimit, r.limits.Bytes)
}

// cancelable ends reading with the context.
type cancelable struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancelable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
