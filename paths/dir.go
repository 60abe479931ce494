package paths

import (
	"errors"
	"os"
	"syscall"
)

// openDir makes the tree for a directory, whose own links are followed.
func openDir(abs string) (tree, error) {
	resolved, err := resolveRoot(abs)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(resolved + "/.") // which asks for the permission to look inside
	if errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		err = ErrNotDirectory
	}
	if err != nil {
		return nil, pathError("open", abs, err)
	}
	return &dirTree{path: resolved}, nil
}
