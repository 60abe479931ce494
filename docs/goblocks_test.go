package docs

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestGoBlocks: what the pages show as Go stands in a file that is compiled.
func TestGoBlocks(t *testing.T) {
	corpus := newCorpus(allGoFiles(t))
	count := 0
	for _, p := range markdownFiles(t) {
		for _, b := range p.blocks {
			if b.language != "go" {
				continue
			}
			count++
			if err := corpus.find(b.lines); err != nil {
				t.Errorf("%s: %v", b.where(), err)
			}
		}
	}
	if count == 0 {
		t.Fatal("no block was looked at")
	}
}

// TestComments: what the comment of a package shows as Go stands in a file that is
// compiled, and so does what other doc comments show, if it is Go. Comments of
// commands show how they are called, and are looked at with the commands.
func TestComments(t *testing.T) {
	files := allGoFiles(t)
	corpus := newCorpus(files)
	count := 0
	for _, f := range files {
		if strings.HasSuffix(f.path, "_test.go") || !strings.Contains(f.text, "//\t") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range docComments(file) {
			if doc == file.Doc && file.Name.Name == "main" {
				continue
			}
			for _, code := range codeBlocks(doc) {
				lines := strings.Split(strings.TrimSuffix(code, "\n"), "\n")
				internal := strings.HasPrefix(f.path, "internal/")
				if (doc != file.Doc || internal) && parses(source(lines)) != nil {
					continue // a command, or data
				}
				count++
				if err := corpus.find(lines); err != nil {
					t.Errorf("%s:%d: %v", f.path, 1+strings.Count(f.text[:strings.Index(f.text, lines[0])], "\n"), err)
				}
			}
		}
	}
	if count == 0 {
		t.Fatal("no block was looked at")
	}
}

// docComments returns the comment of a file's package and those of what it
// declares.
func docComments(file *ast.File) []*ast.CommentGroup {
	out := []*ast.CommentGroup{file.Doc}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			out = append(out, n.Doc)
		case *ast.FuncDecl:
			out = append(out, n.Doc)
		case *ast.TypeSpec:
			out = append(out, n.Doc)
		case *ast.ValueSpec:
			out = append(out, n.Doc)
		case *ast.Field:
			out = append(out, n.Doc)
		}
		return true
	})
	return slices.DeleteFunc(out, func(doc *ast.CommentGroup) bool { return doc == nil })
}

// codeBlocks returns the indented blocks of a comment.
func codeBlocks(doc *ast.CommentGroup) []string {
	var out []string
	for _, c := range new(comment.Parser).Parse(doc.Text()).Content {
		if code, ok := c.(*comment.Code); ok {
			out = append(out, code.Text)
		}
	}
	return out
}

// A corpus is the Go code that blocks are looked for in.
type corpus struct {
	files []*goFile
	index map[string][]place // of each line's text
}

// place is a line of a file: files[file].lines[line].
type place struct{ file, line int }

func newCorpus(files []*goFile) *corpus {
	c := &corpus{files: files, index: map[string][]place{}}
	for i, f := range files {
		for j, line := range f.lines {
			c.index[line.text] = append(c.index[line.text], place{i, j})
		}
	}
	return c
}

// blockLine is a line of a block that is not blank.
type blockLine struct {
	indent, text string
	elision      bool // stands for any number of lines that are indented as it is, or deeper
}

// elision reports whether a line stands for lines that are left out.
func elision(text string) bool {
	switch text {
	case "…", "...", "// …", "// ...":
		return true
	}
	return false
}

