package docs

import (
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root leads from this directory to the repository's.
const root = ".."

// A goFile is one Go file of the repository.
type goFile struct {
	path  string // from the root, with slashes
	text  string
	lines []goLine // those that are not blank

	inside func() map[int]bool // numbers of lines that begin within a string or a comment
}

// goLine is one line of a Go file.
type goLine struct {
	number       int
	indent, text string
}

// goFiles returns the Go files of the repository, in the order of their paths.
// What the go command leaves out, as it does testdata, is left out here.
var goFiles = sync.OnceValues(func() ([]*goFile, error) {
	var out []*goFile
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && name != root {
			if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
				return filepath.SkipDir // another module
			}
		}
		if d.IsDir() || !strings.HasSuffix(base, ".go") || strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".") {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		out = append(out, newGoFile(filepath.ToSlash(rel), string(data)))
		return nil
	})
	return out, err
})

// newGoFile splits a file into its lines.
func newGoFile(name, text string) *goFile {
	f := &goFile{path: name, text: strings.ReplaceAll(text, "\r\n", "\n")}
	number := 0
	for line := range strings.SplitSeq(f.text, "\n") {
		number++
		if text := strings.TrimSpace(line); text != "" {
			f.lines = append(f.lines, goLine{number, line[:strings.Index(line, text[:1])], text})
		}
	}
	f.inside = sync.OnceValue(func() map[int]bool { return withinTokens(f.text) })
	return f
}

// withinTokens finds the lines that begin within a raw string or a comment: what
// stands there is not compiled as code.
func withinTokens(text string) map[int]bool {
	out := map[int]bool{}
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok != token.STRING && tok != token.COMMENT {
			continue
		}
		first := file.Line(pos)
		for i := range strings.Count(literal, "\n") {
			out[first+1+i] = true
		}
	}
}

// compiled reports whether the build takes the file on one of the systems that
// the library is for.
func (f *goFile) compiled() bool {
	for _, system := range []string{"linux", "darwin", "windows"} {
		context := build.Default
		context.GOOS, context.CgoEnabled = system, false
		if ok, err := context.MatchFile(filepath.Join(root, path.Dir(f.path)), path.Base(f.path)); err == nil && ok {
			return true
		}
	}
	return false
}

// allGoFiles is goFiles for a test.
func allGoFiles(t *testing.T) []*goFile {
	t.Helper()
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Fatalf("%d Go files were found", len(files))
	}
	return files
}

// markdownFiles reads the Markdown files of the repository, those of test data
// and of cases left out.
func markdownFiles(t *testing.T) []*page {
	t.Helper()
	var out []*page
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && (base == "testdata" || base == "corpus" || base == "node_modules" || base == ".git") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(base, ".md") {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		p, err := readPage(filepath.ToSlash(rel), string(data))
		if err != nil {
			return err
		}
		out = append(out, p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(out, func(p *page) bool { return p.path == "README.md" }) {
		t.Fatal("README.md was not found")
	}
	return out
}

// parses reports whether a block is Go by itself: a file, declarations or
// statements. The error is that of the most likely of them.
func parses(code string) error {
	set := token.NewFileSet()
	if strings.HasPrefix(code, "package ") {
		_, err := parser.ParseFile(set, "", code, parser.SkipObjectResolution)
		return err
	}
	if _, err := parser.ParseFile(set, "", "package p\n"+code, parser.SkipObjectResolution); err == nil {
		return nil
	}
	_, err := parser.ParseFile(set, "", "package p; func _() {"+code+"\n}", parser.SkipObjectResolution)
	return err
}
