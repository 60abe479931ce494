package modeltext

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) { // [S11] [R10]
	for in, want := range map[string]string{
		"":                                     "",
		"plain text, 日本語 and é":                "plain text, 日本語 and é",
		"a\tb\nc":                              "a\tb\nc",
		"a\r\nb\rc\u2028d\u2029e":              "a\nb\nc\nd\ne",
		"a\r\r\nb":                             "a\n\nb",
		"a\x00b\x07c\x1b[31md\x7fe\u0085f":     "abc[31mdef",
		"a\u202eb\u2066c\u2069d\u061ce":        "abcde",
		"a\u200bb\u200cc\u200dd\ufeffe":        "abcde",
		"a\u00adb\u2060c\u180ed":               "abcd",
		"a\U000e0041\U000e0042\U000e007fb":     "ab",
		"a\U000e0100b\ufe00c":                  "abc",
		"\u2764\ufe0f and 1\ufe0f\u20e3":       "\u2764\ufe0f and 1\ufe0f\u20e3",
		"a\ufe0f\ufe0fb":                       "ab",
		"\u2764\ufe0f\ufe0f\ufe0f":             "\u2764\ufe0f",
		"\u3164\u115f\u1160\uffa0\u2800x":      "x",
		"bad \xff\xfe bytes":                   "bad \ufffd\ufffd bytes",
		"private \ue000 \U000f0000 \U0010fffd": "private   ",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		" a \r\n\t b\u2028c ": "a b c",
		"\u200b":              "",
		"a\u00a0b":            "a b",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\ufe0f\u200b\r\n\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) {
			t.Fatalf("Clean(%q) is not UTF-8: %q", s, got)
		}
		if strings.ContainsFunc(got, func(r rune) bool {
			return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf)
		}) {
			t.Fatalf("Clean(%q) left something: %q", s, got)
		}
		if again := Clean(got); again != got {
			t.Fatalf("Clean is not idempotent: %q, %q, %q", s, got, again)
		}
	})
}
