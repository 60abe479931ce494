package modeltext

import (
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// quoted is what [Neutralize] puts before a name.
const quoted = "quoted-"

// maxNesting is how often character references are decoded: &amp;lt; is nested
// twice.
const maxNesting = 4

// Neutralize returns s cleaned, and with "quoted-" before every name in it that
// would make a tag of one of the [Tag]s or reserved names: </skill_content>
// becomes </quoted-skill_content>. Nothing else changes, so that code and other
// markup read as they were written.
//
// A tag is what a lenient reader would take for one: an opening bracket, blanks
// and slashes, and a name, in any letter case, with any or no hyphens,
// underscores and periods in it, with or without a namespace before it, whatever
// follows. Character references are read as what they stand for, also nested
// ones, brackets and letters in other forms of Unicode as the plain ones, and
// accents are ignored. Control tokens of chat templates such as <|im_start|>
// are broken in the same way, whatever their name. Because the name is changed
// and not the bracket, the result has no tags either when somebody decodes it.
// References nested more than four deep are broken by a blank after each &.
//
// Letters of other alphabets that look alike are not taken for the same.
func Neutralize(s string, reserved ...string) string {
	s = Clean(s)
	if !strings.ContainsFunc(s, func(r rune) bool { return r == '&' || isBracket(r) }) {
		return s
	}
	v, deep := newView(s)
	if deep {
		s = strings.ReplaceAll(s, "&", "& ")
		v, _ = newView(s)
	}
	at := v.tags(names(reserved))
	if len(at) == 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(at)*len(quoted))
	done := 0
	for _, i := range at {
		b.WriteString(s[done:i])
		b.WriteString(quoted)
		done = i
	}
	b.WriteString(s[done:])
	return b.String()
}

// names returns the canonical forms of all names that make a tag.
func names(reserved []string) map[string]bool {
	set := make(map[string]bool, len(tags)+len(reserved))
	for _, t := range tags {
		set[canonical(string(t))] = true
	}
	for _, r := range reserved {
		if name := canonical(r); name != "" {
			set[name] = true
		}
	}
	return set
}

func canonical(name string) string {
	var b strings.Builder
	for _, r := range name {
		b.WriteString(plain(r))
	}
	return b.String()
}

// plain returns what a character of a name counts as: a lower-case letter
// without accents, a digit, or nothing for what joins or is not seen.
func plain(r rune) string {
	switch {
	case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		return string(r)
	case r >= 'A' && r <= 'Z':
		return string(r + 'a' - 'A')
	case r < 0x80, skipped(r):
		return ""
	}
	var b strings.Builder
	for _, d := range norm.NFKD.String(string(r)) {
		if unicode.IsLetter(d) || unicode.IsDigit(d) {
			b.WriteRune(unicode.ToLower(unicode.ToUpper(d)))
		}
	}
	return b.String()
}

// skipped reports whether a character is not seen, or only changes another.
func skipped(r rune) bool {
	return r >= 0x80 && (unicode.Is(unicode.M, r) || Hidden(r, 0)) || r < ' ' && !unicode.IsSpace(r)
}

// isBracket reports whether r opens a tag, or looks as if it did.
func isBracket(r rune) bool {
	switch r {
	case '<', '\u02c2', '\u1438', '\u2039', '\u2329', '\u276c', '\u276e', '\u2770', '\u27e8', '\u3008',
		'\ufe3f', '\ufe64', '\uff1c':
		return true
	}
	return false
}

func isSlash(r rune) bool {
	switch r {
	case '/', '\\', '\u2044', '\u2215', '\u29f8', '\uff0f', '\uff3c', '\ufe68':
		return true
	}
	return false
}

func isPipe(r rune) bool { return r == '|' || r == '\uff5c' || r == '\u2223' || r == '\u2758' }

func isNameRune(r rune) bool {
	switch r {
	case '_', '-', '.', '\u2581': // the last joins words in some control tokens
		return true
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Pc, r) || unicode.Is(unicode.Pd, r) || skipped(r)
}

// view is a text with its character references decoded, and where in the text
// each character begins.
type view struct {
	runes []rune
	at    []int
}

