package skills

import (
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin/finding"
)

// [S2] [S10]
func TestSplit(t *testing.T) {
	tests := []struct {
		name        string
		file        string
		front, body string
	}{
		{"plain", "---\nname: x\n---\nBody.\n", "name: x\n", "Body.\n"},
		{"CRLF", "---\r\nname: x\r\n---\r\nBody.\r\n", "name: x\r\n", "Body.\r\n"},
		{"mixed line ends", "---\r\nname: x\n---\nBody.\r\n", "name: x\n", "Body.\r\n"},
		{"blanks behind the opening delimiter", "---  \nname: x\n---\nBody.", "name: x\n", "Body."},
		{"tabs behind both", "---\t\nname: x\n---\t \nBody.", "name: x\n", "Body."},
		{"blanks and CRLF behind both", "--- \t\r\nname: x\r\n--- \r\nBody.", "name: x\r\n", "Body."},
		{"byte order mark", bom + "---\nname: x\n---\nBody.", "name: x\n", "Body."},
		{"end of file behind the closing delimiter", "---\nname: x\n---", "name: x\n", ""},
		{"end of file behind its blanks", "---\nname: x\n---  \t", "name: x\n", ""},
		{"end of file behind its carriage return", "---\nname: x\n---\r", "name: x\n", ""},
		{"no frontmatter text", "---\n---\n", "", ""},
		{"no frontmatter text, no last line end", "---\n---", "", ""},
		{"no body text", "---\nname: x\n---\n", "name: x\n", ""},
		{"blank lines of the body are kept", "---\na: b\n---\n\n\n  Body.  \n\n", "a: b\n", "\n\n  Body.  \n\n"},
		{"--- in the body", "---\na: b\n---\nx\n---\ny: z\n---\n", "a: b\n", "x\n---\ny: z\n---\n"},
		{"body that begins with ---", "---\na: b\n---\n---\nBody.\n", "a: b\n", "---\nBody.\n"},
		{"--- inside a value", "---\ndescription: a --- b\n---\nBody.\n", "description: a --- b\n", "Body.\n"},
		{"indented ---", "---\na: |\n  x\n  ---\n  y\n---\nBody.\n", "a: |\n  x\n  ---\n  y\n", "Body.\n"},
		{"--- indented by a tab", "---\na: b\n\t---\n---\nBody.", "a: b\n\t---\n", "Body."},
		{"---- is no delimiter", "---\na: b\n----\n---\nBody.", "a: b\n----\n", "Body."},
		{"---x is no delimiter", "---\na: b\n---x\n---\nBody.", "a: b\n---x\n", "Body."},
		{"--- with a comment is no delimiter", "---\na: b\n--- # end\n---\nBody.", "a: b\n--- # end\n", "Body."},
		{"-- and = are no delimiters", "---\na: b\n--\n===\n---\nBody.", "a: b\n--\n===\n", "Body."},
		{"--- behind other line breaks", "---\na: b\u0085---\u2028---\u2029---\r---\n---\nBody.", "a: b\u0085---\u2028---\u2029---\r---\n", "Body."},
		{"--- with a no-break space", "---\na: b\n---\u00a0\n---\nBody.", "a: b\n---\u00a0\n", "Body."},
		{"--- with a form feed", "---\na: b\n---\f\n---\nBody.", "a: b\n---\f\n", "Body."},
		{"--- with two carriage returns", "---\na: b\n---\r\r\n---\nBody.", "a: b\n---\r\r\n", "Body."},
		{"body that is not UTF-8", "---\na: b\n---\n\xff\xfe", "a: b\n", "\xff\xfe"},
		{"NUL in the body", "---\na: b\n---\n\x00", "a: b\n", "\x00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc, f := split([]byte(tt.file), Strict)
			if f != nil {
				t.Fatalf("fault %s at %d: %s", f.code, f.off, f.message)
			}
			if got := string(doc.front); got != tt.front {
				t.Errorf("frontmatter %q, want %q", got, tt.front)
			}
			if got := string(doc.body); got != tt.body {
				t.Errorf("body %q, want %q", got, tt.body)
			}
			if got := tt.file[doc.start : doc.start+len(doc.front)]; got != tt.front {
				t.Errorf("the frontmatter's offset %d is that of %q", doc.start, got)
			}
			if want := strings.HasPrefix(tt.file, bom); doc.bom != want {
				t.Errorf("byte order mark %v, want %v", doc.bom, want)
			}
		})
	}
}

