package docs

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	inlineLink    = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	referenceLink = regexp.MustCompile(`^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)`)
	htmlLink      = regexp.MustCompile(`\b(?:href|src)\s*=\s*["']([^"']+)["']`)
)

// A link is one link of a page.
type link struct {
	line   int
	target string
}

// links returns the links of a page's prose.
func (p *page) links() []link {
	var out []link
	for _, line := range p.text() {
		for _, form := range []*regexp.Regexp{inlineLink, referenceLink, htmlLink} {
			for _, m := range form.FindAllStringSubmatch(line.text, -1) {
				out = append(out, link{line.number, m[1]})
			}
		}
	}
	return out
}

// A linkCheck follows links.
type linkCheck struct {
	pages    map[string]*page
	packages map[string]*goPackage
}

// follow returns the page or file of the repository that a link leads to, or ""
// where it leads elsewhere, and what is wrong with it.
func (c linkCheck) follow(from *page, target string) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", err
	}
	if u.Scheme != "" || u.Host != "" {
		return "", c.elsewhere(u)
	}
	if u.RawQuery != "" || strings.HasPrefix(u.Path, "/") {
		return "", fmt.Errorf("not relative to the page")
	}
	name := from.path
	if u.Path != "" {
		name = path.Join(path.Dir(from.path), u.Path)
	}
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", fmt.Errorf("leads out of the repository")
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
		return "", fmt.Errorf("there is no %s", name)
	}
	if u.Fragment == "" {
		return name, nil
	}
	p := c.pages[name]
	if p == nil {
		return "", fmt.Errorf("an anchor in something that is no page")
	}
	for _, h := range p.headings {
		if h.anchor == u.Fragment {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s has no heading of the anchor #%s", name, u.Fragment)
}

// elsewhere judges a link with a scheme or a host. Nothing is fetched, but what
// leads to this module's own places has to be there.
func (c linkCheck) elsewhere(u *url.URL) error {
	switch {
	case u.Scheme == "mailto" && u.Opaque != "":
		return nil
	case u.Scheme != "https" || u.Host == "" || u.User != nil:
		return fmt.Errorf("not https")
	}
	if p, ok := strings.CutPrefix(u.Host+u.Path, "pkg.go.dev/"+modulePath); ok {
		pkg := c.packages[strings.TrimPrefix(p, "/")]
		if p == "" {
			return nil
		}
		if pkg == nil {
			return fmt.Errorf("there is no package %s", p)
		}
		name, member, _ := strings.Cut(u.Fragment, ".")
		if name != "" && !strings.HasPrefix(name, "hdr-") && !strings.HasPrefix(name, "section-") && !strings.HasPrefix(name, "pkg-") && !pkg.has(name, member) {
			return fmt.Errorf("the package has no %s", u.Fragment)
		}
	}
	if rest, ok := strings.CutPrefix(u.Host+u.Path, modulePath+"/"); ok {
		parts := strings.SplitN(rest, "/", 3)
		if len(parts) == 3 && (parts[0] == "blob" || parts[0] == "tree") {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(parts[2]))); err != nil {
				return fmt.Errorf("there is no %s", parts[2])
			}
		}
	}
	return nil
}

func newLinkCheck(t *testing.T, pages []*page) linkCheck {
	c := linkCheck{map[string]*page{}, allPackages(t)}
	for _, p := range pages {
		c.pages[p.path] = p
	}
	return c
}

// TestLinks: links between the files of the repository lead somewhere, and so do
// those to its packages and files on the web.
func TestLinks(t *testing.T) {
	pages := markdownFiles(t)
	check := newLinkCheck(t, pages)
	count := 0
	for _, p := range pages {
		for _, l := range p.links() {
			count++
			if _, err := check.follow(p, l.target); err != nil {
				t.Errorf("%s:%d: %s: %v", p.path, l.line, l.target, err)
			}
		}
	}
	if count < 100 {
		t.Fatalf("%d links were looked at", count)
	}
}

var pathSpan = regexp.MustCompile(`^[\w.-]+(?:/[\w.-]+)+/?$`)

// TestPaths: paths of the repository in the prose are there. Those that begin with
// skills may be of a package, or of a case.
func TestPaths(t *testing.T) {
	count := 0
	for _, p := range markdownFiles(t) {
		for _, span := range p.spans() {
			first, _, _ := strings.Cut(span.text, "/")
			if !pathSpan.MatchString(span.text) || first == ".." || !exists(first) || first == "skills" && !strings.HasSuffix(span.text, ".go") || qualified.MatchString(span.text) {
				continue
			}
			count++
			if !exists(span.text) && !exists("fixtures/corpus/"+span.text+".txtar") {
				t.Errorf("%s:%d: there is no %s", p.path, span.number, span.text)
			}
		}
	}
	if count < 20 {
		t.Fatalf("%d paths were looked at", count)
	}
}

// TestReachable: a reader who begins with the README comes to every page of docs.
func TestReachable(t *testing.T) {
	pages := markdownFiles(t)
	check := newLinkCheck(t, pages)
	seen := map[string]bool{"README.md": true}
	for queue := []string{"README.md"}; len(queue) > 0; queue = queue[1:] {
		p := check.pages[queue[0]]
		for _, l := range p.links() {
			if to, err := check.follow(p, l.target); err == nil && check.pages[to] != nil && !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	for _, p := range pages {
		if (path.Dir(p.path) == "docs" || path.Dir(p.path) == ".") && !seen[p.path] {
			t.Errorf("no way leads from README.md to %s", p.path)
		}
	}
}

// TestPackageTable: each package that users can import has a row in the README.
func TestPackageTable(t *testing.T) {
	pages := markdownFiles(t)
	readme := newLinkCheck(t, pages).pages["README.md"]
	rows := map[string]bool{}
	for _, line := range readme.text() {
		if !strings.HasPrefix(line.text, "|") {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(line.text, "|"), "|")
		for _, m := range inlineLink.FindAllStringSubmatch(first, -1) {
			rows[strings.TrimSuffix(m[1], "/")] = true
		}
	}
	for _, p := range publicPackages(t) {
		if !rows[p.dir] {
			t.Errorf("%s has no row in the table of packages", p.dir)
		}
	}
}

func TestFollow(t *testing.T) {
	pages := markdownFiles(t)
	check := newLinkCheck(t, pages)
	from := check.pages["docs/export.md"]
	for _, tt := range []struct{ target, want, err string }{
		{"findings.md", "docs/findings.md", ""},
		{"../plugin", "plugin", ""},
		{"#building", "docs/export.md", ""},
		{"../docs/export.md#the-content-hash", "docs/export.md", ""},
		{"https://agent-plugins.org", "", ""},
		{"https://pkg.go.dev/" + modulePath + "/plugin#Plugin.Findings", "", ""},
		{"https://" + modulePath + "/blob/main/README.md", "", ""},
		{"no-such.md", "", "there is no docs/no-such.md"},
		{"#no-such", "", "no heading"},
		{"../plugin/doc.go#L3", "", "no page"},
		{"../../other", "", "out of the repository"},
		{"/docs/export.md", "", "not relative"},
		{"http://example.com", "", "not https"},
		{"https://pkg.go.dev/" + modulePath + "/plug", "", "no package"},
		{"https://pkg.go.dev/" + modulePath + "/plugin#Plugin.Nothing", "", "has no Plugin.Nothing"},
		{"https://" + modulePath + "/blob/main/NOTHING.md", "", "there is no NOTHING.md"},
	} {
		got, err := check.follow(from, tt.target)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v; want %q, %q", tt.target, got, err, tt.want, tt.err)
		}
	}
}
