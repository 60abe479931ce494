//go:build linux || darwin

package plugin

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// renamed returns errors.ErrUnsupported for the errors that say that the system
// or file system does not know a way to rename.
func renamed(err error) error {
	unknown := []error{unix.EINVAL, unix.ENOSYS, unix.ENOTSUP}
	if slices.ContainsFunc(unknown, func(code error) bool { return errors.Is(err, code) }) {
		return errors.ErrUnsupported
	}
	return err
}
