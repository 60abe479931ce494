package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNamesAreExact(t *testing.T) { // [J1]
	d, err := Parse([]byte(`{"name":1,"NAME":2,"Name":3,"`+"\u212A"+`eywords":4,"n\u0061me2":5}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for m := range d.Root().Members() {
		if m.Duplicate {
			t.Errorf("%q counts as a duplicate", m.Name)
		}
		names = append(names, m.Name)
	}
	want := []string{"name", "NAME", "Name", "\u212Aeywords", "name2"}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("names = %q, want %q", names, want)
	}
	if d.Root().Member("keywords").Value.Kind() != Invalid {
		t.Error("the KELVIN SIGN twin was taken for keywords")
	}
}

func TestDuplicates(t *testing.T) { // [J2]
	var many strings.Builder
	many.WriteString("{")
	for i := range 200 {
		many.WriteString(`"` + strconv.Itoa(i) + `":0,`)
	}
	for _, tc := range []struct {
		src  string
		want []string
	}{
		{`{"a":1,"b":2}`, nil},
		{`{"a":1,"a":2}`, []string{"/a"}},
		{`{"a":1,"\u0061":2,"a":3}`, []string{"/a", "/a"}},
		{`{"x":[{"k":1,"k":1}],"y":{"z/~":1,"z/~":2}}`, []string{"/x/0/k", "/y/z~1~0"}},
		{many.String() + `"199":1}`, []string{"/199"}},
		{many.String() + `"200":1}`, nil},
	} {
		d, err := Parse([]byte(tc.src), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for f := range d.Root().Flaws() {
			if !f.Duplicate {
				t.Errorf("%s: not a duplicate: %+v", tc.src, f)
			}
			if tc.src[f.Offset] != '"' {
				t.Errorf("%s: offset %d is not at a name", tc.src, f.Offset)
			}
			got = append(got, Pointer(f.Path...))
		}
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%.40s: flaws at %q, want %q", tc.src, got, tc.want)
		}
	}
}

func TestUnpairedSurrogates(t *testing.T) { // [J4]
	for _, tc := range []struct {
		src      string
		unpaired bool
		text     string
	}{
		{`"\ud83e\udded"`, false, "🧭"},
		{`"\ud800"`, true, "\xed\xa0\x80"},
		{`"\udc00"`, true, "\xed\xb0\x80"},
		{`"\ud800x"`, true, "\xed\xa0\x80x"},
		{`"\ud800\n"`, true, "\xed\xa0\x80\n"},
		{`"\ud800\ud800\udc00"`, true, "\xed\xa0\x80\U00010000"},
		{`"\udc00\ud800"`, true, "\xed\xb0\x80\xed\xa0\x80"},
		{`"\ud800\u0041"`, true, "\xed\xa0\x80A"},
		{`"\\ud800"`, false, `\ud800`},
		{`"é\u00e9\/\b\f\r\t\""`, false, "éé/\b\f\r\t\""},
	} {
		d, err := Parse([]byte(tc.src), Limits{})
		if err != nil {
			t.Fatalf("%s: %v", tc.src, err)
		}
		v := d.Root()
		if v.Unpaired() != tc.unpaired || v.Text() != tc.text {
			t.Errorf("%s: unpaired %v, text %q; want %v, %q", tc.src, v.Unpaired(), v.Text(), tc.unpaired, tc.text)
		}
	}
}

func TestErrors(t *testing.T) { // [J4] [J5]
	for _, tc := range []struct {
		src    string
		reason Reason
		offset int
	}{
		{``, Syntax, 0},
		{" \n", Syntax, 2},
		{`{"a":1,}`, Syntax, 7},
		{`[1,]`, Syntax, 3},
		{`{"a":1}x`, Syntax, 7},
		{`{} {}`, Syntax, 3},
		{`{// c` + "\n}", Syntax, 1},
		{`{"a" 1}`, Syntax, 5},
		{`{"a":1 "b":2}`, Syntax, 7},
		{`{a:1}`, Syntax, 1},
		{`{'a':1}`, Syntax, 1},
		{`[01]`, Syntax, 2},
		{`[-]`, Syntax, 2},
		{`[1.]`, Syntax, 3},
		{`[1e+]`, Syntax, 4},
		{`[+1]`, Syntax, 1},
		{`[.5]`, Syntax, 1},
		{`tru}`, Syntax, 3},
		{`[nulL]`, Syntax, 4},
		{`["a` + "\n" + `"]`, Syntax, 3},
		{`["\x"]`, Syntax, 3},
		{`["\u12G4"]`, Syntax, 6},
		{`["abc`, Syntax, 5},
		{`[NaN]`, Syntax, 1},
		{"[\u00a01]", Syntax, 1},
		{"\uFEFF\uFEFF{}", Syntax, 3},
		{"{\"a\":\"\xff\"}", Encoding, 6},
		{"\xff\xfe{\x00", Encoding, 0},
		{"[\"\xed\xa0\x80\"]", Encoding, 2},
		{`[[[[1]]]]`, TooDeep, 3},
		{`[{"a":{"b":{}}}]`, TooDeep, 11},
	} {
		_, err := Parse([]byte(tc.src), Limits{Depth: 3})
		var e *Error
		if !errors.As(err, &e) || e.Reason != tc.reason || e.Offset != tc.offset {
			t.Errorf("Parse(%q) = %#v, want reason %d at %d", tc.src, err, tc.reason, tc.offset)
		}
	}
}

