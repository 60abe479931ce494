package toolschema

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plugberth/plugberth/internal/printable"
)

// CheckNames refuses a value that reads as another one elsewhere than it was
// judged by [Schema.Validate]: text with a member that stands twice in an
// object, and a member whose name is not declared and differs from one that is
// in the case of its letters only. Of the first another reader may take the
// other one; the second fills the declared field in readers that ignore case,
// as encoding/json does, and no schema has judged it. v is text decoded. It
// fails with an [*InvalidError] or with [ErrTooComplex].
func (s *Schema) CheckNames(text []byte, v any) error {
	if membersOf(text) != members(v) {
		return &InvalidError{Problems: []Problem{{Message: "has an object in which a member stands twice"}}}
	}
	declared := s.declared()
	if !declared.doubtful(v) {
		return nil
	}
	c := nameCheck{schema: s, anchors: declared.anchors}
	c.check(v, []map[string]any{s.doc}, "")
	switch {
	case c.steps > maxSteps:
		return ErrTooComplex
	case len(c.problems) == 0:
		return nil
	}
	out := &InvalidError{Problems: c.problems}
	if n := len(c.problems); n > maxProblems {
		out.Problems, out.More = c.problems[:maxProblems], n-maxProblems
	}
	return out
}

// membersOf counts the members of all objects of a valid JSON text: each has one
// colon outside of strings.
func membersOf(text []byte) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++ // only in strings
		case ':':
			if !quoted {
				n++
			}
		}
	}
	return n
}

// members counts the members of all objects in a decoded value.
func members(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, c := range v {
			n += members(c)
		}
	case []any:
		for _, c := range v {
			n += members(c)
		}
	}
	return n
}

// declaredNames are the names of a schema's properties, wherever they are.
type declaredNames struct {
	exact   map[string]bool
	folded  map[string]bool
	anchors map[string]string
}

func (s *Schema) declaredOnce() *declaredNames {
	d := &declaredNames{exact: map[string]bool{}, folded: map[string]bool{}}
	d.collect(s.doc)
	g := &graph{anchors: map[string]string{}}
	g.findAnchors(s.doc, "", true) // as in Parse, which succeeded
	d.anchors = g.anchors
	return d
}

func (d *declaredNames) collect(v any) {
	switch v := v.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			for name := range properties {
				d.exact[name] = true
				d.folded[fold(name)] = true
			}
		}
		for _, c := range v {
			d.collect(c)
		}
	case []any:
		for _, c := range v {
			d.collect(c)
		}
	}
}

// doubtful reports whether a name in v is like a declared one and not one.
func (d *declaredNames) doubtful(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, c := range v {
			if !d.exact[name] && d.folded[fold(name)] || d.doubtful(c) {
				return true
			}
		}
	case []any:
		for _, c := range v {
			if d.doubtful(c) {
				return true
			}
		}
	}
	return false
}

// fold returns the same string for names that are equal without regard to case.
func fold(name string) string {
	for i := range len(name) {
		if c := name[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			return strings.Map(func(r rune) rune {
				least := r
				for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
					least = min(least, next)
				}
				return unicode.ToLower(least)
			}, name)
		}
	}
	return name
}

// maxSteps bounds the work of one check.
const maxSteps = 2_000_000

// nameCheck compares names with those that are declared at their place.
type nameCheck struct {
	schema   *Schema
	anchors  map[string]string
	steps    int
	problems []Problem
}

// check looks at a value to which the schemas apply, or may.
func (c *nameCheck) check(v any, schemas []map[string]any, at string) {
	if c.steps > maxSteps {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		schemas = c.expand(schemas)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			c.member(name, v[name], schemas, at+"/"+escapePointer(name))
		}
	case []any:
		schemas = c.expand(schemas)
		for i, item := range v {
			var inner []map[string]any
			for _, s := range schemas {
				c.steps++
				prefix, _ := s["prefixItems"].([]any)
				if prefix == nil {
					prefix, _ = s["items"].([]any)
				}
				if i < len(prefix) {
					inner = add(inner, prefix[i])
				} else {
					inner = add(add(inner, s["items"]), s["additionalItems"])
				}
			}
			c.check(item, inner, at)
		}
	}
}

func (c *nameCheck) member(name string, v any, schemas []map[string]any, at string) {
	var inner []map[string]any
	known, like := false, ""
	for _, s := range schemas {
		c.steps++
		properties, _ := s["properties"].(map[string]any)
		if sub, ok := properties[name]; ok {
			known = true
			inner = add(inner, sub)
			continue
		}
		inner = add(inner, s["additionalProperties"])
		for other := range properties {
			c.steps++
			if strings.EqualFold(name, other) && (like == "" || other < like) {
				like = other
			}
		}
	}
	if !known && like != "" {
		message := "is not known, and differs in the case of its letters from " + printable.Quote(like)
		c.problems = append(c.problems, Problem{Pointer: at, Message: message, place: "/*", rule: message})
	}
	c.check(v, inner, at)
}

// expand adds the schemas that apply, or may, to the same value.
func (c *nameCheck) expand(schemas []map[string]any) []map[string]any {
	out := slices.Clone(schemas)
	for i := 0; i < len(out) && c.steps <= maxSteps; i++ {
		c.steps++
		s := out[i]
		for _, key := range []string{"allOf", "anyOf", "oneOf"} {
			list, _ := s[key].([]any)
			for _, sub := range list {
				out = add(out, sub)
			}
		}
		for _, key := range []string{"if", "then", "else"} {
			out = add(out, s[key])
		}
		for _, key := range []string{"dependentSchemas", "dependencies"} {
			deps, _ := s[key].(map[string]any)
			for _, sub := range deps {
				out = add(out, sub)
			}
		}
		for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			if ref, ok := s[key].(string); ok {
				g := graph{root: c.schema.doc, anchors: c.anchors}
				if sub, _, err := g.resolve(ref); err == nil {
					out = add(out, sub)
				}
			}
		}
	}
	return out
}

func add(list []map[string]any, v any) []map[string]any {
	if s, ok := v.(map[string]any); ok {
		return append(list, s)
	}
	return list
}
