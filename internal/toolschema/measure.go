package toolschema

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
)

// A measure says how much work a schema is.
type measure struct {
	// expanded is the number of subschemas once references are followed, each
	// circle once.
	expanded int
	// work bounds how many subschemas are applied to one value, with what is
	// in it, that no circle leads to, where one that compares with many values
	// or with numbers counts for more. Of the properties of an object only the
	// most expensive counts, because one value is one property.
	work int
	// text is the same for what is done with each byte of a string: the sizes
	// of patterns.
	text int
	// growth is how many times a circle applies itself to one value one level
	// down: with 1 the work grows with the size of the value, with 2 it doubles
	// at each level.
	growth int
}

// An edge leads from a subschema to another that is applied with it.
type edge struct {
	to *node
	// group tells edges apart of which only one applies to one value; "" is an
	// edge that always applies.
	group string
	// down says that it applies to what is in the value, not to the value.
	down bool
}

// A node is one subschema.
type node struct {
	value any
	edges []edge

	index, low int // Tarjan's
	onStack    bool
	circle     int // the number of its strongly connected component
	state      uint8
	work       int
	text       int
	expanded   int
	returns    int // how often its circle applies itself one level down
}

type graph struct {
	root    map[string]any
	nodes   map[string]*node // by JSON pointer
	anchors map[string]string
	limit   int

	patterns int // instructions of all

	counter int
	stack   []*node
	circles int
	sizes   []int // members of each circle
}

func measureSchema(doc map[string]any, limit int) (measure, error) {
	g := &graph{root: doc, nodes: map[string]*node{}, anchors: map[string]string{}, limit: limit}
	if err := g.findAnchors(doc, "", true); err != nil {
		return measure{}, err
	}
	root, err := g.visit("", doc)
	if err != nil {
		return measure{}, err
	}
	// Definitions are compiled whether or not something refers to them.
	for _, key := range []string{"$defs", "definitions"} {
		defs, _ := doc[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(defs)) {
			if _, err := g.visit("/"+key+"/"+escapePointer(name), defs[name]); err != nil {
				return measure{}, err
			}
		}
	}
	all := slices.Sorted(maps.Keys(g.nodes))
	for _, p := range all {
		if n := g.nodes[p]; n.index == 0 {
			g.connect(n)
		}
	}
	m := measure{growth: 1}
	for _, p := range all {
		n := g.nodes[p]
		if err := g.weigh(n); err != nil {
			return measure{}, err
		}
		m.growth = max(m.growth, n.returns)
		m.work, m.text = max(m.work, n.work), max(m.text, n.text)
	}
	m.expanded = root.expanded
	if m.expanded > limit {
		return measure{}, fmt.Errorf("%w: it has more than %d subschemas once its references are followed", ErrTooLarge, limit)
	}
	return m, nil
}

// findAnchors collects the names that references can use. It refuses a schema
// within the schema that has a name of its own, and a name that stands twice,
// wherever that is: for the validator references could mean something else than
// here.
func (g *graph) findAnchors(v any, at string, top bool) error {
	switch v := v.(type) {
	case map[string]any:
		add := func(name string) error {
			if had, ok := g.anchors[name]; ok && had != at {
				return fmt.Errorf("%w: it has two anchors of one name", ErrReference)
			}
			g.anchors[name] = at
			return nil
		}
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if s, ok := v[key].(string); ok {
				if err := add(s); err != nil {
					return err
				}
			}
		}
		// The oldest draft says id for $id, as a schema inside can, too, that
		// names it.
		_, named := v["$schema"].(string)
		oldest := named && !top || strings.Contains(fmt.Sprint(g.root["$schema"]), "draft-04")
		for _, key := range []string{"$id", "id"} {
			if s, ok := v[key].(string); ok {
				if name, found := strings.CutPrefix(s, "#"); found {
					if decoded, err := url.PathUnescape(name); err == nil {
						name = decoded
					}
					if err := add(name); err != nil {
						return err
					}
				} else if !top && (key == "$id" || oldest) {
					return fmt.Errorf("%w: a schema inside it has an %s of its own", ErrReference, key)
				}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := g.findAnchors(v[key], at+"/"+escapePointer(key), false); err != nil {
				return err
			}
		}
	case []any:
		for i, c := range v {
			if err := g.findAnchors(c, at+"/"+strconv.Itoa(i), false); err != nil {
				return err
			}
		}
	}
	return nil
}

