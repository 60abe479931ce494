package toolschema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestForLog: what is logged of a misfit names the place as far as the schema
// declares it, and nothing that is of the value.
func TestForLog(t *testing.T) {
	s, err := Parse([]byte(`{"type":"object","properties":{
		"list":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":{"type":"string"}}},
		"names":{"type":"object","propertyNames":{"maxLength":3}}},"additionalProperties":false}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`{"list":[{"id":"secret"}]}`:     `"/list/0/id" is a string and has to be an integer`,
		`{"list":[{},{"secret":1}]}`:     `"/list/1/*" is a number and has to be a string`,
		`{"list":[{},{"12345":1}]}`:      `"/list/1/*" is a number and has to be a string`,
		`{"secret":1}`:                   `the value has members that are not known`,
		`{"names":{"secret":1}}`:         `"/names" has a member whose name is not allowed`,
		`{"list":"secret","names":null}`: `"/list" is a string and has to be an array; "/names" is null and has to be an object`,
	} {
		var bad *InvalidError
		if err := s.ValidateJSON([]byte(value)); !errors.As(err, &bad) || bad.ForLog() != want {
			t.Errorf("%s: %v, logged %q", value, err, bad.ForLog())
		}
	}
	text := []byte(`{"list":[{"ID":"secret"}]}`)
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	var bad *InvalidError
	if err := s.CheckNames(text, v); !errors.As(err, &bad) || bad.ForLog() != `"/*" is not known, and differs in the case of its letters from "id"` {
		t.Errorf("%v", err)
	}
}

// TestWhereSchemaIsBad: who wrote a schema is told where it is wrong.
func TestWhereSchemaIsBad(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object",}`: "not valid JSON, at byte 18",
		`{"type":"object"`:   "ends too early",
		`{"properties":{}}`:  `its type is missing`,
		`{"type":"string"}`:  `its type is not "object"`,
		`{"type":"object","properties":{"id":{"type":"strin"}}}`:            `"/properties/id/type" fits none of the forms`,
		`{"type":"object","properties":{"id":{"pattern":"(?=x)"}}}`:         `"/properties/id/pattern" is no regular expression`,
		`{"type":"object","required":"id"}`:                                 `"/required" is a string and has to be an array`,
		`{"type":"object","properties":{"id":{"$ref":"https://x.test/y"}}}`: `outside the schema ("/properties/id/$ref")`,
	} {
		s, err := Parse([]byte(schema), Limits{})
		if err == nil {
			err = s.Compile()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", schema, err)
		}
	}
}
