package paths_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/plugberth/plugberth/paths"
)

// plant makes a tree below dir: "name/" is a directory, "name=content" a file
// and "name->target" a link, where $ stands for dir.
func plant(t testing.TB, dir string, entries ...string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range entries {
		if name, target, ok := strings.Cut(e, "->"); ok {
			link := filepath.Join(dir, name)
			check(os.MkdirAll(filepath.Dir(link), 0o755))
			err := os.Symlink(strings.ReplaceAll(target, "$", dir), link)
			if err != nil && runtime.GOOS == "windows" {
				t.Skip("links need a privilege on Windows: ", err)
			}
			check(err)
		} else if name, content, ok := strings.Cut(e, "="); ok {
			file := filepath.Join(dir, name)
			check(os.MkdirAll(filepath.Dir(file), 0o755))
			check(os.WriteFile(file, []byte(content), 0o644))
		} else {
			check(os.MkdirAll(filepath.Join(dir, name), 0o755))
		}
	}
}

// plantMap makes the same tree in memory.
func plantMap(dir string, entries ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for _, e := range entries {
		if name, target, ok := strings.Cut(e, "->"); ok {
			m[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(target, "$", dir)), Mode: fs.ModeSymlink | 0o777}
		} else if name, content, ok := strings.Cut(e, "="); ok {
			m[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
		} else {
			m[strings.TrimSuffix(e, "/")] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		}
	}
	return m
}

// tempDir returns a fresh directory by its link-free path.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func openRoot(t testing.TB, dir string) *paths.Root {
	t.Helper()
	root, err := paths.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func newRoot(t testing.TB, fsys fs.FS) *paths.Root {
	t.Helper()
	root, err := paths.New(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// promptly fails the test if f hangs. The time is generous: it only keeps a
// fault from stopping the whole run.
func promptly(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}

// plainFS hides every method but Open, such as that of fs.ReadLinkFS.
type plainFS struct{ fs.FS }
