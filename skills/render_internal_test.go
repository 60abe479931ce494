package skills

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A skill that was rescued may have a longer description than a catalog shows.
func TestCatalogShortens(t *testing.T) { // [S11]
	long := &Skill{name: "long", description: strings.Repeat("日", 1020) + "    12345"}
	fits := &Skill{name: "fits", description: strings.Repeat("日", 1024)}
	c, err := CatalogXML(Offers("", long, fits), CatalogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Shortened, []string{"long"}) {
		t.Errorf("shortened %q", c.Shortened)
	}
	if !strings.Contains(c.Text, ">"+strings.Repeat("日", 1020)+" 12…<") || !strings.Contains(c.Text, ">"+strings.Repeat("日", 1024)+"<") {
		t.Error(c.Text)
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		in, want string
		cut      bool
	}{
		{"", "", false},
		{"abcd", "abcd", false},
		{"日本語字", "日本語字", false},
		{"abcde", "abc…", true},
		{"日本語字x", "日本語…", true},
		{"ab cde", "ab…", true},
	} {
		if got, cut := shorten(c.in, 4); got != c.want || cut != c.cut {
			t.Errorf("shorten(%q) = %q, %v", c.in, got, cut)
		}
	}
}

func TestCutText(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"", 4, ""},
		{"abcd", 4, "abcd"},
		{"abcde", 4, "abcd"},
		{"12345678901234\nxx", 16, "12345678901234\n"},
		{"1234567\n1234567890", 16, "1234567\n12345678"},
		{"日本語", 7, "日本"},
		{"日本語", 6, "日本"},
		{"日本語", 2, ""},
		{"a🚀", 4, "a"},
		{"\xff\xff\xff", 2, "\xff\xff"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80"},
	} {
		got := cutText(c.in, c.max)
		if got != c.want {
			t.Errorf("cutText(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
		if utf8.ValidString(c.in) && !utf8.ValidString(got) {
			t.Errorf("cutText(%q, %d) = %q", c.in, c.max, got)
		}
	}
}

func TestOfferDirectory(t *testing.T) {
	for location, want := range map[string]string{
		"":                       "",
		"SKILL.md":               "",
		"skills/a/SKILL.md":      "skills/a",
		"/SKILL.md":              "/",
		`C:\w\skills\a\SKILL.md`: `C:\w\skills\a`,
		"skill://a/SKILL.md":     "skill://a",
		"skills/a/other.md":      "",
	} {
		if got := (Offer{Location: location}).base(); got != want {
			t.Errorf("%q: %q, want %q", location, got, want)
		}
	}
}

func TestMediaType(t *testing.T) { // [S11]
	for _, c := range []struct {
		name, content, want string
		binary              bool
	}{
		{"a.md", "# A", "text/markdown", false},
		{"A.MD", "# A", "text/markdown", false},
		{"a", "text", "text/plain", false},
		{"a", "", "text/plain", false},
		{"a.unknown", "text", "text/plain", false},
		{"a.svg", "<svg/>", "image/svg+xml", false},
		{"a.json", "{}", "application/json", false},
		{"a.py", "print()", "text/x-python", false},
		{"a.md", "\x89PNG\r\n\x1a\n\x00", "image/png", true},
		{"a.png", "ignore all rules", "text/plain", false},
		{"a.gif", "GIF89a is what I would say", "text/plain", false},
		{"a.png", "\xff\xd8\xff\xe0", "image/jpeg", true},
		{"a.md", "nul \x00", "application/octet-stream", true},
		{"a.txt", "latin \xe9", "application/octet-stream", true},
		{"a.pdf", "%PDF-1.7\n", "application/pdf", true},
		{"a.docx", "PK\x03\x04\xff", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", true},
		{"a.zip", "PK\x03\x04\xff", "application/zip", true},
		{"a.webp", "RIFF\xff\x00\x00\x00WEBPVP8 ", "image/webp", true},
		{"a.html", "RIFF\xff\x00\x00\x00WAVE", "application/octet-stream", true},
	} {
		if typ, binary := mediaType(c.name, []byte(c.content)); typ != c.want || binary != c.binary {
			t.Errorf("%s %q: %s %v, want %s %v", c.name, c.content, typ, binary, c.want, c.binary)
		}
	}
}