// find looks for a block in the files. Its lines have to follow each other in one
// of them, all indented by the same more than in the block; blank lines do not
// count, and elisions stand for lines that are left out. The error says what is
// nearest.
func (c *corpus) find(lines []string) error {
	block := dedent(lines)
	if len(block) == 0 {
		return fmt.Errorf("the block is empty")
	}
	code := source(lines)
	if err := parses(code); err != nil {
		return fmt.Errorf("the block is no Go file, and neither declarations nor statements: %w\n%s", err, code)
	}
	whole := strings.HasPrefix(block[0].text, "package ")
	if formatted, err := format.Source([]byte(code)); whole && (err != nil || string(formatted) != code) {
		return fmt.Errorf("the file is not as gofmt has it\n%s", code)
	}
	best := near{}
	for _, p := range c.index[block[0].text] {
		f := c.files[p.file]
		first := f.lines[p.line]
		extra, ok := strings.CutSuffix(first.indent, block[0].indent)
		if !ok || f.inside()[first.number] {
			continue
		}
		m := matcher{file: f, block: block, extra: extra, whole: whole}
		if m.match(0, p.line) && (!whole || m.begins(p.line)) {
			if f.compiled() {
				return nil
			}
			best = near{unbuilt: true, matched: len(block), file: f, line: first.number}
			continue
		}
		if m.deepest > best.matched {
			best = near{matched: m.deepest, file: f, line: first.number, wants: m.wants, has: m.has}
		}
	}
	return fmt.Errorf("the block stands in no Go file: %s\n%s", best.explain(c, block), strings.Join(lines, "\n"))
}

// dedent takes blank lines, the indentation that all others have, and elisions at
// both ends away.
func dedent(lines []string) []blockLine {
	var out []blockLine
	common := ""
	for _, line := range lines {
		text := strings.TrimSpace(line)
		if text == "" {
			continue
		}
		indent := line[:strings.Index(line, text[:1])]
		if len(out) == 0 {
			common = indent
		}
		for !strings.HasPrefix(indent, common) {
			common = common[:len(common)-1]
		}
		out = append(out, blockLine{indent, text, elision(text)})
	}
	for len(out) > 0 && out[0].elision {
		out = out[1:]
	}
	for len(out) > 0 && out[len(out)-1].elision {
		out = out[:len(out)-1]
	}
	for i := range out {
		out[i].indent = strings.TrimPrefix(out[i].indent, common)
	}
	return out
}

