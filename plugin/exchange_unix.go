//go:build linux || darwin

package plugin

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// renamed returns errors.ErrUnsupported for the errors that say that the system
// or file system does not know a way to rename.
func renamed(from, to string, err error) error {
	unknown := []error{unix.EINVAL, unix.ENOSYS, unix.ENOTSUP}
	if slices.ContainsFunc(unknown, func(code error) bool { return errors.Is(err, code) }) {
		return errors.ErrUnsupported
	}
	if err != nil {
		err = &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return err
}
