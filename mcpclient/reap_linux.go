package mcpclient

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the process has ended, without reaping it: its number,
// which is its group's too, stays taken.
func awaitExit(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
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
