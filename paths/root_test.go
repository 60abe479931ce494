package paths_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/plugberth/plugberth/paths"
)

// bothRoots returns a Root of the directory and one of it as a file system.
func bothRoots(t testing.TB, dir string) map[string]*paths.Root {
	t.Helper()
	return map[string]*paths.Root{"Open": openRoot(t, dir), "New": newRoot(t, os.DirFS(dir))}
}

func TestOpenFails(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "file=x", "filelink->file", "dangling->nope", "loop->loop")
	for _, name := range []string{"nope", "file", "filelink", "dangling", "loop", "file/x", "a\x00"} {
		if root, err := paths.Open(filepath.Join(dir, name)); err == nil || root != nil {
			t.Errorf("Open(%q) = %v, %v", name, root, err)
		}
	}
	if _, err := paths.Open(filepath.Join(dir, "nope")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of nothing: %v", err)
	}
	if root, err := paths.New(nil); err == nil || root != nil {
		t.Errorf("New(nil) = %v, %v", root, err)
	}
	if _, err := paths.New(os.DirFS(filepath.Join(dir, "nope"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("New of nothing: %v", err)
	}
	if root, err := paths.New(os.DirFS(filepath.Join(dir, "file"))); err == nil {
		t.Errorf("New of a file = %v", root)
	}
}

// A relative path is that of the working directory at the time of Open.
func TestOpenRelative(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "pkg/file=x", "elsewhere/")
	t.Chdir(dir)
	root := openRoot(t, "./pkg")
	t.Chdir(filepath.Join(dir, "elsewhere"))
	if content, err := root.ReadFile("file"); string(content) != "x" {
		t.Errorf("ReadFile = %q, %v", content, err)
	}
	if want := filepath.Join(dir, "pkg"); root.Dir() != want {
		t.Errorf("Dir() = %q, want %q", root.Dir(), want)
	}
}

// [Q1]
func TestZeroRoot(t *testing.T) {
	for by, root := range map[string]*paths.Root{"nil": nil, "zero": {}} {
		for op, call := range map[string]func() error{
			"Open":       func() error { _, err := root.Open("a"); return err },
			"Stat":       func() error { _, err := root.Stat("."); return err },
			"ReadDir":    func() error { _, err := root.ReadDir("."); return err },
			"List":       func() error { _, _, err := root.List(context.Background(), ".", 1); return err },
			"ReadFile":   func() error { _, err := root.ReadFile("a"); return err },
			"AppendFile": func() error { _, err := root.AppendFile(nil, "a", 1); return err },
			"Exact":      func() error { _, err := root.Exact(context.Background(), "a"); return err },
			"Resolve":    func() error { _, err := root.Resolve("./a"); return err },
			"Hold":       func() error { _, err := root.Hold(); return err },
			"WalkDir": func() error {
				return fs.WalkDir(root, ".", func(_ string, _ fs.DirEntry, err error) error { return err })
			},
		} {
			if err := call(); err == nil {
				t.Errorf("%s Root: %s succeeds", by, op)
			}
		}
		if dir := root.Dir(); dir != "" {
			t.Errorf("%s Root: Dir() = %q", by, dir)
		}
	}
	var loc paths.Location
	if loc.Name() != "" || loc.Abs() != "" || loc.Exists() || loc.IsDir() || loc.IsRegular() || loc.Dangling() {
		t.Errorf("the zero Location says something: %+v", loc)
	}
}

