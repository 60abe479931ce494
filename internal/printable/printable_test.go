package printable

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"plain text, ünïcode 記 🧭": "plain text, ünïcode 記 🧭",
		"a\nb\tc":                 `a\nb\tc`,
		"\x1b[31mred":             `\x1b[31mred`,
		"\u202egpj.exe":           `\u202egpj.exe`,
		"zero\u200bwidth\ufeff":   `zero\u200bwidth\ufeff`,
		"tag\U000E0041":           `tag\U000e0041`,
		"c1\u0085 del\x7f":        `c1\u0085 del\x7f`,
		"line\u2028sep":           `line\u2028sep`,
		"bad\xff\xc3byte":         `bad\xff\xc3byte`,
		"keep\ufffd":              "keep\ufffd",
		`back\slash`:              `back\slash`,
		"sel\U000E0100":           `sel\U000e0100`,
		"filler\u3164":            `filler\u3164`,
		"wide\u3000space":         "wide\u3000space",
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestQuoteCuts(t *testing.T) {
	if got := Quote("a\nb"); got != `"a\nb"` {
		t.Errorf("Quote = %s", got)
	}
	long := strings.Repeat("é", maxQuoted)
	if got := Quote(long); got != `"`+long+`"` {
		t.Errorf("%d characters were cut: %s", maxQuoted, got)
	}
	if got := Quote(long + "x"); got != `"`+long+`…"` {
		t.Errorf("%d characters were not cut: %s", maxQuoted+1, got)
	}
}

func TestUTF8(t *testing.T) {
	if got := UTF8("a\xffé\u202e"); got != "a\\xffé\u202e" {
		t.Errorf("UTF8 = %q", got)
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\x00\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		if !utf8.ValidString(got) || firstUnprintable(got) >= 0 {
			t.Errorf("Escape(%q) = %q", s, got)
		}
		if Escape(got) != got {
			t.Errorf("Escape is not stable on %q", got)
		}
	})
}
