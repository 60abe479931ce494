package skills

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/plugberth/plugberth/internal/invisible"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/plugin/finding"
)

// checkName notes a file name that would not show as it is, or pass for a
// marker, in a list of resources.
func checkName(s sheet, name string) {
	scratch := sheet{Sheet: &report.Sheet{}}
	if checkHidden(scratch, []byte(name)) {
		s.add(finding.SkillHiddenText, report.Whole, "the name of the file holds characters that do not show, %s: rename it", printable.Quote(name))
	}
	if checkMarkers(scratch, []byte(name)) {
		s.add(finding.SkillInjectionMarker, report.Whole, "the name of the file holds a marker of chat templates or prompts: rename it")
	}
}

// checkHidden notes runs of characters that do not show, and reports whether
// there are any. Those that a script or an emoji needs do not count.
func checkHidden(s sheet, text []byte) bool {
	found := 0
	before := rune(-1) // the character in front, -1 where that is a finding
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		kind := invisible.Kind(r)
		if kind == "" || size == 1 && r == utf8.RuneError {
			before = r
			i += size
			continue
		}
		if n := needed(text, i, r, before); n > 0 {
			before = r // which needs no other of its kind behind it
			i += n
			continue
		}
		start, first, count := i, r, 0
		for i < len(text) {
			r, size := utf8.DecodeRune(text[i:])
			if size == 1 && r == utf8.RuneError || invisible.Kind(r) == "" {
				break
			}
			count++
			i += size
		}
		before = -1
		if found++; found > auditFaults {
			s.Cut = true
			return true
		}
		what := "a character that does not show stands here,"
		if count > 1 {
			what = fmt.Sprintf("%d characters that do not show begin here with", count)
		}
		s.add(finding.SkillHiddenText, start, "%s U+%04X (%s): remove what is not meant to be read", what, first, kind)
	}
	return found > 0
}

// flags are the tags of the three flags that are written with them.
var flags = [][]byte{tags("gbeng"), tags("gbsct"), tags("gbwls")}

func tags(s string) []byte {
	var out []byte
	for _, r := range s {
		out = utf8.AppendRune(out, 0xe0000+r)
	}
	return utf8.AppendRune(out, 0xe007f)
}

// needed returns how many bytes from i on a script or an emoji needs, although
// the character there does not show; before is the character in front of it.
func needed(text []byte, i int, r, before rune) int {
	size := utf8.RuneLen(r)
	after, _ := utf8.DecodeRune(text[i+size:])
	switch {
	case r == 0xfeff && i == 0:
		return size // a byte order mark
	case r == 0xfe0e || r == 0xfe0f: // picture or text; also of the digits of keycaps
		if before >= '0' && before <= '9' || before == '#' || before == '*' || before == '©' || before == '®' || before >= 0x203c && before <= 0x3299 || pictures(before) {
			return size
		}
	case r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef: // forms of an ideograph or a mathematical symbol
		if unicode.In(before, unicode.Han, unicode.Sm, unicode.Mongolian, unicode.Myanmar) {
			return size
		}
	case r >= 0x180b && r <= 0x180f:
		if unicode.Is(unicode.Mongolian, before) {
			return size
		}
	case r == 0x200d: // joins emoji, and letters of scripts with joined forms
		if (pictures(before) || before == 0xfe0f) && pictures(after) || joins(before) {
			return size
		}
	case r == 0x200c:
		if joins(before) {
			return size
		}
	case r == 0x200b: // where a word may break, in scripts without blanks
		if unicode.In(before, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Javanese) {
			return size
		}
	case r == 0x61c || r == 0x200e || r == 0x200f:
		if before > 0 && invisible.Kind(before) == "" && rightToLeft(lineAround(text, i)) {
			return size
		}
	case before == 0x1f3f4: // a black flag, behind which tags name a region
		for _, f := range flags {
			if bytes.HasPrefix(text[i:], f) {
				return len(f)
			}
		}
	}
	return 0
}

// pictures reports whether r stands for a picture or colors one.
func pictures(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff
}

// joins reports whether r belongs to a script whose letters join, or form
// clusters that a zero-width character can part.
func joins(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}

// lineAround returns the line that holds the offset, as far as 200 bytes around.
func lineAround(text []byte, at int) []byte {
	from, to := max(0, at-200), min(len(text), at+200)
	if i := bytes.LastIndexByte(text[from:at], '\n'); i >= 0 {
		from += i + 1
	}
	if i := bytes.IndexByte(text[at:to], '\n'); i >= 0 {
		to = at + i
	}
	return text[from:to]
}

func rightToLeft(line []byte) bool {
	return bytes.IndexFunc(line, func(r rune) bool {
		return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
	}) >= 0
}
