package skills

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/strictjson"
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

// yamlLines yields the offset of each line of s, as the YAML reader counts. The
// byte order mark that the reader ignores is no part of the first line.
func yamlLines(s []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		start := 0
		if bytes.HasPrefix(s, []byte(bom)) {
			start = len(bom)
		}
		if len(s) == 0 || !yield(start) {
			return
		}
		for i := start; i < len(s); {
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
	last  place // found last: faults come in order, and a line may be all there is
}

// place is a position in a frontmatter: its offset, and the line and column
// that the YAML reader counts.
type place struct{ off, line, column int }

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
	if t.last.line != line || t.last.column > column {
		t.last = place{t.lines[line-1], line, 1}
	}
	for t.last.column < column && t.last.off < len(t.doc.front) {
		_, size := utf8.DecodeRune(t.doc.front[t.last.off:])
		t.last.off += size
		t.last.column++
	}
	return t.doc.start + t.last.off
}

// parse reads the frontmatter's YAML and refuses what a reader of skills has
// no use for and an attacker might have. In lenient mode it may return values
// that it took for text.
func (d document) parse(maxDepth int, mode Mode) (*tree, *texts, *fault) {
	t := &tree{doc: d}
	var doc yaml.Node
	var colons *texts
	if err := unmarshal(d.front, &doc); err != nil {
		if mode == Lenient {
			colons = readColons(d.front, &doc)
		}
		if colons == nil {
			return nil, nil, t.syntax(err)
		}
	}
	if f := t.take(&doc, maxDepth); f != nil {
		return nil, nil, f
	}
	return t, colons, nil
}

// take makes doc the tree if it is what a frontmatter may be.
func (t *tree) take(doc *yaml.Node, maxDepth int) *fault {
	if doc.Kind == 0 || len(doc.Content) != 1 {
		return refuse(finding.SkillFrontmatterNotMapping, t.doc.start, "the frontmatter is empty: give it name and description")
	}
	t.root = doc.Content[0]
	aliases := false
	if f := t.vet(t.root, maxDepth, &aliases); f != nil {
		return f
	}
	if aliases {
		e := expansion{sizes: map[*yaml.Node]size{}}
		if !e.count(t.root) {
			return refuse(finding.SkillAliasExpansion, t.offset(e.at),
				"this alias refers to itself or expands too far: write the value out")
		}
	}
	if t.root.Kind != yaml.MappingNode {
		return refuse(finding.SkillFrontmatterNotMapping, t.offset(t.root), "the frontmatter is no mapping: write key: value lines")
	}
	return nil
}

// unmarshal reads the one document of src; none leaves into as it is. It turns
// a panic of the YAML reader into an error: what it reads is not ours.
func unmarshal(src []byte, into *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	if err := yaml.Unmarshal(src, into); err != nil {
		return err
	}
	// The reader stops where the first document ends and drops the rest. A
	// block mapping in column one ends with the text; others can end before,
	// be it by a key that is indented less than the first.
	if len(into.Content) != 1 || into.Content[0].Kind == yaml.MappingNode && into.Content[0].Style&yaml.FlowStyle == 0 && into.Content[0].Column == 1 {
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(src))
	for n := 0; ; n++ {
		switch err := dec.Decode(new(yaml.Node)); {
		case err == io.EOF && n <= 1:
			return nil
		case err == nil && n > 0:
			return errors.New("yaml: more than one document")
		case err != nil:
			return err
		}
	}
}

const tooDeep = "the frontmatter is nested too deep: flatten it"

// vet walks a node and its children, not the targets of aliases. The depth is
// that of lists and mappings that may still follow.
func (t *tree) vet(n *yaml.Node, depth int, aliases *bool) *fault {
	if n.Style&yaml.TaggedStyle != 0 && !coreTag(n.ShortTag()) {
		return refuse(finding.SkillCustomTag, t.offset(n), "the tag "+printable.Quote(n.Tag)+" has no meaning here: remove it")
	}
	switch n.Kind {
	case yaml.AliasNode:
		*aliases = true
		return nil
	case yaml.ScalarNode:
		return nil
	}
	if depth <= 0 {
		return refuse(finding.SkillTooComplex, t.offset(n), tooDeep)
	}
	if n.Kind == yaml.MappingNode {
		if f := t.vetKeys(n); f != nil {
			return f
		}
	}
	for i, c := range n.Content {
		if f := t.vet(c, depth-1, aliases); f != nil {
			if token, ok := tokenOf(n, i); ok {
				f.pointer = strictjson.Pointer(token) + f.pointer
			}
			return f
		}
	}
	return nil
}

