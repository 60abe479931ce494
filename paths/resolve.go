package paths

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// maxLinks is how many links one path may go through; Linux allows as many.
// maxSteps is how many components it may have, those of the links included:
// each costs a look at the disk, and links can bring in thousands.
const (
	maxLinks = 40
	maxSteps = 512
)

// walker resolves paths of some system component by component.
type walker struct {
	lstat    func(path string) (fs.FileMode, error) // type bits only
	readlink func(path string) (string, error)
	join     func(dir, name string) string
	parent   func(path string) (string, error) // fails where there is none
	split    func(path string) []string        // into components, after the volume
	root     func(target, at string) string    // the root an absolute target of a link in at starts from, or ""
	missing  func(err error) bool              // whether a lookup error means "nothing there"
}

// resolved is where a walk ended.
type resolved struct {
	path     string
	mode     fs.FileMode
	exists   bool // nothing was missing on the way
	linked   bool // a link was followed on the way
	dangling bool // what was missing first was asked for by a link
	outside  bool // an error was met where inside said no: nothing more is known
	below    int  // how many components path has below the last one that is there
}

// walk follows name from the link-free directory base. inside tells whether a
// path belongs to the root: errors met elsewhere are not looked into. Once
// something is missing "." and ".." are applied to the text, but a link that
// the text then leads to counts, so that path never goes through one.
func (w *walker) walk(base, name string, inside func(string) bool) (resolved, error) {
	at := resolved{path: base, mode: fs.ModeDir, exists: true}
	todo := w.split(name)
	links := 0
	asked := len(todo) // how much of todo is left of name itself
	lost := func(path string) {
		if at.exists {
			at.dangling = len(todo) >= asked
		}
		at.path, at.exists, at.below = path, false, 1
	}
	for steps := 0; len(todo) > 0; {
		c := todo[0]
		todo = todo[1:]
		if c == "" || c == "." {
			continue
		}
		if steps++; steps > maxSteps {
			return at, ErrTooLong
		}
		if at.below == 0 && !at.mode.IsDir() {
			lost(at.path) // nothing is below a file
		}
		if c == ".." {
			up, err := w.parent(at.path)
			if err != nil {
				return at, err
			}
			at.path, at.mode = up, fs.ModeDir
			at.below = max(at.below-1, 0)
			continue
		}
		next := w.join(at.path, c)
		if at.below > 0 {
			at.path = next
			at.below++
			continue
		}
		mode, target, err := w.look(next)
		switch {
		case err != nil && w.missing(err):
			lost(next)
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
		asked = min(asked, len(todo))
		if links++; links > maxLinks {
			return at, ErrLoop
		}
		if root := w.root(target, at.path); root != "" {
			at.path, at.mode = root, fs.ModeDir
		}
		todo = append(w.split(target), todo...)
	}
	return at, nil
}

// look returns the type of what is at p and the target of a link. What changes
// between the two calls is looked at again.
func (w *walker) look(p string) (mode fs.FileMode, target string, err error) {
	for range attempts {
		mode, err = w.lstat(p)
		if err != nil || mode&fs.ModeSymlink == 0 {
			break
		}
		if target, err = w.readlink(p); err == nil {
			break
		}
	}
	return mode, target, err
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
	return Location{dir: base, name: rel, mode: at.mode, exists: at.exists, linked: at.linked, dangling: at.dangling}, nil
}

// Under resolves name below the directory base like [Root.Resolve], but base
// need not exist: from the first missing component on, of base or of name, the
// path is applied lexically. Base must be absolute; its own links are
// followed. It fails with [ErrEscape] where the result lies outside base, and
// opens nothing. It serves a working directory below PLUGIN_DATA, which is made
// only at launch (AP §7.2.1).
func Under(base, name string) (Location, error) {
	if !filepath.IsAbs(base) || strings.ContainsRune(base, 0) || !validName(name) {
		return Location{}, pathError("resolve", name, fs.ErrInvalid)
	}
	volume := filepath.VolumeName(base)
	top := volume + string(filepath.Separator)
	at, err := resolveSystem(top, base[len(volume):], func(string) bool { return true })
	if err != nil {
		return Location{}, pathError("resolve", base, err)
	}
	if at.below > 0 {
		return underMissing(at.path, name)
	}
	if !at.mode.IsDir() {
		return Location{}, pathError("resolve", base, ErrNotDirectory)
	}
	loc, err := within(at.path, name)
	if err != nil {
		return Location{}, pathError("resolve", name, err)
	}
	loc.exists = loc.exists && at.exists
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
