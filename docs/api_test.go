package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// modulePath is the module that the documents are about.
const modulePath = "github.com/plugberth/plugberth"

// A goPackage is what one directory of the module exports and imports, its tests
// left out.
type goPackage struct {
	dir     string // from the root
	name    string
	names   map[string]bool            // exported, at the top
	members map[string]map[string]bool // of each type: fields and methods
	embeds  map[string][]string        // of each type: types that it embeds
	imports map[string]bool            // whatever the system
}

// public reports whether users of the module can import the package.
func (p *goPackage) public() bool {
	return p.name != "main" && !strings.HasPrefix(p.dir, "internal") && !strings.HasPrefix(p.dir, "examples") && !strings.HasPrefix(p.dir, "docs")
}

// goPackages reads the packages of the module, by their directories.
var goPackages = sync.OnceValues(func() (map[string]*goPackage, error) {
	files, err := goFiles()
	if err != nil {
		return nil, err
	}
	out := map[string]*goPackage{}
	for _, f := range files {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		dir := path.Dir(f.path)
		p := out[dir]
		if p == nil {
			p = &goPackage{
				dir: dir, name: file.Name.Name, names: map[string]bool{},
				members: map[string]map[string]bool{}, embeds: map[string][]string{}, imports: map[string]bool{},
			}
			out[dir] = p
		}
		p.add(file)
	}
	return out, nil
})

// allPackages is goPackages for a test.
func allPackages(t *testing.T) map[string]*goPackage {
	t.Helper()
	out, err := goPackages()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// publicPackages returns the packages that users can import, by directory.
func publicPackages(t *testing.T) []*goPackage {
	t.Helper()
	var out []*goPackage
	for _, p := range allPackages(t) {
		if p.public() {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *goPackage) int { return strings.Compare(a.dir, b.dir) })
	if len(out) < 10 {
		t.Fatalf("%d public packages were found", len(out))
	}
	return out
}

// add notes what a file declares.
func (p *goPackage) add(file *ast.File) {
	for _, imported := range file.Imports {
		p.imports[strings.Trim(imported.Path.Value, `"`)] = true
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				p.names[d.Name.Name] = true
			} else if receiver := typeName(d.Recv.List[0].Type); receiver != "" {
				p.member(receiver, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						p.names[name.Name] = true
					}
				case *ast.TypeSpec:
					p.names[s.Name.Name] = true
					p.addType(s)
				}
			}
		}
	}
}

// addType notes the fields of a struct and the methods of an interface.
func (p *goPackage) addType(s *ast.TypeSpec) {
	p.member(s.Name.Name, "")
	var list *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			p.member(s.Name.Name, name.Name)
		}
		if embedded := typeName(field.Type); len(field.Names) == 0 && embedded != "" {
			p.member(s.Name.Name, embedded)
			p.embeds[s.Name.Name] = append(p.embeds[s.Name.Name], embedded)
		}
	}
}

func (p *goPackage) member(of, name string) {
	if p.members[of] == nil {
		p.members[of] = map[string]bool{}
	}
	p.members[of][name] = true
}

// typeName is the name of a type of this package, or "".
func typeName(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// has reports whether the package exports a name, or a type with a member.
func (p *goPackage) has(name, member string) bool {
	if !ast.IsExported(name) || !p.names[name] {
		return false
	}
	if member == "" {
		return true
	}
	if p.members[name][member] {
		return ast.IsExported(member)
	}
	return slices.ContainsFunc(p.embeds[name], func(embedded string) bool { return p.has(embedded, member) })
}

// mentions reports whether the package exports a name, or a type a member of it.
func (p *goPackage) mentions(name string) bool {
	if p.has(name, "") {
		return true
	}
	for of := range p.members {
		if p.has(of, name) {
			return true
		}
	}
	return false
}

var (
	// qualified is pkg.Name or pkg.Type.Member, with the package's path before it
	// or not, and (*pkg.Type).Method.
	qualified = regexp.MustCompile(`\(?\*?\b([a-z]\w*(?:/[a-z]\w*)*)\.([A-Z]\w*)\)?(?:\.([A-Z]\w*))?`)
	// unqualified is Type.Member alone.
	unqualified = regexp.MustCompile(`^([A-Z]\w*)\.([A-Z]\w*)$`)
	// alone is a name of Go and not one of a variable of the environment.
	alone = regexp.MustCompile(`^[A-Z][A-Z0-9]*[a-z][A-Za-z0-9]*$`)
)

// foreign are names that the pages take from elsewhere, with where they are from.
var foreign = map[string]string{
	"CommandTransport": "the MCP SDK",
	"IOTransport":      "the MCP SDK",
}

// unknownNames returns the names of this module's API in a text that are not
// there, with the packages that users can import.
func unknownNames(text string, packages []*goPackage) []string {
	var out []string
	for _, m := range qualified.FindAllStringSubmatch(text, -1) {
		known, found := false, false
		for _, p := range packages {
			if p.name == m[1] || p.dir == m[1] {
				known = true
				found = found || p.has(m[2], m[3])
			}
		}
		if known && !found {
			out = append(out, m[0])
		}
	}
	return out
}

// TestNames: what the pages name of the API is there. Names without a package
// have to be those of one.
func TestNames(t *testing.T) {
	packages := publicPackages(t)
	tests := map[string]bool{}
	for _, names := range commandsKnown(t).funcs {
		for _, name := range names {
			tests[name] = true
		}
	}
	count := 0
	for _, p := range markdownFiles(t) {
		if p.path == "CONFORMANCE.md" {
			continue // made from rules and tests, and speaks of no API
		}
		for _, span := range p.spans() {
			count++
			for _, name := range unknownNames(span.text, packages) {
				t.Errorf("%s:%d: there is no %s", p.path, span.number, name)
			}
			if m := unqualified.FindStringSubmatch(strings.TrimSuffix(span.text, "()")); m != nil {
				known, found := false, false
				for _, pkg := range packages {
					known = known || pkg.has(m[1], "")
					found = found || pkg.has(m[1], m[2])
				}
				if known && !found {
					t.Errorf("%s:%d: no package has %s", p.path, span.number, m[0])
				}
			}
			if alone.MatchString(span.text) && !tests[span.text] && foreign[span.text] == "" && !slices.ContainsFunc(packages, func(pkg *goPackage) bool { return pkg.mentions(span.text) }) {
				t.Errorf("%s:%d: no package has %s", p.path, span.number, span.text)
			}
		}
	}
	if count < 100 {
		t.Fatalf("%d code spans were looked at", count)
	}
}

func TestUnknownNames(t *testing.T) {
	packages := publicPackages(t)
	for _, tt := range []struct{ text, want string }{
		{"plugin.Load and `plugin.json`, plugin.loadIt", "[]"},
		{"(*plugin.Plugin).Findings", "[]"},
		{"plugin.Options.Lint", "[]"},
		{"mcpserver/catalog.Catalog", "[]"},
		{"http.Server, mcp.Tool", "[]"}, // not ours
		{"mcpclient.HostOptions.Consent", "[]"},
		{"plugin.Lode", "[plugin.Lode]"},
		{"plugin.Options.Lynt", "[plugin.Options.Lynt]"},
		{"(*plugin.Plugin).Find", "[(*plugin.Plugin).Find]"},
		{"mcpserver/catalog.Cat", "[mcpserver/catalog.Cat]"},
	} {
		if got := fmt.Sprint(unknownNames(tt.text, packages)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.text, got, tt.want)
		}
	}
}