func TestLimitsAreInclusive(t *testing.T) {
	if _, err := Parse([]byte(`[[[1,2,3,4,5,6,7]]]`), Limits{Depth: 3}); err != nil {
		t.Error(err)
	}
}

func TestOffsets(t *testing.T) {
	src := "\uFEFF { \"k\" : [ 1 , {\"x\":null} ] }"
	d, err := Parse([]byte(src), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(s string) int { return strings.Index(src, s) }
	k := d.Root().Member("k")
	if d.Root().Offset() != at("{") || k.Offset != at(`"k"`) || k.Value.Offset() != at("[") {
		t.Errorf("offsets %d %d %d", d.Root().Offset(), k.Offset, k.Value.Offset())
	}
	for i, e := range k.Value.Elements() {
		if want := []int{at("1"), at(`{"x"`)}[i]; e.Offset() != want {
			t.Errorf("element %d at %d, want %d", i, e.Offset(), want)
		}
	}
	if got := string(k.Value.Raw()); got != `[ 1 , {"x":null} ]` {
		t.Errorf("Raw = %s", got)
	}
}

func TestDeepDocumentsEndAtOnce(t *testing.T) {
	for _, src := range []string{strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 100_000)} {
		var e *Error
		if _, err := Parse([]byte(src), Limits{Depth: 100}); !errors.As(err, &e) || e.Reason != TooDeep {
			t.Errorf("got %v", err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":[1,-2.5e+7,true,false,null,"x\u0041\ud83e\udded\n"]}`, `[1,]`, `{"a":1,"a":2}`, "\uFEFF[]",
		`"\ud800"`, `[01]`, `{"a"`, "\xff", `{"k":{"k":{"k":[]}}}`, `// c`, `[1] 2`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := Parse(src, Limits{Depth: 100})
		plain := bytes.TrimPrefix(src, []byte(bom))
		var e *Error
		if errors.As(err, &e) {
			if e.Offset < 0 || e.Offset > len(src) || e.Detail == "" {
				t.Fatalf("bad error %#v for %q", e, src)
			}
			if (e.Reason == Syntax) && json.Valid(plain) {
				t.Fatalf("refused valid JSON %q: %v at %d", src, e, e.Offset)
			}
			if e.Reason == Encoding && utf8.Valid(src) {
				t.Fatalf("called UTF-8 something else: %q", src)
			}
			return
		}
		if err != nil {
			t.Fatalf("an error of another type: %v", err)
		}
		if !json.Valid(plain) {
			t.Fatalf("accepted %q", src)
		}
		for range d.Root().Flaws() {
			return // encoding/json reads these otherwise
		}
		dec := json.NewDecoder(bytes.NewReader(plain))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := d.Root().Any(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, want %#v", src, got, want)
		}
	})
}
