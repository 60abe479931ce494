package staging

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/internal/nofollow"
	"github.com/plugberth/plugberth/paths"
)

// maxTree bounds the entries of one staged skill that are looked at, and
// maxNested their depth, whatever others put there.
const (
	maxTree   = 100_000
	maxNested = 200
)

// kind is what an entry of a staged skill is to the record of it.
type kind int

const (
	same    kind = iota // a recorded file, as it was written
	edited              // a recorded path where something else stands now
	foreign             // not recorded; of a directory all that is in it
)

// walker goes through what stands in the directory of a staged skill.
type walker struct {
	ctx    context.Context
	files  map[string]written
	dirs   map[string]bool // that hold recorded files
	budget int
	// visit is called for each entry but directories that hold recorded files.
	visit func(d *nofollow.Dir, name, path string, k kind) error
	// leave, if set, is called after a directory that holds recorded files has
	// been walked and closed. It is not called for the top.
	leave func(d *nofollow.Dir, name, path string) error
}

func newWalker(ctx context.Context, files map[string]written) *walker {
	return &walker{ctx: ctx, files: files, dirs: directories(files), budget: maxTree}
}

// directories returns the directories that hold files.
func directories(files map[string]written) map[string]bool {
	dirs := map[string]bool{}
	for name := range files {
		for dir := path.Dir(name); dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	return dirs
}

func (w *walker) walk(d *nofollow.Dir, at string, depth int) error {
	if depth > maxNested {
		return fmt.Errorf("%w: directories are nested deeper than %d", ErrLimit, maxNested)
	}
	entries, err := d.List(w.budget)
	if errors.Is(err, paths.ErrTooLarge) {
		return fmt.Errorf("%w: there are more than %d entries", ErrLimit, maxTree)
	}
	if err != nil {
		return err
	}
	w.budget -= len(entries)
	if at == "" {
		// SKILL.md goes first: without it, what is left is no skill.
		slices.SortStableFunc(entries, func(a, b fs.DirEntry) int {
			return rank(a.Name()) - rank(b.Name())
		})
	}
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if err := w.entry(d, e, path.Join(at, e.Name()), depth); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func rank(name string) int {
	if name == skillFile {
		return 0
	}
	return 1
}

func (w *walker) entry(d *nofollow.Dir, e fs.DirEntry, at string, depth int) error {
	if want, ok := w.files[at]; ok {
		ok, err := unchanged(d, e.Name(), want)
		switch {
		case err != nil:
			return err
		case ok:
			return w.visit(d, e.Name(), at, same)
		}
		return w.visit(d, e.Name(), at, edited)
	}
	if !w.dirs[at] || !e.IsDir() {
		return w.visit(d, e.Name(), at, foreign)
	}
	sub, err := d.Open(e.Name())
	if err != nil {
		return err
	}
	err = w.walk(sub, at, depth+1)
	sub.Close()
	if err == nil && w.leave != nil {
		err = w.leave(d, e.Name(), at)
	}
	return err
}

// unchanged reports whether a file is as it was written.
func unchanged(d *nofollow.Dir, name string, want written) (bool, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() || info.Size() != want.Size {
		return false, nil
	}
	data, _, err := d.ReadFile(name, want.Size)
	switch {
	case errors.Is(err, nofollow.ErrLink), errors.Is(err, paths.ErrChanged), errors.Is(err, paths.ErrTooLarge), errors.Is(err, fs.ErrPermission):
		return false, nil
	case err != nil:
		return false, err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]) == want.SHA256, nil
}

// state is what stands in the directory of a staged skill.
type state struct {
	edited  []string // recorded paths where something else stands
	foreign []string // paths that are not recorded
	missing bool     // a recorded file is gone
	modes   bool     // an executable bit differs
}

func look(ctx context.Context, d *nofollow.Dir, files map[string]written) (*state, error) {
	st := &state{}
	found := 0
	w := newWalker(ctx, files)
	w.visit = func(d *nofollow.Dir, name, path string, k kind) error {
		switch k {
		case same:
			found++
			info, err := d.Lstat(name)
			if err != nil {
				return err
			}
			st.modes = st.modes || runtime.GOOS != "windows" && info.Mode()&0o111 != 0 != files[path].Executable
		case edited:
			st.edited = append(st.edited, path)
		case foreign:
			st.foreign = append(st.foreign, path)
		}
		return nil
	}
	err := w.walk(d, "", 0)
	st.missing = found+len(st.edited) < len(files)
	return st, err
}

// clean removes the recorded files that are as they were written, and the
// directories that are empty then. It returns what is left. A partial file is
// taken for one that was being written.
func clean(ctx context.Context, d *nofollow.Dir, files map[string]written, partial bool, step func(string)) (kept []string, err error) {
	w := newWalker(ctx, files)
	w.visit = func(d *nofollow.Dir, name, path string, k kind) error {
		if k == edited && partial {
			if info, err := d.Lstat(name); err == nil && info.Mode().IsRegular() && info.Size() < files[path].Size {
				k = same
			}
		}
		if k == same {
			err := d.Remove(name)
			step("file removed")
			return err
		}
		kept = append(kept, path)
		return nil
	}
	w.leave = removeEmpty
	err = w.walk(d, "", 0)
	return kept, err
}

// removeEmpty removes a directory if nothing is in it.
func removeEmpty(d *nofollow.Dir, name, _ string) error {
	if sub, err := d.Open(name); err == nil {
		entries, err := sub.List(maxTree)
		sub.Close()
		if err != nil || len(entries) > 0 {
			return nil
		}
		return d.Remove(name)
	}
	return nil
}

// fill writes the files into an empty directory.
func fill(ctx context.Context, d *nofollow.Dir, files []file) error {
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := put(d, f.path, f); err != nil {
			return err
		}
	}
	return nil
}

func put(d *nofollow.Dir, name string, f file) error {
	first, rest, more := strings.Cut(name, "/")
	if more {
		sub, _, err := d.Make(first, 0o755)
		if err != nil {
			return err
		}
		defer sub.Close()
		return put(sub, rest, f)
	}
	perm := fs.FileMode(0o644)
	if f.executable {
		perm = 0o755
	}
	return d.Create(name, f.data, perm)
}

// summary returns what the record says of files.
func summary(files []file) map[string]written {
	m := make(map[string]written, len(files))
	for _, f := range files {
		m[f.path] = written{f.sum, int64(len(f.data)), f.executable}
	}
	return m
}
