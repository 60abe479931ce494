//go:build unix && !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package mcpclient

import "errors"

// awaitExit is for systems that cannot tell without reaping.
func awaitExit(int) error { return errors.ErrUnsupported }

// onlyDead reports whether all that is left of a group is dead; here that
// cannot be seen.
func onlyDead(int) bool { return false }