// [P6]: the standard library's own test of file systems.
func TestRootIsAnFS(t *testing.T) {
	dir := tempDir(t)
	files := []string{"plugin.json={}", "skills/a/SKILL.md=a", "skills/a/scripts/run=#!", "skills/b/SKILL.md=", "with space/x y=z"}
	plant(t, dir, files...)
	plant(t, dir, "empty/", "link->skills/a", "filelink->plugin.json")
	for by, root := range bothRoots(t, dir) {
		t.Run(by, func(t *testing.T) {
			err := fstest.TestFS(root, "plugin.json", "skills/a/SKILL.md", "skills/b/SKILL.md", "with space/x y", "empty", "link", "filelink")
			if err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("MapFS", func(t *testing.T) {
		if err := fstest.TestFS(newRoot(t, plantMap("", files...)), "plugin.json", "skills/a/SKILL.md"); err != nil {
			t.Error(err)
		}
	})
}

// [P1] [P6]: what the functions of io/fs reach through a Root stays inside.
func TestFSFunctionsStayInside(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "pkg/a/file=inside", "pkg/in->a", "pkg/a/up->../b", "pkg/b=inside", "pkg/a/far->../../away", "pkg/a/farfile->../../away/file", "away/file=outside")
	for by, root := range bothRoots(t, filepath.Join(dir, "pkg")) {
		t.Run(by, func(t *testing.T) {
			var walked []string
			err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
				walked = append(walked, p)
				return err
			})
			// As always, a walk shows links and does not follow them.
			want := []string{".", "a", "a/far", "a/farfile", "a/file", "a/up", "b", "in"}
			if err != nil || !slices.Equal(walked, want) {
				t.Errorf("WalkDir: %q, %v; want %q", walked, err, want)
			}

			if got, err := fs.Glob(root, "*/*"); err != nil || !slices.Equal(got, []string{"a/far", "a/farfile", "a/file", "a/up", "in/far", "in/farfile", "in/file", "in/up"}) {
				t.Errorf("Glob = %q, %v", got, err)
			}
			if got, err := fs.Glob(root, "a/far/*"); len(got) > 0 {
				t.Errorf("Glob finds %q, %v outside", got, err)
			}

			for _, name := range []string{"a", "in"} {
				sub, err := fs.Sub(root, name)
				if err != nil {
					t.Fatal(err)
				}
				for _, inside := range []string{"file", "up"} {
					if content, err := fs.ReadFile(sub, inside); string(content) != "inside" {
						t.Errorf("ReadFile(%s) in Sub(%s) = %q, %v", inside, name, content, err)
					}
				}
				for op, call := range map[string]func() error{
					"ReadFile": func() error { _, err := fs.ReadFile(sub, "farfile"); return err },
					"Open":     func() error { _, err := sub.Open("far/file"); return err },
					"Stat":     func() error { _, err := fs.Stat(sub, "far"); return err },
					"ReadDir":  func() error { _, err := fs.ReadDir(sub, "far"); return err },
				} {
					if err := call(); !errors.Is(err, paths.ErrEscape) {
						t.Errorf("%s in Sub(%s): %v, want ErrEscape", op, name, err)
					}
				}
				// A Root of a Root is contained in both.
				inner := newRoot(t, sub)
				if content, err := inner.ReadFile("file"); string(content) != "inside" {
					t.Errorf("ReadFile in New(Sub(%s)) = %q, %v", name, content, err)
				}
				for _, link := range []string{"far/file", "farfile"} {
					if content, err := inner.ReadFile(link); err == nil {
						t.Errorf("ReadFile(%s) in New(Sub(%s)) = %q", link, name, content)
					}
				}
			}
		})
	}
}

// Names that fs.ValidPath refuses are refused by the methods of io/fs.
func TestInvalidNames(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "a/b=x")
	for by, root := range bothRoots(t, dir) {
		for _, name := range []string{"", "/", "/a", "./a", "a/", "a//b", "..", "a/..", "a/../a/b", "\xff", "a/\xff"} {
			for op, call := range map[string]func() error{
				"Open":     func() error { _, err := root.Open(name); return err },
				"Stat":     func() error { _, err := root.Stat(name); return err },
				"ReadDir":  func() error { _, err := root.ReadDir(name); return err },
				"ReadFile": func() error { _, err := root.ReadFile(name); return err },
			} {
				if err := call(); !errors.Is(err, fs.ErrInvalid) {
					t.Errorf("%s: %s(%q) = %v, want fs.ErrInvalid", by, op, name, err)
				}
			}
		}
	}
}

