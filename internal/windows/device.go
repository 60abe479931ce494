// Package windows knows what Windows makes of names, for all systems: a file
// that is read on one may be written on another.
package windows

import "strings"

// IsDevice reports whether Windows takes a component of a path for a device,
// whatever its letter case and extension.
func IsDevice(name string) bool {
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
