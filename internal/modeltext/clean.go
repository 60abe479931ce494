// Package modeltext prepares text that came from outside for a language model.
//
// Unlike [printable], which shows a person what stands there, it removes what a
// person would not see: a model reads hidden characters as well as visible
// ones.
//
// [printable]: https://pkg.go.dev/github.com/plugberth/plugberth/internal/printable
package modeltext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plugberth/plugberth/internal/invisible"
)

// Clean returns s without control, bidi, zero-width, tag and other invisible
// characters. Line feeds and tabs stay; CRLF, a lone CR and the Unicode line
// and paragraph separators become line feeds. Bytes that are not UTF-8 become
// U+FFFD. Text that is clean is returned as it is.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	var prev rune
	for _, r := range s {
		switch {
		case r == '\r', r == '\u2028', r == '\u2029':
			b.WriteByte('\n')
		case r == '\n' && prev == '\r':
		case Hidden(r, prev):
		default:
			b.WriteRune(r)
		}
		prev = r
	}
	return b.String()
}

// Line is [Clean] for text that has to stay on one line: each run of blanks and
// line ends becomes one space, and none is left at either end.
func Line(s string) string {
	return strings.Join(strings.Fields(Clean(s)), " ")
}

func isClean(s string) bool {
	var prev rune
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || r == '\r' || r == '\u2028' || r == '\u2029' || Hidden(r, prev) {
			return false
		}
		prev = r
		i += size
	}
	return true
}

// Hidden reports whether r, which stands after prev, shows nothing of its own
// or changes how its neighbors are shown: what [Clean] removes. Line ends and
// tabs are not hidden. U+FE0F and U+FE0E, which choose how a symbol looks, are
// hidden unless they stand directly after a visible character that is no ASCII
// letter.
func Hidden(r, prev rune) bool {
	if r < 0x7f {
		return r < 0x20 && r != '\n' && r != '\t' && r != '\r'
	}
	switch {
	case r == 0xfe0e, r == 0xfe0f:
		return prev < 0x23 || prev < 0x7f && unicode.IsLetter(prev) || Hidden(prev, 0)
	case r == 0x2028, r == 0x2029:
		return false
	}
	// Of Cf some show in the scripts they are for; private use, Co, a reader sees
	// as a box at best.
	return invisible.Kind(r) != "" || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}
