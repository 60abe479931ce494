package paths

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

const secret = "outside content"

// fuzzTree makes a package with every kind of link, beside a directory that
// must not be reached.
func fuzzTree(f *testing.F) (base string) {
	f.Helper()
	if runtime.GOOS == "windows" {
		f.Skip("links need a privilege on Windows")
	}
	base, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	for _, dir := range []string{"p/d/e", "p/..d", "p-evil"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			f.Fatal(err)
		}
	}
	for file, content := range map[string]string{"p/f": "f", "p/d/g": "g", "p/d/e/h": "h", "p-evil/f": secret, "f": secret} {
		if err := os.WriteFile(filepath.Join(base, file), []byte(content), 0o644); err != nil {
			f.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"p/i": "d/e", "p/j": "i", "p/s": ".", "p/u": "..", "p/b": "../p/d", "p/a": base + "/p/d",
		"p/o": "../p-evil", "p/O": base + "/p-evil/f", "p/l": "l", "p/m": "k/l", "p/k": "m",
		"p/n": "none", "p/N": "../none", "p/t": "f/", "p/d/v": "../../p/f", "p/w": "none/../o", "p/r": "/",
	} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			f.Fatal(err)
		}
	}
	return base
}

// FuzzResolve compares Resolve with filepath.EvalSymlinks where the path
// exists, and checks what must hold of every success: it lies inside, no link
// is on it, and nothing outside can be read [P1] [P5] [Q1].
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{
		"", ".", "./", "./f", "./d/../f", "./..d", "./d/", "../p/f", "./i/..", "./i/../g", "./j/../../f", "./s/s/f",
		"./u", "./u/p/f", "./b/g", "./a/g", "./o/f", "./O", "./l", "./m", "./n", "./N", "./f/..", "./f/x", "./t",
		"./x/..", "./x/../..", "./x/../o/f", "./x/y/../../i/../..", "./d/v", "./w/f", "./r", "./r/..", "a\\b", "./\xff",
		"/f", "f\x00", strings.Repeat("s/", 41), strings.Repeat("x", 256), "./s/./x/../s/o",
	} {
		f.Add(seed)
	}
	base := fuzzTree(f)
	dir := filepath.Join(base, "p")
	root, err := Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	other, err := New(os.DirFS(dir))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string) {
		loc, err := root.Resolve(name)
		if strings.HasPrefix(name, "/") || strings.Contains(name, "\x00") {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Fatalf("Resolve(%q) = %v, %v", name, loc, err)
			}
			return
		}
		if err == nil {
			checkInside(t, dir, name, loc)
		}
		if content, err := root.AppendFile(nil, name, 100); err == nil && string(content) == secret {
			t.Fatalf("AppendFile(%q) reads what is outside", name)
		} else if err == nil && !loc.IsRegular() {
			t.Fatalf("AppendFile(%q) reads %q, but Resolve gives %+v", name, content, loc)
		} else if err != nil && loc.IsRegular() {
			t.Fatalf("AppendFile(%q) = %v, but Resolve gives %+v", name, err, loc)
		}

		// The oracle takes a trailing slash or dot for a demand for a directory.
		asked := dir + "/" + name
		for strings.HasSuffix(asked, "/") || strings.HasSuffix(asked, "/.") {
			asked = strings.TrimSuffix(strings.TrimSuffix(asked, "."), "/")
		}
		real, oracleErr := filepath.EvalSymlinks(asked)
		_, inside := relativeTo(dir, real)
		switch {
		case errors.Is(err, ErrLoop) && strings.Count(name, "/") >= maxLinks:
			// the oracle allows more links
		case oracleErr == nil && inside:
			if err != nil || loc.Abs() != real || !loc.Exists() {
				// a link to "f/" is a file to Resolve
				t.Fatalf("Resolve(%q) = %+v, %v; want %s", name, loc, err, real)
			}
		case oracleErr == nil && !errors.Is(err, ErrEscape):
			t.Fatalf("Resolve(%q) = %+v, %v; it is at %s", name, loc, err, real)
		}

		second, err := other.Resolve(name)
		if err != nil {
			return
		}
		if !fs.ValidPath(second.Name()) && second.Exists() {
			t.Fatalf("New(DirFS).Resolve(%q) = %+v", name, second)
		}
		if second.Name() != loc.Name() || second.Exists() != loc.Exists() {
			t.Fatalf("Resolve(%q) = %+v, through DirFS %+v", name, loc, second)
		}
	})
}

func checkInside(t *testing.T, dir, name string, loc Location) {
	t.Helper()
	if loc.Abs() != dir && !strings.HasPrefix(loc.Abs(), dir+"/") {
		t.Fatalf("Resolve(%q) leads to %s", name, loc.Abs())
	}
	if loc.Abs() != filepath.Clean(loc.Abs()) {
		t.Fatalf("Resolve(%q) gives %q, which is not clean", name, loc.Abs())
	}
	for p := loc.Abs(); len(p) > len(dir); p = filepath.Dir(p) {
		if info, err := os.Lstat(p); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			t.Fatalf("Resolve(%q) gives %s, where %s is a link", name, loc.Abs(), p)
		}
	}
	if _, err := os.Stat(loc.Abs()); loc.Exists() && err != nil {
		t.Fatalf("Resolve(%q) gives %s, but: %v", name, loc.Abs(), err)
	}
}

// FuzzCheckRelative holds the checks against the rules written as patterns
// [P3] [Q1].
func FuzzCheckRelative(f *testing.F) {
	for _, tt := range relativeTexts {
		f.Add(tt.text)
	}
	component := regexp.MustCompile(`[^/\\]+`)
	device := regexp.MustCompile(`^(?i:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\x{b9}\x{b2}\x{b3}]) *(?:\.(?s:.*))?$`)
	f.Fuzz(func(t *testing.T, p string) {
		unix := strings.HasPrefix(p, "./") && !strings.Contains(p, "\x00")
		if err := checkRelative(p, false); (err == nil) != unix {
			t.Fatalf("checkRelative(%q, false) = %v", p, err)
		}
		windows := unix
		for _, c := range component.FindAllString(p, -1) {
			if c == "." || c == ".." {
				continue
			}
			if strings.Contains(c, ":") || strings.HasSuffix(c, ".") || strings.HasSuffix(c, " ") || device.MatchString(c) {
				windows = false
			}
		}
		err := checkRelative(p, true)
		if (err == nil) == windows {
			return
		}
		if err != nil && strings.ContainsAny(p, "ıſ") {
			return // letters that fold in one direction only: refused, to be sure
		}
		t.Fatalf("checkRelative(%q, true) = %v, want ok %t", p, err, windows)
	})
}
