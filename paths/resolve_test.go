package paths_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plugberth/plugberth/paths"
)

// What Resolve can say of a location.
const (
	isDir      = "directory"
	isFile     = "file"
	isOther    = "neither"
	isMissing  = "missing"
	isDangling = "dangling"
)

func kindOf(loc paths.Location) string {
	switch {
	case loc.Dangling():
		return isDangling
	case !loc.Exists():
		return isMissing
	case loc.IsDir():
		return isDir
	case loc.IsRegular():
		return isFile
	}
	return isOther
}

// base is what stands around the package in these tests: "pkg" is the root,
// "pkg-evil" a twin that a comparison of strings would let in.
var base = []string{"pkg/", "pkg-evil/secret=outside", "secret=outside", "alias->pkg"}

var tree = []string{
	"a/inner=1", "b=2", "..data/x=3", "with space/my tool=4", "file=5", "dir/file=6", "dir/deep/file=7",
	"...=8",
	"link->dir", "deep->dir/deep", "filelink->file", "slashlink->dir/", "here->.", "dir/up->../file",
	"chain1->chain2", "chain2->sub/chain3", "sub/chain3->../dir",
	"loop1->loop2", "loop2->loop1", "self->self", "sub/long->../sub/long/x",
	"dangling->nope", "dangling2->dangling", "dangledeep->nope/below/it", "throughfile->file/x",
	"missback->nope/../dir", "missout->nope/../../pkg-evil",
}

// Links that lead out of the root or are absolute. Some come back.
var outer = []string{
	"absdir->$/pkg/dir", "absalias->$/alias/dir", "back->../pkg/dir", "backalias->../alias/dir",
	"parent->..", "out->../pkg-evil", "outfile->../pkg-evil/secret", "absout->$/pkg-evil", "chainout->sub/chainout",
	"sub/chainout->../out", "danglingout->../nope", "danglingtwin->$/pkg-nope", "top->/", "far->../../../../../../../../../../../..",
	"outandmissing->../nope/../pkg/dir",
}

type resolveCase struct {
	name string
	want string // the resolved name
	kind string
	err  error
}

func escape(name string) resolveCase { return resolveCase{name: name, err: paths.ErrEscape} }
func loop(name string) resolveCase   { return resolveCase{name: name, err: paths.ErrLoop} }

// innerCases hold for a directory and for a file system alike.
var innerCases = []resolveCase{
	// [P3]
	{"./", ".", isDir, nil},
	{".", ".", isDir, nil},
	{"", ".", isDir, nil},
	{"./b", "b", isFile, nil},
	{"b", "b", isFile, nil},
	{"./a/../b", "b", isFile, nil},
	{"./a/./../b", "b", isFile, nil},
	{".//a//inner", "a/inner", isFile, nil},
	{"./..data/x", "..data/x", isFile, nil},
	{"./...", "...", isFile, nil},
	{"./dir/", "dir", isDir, nil},
	{"./dir///", "dir", isDir, nil},
	{"./file/", "file", isFile, nil},
	{"./with space/my tool", "with space/my tool", isFile, nil},
	{"./dir/..", ".", isDir, nil},
	{"./dir/deep/../..", ".", isDir, nil},

	// Links that stay inside [P1].
	{"./link", "dir", isDir, nil},
	{"./link/file", "dir/file", isFile, nil},
	{"./filelink", "file", isFile, nil},
	{"./slashlink/file", "dir/file", isFile, nil},
	{"./here", ".", isDir, nil},
	{"./here/here/link/here", "dir/here", isMissing, nil},
	{"./dir/up", "file", isFile, nil},
	{"./chain1/file", "dir/file", isFile, nil},
	{"./link/deep/file", "dir/deep/file", isFile, nil},

	// The parent of a link's target, not that of the link [P5].
	{"./deep/..", "dir", isDir, nil},
	{"./deep/../file", "dir/file", isFile, nil},
	{"./deep/../..", ".", isDir, nil},
	{"./chain1/deep/../file", "dir/file", isFile, nil},

	// What is missing is applied lexically [P5].
	{"./x", "x", isMissing, nil},
	{"./x/y/z", "x/y/z", isMissing, nil},
	{"./x/..", ".", isMissing, nil},
	{"./x/../b", "b", isMissing, nil},
	{"./x/y/../z", "x/z", isMissing, nil},
	{"./a/x/../../y", "y", isMissing, nil},
	{"./dir/x", "dir/x", isMissing, nil},
	escape("./x/../.."),
	escape("./x/../../pkg-evil/secret"),
	escape("./missing/../.."),

	// Nothing is below a file [P5].
	{"./file/x", "file/x", isMissing, nil},
	{"./file/x/..", "file", isMissing, nil},
	{"./file/..", ".", isMissing, nil},
	{"./file/../b", "b", isMissing, nil},
	{"./filelink/x", "file/x", isMissing, nil},
	escape("./file/../.."),

	// Links on what was reached by way of something missing are no way out.
	{"./x/../link/file", "dir/file", isMissing, nil},
	{"./x/../dir/x/../../link", "dir", isMissing, nil},
	loop("./x/../self"),

	// Dangling: a link itself leads to what is missing [P5].
	{"./dangling", "nope", isDangling, nil},
	{"./dangling2", "nope", isDangling, nil},
	{"./dangling/x", "nope/x", isDangling, nil},
	{"./dangledeep", "nope/below/it", isDangling, nil},
	{"./throughfile", "file/x", isDangling, nil},
	{"./missback", "dir", isDangling, nil},
	escape("./dangling/../.."),
	escape("./missout"),
	// The link leads to something; only what is asked for in it is missing.
	{"./link/x", "dir/x", isMissing, nil},
	{"./link/deep/x/y", "dir/deep/x/y", isMissing, nil},

	// [P5]
	loop("./loop1"),
	loop("./self"),
	loop("./self/x"),
	loop("./self/../b"),
	loop("./sub/long"),

	// Lexical escapes [P1].
	escape(".."),
	escape("./.."),
	escape("./../pkg-evil"),
	escape("./../pkg-evil/secret"),
	escape("./../pkgx"),
	escape("./dir/../../secret"),
	escape("./../../../../../../../../../.."),
	escape("./link/../../secret"),
}

