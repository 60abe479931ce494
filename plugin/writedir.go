package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

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

var errNotBuilt = errors.New("plugin: the package is empty: build it from a draft")

// writeDir writes the content to a directory.
func writeDir(ctx context.Context, c *content, dir string, opts WriteOptions) error {
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
	target := filepath.Join(parent, filepath.Base(abs))
	if target == parent {
		return fmt.Errorf("%w: it is the root of the file system", ErrOccupied)
	}
	if err := mayReplace(ctx, c, target, opts); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(parent, ".plugberth-new-*")
	if err != nil {
		return err
	}
	err = c.fill(ctx, temp)
	if err == nil {
		// Once more: filling takes time.
		err = mayReplace(ctx, c, target, opts)
	}
	if err == nil {
		err = takePlace(temp, target)
	}
	// What is left at temp is what was replaced, or what could not be finished.
	if removeErr := os.RemoveAll(temp); err == nil && removeErr != nil {
		err = fmt.Errorf("plugin: the package was written, but what it replaced is still there: %w", removeErr)
	}
	return err
}

// mayReplace reports whether nothing would be lost at target.
func mayReplace(ctx context.Context, c *content, target string, opts WriteOptions) error {
	info, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case opts.Overwrite:
		return nil
	case !info.IsDir():
		return fmt.Errorf("%w: it is no directory", ErrOccupied)
	}
	root, err := paths.Open(target)
	if err != nil {
		return err
	}
	entries, _, err := root.List(ctx, ".", 1)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	sums, err := sumTree(ctx, root, opts.Bounds)
	switch hash := contentHash(sums); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: its files cannot be compared: %w", ErrOccupied, err)
	case len(sums) == 0:
		return fmt.Errorf("%w: it holds directories", ErrOccupied)
	case hash == opts.Replace, hash == contentHash(c.sums()):
		return nil
	}
	return fmt.Errorf("%w: its files are not those that may be replaced", ErrOccupied)
}

// fill writes the content into an empty directory. Nothing can land outside.
func (c *content) fill(ctx context.Context, dir string) error {
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
	for _, name := range c.dirs {
		if err := mkdir(name); err != nil {
			return err
		}
	}
	for _, f := range c.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := mkdir(path.Dir(f.path)); err != nil {
			return err
		}
		if err := f.write(root); err != nil {
			return err
		}
	}
	return root.Chmod(".", modeDir.Perm())
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

// takePlace renames temp to target. What stands there is at temp afterwards.
func takePlace(temp, target string) error {
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		return renameNew(temp, target)
	}
	err := exchange(temp, target)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	old := temp + ".old"
	if err := os.Rename(target, old); err != nil {
		return err
	}
	if err := os.Rename(temp, target); err != nil {
		return errors.Join(err, os.Rename(old, target))
	}
	return os.Rename(old, temp)
}
