package api

import (
	"fmt"
	"go/doc"
	"maps"
	"slices"
	"strings"
)

// undocumented returns the identifiers without a doc comment, the packages
// whose tour is not in doc.go, and those without an Example function that is
// run and held to its output.
func (m *module) undocumented(all []identifier) []string {
	var out []string
	for _, id := range all {
		if !id.documented {
			out = append(out, fmt.Sprintf("%s: %s has no doc comment", id.pos, id.key))
		}
	}
	for _, s := range m.list((*source).public) {
		for _, name := range slices.Sorted(maps.Keys(s.files)) {
			f := s.files[name]
			switch {
			case name == "doc.go" && !strings.HasPrefix(f.Doc.Text(), "Package "+s.name+" "):
				out = append(out, fmt.Sprintf("%s: the package comment in doc.go does not begin with \"Package %s\"", s.rel, s.name))
			case name != "doc.go" && has(f.Doc):
				out = append(out, fmt.Sprintf("%s: a package comment stands in %s", s.rel, name))
			}
		}
		if s.files["doc.go"] == nil {
			out = append(out, fmt.Sprintf("%s: there is no doc.go", s.rel))
		}
		if !slices.ContainsFunc(doc.Examples(inOrder(s.tests)...), func(ex *doc.Example) bool { return ex.Output != "" || ex.EmptyOutput }) {
			out = append(out, fmt.Sprintf("%s: no Example function is run", s.rel))
		}
	}
	return out
}
