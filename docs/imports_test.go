package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reach returns what a package imports, by itself or through packages of this
// module that pass lets through.
func reach(packages map[string]*goPackage, dir string, through func(dir string) bool) map[string]bool {
	out, seen := map[string]bool{}, map[string]bool{}
	var visit func(string)
	visit = func(dir string) {
		if seen[dir] || packages[dir] == nil {
			return
		}
		seen[dir] = true
		for imported := range packages[dir].imports {
			out[imported] = true
			if own, ok := strings.CutPrefix(imported, modulePath+"/"); ok && through(own) {
				visit(own)
			}
		}
	}
	visit(dir)
	return out
}

func internal(dir string) bool { return strings.HasPrefix(dir, "internal/") }
func anywhere(string) bool     { return true }

// starts are the packages of the standard library by which a program starts
// others or speaks to a network.
var starts = []string{"net", "net/http", "net/http/httptest", "net/rpc", "net/smtp", "os/exec", "plugin"}

// pure are the packages that start nothing and open no network.
var pure = []string{"paths", "expand", "channel", "plugin/finding", "skills", "skills/staging", "plugin"}

// TestPurePackages: they import nothing that could start or connect, and no MCP
// SDK, neither by themselves nor through others of the module.
func TestPurePackages(t *testing.T) {
	packages := allPackages(t)
	for _, dir := range pure {
		if packages[dir] == nil {
			t.Errorf("there is no package %s", dir)
		}
		for imported := range reach(packages, dir, anywhere) {
			if slices.Contains(starts, imported) || strings.HasPrefix(imported, "github.com/modelcontextprotocol/") {
				t.Errorf("%s imports %s", dir, imported)
			}
		}
	}
	if imported := reach(packages, "mcpclient", anywhere); !imported["os/exec"] || !imported["net/http"] {
		t.Error("mcpclient is not seen to start and to connect: nothing is looked at")
	}
}

// TestWhoStarts: of the packages for hosts mcpclient alone starts programs, and of
// those for tests fixtures/runtime.
func TestWhoStarts(t *testing.T) {
	for dir, p := range allPackages(t) {
		if p.name != "main" && p.imports["os/exec"] != (dir == "mcpclient" || dir == "fixtures/runtime") {
			t.Errorf("%s imports os/exec: %v", dir, p.imports["os/exec"])
		}
	}
}

// TestSides: client and server do not know each other. Bridge is the one package
// that knows both.
func TestSides(t *testing.T) {
	packages := allPackages(t)
	for _, p := range publicPackages(t) {
		imported := reach(packages, p.dir, anywhere)
		client, server := imported[modulePath+"/mcpclient"] || p.dir == "mcpclient", imported[modulePath+"/mcpserver"] || p.dir == "mcpserver"
		if client && server != (p.dir == "mcpserver/bridge") {
			t.Errorf("%s knows the client: %v, the server: %v", p.dir, client, server)
		}
	}
}

// TestNobodyImportsDownwards: examples can be copied out, because they import what
// everybody can, and nothing imports them. Internal packages know no more of the
// public ones than those at the bottom.
func TestNobodyImportsDownwards(t *testing.T) {
	for _, p := range allPackages(t) {
		for imported := range p.imports {
			own, ok := strings.CutPrefix(imported, modulePath+"/")
			if !ok {
				continue
			}
			switch {
			case strings.HasPrefix(own, "examples/"), strings.HasPrefix(own, "docs/"):
				t.Errorf("%s imports %s", p.dir, own)
			case strings.HasPrefix(p.dir, "examples/") && internal(own):
				t.Errorf("%s imports %s, and could not be copied out", p.dir, own)
			case internal(p.dir) && p.name != "main" && !internal(own) && own != "paths" && own != "plugin/finding":
				t.Errorf("%s imports %s", p.dir, own)
			}
		}
	}
}

