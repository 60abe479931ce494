package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) { // [R9] [K1]
	chain := func(n int) string { // doubles at each level
		var b strings.Builder
		b.WriteString(`{"type":"object","properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
		}
		fmt.Fprintf(&b, `"d%d":{"type":"string"}}}`, n)
		return b.String()
	}
	for name, tt := range map[string]struct {
		text string
		want error
	}{
		"empty object schema":    {`{"type":"object"}`, nil},
		"tree":                   {`{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`, nil},
		"anchor":                 {`{"type":"object","properties":{"a":{"$ref":"#here"}},"$defs":{"x":{"$anchor":"here","type":"string"}}}`, nil},
		"pointer into anything":  {`{"type":"object","x":[{"type":"string"}],"properties":{"a":{"$ref":"#/x/0"}}}`, nil},
		"escaped pointer":        {`{"type":"object","$defs":{"a/b~c":{}},"properties":{"a":{"$ref":"#/$defs/a~1b~0c"}}}`, nil},
		"percent in pointer":     {`{"type":"object","$defs":{"a b":{}},"properties":{"a":{"$ref":"#/$defs/a%20b"}}}`, nil},
		"own $id at the root":    {`{"$id":"https://example.com/s","type":"object"}`, nil},
		"a property called $id":  {`{"type":"object","properties":{"id":{"type":"string"}}}`, nil},
		"a property called $ref": {`{"type":"object","properties":{"$ref":{"type":"string"}}}`, nil},
		"small doubling":         {chain(8), nil},
		"draft 7":                {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"a":{}},"properties":{"a":{"$ref":"#/definitions/a"}}}`, nil},

		"regular expressions": {`{"type":"object","properties":{"a":{"pattern":"^[a-z]{1,255}(-[0-9a-f]{8}){0,50}$"}}}`, nil},

		"a regular expression that grows": {`{"type":"object","properties":{"a":{"pattern":"(?:` + strings.Repeat("abcdefghij", 30) + `){1000}"}}}`, ErrTooLarge},
		"one that nests":                  {`{"type":"object","patternProperties":{"((a?){30}){30}((a?){30}){30}((a?){30}){30}((a?){30}){30}((a?){30}){30}((a?){30}){30}":{}}}`, ErrTooLarge},
		"many of them":                    {`{"type":"object","allOf":[` + strings.Repeat(`{"pattern":"a{1000}"},`, 30) + `{}]}`, ErrTooLarge},

		"not JSON":                {`{`, ErrSchema},
		"two documents":           {`{"type":"object"}{}`, ErrSchema},
		"null":                    {`null`, ErrSchema},
		"array":                   {`[]`, ErrSchema},
		"boolean":                 {`true`, ErrSchema},
		"no type":                 {`{}`, ErrSchema},
		"another type":            {`{"type":"string"}`, ErrSchema},
		"type list":               {`{"type":["object"]}`, ErrSchema},
		"number out of range":     {`{"type":"object","properties":{"a":{"multipleOf":1e999999999}}}`, ErrSchema},
		"large":                   {`{"type":"object","description":"` + strings.Repeat("x", 64<<10) + `"}`, ErrTooLarge},
		"doubling":                {chain(20), ErrTooLarge},
		"deep":                    {strings.Repeat(`{"type":"object","not":`, 300) + `{}` + strings.Repeat(`}`, 300), ErrTooLarge},
		"file":                    {`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, ErrReference},
		"host":                    {`{"type":"object","properties":{"a":{"$ref":"https://example.com/s"}}}`, ErrReference},
		"relative":                {`{"type":"object","properties":{"a":{"$ref":"other.json"}}}`, ErrReference},
		"dynamic outside":         {`{"type":"object","properties":{"a":{"$dynamicRef":"https://json-schema.org/draft/2020-12/schema#meta"}}}`, ErrReference},
		"missing":                 {`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`, ErrReference},
		"missing anchor":          {`{"type":"object","properties":{"a":{"$ref":"#none"}}}`, ErrReference},
		"inner $id":               {`{"type":"object","properties":{"a":{"$id":"https://example.com/","$ref":"#/x"}}}`, ErrReference},
		"circle in place":         {`{"type":"object","allOf":[{"$ref":"#"}]}`, ErrReference},
		"longer circle in place":  {`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`, ErrReference},
		"circle nobody refers to": {`{"type":"object","$defs":{"a":{"$ref":"#/$defs/a"}}}`, ErrReference},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse([]byte(tt.text), Limits{})
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err != nil {
				return
			}
			if err := s.Compile(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestNoValidator(t *testing.T) {
	for _, text := range []string{
		`{"type":"object","properties":{"a":{"pattern":"(?=x)"}}}`,
		`{"$schema":"https://example.com/mine","type":"object"}`,
		`{"type":"object","properties":{"a":{"minLength":"three"}}}`,
	} {
		s, err := Parse([]byte(text), Limits{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := s.Compile(); !errors.Is(err, ErrNoValidator) {
			t.Errorf("%s: %v", text, err)
		}
		if err := s.ValidateJSON(nil); !errors.Is(err, ErrNoValidator) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestValidate(t *testing.T) { // [R11]
	s, err := Parse([]byte(`{
		"type": "object",
		"properties": {
			"name": {"type": "string", "minLength": 2, "maxLength": 4},
			"count": {"type": "integer", "minimum": 1, "maximum": 9},
			"mode": {"enum": ["a", "b"]},
			"list": {"type": "array", "items": {"type": ["string", "null"]}, "maxItems": 2, "uniqueItems": true},
			"any": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["x"]}]}
		},
		"required": ["name"],
		"additionalProperties": false
	}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`{"name":"ab"}`: "",
		`{"name":"日本語語","count":9,"list":["a",null],"any":{"x":1}}`: "",
		``:                                  `the value lacks "name"`,
		`{`:                                 `the value is not valid JSON, or has a number that is too large`,
		`{"name":1e999999}`:                 `the value is not valid JSON, or has a number that is too large`,
		`[]`:                                `the value is an array and has to be an object`,
		`{"name":1}`:                        `"/name" is a number and has to be a string`,
		`{"name":"secret value"}`:           `"/name" has 12 characters and may have 4`,
		`{"name":"ab","count":1.5}`:         `"/count" is a number and has to be an integer`,
		`{"name":"ab","count":10}`:          `"/count" is too large`,
		`{"name":"ab","mode":"c"}`:          `"/mode" is none of the values that are allowed`,
		`{"name":"ab","x\u001b":1}`:         `the value has members that are not known: "x\x1b"`,
		`{"name":"ab","list":[1]}`:          `"/list/0" is a number and has to be null or a string`,
		`{"name":"ab","list":["a","a"]}`:    `"/list" has the same item at 0 and 1`,
		`{"name":"ab","any":{}}`:            `"/any" fits none of the forms that are allowed`,
		`{"name":"a","count":0,"mode":"c"}`: `"/count" is too small; "/mode" is none of the values that are allowed; "/name" has 1 characters and needs 2 or more`,
	} {
		err := s.ValidateJSON([]byte(value))
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", value, err)
			}
			continue
		}
		var invalid *InvalidError
		if !errors.As(err, &invalid) || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", value, err, want)
		}
	}
}

