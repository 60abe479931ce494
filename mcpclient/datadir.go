package mcpclient

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/plugin"
)

// Data directories hold what a server keeps, perhaps secrets of its user, so
// they are made for the owner alone and are never taken over from somebody
// else: whoever can write to the data root could have put a link or a directory
// of their own there first. Everything goes through a handle on the data root,
// so that nothing which is swapped in between leads elsewhere.

// ensureDataDir makes an instance's PLUGIN_DATA below the data root, both where
// they are missing, with mode 0700 (AP §9.1), and cwd, where that is a missing
// directory below it (AP §7.2.1). What stands in the instance's place must be a
// directory, no link, of this process's user and with no rights for others;
// Windows knows neither here, and the directory has the rights that the data
// root hands down. Cwd is one that was resolved, so what is a link on it by now
// was put there since, and is refused; a cwd elsewhere is left alone. The data
// root itself, and the links that lead to it, are the host's choice. Errors are
// of kind plugin.ErrDataDir.
func ensureDataDir(dataRoot string, instance plugin.Instance, cwd string) error {
	dir, err := plugin.DataDir(dataRoot, instance)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return dataError("the data root cannot be made", err)
	}
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return dataError("the data root cannot be opened", err)
	}
	defer root.Close()
	at, err := enter(root, filepath.Base(dir))
	if err != nil {
		return err
	}
	defer func() { at.Close() }()
	info, err := at.Stat(".")
	if err != nil {
		return dataError("it cannot be looked at", err)
	}
	if err := checkPrivate(info); err != nil {
		return dataError("something else stands in its place", err)
	}
	if err := checkWritable(dir); err != nil {
		return dataError("it is not writable", err)
	}
	below, err := filepath.Rel(dir, cwd)
	if err != nil || below == "." || !filepath.IsLocal(below) {
		return nil
	}
	for name := range strings.SplitSeq(below, string(filepath.Separator)) {
		next, err := enter(at, name)
		if err != nil {
			return fmt.Errorf("cwd: %w", err)
		}
		at.Close()
		at = next
	}
	return nil
}

// enter opens a directory in parent, which it makes where it is missing. What
// was opened is the entry of that name itself, and no link stood there.
func enter(parent *os.Root, name string) (*os.Root, error) {
	if err := parent.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, dataError("it cannot be made", err)
	}
	entry, err := parent.Lstat(name)
	if err != nil {
		return nil, dataError("it cannot be looked at", err)
	}
	if !entry.IsDir() {
		return nil, dataError("a link or file stands in its place", nil)
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return nil, dataError("it cannot be opened", err)
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(entry, opened) {
		err = errors.New("it was replaced meanwhile")
	}
	if err != nil {
		dir.Close()
		return nil, dataError("it cannot be opened", err)
	}
	return dir, nil
}

// dataError says what is wrong without the path.
func dataError(what string, err error) error {
	if err == nil {
		return fmt.Errorf("%w: %s", plugin.ErrDataDir, what)
	}
	return fmt.Errorf("%w: %s: %w", plugin.ErrDataDir, what, report.Innermost(err))
}

// RemoveData removes the data directory of an instance with all that is in it,
// for when the plugin is uninstalled (AP §9.1). Links in it are removed, never
// followed, and so is one in its place; directories that the server has made
// unwritable are made writable first. The rest of the data root stays as it is.
// A missing directory is no error. The servers of the instance must not run
// meanwhile. It fails with plugin.ErrInstance and plugin.ErrDataDir.
func RemoveData(dataRoot string, instance plugin.Instance) error {
	dir, err := plugin.DataDir(dataRoot, instance)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return dataError("the data root cannot be opened", err)
	}
	defer root.Close()
	key := filepath.Base(dir)
	err = root.RemoveAll(key)
	if errors.Is(err, fs.ErrPermission) {
		unlock(root, key)
		err = root.RemoveAll(key)
	}
	if err != nil {
		return dataError("it cannot be removed", err)
	}
	return nil
}

// unlock makes the directories below name readable and writable for their
// owner. What fails shows in the removal.
func unlock(root *os.Root, name string) {
	if info, err := root.Lstat(name); err != nil || !info.IsDir() {
		return
	}
	fs.WalkDir(root.FS(), name, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() { // before its entries are read
			root.Chmod(filepath.FromSlash(path), 0o700)
		}
		return nil
	})
}