// outerCases hold for a directory; a file system has nothing outside its root.
var outerCases = []resolveCase{
	// [P1]
	{"./absdir/file", "dir/file", isFile, nil},
	{"./absalias/file", "dir/file", isFile, nil},
	{"./back/file", "dir/file", isFile, nil},
	{"./backalias", "dir", isDir, nil},
	{"./../pkg/b", "b", isFile, nil},
	{"./../pkg", ".", isDir, nil},
	{"./parent/pkg/b", "b", isFile, nil},
	{"./parent/pkg/parent/pkg/dir/", "dir", isDir, nil},
	{"./parent/alias/b", "b", isFile, nil},
	{"./out/../pkg/b", "b", isFile, nil},
	{"./../nope/../pkg/b", "b", isMissing, nil},
	{"./outandmissing", "dir", isDangling, nil},
	{"./danglingout/../pkg/b", "b", isDangling, nil},
	escape("./parent"),
	escape("./parent/secret"),
	escape("./parent/pkg-evil"),
	escape("./out"),
	escape("./out/secret"),
	escape("./out/nope"),
	escape("./outfile"),
	escape("./outfile/x"),
	escape("./absout/secret"),
	escape("./chainout/secret"),
	escape("./danglingout"),
	escape("./danglingtwin"),
	escape("./top"),
	escape("./far"),
	escape("./x/../out/secret"),
	escape("./x/y/../../outfile"),
	escape("./file/../out"),
	escape("./missing/../absout/nope"),
}

func checkResolve(t *testing.T, root *paths.Root, tt resolveCase) {
	t.Helper()
	loc, err := root.Resolve(tt.name)
	if tt.err != nil {
		if !errors.Is(err, tt.err) {
			t.Errorf("Resolve(%q) = %q, %v; want error %v", tt.name, loc.Name(), err, tt.err)
		}
		var pe *fs.PathError
		if err != nil && (!errors.As(err, &pe) || pe.Path != tt.name) {
			t.Errorf("Resolve(%q) fails with %#v, which does not carry the path", tt.name, err)
		}
		if loc != (paths.Location{}) {
			t.Errorf("Resolve(%q) fails and returns a location: %+v", tt.name, loc)
		}
		return
	}
	if err != nil || loc.Name() != tt.want || kindOf(loc) != tt.kind {
		t.Errorf("Resolve(%q) = %q, %s, %v; want %q, %s", tt.name, loc.Name(), kindOf(loc), err, tt.want, tt.kind)
		return
	}
	if dir := root.Dir(); dir == "" {
		if loc.Abs() != "" {
			t.Errorf("Resolve(%q).Abs() = %q without a directory", tt.name, loc.Abs())
		}
	} else if want := filepath.Join(dir, filepath.FromSlash(tt.want)); loc.Abs() != want {
		t.Errorf("Resolve(%q).Abs() = %q, want %q", tt.name, loc.Abs(), want)
	}
}