// TestWork holds what judging may cost: whatever schema is accepted, whatever
// value comes, it ends soon.
func TestWork(t *testing.T) { // [R9]
	nest := func(open, inner, shut string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
	}
	var names strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&names, `,"n%d"`, i)
	}
	for name, tt := range map[string]struct {
		schema, value string
		tooComplex    bool
	}{
		"a circle that doubles": {
			`{"type":"object","properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`,
			nest(`{"a":`, `{}`, `}`, 60), true,
		},
		"a circle that doubles, little depth": {
			`{"type":"object","properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`,
			nest(`{"a":`, `{}`, `}`, 10), false,
		},
		"a plain circle, deep": {
			`{"type":"object","properties":{"a":{"$ref":"#"}}}`,
			nest(`{"a":`, `{}`, `}`, 900), false,
		},
		"two sides of a tree": {
			`{"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}`,
			nest(`{"left":{},"right":`, `{}`, `}`, 500), false,
		},
		"a circle through two keywords": {
			`{"type":"object","patternProperties":{"a":{"$ref":"#"},"aa":{"$ref":"#"}}}`,
			nest(`{"aa":`, `{}`, `}`, 60), true,
		},
		"many items under much work": {
			`{"type":"object","properties":{"a":{"type":"array","items":{"allOf":[` + strings.Repeat(`{},`, 5000) + `{}]}}}}`,
			`{"a":[` + strings.Repeat("0,", 50_000) + `0]}`, true,
		},
		"many items in a long list of values": {
			`{"type":"object","properties":{"a":{"items":{"enum":[` + strings.Repeat(`1,`, 15_000) + `2]}}}}`,
			`{"a":[` + strings.Repeat("3,", 50_000) + `3]}`, true,
		},
		"a list of values as it is used": {
			`{"type":"object","properties":{"a":{"items":{"enum":["red","green","blue"]}}}}`,
			`{"a":[` + strings.Repeat(`"red",`, 5_000) + `"blue"]}`, false,
		},
		"many objects that lack many names": {
			`{"type":"object","properties":{"a":{"items":{"required":[` + names.String()[1:] + `]}}}}`,
			`{"a":[` + strings.Repeat("{},", 50_000) + `{}]}`, true,
		},
		"a long text in a regular expression with many steps": {
			`{"type":"object","properties":{"a":{"pattern":"^(a?){1000}b$"}}}`,
			`{"a":"` + strings.Repeat("a", 1<<20) + `"}`, true,
		},
		"a long name in one": {
			`{"type":"object","additionalProperties":{"propertyNames":{"pattern":"^(a?){1000}b$"}}}`,
			`{"a":{"` + strings.Repeat("a", 1<<20) + `":0}}`, true,
		},
		"one below a circle": {
			`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#/$defs/x"}},"$defs":{"x":{"anyOf":[{"pattern":"^(a?){900}b$"},{}]}}}`,
			`{"a":{"a":{"b":"` + strings.Repeat("a", 1<<20) + `"}}}`, true,
		},
		"a long text beside a small one": {
			`{"type":"object","properties":{"id":{"pattern":"^[0-9a-f]{8}-[0-9a-f]{4}$"},"text":{"type":"string"}}}`,
			`{"id":"01234567-89ab","text":"` + strings.Repeat("a", 1<<20) + `"}`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse([]byte(tt.schema), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal([]byte(tt.value), &v); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			err = s.Validate(v)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			if got := errors.Is(err, ErrTooComplex); got != tt.tooComplex {
				t.Errorf("got %v", err)
			}
		})
	}
}

// FuzzSchema: whatever text comes, parsing, compiling and judging end soon and
// do not panic.
func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":1}}`)
	f.Add(`{"type":"object","$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, `{}`)
	f.Add(`{"type":"object","propertyNames":{"pattern":"^a"},"unevaluatedProperties":false}`, `{"b":[1,2]}`)
	f.Add(`{"type":"object","dependencies":{"a":["b"],"c":{}},"items":[{},true]}`, `{"a":0}`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := Parse([]byte(schema), Limits{})
		if err != nil {
			return
		}
		start := time.Now()
		err = s.ValidateJSON([]byte(value))
		if took := time.Since(start); took > 20*time.Second {
			t.Fatalf("took %v", took)
		}
		var invalid *InvalidError
		if err != nil && !errors.As(err, &invalid) && !errors.Is(err, ErrTooComplex) && !errors.Is(err, ErrNoValidator) {
			t.Fatalf("unknown error: %v", err)
		}
	})
}
