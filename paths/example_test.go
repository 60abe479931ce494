package paths_test

import (
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