// [P1] [P3] [P5]
func TestResolve(t *testing.T) {
	dir := tempDir(t)
	pkg := filepath.Join(dir, "pkg")
	plant(t, dir, base...)
	plant(t, pkg, tree...)
	for _, link := range outer {
		plant(t, pkg, strings.ReplaceAll(link, "$", dir))
	}
	roots := map[string]*paths.Root{
		"itself":       openRoot(t, pkg),
		"through link": openRoot(t, filepath.Join(dir, "alias")),
		"unclean":      openRoot(t, pkg+"/../alias/."),
	}
	for by, root := range roots {
		t.Run(by, func(t *testing.T) {
			if root.Dir() != pkg {
				t.Fatalf("Dir() = %q, want %q", root.Dir(), pkg)
			}
			for _, tt := range innerCases {
				checkResolve(t, root, tt)
			}
			for _, tt := range outerCases {
				checkResolve(t, root, tt)
			}
			// Reading agrees with resolving.
			for _, tt := range append(innerCases, outerCases...) {
				content, err := root.AppendFile(nil, tt.name, 100)
				switch {
				case tt.err != nil && !errors.Is(err, tt.err):
					t.Errorf("AppendFile(%q) = %q, %v; want error %v", tt.name, content, err, tt.err)
				case tt.err == nil && (err == nil) != (tt.kind == isFile):
					t.Errorf("AppendFile(%q) = %q, %v of a %s", tt.name, content, err, tt.kind)
				case tt.kind == isMissing && (!errors.Is(err, fs.ErrNotExist) || errors.Is(err, paths.ErrDangling)):
					t.Errorf("AppendFile(%q) = %v of something missing", tt.name, err)
				case tt.kind == isDir && !errors.Is(err, paths.ErrNotRegular):
					t.Errorf("AppendFile(%q) = %v of a directory", tt.name, err)
				}
			}
		})
	}
}

// An independent judge: what exists is where filepath.EvalSymlinks finds it
// [P5].
func TestResolveAgreesWithTheSystem(t *testing.T) {
	dir := tempDir(t)
	pkg := filepath.Join(dir, "pkg")
	plant(t, dir, base...)
	plant(t, pkg, tree...)
	for _, link := range outer {
		plant(t, pkg, strings.ReplaceAll(link, "$", dir))
	}
	root := openRoot(t, pkg)
	compared := 0
	for _, tt := range append(innerCases, outerCases...) {
		real, err := filepath.EvalSymlinks(pkg + "/" + strings.TrimRight(tt.name, "/"))
		if err != nil {
			continue
		}
		compared++
		rel, err := filepath.Rel(pkg, real)
		inside := err == nil && filepath.IsLocal(rel)
		loc, err := root.Resolve(tt.name)
		if inside && loc.Abs() != real || inside != (err == nil) {
			t.Errorf("Resolve(%q) = %q, %v; the system finds %s", tt.name, loc.Abs(), err, real)
		}
	}
	if compared < 40 {
		t.Errorf("only %d paths were compared", compared)
	}
}

