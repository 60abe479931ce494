package mcpclient

import "golang.org/x/sys/unix"

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
