//go:build unix

package mcpclient

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// checkPrivate refuses a directory of another owner or with rights for others.
func checkPrivate(info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int64(s.Uid) != int64(os.Geteuid()) {
		return fmt.Errorf("a directory of another owner, user %d", s.Uid)
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("a directory that others can use, with mode %#o where 0700 is wanted", perm)
	}
	return nil
}

// checkWritable asks the system, which knows of read-only file systems too.
func checkWritable(dir string) error {
	err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	if err == unix.ENOSYS || err == unix.EINVAL {
		return nil // it cannot be asked
	}
	return err
}