// [P1] [L1]: the same rules for any file system that can read links, where
// nothing is absolute and no link comes back.
func TestResolveFS(t *testing.T) {
	dir := tempDir(t)
	pkg := filepath.Join(dir, "pkg")
	plant(t, dir, base...)
	plant(t, pkg, tree...)
	for _, link := range outer {
		plant(t, pkg, strings.ReplaceAll(link, "$", dir))
	}
	wide := map[string]fs.FS{"MapFS": plantMap("/base", append(tree, outer...)...), "DirFS": os.DirFS(pkg)}
	sub := func(fsys fs.FS, name string) fs.FS {
		s, err := fs.Sub(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	wide["Sub of DirFS"] = sub(os.DirFS(dir), "pkg")
	rooted, err := os.OpenRoot(pkg)
	if err != nil {
		t.Fatal(err)
	}
	defer rooted.Close()
	wide["os.Root"] = rooted.FS()

	for by, fsys := range wide {
		t.Run(by, func(t *testing.T) {
			root := newRoot(t, fsys)
			if root.Dir() != "" {
				t.Errorf("Dir() = %q", root.Dir())
			}
			for _, tt := range innerCases {
				checkResolve(t, root, tt)
			}
			for _, tt := range outerCases {
				checkResolve(t, root, escape(tt.name))
				if content, err := root.AppendFile(nil, tt.name, 100); !errors.Is(err, paths.ErrEscape) {
					t.Errorf("AppendFile(%q) = %q, %v", tt.name, content, err)
				}
			}
			for _, name := range []string{"link/file", "chain1/file", "filelink", "dir/up"} {
				if _, err := fs.ReadFile(root, name); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// [L1]: where links cannot be read, a link is no file, whatever opening it by
// the file system would give.
func TestLinksThatCannotBeRead(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "pkg/file=inside", "pkg/in->file", "pkg/out->../secret", "pkg/outdir->../away", "pkg/dir/x=inside", "secret=outside", "away/x=outside")

	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for name, target := range map[string]string{"pkg/in": "file", "pkg/out": "../secret", "pkg/outdir": "../away"} {
		h := &zip.FileHeader{Name: name}
		h.SetMode(fs.ModeSymlink | 0o777)
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, target)
	}
	for _, name := range []string{"pkg/file", "pkg/dir/x"} {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, "inside")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}

	sub := func(fsys fs.FS) fs.FS {
		s, err := fs.Sub(fsys, "pkg")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for by, fsys := range map[string]fs.FS{
		"zip":             sub(archive),
		"follows":         plainFS{os.DirFS(filepath.Join(dir, "pkg"))},
		"follows, by Sub": sub(plainFS{os.DirFS(dir)}),
		"Sub of hidden":   plainFS{sub(os.DirFS(dir))},
	} {
		t.Run(by, func(t *testing.T) {
			root := newRoot(t, fsys)
			for _, name := range []string{"in", "out", "outdir"} {
				checkResolve(t, root, resolveCase{name, name, isOther, nil})
				checkResolve(t, root, resolveCase{name + "/x", name + "/x", isMissing, nil})
				if content, err := root.ReadFile(name); !errors.Is(err, paths.ErrNotRegular) {
					t.Errorf("ReadFile(%q) = %q, %v", name, content, err)
				}
				if content, err := root.ReadFile(name + "/x"); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("ReadFile(%q) = %q, %v", name+"/x", content, err)
				}
				if _, err := root.ReadDir(name); !errors.Is(err, paths.ErrNotRegular) {
					t.Errorf("ReadDir(%q) = %v", name, err)
				}
			}
			for _, name := range []string{"file", "dir/x"} {
				if content, err := root.ReadFile(name); string(content) != "inside" {
					t.Errorf("ReadFile(%q) = %q, %v", name, content, err)
				}
			}
			checkResolve(t, root, resolveCase{"./dir/../nope", "nope", isMissing, nil})
		})
	}
}

// A file system without links, such as an embedded one [L1].
func TestResolveWithoutLinks(t *testing.T) {
	root := newRoot(t, plainFS{fstest.MapFS{"dir/deep/file": {Data: []byte("x")}, "file": {Data: []byte("x")}}})
	for _, tt := range []resolveCase{
		{"./dir/deep/../deep/file", "dir/deep/file", isFile, nil},
		{"./dir/", "dir", isDir, nil},
		{"./file/x", "file/x", isMissing, nil},
		{"./dir/nope/../deep", "dir/deep", isMissing, nil},
		{"a\\b", "a\\b", isMissing, nil},
		escape("./dir/../.."),
	} {
		checkResolve(t, root, tt)
	}
}

// As many links as Linux allows are followed, and no more [P5].
func TestManyLinks(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "l0=end", "here->.")
	for i := 1; i <= 41; i++ {
		plant(t, dir, fmt.Sprintf("l%d->l%d", i, i-1))
	}
	for by, root := range map[string]*paths.Root{"Open": openRoot(t, dir), "New": newRoot(t, os.DirFS(dir))} {
		t.Run(by, func(t *testing.T) {
			checkResolve(t, root, resolveCase{"./l40", "l0", isFile, nil})
			checkResolve(t, root, loop("./l41"))
			checkResolve(t, root, resolveCase{"./" + strings.Repeat("here/", 40) + "l0", "l0", isFile, nil})
			checkResolve(t, root, loop("./"+strings.Repeat("here/", 41)+"l0"))
			checkResolve(t, root, loop("./x/../"+strings.Repeat("here/", 41)+"l0"))
			if err := func() error { _, err := root.Resolve("l41"); return err }(); !errors.Is(err, paths.ErrEscape) {
				t.Errorf("a loop is no escape: %v", err)
			}
		})
	}
}

// A link that doubles at each step is stopped by the number of links.
func TestLinksThatMultiply(t *testing.T) {
	m := fstest.MapFS{"end": {Mode: fs.ModeDir}}
	for i := 1; i < 60; i++ {
		target := strings.Repeat(fmt.Sprintf("l%d/", i+1), 2)
		m[fmt.Sprintf("l%d", i)] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
	}
	root := newRoot(t, m)
	promptly(t, "Resolve", func() { checkResolve(t, root, loop("l1")) })
}

// [P3]
func TestBackslash(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "pkg/dir/file=inside", "secret=outside")
	root := openRoot(t, filepath.Join(dir, "pkg"))
	if runtime.GOOS == "windows" {
		checkResolve(t, root, resolveCase{`./dir\file`, "dir/file", isFile, nil})
		checkResolve(t, root, resolveCase{`./dir\..\nope`, "nope", isMissing, nil})
		checkResolve(t, root, escape(`./..\secret`))
		checkResolve(t, root, escape(`./dir\..\..\secret`))
		checkResolve(t, root, escape(`./nope\..\..\nope`))
		return
	}
	plant(t, filepath.Join(dir, "pkg"), `..\secret=inside`, `dir\file=inside`, `l->dir\file`)
	checkResolve(t, root, resolveCase{`./..\secret`, `..\secret`, isFile, nil})
	checkResolve(t, root, resolveCase{`./dir\file`, `dir\file`, isFile, nil})
	checkResolve(t, root, resolveCase{`./l`, `dir\file`, isFile, nil})
	checkResolve(t, root, resolveCase{`./dir\..\..\secret`, `dir\..\..\secret`, isMissing, nil})
}

// [P4] at the level of paths, and names that are no relative ones.
func TestResolveForm(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "file=x")
	for by, root := range map[string]*paths.Root{"Open": openRoot(t, dir), "New": newRoot(t, os.DirFS(dir))} {
		for _, name := range []string{"/", "/file", "//file", dir + "/file", "file\x00", "\x00", "./x\x00/../file"} {
			if runtime.GOOS == "windows" && filepath.IsAbs(name) {
				continue
			}
			if loc, err := root.Resolve(name); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s: Resolve(%q) = %+v, %v", by, name, loc, err)
			}
			if content, err := root.AppendFile(nil, name, 10); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s: AppendFile(%q) = %q, %v", by, name, content, err)
			}
			if exact, err := root.Exact(context.Background(), name); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s: Exact(%q) = %t, %v", by, name, exact, err)
			}
		}
	}
}

