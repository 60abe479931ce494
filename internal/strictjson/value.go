package strictjson

import (
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// Kind is the kind of a JSON value.
type Kind uint8

const (
	Invalid Kind = iota
	Object
	Array
	String
	Number
	True
	False
	Null
)

// String returns the kind in the words an author uses.
func (k Kind) String() string {
	switch k {
	case Object:
		return "an object"
	case Array:
		return "an array"
	case String:
		return "a string"
	case Number:
		return "a number"
	case True, False:
		return "a boolean"
	case Null:
		return "null"
	}
	return "nothing"
}

// Document is a parsed document. It is immutable and safe for concurrent use.
type Document struct {
	src   []byte
	nodes []node
}

// Root returns the document's value.
func (d *Document) Root() Value { return Value{d, 0} }

// Value is one value of a document. The zero Value is of kind Invalid.
type Value struct {
	d *Document
	i uint32
}

func (v Value) node() node { return v.d.nodes[v.i] }

// Kind returns the value's kind.
func (v Value) Kind() Kind {
	if v.d == nil {
		return Invalid
	}
	return v.node().kind
}

// Offset returns where the value begins.
func (v Value) Offset() int { return int(v.node().off) }

// Raw returns the value's source text, which the caller must not change.
func (v Value) Raw() []byte { n := v.node(); return v.d.src[n.off:n.end:n.end] }

// Text returns a string's value, and the source text of anything else. An
// unpaired surrogate stands in it as the three bytes that would encode it,
// which are not UTF-8, so two different names stay different.
func (v Value) Text() string {
	n := v.node()
	if n.kind != String {
		return string(v.d.src[n.off:n.end])
	}
	return decode(v.d.src, n)
}

// Unpaired reports whether a string has an unpaired surrogate escape.
func (v Value) Unpaired() bool { return v.node().flags&flagSurrogate != 0 }

// Member is one member of an object.
type Member struct {
	Name      string
	Duplicate bool // the object has had a member of this name before
	Unpaired  bool // the name has an unpaired surrogate escape
	Offset    int  // of the name's opening quote
	Value     Value
}

// Members returns an object's members in document order, duplicates included;
// none for other kinds.
func (v Value) Members() iter.Seq[Member] {
	return func(yield func(Member) bool) {
		if v.Kind() != Object {
			return
		}
		end := v.node().next
		for k := v.i + 1; k < end; k = v.d.nodes[k+1].next {
			n := v.d.nodes[k]
			if !yield(Member{
				Name:      decode(v.d.src, n),
				Duplicate: n.flags&flagDuplicate != 0,
				Unpaired:  n.flags&flagSurrogate != 0,
				Offset:    int(n.off),
				Value:     Value{v.d, k + 1},
			}) {
				return
			}
		}
	}
}

// Member returns the first member of that name, or a zero Member.
func (v Value) Member(name string) Member {
	for m := range v.Members() {
		if m.Name == name {
			return m
		}
	}
	return Member{}
}

// Len returns how many elements an array has, or 0 for other kinds.
func (v Value) Len() (n int) {
	for range v.Elements() {
		n++
	}
	return n
}

// Elements returns an array's elements; none for other kinds.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.Kind() != Array {
			return
		}
		end, n := v.node().next, 0
		for k := v.i + 1; k < end; k = v.d.nodes[k].next {
			if !yield(n, Value{v.d, k}) {
				return
			}
			n++
		}
	}
}

// Any returns the value as encoding/json would with UseNumber, for validators.
// Of duplicate members the first counts.
func (v Value) Any() any {
	switch v.Kind() {
	case Object:
		m := make(map[string]any)
		for e := range v.Members() {
			if !e.Duplicate {
				m[e.Name] = e.Value.Any()
			}
		}
		return m
	case Array:
		a := []any{}
		for _, e := range v.Elements() {
			a = append(a, e.Any())
		}
		return a
	case String:
		return v.Text()
	case Number:
		return json.Number(v.Text())
	case True:
		return true
	case False:
		return false
	}
	return nil
}

// decode returns the text of the string at n.
func decode(src []byte, n node) string {
	s := src[n.off+1 : n.end-1]
	if n.flags&flagEscaped == 0 {
		return string(s)
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		i++
		switch s[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := hex4(s[i+1:])
			i += 4
			if r >= 0xd800 && r < 0xdc00 && i+6 < len(s) && s[i+1] == '\\' && s[i+2] == 'u' {
				if low := hex4(s[i+3:]); low >= 0xdc00 && low < 0xe000 {
					r = 0x10000 + (r-0xd800)<<10 + low - 0xdc00
					i += 6
				}
			}
			if r >= 0xd800 && r < 0xe000 {
				out = append(out, 0xed, byte(0x80|r>>6&0x3f), byte(0x80|r&0x3f))
			} else {
				out = utf8.AppendRune(out, r)
			}
		default:
			out = append(out, s[i])
		}
	}
	return string(out)
}

func hex4(s []byte) (r rune) {
	for _, c := range s[:4] {
		r = r<<4 | rune(hexDigit(c))
	}
	return r
}
