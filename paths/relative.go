package paths

import (
	"fmt"
	"runtime"
	"strings"
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

func checkRelative(p string, windows bool) error {
	switch {
	case !strings.HasPrefix(p, "./"):
		return fmt.Errorf("%w: it does not begin with ./", ErrForm)
	case strings.ContainsRune(p, 0):
		return fmt.Errorf("%w: it has a NUL character", ErrForm)
	case windows:
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
		case deviceName(c):
			return fmt.Errorf("%w: a component is a device name on Windows", ErrForm)
		}
	}
	return nil
}

// deviceName reports whether Windows takes a name for a device, whatever its
// letter case and extension.
func deviceName(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	for _, port := range []string{"COM", "LPT"} {
		if digit, ok := strings.CutPrefix(base, port); ok {
			switch digit {
			case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³":
				return true
			}
		}
	}
	return false
}
