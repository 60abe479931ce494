package plugin

import (
	"errors"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/plugberth/plugberth/internal/strictjson"
)

// problem is one fault that a schema found, located in the document.
type problem struct {
	kind    problemKind
	path    []string // of the value at fault, or of the member that is unknown or missing
	offset  int      // of the value; of the name where that is at fault; of the object that lacks a member
	value   strictjson.Value
	want    string // for a wrong type: what is asked for, in words
	pointer string
}

type problemKind uint8

const (
	wrongType problemKind = iota
	unknownMember
	missingMember
)

// validate judges value, whose form for the validator is instance, and returns
// one problem for each fault.
func validate(schema *jsonschema.Schema, instance any, value strictjson.Value) []problem {
	err := schema.Validate(instance)
	if err == nil {
		return nil
	}
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return []problem{{kind: wrongType, path: []string{"the document"}, value: value, offset: value.Offset(), want: "something else"}}
	}
	l := locator{root: value, known: map[string]*children{}}
	l.collect(ve)
	return l.out
}

// locator turns the validator's errors into problems.
type locator struct {
	root  strictjson.Value
	known map[string]*children
	out   []problem
}

// children are a value's members or elements, for look-ups that cost the same
// however many there are.
type children struct {
	members  map[string]strictjson.Ref
	elements []strictjson.Value
}

func (l *locator) children(pointer string, v strictjson.Value) *children {
	c := l.known[pointer]
	if c == nil {
		c = &children{members: map[string]strictjson.Ref{}}
		// Only what the budget let through can be at fault.
		texts, others := 0, 0
		for m := range v.Members() {
			if m.Duplicate {
				continue
			}
			count := new(int)
			switch m.Value.Kind() {
			case strictjson.Object, strictjson.Array:
			case strictjson.String:
				count = &texts
			default:
				count = &others
			}
			if *count++; *count <= maxFaults {
				c.members[m.Name] = m.Ref()
			}
		}
		for _, e := range v.Elements() {
			if e.Kind() != strictjson.String {
				if others++; others > maxFaults {
					break
				}
			}
			c.elements = append(c.elements, e)
		}
		l.known[pointer] = c
	}
	return c
}

func (l *locator) find(path []string) (v strictjson.Value, pointer string) {
	v = l.root
	for _, token := range path {
		c := l.children(pointer, v)
		if v.Kind() == strictjson.Array {
			if i, err := strconv.Atoi(token); err == nil && i < len(c.elements) {
				v = c.elements[i]
			}
		} else if ref, ok := c.members[token]; ok {
			v = v.At(ref).Value
		}
		pointer += strictjson.Pointer(token)
	}
	return v, pointer
}

func (l *locator) collect(ve *jsonschema.ValidationError) {
	for _, cause := range ve.Causes {
		l.collect(cause)
	}
	if len(ve.Causes) > 0 {
		return
	}
	v, pointer := l.find(ve.InstanceLocation)
	path := ve.InstanceLocation
	below := func(name string) []string { return append(append([]string(nil), path...), name) }
	switch k := ve.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		members := l.children(pointer, v).members
		for _, name := range k.Properties {
			ref, ok := members[name]
			if !ok {
				continue
			}
			m := v.At(ref)
			l.out = append(l.out, problem{unknownMember, below(name), m.Offset, m.Value, "", pointer + strictjson.Pointer(name)})
		}
	case *kind.Required:
		for _, name := range k.Missing {
			l.out = append(l.out, problem{missingMember, below(name), v.Offset(), v, "", pointer})
		}
	case *kind.Type:
		l.out = append(l.out, problem{wrongType, path, v.Offset(), v, typeInWords(k.Want), pointer})
	default:
		l.out = append(l.out, problem{wrongType, path, v.Offset(), v, "something else", pointer})
	}
}

func typeInWords(want []string) string {
	if len(want) == 1 {
		switch want[0] {
		case "string":
			return "a string"
		case "object":
			return "an object"
		case "array":
			return "an array"
		}
	}
	return "something else"
}
