package plugin

import (
	"errors"
	"fmt"
	"strings"
)

// maxName is the greatest length of a plugin name (AP §5.5).
const maxName = 64

// ErrName is wrapped by every error of [CheckName].
var ErrName = errors.New("not a plugin name")

// CheckName judges a plugin name: 1 to 64 characters of a-z, 0-9, hyphen and
// period, alphanumeric at both ends, with no two hyphens and no two periods in
// a row (AP §5.5). The error wraps [ErrName] and says what is wrong.
func CheckName(name string) error {
	if name == "" {
		return fmt.Errorf("%w: it is empty", ErrName)
	}
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
		case r >= 'A' && r <= 'Z':
			return fmt.Errorf("%w: it has upper-case letters", ErrName)
		default:
			return fmt.Errorf("%w: it has characters other than a-z, 0-9, hyphen and period", ErrName)
		}
	}
	switch {
	case len(name) > maxName:
		return fmt.Errorf("%w: it is longer than %d characters", ErrName, maxName)
	case strings.ContainsRune("-.", rune(name[0])), strings.ContainsRune("-.", rune(name[len(name)-1])):
		return fmt.Errorf("%w: it begins or ends with a hyphen or period", ErrName)
	case strings.Contains(name, "--"):
		return fmt.Errorf("%w: it has two hyphens in a row", ErrName)
	case strings.Contains(name, ".."):
		return fmt.Errorf("%w: it has two periods in a row", ErrName)
	}
	return nil
}
