package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin"
)

func names(t testing.TB, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// TestWriteDir: a directory appears whole, and what was not written before is
// not replaced unless told. [X2]
func TestWriteDir(t *testing.T) {
	ctx := context.Background()
	base := t.TempDir()
	dir := filepath.Join(base, "out")
	first := mustBuild(t, sample())
	d := sample()
	d.Manifest.Version = "2.0.0"
	d.Files = memoryFiles("bin/server x", "new", "work/", "")
	second := mustBuild(t, d)
	wantFiles := func(pkg *plugin.Package) {
		t.Helper()
		got, want := filesOf(t, os.DirFS(dir)), filesOf(t, pkg.FS())
		if runtime.GOOS == "windows" {
			return // which has no executable bits
		}
		if !maps.Equal(got, want) {
			t.Errorf("files %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
		if got := names(t, base); !slices.Equal(got, []string{"out"}) {
			t.Errorf("left behind: %q", got)
		}
	}
	write := func(pkg *plugin.Package, opts plugin.WriteOptions, want error) {
		t.Helper()
		if err := pkg.WriteDir(ctx, dir, opts); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	write(first, plugin.WriteOptions{}, nil)
	wantFiles(first)
	write(first, plugin.WriteOptions{}, nil) // the same again
	wantFiles(first)
	write(second, plugin.WriteOptions{}, plugin.ErrOccupied)
	write(second, plugin.WriteOptions{Replace: second.Hash()}, plugin.ErrOccupied)
	wantFiles(first)
	write(second, plugin.WriteOptions{Replace: first.Hash()}, nil)
	wantFiles(second)

	// A file that somebody put there, or changed, is not lost.
	mine := filepath.Join(dir, "mine")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write(first, plugin.WriteOptions{Replace: second.Hash()}, plugin.ErrOccupied)
	write(second, plugin.WriteOptions{}, plugin.ErrOccupied)
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	write(first, plugin.WriteOptions{Replace: second.Hash()}, nil)
	if err := os.WriteFile(filepath.Join(dir, "plugin.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(first, plugin.WriteOptions{Replace: first.Hash()}, plugin.ErrOccupied)
	write(first, plugin.WriteOptions{Overwrite: true}, nil)
	wantFiles(first)

	// Bounds keep the look at what is there short.
	write(second, plugin.WriteOptions{Replace: first.Hash(), Bounds: plugin.Bounds{Entries: 2}}, plugin.ErrOccupied)

	// Other things in the place.
	replace := func(make func() error) {
		t.Helper()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := make(); err != nil {
			t.Skip(err)
		}
	}
	replace(func() error { return os.Mkdir(dir, 0o700) })
	write(first, plugin.WriteOptions{}, nil)
	wantFiles(first)
	replace(func() error { return os.MkdirAll(filepath.Join(dir, "empty"), 0o700) })
	write(first, plugin.WriteOptions{}, plugin.ErrOccupied)
	replace(func() error { return os.WriteFile(dir, []byte("a file"), 0o600) })
	write(first, plugin.WriteOptions{}, plugin.ErrOccupied)
	write(first, plugin.WriteOptions{Overwrite: true}, nil)
	wantFiles(first)
	elsewhere := t.TempDir()
	if err := first.WriteDir(ctx, filepath.Join(elsewhere, "p"), plugin.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	replace(func() error { return os.Symlink(filepath.Join(elsewhere, "p"), dir) })
	write(second, plugin.WriteOptions{Replace: first.Hash()}, plugin.ErrOccupied)
	write(second, plugin.WriteOptions{Overwrite: true}, nil)
	wantFiles(second)
	if _, err := os.Stat(filepath.Join(elsewhere, "p", "plugin.json")); err != nil {
		t.Errorf("what the link led to: %v", err)
	}

	// A parent that is a link of the host is followed; one that is missing fails.
	if err := os.Symlink(base, filepath.Join(elsewhere, "base")); err != nil {
		t.Skip(err)
	}
	if err := second.WriteDir(ctx, filepath.Join(elsewhere, "base", "out"), plugin.WriteOptions{}); err != nil {
		t.Error(err)
	}
	wantFiles(second)
	if err := second.WriteDir(ctx, filepath.Join(base, "gone", "out"), plugin.WriteOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a parent that is missing: %v", err)
	}
	for _, bad := range []string{"", string(filepath.Separator)} {
		if err := second.WriteDir(ctx, bad, plugin.WriteOptions{Overwrite: true}); err == nil {
			t.Errorf("%q is written to", bad)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := first.WriteDir(ended, dir, plugin.WriteOptions{Overwrite: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	wantFiles(second)
	if err := new(plugin.Package).WriteDir(ctx, dir, plugin.WriteOptions{}); err == nil {
		t.Error("an empty package is written")
	}
}

// TestWriteDirIsWhole: a reader that looks again and again while two versions
// take turns sees one of them or, where the system cannot exchange, nothing. [X2]
func TestWriteDirIsWhole(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "out")
	var pkgs []*plugin.Package
	for i := range 2 {
		files := []string{}
		for j := range 30 {
			files = append(files, fmt.Sprint("f", j), strings.Repeat(fmt.Sprint(i), 1000))
		}
		pkgs = append(pkgs, mustBuild(t, &plugin.Draft{Manifest: plugin.Manifest{Name: "demo"}, Files: memoryFiles(files...)}))
	}
	stop, done := make(chan struct{}), make(chan struct{})
	looks := 0
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				continue // not yet, or a moment without
			}
			entries, err := fs.ReadDir(root.FS(), ".")
			seen, seenErr := root.Stat(".")
			now, nowErr := os.Stat(dir)
			// What was replaced meanwhile is being removed.
			if err == nil && seenErr == nil && nowErr == nil && os.SameFile(seen, now) && len(entries) != 31 {
				t.Errorf("%d entries", len(entries))
			}
			looks++
			root.Close()
		}
	}()
	for i := range 20 {
		if err := pkgs[i%2].WriteDir(ctx, dir, plugin.WriteOptions{Replace: pkgs[1-i%2].Hash()}); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-done
	if looks == 0 {
		t.Log("no look fell in between")
	}
}

// TestUnpack: an archive is unpacked contained and whole, whether or not it is a
// plugin. [X5]
func TestUnpack(t *testing.T) {
	ctx := context.Background()
	base := t.TempDir()
	pkg := mustBuild(t, sample())
	zip, tgz := bothArchives(t, pkg)
	for i, a := range readBoth(t, zip, tgz) {
		dir := filepath.Join(base, fmt.Sprint(i))
		if err := a.Unpack(ctx, dir, plugin.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		p := mustLoad(t, dir)
		sameImage(t, "unpacked", p, pkg.Plugin())
		if hash, err := p.Hash(ctx, plugin.Bounds{}); err != nil || hash != a.Hash() {
			t.Errorf("hash %s, %v", hash, err)
		}
		if runtime.GOOS != "windows" && !maps.Equal(filesOf(t, os.DirFS(dir)), filesOf(t, a.FS())) {
			t.Error("other files")
		}
		if plan, err := p.LaunchPlan("local", filepath.Join(base, "data")); err != nil || !strings.HasSuffix(filepath.ToSlash(plan.Program), "/bin/server") {
			t.Errorf("%+v, %v", plan, err)
		}
		if err := a.Unpack(ctx, base, plugin.WriteOptions{}); !errors.Is(err, plugin.ErrOccupied) {
			t.Errorf("over other files: %v", err)
		}
	}
	other := rawZip([]rawEntry{named("readme")}, nil)
	a := readBoth(t, other, tgz)[0]
	if err := a.Unpack(ctx, filepath.Join(base, "other"), plugin.WriteOptions{}); err != nil {
		t.Error(err)
	}
}