// [L6]: a directory is no file, and a file no directory.
func TestWrongKind(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "dir/", "file=x", "dirlink->dir", "filelink->file")
	for by, root := range bothRoots(t, dir) {
		for _, name := range []string{".", "dir", "dirlink"} {
			if _, err := root.ReadFile(name); !errors.Is(err, paths.ErrNotRegular) {
				t.Errorf("%s: ReadFile(%q): %v", by, name, err)
			}
			if _, err := root.AppendFile(nil, name, 10); !errors.Is(err, paths.ErrNotRegular) {
				t.Errorf("%s: AppendFile(%q): %v", by, name, err)
			}
			if info, err := root.Stat(name); err != nil || !info.IsDir() {
				t.Errorf("%s: Stat(%q): %v", by, name, err)
			}
		}
		for _, name := range []string{"file", "filelink"} {
			if entries, err := root.ReadDir(name); err == nil {
				t.Errorf("%s: ReadDir(%q) = %v", by, name, entries)
			}
			if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() != 1 {
				t.Errorf("%s: Stat(%q): %v", by, name, err)
			}
			for _, below := range []string{name + "/x", name + "/x/y"} {
				if _, err := root.Open(below); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, paths.ErrDangling) {
					t.Errorf("%s: Open(%q): %v", by, below, err)
				}
			}
		}
	}
}

// [L5]
func TestLimits(t *testing.T) {
	dir := tempDir(t)
	content := strings.Repeat("x", 1000)
	plant(t, dir, "thousand="+content, "empty=", "link->thousand")
	large, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	if err := large.Truncate(1 << 30); err != nil {
		t.Skip("no sparse files: ", err)
	}
	large.Close()
	for by, root := range bothRoots(t, dir) {
		for _, tt := range []struct {
			name  string
			limit int64
			ok    bool
		}{
			{"thousand", 1000, true}, {"thousand", 1001, true}, {"thousand", math.MaxInt64, true}, {"link", 1000, true},
			{"thousand", 999, false}, {"thousand", 0, false}, {"thousand", -1, false}, {"link", 999, false},
			{"empty", 0, true}, {"empty", -1, false}, {"empty", 1, true},
			{"large", 1 << 20, false}, {"large", 1<<30 - 1, false},
		} {
			prefix := []byte("before ")
			got, err := root.AppendFile(prefix, tt.name, tt.limit)
			if !tt.ok {
				if !errors.Is(err, paths.ErrTooLarge) || string(got) != "before " {
					t.Errorf("%s: AppendFile(%s, %d) = %d bytes, %v; want ErrTooLarge", by, tt.name, tt.limit, len(got), err)
				}
				continue
			}
			want := "before "
			if tt.name != "empty" {
				want += content
			}
			if err != nil || string(got) != want {
				t.Errorf("%s: AppendFile(%s, %d) = %d bytes, %v", by, tt.name, tt.limit, len(got), err)
			}
		}
		// A file that is too large is refused before it is read.
		if n := testing.AllocsPerRun(1, func() { root.AppendFile(nil, "large", 1<<20) }); n > 100 {
			t.Errorf("%s: refusing a large file makes %v allocations", by, n)
		}
	}
}

// sizedFS tells lies about the size of its one file.
type sizedFS struct {
	fstest.MapFS
	size int64
}

type sizedFile struct {
	fs.File
	size int64
}

type sizedInfo struct {
	fs.FileInfo
	size int64
}

func (s sizedFS) Open(name string) (fs.File, error) {
	f, err := s.MapFS.Open(name)
	if name == "file" {
		f = sizedFile{f, s.size}
	}
	return f, err
}

func (s sizedFile) Stat() (fs.FileInfo, error) {
	info, err := s.File.Stat()
	return sizedInfo{info, s.size}, err
}

func (s sizedInfo) Size() int64 { return s.size }

