package strictjson

import (
	"bytes"
	"fmt"

	"github.com/plugberth/plugberth/internal/textpos"
)

// Limits bound what Parse accepts. Zero means no bound.
type Limits struct {
	Depth int // nesting of objects and arrays
}

// Reason says why a document was refused.
type Reason uint8

const (
	Syntax   Reason = iota + 1 // not JSON
	Encoding                   // not UTF-8
	TooDeep                    // nested beyond Limits.Depth
	TooLarge                   // more than 4 GiB
)

// Error says where a document stops being acceptable.
type Error struct {
	Reason Reason
	Offset int // of the first byte that cannot continue the document
	Detail string
}

func (e *Error) Error() string { return e.Detail }

const bom = "\uFEFF"

// Parse reads one document. A leading byte order mark is skipped. The result
// refers to src, which must not change while it is used. Any error is an *Error.
func Parse(src []byte, lim Limits) (*Document, error) {
	if uint64(len(src)) >= 1<<32-1 {
		return nil, &Error{Reason: TooLarge, Detail: "the document is larger than 4 GiB"}
	}
	if off := textpos.FirstInvalid(src); off >= 0 {
		return nil, encodingError(src, off)
	}
	// Each value and name follows one of these, or begins the document.
	most := 1
	for _, c := range []byte("[{,:") {
		most += bytes.Count(src, []byte{c})
	}
	p := parser{src: src, lim: lim, nodes: make([]node, 0, most)}
	if bytes.HasPrefix(src, []byte(bom)) {
		p.pos = len(bom)
	}
	if err := p.value(0); err != nil {
		return nil, err
	}
	p.space()
	if p.pos < len(src) {
		return nil, p.unexpected("nothing may follow the document's value")
	}
	return &Document{src: src, nodes: p.nodes}, nil
}

func encodingError(src []byte, off int) *Error {
	detail := "the file is not UTF-8"
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		detail = "the file is UTF-16, not UTF-8"
	}
	return &Error{Reason: Encoding, Offset: off, Detail: detail}
}

// node is one value or member name in document order; a value's subtree
// follows it directly.
type node struct {
	off, end uint32 // of the source text
	next     uint32 // index of the node after the subtree
	kind     Kind
	flags    uint8
}

const (
	flagEscaped   uint8 = 1 << iota // a string with escapes
	flagSurrogate                   // a string with an unpaired surrogate
	flagDuplicate                   // a name that the object has already
)

type parser struct {
	src   []byte
	pos   int
	lim   Limits
	nodes []node
}

func (p *parser) fail(r Reason, format string, args ...any) error {
	return &Error{Reason: r, Offset: p.pos, Detail: fmt.Sprintf(format, args...)}
}

// unexpected describes the byte at the position; want says what may stand there.
func (p *parser) unexpected(want string) error {
	if p.pos >= len(p.src) {
		return p.fail(Syntax, "the document ends too early: %s", want)
	}
	switch c := p.src[p.pos]; {
	case c == '/' && (p.peek(1) == '/' || p.peek(1) == '*'):
		return p.fail(Syntax, "JSON has no comments: %s", want)
	case c == '\'':
		return p.fail(Syntax, "JSON strings stand in double quotes: %s", want)
	case c > ' ' && c < 0x7f:
		return p.fail(Syntax, "unexpected '%c': %s", c, want)
	case c == '\n' || c == '\r':
		return p.fail(Syntax, "unexpected end of line: %s", want)
	}
	return p.fail(Syntax, "unexpected character: %s", want)
}

func (p *parser) peek(n int) byte {
	if p.pos+n < len(p.src) {
		return p.src[p.pos+n]
	}
	return 0
}

func (p *parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) open(kind Kind) int {
	p.nodes = append(p.nodes, node{off: uint32(p.pos), kind: kind})
	return len(p.nodes) - 1
}

func (p *parser) close(i int) {
	p.nodes[i].end = uint32(p.pos)
	p.nodes[i].next = uint32(len(p.nodes))
}

func (p *parser) value(depth int) error {
	p.space()
	switch c := p.peek(0); {
	case c == '{' || c == '[':
		if p.lim.Depth > 0 && depth >= p.lim.Depth {
			return p.fail(TooDeep, "the document is nested more than %d levels deep", p.lim.Depth)
		}
		if c == '{' {
			return p.object(depth)
		}
		return p.array(depth)
	case c == '"':
		return p.str()
	case c == 't':
		return p.literal(True, "true")
	case c == 'f':
		return p.literal(False, "false")
	case c == 'n':
		return p.literal(Null, "null")
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	return p.unexpected("a value is expected")
}

func (p *parser) literal(kind Kind, text string) error {
	i := p.open(kind)
	for j := range len(text) {
		if p.peek(0) != text[j] {
			return p.unexpected("a value is expected")
		}
		p.pos++
	}
	p.close(i)
	return nil
}

func (p *parser) digits() error {
	if c := p.peek(0); c < '0' || c > '9' {
		return p.unexpected("a digit is expected")
	}
	for c := p.peek(0); c >= '0' && c <= '9'; c = p.peek(0) {
		p.pos++
	}
	return nil
}

func (p *parser) number() error {
	i := p.open(Number)
	if p.peek(0) == '-' {
		p.pos++
	}
	if p.peek(0) == '0' {
		p.pos++
		if c := p.peek(0); c >= '0' && c <= '9' {
			return p.unexpected("a number does not begin with 0")
		}
	} else if err := p.digits(); err != nil {
		return err
	}
	if p.peek(0) == '.' {
		p.pos++
		if err := p.digits(); err != nil {
			return err
		}
	}
	if c := p.peek(0); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(0); c == '+' || c == '-' {
			p.pos++
		}
		if err := p.digits(); err != nil {
			return err
		}
	}
	p.close(i)
	return nil
}

