package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCheckNames(t *testing.T) { // [R11] [T4]
	const schema = `{
		"type": "object",
		"properties": {
			"name": {"type": "string"},
			"userID": {"type": "string"},
			"deep": {"type": "object", "properties": {"path": {"type": "string"}}},
			"env": {"type": "object", "additionalProperties": {"type": "string"}},
			"list": {"type": "array", "items": {"$ref": "#/$defs/item"}},
			"pair": {"type": "array", "prefixItems": [{"properties": {"left": {}}}, {"properties": {"right": {}}}]},
			"any": {"anyOf": [{"properties": {"one": {}}}, {"$ref": "#tree"}]},
			"by": {"additionalProperties": {"properties": {"key": {}}}}
		},
		"if": {"required": ["name"]}, "then": {"properties": {"extra": {}}},
		"$defs": {
			"item": {"type": "object", "properties": {"size": {"type": "number"}}},
			"tree": {"$anchor": "tree", "type": "object", "properties": {"child": {"$ref": "#tree"}, "leaf": {"type": "string"}}}
		}
	}`
	s, err := Parse([]byte(schema), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Compile(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ value, want string }{
		{`{}`, ""},
		{`{"name": "a:b\":{}", "userID": "x", "unknown": {"a": 1}, "deep": {"path": "x"}}`, ""},
		{`{"env": {"PATH": "/bin", "Name": "x", "name": "x"}}`, ""}, // free names
		{`{"path": "x", "Path": "x", "child": 1}`, ""},              // declared elsewhere only
		{`{"pair": [{"right": 1, "Right": 2}, {"left": 1, "Left": 1}]}`, ""},
		{`{"name": "a", "name": "b"}`, "stands twice"},
		{`{"name": "a", "\u006eame": "b"}`, "stands twice"},
		{`{"deep": {"path": "x"}, "deep": {}}`, "stands twice"},
		{`{"unknown": [{"a": 1, "a": 1}]}`, "stands twice"},
		{`{"name": "a", "Name": "b"}`, `"/Name" is not known, and differs in the case of its letters from "name"`},
		{`{"NAME": "b"}`, `"/NAME" is not known`},
		{`{"userid": "b"}`, `from "userID"`},
		{`{"u\u017ferID": "b"}`, `from "userID"`}, // a long s
		{`{"deep": {"Path": "b"}}`, `"/deep/Path" `},
		{`{"DEEP": {"Path": "b"}}`, `"/DEEP" `},
		{`{"list": [{"size": 1}, {"Size": 1}]}`, `"/list/Size" `},
		{`{"pair": [{"Left": 1}]}`, `from "left"`},
		{`{"pair": [{}, {"Right": 1}]}`, `from "right"`},
		{`{"any": {"ONE": 1}}`, `from "one"`},
		{`{"any": {"child": {"child": {"Leaf": "x"}}}}`, `"/any/child/child/Leaf" `},
		{`{"by": {"x": {"Key": 1}}}`, `from "key"`},
		{`{"Extra": 1}`, `from "extra"`},
		{`{"Name": 1, "NAME": 2}`, `"/NAME" is not known, and differs in the case of its letters from "name"; "/Name"`},
	} {
		var v any
		if err := json.Unmarshal([]byte(tt.value), &v); err != nil {
			t.Fatal(err)
		}
		err := s.CheckNames([]byte(tt.value), v)
		var invalid *InvalidError
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.value, err)
		case tt.want != "" && (!errors.As(err, &invalid) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.value, err, tt.want)
		}
	}
}

// TestCheckNamesWork: many names cost no more than the check allows. [R9]
func TestCheckNamesWork(t *testing.T) {
	var schema, value strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&schema, `,"n%d":{}`, i)
	}
	for i := range 5000 {
		fmt.Fprintf(&value, `,"N%d":0`, i)
	}
	s, err := Parse([]byte(`{"type":"object","properties":{`+schema.String()[1:]+`}}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(`{` + value.String()[1:] + `}`)
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckNames(text, v); !errors.Is(err, ErrTooComplex) {
		t.Errorf("%.200v", err)
	}
}
