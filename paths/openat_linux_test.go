package paths

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// TestOpenAt compares the two ways of opening without links: by openat2 and,
// where that is missing or forbidden, by openat alone. [P1]
func TestOpenAt(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "root")
	for _, dir := range []string{"root/a/b", "outside"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"root/a/b/file": "inside", "outside/file": "outside"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"root/link-file": "a/b/file", "root/link-dir": "a", "root/out": "../outside", "root/a/up": "..",
	} {
		if err := os.Symlink(target, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, old := range []bool{false, true} {
		r, err := Open(root)
		if err != nil {
			t.Fatal(err)
		}
		d := r.t.(*dirTree)
		d.old.Store(old)
		release, err := d.hold()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]error{
			"a/b/file": nil, "a/b/none": fs.ErrNotExist, "none/file": fs.ErrNotExist,
			"link-file": errLink, "link-dir/b/file": errLink, "out/file": errLink, "a/up/a/b/file": errLink,
			"a/../a/b/file": errLink, "../outside/file": errLink, "..": errLink, "a/b/file/x": errLink,
		} {
			for _, open := range []func(string, int) (int, error){d.openAt, d.walkAt} {
				fd, err := open(name, atFlags&^oPath)
				if err == nil {
					os.NewFile(uintptr(fd), name).Close()
				}
				// openat2 allows a .. that stays inside, which is as good.
				if name == "a/../a/b/file" && err == nil {
					continue
				}
				if !errors.Is(err, want) {
					t.Errorf("old %v: opening %q gives %v, want %v", old, name, err, want)
				}
			}
		}
		if got, err := r.AppendFile(nil, "link-dir/b/file", 100); string(got) != "inside" || err != nil {
			t.Errorf("old %v: %q, %v", old, got, err)
		}
		if got, err := r.AppendFile(nil, "out/file", 100); !errors.Is(err, ErrEscape) {
			t.Errorf("old %v: %q, %v", old, got, err)
		}
		release()
	}
}

// TestSwapWithoutOpenat2 keeps a link taking a directory's place while files
// below it are opened by openat alone. [P1]
func TestSwapWithoutOpenat2(t *testing.T) {
	base := t.TempDir()
	for name, content := range map[string]string{"root/dir/file": "inside", "outside/file": "outside"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir, aside, link := filepath.Join(base, "root", "dir"), filepath.Join(base, "aside"), filepath.Join(base, "link")
	if err := os.Symlink(filepath.Join(base, "outside"), link); err != nil {
		t.Fatal(err)
	}
	r, err := Open(filepath.Join(base, "root"))
	if err != nil {
		t.Fatal(err)
	}
	r.t.(*dirTree).old.Store(true)
	var stop atomic.Bool
	done := make(chan error, 1)
	go func() {
		for !stop.Load() {
			for _, move := range [][2]string{{dir, aside}, {link, dir}, {dir, link}, {aside, dir}} {
				if err := os.Rename(move[0], move[1]); err != nil {
					done <- err
					return
				}
			}
		}
		done <- nil
	}()
	inside := 0
	for range 20_000 {
		got, err := r.AppendFile(nil, "dir/file", 100)
		if string(got) == "outside" {
			t.Fatal("content from outside was read")
		}
		if err == nil {
			inside++
		}
	}
	stop.Store(true)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if inside == 0 {
		t.Error("no read succeeded, so nothing was tried")
	}
}
