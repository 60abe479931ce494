//go:build unix && !linux

package paths

import "syscall"

// nonBlock keeps the opening of a FIFO that took a file's place from waiting.
const nonBlock = syscall.O_NONBLOCK
