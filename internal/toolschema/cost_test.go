package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestDisguisedDoubling: a schema whose references lead elsewhere for the validator
// than for the measure is refused, since it would double the work at each level
// unseen. [R9] [K1]
func TestDisguisedDoubling(t *testing.T) {
	const levels = 40 // 2^40 steps for one value
	doubling := func(def func(i int) string, ref func(i int) string) string {
		var defs []string
		for i := range levels {
			defs = append(defs, fmt.Sprintf(`"d%d":{%s"allOf":[{"$ref":%q},{"$ref":%q}]}`, i, def(i), ref(i+1), ref(i+1)))
		}
		return strings.Join(append(defs, fmt.Sprintf(`"d%d":{%s"type":"string"}`, levels, def(levels))), ",")
	}
	var decoys []string
	for i := range levels + 1 {
		decoys = append(decoys, fmt.Sprintf(`{"$anchor":"d%d"}`, i))
	}
	anchor := func(i int) string { return fmt.Sprintf(`"$anchor":"d%d",`, i) }
	toAnchor := func(i int) string { return fmt.Sprintf("#d%d", i) }
	escaped := func(key string) func(i int) string {
		return func(i int) string { return fmt.Sprintf(`%q:"#%%64%d",`, key, i) }
	}
	none := func(int) string { return "" }
	toPointer := func(i int) string { return fmt.Sprintf("#/definitions/d%d", i) }
	var cheap []string
	for i := range levels + 1 {
		cheap = append(cheap, fmt.Sprintf(`"d%d":{}`, i))
	}
	inner := `"id":"http://a.example/b","definitions":{` + doubling(none, toPointer) + `},"allOf":[{"$ref":"#/definitions/d0"}]`
	for name, schema := range map[string]string{
		"anchors that are none": `{"type":"object","$defs":{` + doubling(anchor, toAnchor) + `},"zz":[` + strings.Join(decoys, ",") + `],"properties":{"a":{"$ref":"#d0"}}}`,
		"anchors of another draft": `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{` + doubling(escaped("$id"), toAnchor) + `},"zz":[` +
			strings.Join(decoys, ",") + `],"properties":{"a":{"$ref":"#d0"}}}`,
		"an id of the oldest draft": `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","definitions":{` + strings.Join(cheap, ",") + `},"properties":{"a":{` + inner + `}}}`,
		"an id inside of it": `{"type":"object","definitions":{` + strings.Join(cheap, ",") +
			`},"properties":{"a":{"$schema":"http://json-schema.org/draft-04/schema#",` + inner + `}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := Parse([]byte(schema), Limits{}); !errors.Is(err, ErrReference) {
				t.Errorf("%v, %+v", err, s)
			}
		})
	}
	for name, schema := range map[string]string{
		"a member called id":           `{"type":"object","properties":{"id":{"type":"string"},"a":{"default":{"id":"x"}}}}`,
		"a schema inside that says so": `{"type":"object","properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#","type":"string"}}}`,
	} {
		if _, err := Parse([]byte(schema), Limits{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCostly: what takes the validator long for one subschema, comparisons with many
// values, exact numbers and large patterns, counts as what it takes. [R9] [K1]
func TestCostly(t *testing.T) {
	list := func(of string, n int) string { return strings.Repeat(of+",", n-1) + of }
	array := func(of string, n int) string { return `{"a":[` + list(of, n) + `]}` }
	items := func(s string) string {
		return `{"type":"object","properties":{"a":{"type":"array","items":` + s + `}}}`
	}
	for name, tt := range map[string]struct {
		schema, value string
		parse         error
		valid         error // the kind of what Validate says
	}{
		"many numbers":         {items(`{"enum":[` + list("1", 5000) + `]}`), array("2", 5000), nil, ErrTooComplex},
		"few numbers":          {items(`{"enum":[1,2,3]}`), array("2", 5000), nil, nil},
		"many names":           {items(`{"enum":[` + list(`"x"`, 2000) + `,"y"]}`), array(`"y"`, 100), nil, nil},
		"one name often":       {items(`{"enum":["a","b"]}`), array(`"a"`, 100_000), nil, nil},
		"bounds of numbers":    {items(`{"type":"integer","minimum":1,"maximum":5}`), array("2", 50_000), nil, nil},
		"many bounds":          {items(`{"allOf":[` + list(`{"minimum":1,"multipleOf":1}`, 1000) + `]}`), array("2", 20_000), nil, ErrTooComplex},
		"a large pattern":      {items(`{"pattern":"^` + strings.Repeat("(.?){500}", 100) + `$"}`), array(`"x"`, 1), ErrTooLarge, nil},
		"many patterns":        {items(`{"allOf":[` + list(`{"pattern":"^.{0,500}$"}`, 100) + `]}`), array(`"x"`, 1), ErrTooLarge, nil},
		"patterns of names":    {items(`{"patternProperties":{"^.{0,1000}a.{0,1000}b.{0,1000}c.{0,1000}d.{0,1000}e.{0,1000}f.{0,1000}g.{0,1000}h.{0,1000}i.{0,1000}j.{0,1000}$":{}}}`), array(`"x"`, 1), ErrTooLarge, nil},
		"a pattern, long text": {items(`{"pattern":"^[a-z]{1,1000}.*[a-z]{1,1000}$"}`), array(`"`+strings.Repeat("x", 1<<20)+`"`, 1), nil, ErrTooComplex},
		"a usual pattern":      {items(`{"pattern":"^[a-z0-9._-]{1,64}@[a-z0-9.-]{1,255}$"}`), array(`"a@b.example"`, 500), nil, nil},
		"any text":             {items(`{"pattern":"\\S"}`), array(`"`+strings.Repeat("x", 1<<20)+`"`, 1), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			s, err := Parse([]byte(tt.schema), Limits{})
			if !errors.Is(err, tt.parse) || tt.parse == nil && err != nil {
				t.Fatalf("parsed: %v", err)
			}
			if err != nil {
				return
			}
			if err := s.Compile(); err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal([]byte(tt.value), &v); err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(v); !errors.Is(err, tt.valid) || tt.valid == nil && err != nil {
				t.Errorf("%.200v", err)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	}
	// Of a value that is to be a pattern.
	s, err := Parse([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"format":"regex"}}}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for value, good := range map[string]bool{"^a+$": true, "(": false, strings.Repeat("(.?){900}", 1000): false} {
		if err := s.Validate(map[string]any{"a": value}); (err == nil) != good {
			t.Errorf("%.20q: %v", value, err)
		}
	}
}
