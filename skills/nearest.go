package skills

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// NearestName returns the valid skill name that is nearest to a text, for a
// person or program that chose one that [CheckName] refuses: letters in lower
// case and without their marks ("Größe" is "grosse"), each run of anything
// else as one hyphen, cut to 64 characters. It returns "" where nothing
// of the text can be kept, and a valid name unchanged.
func NearestName(text string) string {
	const enough = 4096 // bytes; a longer text is cut anyway
	if len(text) > enough {
		text = text[:enough]
	}
	text = norm.NFKD.String(cases.Fold().String(strings.ToValidUTF8(text, "-")))
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, text)
	slug, _ := slugify(text)
	return slug
}
