package jsonedit

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
)

func TestSetAndDelete(t *testing.T) {
	value := json.RawMessage(`{"command":"x","args":[1,{"a":[]}]}`)
	for _, c := range []struct{ name, doc, want string }{
		{"empty", `{}`, "{\n  \"s\": {\n    \"command\": \"x\",\n    \"args\": [\n      1,\n      {\n        \"a\": []\n      }\n    ]\n  }\n}"},
		{"blanks", "\n {\t\r\n} \n", "\n {\n   \"s\": {\n     \"command\": \"x\",\n     \"args\": [\n       1,\n       {\n         \"a\": []\n       }\n     ]\n   }\n } \n"},
		{"one line", `{"a":1, "b" : [ {"}":"\"]"} ] }`, `{"a":1, "b" : [ {"}":"\"]"} ], "s": {"command":"x","args":[1,{"a":[]}]} }`},
		{"lines", "{\n\t\"a\": 1.50e3\n}\n", "{\n\t\"a\": 1.50e3,\n\t\"s\": {\n\t  \"command\": \"x\",\n\t  \"args\": [\n\t    1,\n\t    {\n\t      \"a\": []\n\t    }\n\t  ]\n\t}\n}\n"},
		{"CRLF", "{\r\n  \"a\": null\r\n}", "{\r\n  \"a\": null,\r\n  \"s\": {\n    \"command\": \"x\",\n    \"args\": [\n      1,\n      {\n        \"a\": []\n      }\n    ]\n  }\r\n}"},
		{"first on the line of the brace", "{ \"a\": true,\n  \"b\": \"\\u00e9\"}", "{ \"a\": true,\n  \"b\": \"\\u00e9\", \"s\": {\"command\":\"x\",\"args\":[1,{\"a\":[]}]}}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			gap, _, err := Gap([]byte(c.doc))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Set([]byte(c.doc), "s", value)
			if err != nil || string(got) != c.want {
				t.Errorf("%v\ngot  %q\nwant %q", err, got, c.want)
			}
			if again, err := Set(got, "s", value); err != nil || string(again) != string(got) {
				t.Errorf("set again: %v %q", err, again)
			}
			if back, err := Delete(got, "s", gap); err != nil || string(back) != c.doc {
				t.Errorf("deleted: %v %q", err, back)
			}
		})
	}
}

func TestDeeper(t *testing.T) {
	doc := []byte("{\n  \"x\": {\"y\": {}},\n  \"a\\u0062\": {\n    \"one\": 1,\n    \"two\": 2\n  }\n}\n")
	if names, err := Names(doc, "ab"); err != nil || !slices.Equal(names, []string{"one", "two"}) {
		t.Error(names, err)
	}
	if v, ok, err := Value(doc, "two", "ab"); err != nil || !ok || string(v) != "2" {
		t.Error(string(v), ok, err)
	}
	if _, ok, err := Value(doc, "three", "ab"); err != nil || ok {
		t.Error(ok, err)
	}
	got, err := Delete(doc, "one", "", "ab")
	if want := "{\n  \"x\": {\"y\": {}},\n  \"a\\u0062\": {\n    \"two\": 2\n  }\n}\n"; err != nil || string(got) != want {
		t.Errorf("%v %q", err, got)
	}
	got, err = Set(doc, "k", json.RawMessage("3"), "x", "y")
	if want := "{\n  \"x\": {\"y\": {\n    \"k\": 3\n  }},\n  \"a\\u0062\": {\n    \"one\": 1,\n    \"two\": 2\n  }\n}\n"; err != nil || string(got) != want {
		t.Errorf("%v %q", err, got)
	}
	if got, err := Delete(doc, "none", "", "ab"); err != nil || string(got) != string(doc) {
		t.Errorf("%v %q", err, got)
	}
}

func TestFails(t *testing.T) {
	for _, c := range []struct {
		doc  string
		path []string
		want error
	}{
		{"", nil, ErrSyntax},
		{"{", nil, ErrSyntax},
		{"{} x", nil, ErrSyntax},
		{"// c\n{}", nil, ErrSyntax},
		{`{"a":1,}`, nil, ErrSyntax},
		{"\ufeff{}", nil, ErrSyntax},
		{"[]", nil, ErrNotObject},
		{"1", nil, ErrNotObject},
		{`{"a":[]}`, []string{"a"}, ErrNotObject},
		{`{"a":null}`, []string{"a"}, ErrNotObject},
		{`{"a":{},"\u0061":{}}`, []string{"a"}, ErrDuplicate},
		{`{"a":{"b":1,"b":2}}`, []string{"a"}, ErrDuplicate},
		{`{}`, []string{"a"}, ErrAbsent},
	} {
		if _, err := Names([]byte(c.doc), c.path...); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.doc, err, c.want)
		}
		if _, err := Set([]byte(c.doc), "x", json.RawMessage("1"), c.path...); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.doc, err, c.want)
		}
		if _, err := Delete([]byte(c.doc), "x", "", c.path...); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.doc, err, c.want)
		}
	}
}

// FuzzEdit: a member that was set can be read, changes no other, and is gone
// without a trace after it is deleted.
func FuzzEdit(f *testing.F) {
	for _, doc := range []string{`{}`, "{\n}", `{"a":1}`, "{\n\t\"a\" : [1,{\"b\":\"\\\\\"}]\r\n}", `{"":{}, "s":[]}`, ` {"a":-0.1e+5 ,"b":"\ud800"}`} {
		f.Add(doc, "s", `{"x":[true]}`)
	}
	f.Fuzz(func(t *testing.T, doc, name, value string) {
		gap, _, err := Gap([]byte(doc))
		if err != nil || !json.Valid([]byte(value)) {
			return
		}
		_, there, err := Value([]byte(doc), name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Set([]byte(doc), name, json.RawMessage(value))
		if err != nil {
			t.Fatal(err)
		}
		var before, after map[string]any
		if json.Unmarshal([]byte(doc), &before) != nil || json.Unmarshal(got, &after) != nil {
			t.Fatalf("%q became %q", doc, got)
		}
		var key string
		quoted, _ := json.Marshal(name)
		_ = json.Unmarshal(quoted, &key)
		var want any
		_ = json.Unmarshal([]byte(value), &want)
		before = maps.Clone(before)
		before[key] = want
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", doc, got)
		}
		if !there && key == name {
			if back, err := Delete(got, name, gap); err != nil || string(back) != doc {
				t.Fatalf("%q came back as %q, %v", doc, back, err)
			}
		}
	})
}
