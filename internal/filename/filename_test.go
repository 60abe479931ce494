package filename

import "testing"

func TestKey(t *testing.T) {
	for _, same := range [][]string{
		{"readme.md", "README.md", "ReadMe.MD"},
		{"\u00e9", "e\u0301", "E\u0301", "\u00c9"},
		{"straße", "STRASSE", "strasse", "STRA\u1e9eE"},
		{"\u017fkill", "skill", "SKILL"},
		{"\u212a", "k", "K"},
		{"\u03a3", "\u03c3", "\u03c2"},
		{"a/B/c", "A/b/C"},
		{"\uac00", "\u1100\u1161"},
	} {
		for _, name := range same[1:] {
			if Key(name) != Key(same[0]) {
				t.Errorf("Key(%+q) = %+q, Key(%+q) = %+q", name, Key(name), same[0], Key(same[0]))
			}
		}
	}
	for _, pair := range [][2]string{{"a", "b"}, {"a-b", "a_b"}, {"e", "é"}, {"ı", "i"}, {"", "a"}} {
		if Key(pair[0]) == Key(pair[1]) {
			t.Errorf("%q and %q have one key", pair[0], pair[1])
		}
	}
}

func TestFlaw(t *testing.T) {
	for _, c := range []struct {
		name             string
		anywhere, onlyOn bool
	}{
		{"rules.md", false, false},
		{"日本語 é.txt", false, false},
		{".hidden", false, false},
		{"console.md", false, false},
		{"com10", false, false},
		{"company.md", false, false},
		{"auxiliary", false, false},
		{"con", false, true},
		{"Con.md", false, true},
		{"aux.tar.gz", false, true},
		{"NUL .txt", false, true},
		{"com1", false, true},
		{"LPT\u00b2.x", false, true},
		{"conin$", false, true},
		{"a:b", false, true},
		{`a\b`, false, true},
		{"what?", false, true},
		{"dot.", false, true},
		{"blank ", false, true},
		{"\xff", true, true},
		{"a\nb", true, true},
		{"a\tb", true, true},
		{"a\x7fb", true, true},
		{"a\u202eb", true, true},
		{".g\u200cit", true, true},
		{"a\u2028b", true, true},
	} {
		if got := Flaw(c.name, false) != ""; got != c.anywhere {
			t.Errorf("%+q: %q", c.name, Flaw(c.name, false))
		}
		if got := Flaw(c.name, true) != ""; got != c.onlyOn {
			t.Errorf("%+q on Windows: %q", c.name, Flaw(c.name, true))
		}
	}
}
