//go:build unix

package main

import (
	"context"
	"os/exec"
	"syscall"
)

// shell runs a line of the user's.
func shell(ctx context.Context, line string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", line)
}

// ownGroup makes that a program and what it starts are told together to end.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// endGroup ends what the program has left behind in its group. The program has been
// waited for, so if nothing was left, the number could be another group's by now:
// unlikely, and good enough for a program of the user's own. Package mcpclient, which
// runs those of strangers, kills before it waits.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
