package skills

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/plugin/finding"
)

// What aliases of one frontmatter may bring in together.
const (
	aliasNodes = 1000
	aliasBytes = 64 << 10
)

// yamlBreak returns the length of the line break that s begins with, as the
// YAML reader counts lines, or 0.
func yamlBreak(s []byte) int {
	switch {
	case s[0] == '\n':
		return 1
	case s[0] == '\r' && len(s) > 1 && s[1] == '\n':
		return 2
	case s[0] == '\r':
		return 1
	case s[0] < utf8.RuneSelf:
		return 0
	}
	switch r, size := utf8.DecodeRune(s); r {
	case '\u0085', '\u2028', '\u2029':
		return size
	}
	return 0
}

// yamlLines yields the offset of each line of s, as the YAML reader counts.
func yamlLines(s []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		if len(s) == 0 || !yield(0) {
			return
		}
		for i := 0; i < len(s); {
			n := yamlBreak(s[i:])
			if n == 0 {
				i++
				continue
			}
			if i += n; i < len(s) && !yield(i) {
				return
			}
		}
	}
}

// tree is the YAML of a frontmatter with the positions of its nodes.
type tree struct {
	doc   document
	root  *yaml.Node
	lines []int // offsets of the YAML reader's lines, made when first needed
}

// offset returns where a node begins in the file.
func (t *tree) offset(n *yaml.Node) int { return t.position(n.Line, n.Column) }

// position turns the YAML reader's line and column into an offset of the file.
func (t *tree) position(line, column int) int {
	if t.lines == nil {
		for off := range yamlLines(t.doc.front) {
			t.lines = append(t.lines, off)
		}
	}
	if line < 1 || line > len(t.lines) {
		return t.doc.start + len(t.doc.front)
	}
	off := t.lines[line-1]
	for range column - 1 {
		if off >= len(t.doc.front) {
			break
		}
		_, size := utf8.DecodeRune(t.doc.front[off:])
		off += size
	}
	return t.doc.start + off
}

// parse reads the frontmatter's YAML and refuses what a reader of skills has
// no use for and an attacker might have.
func (d document) parse(maxDepth int) (*tree, *fault) {
	t := &tree{doc: d}
	var doc yaml.Node
	if err := unmarshal(d.front, &doc); err != nil {
		return t, t.syntax(err)
	}
	if doc.Kind == 0 || len(doc.Content) != 1 {
		return t, &fault{finding.SkillFrontmatterNotMapping, d.start, "the frontmatter is empty: give it name and description"}
	}
	t.root = doc.Content[0]
	aliases := false
	if f := t.vet(t.root, maxDepth, &aliases); f != nil {
		return t, f
	}
	if aliases {
		e := expansion{sizes: map[*yaml.Node]size{}}
		if !e.count(t.root) {
			return t, &fault{finding.SkillAliasExpansion, t.offset(e.at),
				"this alias refers to itself or expands too far: write the value out"}
		}
	}
	if t.root.Kind != yaml.MappingNode {
		return t, &fault{finding.SkillFrontmatterNotMapping, t.offset(t.root), "the frontmatter is no mapping: write key: value lines"}
	}
	return t, nil
}

// unmarshal turns a panic of the YAML reader into an error: what it reads is
// not ours.
func unmarshal(src []byte, into any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return yaml.Unmarshal(src, into)
}

// vet walks a node and its children, not the targets of aliases.
func (t *tree) vet(n *yaml.Node, depth int, aliases *bool) *fault {
	if depth <= 0 {
		return &fault{finding.SkillTooComplex, t.offset(n), "the frontmatter is nested too deep: flatten it"}
	}
	if n.Style&yaml.TaggedStyle != 0 && !coreTag(n.ShortTag()) {
		return &fault{finding.SkillCustomTag, t.offset(n), "the tag " + printable.Quote(n.Tag) + " has no meaning here: remove it"}
	}
	switch n.Kind {
	case yaml.AliasNode:
		*aliases = true
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if f := t.vet(c, depth-1, aliases); f != nil {
				return f
			}
		}
	case yaml.MappingNode:
		if f := t.vetKeys(n); f != nil {
			return f
		}
		for _, c := range n.Content {
			if f := t.vet(c, depth-1, aliases); f != nil {
				return f
			}
		}
	}
	return nil
}

// vetKeys refuses merge keys and keys that stand twice.
func (t *tree) vetKeys(n *yaml.Node) *fault {
	const few = 16
	var seen map[string]bool
	if len(n.Content)/2 > few {
		seen = make(map[string]bool, len(n.Content)/2)
	}
	for i := 0; i < len(n.Content); i += 2 {
		key := follow(n.Content[i])
		if key.Kind != yaml.ScalarNode {
			continue
		}
		if key.ShortTag() == "!!merge" {
			return &fault{finding.SkillMergeKey, t.offset(n.Content[i]), "merge keys are not read: write out what << would bring in"}
		}
		twice := seen[key.Value]
		if seen != nil {
			seen[key.Value] = true
		} else {
			for j := 0; j < i && !twice; j += 2 {
				other := follow(n.Content[j])
				twice = other.Kind == yaml.ScalarNode && other.Value == key.Value
			}
		}
		if twice {
			return &fault{finding.SkillDuplicateKey, t.offset(n.Content[i]), "the key " + printable.Quote(key.Value) + " stands twice: remove one"}
		}
	}
	return nil
}

