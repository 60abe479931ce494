package paths_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/plugberth/plugberth/paths"
)

func ExampleRoot_Resolve() {
	dir, err := os.MkdirTemp("", "plugin")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "my tool"), nil, 0o755); err != nil {
		log.Fatal(err)
	}

	root, err := paths.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"./bin/my tool", "./bin/../later/", "./bin/../../etc/passwd"} {
		loc, err := root.Resolve(name)
		if errors.Is(err, paths.ErrEscape) {
			fmt.Printf("%s: refused\n", name)
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s, there: %t\n", name, loc.Name(), loc.Exists())
	}
	// Output:
	// ./bin/my tool: bin/my tool, there: true
	// ./bin/../later/: later, there: false
	// ./bin/../../etc/passwd: refused
}

func ExampleNew() {
	root, err := paths.New(fstest.MapFS{
		"skills/greet/SKILL.md":  {Data: []byte("Say hello.")},
		"skills/greet/notes.md":  {Data: []byte("../SKILL.md"), Mode: fs.ModeSymlink},
		"skills/greet/passwd.md": {Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink},
	})
	if err != nil {
		log.Fatal(err)
	}
	// A Root is an fs.FS that follows links only as far as they stay inside.
	files, err := fs.Glob(root, "skills/*/*.md")
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range files {
		content, err := root.AppendFile(nil, name, 1<<20)
		switch {
		case errors.Is(err, paths.ErrEscape):
			fmt.Println(name, "leads outside")
		case errors.Is(err, paths.ErrDangling):
			fmt.Println(name, "leads nowhere")
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Printf("%s: %s\n", name, content)
		}
	}
	// Output:
	// skills/greet/SKILL.md: Say hello.
	// skills/greet/notes.md leads nowhere
	// skills/greet/passwd.md leads outside
}

func ExampleCheckRelative() {
	for _, p := range []string{"./bin/tool", "bin/tool", "/usr/bin/tool"} {
		fmt.Println(p, paths.CheckRelative(p) == nil)
	}
	// Output:
	// ./bin/tool true
	// bin/tool false
	// /usr/bin/tool false
}

// A file system that ignores letter case finds readme.md as README.md: a host
// that goes by names asks whether it is the name.
func ExampleRoot_Exact() {
	dir, err := os.MkdirTemp("", "plugin")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "README.md"), nil, 0o644); err != nil {
		log.Fatal(err)
	}
	root, err := paths.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"README.md", "readme.md"} {
		_, err := root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Println(name, false)
			continue
		}
		exact, err := root.Exact(context.Background(), name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, exact)
	}
	// Output:
	// README.md true
	// readme.md false
}

// Who reads many files keeps the directory open meanwhile.
func ExampleRoot_Hold() {
	root, err := paths.New(fstest.MapFS{"a.md": {Data: []byte("one")}, "b.md": {Data: []byte("two, and more")}, "c.md": {Data: []byte("three")}})
	if err != nil {
		log.Fatal(err)
	}
	release, err := root.Hold()
	if err != nil {
		log.Fatal(err)
	}
	defer release()
	entries, more, err := root.List(context.Background(), ".", 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		content, err := root.AppendFile(nil, e.Name(), 10)
		fmt.Printf("%s: %q, too large: %t\n", e.Name(), content, errors.Is(err, paths.ErrTooLarge))
	}
	fmt.Println("more:", more)
	// Output:
	// a.md: "one", too large: false
	// b.md: "", too large: true
	// more: true
}

// The working directory of a program that is not installed yet.
func ExampleUnder() {
	dir, err := os.MkdirTemp("", "data")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	base := filepath.Join(dir, "not", "there")
	for _, name := range []string{"./cache", "./cache/../..", "../there/x"} {
		loc, err := paths.Under(base, name)
		fmt.Printf("%s: %q, outside: %t\n", name, loc.Name(), errors.Is(err, paths.ErrEscape))
	}
	// Output:
	// ./cache: "cache", outside: false
	// ./cache/../..: "", outside: true
	// ../there/x: "x", outside: false
}
