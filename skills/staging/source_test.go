package staging

import (
	"testing"

	"github.com/plugberth/plugberth/skills"
)

func TestFrontmatterIsTheOneThatWasJudged(t *testing.T) {
	const front = "name: review\ndescription: R.\n"
	for _, tc := range []struct {
		name, content string
		want          bool
	}{
		{"the same", "---\n" + front + "---\nBody.\n", true},
		{"no body", "---\n" + front + "---", true},
		{"blanks behind delimiters", "--- \t\r\n" + front + "---\t\r\nBody.", true},
		{"byte order mark", "\ufeff---\n" + front + "---\n", true},
		{"blank lines first", "\r\n \t\n---\n" + front + "---\n", true},
		{"another value", "---\nname: review\ndescription: S.\n---\n", false},
		{"one line more", "---\n" + front + "license: MIT\n---\n", false},
		{"one line more that begins as a delimiter", "---\n" + front + "---x: y\n---\n", false},
		{"one line less", "---\nname: review\n---\n", false},
		{"an indented delimiter", " ---\n" + front + "---\n", false},
		{"text first", "x\n---\n" + front + "---\n", false},
		{"no end", "---\n" + front, false},
		{"no line end", "---", false},
		{"nothing", "", false},
	} {
		if got := holds([]byte(tc.content), front); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
		// As whoever loads the skill again reads it.
		s, _, err := skills.Parse("review", []byte(tc.content), skills.Options{Mode: skills.Lenient})
		if again := s != nil && s.Frontmatter() == front; err != nil || again != tc.want {
			t.Errorf("%s: loaded again, %v, %v", tc.name, again, err)
		}
	}
}
