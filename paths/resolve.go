package paths

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// maxLinks is how many links one path may go through; Linux allows as many.
const maxLinks = 40

// walker resolves paths of some system component by component.
type walker struct {
	lstat    func(path string) (fs.FileMode, error) // type bits only
	readlink func(path string) (string, error)
	join     func(dir, name string) string
	parent   func(path string) (string, error) // fails where there is none
	split    func(path string) []string        // into components, after the volume
	root     func(target string) string        // the root an absolute target starts from, or ""
	missing  func(err error) bool              // whether a lookup error means "nothing there"
}

// resolved is where a walk ended.
type resolved struct {
	path    string
	mode    fs.FileMode
	exists  bool
	linked  bool // a link was followed on the way
	outside bool // an error was met where inside said no: nothing more is known
}

// walk follows name from the link-free directory base. inside tells whether a
// path belongs to the root: errors met elsewhere are not looked into.
func (w *walker) walk(base, name string, inside func(string) bool) (resolved, error) {
	at := resolved{path: base, mode: fs.ModeDir, exists: true}
	todo := w.split(name)
	links := 0
	for len(todo) > 0 {
		c := todo[0]
		todo = todo[1:]
		if c == "" || c == "." {
			continue
		}
		if at.exists && !at.mode.IsDir() {
			at.exists = false // nothing is below a file
		}
		if c == ".." {
			up, err := w.parent(at.path)
			if err != nil {
				return at, err
			}
			at.path = up
			if at.exists {
				at.mode = fs.ModeDir
			}
			continue
		}
		next := w.join(at.path, c)
		if !at.exists {
			at.path = next
			continue
		}
		mode, err := w.lstat(next)
		switch {
		case err != nil && w.missing(err):
			at.path, at.exists = next, false
			continue
		case err != nil && !inside(next):
			at.path, at.outside = next, true
			return at, nil
		case err != nil:
			return at, err
		case mode&fs.ModeSymlink == 0:
			at.path, at.mode = next, mode
			continue
		}
		at.linked = true
		if links++; links > maxLinks {
			return at, ErrLoop
		}
		target, err := w.readlink(next)
		if err != nil {
			if !inside(next) {
				at.path, at.outside = next, true
				return at, nil
			}
			return at, err
		}
		if root := w.root(target); root != "" {
			at.path, at.mode = root, fs.ModeDir
		}
		todo = append(w.split(target), todo...)
	}
	return at, nil
}

// relativeTo returns path relative to base with slashes, or false if it lies
// elsewhere. Both are clean and absolute; segments are compared.
func relativeTo(base, path string) (string, bool) {
	if path == base {
		return ".", true
	}
	prefix := base
	if !strings.HasSuffix(prefix, string(filepath.Separator)) {
		prefix += string(filepath.Separator)
	}
	rest, ok := strings.CutPrefix(path, prefix)
	return filepath.ToSlash(rest), ok
}

// within resolves name below base, a link-free absolute path, and requires the
// result to lie below it too.
func within(base, name string) (Location, error) {
	inside := func(p string) bool { _, ok := relativeTo(base, p); return ok }
	at, err := resolveSystem(base, name, inside)
	if err != nil {
		return Location{}, err
	}
	rel, ok := relativeTo(base, at.path)
	if !ok || at.outside {
		return Location{}, ErrEscape
	}
	return Location{dir: base, name: rel, mode: at.mode, exists: at.exists, linked: at.linked}, nil
}

// Under resolves name below the directory base like [Root.Resolve], but base
// need not exist: from the first missing component on, of base or of name, the
// path is applied lexically. Base must be absolute; its own links are
// followed. It fails with [ErrEscape] where the result lies outside base, and
// opens nothing. It serves a working directory below PLUGIN_DATA, which is made
// only at launch (AP §7.2.1).
func Under(base, name string) (Location, error) {
	if !filepath.IsAbs(base) || strings.ContainsRune(base, 0) || strings.ContainsRune(name, 0) {
		return Location{}, pathError("resolve", name, fs.ErrInvalid)
	}
	volume := filepath.VolumeName(base)
	top := volume + string(filepath.Separator)
	at, err := resolveSystem(top, base[len(volume):], func(string) bool { return true })
	if err != nil {
		return Location{}, pathError("resolve", base, err)
	}
	if at.exists && !at.mode.IsDir() {
		return Location{}, pathError("resolve", base, errors.New("not a directory"))
	}
	if !at.exists {
		return underMissing(at.path, name)
	}
	loc, err := within(at.path, name)
	if err != nil {
		return Location{}, pathError("resolve", name, err)
	}
	return loc, nil
}

// underMissing applies name lexically to a directory that is not there.
func underMissing(base, name string) (Location, error) {
	rel, ok := relativeTo(base, filepath.Join(base, filepath.FromSlash(name)))
	if !ok {
		return Location{}, pathError("resolve", name, ErrEscape)
	}
	return Location{dir: base, name: rel}, nil
}
