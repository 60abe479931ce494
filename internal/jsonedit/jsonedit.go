// Package jsonedit changes members of a JSON document that somebody else wrote
// and leaves every other byte of it as it is: order, blanks, the spelling of
// numbers and escapes.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Errors, to be matched with errors.Is.
var (
	// ErrSyntax: the document is not JSON.
	ErrSyntax = errors.New("it is not JSON")
	// ErrNotObject: a value on the path is no object.
	ErrNotObject = errors.New("it has something else where an object is needed")
	// ErrDuplicate: an object on the path has a member twice.
	ErrDuplicate = errors.New("it has a member twice")
	// ErrAbsent: the object on the path is not there.
	ErrAbsent = errors.New("it has no such member")
)

// member is a member of an object, by offsets into the document.
type member struct {
	name              string
	start, value, end int // of the name's quote, the value, and behind the value
}

// object is an object, by the offsets of its braces.
type object struct {
	open, close int
	members     []member
}

func (o *object) find(name string) int {
	for i, m := range o.members {
		if m.name == name {
			return i
		}
	}
	return -1
}

// locate finds the object on a path of member names from the top.
func locate(doc []byte, path []string) (*object, error) {
	if !json.Valid(doc) {
		return nil, ErrSyntax
	}
	at := blanks(doc, 0)
	for i := 0; ; i++ {
		o, err := parse(doc, at)
		if err != nil || i == len(path) {
			return o, err
		}
		m := o.find(path[i])
		if m < 0 {
			return nil, ErrAbsent
		}
		at = o.members[m].value
	}
}

// parse reads the object at an offset of a valid document.
func parse(doc []byte, at int) (*object, error) {
	if doc[at] != '{' {
		return nil, ErrNotObject
	}
	o := &object{open: at}
	seen := map[string]bool{}
	for at = blanks(doc, at+1); doc[at] != '}'; {
		if doc[at] == ',' {
			at = blanks(doc, at+1)
		}
		m := member{start: at}
		at = skip(doc, at)
		if err := json.Unmarshal(doc[m.start:at], &m.name); err != nil {
			return nil, ErrSyntax
		}
		if seen[m.name] {
			return nil, ErrDuplicate
		}
		seen[m.name] = true
		m.value = blanks(doc, blanks(doc, at)+1) // behind the colon
		m.end = skip(doc, m.value)
		o.members = append(o.members, m)
		at = blanks(doc, m.end)
	}
	o.close = at
	return o, nil
}

func blanks(doc []byte, at int) int {
	for at < len(doc) && (doc[at] == ' ' || doc[at] == '\t' || doc[at] == '\n' || doc[at] == '\r') {
		at++
	}
	return at
}

// skip returns the offset behind the value at an offset of a valid document.
func skip(doc []byte, at int) int {
	depth := 0
	for ; at < len(doc); at++ {
		switch doc[at] {
		case '"':
			for at++; doc[at] != '"'; at++ {
				if doc[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return at
			}
			if depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 {
				return at // behind a number or a word
			}
		}
	}
	return at
}

// Names returns the names of the members of the object on a path, in order.
func Names(doc []byte, path ...string) ([]string, error) {
	o, err := locate(doc, path)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(o.members))
	for i, m := range o.members {
		names[i] = m.name
	}
	return names, nil
}

// Value returns the value of a member of the object on a path, or false.
func Value(doc []byte, name string, path ...string) (json.RawMessage, bool, error) {
	o, err := locate(doc, path)
	if err != nil {
		return nil, false, err
	}
	i := o.find(name)
	if i < 0 {
		return nil, false, nil
	}
	return bytes.Clone(doc[o.members[i].value:o.members[i].end]), true, nil
}

// Gap returns what stands between the braces of the object on a path, if it has
// no members, for [Delete].
func Gap(doc []byte, path ...string) (gap string, empty bool, err error) {
	o, err := locate(doc, path)
	if err != nil || len(o.members) > 0 {
		return "", false, err
	}
	return string(doc[o.open+1 : o.close]), true, nil
}

// Set returns the document with the member of the object on a path set to a
// value, which is put in the lines and blanks that the object uses. A new member
// is the last one.
func Set(doc []byte, name string, value json.RawMessage, path ...string) ([]byte, error) {
	o, err := locate(doc, path)
	if err != nil {
		return nil, err
	}
	key, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	if i := o.find(name); i >= 0 {
		m := o.members[i]
		text, err := layout(value, before(doc, m.start))
		return splice(doc, m.value, m.end, text), err
	}
	if len(o.members) == 0 {
		_, indent := line(doc, o.open)
		sep := "\n" + indent + "  "
		text, err := layout(value, sep)
		return splice(doc, o.open+1, o.close, join(sep, string(key), ": ", string(text), "\n", indent)), err
	}
	sep := before(doc, o.members[0].start)
	text, err := layout(value, sep)
	end := o.members[len(o.members)-1].end
	return splice(doc, end, end, join(",", sep, string(key), ": ", string(text))), err
}

// Delete returns the document without the member of the object on a path. The
// gap stands between the braces where it was the only one. After a member was
// set that was not there, Delete gives the document as it was before.
func Delete(doc []byte, name, gap string, path ...string) ([]byte, error) {
	o, err := locate(doc, path)
	if err != nil {
		return nil, err
	}
	i := o.find(name)
	switch {
	case i < 0:
		return doc, nil
	case len(o.members) == 1:
		return splice(doc, o.open+1, o.close, []byte(gap)), nil
	case i == 0:
		return splice(doc, o.members[0].start, o.members[1].start, nil), nil
	}
	return splice(doc, o.members[i-1].end, o.members[i].end, nil), nil
}

// before returns what separates a member from what stands before it: a line end
// and blanks, or one blank.
func before(doc []byte, start int) string {
	if sep, indent := line(doc, start); len(indent) == start-sep {
		if sep >= 2 && doc[sep-2] == '\r' {
			return "\r\n" + indent
		}
		if sep > 0 {
			return "\n" + indent
		}
	}
	return " "
}

// line returns the offset of the line in which at stands, and its indent.
func line(doc []byte, at int) (start int, indent string) {
	start = bytes.LastIndexByte(doc[:at], '\n') + 1
	end := start
	for end < at && (doc[end] == ' ' || doc[end] == '\t') {
		end++
	}
	return start, string(doc[start:end])
}

// layout writes a value in lines after sep, or in one line where sep has none.
func layout(value json.RawMessage, sep string) ([]byte, error) {
	var b bytes.Buffer
	if sep == " " {
		err := json.Compact(&b, value)
		return b.Bytes(), err
	}
	indent := sep[bytes.LastIndexByte([]byte(sep), '\n')+1:]
	err := json.Indent(&b, value, indent, "  ")
	return b.Bytes(), err
}

func join(parts ...string) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		b.WriteString(p)
	}
	return b.Bytes()
}

func splice(doc []byte, from, to int, text []byte) []byte {
	out := make([]byte, 0, len(doc)-(to-from)+len(text))
	out = append(out, doc[:from]...)
	out = append(out, text...)
	return append(out, doc[to:]...)
}