// [L5] [Q1]: the size that a file system gives is not trusted.
func TestWrongSizes(t *testing.T) {
	for _, size := range []int64{math.MinInt64, -1, 0, 1, 1 << 40, 1<<62 - 1} {
		root := newRoot(t, sizedFS{fstest.MapFS{"file": {Data: make([]byte, 1000)}}, size})
		if content, err := root.ReadFile("file"); err != nil || len(content) != 1000 {
			t.Errorf("size %d: ReadFile = %d bytes, %v", size, len(content), err)
		}
		if content, err := root.AppendFile(nil, "file", 999); !errors.Is(err, paths.ErrTooLarge) {
			t.Errorf("size %d: AppendFile beyond the limit = %d bytes, %v", size, len(content), err)
		}
		if content, err := root.AppendFile(nil, "file", 1000); size <= 1000 && (err != nil || len(content) != 1000) {
			t.Errorf("size %d: AppendFile = %d bytes, %v", size, len(content), err)
		}
	}
}

// An archive can declare a size that becomes negative [Q1].
func TestHostileZip(t *testing.T) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	f, err := w.CreateRaw(&zip.FileHeader{Name: "file", UncompressedSize64: 1<<64 - 8, CompressedSize64: 4})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "text")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := fs.Stat(archive, "file"); err != nil || info.Size() >= 0 {
		t.Fatalf("the archive is not what this test needs: %v", err)
	}
	if content, err := newRoot(t, archive).AppendFile(nil, "file", 100); err == nil {
		t.Errorf("AppendFile = %q of an archive that contradicts itself", content)
	}
}

// [L7] [L5]
func TestList(t *testing.T) {
	const count = 3000 // more than one batch of reading
	dir := tempDir(t)
	plant(t, dir, "many/", "empty/", "link->many")
	var all []string
	for i := range count {
		name := fmt.Sprintf("%x", (i*7919)%count+1<<20)
		all = append(all, name)
		plant(t, dir, "many/"+name+"=")
	}
	slices.Sort(all)
	for by, root := range bothRoots(t, dir) {
		for _, name := range []string{"many", "link"} {
			for _, max := range []int{0, 1, 2, 100, 1023, 1024, 1025, count / 2, count - 1, count, count + 1, 2 * count, math.MaxInt} {
				entries, more, err := root.List(context.Background(), name, max)
				want := all
				if max > 0 && max < count {
					want = all[:max]
				}
				if err != nil || !slices.Equal(names(entries), want) || more != (len(want) < count) {
					t.Errorf("%s: List(%s, %d) = %d entries, more %t, %v", by, name, max, len(entries), more, err)
				}
			}
			entries, err := root.ReadDir(name)
			if err != nil || !slices.Equal(names(entries), all) {
				t.Errorf("%s: ReadDir(%s) = %d entries, %v", by, name, len(entries), err)
			}
		}
		for _, max := range []int{0, 1} {
			if entries, more, err := root.List(context.Background(), "empty", max); err != nil || len(entries) > 0 || more {
				t.Errorf("%s: List(empty, %d) = %v, %t, %v", by, max, entries, more, err)
			}
		}
		if entries, more, err := root.List(context.Background(), ".", 3); err != nil || more || !slices.Equal(names(entries), []string{"empty", "link", "many"}) {
			t.Errorf("%s: List(., 3) = %v, %t, %v", by, entries, more, err)
		} else if entries[1].Type() != fs.ModeSymlink || !entries[2].IsDir() {
			t.Errorf("%s: List shows %v", by, entries)
		} else if info, err := entries[1].Info(); err != nil || info.Mode().Type() != fs.ModeSymlink || info.Name() != "link" {
			t.Errorf("%s: Info of a link = %v, %v", by, info, err)
		}
		if entries, _, err := root.List(context.Background(), "nope", 3); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: List(nope) = %v, %v", by, entries, err)
		}
	}
}

