package paths

import (
	"io/fs"
	"path/filepath"
)

// Location is a resolved path inside a root: a value of this type exists only
// if containment was checked. The zero value belongs to no root.
type Location struct {
	dir    string
	name   string
	mode   fs.FileMode
	exists bool
	linked bool // a link was followed on the way
	// dangling: a link asked for what was not there.
	dangling bool
}

// absence is the error for a location where nothing is.
func (l Location) absence() error {
	if l.dangling {
		return ErrDangling
	}
	return fs.ErrNotExist
}

// Name returns the path relative to the root, slash-separated, "." for the
// root itself and "" for the zero Location. No component of it was a link.
func (l Location) Name() string { return l.name }

// Abs returns the absolute path in the system's form, or "" where the root has
// no directory.
func (l Location) Abs() string {
	if l.dir == "" || l.name == "" {
		return ""
	}
	return filepath.Join(l.dir, filepath.FromSlash(l.name))
}

// Exists reports whether something was there when the path was resolved.
func (l Location) Exists() bool { return l.exists }

// IsDir reports whether it was a directory.
func (l Location) IsDir() bool { return l.exists && l.mode.IsDir() }

// IsRegular reports whether it was a regular file.
func (l Location) IsRegular() bool { return l.exists && l.mode.IsRegular() }