// TestArrows: the diagram of docs/contributing.md has the arrows between the
// public packages, those left out that follow from others. It has no circle,
// because Go allows none.
func TestArrows(t *testing.T) {
	var blocks []block
	for _, p := range markdownFiles(t) {
		if p.path == "docs/contributing.md" {
			for _, b := range p.blocks {
				if b.language == "mermaid" {
					blocks = append(blocks, b)
				}
			}
		}
	}
	if len(blocks) != 1 {
		t.Fatalf("docs/contributing.md has %d diagrams, want that of the packages", len(blocks))
	}
	d, err := readDiagram(blocks[0].lines)
	if err != nil {
		t.Fatal(err)
	}
	got := map[[2]string]bool{}
	for _, e := range d.edges {
		got[[2]string{d.labels[e[0]], d.labels[e[1]]}] = true
	}

	public := publicPackages(t)
	uses := map[string]map[string]bool{} // directly or not
	packages := allPackages(t)
	for _, p := range public {
		if !slices.Contains(slices.Collect(maps.Values(d.labels)), p.dir) {
			t.Errorf("%s: %s is not in the diagram", blocks[0].where(), p.dir)
		}
		uses[p.dir] = map[string]bool{}
		for imported := range reach(packages, p.dir, anywhere) {
			if own, ok := strings.CutPrefix(imported, modulePath+"/"); ok && !internal(own) {
				uses[p.dir][own] = true
			}
		}
	}
	want := map[[2]string]bool{}
	for from, all := range uses {
		for to := range all {
			follows := false
			for between := range all {
				follows = follows || uses[between][to]
			}
			if !follows {
				want[[2]string{from, to}] = true
			}
		}
	}
	for _, e := range sortedEdges(want) {
		if !got[e] {
			t.Errorf("%s: the arrow %s --> %s is missing", blocks[0].where(), e[0], e[1])
		}
	}
	for _, e := range sortedEdges(got) {
		if !want[e] {
			t.Errorf("%s: the arrow %s --> %s is not so, or follows from others", blocks[0].where(), e[0], e[1])
		}
	}
}

func sortedEdges(m map[[2]string]bool) [][2]string {
	return slices.SortedFunc(maps.Keys(m), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
}

var requirement = regexp.MustCompile(`(?m)^(?:require )?\t?(\S+) v\S+( // indirect)?$`)

// TestDependencies: the table of docs/dependencies.md has the modules that go.mod
// requires directly, but for those of tests, and the packages that import them.
func TestDependencies(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, m := range requirement.FindAllStringSubmatch(strings.ReplaceAll(string(mod), "\r\n", "\n"), -1) {
		if m[2] != "" {
			continue
		}
		count++
		var users []string
		for dir, p := range allPackages(t) {
			if strings.HasPrefix(dir, "examples/") || p.name == "main" {
				continue
			}
			for imported := range p.imports {
				if (imported == m[1] || strings.HasPrefix(imported, m[1]+"/")) && !slices.Contains(users, dir) {
					users = append(users, dir)
				}
			}
		}
		slices.Sort(users)
		named := dependencyRow(t, m[1])
		slices.Sort(named)
		if !slices.Equal(users, named) {
			t.Errorf("docs/dependencies.md says that %s is used by %q; it is by %q", m[1], named, users)
		}
	}
	if count < 5 {
		t.Fatalf("go.mod was read as requiring %d modules", count)
	}
}

// dependencyRow returns the last column of a module's row.
func dependencyRow(t *testing.T, module string) []string {
	var out []string
	for _, p := range markdownFiles(t) {
		if p.path != "docs/dependencies.md" {
			continue
		}
		for _, line := range p.prose {
			cells := strings.Split(strings.Trim(line.text, "| "), "|")
			if name := strings.Trim(cells[0], "` "); len(cells) < 3 || name != module && !strings.HasPrefix(name, module+"/") {
				continue
			}
			for dir := range strings.SplitSeq(cells[len(cells)-1], ",") {
				out = append(out, strings.Trim(dir, "` "))
			}
		}
	}
	return out
}
