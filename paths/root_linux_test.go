package paths_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/plugberth/plugberth/paths"
)

// asNobody runs f with the file access of an ordinary user. Linux knows that
// for one thread; the thread ends with the goroutine that stays locked to it.
func asNobody(t *testing.T, dir string, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	for d := dir; d != filepath.Dir(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		if info, err := os.Stat(d); err == nil && info.Mode()&0o001 == 0 {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Skip(err)
			}
		}
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer close(done)
		if err := syscall.Setfsgid(65534); err != nil {
			done <- err
			return
		}
		if err := syscall.Setfsuid(65534); err != nil {
			done <- err
			return
		}
		if _, err := os.ReadDir("/proc/1/fd"); !errors.Is(err, fs.ErrPermission) {
			done <- fmt.Errorf("still privileged: %v", err)
			return
		}
		f()
	}()
	if err := <-done; err != nil {
		t.Skip("cannot become an ordinary user: ", err)
	}
}

// [L6]
func TestDevice(t *testing.T) {
	dir := tempDir(t)
	const null = 1<<8 | 3
	if err := syscall.Mknod(filepath.Join(dir, "SKILL.md"), syscall.S_IFCHR|0o666, null); err != nil {
		t.Skip("no device can be made here: ", err)
	}
	refusesSpecial(t, dir, "SKILL.md")
}

// A link that took the place of the root's own directory is not followed [P1].
func TestRootReplacedByLink(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "pkg/file=inside", "away/file=outside")
	root := openRoot(t, filepath.Join(dir, "pkg"))
	if err := os.Rename(filepath.Join(dir, "pkg"), filepath.Join(dir, "was")); err != nil {
		t.Fatal(err)
	}
	plant(t, dir, "pkg->away")
	if content, err := root.ReadFile("file"); err == nil {
		t.Errorf("ReadFile = %q", content)
	}
	if entries, err := root.ReadDir("."); err == nil {
		t.Errorf("ReadDir = %v", entries)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

// Nothing stays open after a call, whether it succeeds or fails.
func TestNoDescriptorIsLeft(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "pkg/a/b/file=x", "pkg/link->a/b", "pkg/filelink->a/b/file", "pkg/out->..", "pkg/loop->loop", "pkg/dangling->nope", "pkg/a/out->../../pkg-evil", "pkg-evil/x=")
	if err := syscall.Mkfifo(filepath.Join(dir, "pkg", "a", "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	names := []string{
		".", "a", "a/b", "a/b/file", "link", "link/file", "filelink", "out", "out/pkg/a/b/file", "loop", "dangling", "nope", "a/nope",
		"a/b/file/x", "a/fifo", "a/fifo/x", "a/out", "a/out/x", "a/../a/b/file", "a/b/../b/file", "./a/./b", "../pkg/a", "a//b/file", "a/b/file/", "a\x00", "",
	}
	for by, root := range bothRoots(t, filepath.Join(dir, "pkg")) {
		t.Run(by, func(t *testing.T) {
			before := openFiles(t)
			succeeded, failed := 0, 0
			note := func(err error) {
				if err == nil {
					succeeded++
				} else {
					failed++
				}
			}
			for range 20 {
				for _, name := range names {
					f, err := root.Open(name)
					note(err)
					if err == nil {
						f.Close()
					}
					_, err = root.Stat(name)
					note(err)
					_, err = root.ReadFile(name)
					note(err)
					_, err = root.AppendFile(nil, name, 0)
					note(err)
					_, err = root.Resolve(name)
					note(err)
					_, err = root.Exact(context.Background(), name)
					note(err)
					entries, _, err := root.List(context.Background(), name, 1)
					note(err)
					for _, e := range entries {
						_, err := e.Info()
						note(err)
					}
					paths.Under(dir, name)
				}
			}
			if succeeded == 0 || failed == 0 {
				t.Errorf("%d calls succeeded, %d failed", succeeded, failed)
			}
			if after := openFiles(t); after > before {
				t.Errorf("%d descriptors were open before, %d are after", before, after)
			}
		})
	}
}