func (p *parser) str() error {
	i := p.open(String)
	p.pos++
	var flags uint8
	high := -1 // end of a high surrogate escape that waits for its other half
	for {
		if p.pos >= len(p.src) {
			return p.unexpected(`the string's closing '"' is expected`)
		}
		c := p.src[p.pos]
		if high >= 0 && (c != '\\' || p.peek(1) != 'u' || p.pos != high) {
			flags |= flagSurrogate
			high = -1
		}
		switch {
		case c == '"':
			p.pos++
			p.nodes[i].flags = flags
			p.close(i)
			return nil
		case c < ' ':
			return p.unexpected("a string holds control characters as escapes only")
		case c != '\\':
			p.pos++
			continue
		}
		flags |= flagEscaped
		p.pos++
		switch p.peek(0) {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			p.pos++
		case 'u':
			p.pos++
			var r rune
			for range 4 {
				d := hexDigit(p.peek(0))
				if d < 0 {
					return p.unexpected("four hexadecimal digits are expected after \\u")
				}
				r = r<<4 | rune(d)
				p.pos++
			}
			switch {
			case r >= 0xd800 && r < 0xdc00:
				if high >= 0 {
					flags |= flagSurrogate
				}
				high = p.pos
			case r >= 0xdc00 && r < 0xe000 && high < 0:
				flags |= flagSurrogate
			case r >= 0xdc00 && r < 0xe000:
				high = -1
			case high >= 0:
				flags |= flagSurrogate
				high = -1
			}
		default:
			return p.unexpected(`a backslash is followed by one of " \ / b f n r t u`)
		}
	}
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func (p *parser) array(depth int) error {
	i := p.open(Array)
	p.pos++
	p.space()
	if p.peek(0) == ']' {
		p.pos++
		p.close(i)
		return nil
	}
	for {
		if err := p.value(depth + 1); err != nil {
			return err
		}
		p.space()
		switch p.peek(0) {
		case ',':
			p.pos++
			p.space()
			if p.peek(0) == ']' {
				return p.unexpected("no comma stands after the last element")
			}
		case ']':
			p.pos++
			p.close(i)
			return nil
		default:
			return p.unexpected("',' or ']' is expected")
		}
	}
}

func (p *parser) object(depth int) error {
	i := p.open(Object)
	p.pos++
	p.space()
	if p.peek(0) == '}' {
		p.pos++
		p.close(i)
		return nil
	}
	for {
		if p.peek(0) != '"' {
			return p.unexpected("a member name in double quotes is expected")
		}
		if err := p.str(); err != nil {
			return err
		}
		p.space()
		if p.peek(0) != ':' {
			return p.unexpected("':' is expected after a member name")
		}
		p.pos++
		if err := p.value(depth + 1); err != nil {
			return err
		}
		p.space()
		switch p.peek(0) {
		case ',':
			p.pos++
			p.space()
			if p.peek(0) == '}' {
				return p.unexpected("no comma stands after the last member")
			}
		case '}':
			p.pos++
			p.close(i)
			p.markDuplicates(i)
			return nil
		default:
			return p.unexpected("',' or '}' is expected")
		}
	}
}

// markDuplicates flags every name of the object at i that stood before in it.
func (p *parser) markDuplicates(i int) {
	const few = 12
	var names [few]string
	var seen map[string]struct{}
	n := 0
	for k := i + 1; k < len(p.nodes); k = int(p.nodes[k+1].next) {
		name := decode(p.src, p.nodes[k])
		known := false
		if seen == nil {
			for _, have := range names[:n] {
				known = known || have == name
			}
		} else {
			_, known = seen[name]
		}
		switch {
		case known:
			p.nodes[k].flags |= flagDuplicate
		case seen != nil:
			seen[name] = struct{}{}
		case n < few:
			names[n] = name
			n++
		default:
			rest := 0
			for k := k; k < len(p.nodes); k = int(p.nodes[k+1].next) {
				rest++
			}
			seen = make(map[string]struct{}, few+rest)
			for _, have := range names {
				seen[have] = struct{}{}
			}
			seen[name] = struct{}{}
		}
	}
}