// [S2]
func TestSplitFaults(t *testing.T) {
	tests := []struct {
		name    string
		file    string
		code    finding.Code
		off     int
		message string
	}{
		{"empty file", "", finding.SkillNoFrontmatter, 0, "begin the file"},
		{"only a byte order mark", bom, finding.SkillNoFrontmatter, 0, "begin the file"},
		{"only blanks", " \n\n", finding.SkillNoFrontmatter, 0, "begin the file"},
		{"no frontmatter", "# Title\n", finding.SkillNoFrontmatter, 0, "begin the file"},
		{"a leading blank line", "\n---\na: b\n---\n", finding.SkillNoFrontmatter, 0, "remove the blank lines"},
		{"leading blank lines, CRLF", " \r\n\t\r\n---\r\na: b\r\n---\r\n", finding.SkillNoFrontmatter, 0, "remove the blank lines"},
		{"a leading comment", "# c\n---\na: b\n---\n", finding.SkillNoFrontmatter, 0, "begin the file"},
		{"a leading HTML comment", "<!-- c -->\n---\na: b\n---\n", finding.SkillNoFrontmatter, 0, "begin the file"},
		{"an indented opening delimiter", " ---\na: b\n---\n", finding.SkillNoFrontmatter, 0, "begin the file"},
		{"four hyphens", "----\na: b\n---\n", finding.SkillNoFrontmatter, 0, "begin the file"},
		{"text behind the opening delimiter", "--- a: b\n---\n", finding.SkillNoFrontmatter, 0, "begin the file"},
		{"two byte order marks", bom + bom + "---\na: b\n---\n", finding.SkillNoFrontmatter, 0, "begin the file"},
		{"em dashes", "\u2014\na: b\n\u2014\n", finding.SkillNoFrontmatter, 0, "begin the file"},
		{"lone carriage returns", "---\ra: b\r---\rBody.", finding.SkillNoFrontmatter, 0, "begin the file"},
		{"UTF-16LE", "\xff\xfe-\x00-\x00-\x00\n\x00", finding.SkillInvalidEncoding, 0, "UTF-16"},
		{"UTF-16BE", "\xfe\xff\x00-\x00-\x00-\x00\n", finding.SkillInvalidEncoding, 0, "UTF-16"},
		{"only the opening delimiter", "---", finding.SkillFrontmatterUnclosed, 0, "no end"},
		{"only the opening line", "---\n", finding.SkillFrontmatterUnclosed, 0, "no end"},
		{"no closing delimiter", "---\na: b\n", finding.SkillFrontmatterUnclosed, 0, "no end"},
		{"an indented closing delimiter", "---\na: b\n ---\n", finding.SkillFrontmatterUnclosed, 0, "no end"},
		{"a closing delimiter of four hyphens", "---\na: b\n----\n", finding.SkillFrontmatterUnclosed, 0, "no end"},
		{"... as the end", "---\na: b\n...\nBody.\n", finding.SkillFrontmatterUnclosed, 0, "no end"},
		{"unclosed behind a byte order mark", bom + "---\na: b\n", finding.SkillFrontmatterUnclosed, len(bom), "no end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, f := split([]byte(tt.file), Strict)
			if f == nil {
				t.Fatal("no fault")
			}
			if f.code != tt.code || f.off != tt.off || !strings.Contains(f.message, tt.message) {
				t.Errorf("got %s at %d %q, want %s at %d with %q", f.code, f.off, f.message, tt.code, tt.off, tt.message)
			}
		})
	}
}

// [S2] [S8]
func TestCheckMarkers(t *testing.T) {
	marker := func(text string) int { return strings.Index(text, "@") }
	// The @ stands before the marker that is refused; none means that there is none.
	for _, text := range []string{
		"a: b\n@...\n", "a: b\n@... # c\n", "a: b\n@...\t\n", "a: b\n@...", "@...\na: b\n",
		"a: b\n@--- x\n", "@--- # c\na: b\n", "a: b\n@---\tx: y\n", "a: b\n@--- |\n x\n",
		"a: b\r\n@...\r\n", "a: b\r@...\rc: d\n", "a: b\r@---\rc: d\n", "a: b\n@---\rc: d\n",
		"a: b\u0085@...\n", "a: b\u2028@...\n", "a: b\u2029@--- c\n", "a: b\n@...\u2028c\n", "a: b\n@---\u0085c\n",
		"a: |\n  x\n@...\n  y\n", "a: >\n  x\u2028@--- y\n", "a: \"x\n@... y\"\n", "a: é\u2028b\u2028@...\n",
		"a: ...\n", "a: b...\n", " ...\na: b\n", "a: |\n  ...\n  --- x\n", "....\n", "...a: b\n", "---a: b\n", "----\n", "a: b\n..\n", "# ...\n",
		"a: b\u00a0...\n", "a: b\v...\n", "a: \u2027...\n", "a: x\n---\u00a0\n", "",
	} {
		doc := document{front: []byte(strings.Replace(text, "@", "", 1)), start: 4}
		switch f := doc.check(1000); {
		case marker(text) < 0 && f != nil:
			t.Errorf("%q: %s at %d, want no fault", text, f.code, f.off)
		case marker(text) >= 0 && f == nil:
			t.Errorf("%q: no fault", text)
		case f != nil && (f.code != finding.SkillMultipleDocuments || f.off != 4+marker(text)):
			t.Errorf("%q: %s at %d, want %d", text, f.code, f.off, 4+marker(text))
		}
	}
}

// [S10]
func TestBodyStaysAsItIs(t *testing.T) {
	for _, body := range []string{"", "\n", "x", "\r\n# T\r\n\x00\xff\u2028---\n...\n", " \t\n---\n---\n"} {
		doc, f := split([]byte("---\nname: x\ndescription: d\n---\n"+body), Strict)
		if f != nil || string(doc.body) != body {
			t.Errorf("body %q became %q, %v", body, doc.body, f)
		}
	}
}