// tokenOf returns the token of a JSON Pointer for the i-th child of a node: the
// key of a mapping's value, or the index of an element.
func tokenOf(n *yaml.Node, i int) (string, bool) {
	if n.Kind == yaml.SequenceNode {
		return strconv.Itoa(i), true
	}
	key := follow(n.Content[i&^1])
	return key.Value, key.Kind == yaml.ScalarNode
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
			f := refuse(finding.SkillMergeKey, t.offset(n.Content[i]), "merge keys are not read: write out what << would bring in")
			f.pointer = strictjson.Pointer(key.Value)
			return f
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
			f := refuse(finding.SkillDuplicateKey, t.offset(n.Content[i]), "the key "+printable.Quote(key.Value)+" stands twice: remove one")
			f.pointer = strictjson.Pointer(key.Value)
			return f
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
var parserMessage = regexp.MustCompile(`^(did not find expected (key|node content|'-' indicator|',' or ']'|',' or '}'|<document start>|<stream-start>)|found undefined tag|found duplicate|found incompatible)`)

var lineMessage = regexp.MustCompile(`^line (\d+): (.*)$`)

// problemOf returns what the reader finds wrong with front, or said in err, and
// the line, from 1, that it means; nothing where it finds no fault.
func problemOf(front []byte, err error) (line int, problem string) {
	// On the first line the reader tells where it gave up, elsewhere where the
	// construct begins that it gave up in. The latter is of more use.
	if again := unmarshal(append([]byte("\n"), front...), new(yaml.Node)); again != nil {
		err = again
	}
	if err == nil {
		return 0, ""
	}
	line, problem = 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := lineMessage.FindStringSubmatch(problem); m != nil {
		line, _ = strconv.Atoi(m[1])
		problem = m[2]
		if !parserMessage.MatchString(problem) {
			line--
		}
	}
	return line, problem
}

// mappingProblem is what the reader says of a colon that it takes for the end
// of a key where none can stand.
const mappingProblem = "mapping values are not allowed"

// searchable is the size up to which a frontmatter is read again in parts to
// find a fault. Those that people write are smaller.
const searchable = 8 << 10

// syntax explains an error of the YAML reader, in an author's words and as
// near to the fault as can be told.
func (t *tree) syntax(err error) *fault {
	front := t.doc.front
	line, problem := problemOf(front, err)
	is := func(prefix string) bool { return strings.HasPrefix(problem, prefix) }
	code, off := finding.SkillInvalidYAML, t.value(line)
	var text string
	switch first := t.firstText(line); {
	case t.directive() >= 0:
		off = t.directive()
		text = "a YAML directive cannot stand in frontmatter: remove it, or put a text that begins with % in quotes"
	case is("control characters"):
		if i := bytes.IndexFunc(front, isControl); i >= 0 {
			off = t.doc.start + i
		}
		text = "a control character stands here: remove it"
	case is(mappingProblem):
		if line, _ := cutLine(front[off-t.doc.start:]); off == first || !colons(line) {
			off = first
			text = "a key cannot stand here: check the indentation and the line before, and put text with a colon and a blank in quotes"
			break
		}
		text = "the value has a colon followed by a blank: put it in quotes"
	case is("unknown anchor"):
		off = t.alias(problem, off)
		text = "this alias has no anchor: put a value that begins with * in quotes"
	case is("found a tab"), is("found character that cannot start any token") && t.isTab(first):
		off = t.tab(line)
		text = "a tab stands in the indentation: indent with blanks"
	case is("found character that cannot start any token"):
		text = "a value cannot begin like this: put it in quotes"
	case is("could not find expected ':'") && t.separator() >= 0:
		off = t.separator()
		text = "an invisible line separator stands here, which YAML takes for a line end: remove it or put the value in quotes"
	case is("could not find expected ':'"):
		off = first
		text = "a line has no key: write key: value, and indent the lines of a longer value"
	case is("found unexpected end of stream"):
		text = "a quoted value has no end"
	case is("did not find expected key"), is("did not find expected '-' indicator"), is("did not find expected <document start>"):
		if len(front) > searchable {
			off = first
			text = "something cannot stand where it does in what begins here: check indentation, quotes and brackets"
			break
		}
		off = t.unexpected(problem)
		text = "this cannot stand here: check the indentation, and the quotes and brackets before it"
		if t.behindBracket(off) {
			text = "a value that begins with a bracket or a quote ends with it: put the whole value in quotes"
		}
	case is("did not find expected ',' or"):
		text = "a list or mapping in brackets has no end or no comma: put a text that begins with a bracket in quotes"
	case is("exceeded max depth"):
		code, text = finding.SkillTooComplex, tooDeep
	default:
		text = "not YAML: " + printable.Escape(problem)
	}
	return refuse(code, off, text)
}

// fails reports whether the reader meets that problem in the first n bytes.
func (t *tree) fails(n int, problem string) bool {
	err := unmarshal(t.doc.front[:n], new(yaml.Node))
	return err != nil && strings.HasSuffix(err.Error(), problem)
}

// unexpected returns the offset of the first character with which the reader
// meets the problem. It looks for the line first: a key that is cut short on a
// later line is a problem of its own.
func (t *tree) unexpected(problem string) int {
	ends := append(slices.Clone(t.lines[1:]), len(t.doc.front))
	line := sort.Search(len(ends)-1, func(i int) bool { return t.fails(ends[i], problem) })
	start := t.lines[line]
	end := start + sort.Search(ends[line]-start, func(n int) bool { return t.fails(start+n, problem) })
	_, size := utf8.DecodeLastRune(t.doc.front[:end])
	return t.doc.start + end - size
}

// behindBracket reports whether there is a value before off, in the same line, that
// began with a bracket or a quote.
func (t *tree) behindBracket(off int) bool {
	before := t.doc.front[:off-t.doc.start]
	_, value, ok := bytes.Cut(before[bytes.LastIndexByte(before, '\n')+1:], []byte(": "))
	value = bytes.TrimLeft(value, " ")
	return ok && len(value) > 0 && bytes.IndexByte([]byte(`[{"'`), value[0]) >= 0
}

// alias returns the offset of the alias that the problem "unknown anchor" is
// about: other text may look like it.
func (t *tree) alias(problem string, off int) int {
	_, name, _ := strings.Cut(problem, "'")
	name, _, _ = strings.Cut(name, "'")
	var ends []int
	for _, at := range regexp.MustCompile(`\*`+regexp.QuoteMeta(name)+`(?:[^0-9A-Za-z_-]|$)`).FindAllIndex(t.doc.front, -1) {
		ends = append(ends, at[0]+1+len(name))
	}
	i := 0
	if len(t.doc.front) <= searchable {
		i = sort.Search(len(ends)-1, func(i int) bool { return t.fails(ends[i], problem) })
	}
	if i < 0 || i >= len(ends) {
		return off
	}
	return t.doc.start + ends[i] - 1 - len(name)
}

// directive returns the offset of a % that begins the YAML, or -1.
func (t *tree) directive() int {
	for off := range yamlLines(t.doc.front) {
		switch line, _ := cutLine(t.doc.front[off:]); {
		case bytes.HasPrefix(line, []byte("%")):
			return t.doc.start + off
		case len(bytes.TrimSpace(line)) > 0 && line[0] != '#':
			return -1
		}
	}
	return -1
}

func (t *tree) isTab(off int) bool {
	i := off - t.doc.start
	return i < len(t.doc.front) && t.doc.front[i] == '\t'
}

// tab returns the offset of the first tab that indents this line or a later one.
func (t *tree) tab(line int) int {
	for n := line; n <= len(t.lines); n++ {
		if off := t.firstText(n); t.isTab(off) {
			return off
		}
	}
	return t.firstText(line)
}

// separator returns the offset of the first line break that editors do not show
// as one, or -1.
func (t *tree) separator() int {
	i := bytes.IndexFunc(t.doc.front, func(r rune) bool { return r == '\u0085' || r == '\u2028' || r == '\u2029' })
	if i < 0 {
		return -1
	}
	return t.doc.start + i
}

func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 && r != 0x85 || r >= 0xfffe && r <= 0xffff
}

// firstText returns the offset of the first character of a line that is no blank.
func (t *tree) firstText(line int) int {
	off := t.position(line, 1)
	for i := off - t.doc.start; i < len(t.doc.front); i++ {
		if t.doc.front[i] != ' ' {
			return t.doc.start + i
		}
	}
	return off
}

// value returns the offset of the value of a "key: value" line whose value may
// be at fault, or of the line's first text.
func (t *tree) value(line int) int {
	off := t.firstText(line)
	text, _ := cutLine(t.doc.front[off-t.doc.start:])
	colon := bytes.Index(text, []byte(": "))
	if colon < 0 || bytes.ContainsAny(text[:colon], " \t\"'#") {
		return off
	}
	v := text[colon+1:]
	return off + colon + 1 + len(v) - len(bytes.TrimLeft(v, " \t"))
}

// colons reports whether text has what YAML takes for the end of a key.
func colons(text []byte) bool {
	return bytes.Contains(text, []byte(": ")) || bytes.HasSuffix(text, []byte(":"))
}
