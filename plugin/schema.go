package plugin

import (
	"cmp"
	"errors"
	"slices"
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
// one problem for each fault, in document order.
func validate(schema *jsonschema.Schema, instance any, value strictjson.Value) []problem {
	err := schema.Validate(instance)
	if err == nil {
		return nil
	}
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return []problem{{kind: wrongType, path: []string{"the document"}, value: value, offset: value.Offset(), want: "something else"}}
	}
	problems := collect(nil, ve)
	top := &spot{}
	for _, p := range problems {
		top.mark(p.path)
	}
	top.locate(value)
	for i := range problems {
		problems[i].place(top)
	}
	// The validator goes through objects in no order.
	slices.SortFunc(problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), slices.Compare(a.path, b.path))
	})
	return problems
}

// collect turns the validator's errors into problems that are not placed yet.
func collect(out []problem, ve *jsonschema.ValidationError) []problem {
	for _, cause := range ve.Causes {
		out = collect(out, cause)
	}
	if len(ve.Causes) > 0 {
		return out
	}
	path := ve.InstanceLocation
	below := func(name string) []string { return append(slices.Clone(path), name) }
	switch k := ve.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			out = append(out, problem{kind: unknownMember, path: below(name)})
		}
	case *kind.Required:
		for _, name := range k.Missing {
			out = append(out, problem{kind: missingMember, path: below(name)})
		}
	case *kind.Type:
		out = append(out, problem{kind: wrongType, path: path, want: typeInWords(k.Want)})
	default:
		out = append(out, problem{kind: wrongType, path: path, want: "something else"})
	}
	return out
}

// spot is a place in a document that problems are about, or that leads to one.
// All of them are found in one walk, whatever the size of what lies between.
type spot struct {
	value strictjson.Value
	name  int // offset of the member's name
	below map[string]*spot
}

func (s *spot) mark(path []string) {
	for _, token := range path {
		if s.below == nil {
			s.below = map[string]*spot{}
		}
		if s.below[token] == nil {
			s.below[token] = &spot{}
		}
		s = s.below[token]
	}
}

func (s *spot) locate(v strictjson.Value) {
	s.value = v
	if len(s.below) == 0 {
		return
	}
	for m := range v.Members() {
		if next := s.below[m.Name]; next != nil && !m.Duplicate {
			next.name = m.Offset
			next.locate(m.Value)
		}
	}
	for i, e := range v.Elements() {
		if next := s.below[strconv.Itoa(i)]; next != nil {
			next.locate(e)
		}
	}
}

// place fills in where a problem is.
func (p *problem) place(top *spot) {
	path := p.path
	if p.kind == missingMember {
		path = path[:len(path)-1] // the object that lacks it
	}
	s := top
	for _, token := range path {
		s = s.below[token]
	}
	p.value, p.offset, p.pointer = s.value, s.value.Offset(), strictjson.Pointer(path...)
	if p.kind == unknownMember {
		p.offset = s.name
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
