package mcpclient

import (
	"os"
	"os/exec"

	"golang.org/x/sys/windows"
)

var ignorable = []os.Signal{os.Interrupt}

func stopSelf() { sleep() }

func leaveGroup(*exec.Cmd) {}

func groupAndSession() (group, session int) { return 0, 0 }

func alive(pid int) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(h)
	event, err := windows.WaitForSingleObject(h, 0)
	return err == nil && event == uint32(windows.WAIT_TIMEOUT)
}

func kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}
