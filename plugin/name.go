package plugin

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxName is the greatest length of a plugin name (AP §5.5).
const maxName = 64

// ErrName is wrapped by every error of [CheckName].
var ErrName = errors.New("not a plugin name")

// CheckName judges a plugin name: 1 to 64 characters of a-z, 0-9, hyphen and
// period, alphanumeric at both ends, with no two hyphens and no two periods in
// a row (AP §5.5). The error wraps [ErrName] and says all that is wrong.
func CheckName(name string) error {
	if faults := nameFaults(name); len(faults) > 0 {
		return fmt.Errorf("%w: it %s", ErrName, strings.Join(faults, "; it "))
	}
	return nil
}

// nameFaults returns what is wrong with a plugin name.
func nameFaults(name string) (faults []string) {
	if name == "" {
		return []string{"is empty"}
	}
	upper, other := false, false
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
		case r >= 'A' && r <= 'Z':
			upper = true
		default:
			other = true
		}
	}
	for _, f := range []struct {
		is   bool
		text string
	}{
		{upper, "has upper-case letters"},
		{other, "has characters other than a-z, 0-9, hyphen and period"},
		{utf8.RuneCountInString(name) > maxName, fmt.Sprintf("is longer than %d characters", maxName)},
		{strings.Trim(name, "-.") != name, "begins or ends with a hyphen or period"},
		{strings.Contains(name, "--"), "has two hyphens in a row"},
		{strings.Contains(name, ".."), "has two periods in a row"},
	} {
		if f.is {
			faults = append(faults, f.text)
		}
	}
	return faults
}