// The root of the whole system contains everything, and ".." stays in it.
func TestResolveTop(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is a root for each volume")
	}
	dir := tempDir(t)
	plant(t, dir, "file=x", "link->$/file", "top->/")
	root := openRoot(t, "/")
	name := strings.TrimPrefix(dir, "/")
	for _, tt := range []resolveCase{
		{".", ".", isDir, nil},
		{"./..", ".", isDir, nil},
		{"./../" + name, name, isDir, nil},
		{"./" + name + "/link", name + "/file", isFile, nil},
		{"./" + name + "/top/", ".", isDir, nil},
		{"./" + name + "/top/" + name + "/file", name + "/file", isFile, nil},
		{"./" + name + "/nope/../../../../../..", ".", isMissing, nil},
	} {
		checkResolve(t, root, tt)
	}
	if content, err := root.ReadFile(name + "/link"); string(content) != "x" {
		t.Errorf("ReadFile = %q, %v", content, err)
	}
}

// [P5]
func TestUnder(t *testing.T) {
	dir := tempDir(t)
	plant(t, dir, "data/sub/deep/", "data/file=x", "data/in->sub", "data/deeper->sub/deep", "data/out->../away", "data/loop->loop",
		"data/back->../data/sub", "data/dangling->nope", "data-twin/", "away/", "to-data->data", "to-nope->nope", "to-loop->to-loop", "file=x")
	for _, tt := range []struct {
		base, name string
		want       string // the absolute path below dir
		kind       string
		err        error
	}{
		{"data", ".", "data", isDir, nil},
		{"data", "", "data", isDir, nil},
		{"data", "./sub", "data/sub", isDir, nil},
		{"data", "./sub/../file", "data/file", isFile, nil},
		{"data", "./in/", "data/sub", isDir, nil},
		{"data", "./deeper/..", "data/sub", isDir, nil},
		{"data", "./back", "data/sub", isDir, nil},
		{"data", "../data/sub", "data/sub", isDir, nil},
		{"data", "./new/below", "data/new/below", isMissing, nil},
		{"data", "./new/../other", "data/other", isMissing, nil},
		{"data", "./dangling/x", "data/nope/x", isDangling, nil},
		{"data", "./new/../in", "data/sub", isMissing, nil},
		{"data/", "./sub/", "data/sub", isDir, nil},
		{"to-data", "./in", "data/sub", isDir, nil},
		{"data/in", ".", "data/sub", isDir, nil},
		{"data/in/..", "sub", "data/sub", isDir, nil},
		{"data", "..", "", "", paths.ErrEscape},
		{"data", "./out", "", "", paths.ErrEscape},
		{"data", "./out/x", "", "", paths.ErrEscape},
		{"data", "./new/../..", "", "", paths.ErrEscape},
		{"data", "./new/../out", "", "", paths.ErrEscape},
		{"data", "../data-twin", "", "", paths.ErrEscape},
		{"data", "../data-new", "", "", paths.ErrEscape},
		{"data", "./loop", "", "", paths.ErrLoop},
		{"data/sub", "../file", "", "", paths.ErrEscape},

		// A base that is not there yet.
		{"new", ".", "new", isMissing, nil},
		{"new", "./sub", "new/sub", isMissing, nil},
		{"new/below", "./sub/../x", "new/below/x", isMissing, nil},
		{"to-nope", "./x", "nope/x", isMissing, nil},
		{"data/in/new", "./x", "data/sub/new/x", isMissing, nil},
		{"new", "../new/x", "new/x", isMissing, nil},
		{"new/../data", "./in", "data/sub", isMissing, nil},
		{"new/../data", "./out/x", "", "", paths.ErrEscape},
		{"new", "..", "", "", paths.ErrEscape},
		{"new", "./x/../..", "", "", paths.ErrEscape},
		{"new", "../new-twin", "", "", paths.ErrEscape},
		{"new", "../data", "", "", paths.ErrEscape},
		{"to-loop", "./x", "", "", paths.ErrLoop},
	} {
		loc, err := paths.Under(dir+"/"+tt.base, tt.name)
		if tt.err != nil {
			if !errors.Is(err, tt.err) || loc != (paths.Location{}) {
				t.Errorf("Under(%q, %q) = %q, %v; want error %v", tt.base, tt.name, loc.Abs(), err, tt.err)
			}
			continue
		}
		if err != nil || loc.Abs() != filepath.Join(dir, tt.want) || kindOf(loc) != tt.kind {
			t.Errorf("Under(%q, %q) = %q, %s, %v; want %q, %s", tt.base, tt.name, loc.Abs(), kindOf(loc), err, tt.want, tt.kind)
		}
	}

	for _, tt := range []struct{ base, name string }{
		{"", "."}, {".", "."}, {"data", "."}, {dir + "\x00", "."}, {dir, "a\x00"}, {dir, "/etc"}, {dir + "/new", "/etc"}, {dir, dir},
	} {
		if loc, err := paths.Under(tt.base, tt.name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Under(%q, %q) = %q, %v; want fs.ErrInvalid", tt.base, tt.name, loc.Abs(), err)
		}
	}
	for _, base := range []string{"file", "data/file"} {
		if loc, err := paths.Under(filepath.Join(dir, base), "."); err == nil {
			t.Errorf("Under(%q, .) = %q: no directory", base, loc.Abs())
		}
	}
}

// [P5] [L5] Links cannot bring in more components than a path may have: with
// two of them a short text would cost tens of thousands of looks at the disk.
func TestLongPathsAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(strings.Repeat("d/../", 100), filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	root, err := paths.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{
		"./" + strings.Repeat("d/../", 256):        true,
		"./" + strings.Repeat("d/../", 256) + "d":  false,
		"./" + strings.Repeat("./", 5000) + "d":    true, // costs nothing
		"./link/d":                                 true,
		"./" + strings.Repeat("link/", 2) + "d":    true,
		"./" + strings.Repeat("link/", 3) + "d":    false,
		"./" + strings.Repeat("missing/", 512):     true,
		"./" + strings.Repeat("missing/", 100_000): false,
	} {
		if _, err := root.Resolve(name); (err == nil) != ok {
			t.Errorf("Resolve(%.40q…) gives %v", name, err)
		} else if err != nil && errors.Is(err, paths.ErrEscape) {
			t.Errorf("Resolve(%.40q…) is called an escape", name)
		}
	}
}
