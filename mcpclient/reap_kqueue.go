//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package mcpclient

import "golang.org/x/sys/unix"

// awaitExit returns when the process has ended, without reaping it: its number,
// which is its group's too, stays taken. (waitid of macOS returns for a stopped
// process as well.)
func awaitExit(pid int) error {
	queue, err := unix.Kqueue()
	if err != nil {
		return err
	}
	defer unix.Close(queue)
	unix.CloseOnExec(queue)
	var change unix.Kevent_t
	unix.SetKevent(&change, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change.Fflags = unix.NOTE_EXIT
	events := make([]unix.Kevent_t, 1)
	changes := []unix.Kevent_t{change}
	for {
		n, err := unix.Kevent(queue, changes, events, nil)
		switch {
		case err == unix.EINTR:
			continue // adding again is harmless
		case err == unix.ESRCH:
			return nil // ended already; not reaped, because only we do that
		case err != nil:
			return err
		case n > 0:
			return nil
		}
	}
}

// onlyDead reports whether all that is left of a group is dead; here that
// cannot be seen.
func onlyDead(int) bool { return false }
