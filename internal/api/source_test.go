package api

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A module is the source of one, parsed and, but for the bodies of functions
// that are no examples, checked.
type module struct {
	path string
	dir  string
	fset *token.FileSet
	pkgs map[string]*source // by import path

	outside types.Importer // of what is not in the module
	checked map[string]*types.Package
}

// A source is one package.
type source struct {
	path  string
	rel   string // to the module; "" for its root
	name  string
	files map[string]*ast.File // by base name, without tests
	tests map[string]*ast.File // of the package's _test package
	inner map[string]*ast.File // tests of the package itself

	types *types.Package
	info  *types.Info
}

// public reports whether users can import the package.
func (s *source) public() bool {
	return s.name != "main" && !s.example() && !strings.Contains("/"+s.rel+"/", "/internal/")
}

// example reports whether the package is one of the examples.
func (s *source) example() bool { return strings.HasPrefix(s.rel+"/", "examples/") }

// list returns the public packages, or the examples, in order.
func (m *module) list(which func(*source) bool) []*source {
	var out []*source
	for _, p := range slices.Sorted(maps.Keys(m.pkgs)) {
		if which(m.pkgs[p]) {
			out = append(out, m.pkgs[p])
		}
	}
	return out
}

// load reads the module at dir.
func load(dir, modulePath string) (*module, error) {
	m := &module{path: modulePath, dir: dir, fset: token.NewFileSet(), pkgs: map[string]*source{}, checked: map[string]*types.Package{}}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch base := filepath.Base(name); {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case name != dir && (base == "testdata" || base[0] == '.' || base[0] == '_' || isModule(name)):
			return fs.SkipDir
		}
		return m.parse(name)
	})
	if err != nil {
		return nil, err
	}
	if err := m.importOutside(); err != nil {
		return nil, err
	}
	for _, s := range m.list((*source).public) {
		if _, err := m.Import(s.path); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// isModule reports whether a directory is a module of its own.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// parse reads the package in a directory, if there is one, as this system
// builds it.
func (m *module) parse(dir string) error {
	b, err := build.Default.ImportDir(dir, 0)
	if none := new(build.NoGoError); errors.As(err, &none) {
		return nil
	}
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(m.dir, dir)
	if err != nil {
		return err
	}
	s := &source{rel: strings.TrimPrefix(filepath.ToSlash(rel), "."), name: b.Name}
	s.path = path.Join(m.path, s.rel)
	for _, part := range []struct {
		names []string
		into  *map[string]*ast.File
	}{{b.GoFiles, &s.files}, {b.XTestGoFiles, &s.tests}, {b.TestGoFiles, &s.inner}} {
		*part.into = map[string]*ast.File{}
		for _, name := range part.names {
			f, err := parser.ParseFile(m.fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			(*part.into)[name] = f
		}
	}
	if len(s.files) > 0 {
		m.pkgs[s.path] = s
	}
	return nil
}

// importOutside has the go command list the compiled form of all that the
// module imports.
func (m *module) importOutside() error {
	imports := map[string]bool{}
	for _, s := range m.pkgs {
		for _, files := range []map[string]*ast.File{s.files, s.tests} {
			for _, f := range files {
				for _, spec := range f.Imports {
					if p := strings.Trim(spec.Path.Value, `"`); !m.owns(p) && p != "unsafe" {
						imports[p] = true
					}
				}
			}
		}
	}
	args := append([]string{"list", "-export", "-f", "{{.ImportPath}}\t{{.Export}}", "--"}, slices.Sorted(maps.Keys(imports))...)
	cmd := exec.Command("go", args...)
	cmd.Dir = m.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	compiled := map[string]string{}
	for line := range strings.Lines(string(out)) {
		p, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		compiled[p] = file
	}
	m.outside = importer.ForCompiler(m.fset, "gc", func(p string) (io.ReadCloser, error) { return os.Open(compiled[p]) })
	return nil
}

func (m *module) owns(p string) bool { return p == m.path || strings.HasPrefix(p, m.path+"/") }

// Import checks a package of the module, and those it imports before.
func (m *module) Import(p string) (*types.Package, error) {
	s := m.pkgs[p]
	switch {
	case !m.owns(p):
		return m.outside.Import(p)
	case s == nil:
		return nil, fmt.Errorf("there is no package %s", p)
	case s.types != nil:
		return s.types, nil
	}
	conf := types.Config{Importer: m, IgnoreFuncBodies: !s.example()}
	s.info = newInfo()
	var err error
	s.types, err = conf.Check(p, m.fset, inOrder(s.files), s.info)
	return s.types, err
}

func newInfo() *types.Info {
	return &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
}

func inOrder(files map[string]*ast.File) []*ast.File {
	var out []*ast.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, files[name])
	}
	return out
}
