//go:build unix && !solaris && !aix

package paths_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/plugberth/plugberth/paths"
)

// refusesSpecial checks that every method refuses an entry that is neither a
// file nor a directory, and at once.
func refusesSpecial(t *testing.T, dir, name string) {
	t.Helper()
	plant(t, dir, "to-"+name+"->"+name)
	for by, root := range bothRoots(t, dir) {
		for _, name := range []string{name, "to-" + name} {
			for op, call := range map[string]func() error{
				"Open":       func() error { _, err := root.Open(name); return err },
				"Stat":       func() error { _, err := root.Stat(name); return err },
				"ReadDir":    func() error { _, err := root.ReadDir(name); return err },
				"List":       func() error { _, _, err := root.List(context.Background(), name, 1); return err },
				"ReadFile":   func() error { _, err := root.ReadFile(name); return err },
				"AppendFile": func() error { _, err := root.AppendFile(nil, name, 1<<20); return err },
			} {
				promptly(t, by+": "+op+" of "+name, func() {
					if err := call(); !errors.Is(err, paths.ErrNotRegular) {
						t.Errorf("%s: %s(%s) = %v, want ErrNotRegular", by, op, name, err)
					}
				})
			}
			promptly(t, "Exact of "+name, func() {
				if exact, err := root.Exact(context.Background(), name); err != nil || !exact {
					t.Errorf("%s: Exact(%s) = %t, %v", by, name, exact, err)
				}
				if _, err := root.Exact(context.Background(), name+"/UP"); err == nil && by == "New" {
					t.Errorf("%s: Exact finds something below %s", by, name)
				}
				if _, err := root.Exact(context.Background(), name+"/123"); err == nil {
					t.Errorf("%s: Exact finds something below %s", by, name)
				}
			})
			promptly(t, "Resolve of "+name, func() {
				if loc, err := root.Resolve("./" + name); err != nil || kindOf(loc) != isOther {
					t.Errorf("%s: Resolve(%s) = %s, %v", by, name, kindOf(loc), err)
				}
				if loc, err := root.Resolve("./" + name + "/x"); err != nil || kindOf(loc) != isMissing {
					t.Errorf("%s: Resolve(%s/x) = %s, %v", by, name, kindOf(loc), err)
				}
			})
		}
	}
	if _, err := paths.Open(filepath.Join(dir, name)); err == nil {
		t.Errorf("Open takes %s for a root", name)
	}
}

// [L6]
func TestFIFO(t *testing.T) {
	dir := tempDir(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "plugin.json"), 0o644); err != nil {
		t.Skip("no FIFO: ", err)
	}
	refusesSpecial(t, dir, "plugin.json")
}

// [L6]
func TestSocket(t *testing.T) {
	dir := tempDir(t)
	l, err := net.Listen("unix", filepath.Join(dir, "mcp.json"))
	if err != nil {
		t.Skip("no socket: ", err)
	}
	defer l.Close()
	refusesSpecial(t, dir, "mcp.json")
}

// A name need not be UTF-8 on Unix; io/fs has no word for it, AppendFile has.
func TestNamesThatAreNotUTF8(t *testing.T) {
	dir := tempDir(t)
	name := "d\xff/f\xfe"
	if err := os.Mkdir(filepath.Join(dir, "d\xff"), 0o755); err != nil {
		t.Skip("not possible here: ", err)
	}
	plant(t, dir, name+"=content", "link->"+name)
	root := openRoot(t, dir)
	for _, name := range []string{name, "./" + name, "link"} {
		if content, err := root.AppendFile(nil, name, 100); string(content) != "content" {
			t.Errorf("AppendFile(%q) = %q, %v", name, content, err)
		}
	}
	if exact, err := root.Exact(context.Background(), name); err != nil || !exact {
		t.Errorf("Exact = %t, %v", exact, err)
	}
	if loc, err := root.Resolve("./" + name); err != nil || loc.Name() != name || !loc.IsRegular() {
		t.Errorf("Resolve = %q, %v", loc.Name(), err)
	}
	if entries, err := root.ReadDir("."); err != nil || !slices.Equal(names(entries), []string{"d\xff", "link"}) {
		t.Errorf("ReadDir = %v, %v", entries, err)
	}
	// A walk reports what it cannot enter and goes on.
	var failed, walked int
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		walked++
		if err != nil {
			failed++
		}
		return nil
	})
	if err != nil || walked != 4 || failed != 1 {
		t.Errorf("WalkDir: %v; walked %d, failed %d", err, walked, failed)
	}
}

// [L3]: what may not be read is an error of its own, not something missing.
func TestUnreadable(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "pkg/file=x", "pkg/locked/file=x", "pkg/ok=x", "pkg/through->locked/file", "pkg/round->../far/round",
		"far/round/x=", "pkg/blind/file=x", "pkg/far->../far/round/x")
	chmod := func(name string, mode fs.FileMode) {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod("", 0o755)
	chmod("pkg/file", 0)
	chmod("pkg/locked", 0)
	chmod("far", 0)
	chmod("pkg/blind", 0o311)
	defer func() { chmod("pkg/locked", 0o755); chmod("far", 0o755); chmod("pkg/blind", 0o755) }()
	asNobody(t, dir, func() {
		for by, root := range bothRoots(t, filepath.Join(dir, "pkg")) {
			if content, err := root.ReadFile("ok"); string(content) != "x" {
				t.Errorf("%s: ReadFile(ok) = %q, %v", by, content, err)
			}
			for _, name := range []string{"file", "locked/file", "through"} {
				if content, err := root.ReadFile(name); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%s: ReadFile(%q) = %q, %v", by, name, content, err)
				}
			}
			for _, name := range []string{"locked", "blind"} {
				if entries, err := root.ReadDir(name); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%s: ReadDir(%q) = %v, %v", by, name, entries, err)
				}
			}
			for _, name := range []string{"./locked/file", "./locked/x/..", "./through"} {
				if loc, err := root.Resolve(name); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%s: Resolve(%q) = %+v, %v", by, name, loc, err)
				}
			}
			// Outside, whatever the reason: it is none of our business [P1].
			for _, name := range []string{"round", "far"} {
				if loc, err := root.Resolve(name); !errors.Is(err, paths.ErrEscape) || errors.Is(err, fs.ErrPermission) {
					t.Errorf("%s: Resolve(%q) = %+v, %v", by, name, loc, err)
				}
				if content, err := root.ReadFile(name); !errors.Is(err, paths.ErrEscape) {
					t.Errorf("%s: ReadFile(%q) = %q, %v", by, name, content, err)
				}
			}
			if loc, err := root.Resolve("./locked"); err != nil || !loc.IsDir() {
				t.Errorf("%s: Resolve(locked) = %+v, %v", by, loc, err)
			}
			// A directory that can be entered but not listed.
			if loc, err := root.Resolve("./blind/file"); err != nil || !loc.IsRegular() {
				t.Errorf("%s: Resolve(blind/file) = %+v, %v", by, loc, err)
			}
			if content, err := root.ReadFile("blind/file"); string(content) != "x" && (by == "New" || runtime.GOOS == "linux") {
				t.Errorf("%s: ReadFile(blind/file) = %q, %v", by, content, err) // elsewhere os.Root wants to read it
			}
		}
	})
}
