package filename

import (
	"io/fs"
	"strings"
	"testing"
)

// TestPathFlaw: names that lead elsewhere on some system are refused on every
// system. [X5]
func TestPathFlaw(t *testing.T) {
	for _, path := range []string{
		"a", "plugin.json", "skills/review/SKILL.md", "a b/c d", "ünïcode/記.md", "..a/b", "a..b", "con-text", "com10", "a/-", "~", "$HOME",
		strings.Repeat("a/", 99) + "a", strings.Repeat("x", 255),
	} {
		if flaw := PathFlaw(path); flaw != "" {
			t.Errorf("%q: %s", path, flaw)
		}
	}
	for _, path := range []string{
		"", "/", "/a", "//host/share", "a/", "a//b", ".", "..", "./a", "../a", "a/../b", "a/..", "a/./b",
		`\a`, `a\b`, `..\a`, `\\host\share`, `a/..\..\b`, "C:", "C:/a", "c:a", "a:stream", "a/b:$DATA",
		"a.", "a ", "a /b", ".. /a", "... ", "con", "CON.txt", "a/nul", "Aux.md", "com1", "LPT9.x", "COM¹", "conin$",
		"a\x00b", "a\nb", "a\x7f", "a\xff", "a\u200cb", "a\ufeff", strings.Repeat("x", 256), strings.Repeat("a/", 100) + "a", strings.Repeat("xxxx/", 250),
	} {
		if PathFlaw(path) == "" {
			t.Errorf("%q is accepted", path)
		}
	}
}

func FuzzPathFlaw(f *testing.F) {
	f.Add("a/../b")
	f.Fuzz(func(t *testing.T, path string) {
		if PathFlaw(path) == "" && (!fs.ValidPath(path) || path == "." || strings.ContainsAny(path, "\\:\x00")) {
			t.Errorf("%q is accepted", path)
		}
	})
}
