package main

import (
	"context"
	"os/exec"
	"strconv"
	"syscall"
)

// shell runs a line of the user's. cmd takes it as it is, and not as one argument.
func shell(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "cmd")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /s /c "` + line + `"`}
	return cmd
}

// ownGroup makes that a program and what it has started are ended together.
func ownGroup(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		return exec.Command("taskkill", "/t", "/f", "/pid", strconv.Itoa(cmd.Process.Pid)).Run()
	}
}

// endGroup does nothing: what a program that has ended left behind is not known
// here without a job object.
func endGroup(*exec.Cmd) {}
