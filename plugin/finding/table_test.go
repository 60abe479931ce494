package finding_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin/finding"
)

var update = flag.Bool("update", false, "write docs/findings.md")

// constant is one code as the source declares it.
type constant struct {
	name, meaning, group string
	code                 finding.Code
}

// constants parses codes.go.
func constants(t *testing.T) []constant {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "codes.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var out []constant
	group := ""
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		for _, spec := range d.Specs {
			s := spec.(*ast.ValueSpec)
			// A comment of its own before a constant heads a group.
			for _, c := range file.Comments {
				if text := strings.TrimSpace(c.Text()); strings.HasPrefix(text, "About ") && c.Pos() > d.Lparen && c.End() < s.Pos() {
					group = strings.TrimSuffix(strings.TrimPrefix(text, "About "), ".")
				}
			}
			if len(s.Names) != 1 || len(s.Values) != 1 || s.Comment == nil {
				t.Fatalf("%s has no comment or no value", s.Names[0])
			}
			code, err := strconv.Unquote(s.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, constant{s.Names[0].Name, strings.TrimSpace(s.Comment.Text()), group, finding.Code(code)})
		}
	}
	return out
}

var kebab = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

// TestTable: each constant stands in the table once, in the same order, and
// says what its comment says; nothing else stands there.
func TestTable(t *testing.T) {
	all := finding.All()
	list := constants(t)
	if len(all) != len(list) || len(list) < 100 {
		t.Fatalf("%d constants, %d entries in the table", len(list), len(all))
	}
	seen := map[finding.Code]bool{}
	for i, c := range list {
		info := all[i]
		if info.Code != c.code || info.Meaning != c.meaning {
			t.Errorf("%s = %q, %q; the table has %q, %q", c.name, c.code, c.meaning, info.Code, info.Meaning)
		}
		if seen[c.code] {
			t.Errorf("%s stands twice", c.code)
		}
		seen[c.code] = true
		if !kebab.MatchString(string(c.code)) || strings.ReplaceAll(string(c.code), "-", "") != strings.ToLower(c.name) {
			t.Errorf("%s = %q is not the name in kebab case", c.name, c.code)
		}
		if info.Severity.String() == "invalid" || info.Boundary.String() == "invalid" || info.Layer.String() == "invalid" || info.Section == "" && info.Layer != finding.LayerPolicy || !strings.HasSuffix(info.Advice, ".") {
			t.Errorf("%s: %+v is not complete", c.code, info)
		}
		if got, ok := finding.Lookup(c.code); !ok || got != info {
			t.Errorf("Lookup(%s) = %+v, %v", c.code, got, ok)
		}
		// What costs a plugin, component, skill or server is an error, unless nothing is lost.
		if info.Boundary == finding.BoundaryPlugin && info.Severity != finding.SeverityError || info.Boundary == finding.BoundaryField && info.Severity == finding.SeverityError {
			t.Errorf("%s: an %v of boundary %v", c.code, info.Severity, info.Boundary)
		}
	}
	if _, ok := finding.Lookup("no-such-code"); ok {
		t.Error("an unknown code is in the table")
	}
	all[0].Meaning = "changed"
	if finding.All()[0].Meaning == "changed" {
		t.Error("the table can be changed")
	}
}

// TestEveryCodeIsUsed: a code that nothing reports is a promise without a base.
func TestEveryCodeIsUsed(t *testing.T) {
	used := map[string]bool{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (strings.HasPrefix(name, ".") && name != ".." || name == "testdata") {
			return filepath.SkipDir
		} else if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil // not this test's business
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "finding" {
					used[s.Sel.Name] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range constants(t) {
		if !used[c.name] {
			t.Errorf("nothing uses finding.%s", c.name)
		}
	}
}

// document makes docs/findings.md from the table.
func document(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Findings\n\n" +
		"Every problem that loading meets, or a check that the host asks for, is a finding with one of these codes. This page is made from the table in `plugin/finding`; to change it, change the table and run\n\n" +
		"```\ngo test ./plugin/finding -run Document -update\n```\n\n" +
		"The severity says how much a finding costs, the boundary what it is confined to, the layer whose rule it is: `spec` is the text of a specification, `safety` where plugberth refuses more than the text asks, `policy` the host's configuration. Sections are of the Agent Plugins Specification 1.0.0 (AP) and the Agent Skills specification (AS); where there is none, only the host asks.\n")
	group := ""
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;")
	for i, c := range constants(t) {
		if c.group != group {
			group = c.group
			fmt.Fprintf(&b, "\n## About %s\n\n| Code | Severity | Boundary | Layer | Section | Meaning | Advice |\n|---|---|---|---|---|---|---|\n", group)
		}
		f := finding.All()[i]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", f.Code, f.Severity, f.Boundary, f.Layer, f.Section, cell.Replace(f.Meaning), cell.Replace(f.Advice))
	}
	return b.String()
}

// TestDocument: the page says what the table says.
func TestDocument(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "findings.md")
	want := document(t)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(got), "\r\n", "\n") != want {
		t.Error("docs/findings.md is not what the table makes: run go test ./plugin/finding -run Document -update")
	}
}
