package paths

import (
	"syscall"
	"unsafe"
)

// The kernel's openat2 (Linux 5.6) opens a whole path below a directory and
// refuses every link on it, in one call. Package syscall does not have it. Its
// number is the same on all processors except MIPS, where this one is unused
// and answers ENOSYS.
const (
	sysOpenat2        = 437
	resolveNoSymlinks = 0x04
	resolveBeneath    = 0x08
)

type openHow struct {
	flags, mode, resolve uint64
}

func openat2(dir int, name string, flags int) (int, error) {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	how := openHow{flags: uint64(flags), resolve: resolveNoSymlinks | resolveBeneath}
	fd, _, errno := syscall.Syscall6(sysOpenat2, uintptr(dir), uintptr(unsafe.Pointer(p)),
		uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}
