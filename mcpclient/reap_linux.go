package mcpclient

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the process has ended, without reaping it: its number,
// which is its group's too, stays taken. Where the kernel can signal the end
// through a descriptor, waiting costs no thread.
func awaitExit(pid int) error {
	if awaitPidfd(pid) {
		return nil
	}
	return waitid(unix.P_PID, pid, unix.WEXITED|unix.WNOWAIT)
}

func awaitPidfd(pid int) (ended bool) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK) // Linux 5.10
	if err != nil {
		return false
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	defer file.Close()
	conn, err := file.SyscallConn()
	if err != nil {
		return false
	}
	var waitErr error
	err = conn.Read(func(fd uintptr) bool {
		waitErr = waitid(unix.P_PIDFD, int(fd), unix.WEXITED|unix.WNOWAIT)
		return waitErr != unix.EAGAIN
	})
	return err == nil && waitErr == nil
}

func waitid(kind, id, options int) error {
	for {
		if err := unix.Waitid(kind, id, nil, options, nil); err != unix.EINTR {
			return err
		}
	}
}

// onlyDead reports whether all that is left of a group is dead and waits to be
// reaped, which in a container without an init may be for ever.
func onlyDead(group int) bool {
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false
	}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // gone meanwhile
		}
		// After the command in parentheses: state, parent, group.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 3 || string(fields[0]) == "Z" || string(fields[0]) == "X" {
			continue
		}
		if g, err := strconv.Atoi(string(fields[2])); err == nil && g == group {
			return false
		}
	}
	return true
}
