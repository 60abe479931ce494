//go:build unix

package mcpclient

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

var ignorable = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE}

func stopSelf() { syscall.Kill(os.Getpid(), syscall.SIGSTOP) }

func leaveGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func groupAndSession() (group, session int) {
	group, _ = syscall.Getpgid(0)
	session, _ = unix.Getsid(0)
	return group, session
}

// alive reports whether a process runs; one that is dead and not yet reaped
// does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return string(fields[0]) != "Z"
}

func kill(pid int) { syscall.Kill(pid, syscall.SIGKILL) }
