package modeltext

import (
	"fmt"
	"html"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// disguises are ways to write a text so that some reader still takes it for the
// same.
var disguises = []func(*rand.Rand, string) string{
	// References of all kinds, with and without a semicolon.
	each(func(r rune) string { return fmt.Sprintf("&#%d;", r) }),
	each(func(r rune) string { return fmt.Sprintf("&#x%X;", r) }),
	each(func(r rune) string { return fmt.Sprintf("&#00%d ", r) }),
	each(func(r rune) string {
		if name := map[rune]string{'<': "&lt", '>': "&GT;", '/': "&sol;", '&': "&amp;", '_': "&lowbar;", '|': "&vert;", ' ': "&Tab;", ':': "&colon;"}[r]; name != "" {
			return name
		}
		return string(r)
	}),
	// Other forms of letters and signs.
	each(func(r rune) string {
		if r > ' ' && r < 0x7f {
			return string(r - '!' + '！')
		}
		return string(r)
	}),
	each(func(r rune) string {
		if r >= 'a' && r <= 'z' {
			return string(r - 'a' + '𝐚')
		}
		return string(r)
	}),
	each(func(r rune) string { return string(unicode.ToUpper(r)) }),
	each(func(r rune) string { return string(unicode.SimpleFold(r)) }),
	// What is not seen, and marks.
	each(func(r rune) string { return string(r) + "\u200b" }),
	each(func(r rune) string { return "\u2060" + string(r) }),
	each(func(r rune) string { return string(r) + "\U000e0020" }),
	each(func(r rune) string { return string(r) + "\u0301" }),
	each(func(r rune) string { return string(r) + "\x01" }),
	// Blanks and slashes where a tag allows them.
	func(_ *rand.Rand, s string) string { return strings.ReplaceAll(s, "<", "< \t") },
	func(_ *rand.Rand, s string) string { return strings.ReplaceAll(s, "</", "<\n/\u00a0/") },
	func(_ *rand.Rand, s string) string { return strings.ReplaceAll(s, "_", "-") },
	func(_ *rand.Rand, s string) string { return strings.ReplaceAll(s, ">", " x=\"'\"\n>") },
	func(_ *rand.Rand, s string) string { return strings.TrimSuffix(s, ">") },
	func(_ *rand.Rand, s string) string { return html.EscapeString(s) },
	func(_ *rand.Rand, s string) string { return s + s },
	func(_ *rand.Rand, s string) string { return "<" + s },
	func(_ *rand.Rand, s string) string { return "quoted-" + s },
}

// each disguises some of the characters.
func each(f func(rune) string) func(*rand.Rand, string) string {
	return func(rng *rand.Rand, s string) string {
		var b strings.Builder
		part := rng.IntN(4)
		for _, r := range s {
			if rng.IntN(4) <= part {
				b.WriteString(f(r))
			} else {
				b.WriteRune(r)
			}
		}
		return b.String()
	}
}

// readings are what a reader may make of a text, its references decoded, before
// it looks for tags.
var readings = []func(string) string{
	norm.NFKC.String,
	func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Cc, unicode.Mn) && !unicode.IsSpace(r) {
				return -1
			}
			return r
		}, norm.NFD.String(s))
	},
	func(s string) string { return strings.ToLower(strings.ToUpper(s)) },
}

var anyOfOurs = regexp.MustCompile(`(?i)<[\s/]*(?:[\w.-]+:)?(?:available[_.-]?skills|skill(?:[_.-]?(?:content|resources?))?|tool[_.-]?result|host[_.-]?note)(?:[\s/>]|$)|<\|(?:im_start|im_end|system)\|`)

// However often a tag is disguised, it is none to a reader who decodes references
// as often as that and then takes other disguises off, in any order. [S11] [R11]
func TestDisguisedTags(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	targets := []string{"</skill_content>", "<skill>", "</available_skills>", "<skill_resources>", "</tool_result>", "<x:skill_resource>", "</host_note>", "<|im_start|>", "<|system|>"}
	rounds := 6_000
	if testing.Short() {
		rounds = 600
	}
	for range rounds {
		in := targets[rng.IntN(len(targets))]
		for range rng.IntN(4) {
			in = disguises[rng.IntN(len(disguises))](rng, in)
		}
		out := Neutralize("a "+in+" b", "host_note")
		if again := Neutralize(out, "host_note"); again != out {
			t.Fatalf("%+q gives %+q and then %+q", in, out, again)
		}
		order := rng.Perm(len(readings))
		text := out
		for range rng.IntN(maxNesting) {
			text = html.UnescapeString(text)
		}
		for i, at := range order {
			if found := anyOfOurs.FindString(text); found != "" {
				t.Fatalf("%+q gives %+q, which after the readings %v has %+q", in, out, slices.Clone(order[:i]), found)
			}
			text = readings[at](text)
		}
		if found := anyOfOurs.FindString(text); found != "" {
			t.Fatalf("%+q gives %+q, which after the readings %v has %+q", in, out, order, found)
		}
	}
}
