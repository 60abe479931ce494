// Package printable makes text that came from outside safe to show.
//
// Package files, servers and agents choose their own bytes. Shown as they are,
// control characters move a terminal's cursor, bidirectional overrides reorder
// a line, and zero-width or tag characters hide text. Everything that plugberth
// shows of such text goes through this package first.
package printable

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/plugberth/plugberth/internal/invisible"
)

// maxQuoted is how many characters of a value a message quotes.
const maxQuoted = 80

// Escape returns s with each character that does not print as itself replaced
// by a Go escape: controls as \n or \x1b, format characters (bidi, zero-width,
// tags) as \u202e, bytes that are not UTF-8 as \xNN. A backslash stays as it
// is: the result is for people, not for parsers.
func Escape(s string) string {
	i := firstUnprintable(s)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			const hex = "0123456789abcdef"
			b.WriteString(`\x`)
			b.WriteByte(hex[s[i]>>4])
			b.WriteByte(hex[s[i]&15])
		case visible(r):
			b.WriteString(s[i : i+size])
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		i += size
	}
	return b.String()
}

// Quote returns s escaped and in double quotes, cut after 80 characters.
func Quote(s string) string {
	n := 0
	for i := range s {
		if n == maxQuoted {
			return `"` + Escape(s[:i]) + `…"`
		}
		n++
	}
	return `"` + Escape(s) + `"`
}

// UTF8 returns s with only the bytes that are not UTF-8 replaced, by \xNN.
func UTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b.WriteString(Escape(s[i : i+1]))
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func firstUnprintable(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
		if !visible(r) {
			return i
		}
	}
	return -1
}

// visible reports whether r shows itself: letters, marks, numbers, punctuation,
// symbols and spaces, without the fillers and selectors that show nothing.
func visible(r rune) bool {
	if r < 0x7f {
		return r >= 0x20
	}
	if r == 0xfe0e || r == 0xfe0f { // which choose how a symbol looks
		return true
	}
	return strconv.IsGraphic(r) && invisible.Kind(r) == ""
}
