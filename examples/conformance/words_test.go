package main

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	for _, tc := range []struct {
		line string
		want []string // nil for a line that cannot be split
	}{
		{`inspect -json`, []string{"inspect", "-json"}},
		{"  a\tb\n c  ", []string{"a", "b", "c"}},
		{`'a b' "c d" e\ f`, []string{"a b", "c d", "e f"}},
		{`a'b'"c"d`, []string{"abcd"}},
		{`'' "" x`, []string{"", "", "x"}},
		{`'\n' "\n" \n`, []string{`\n`, `\n`, "n"}},
		{`"\"\\\$\` + "`" + `" "\a"`, []string{"\"\\$`", `\a`}},
		{`'"' "'"`, []string{`"`, `'`}},
		{`$HOME * ~ #x a;b|c >d $(e)`, []string{"$HOME", "*", "~", "#x", "a;b|c", ">d", "$(e)"}},
		{`'C:\bin\x.exe' y`, []string{`C:\bin\x.exe`, "y"}},
		{``, nil},
		{`  `, nil},
		{`'a`, nil},
		{`"a`, nil},
		{`"a\"`, nil},
		{`a\`, nil},
	} {
		got, err := words(tc.line)
		if (err == nil) != (tc.want != nil) || !slices.Equal(got, tc.want) {
			t.Errorf("words(%q) = %q, %v; want %q", tc.line, got, err, tc.want)
		}
	}
}

func FuzzWords(f *testing.F) { // [Q1]
	f.Add(`a 'b c' "d\"e" f\ g`)
	f.Fuzz(func(t *testing.T, line string) {
		got, err := words(line)
		if err == nil && len(got) == 0 {
			t.Error("no words and no error")
		}
	})
}