func names(entries []fs.DirEntry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// [P1]: what a listing says of an entry is said of what is inside, also when
// the directory was replaced by a link since.
func TestEntryInfoStaysInside(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "pkg/d/file=inside", "pkg/d/sub/", "away/file=outside, and longer", "away/sub=")
	root := openRoot(t, filepath.Join(dir, "pkg"))
	listed, _, err := root.List(context.Background(), "d", 0)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := root.Open("d")
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for _, e := range listed {
		if info, err := e.Info(); err != nil || info.Name() != e.Name() || info.IsDir() != e.IsDir() {
			t.Errorf("Info of %s = %v, %v", e.Name(), info, err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "pkg", "d"), filepath.Join(dir, "pkg", "was")); err != nil {
		t.Skip("an open directory cannot be renamed: ", err)
	}
	plant(t, dir, "pkg/d->../away")
	late, err := opened.(fs.ReadDirFile).ReadDir(-1)
	if err != nil {
		t.Fatal(err)
	}
	if len(listed) != 2 || len(late) != 2 {
		t.Fatalf("listed %v and %v", listed, late)
	}
	for _, e := range append(listed, late...) {
		if info, err := e.Info(); err == nil && (info.Size() > 10 && !info.IsDir() || info.IsDir() != e.IsDir()) {
			t.Errorf("Info of %s tells of a file outside: %v", e.Name(), info)
		}
	}
}

// [L9]
func TestExact(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "plugin.json=x", "SKILL.md=x", "skills/a/SKILL.md=x", "skills/a/\u00c9t\u00e9=x", "123=x", "link->skills/a", "filelink->plugin.json")
	_, err := os.Stat(filepath.Join(dir, "PLUGIN.JSON"))
	ignoresCase := err == nil
	for by, root := range bothRoots(t, dir) {
		for _, name := range []string{
			"plugin.json", "SKILL.md", "skills", "skills/a/SKILL.md", "skills/a/\u00c9t\u00e9", "123", "link", "link/SKILL.md",
			"filelink", "./plugin.json", "./skills/../plugin.json", "link/../a/SKILL.md",
		} {
			if exact, err := root.Exact(context.Background(), name); err != nil || !exact {
				t.Errorf("%s: Exact(%q) = %t, %v", by, name, exact, err)
			}
		}
		// Where letters are told apart, nothing is found under another case.
		for _, name := range []string{"Plugin.json", "PLUGIN.JSON", "skill.md", "Skills", "skills/a/skill.md", "link/Skill.md"} {
			_, err := root.Open(name)
			if !ignoresCase {
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: Open(%q): %v", by, name, err)
				}
			} else if exact, err := root.Exact(context.Background(), name); err != nil || exact {
				t.Errorf("%s: Exact(%q) = %t, %v", by, name, exact, err)
			}
		}
	}
	if ignoresCase {
		return
	}
	// A second file in another case is another file; both are exact.
	plant(t, dir, "Plugin.json=y", "link2->plugin.json", "Link2->Plugin.json")
	for by, root := range bothRoots(t, dir) {
		for _, name := range []string{"plugin.json", "Plugin.json", "link2", "Link2"} {
			if exact, err := root.Exact(context.Background(), name); err != nil || !exact {
				t.Errorf("%s: Exact(%q) = %t, %v beside its twin", by, name, exact, err)
			}
		}
		for name, want := range map[string]string{"plugin.json": "x", "Plugin.json": "y"} {
			if content, err := root.ReadFile(name); string(content) != want {
				t.Errorf("%s: ReadFile(%q) = %q, %v", by, name, content, err)
			}
		}
	}
}

// foldFS is a file system that finds names in any letter case.
type foldFS struct{ fstest.MapFS }

func (f foldFS) Open(name string) (fs.File, error)     { return f.MapFS.Open(f.fold(name)) }
func (f foldFS) Stat(name string) (fs.FileInfo, error) { return f.MapFS.Stat(f.fold(name)) }
func (f foldFS) Lstat(name string) (fs.FileInfo, error) {
	return f.MapFS.Lstat(f.fold(name))
}

func (f foldFS) fold(name string) string {
	for real := range f.MapFS {
		if strings.EqualFold(real, name) {
			return real
		}
	}
	return name
}

