//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup makes that what the program starts ends with it: a wrapper such as
// npx leaves its child behind.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
