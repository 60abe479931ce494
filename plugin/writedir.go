package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/plugberth/plugberth/internal/nofollow"
	"github.com/plugberth/plugberth/paths"
)

// WriteOptions say what may be in the place that a directory is written to. The
// zero value replaces an empty directory, and one with the same files as are
// written.
type WriteOptions struct {
	// Replace is the content hash of what was written there before, as
	// [Package.Hash] returned it: that is replaced as long as its files are
	// unchanged.
	Replace string
	// Overwrite replaces whatever is there, a file or a link included; what a link
	// leads to stays.
	Overwrite bool
	// Bounds limit how much of what is there is read to find out its hash.
	Bounds Bounds
}

// ErrOccupied: something that was not written there before, or was changed
// since, stands where a package is to be written.
var ErrOccupied = errors.New("plugin: something else stands in the place")

// errNotBuilt is for the zero Package.
var errNotBuilt = fmt.Errorf("plugin: the package is empty, build it from a draft: %w", fs.ErrInvalid)

// dirWriter is the writing of one directory.
type dirWriter struct {
	ctx      context.Context
	content  *content
	hash     string // of the content
	opts     WriteOptions
	target   string
	exchange func(a, b string) error
	step     func(string) // told of each step, in tests
}

// writeDir writes the content to a directory.
func writeDir(ctx context.Context, c *content, dir string, opts WriteOptions) error {
	w := dirWriter{ctx: ctx, content: c, opts: opts, exchange: exchange, step: func(string) {}}
	return w.write(dir)
}

func (w *dirWriter) write(dir string) error {
	if dir == "" {
		return &fs.PathError{Op: "write", Path: dir, Err: fs.ErrInvalid}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return err
	}
	w.target = filepath.Join(parent, filepath.Base(abs))
	if w.target == parent {
		return fmt.Errorf("%w: it is the root of the file system", ErrOccupied)
	}
	w.hash = contentHash(w.content.sums())
	if err := w.mayReplace(w.target); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(parent, ".plugberth-new-*")
	if err != nil {
		return err
	}
	err = w.fill(temp)
	if err == nil {
		err = w.place(temp)
	}
	// What is left at temp is what was replaced, or what could not be finished.
	if removeErr := discard(parent, filepath.Base(temp)); err == nil && removeErr != nil {
		err = fmt.Errorf("plugin: the package was written, but what it replaced is still there: %w", removeErr)
	}
	return err
}

// discard removes a directory, its manifest first, so that nothing half gone
// passes for a plugin. Links are removed as such.
func discard(parent, name string) error {
	if p, err := nofollow.Open(parent); err == nil {
		if d, err := p.Open(name); err == nil {
			d.Remove(manifestFile) // RemoveAll says what stands in the way
			d.Close()
		}
		p.Close()
	}
	return os.RemoveAll(filepath.Join(parent, name))
}

// attempts is how often a place that changes under our feet is tried again.
const attempts = 4

// place puts temp in the target's place. What stood there is at temp afterwards.
func (w *dirWriter) place(temp string) (err error) {
	for range attempts {
		// Once more: filling takes time.
		if err := w.mayReplace(w.target); err != nil {
			return err
		}
		w.step("looked")
		err = w.takePlace(temp)
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w: %w", ErrOccupied, err)
	}
	return err
}

// mayReplace reports whether nothing would be lost with what stands at a path.
func (w *dirWriter) mayReplace(at string) error {
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case w.opts.Overwrite:
		return nil
	case !info.IsDir():
		return fmt.Errorf("%w: it is no directory", ErrOccupied)
	}
	root, err := paths.Open(at)
	if err != nil {
		return err
	}
	entries, _, err := root.List(w.ctx, ".", 1)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	sums, err := sumTree(w.ctx, root, w.opts.Bounds)
	switch hash := contentHash(sums); {
	case w.ctx.Err() != nil:
		return w.ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: its files cannot be compared: %w", ErrOccupied, err)
	case len(sums) == 0:
		return fmt.Errorf("%w: it holds directories", ErrOccupied)
	case hash == w.opts.Replace, hash == w.hash:
		return nil
	}
	return fmt.Errorf("%w: its files are not those that may be replaced", ErrOccupied)
}

// fill writes the content into an empty directory. Nothing can land outside. The
// manifest comes last: without it, what is there is no plugin.
func (w *dirWriter) fill(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	made := map[string]bool{".": true}
	var mkdir func(name string) error
	mkdir = func(name string) error {
		if made[name] {
			return nil
		}
		if err := mkdir(path.Dir(name)); err != nil {
			return err
		}
		made[name] = true
		if err := root.Mkdir(name, modeDir.Perm()); err != nil {
			return err
		}
		return root.Chmod(name, modeDir.Perm()) // the umask takes bits away
	}
	for _, name := range w.content.dirs {
		if err := mkdir(name); err != nil {
			return err
		}
	}
	write := func(f contentFile) error {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if err := mkdir(path.Dir(f.path)); err != nil {
			return err
		}
		if err := f.write(root); err != nil {
			return err
		}
		w.step("file written")
		return nil
	}
	var last []contentFile
	for _, f := range w.content.files {
		if f.path == manifestFile {
			last = append(last, f)
		} else if err := write(f); err != nil {
			return err
		}
	}
	if err := root.Chmod(".", modeDir.Perm()); err != nil {
		return err
	}
	for _, f := range last {
		if err := write(f); err != nil {
			return err
		}
	}
	return nil
}

func (f contentFile) write(root *os.Root) error {
	out, err := root.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode())
	if err != nil {
		return err
	}
	_, err = out.Write(f.data)
	if err == nil {
		err = out.Chmod(f.mode())
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return err
}

// takePlace renames temp to the target. What stands there is at temp afterwards.
// It is looked at once more where nobody finds it any longer, and goes back if it
// changed.
func (w *dirWriter) takePlace(temp string) error {
	if _, err := os.Lstat(w.target); errors.Is(err, fs.ErrNotExist) {
		w.step("found free")
		return renameNew(temp, w.target)
	}
	w.step("found taken")
	err := w.exchange(temp, w.target)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return w.takeTurns(temp)
	case err != nil:
		return err
	}
	w.step("exchanged")
	if err := w.mayReplace(temp); err != nil {
		return errors.Join(err, w.exchange(temp, w.target))
	}
	return nil
}

// takeTurns is takePlace by renaming one after the other.
func (w *dirWriter) takeTurns(temp string) error {
	old := temp + ".old"
	if err := os.Rename(w.target, old); err != nil {
		return err
	}
	w.step("moved away")
	err := w.mayReplace(old)
	if err == nil {
		err = renameNew(temp, w.target)
	}
	if err != nil {
		return errors.Join(err, renameNew(old, w.target))
	}
	w.step("moved in")
	return os.Rename(old, temp)
}