// [L9]: the case of a file system that ignores letter case.
func TestExactWhereCaseIsIgnored(t *testing.T) {
	root := newRoot(t, foldFS{fstest.MapFS{"Plugin.JSON": {Data: []byte("x")}, "skills/a/skill.md": {Data: []byte("x")}}})
	for name, want := range map[string]bool{
		"Plugin.JSON": true, "plugin.json": false, "skills/a/skill.md": true, "skills/a/SKILL.md": false,
	} {
		if exact, err := root.Exact(context.Background(), name); err != nil || exact != want {
			t.Errorf("Exact(%q) = %t, %v; want %t", name, exact, err, want)
		}
	}
}

// [P6]: any name that a system can hold.
func TestStrangeNames(t *testing.T) {
	dir := tempDir(t)
	for _, name := range []string{"new\nline", "tab\t", "\u202etxt.exe", "\u200b", " ", "a ", "-rf", "*", "?", "[", "a\\b", "\x7f", "e\u0301", strings.Repeat("n", 255)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Logf("%q cannot be made here: %v", name, err)
			continue
		}
		root := openRoot(t, dir)
		if content, err := root.ReadFile(name); string(content) != name {
			t.Errorf("ReadFile(%q) = %q, %v", name, content, err)
		}
		if exact, err := root.Exact(context.Background(), name); err != nil || !exact {
			t.Errorf("Exact(%q) = %t, %v", name, exact, err)
		}
		if loc, err := root.Resolve("./" + name); err != nil || loc.Name() != name || !loc.IsRegular() {
			t.Errorf("Resolve(./%q) = %q, %v", name, loc.Name(), err)
		}
	}
	root := openRoot(t, dir)
	long := strings.Repeat("n", 256)
	if _, err := root.ReadFile(long); err == nil {
		t.Error("a name of 256 bytes was found")
	}
	if _, err := root.Resolve("./" + long); err == nil {
		t.Log("this system takes names of 256 bytes")
	}
}

func TestOpenFile(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "a/file=content", "link->a/file")
	for by, root := range bothRoots(t, dir) {
		for _, name := range []string{"a/file", "link"} {
			f, err := root.Open(name)
			if err != nil {
				t.Errorf("%s: %v", by, err)
				continue
			}
			if content, err := io.ReadAll(f); string(content) != "content" {
				t.Errorf("%s: %s has %q, %v", by, name, content, err)
			}
			if err := f.Close(); err != nil {
				t.Errorf("%s: Close: %v", by, err)
			}
		}
	}
}

// [P2]: errors can be told apart.
func TestErrors(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "pkg/out->../secret", "pkg/dangling->nope", "pkg/loop->loop", "secret=outside")
	for by, root := range bothRoots(t, filepath.Join(dir, "pkg")) {
		for _, tt := range []struct {
			name    string
			is, not []error
		}{
			{"out", []error{paths.ErrEscape}, []error{paths.ErrLoop, fs.ErrNotExist}},
			{"loop", []error{paths.ErrLoop, paths.ErrEscape}, []error{fs.ErrNotExist}},
			{"dangling", []error{paths.ErrDangling, fs.ErrNotExist}, []error{paths.ErrEscape}},
			{"nope", []error{fs.ErrNotExist}, []error{paths.ErrDangling, paths.ErrEscape}},
		} {
			for op, call := range map[string]func() error{
				"Open":     func() error { _, err := root.Open(tt.name); return err },
				"Stat":     func() error { _, err := root.Stat(tt.name); return err },
				"ReadDir":  func() error { _, err := root.ReadDir(tt.name); return err },
				"ReadFile": func() error { _, err := root.ReadFile(tt.name); return err },
			} {
				err := call()
				var pe *fs.PathError
				if !errors.As(err, &pe) || pe.Path != tt.name {
					t.Errorf("%s: %s(%s) = %#v", by, op, tt.name, err)
				}
				for _, target := range tt.is {
					if !errors.Is(err, target) {
						t.Errorf("%s: %s(%s) = %v, not %v", by, op, tt.name, err, target)
					}
				}
				for _, target := range tt.not {
					if errors.Is(err, target) {
						t.Errorf("%s: %s(%s) = %v, which is %v too", by, op, tt.name, err, target)
					}
				}
				if strings.Contains(err.Error(), dir) {
					t.Errorf("%s: %s(%s) tells where the package is: %v", by, op, tt.name, err)
				}
			}
		}
	}
}

