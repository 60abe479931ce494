package examples

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

var ownTests = flag.Bool("own-tests", false, "also vet and test each starter where it was copied to")

const module = "github.com/plugberth/plugberth"

// exe ends the name of a program.
var exe = map[bool]string{true: ".exe"}[runtime.GOOS == "windows"]

// starters lists what is here: every directory is one.
func starters(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		t.Fatal("no starters")
	}
	return names
}

// TestStarters: a starter that is copied into a module of its own, which knows
// this one and what it requires, builds and runs; with -own-tests it also passes vet and its tests.
func TestStarters(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	readDirectories(t, root)
	// What is required has to be on the machine, as for any test of the starters;
	// the copies must do with that.
	if out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "./...").CombinedOutput(); err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for _, name := range starters(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if problems := unportable(t, os.DirFS(name)); len(problems) > 0 {
				t.Fatalf("examples/%s cannot be copied out:\n%s", name, strings.Join(problems, "\n"))
			}
			dir := filepath.Join(t.TempDir(), name)
			if err := os.CopyFS(dir, os.DirFS(name)); err != nil {
				t.Fatal(err)
			}
			writeModule(t, root, dir, "example.com/copied/"+name)

			bin := filepath.Join(t.TempDir(), "bin") + string(filepath.Separator)
			golang(t, dir, "build", "-ldflags=-s -w", "-o", bin, "./...")
			out := command(t, dir, bin+name+exe, "-h")
			if !strings.Contains(out, "usage: "+name) {
				t.Errorf("%s -h prints\n%s", name, out)
			}
			if *ownTests {
				golang(t, dir, "vet", "./...")
				golang(t, dir, "test", "./...")
			}
		})
	}
}

// readDirectories makes the test's result depend on all files of the module: go
// test keeps a result as long as what the test itself read is the same, and does
// not see what the go command reads for it.
func readDirectories(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// writeModule makes a directory a module that requires what this one does, and
// this one as it stands here.
func writeModule(t *testing.T, root, dir, name string) {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, requirements, found := bytes.Cut(mod, []byte("module "+module+"\n"))
	if !found {
		t.Fatal("go.mod begins with another module")
	}
	mod = fmt.Appendf(nil, "module %s\n%s\nrequire %s v0.0.0\n\nreplace %[3]s => %q\n", name, requirements, module, filepath.ToSlash(root))
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{"go.mod": mod, "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func golang(t *testing.T, dir string, args ...string) {
	t.Helper()
	command(t, dir, "go", args...)
}

// command runs a program, without a network for the go command, and returns what
// it prints.
func command(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PWD="+dir, "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// unportable returns the imports by which a starter would not be one: those of
// packages that only this module may import, or that stay behind when it is
// copied.
func unportable(t *testing.T, starter fs.FS) (problems []string) {
	t.Helper()
	err := fs.WalkDir(starter, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".go" {
			return err
		}
		src, err := fs.ReadFile(starter, name)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			of, ours := strings.CutPrefix(imported, module+"/")
			switch {
			case !ours:
			case strings.Contains("/"+of+"/", "/internal/"):
				problems = append(problems, fmt.Sprintf("%s: %s is internal: nothing outside of this module can import it", files.Position(spec.Pos()), imported))
			case strings.HasPrefix(of, "examples/"):
				problems = append(problems, fmt.Sprintf("%s: %s is an example: what a starter needs of it belongs into the starter", files.Position(spec.Pos()), imported))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

// TestUnportable: what a starter must not import is seen, in its tests and below
// its directory too, and said with its place.
func TestUnportable(t *testing.T) {
	source := func(imports ...string) *fstest.MapFile {
		text := "package main\n\nimport (\n"
		for _, i := range imports {
			text += strconv.Quote(i) + "\n"
		}
		return &fstest.MapFile{Data: []byte(text + ")\n")}
	}
	got := unportable(t, fstest.MapFS{
		"main.go":      source("fmt", module+"/plugin", module+"/skills/staging", "example.com/internal/x"),
		"main_test.go": source("testing", module+"/internal/printable"),
		"sub/main.go":  source(module + "/examples/host/story"),
		"windows.go":   source(module + "/mcpclient/internal"),
		"README.md":    {Data: []byte("no Go")},
	})
	want := []string{"main_test.go:5:1: " + module + "/internal/printable is internal", "sub/main.go:4:1: " + module + "/examples/host/story is an example", "windows.go:4:1: " + module + "/mcpclient/internal is internal"}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

// TestTour: the package comment leads to each starter, and each says in its own
// what it is and how it is called.
func TestTour(t *testing.T) {
	tour := comment(t, "doc.go")
	for _, name := range starters(t) {
		if !strings.Contains(tour, "\n  - "+name+" ") {
			t.Errorf("the package comment does not mention %s", name)
		}
		said := ""
		sources, err := filepath.Glob(filepath.Join(name, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range sources {
			said += comment(t, source)
		}
		if !strings.HasPrefix(said, strings.ToUpper(name[:1])+name[1:]+" ") || !strings.Contains(said, "\nUsage:\n\n\t"+name) {
			t.Errorf("%s does not say what it is and how it is called, but\n%s", name, said)
		}
	}
}

// comment returns the package comment of a file.
func comment(t *testing.T, file string) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f.Doc.Text()
}
