// Package invisible knows the characters that show nothing of their own, or
// change how others are shown. It is one table for all who have to escape,
// remove, refuse or report them; which of them a text needs after all, they
// decide.
package invisible

// Kind says in words what kind of character does not show, or "" of one that
// does, is white space, or is not assigned.
func Kind(r rune) string {
	in := func(from, to rune) bool { return r >= from && r <= to }
	switch {
	case r == '\t', r == '\n', r == '\r', r == '\f', r == 0x85:
		return ""
	case r < 0x20, in(0x7f, 0x9f):
		return "control character"
	case r < 0xad:
		return ""
	case in(0x202a, 0x202e), in(0x2066, 0x2069):
		return "bidirectional control"
	case r == 0x61c, r == 0x200e, r == 0x200f:
		return "direction mark"
	case in(0x200b, 0x200d), r == 0x2060, r == 0xfeff, r == 0x180e:
		return "zero-width character"
	case in(0xe0000, 0xe007f):
		return "tag character"
	case in(0xfe00, 0xfe0f), in(0xe0100, 0xe01ef), in(0x180b, 0x180d), r == 0x180f:
		return "variation selector"
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800, in(0x17b4, 0x17b5):
		return "blank letter"
	// Those that are not assigned are to be shown as nothing, too.
	case r == 0xad, r == 0x34f, in(0x2061, 0x2065), in(0x206a, 0x206f), in(0xfff0, 0xfffb), in(0x1bca0, 0x1bca3), in(0x1d173, 0x1d17a),
		in(0xe0080, 0xe00ff), in(0xe01f0, 0xe0fff):
		return "invisible character"
	}
	return ""
}
