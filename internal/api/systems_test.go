package api

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"os"
	"path/filepath"
	"strings"
)

// The systems whose files are compared.
var systems = []string{"linux", "darwin", "windows", "freebsd"}

// differing returns the exported identifiers in files that only some systems
// build. There are to be none: then the API is the same on all of them.
func (m *module) differing() ([]string, error) {
	var out []string
	for _, s := range m.list((*source).public) {
		dir := filepath.Join(m.dir, filepath.FromSlash(s.rel))
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			everywhere, err := onAllSystems(dir, e.Name())
			if err != nil {
				return nil, err
			}
			if everywhere {
				continue
			}
			f, err := parser.ParseFile(m.fset, filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, name := range exportedIn(f) {
				out = append(out, fmt.Sprintf("%s: %s is declared in %s, which only some systems build", s.rel, name, e.Name()))
			}
		}
	}
	return out, nil
}

func onAllSystems(dir, name string) (bool, error) {
	for _, goos := range systems {
		ctx := build.Default
		ctx.GOOS, ctx.GOARCH, ctx.CgoEnabled = goos, "amd64", false
		if ok, err := ctx.MatchFile(dir, name); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// exportedIn returns the exported names that a file declares; of a method, when
// its type is exported too.
func exportedIn(f *ast.File) []string {
	var out []string
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(declared(d)[0])) {
				out = append(out, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, name := range declared(d) {
				if ast.IsExported(name) {
					out = append(out, name)
				}
			}
		}
	}
	return out
}
