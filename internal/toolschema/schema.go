// Package toolschema compiles the JSON Schemas of tools and judges values with
// them, both within bounds.
//
// A tool's schema comes from a server, a package or an agent. Compiled by a
// validator as it stands, one of a kilobyte can double the work at each level
// of its references, and one that names a file or a host makes the validator
// read it. So a schema is measured first: [Parse] refuses what refers outside
// itself, what refers to itself without going into the value, and what becomes
// too large once its references are followed; [Schema.Validate] refuses values
// on which even a measured schema would take too long.
package toolschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Errors of [Parse] and [Schema.Validate], to be matched with errors.Is.
var (
	// ErrTooLarge: the schema is larger than its limits allow, as text or once
	// its references are followed.
	ErrTooLarge = errors.New("the schema is too large")
	// ErrReference: the schema refers to something outside itself, to something
	// that it does not have, or to itself in a circle.
	ErrReference = errors.New("the schema has a reference that cannot be followed")
	// ErrSchema: it is no JSON Schema of an object.
	ErrSchema = errors.New("not a JSON Schema for an object")
	// ErrNoValidator: the schema is within its bounds, but the validator cannot
	// use it, for example for a regular expression that Go does not have.
	ErrNoValidator = errors.New("the schema cannot be used to validate")
	// ErrTooComplex: judging this value with this schema would take too long.
	ErrTooComplex = errors.New("the value is too large or too deep for the schema")
)

// Limits bound a schema. In each field 0 or less is the default.
type Limits struct {
	Bytes    int // of its text, default 64 KiB
	Expanded int // subschemas once references are followed, default 50,000
}

// maxDepth bounds the nesting of a schema's text.
const maxDepth = 200

// budget bounds how many subschemas are applied to one value and what is in
// it, those that cost more counted by what they cost. 20 million take the
// validator some seconds.
const budget = 20_000_000

// Schema is a schema that was measured. It is immutable and safe for
// concurrent use.
type Schema struct {
	doc      map[string]any
	measure  measure
	compile  func() (*jsonschema.Schema, error)
	declared func() *declaredNames
}

// Parse reads a schema and measures it. Its root is an object whose type is
// "object". It fails with [ErrTooLarge], [ErrReference] or [ErrSchema].
func Parse(text []byte, limits Limits) (*Schema, error) {
	if limits.Bytes <= 0 {
		limits.Bytes = 64 << 10
	}
	if limits.Expanded <= 0 {
		limits.Expanded = 50_000
	}
	if len(text) > limits.Bytes {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, limits.Bytes)
	}
	// Numbers are read as float64 and not as text: the validator makes exact
	// numbers of them, for which 1e999999999 would be gigabytes.
	dec := json.NewDecoder(bytes.NewReader(text))
	var v any
	if err := dec.Decode(&v); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("%w: it is not valid JSON, at byte %d", ErrSchema, syntax.Offset)
		}
		return nil, fmt.Errorf("%w: it is not valid JSON, or ends too early", ErrSchema)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: something follows it", ErrSchema)
	}
	doc, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%w: it is not an object", ErrSchema)
	}
	if _, ok := doc["type"]; !ok {
		return nil, fmt.Errorf(`%w: its type is missing and has to be "object"`, ErrSchema)
	}
	if doc["type"] != "object" {
		return nil, fmt.Errorf(`%w: its type is not "object"`, ErrSchema)
	}
	if depth(v, 0) > maxDepth {
		return nil, fmt.Errorf("%w: it is nested deeper than %d", ErrTooLarge, maxDepth)
	}
	m, err := measureSchema(doc, limits.Expanded)
	if err != nil {
		return nil, err
	}
	s := &Schema{doc: doc, measure: m}
	s.compile = sync.OnceValues(s.compileOnce)
	s.declared = sync.OnceValue(s.declaredOnce)
	return s, nil
}

// Doc returns the schema as decoded JSON, with numbers as float64. The caller
// does not change it.
func (s *Schema) Doc() map[string]any { return s.doc }

// refuseLoader refuses every document: a schema refers to nothing but itself.
type refuseLoader struct{}

func (refuseLoader) Load(string) (any, error) { return nil, ErrReference }