// newView decodes s. It also reports whether s is nested deeper than that.
func newView(s string) (v *view, deep bool) {
	n := utf8.RuneCountInString(s)
	v = &view{make([]rune, 0, n), make([]int, 0, n)}
	for i, r := range s {
		v.runes = append(v.runes, r)
		v.at = append(v.at, i)
	}
	for range maxNesting {
		if !v.decode() {
			return v, false
		}
	}
	return v, v.decode()
}

// decode decodes one level of character references in place, which never makes
// the text longer. It reports whether there were any.
func (v *view) decode() bool {
	out := slices.Index(v.runes, '&')
	if out < 0 {
		return false
	}
	found := false
	for in := out; in < len(v.runes); {
		size, text := 1, ""
		if v.runes[in] == '&' {
			size, text = v.reference(in)
		}
		at := v.at[in]
		if text == "" {
			v.runes[out], v.at[out] = v.runes[in], at
			out++
			in++
			continue
		}
		found = true
		for _, r := range text {
			v.runes[out], v.at[out] = r, at
			out++
		}
		in += size
	}
	v.runes, v.at = v.runes[:out], v.at[:out]
	return found
}

// reference returns the length of the character reference at i, in characters,
// and what it stands for, or "".
func (v *view) reference(i int) (size int, text string) {
	const (
		longest       = 40 // of all references
		longestLegacy = 7  // of those that need no semicolon, such as &lt
	)
	buf := make([]byte, 0, longest)
	buf = append(buf, '&')
	for _, r := range v.runes[i+1 : min(i+longest, len(v.runes))] {
		if !(r == '#' && len(buf) == 1 || r == ';' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
			break
		}
		buf = append(buf, byte(r))
		if r == ';' {
			break
		}
	}
	if len(buf) > 2 && buf[len(buf)-1] == ';' {
		if text, ok := whole(string(buf)); ok {
			return len(buf), text
		}
		buf = buf[:len(buf)-1]
	}
	// Without the semicolon readers take the longest beginning that is one.
	if len(buf) > longestLegacy && buf[1] != '#' {
		buf = buf[:longestLegacy]
	}
	for n := len(buf); n > 2; n-- {
		if text, ok := whole(string(buf[:n])); ok {
			return n, text
		}
	}
	return 1, ""
}

// whole decodes a text that is one character reference and nothing else.
func whole(ref string) (string, bool) {
	text := html.UnescapeString(ref)
	n := utf8.RuneCountInString(text)
	// The rest of one that was decoded in part follows what it stands for.
	if text == ref || n > 2 || n == 2 && text[len(text)-1] == ref[len(ref)-1] {
		return "", false
	}
	return text, true
}

// tags returns the places in the text, ascending, before which a name has to be
// broken.
func (v *view) tags(reserved map[string]bool) []int {
	var found []int
	for i, r := range v.runes {
		if !isBracket(r) {
			continue
		}
		j := i + 1
		for j < len(v.runes) && (unicode.IsSpace(v.runes[j]) || isSlash(v.runes[j]) || skipped(v.runes[j])) {
			j++
		}
		control := j < len(v.runes) && isPipe(v.runes[j])
		if control {
			j++
		}
		for _, at := range v.name(j, reserved, control) {
			if len(found) == 0 || at > found[len(found)-1] {
				found = append(found, at)
			}
		}
	}
	return found
}

// name returns the places before which the name at j has to be broken. A name
// has parts, with colons between them. All parts of a control token count that
// has a pipe behind it.
func (v *view) name(j int, reserved map[string]bool, control bool) (found []int) {
	var b strings.Builder
	start := j
	part := func(end int) {
		name := b.String()
		if end > start && (reserved[name] || control && end < len(v.runes) && isPipe(v.runes[end]) && !strings.HasPrefix(name, canonical(quoted))) {
			found = append(found, v.at[start])
		}
		b.Reset()
	}
	for ; j < len(v.runes); j++ {
		switch r := v.runes[j]; {
		case r == ':' || r == '\uff1a':
			part(j)
			start = j + 1
		case isNameRune(r):
			b.WriteString(plain(r))
		default:
			part(j)
			return found
		}
	}
	part(j)
	return found
}
