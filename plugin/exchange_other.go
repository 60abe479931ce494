//go:build !linux && !darwin

package plugin

import (
	"errors"
	"os"
)

// exchange would swap two names in one step.
func exchange(string, string) error { return errors.ErrUnsupported }

// renameNew renames a directory to a name that is free.
func renameNew(from, to string) error { return os.Rename(from, to) }
