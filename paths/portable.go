package paths

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// What the name of a file that travels may measure: what common systems hold.
const (
	maxPortable          = 1024 // bytes
	maxPortableDepth     = 100  // components
	maxPortableComponent = 255  // bytes
)

// CheckPortable judges the name of a file that travels between systems, in an
// archive for instance: slash-separated, relative, and meaning the same
// wherever it is written down. It refuses what leads elsewhere on some system
// (absolute names, "." and "..", backslashes, colons, device names, components
// that end in a period or blank), control characters, what is not UTF-8, and
// more than 1,024 bytes, 100 components or 255 bytes in one of them. The error
// wraps [ErrForm] and says what is wrong without quoting the name.
func CheckPortable(name string) error {
	fail := func(why string) error { return fmt.Errorf("%w: %s", ErrForm, why) }
	switch {
	case name == "":
		return fail("it is empty")
	case len(name) > maxPortable:
		return fail(fmt.Sprintf("it is longer than %d bytes", maxPortable))
	case !utf8.ValidString(name):
		return fail("it is not UTF-8")
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fail("it has a control character")
	case name[0] == '/':
		return fail("it is absolute")
	case strings.Contains(name, `\`):
		return fail("it has a backslash, which separates components on Windows")
	case strings.Count(name, "/") >= maxPortableDepth:
		return fail(fmt.Sprintf("it has more than %d components", maxPortableDepth))
	}
	for c := range strings.SplitSeq(name, "/") {
		switch {
		case c == "":
			return fail("a component is empty")
		case c == "." || c == "..":
			return fail("a component is . or ..")
		case len(c) > maxPortableComponent:
			return fail(fmt.Sprintf("a component is longer than %d bytes", maxPortableComponent))
		}
	}
	return checkWindows(name)
}