// [L4]: all methods at once, for the race detector.
func TestConcurrentUse(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "a/file=content", "link->a", "out->..")
	for by, root := range bothRoots(t, dir) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 50 {
					release, err := root.Hold()
					if err != nil {
						t.Error(err)
						return
					}
					if content, err := root.ReadFile("link/file"); string(content) != "content" {
						t.Errorf("%s: ReadFile = %q, %v", by, content, err)
					}
					if entries, err := root.ReadDir("a"); len(entries) != 1 {
						t.Errorf("%s: ReadDir = %v, %v", by, entries, err)
					}
					release()
					if exact, err := root.Exact(context.Background(), "a/file"); !exact {
						t.Errorf("%s: Exact = %t, %v", by, exact, err)
					}
					if _, err := root.Stat("out"); !errors.Is(err, paths.ErrEscape) {
						t.Errorf("%s: Stat: %v", by, err)
					}
				}
			})
		}
		wg.Wait()
	}
}

func TestHold(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "pkg/file=old", "next/file=new")
	root := openRoot(t, filepath.Join(dir, "pkg"))
	outer, err := root.Hold()
	if err != nil {
		t.Fatal(err)
	}
	inner, err := root.Hold()
	if err != nil {
		t.Fatal(err)
	}
	read := func(want string) {
		t.Helper()
		if content, err := root.ReadFile("file"); string(content) != want {
			t.Errorf("ReadFile = %q, %v; want %q", content, err, want)
		}
	}
	read("old")
	if err := os.Rename(filepath.Join(dir, "pkg"), filepath.Join(dir, "was")); err != nil {
		outer()
		inner()
		t.Skip("a directory that is held cannot be renamed: ", err)
	}
	if err := os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "pkg")); err != nil {
		t.Fatal(err)
	}
	read("old")
	outer()
	read("old") // still held by the inner one
	inner()
	read("new")

	release, err := root.Hold()
	if err != nil {
		t.Fatal(err)
	}
	read("new")
	release()

	if err := os.RemoveAll(filepath.Join(dir, "pkg")); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Hold(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Hold of a directory that is gone: %v", err)
	}
	if _, err := root.ReadFile("file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadFile in a directory that is gone: %v", err)
	}
}

func TestListEndsWithTheContext(t *testing.T) {
	root, err := paths.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := root.List(ctx, ".", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("List with an ended context gives %v", err)
	}
}

// [P1] A second release does nothing: it must not close a handle that another
// call relies on, nor leave the root with one that was closed.
func TestReleaseTwice(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("inside"), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := paths.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := root.Hold()
	if err != nil {
		t.Fatal(err)
	}
	inner, err := root.Hold()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		inner()
	}
	// Were the handle closed, this would take its number.
	other, err := os.Open(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if got, err := root.AppendFile(nil, "file", 100); string(got) != "inside" {
		t.Errorf("while held: %q, %v", got, err)
	}
	outer()
	outer()
	if got, err := root.AppendFile(nil, "file", 100); string(got) != "inside" {
		t.Errorf("after all was released: %q, %v", got, err)
	}
}

// [L9] The root itself is spelled exactly, however it is written.
func TestExactRoot(t *testing.T) {
	root, err := paths.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".", "./", "", "./."} {
		if ok, err := root.Exact(context.Background(), name); !ok || err != nil {
			t.Errorf("Exact(%q) = %v, %v", name, ok, err)
		}
	}
	if _, err := paths.Open(""); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("Open of nothing gives %v", err)
	}
}
