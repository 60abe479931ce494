package filetree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plugberth/plugberth/paths"
)

// walked is what Walk visits, as text.
func walked(t *testing.T, fsys fs.FS, max int) ([]string, error) {
	t.Helper()
	var out []string
	err := Walk(context.Background(), fsys, max, func(e Entry) error {
		line := e.Path
		if e.Dir {
			line += "/"
		} else {
			text, err := io.ReadAll(e.File)
			if err != nil {
				return err
			}
			line += "=" + string(text)
		}
		if e.Exec {
			line += " x"
		}
		out = append(out, line)
		return nil
	})
	slices.Sort(out)
	return out, err
}

func files(t *testing.T) (string, *paths.Root) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a/b/c": "C", "a/d": "D", "e": "E", "f/x/y": "Y"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"empty", "a/empty"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root, err := paths.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, root
}

func TestWalk(t *testing.T) {
	dir, root := files(t)
	want := []string{"a/b/c=C", "a/d=D", "a/empty/", "e=E", "empty/", "f/x/y=Y"}
	for name, fsys := range map[string]fs.FS{"root": root, "view": NewView(root, "."), "os.DirFS": os.DirFS(dir)} {
		if got, err := walked(t, fsys, 10); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if _, err := walked(t, fsys, 9); !errors.Is(err, ErrTooMany) {
			t.Errorf("%s, one entry less: %v", name, err)
		}
	}
	if got, err := walked(t, fstest.MapFS{"a": {Data: []byte("A"), Mode: 0o711}}, 10); err != nil || !slices.Equal(got, []string{"a=A x"}) {
		t.Errorf("in memory: %q, %v", got, err)
	}
	stop := errors.New("stop")
	var pe *fs.PathError
	if err := Walk(context.Background(), root, 10, func(Entry) error { return stop }); !errors.Is(err, stop) || !errors.As(err, &pe) || pe.Path != "a/b/c" {
		t.Errorf("what visit returns: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := Walk(ctx, root, 10, func(Entry) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ends: %v", err)
	}
}

func TestWalkLinks(t *testing.T) {
	dir, root := files(t)
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	link("a/b", "lb")
	link(filepath.Join(dir, "e"), "le")
	want := []string{"a/b/c=C", "a/d=D", "a/empty/", "e=E", "empty/", "f/x/y=Y", "lb/c=C", "le=E"}
	if got, err := walked(t, root, 20); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	// A view follows links as far as the whole root.
	link("../e", "f/up")
	if got, err := walked(t, NewView(root, "f"), 20); err != nil || !slices.Equal(got, []string{"up=E", "x/y=Y"}) {
		t.Errorf("a view: %q, %v", got, err)
	}
	for target, want := range map[string]error{"..": ErrCycle, ".": ErrCycle, "../..": paths.ErrEscape, "/": paths.ErrEscape, "gone": paths.ErrDangling, "bad": paths.ErrLoop} {
		link(target, "f/bad")
		_, err := walked(t, root, 100)
		var pe *fs.PathError
		if !errors.Is(err, want) || !errors.As(err, &pe) || !strings.HasPrefix(pe.Path, "f/bad") {
			t.Errorf("a link to %s: %v", target, err)
		}
		if err := os.Remove(filepath.Join(dir, "f/bad")); err != nil {
			t.Fatal(err)
		}
	}
	// Links side by side multiply; the bound ends that.
	for i := range 12 {
		d := fmt.Sprintf("m%d", i)
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
		link(fmt.Sprintf("../m%d", i+1), d+"/a")
		link(fmt.Sprintf("../m%d", i+1), d+"/b")
	}
	if err := os.WriteFile(filepath.Join(dir, "m12"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := walked(t, root, 1000); !errors.Is(err, ErrTooMany) {
		t.Errorf("links that multiply: %v", err)
	}
	deep := fstest.MapFS{strings.Repeat("d/", 200) + "x": {}}
	if _, err := walked(t, deep, 1000); !errors.Is(err, ErrTooDeep) {
		t.Errorf("deep directories: %v", err)
	}
	if _, err := walked(t, fstest.MapFS{"fifo": {Mode: fs.ModeNamedPipe}}, 10); !errors.Is(err, paths.ErrNotRegular) {
		t.Errorf("a FIFO: %v", err)
	}
	if _, err := walked(t, os.DirFS(filepath.Join(dir, "gone")), 10); err == nil {
		t.Error("a directory that is not there")
	}
}

func TestView(t *testing.T) {
	_, root := files(t)
	v := NewView(root, "a", "b", "empty")
	if err := fstest.TestFS(v, "d"); err != nil {
		t.Error(err)
	}
	if got, err := walked(t, v, 10); err != nil || !slices.Equal(got, []string{"d=D"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"b", "b/c", "empty", "../e", "gone"} {
		_, err := v.Open(name)
		var pe *fs.PathError
		if err == nil || !errors.As(err, &pe) || pe.Path != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}
