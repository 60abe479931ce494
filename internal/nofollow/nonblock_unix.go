//go:build unix

package nofollow

import "syscall"

// nonBlock keeps opening from waiting for the other end of a FIFO.
const nonBlock = syscall.O_NONBLOCK
