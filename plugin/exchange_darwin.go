package plugin

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange swaps two names in one step. It fails with errors.ErrUnsupported
// where the file system cannot.
func exchange(a, b string) error { return rename(a, b, unix.RENAME_SWAP) }

// renameNew renames a directory to a name that is free.
func renameNew(from, to string) error {
	err := rename(from, to, unix.RENAME_EXCL)
	if errors.Is(err, errors.ErrUnsupported) {
		err = renamed(from, to, unix.Rename(from, to)) // which replaces an empty directory at most
	}
	return err
}

func rename(from, to string, flags uint32) error {
	return renamed(from, to, unix.RenamexNp(from, to, flags))
}
