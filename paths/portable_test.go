package paths

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// TestCheckPortable: names that lead elsewhere on some system are refused on
// every system. [X5]
func TestCheckPortable(t *testing.T) {
	for _, name := range []string{
		"a", "plugin.json", "skills/review/SKILL.md", "a b/c d", "ünïcode/記.md", "👩‍💻", "..a/b", "a..", // the last is refused below
		"con-text", "com10", "a/-", "~", "$HOME", "what?.md", strings.Repeat("a/", 99) + "a", strings.Repeat("x", 255),
	} {
		if err := CheckPortable(name); (err != nil) != (name == "a..") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"", "/", "/a", "//host/share", "a/", "a//b", ".", "..", "./a", "../a", "a/../b", "a/..", "a/./b",
		`\a`, `a\b`, `..\a`, `\\host\share`, `a/..\..\b`, "C:", "C:/a", "c:a", "a:stream", "a/b:$DATA",
		"a.", "a ", "a /b", ".. /a", "... ", "con", "CON.txt", "a/nul", "Aux.md", "com1", "LPT9.x", "COM¹", "conin$",
		"a\x00b", "a\nb", "a\x7f", "a\xff", strings.Repeat("x", 256), strings.Repeat("a/", 100) + "a", strings.Repeat("x/", 99) + strings.Repeat("y", 900),
	} {
		err := CheckPortable(name)
		if !errors.Is(err, ErrForm) {
			t.Errorf("%q is accepted: %v", name, err)
		} else if len(name) > 3 && strings.Contains(err.Error(), name) {
			t.Errorf("%q is quoted: %v", name, err)
		}
	}
}

func FuzzCheckPortable(f *testing.F) {
	f.Add("a/../b")
	f.Fuzz(func(t *testing.T, name string) {
		if CheckPortable(name) == nil && (!fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\:\x00")) {
			t.Errorf("%q is accepted", name)
		}
	})
}
