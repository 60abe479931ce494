package textpos

import "unicode/utf8"

// FirstInvalid returns the offset of the first byte of s that is not UTF-8, or
// -1 where there is none.
func FirstInvalid(s []byte) int {
	if utf8.Valid(s) {
		return -1
	}
	for off := 0; off < len(s); {
		r, size := utf8.DecodeRune(s[off:])
		if r == utf8.RuneError && size == 1 {
			return off
		}
		off += size
	}
	return -1
}