func coreTag(tag string) bool {
	switch tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!seq", "!!map":
		return true
	}
	return false
}

// follow returns what an alias stands for, and any other node itself.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// size is what a node holds with its aliases expanded.
type size struct {
	nodes, bytes int
	open         bool // being counted: met again, it contains itself
}

// expansion counts what aliases bring in.
type expansion struct {
	sizes map[*yaml.Node]size
	total size
	at    *yaml.Node // the alias that went too far
}

func (e *expansion) count(n *yaml.Node) bool {
	s := size{1, len(n.Value), true}
	e.sizes[n] = s
	children := n.Content
	if n.Kind == yaml.AliasNode {
		e.at = n
		if e.sizes[n.Alias].open {
			return false
		}
		children = []*yaml.Node{n.Alias}
	}
	for _, c := range children {
		if _, known := e.sizes[c]; !known && !e.count(c) {
			return false
		}
		s.nodes = min(s.nodes+e.sizes[c].nodes, aliasNodes+1)
		s.bytes = min(s.bytes+e.sizes[c].bytes, aliasBytes+1)
	}
	if n.Kind == yaml.AliasNode {
		e.at = n
		e.total.nodes += s.nodes
		e.total.bytes += s.bytes
		if e.total.nodes > aliasNodes || e.total.bytes > aliasBytes {
			return false
		}
	}
	s.open = false
	e.sizes[n] = s
	return true
}

// parserMessage matches the errors whose line the reader counts from zero; that
// of all others it counts from one.
var parserMessage = regexp.MustCompile(`^(did not find expected (key|node content|'-' indicator|',' or ']'|',' or '}'|<document start>|<stream-start>)|found undefined tag|found duplicate)`)

var lineMessage = regexp.MustCompile(`^line (\d+): (.*)$`)

// syntax explains an error of the YAML reader, in an author's words and as
// near to the fault as can be told.
func (t *tree) syntax(err error) *fault {
	var te *yaml.TypeError
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if errors.As(err, &te) {
		text = "unexpected value"
	}
	line := 1
	if m := lineMessage.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
		if parserMessage.MatchString(text) {
			line++
		}
	}
	off := t.firstText(line)
	switch {
	case strings.HasPrefix(text, "control characters"), strings.HasPrefix(text, "invalid"):
		if i := bytes.IndexFunc(t.doc.front, isControl); i >= 0 {
			off = t.doc.start + i
		}
		text = "a control character stands here: remove it"
	case strings.HasPrefix(text, "mapping values are not allowed"):
		off = t.value(line)
		text = "the value has a colon followed by a blank: put it in quotes"
	case strings.HasPrefix(text, "unknown anchor"):
		if name := strings.Split(text, "'"); len(name) > 1 {
			if i := bytes.Index(t.doc.front, []byte("*"+name[1])); i >= 0 {
				off = t.doc.start + i
			}
		}
		text = "this alias has no anchor: put a value that begins with * in quotes"
	case strings.HasPrefix(text, "found character that cannot start any token"):
		text = "a value cannot begin like this: put it in quotes, and indent with blanks, not tabs"
	case strings.HasPrefix(text, "could not find expected ':'"):
		text = "a line has no key: write key: value, and indent the lines of a longer value"
	case strings.HasPrefix(text, "found unexpected end of stream"):
		text = "a quoted value has no end"
	case strings.HasPrefix(text, "did not find expected key"):
		text = "a key is expected here or further down: check quotes and indentation"
	default:
		text = "not YAML: " + printable.Escape(text)
	}
	return &fault{finding.SkillInvalidYAML, off, text}
}

func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 && r != 0x85 || r == '\uFEFF' || r >= 0xfffe && r <= 0xffff
}

// firstText returns the offset of the first character of a line that is no blank.
func (t *tree) firstText(line int) int {
	off := t.position(line, 1)
	for i := off - t.doc.start; i < len(t.doc.front); i++ {
		if c := t.doc.front[i]; c != ' ' && c != '\t' {
			return t.doc.start + i
		}
	}
	return off
}

// value returns the offset of the value of a "key: value" line, or of the
// line's first text.
func (t *tree) value(line int) int {
	off := t.firstText(line)
	text, _ := cutLine(t.doc.front[off-t.doc.start:])
	colon := bytes.Index(text, []byte(": "))
	if colon < 0 || bytes.ContainsAny(text[:colon], " \"'") {
		return off
	}
	v := text[colon+1:]
	return off + colon + 1 + len(v) - len(bytes.TrimLeft(v, " \t"))
}