func (s *Schema) compileOnce() (compiled *jsonschema.Schema, err error) {
	defer func() {
		if recover() != nil {
			compiled, err = nil, ErrNoValidator
		}
	}()
	doc := s.doc
	if _, ok := doc["$id"]; ok {
		// Without its own name the schema is known by ours alone.
		doc = make(map[string]any, len(s.doc))
		for k, v := range s.doc {
			if k != "$id" {
				doc[k] = v
			}
		}
	}
	const name = "urn:plugberth:tool"
	c := jsonschema.NewCompiler()
	c.UseLoader(refuseLoader{})
	c.UseRegexpEngine(compileRegexp)
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(name, doc); err != nil {
		return nil, ErrNoValidator
	}
	if compiled, err = c.Compile(name); err != nil {
		var bad *jsonschema.SchemaValidationError
		if errors.As(err, &bad) {
			if why := invalid(bad.Err, nil, nil); !errors.Is(why, ErrNoValidator) {
				return nil, fmt.Errorf("%w: %w", ErrNoValidator, why)
			}
		}
		return nil, ErrNoValidator
	}
	return compiled, nil
}

// Compile makes the schema ready to validate, once. It fails with
// [ErrNoValidator], and says where in the schema the reason is as far as it is
// known.
func (s *Schema) Compile() error {
	_, err := s.compile()
	return err
}

// Validate judges a value, which is decoded JSON: nil, bool, float64, string,
// []any and map[string]any. It has to be an object, also where the schema's draft
// ignores the type of the root because a reference stands beside it. It fails with
// an [*InvalidError] that says what is wrong, with [ErrTooComplex], or with
// [ErrNoValidator].
func (s *Schema) Validate(v any) (err error) {
	compiled, err := s.compile()
	if err != nil {
		return err
	}
	nodes, levels := size(v, 0)
	text := 0
	if s.measure.text > 0 {
		text = stringBytes(v)
	}
	if !s.measure.allows(nodes, levels, text) {
		return ErrTooComplex
	}
	defer func() {
		if recover() != nil {
			err = ErrNoValidator
		}
	}()
	if err := compiled.Validate(v); err != nil {
		return invalid(err, v, s.declared().exact)
	}
	if _, ok := v.(map[string]any); !ok {
		return &InvalidError{Problems: []Problem{{Message: "has to be an object"}}}
	}
	return nil
}

// ValidateJSON is [Schema.Validate] for a value that is still text. An empty
// text is an empty object.
func (s *Schema) ValidateJSON(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return &InvalidError{Problems: []Problem{{Message: "is not valid JSON, or has a number that is too large"}}}
	}
	return s.Validate(v)
}

// allows reports whether a value of so many nodes, levels and bytes of strings stays
// within the budget.
func (m measure) allows(nodes, levels, text int) bool {
	cost := float64(m.work)*float64(nodes) + float64(m.text)*float64(text)/bytesWork
	if m.growth > 1 {
		cost *= math.Pow(float64(m.growth), float64(levels))
	}
	return cost <= budget
}

func depth(v any, at int) int {
	if at > maxDepth {
		return at
	}
	deepest := at
	switch v := v.(type) {
	case map[string]any:
		for _, c := range v {
			deepest = max(deepest, depth(c, at+1))
		}
	case []any:
		for _, c := range v {
			deepest = max(deepest, depth(c, at+1))
		}
	}
	return deepest
}

// size counts the values in v with itself, and how deep they are nested.
func size(v any, at int) (nodes, levels int) {
	nodes, levels = 1, at
	add := func(c any) {
		n, l := size(c, at+1)
		nodes += n
		levels = max(levels, l)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, c := range v {
			add(c)
		}
	case []any:
		for _, c := range v {
			add(c)
		}
	}
	return nodes, levels
}

// stringBytes counts the bytes of all strings in v, names included.
func stringBytes(v any) (n int) {
	switch v := v.(type) {
	case string:
		n = len(v)
	case map[string]any:
		for name, c := range v {
			n += len(name) + stringBytes(c)
		}
	case []any:
		for _, c := range v {
			n += stringBytes(c)
		}
	}
	return n
}
