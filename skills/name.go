package skills

import (
	"errors"
	"fmt"
)

// maxName is the greatest length of a skill name.
const maxName = 64

// ErrName is wrapped by every error of [CheckName].
var ErrName = errors.New("not a skill name")

// CheckName judges a skill name: 1 to 64 characters of a-z, 0-9 and hyphen,
// with no hyphen first, last or doubled (AS). The error wraps [ErrName] and
// says what is wrong.
func CheckName(name string) error {
	if name == "" {
		return fmt.Errorf("%w: it is empty", ErrName)
	}
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
		case r >= 'A' && r <= 'Z':
			return fmt.Errorf("%w: it has upper-case letters", ErrName)
		default:
			return fmt.Errorf("%w: it has characters other than a-z, 0-9 and hyphen", ErrName)
		}
	}
	if len(name) > maxName {
		return fmt.Errorf("%w: it is longer than %d characters", ErrName, maxName)
	}
	if name[0] == '-' || name[len(name)-1] == '-' {
		return fmt.Errorf("%w: it begins or ends with a hyphen", ErrName)
	}
	for i := range len(name) - 1 {
		if name[i] == '-' && name[i+1] == '-' {
			return fmt.Errorf("%w: it has two hyphens in a row", ErrName)
		}
	}
	return nil
}
