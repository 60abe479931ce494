package api

import (
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"regexp"
	"strings"
)

// docLink is what a doc comment may mean for a link: [Name], [Type.Member],
// [pkg.Name], [pkg.Type.Member], with what follows it.
var docLink = regexp.MustCompile(`(^|[^\w\])])\[\*?((?:[a-z][\w/]*\.)?[A-Z]\w*(?:\.\w+)?)\](\w?)`)

// brokenLinks returns the links of comments that lead nowhere: readers would
// see the brackets.
func (m *module) brokenLinks() []string {
	var out []string
	for _, s := range m.list((*source).public) {
		imports := map[string]*types.Package{}
		for _, p := range s.types.Imports() {
			imports[p.Name()], imports[p.Path()] = p, p
		}
		for _, f := range inOrder(s.files) {
			for _, group := range f.Comments {
				for _, c := range group.List {
					for _, found := range m.linksOf(s, imports, c) {
						out = append(out, fmt.Sprintf("%s: %s", m.fset.Position(c.Pos()), found))
					}
				}
			}
		}
	}
	return out
}

func (m *module) linksOf(s *source, imports map[string]*types.Package, c *ast.Comment) []string {
	var out []string
	for _, match := range docLink.FindAllStringSubmatch(c.Text, -1) {
		link, after := match[2], match[3]
		pkg, name := s.types, link
		if dir, base := path.Split(link); base[0] >= 'a' && base[0] <= 'z' {
			last, rest, _ := strings.Cut(base, ".")
			if pkg = imports[dir+last]; pkg == nil && dir != "" && !m.owns(dir+last) {
				continue // of the standard library, by its path
			}
			name = rest
		}
		switch {
		case after != "":
			out = append(out, fmt.Sprintf("[%s]%s is no link: a letter follows it", link, after))
		case pkg == nil || !resolves(pkg, name):
			out = append(out, fmt.Sprintf("[%s] leads nowhere", link))
		}
	}
	return out
}

// resolves reports whether a package has the exported Name or Type.Member.
func resolves(pkg *types.Package, name string) bool {
	name, member, _ := strings.Cut(name, ".")
	obj := pkg.Scope().Lookup(name)
	if obj == nil || member == "" {
		return obj != nil
	}
	found, _, _ := types.LookupFieldOrMethod(types.NewPointer(obj.Type()), true, pkg, member)
	if found == nil { // the members of an interface
		found, _, _ = types.LookupFieldOrMethod(obj.Type(), true, pkg, member)
	}
	return found != nil && found.Exported()
}