// visit makes the node of a subschema and of all that it leads to.
func (g *graph) visit(at string, v any) (*node, error) {
	if n, ok := g.nodes[at]; ok {
		return n, nil
	}
	n := &node{value: v}
	g.nodes[at] = n
	n.work = 1
	s, ok := v.(map[string]any)
	if !ok {
		return n, nil
	}
	n.work = workOf(s)
	n.text = textOf(s)
	if g.patterns = g.add(g.patterns, n.text); g.patterns > maxPatterns {
		return nil, fmt.Errorf("%w: its patterns are too large", ErrTooLarge)
	}
	add := func(key string, value any, group string, down bool) error {
		to, err := g.visit(at+"/"+key, value)
		if err != nil {
			return err
		}
		n.edges = append(n.edges, edge{to: to, group: group, down: down})
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		var err error
		switch v := s[key].(type) {
		case string:
			if key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef" {
				var to *node
				if to, err = g.follow(v, at+"/"+key); err == nil {
					n.edges = append(n.edges, edge{to: to})
				}
			}
		case []any:
			switch key {
			case "allOf", "anyOf", "oneOf":
				for i, c := range v {
					if err == nil {
						err = add(key+"/"+strconv.Itoa(i), c, "", false)
					}
				}
			case "items", "prefixItems":
				for i, c := range v {
					if err == nil {
						err = add(key+"/"+strconv.Itoa(i), c, key, true)
					}
				}
			}
		case map[string]any, bool:
			switch key {
			case "not", "if", "then", "else":
				err = add(key, v, "", false)
			case "additionalProperties", "unevaluatedProperties", "propertyNames",
				"items", "additionalItems", "unevaluatedItems", "contains", "contentSchema":
				err = add(key, v, "", true)
			case "properties", "patternProperties", "dependentSchemas", "dependencies":
				members, ok := v.(map[string]any)
				if !ok {
					break
				}
				group, down := "", true
				switch key {
				case "properties":
					group = key
				case "dependentSchemas", "dependencies":
					down = false
				}
				for _, name := range slices.Sorted(maps.Keys(members)) {
					if _, list := members[name].([]any); list {
						continue // names that another requires
					}
					if err == nil {
						err = add(key+"/"+escapePointer(name), members[name], group, down)
					}
				}
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return n, nil
}

// follow makes the node of what a reference leads to.
func (g *graph) follow(ref, from string) (*node, error) {
	v, at, err := g.resolve(ref)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, printable.Quote(from))
	}
	return g.visit(at, v)
}

// resolve returns what a reference inside the schema leads to, and where it is.
func (g *graph) resolve(ref string) (any, string, error) {
	fragment, inside := strings.CutPrefix(ref, "#")
	if !inside {
		return nil, "", fmt.Errorf("%w: it leads outside the schema", ErrReference)
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, "", fmt.Errorf("%w: it is no URI reference", ErrReference)
	}
	at := fragment
	if fragment != "" && fragment[0] != '/' {
		var ok bool
		if at, ok = g.anchors[fragment]; !ok {
			return nil, "", fmt.Errorf("%w: it names an anchor that is not there", ErrReference)
		}
	}
	v, at, ok := lookup(g.root, at)
	if !ok {
		return nil, "", fmt.Errorf("%w: it leads to something that is not there", ErrReference)
	}
	return v, at, nil
}

// lookup resolves a JSON pointer, and returns it in its one form.
func lookup(v any, pointer string) (any, string, bool) {
	canonical := ""
	for pointer != "" {
		token, rest, more := strings.Cut(pointer[1:], "/")
		if pointer = ""; more {
			pointer = "/" + rest
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch in := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = in[token]; !ok {
				return nil, "", false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(in) || strconv.Itoa(i) != token {
				return nil, "", false
			}
			v = in[i]
		default:
			return nil, "", false
		}
		canonical += "/" + escapePointer(token)
	}
	return v, canonical, true
}

func escapePointer(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

// connect finds the circles: Tarjan's algorithm.
func (g *graph) connect(n *node) {
	g.counter++
	n.index, n.low = g.counter, g.counter
	g.stack = append(g.stack, n)
	n.onStack = true
	for _, e := range n.edges {
		if e.to.index == 0 {
			g.connect(e.to)
			n.low = min(n.low, e.to.low)
		} else if e.to.onStack {
			n.low = min(n.low, e.to.index)
		}
	}
	if n.low != n.index {
		return
	}
	members := 0
	for {
		last := g.stack[len(g.stack)-1]
		g.stack = g.stack[:len(g.stack)-1]
		last.onStack = false
		last.circle = g.circles
		members++
		if last == n {
			break
		}
	}
	g.circles++
	g.sizes = append(g.sizes, members)
}

const (
	unweighed uint8 = iota
	weighing
	weighed
)

// weigh computes what n and all it leads to cost. An edge down inside a circle
// is where the circle closes: it counts as a return, not as work.
func (g *graph) weigh(n *node) error {
	switch n.state {
	case weighed:
		return nil
	case weighing:
		return fmt.Errorf("%w: it leads back to itself without going into the value", ErrReference)
	}
	n.state = weighing
	n.expanded = 1
	groups := map[string][3]int{}
	for _, e := range n.edges {
		work, text, returns := 0, 0, 0
		if e.down && e.to.circle == n.circle {
			returns = 1
		} else {
			if err := g.weigh(e.to); err != nil {
				return err
			}
			work, text = e.to.work, e.to.text
			n.expanded = g.add(n.expanded, e.to.expanded)
			if e.to.circle == n.circle {
				returns = e.to.returns
			}
		}
		if e.group != "" {
			best := groups[e.group]
			groups[e.group] = [3]int{max(best[0], work), max(best[1], returns), max(best[2], text)}
			continue
		}
		n.work, n.text = addWork(n.work, work), addWork(n.text, text)
		n.returns = g.add(n.returns, returns)
	}
	for _, best := range groups {
		n.work, n.text = addWork(n.work, best[0]), addWork(n.text, best[2])
		n.returns = g.add(n.returns, best[1])
	}
	n.state = weighed
	return nil
}

// add adds without overflow: beyond the limit there is only "more".
func (g *graph) add(a, b int) int { return min(a+b, g.limit+1) }

// addWork is the same for what has no limit by itself.
func addWork(a, b int) int { return min(a+b, 1<<30) }
