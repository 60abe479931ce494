package filelock

import (
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

const (
	failImmediately = 1                  // LOCKFILE_FAIL_IMMEDIATELY
	exclusive       = 2                  // LOCKFILE_EXCLUSIVE_LOCK
	errLocked       = syscall.Errno(33)  // ERROR_LOCK_VIOLATION
	errPending      = syscall.Errno(997) // ERROR_IO_PENDING
)

func try(file *os.File) (bool, error) {
	var at syscall.Overlapped
	ok, _, err := lockFileEx.Call(file.Fd(), exclusive|failImmediately, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return true, nil
	case err == errLocked || err == errPending:
		return false, nil
	}
	return false, &os.PathError{Op: "lock", Path: file.Name(), Err: err}
}