// source is a block as a parser takes it: without what stands for lines left out.
func source(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		switch strings.TrimSpace(line) {
		case "…", "...":
		default:
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// A matcher compares a block with one place of a file.
type matcher struct {
	file  *goFile
	block []blockLine
	extra string // indentation of the file beyond the block's
	whole bool   // the block has to end with the file

	deepest    int // lines of the block that were found
	wants, has string
}

// match reports whether the block from its line i on is what stands in the file
// from line j on.
func (m *matcher) match(i, j int) bool {
	for ; i < len(m.block); i++ {
		if b := m.block[i]; b.elision {
			return m.skip(i, j)
		}
		if !m.same(i, j) {
			return false
		}
		j++
	}
	return !m.whole || j == len(m.file.lines)
}

// skip matches what follows an elision.
func (m *matcher) skip(i, j int) bool {
	least := m.extra + m.block[i].indent
	for ; j < len(m.file.lines); j++ {
		line := m.file.lines[j]
		within := m.file.inside()[line.number]
		if !within && m.match(i+1, j) {
			return true
		}
		if !within && !strings.HasPrefix(line.indent, least) {
			return false
		}
	}
	return false
}

// same compares two lines.
func (m *matcher) same(i, j int) bool {
	want := m.block[i]
	got := goLine{text: "the end of the file"}
	if j < len(m.file.lines) {
		got = m.file.lines[j]
	}
	if got.text == want.text && got.indent == m.extra+want.indent {
		if i+1 > m.deepest {
			m.deepest, m.wants, m.has = i+1, "", ""
		}
		return true
	}
	if i >= m.deepest {
		m.deepest, m.wants, m.has = i, want.indent+want.text, got.indent+got.text
	}
	return false
}

// begins reports whether only comments stand before a line.
func (m *matcher) begins(line int) bool {
	for _, before := range m.file.lines[:line] {
		if !strings.HasPrefix(before.text, "//") && !m.file.inside()[before.number] && !strings.HasPrefix(before.text, "/*") {
			return false
		}
	}
	return true
}

// near is the place that is most like a block.
type near struct {
	unbuilt    bool // all of the block stands there
	matched    int
	file       *goFile
	line       int
	wants, has string
}

// explain says what the nearest place is, and what is different there.
func (n near) explain(c *corpus, block []blockLine) string {
	switch {
	case n.unbuilt:
		return fmt.Sprintf("it stands at %s:%d, which no build takes", n.file.path, n.line)
	case n.file != nil && n.wants == "":
		return fmt.Sprintf("nearest is %s:%d, where the file does not end with it", n.file.path, n.line)
	case n.file != nil:
		return fmt.Sprintf("nearest is %s:%d, where %d lines are as in the block; then the block has\n\t%s\nand the file\n\t%s", n.file.path, n.line, n.matched, n.wants, n.has)
	}
	// Not even the first line was found in its place: which file has most of the lines?
	counts := make([]int, len(c.files))
	most, missing := -1, ""
	for _, b := range block {
		seen := map[int]bool{}
		for _, p := range c.index[b.text] {
			if !seen[p.file] && len(b.text) > 3 {
				seen[p.file] = true
				if counts[p.file]++; most < 0 || counts[p.file] > counts[most] {
					most = p.file
				}
			}
		}
		if len(seen) == 0 && len(b.text) > 3 && !b.elision && missing == "" {
			missing = b.text
		}
	}
	if most < 0 {
		return "none of its lines stands anywhere; write it down as docs/contributing.md says"
	}
	out := fmt.Sprintf("nearest is %s, which has %d of its lines, but not the first in its place", c.files[most].path, counts[most])
	if missing != "" {
		out += fmt.Sprintf("; no file has\n\t%s", missing)
	}
	return out
}

func TestFind(t *testing.T) {
	files := []*goFile{
		newGoFile("a.go", `// Package a is a test.
package a

func f() error {
	x, err := g()
	if err != nil {

		return err
	}
	use(x, `+"`"+`
	inside := "a string"
	`+"`"+`)
	for range x {
		one()
		two()
	}
	/*
		three := "in a comment"
	*/
	return nil
}

func h() { one() }
`),
		newGoFile("b.go", "package b\n\nvar y = 1\n"),
	}
	for _, f := range files {
		f.path = path.Join("docs", "tree_test.go") // a file that the build takes
	}
	c := newCorpus(files)
	for _, tt := range []struct {
		name, block string
		want        string // of the error; "" where there is none
	}{
		{"statements", "x, err := g()\nif err != nil {\n\treturn err\n}", ""},
		{"indented as a whole", "\t\tx, err := g()\n\n\t\tif err != nil {\n\t\t\treturn err\n\t\t}", ""},
		{"an elision", "x, err := g()\n…\nreturn nil", ""},
		{"an elision at both ends", "...\nreturn err\n...", ""},
		{"an elision in a loop", "for range x {\n\t// …\n\ttwo()\n}", ""},
		{"an elision of nothing", "one()\n…\ntwo()", ""},
		{"declarations", "func h() { one() }", ""},
		{"a file", "package b\n\nvar y = 1", ""},
		{"a file without its comment", "package a\n\nfunc f() error {\n\t// …\n}\n\nfunc h() { one() }", ""},
		{"a part of a file that says package", "package a\n\nfunc f() error {\n\t// …\n\treturn nil\n}", "does not end with it"},
		{"another order", "if err != nil {\n\treturn err\n}\nx, err := g()", "nearest is"},
		{"a line left out", "x, err := g()\nreturn nil", "1 lines are as in the block"},
		{"another indentation", "for range x {\none()\n}", "then the block has\n\tone()"},
		{"an elision out of its function", "x, err := g()\n…\nfunc() { one() }()", "nearest is"},
		{"an elision out of its loop", "one()\n…\nreturn nil", "nearest is"},
		{"in a string", "inside := \"a string\"", "not the first in its place"},
		{"in a comment", "three := \"in a comment\"", "not the first in its place"},
		{"nowhere", "four()", "none of its lines"},
		{"no Go", "x :=", "neither declarations nor statements"},
		{"not formatted", "package b\nvar y = 1", "gofmt"},
		{"empty", "\n…\n", "empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := c.find(strings.Split(tt.block, "\n"))
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}

	left := newGoFile("docs/no_such_file_plan9.go", "package docs\n\nvar z = 1\n")
	if err := newCorpus([]*goFile{left}).find([]string{"var z = 1"}); err == nil || !strings.Contains(err.Error(), "no build takes") {
		t.Errorf("a file that is not built: %v", err)
	}
}
