package paths

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/plugberth/plugberth/internal/windows"
)

// CheckRelative judges the text of a plugin-relative path as a configuration
// field may hold it (AP §4.1): it begins with "./" and has no NUL. What it
// resolves to is for [Root.Resolve] to say. On Windows it also refuses what
// the system would take for something else: device names, "name:stream",
// drive-relative names, and components that end in a period or blank. The
// error wraps [ErrForm] and says what is wrong without quoting the path.
func CheckRelative(p string) error {
	return checkRelative(p, runtime.GOOS == "windows")
}

func checkRelative(p string, onWindows bool) error {
	switch {
	case !strings.HasPrefix(p, "./"):
		return fmt.Errorf("%w: it does not begin with ./", ErrForm)
	case strings.ContainsRune(p, 0):
		return fmt.Errorf("%w: it has a NUL character", ErrForm)
	case onWindows:
		return checkWindows(p)
	}
	return nil
}

// checkWindows refuses components that Windows gives a meaning beyond a name.
func checkWindows(p string) error {
	for c := range strings.FieldsFuncSeq(p, func(r rune) bool { return r == '/' || r == '\\' }) {
		switch {
		case c == "." || c == "..":
		case strings.Contains(c, ":"):
			return fmt.Errorf("%w: a component has a colon, which names a drive or stream on Windows", ErrForm)
		case strings.HasSuffix(c, ".") || strings.HasSuffix(c, " "):
			return fmt.Errorf("%w: a component ends in a period or blank, which Windows drops", ErrForm)
		case windows.IsDevice(c):
			return fmt.Errorf("%w: a component is a device name on Windows", ErrForm)
		}
	}
	return nil
}
