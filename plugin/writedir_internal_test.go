package plugin

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// testContent is a package of a few files that can be told from others by v.
func testContent(v string) *content {
	c := &content{dirs: []string{"empty"}}
	for _, name := range []string{"a/b", "plugin.json", "skills/x/SKILL.md", "z"} {
		c.files = append(c.files, contentFile{path: name, data: []byte(v + name)})
	}
	return c
}

func hashAt(t *testing.T, dir string) string {
	t.Helper()
	sums, err := sumTree(context.Background(), os.DirFS(dir), Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	return contentHash(sums)
}

// exchanges are the two ways into a place.
func exchanges() map[string]func(a, b string) error {
	return map[string]func(a, b string) error{
		"exchange": exchange,
		"turns":    func(string, string) error { return errors.ErrUnsupported },
	}
}

// TestWriteDirStepByStep: whenever a writer is stopped, what stands in the place
// is whole, and what stands beside it is whole or no plugin. [X2]
func TestWriteDirStepByStep(t *testing.T) {
	for way, exchange := range exchanges() {
		for _, replaces := range []bool{false, true} {
			base := t.TempDir()
			target := filepath.Join(base, "out")
			old, now := testContent("old"), testContent("new")
			whole := []string{contentHash(old.sums()), contentHash(now.sums())}
			opts := WriteOptions{Replace: whole[0]}
			if replaces {
				if err := writeDir(context.Background(), old, target, WriteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			var steps []string
			w := dirWriter{ctx: context.Background(), content: now, opts: opts, exchange: exchange, step: func(step string) {
				steps = append(steps, step)
				entries, err := os.ReadDir(base)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					dir := filepath.Join(base, e.Name())
					if e.Name() != "out" {
						if !strings.HasPrefix(e.Name(), ".plugberth-new-") {
							t.Errorf("%s, %s: %s stands there", way, step, e.Name())
						}
						if _, err := os.Lstat(filepath.Join(dir, "plugin.json")); errors.Is(err, fs.ErrNotExist) {
							continue
						}
					}
					if !slices.Contains(whole, hashAt(t, dir)) {
						t.Errorf("%s, %s: %s is a part", way, step, e.Name())
					}
				}
			}}
			if err := w.write(target); err != nil {
				t.Fatal(err)
			}
			if hashAt(t, target) != whole[1] || len(steps) < 5 {
				t.Errorf("%s: steps %q", way, steps)
			}
			if left, err := os.ReadDir(base); err != nil || len(left) != 1 {
				t.Errorf("%s: left behind %v, %v", way, left, err)
			}
		}
	}
}

// TestWriteDirRaces: what others do in the place while a directory is written is
// not lost, and what they need not be refused for is not. [X2]
func TestWriteDirRaces(t *testing.T) {
	ctx := context.Background()
	old, now := testContent("old"), testContent("new")
	oldHash, newHash := contentHash(old.sums()), contentHash(now.sums())
	put := func(t *testing.T, name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		first bool // the old one stands there before
		opts  WriteOptions
		step  string
		do    func(t *testing.T, target string)
		want  error
		left  func(t *testing.T, target string) bool // what has to stand there
	}{
		{"a file is put there", true, WriteOptions{Replace: oldHash}, "looked", func(t *testing.T, target string) { put(t, filepath.Join(target, "mine"), "mine") }, ErrOccupied,
			func(t *testing.T, target string) bool {
				text, err := os.ReadFile(filepath.Join(target, "mine"))
				return err == nil && string(text) == "mine"
			}},
		{"a file is changed", true, WriteOptions{Replace: oldHash}, "looked", func(t *testing.T, target string) { put(t, filepath.Join(target, "z"), "mine") }, ErrOccupied,
			func(t *testing.T, target string) bool {
				text, err := os.ReadFile(filepath.Join(target, "z"))
				return err == nil && string(text) == "mine"
			}},
		{"a file is put there, which may be overwritten", true, WriteOptions{Overwrite: true}, "looked", func(t *testing.T, target string) { put(t, filepath.Join(target, "mine"), "mine") }, nil,
			func(t *testing.T, target string) bool { return hashAt(t, target) == newHash }},
		{"another directory appears just so", false, WriteOptions{}, "looked", func(t *testing.T, target string) {
			if err := writeDir(ctx, old, target, WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, ErrOccupied, func(t *testing.T, target string) bool { return hashAt(t, target) == oldHash }},
		{"another directory appears", false, WriteOptions{}, "found free", func(t *testing.T, target string) {
			if err := writeDir(ctx, old, target, WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, ErrOccupied, func(t *testing.T, target string) bool { return hashAt(t, target) == oldHash }},
		{"a file appears", false, WriteOptions{}, "found free", func(t *testing.T, target string) { put(t, target, "mine") }, ErrOccupied,
			func(t *testing.T, target string) bool {
				text, err := os.ReadFile(target)
				return err == nil && string(text) == "mine"
			}},
		{"the same directory appears", false, WriteOptions{}, "found free", func(t *testing.T, target string) {
			if err := writeDir(ctx, now, target, WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, nil, func(t *testing.T, target string) bool { return hashAt(t, target) == newHash }},
		{"one that may be replaced appears", false, WriteOptions{Replace: oldHash}, "found free", func(t *testing.T, target string) {
			if err := writeDir(ctx, old, target, WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, nil, func(t *testing.T, target string) bool { return hashAt(t, target) == newHash }},
		{"what stood there goes", true, WriteOptions{Replace: oldHash}, "found taken", func(t *testing.T, target string) {
			if err := os.RemoveAll(target); err != nil {
				t.Fatal(err)
			}
		}, nil, func(t *testing.T, target string) bool { return hashAt(t, target) == newHash }},
	} {
		for way, exchange := range exchanges() {
			t.Run(c.name+", "+way, func(t *testing.T) {
				if runtime.GOOS == "windows" {
					t.Skip("open files keep directories from being moved there")
				}
				base := t.TempDir()
				target := filepath.Join(base, "out")
				if c.first {
					if err := writeDir(ctx, old, target, WriteOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				done := false
				w := dirWriter{ctx: ctx, content: now, opts: c.opts, exchange: exchange, step: func(step string) {
					if step == c.step && !done {
						done = true
						c.do(t, target)
					}
				}}
				if err := w.write(target); !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if !done || !c.left(t, target) {
					t.Errorf("it was lost; %v", done)
				}
				if left, err := os.ReadDir(base); err != nil || len(left) != 1 {
					t.Errorf("left behind: %v, %v", left, err)
				}
			})
		}
	}
}

// TestWriteDirEnds: a context that ends when the place has been taken already
// leaves all as it was. [X2]
func TestWriteDirEnds(t *testing.T) {
	for way, exchange := range exchanges() {
		base := t.TempDir()
		target := filepath.Join(base, "out")
		old, now := testContent("old"), testContent("new")
		if err := writeDir(context.Background(), old, target, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		w := dirWriter{ctx: ctx, content: now, opts: WriteOptions{Replace: contentHash(old.sums())}, exchange: exchange, step: func(step string) {
			if step == "exchanged" || step == "moved away" {
				cancel()
			}
		}}
		if err := w.write(target); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", way, err)
		}
		if hashAt(t, target) != contentHash(old.sums()) {
			t.Errorf("%s: it was replaced", way)
		}
		if left, err := os.ReadDir(base); err != nil || len(left) != 1 {
			t.Errorf("%s: left behind %v, %v", way, left, err)
		}
		cancel()
	}
}

// TestDiscardRemovesLinksAsSuch: what a link leads to stays. [X2]
func TestDiscardRemovesLinksAsSuch(t *testing.T) {
	elsewhere, base := t.TempDir(), t.TempDir()
	kept := filepath.Join(elsewhere, "plugin.json")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(base, "x")); err != nil {
		t.Skip(err)
	}
	if err := discard(base, "x"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("left behind %v, %v", left, err)
	}
}
