package plugin_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin"
)

var keyForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?-[a-z2-7]{32}$`)

// TestInstanceKey: keys of different instances differ also where letter case
// and Unicode form are ignored, and none of them means anything to a file
// system. [E3]
func TestInstanceKey(t *testing.T) {
	seen := map[string]plugin.Instance{}
	for _, i := range []plugin.Instance{
		{ID: "a"}, {ID: "A"}, {ID: "a "}, {ID: " a"}, {ID: "a."}, {ID: "a\x00"}, {ID: "a\n"},
		{ID: "plugin"}, {ID: "-"}, {ID: "."}, {ID: ".."}, {ID: "/"}, {ID: `\`}, {ID: "//"}, {ID: "日本"}, {ID: "日本語"}, {ID: "\xff"}, {ID: "\xfe"}, {ID: "\uFFFD"},
		{ID: "é"}, {ID: "e\u0301"}, {ID: "\u212a"}, {ID: "k"}, {ID: "K"}, {ID: "ß"}, {ID: "ss"}, {ID: "ﬁ"}, {ID: "fi"}, {ID: "ı"}, {ID: "i"}, {ID: "İ"},
		{ID: "a/b"}, {ID: `a\b`}, {ID: "b"}, {ID: "a//b"}, {ID: "a/b/"}, {ID: "a/../b"}, {ID: "a-b"}, {ID: "a b"}, {ID: "a:b"}, {ID: "../../etc"}, {ID: "/etc/passwd"}, {ID: `C:\x`}, {ID: `\\host\share`},
		{ID: "https://example.com/p?q#f"}, {ID: "git@example.com:o/r.git"},
		{ID: "con"}, {ID: "CON"}, {ID: "nul"}, {ID: "aux.txt"}, {ID: "com1"}, {ID: "LPT9"}, {ID: "com¹"}, {ID: "conin$"}, {ID: "prn"}, {ID: "x:stream"},
		{Tenant: "a", ID: "b"}, {Tenant: "ab", ID: "c"}, {Tenant: "a", ID: "bc"}, {Tenant: "", ID: "abc"}, {Tenant: "abc", ID: "x"}, {Tenant: "b", ID: "a"}, {Tenant: "A", ID: "b"}, {Tenant: "a/b", ID: "c"}, {Tenant: "a", ID: "b/c"},
		{Tenant: "\x00", ID: "a"}, {Tenant: strings.Repeat("t", 10_000), ID: "a"},
		{ID: strings.Repeat("x", 31)}, {ID: strings.Repeat("x", 32)}, {ID: strings.Repeat("x", 33)}, {ID: strings.Repeat("x", 100_000)}, {ID: strings.Repeat("x", 31) + "-y"}, {ID: strings.Repeat("é", 100_000)},
	} {
		key, err := i.Key()
		if err != nil {
			t.Errorf("%.20q: %v", i, err)
			continue
		}
		if !keyForm.MatchString(key) || len(key) > 65 {
			t.Errorf("%.20q: key %q has not the form", i, key)
		}
		if base, _, _ := strings.Cut(key, "."); regexp.MustCompile(`^(con|prn|aux|nul|com\d|lpt\d)$`).MatchString(base) {
			t.Errorf("%.20q: key %q is a device name", i, key)
		}
		// The keys are lower-case ASCII, so comparing them as they are is comparing without case and form.
		if other, ok := seen[key]; ok {
			t.Errorf("%.20q and %.20q have the key %s", i, other, key)
		}
		seen[key] = i
		if again, _ := i.Key(); again != key {
			t.Errorf("%.20q: the key changes", i)
		}
	}
	// A key must never change: directories are named after it.
	if key, err := (plugin.Instance{Tenant: "Tenant", ID: "/opt/Plugins/My Plugin/"}).Key(); key != "my-plugin-e7jaec4aocvjeaczrzvib3up3453kjs5" || err != nil {
		t.Errorf("golden key = %s, %v", key, err)
	}
	for _, i := range []plugin.Instance{{}, {Tenant: "t"}} {
		if key, err := i.Key(); !errors.Is(err, plugin.ErrInstance) || key != "" {
			t.Errorf("%q: %q, %v", i, key, err)
		}
	}
}

// TestDataDir: the directory is named and not made. [E3]
func TestDataDir(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeTo(t, base, map[string]string{"real/": "", "linked": "-> real", "file": "x"})
	i := plugin.Instance{ID: "a"}
	key, _ := i.Key()
	for root, want := range map[string]string{"real": "real", "linked": "real", "none": "none", "none/below": "none/below", "linked/below": "real/below", "real/../linked": "real"} {
		got, err := plugin.DataDir(filepath.Join(base, filepath.FromSlash(root)), i)
		if want := filepath.Join(base, filepath.FromSlash(want), key); got != want || err != nil {
			t.Errorf("DataDir(%s) = %s, %v, want %s", root, got, err, want)
		}
	}
	if got, err := plugin.DataDir(filepath.Join(base, "file"), i); err == nil {
		t.Errorf("a file as data root gives %s", got)
	}
	if got, err := plugin.DataDir(base+"\x00", i); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a data root with NUL gives %s, %v", got, err)
	}
	if got, err := plugin.DataDir(base, plugin.Instance{Tenant: "t"}); !errors.Is(err, plugin.ErrInstance) || got != "" {
		t.Errorf("no ID gives %s, %v", got, err)
	}
	t.Chdir(base)
	if got, err := plugin.DataDir("data", i); got != filepath.Join(base, "data", key) || err != nil {
		t.Errorf("a relative data root gives %s, %v", got, err)
	}
	for _, name := range []string{"none", "data", "real/" + key} {
		if _, err := os.Lstat(filepath.Join(base, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was made: %v", name, err)
		}
	}
}
