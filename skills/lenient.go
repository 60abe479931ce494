package skills

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/strictjson"
	"github.com/plugberth/plugberth/plugin/finding"
)

// maxLenientDescription is how long a description may be in lenient mode.
const maxLenientDescription = 8192

// strictSkips is how the message of a forgiven fault ends.
const strictSkips = "; strict mode skips the skill"

// forgiven gives the code of the warning that takes an error's place in lenient
// mode, for faults that both modes note in one place.
var forgiven = map[finding.Code]finding.Code{
	finding.SkillNameMissing:          finding.SkillNameMissingLenient,
	finding.SkillNameInvalid:          finding.SkillNameInvalidLenient,
	finding.SkillNameMismatch:         finding.SkillNameMismatchLenient,
	finding.SkillDescriptionTooLong:   finding.SkillDescriptionTooLongLenient,
	finding.SkillCompatibilityTooLong: finding.SkillCompatibilityTooLongLenient,
}

// forgive notes a fault as an error in strict mode and as a warning in lenient
// mode.
func (j *judgment) forgive(code finding.Code, pointer string, n *yaml.Node, format string, args ...any) {
	if j.mode == Lenient {
		code, format = forgiven[code], format+strictSkips
	}
	j.add(code, pointer, n, format, args...)
}

// rename notes a fault of the name. In lenient mode the skill gets another,
// when all names are known; the message is completed then.
func (j *judgment) rename(code finding.Code, pointer string, off int, message string) {
	if j.mode == Lenient {
		code, message = forgiven[code], message+strictSkips
		j.skill.rarely().renamed = true
	}
	j.sheet.Add(code, j.skill.directory, pointer, off, "%s", message)
}

// How many values of one frontmatter are read as text for their colons, and how
// much YAML is read for that: with each it is read again.
const (
	maxTexts  = 32
	textBytes = 512 << 10
)

// texts are one-line plain values with a colon that YAML cannot read.
type texts struct {
	front []byte   // the frontmatter with the values in quotes
	at    []column // where the values begin
}

// column is a position as the YAML reader counts.
type column struct{ line, column int }

// readColons reads a frontmatter that the YAML reader refused, and takes each
// value for text that has a colon where only the end of a key could be. A value
// is put in quotes in its line, so that what the reader says about lines, and
// about columns up to the value, stays true of the original. It returns nil where
// that does not help.
func readColons(front []byte, into *yaml.Node) *texts {
	t := &texts{front: front}
	for n := 0; n < maxTexts && n*len(front) < textBytes; n++ {
		line, problem := problemOf(t.front, nil)
		if !strings.HasPrefix(problem, mappingProblem) {
			break
		}
		at, quoted, ok := quoteValue(t.front, line)
		if !ok {
			break
		}
		t.front = quoted
		t.at = append(t.at, at)
	}
	*into = yaml.Node{}
	if len(t.at) == 0 || unmarshal(t.front, into) != nil {
		return nil
	}
	return t
}

// quoteValue puts the value in that line in quotes, if the line is a "key:
// value" with a word for a key and a plain value that ends in the line and
// holds what YAML takes for the end of a key.
func quoteValue(front []byte, number int) (at column, quoted []byte, ok bool) {
	var starts []int
	for off := range yamlLines(front) {
		starts = append(starts, off)
	}
	if number < 1 || number > len(starts) {
		return at, nil, false
	}
	start := starts[number-1]
	line := yamlLine(front[start:])
	text := bytes.TrimLeft(line, " ")
	indent := len(line) - len(text)
	for _, off := range starts[number:] {
		next := yamlLine(front[off:])
		rest := bytes.TrimLeft(next, " \t")
		if len(rest) == 0 {
			continue
		}
		if rest[0] != '#' && len(next)-len(rest) > indent {
			return at, nil, false // the value goes on
		}
		break
	}
	colon := bytes.Index(text, []byte(": "))
	if colon < 1 || bytes.ContainsAny(text[:colon], " \t\"'#{}[],&*!|>%@`") {
		return at, nil, false
	}
	value := bytes.TrimLeft(text[colon+1:], " \t")
	from := start + len(line) - len(value)
	for i := 1; i < len(value); i++ {
		if value[i] == '#' && (value[i-1] == ' ' || value[i-1] == '\t') {
			value = value[:i]
			break
		}
	}
	value = bytes.TrimRight(value, " \t")
	if !isPlain(value) || !colons(bytes.ReplaceAll(value, []byte("\t"), []byte(" "))) {
		return at, nil, false
	}
	var out bytes.Buffer
	out.Grow(len(front) + 2)
	out.Write(front[:from])
	out.WriteByte('\'')
	out.Write(bytes.ReplaceAll(value, []byte("'"), []byte("''")))
	out.WriteByte('\'')
	out.Write(front[from+len(value):])
	return column{number, utf8.RuneCount(front[start:from]) + 1}, out.Bytes(), true
}

// yamlLine returns the first line of s as the YAML reader counts, without its end.
func yamlLine(s []byte) []byte {
	for i := range s {
		if yamlBreak(s[i:]) > 0 {
			return s[:i]
		}
	}
	return s
}

// isPlain reports whether YAML would begin to read a value as plain text.
func isPlain(value []byte) bool {
	if len(value) == 0 || bytes.IndexByte([]byte("\"'[]{},|>&*!%@`#"), value[0]) >= 0 {
		return false
	}
	if c := value[0]; c == '-' || c == '?' || c == ':' {
		return len(value) > 1 && value[1] != ' ' && value[1] != '\t'
	}
	return true
}

// noteTexts notes the values that are read as text.
func (j *judgment) noteTexts(colons *texts) {
	j.skill.rarely().front = colons.front
	for _, at := range colons.at {
		pointer, _ := pointerAt(j.t.root, at)
		j.sheet.Add(finding.SkillInvalidYAMLLenient, j.skill.directory, pointer, j.t.position(at.line, at.column),
			"the value has a colon followed by a blank and is read as text: put it in quotes"+strictSkips)
	}
}

// pointerAt returns the pointer of the value that begins at that place.
func pointerAt(n *yaml.Node, at column) (string, bool) {
	if n.Line > at.line {
		return "", false
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		}
		token, ok := tokenOf(n, i)
		if !ok {
			continue
		}
		if c.Line == at.line && c.Column == at.column && c.Kind == yaml.ScalarNode {
			return strictjson.Pointer(token), true
		}
		if below, ok := pointerAt(c, at); ok {
			return strictjson.Pointer(token) + below, true
		}
	}
	return "", false
}

// joinTools reads an allowed-tools list as the one line it should be. It is an
// error where an item is no text.
func (j *judgment) joinTools(pointer string, value, list *yaml.Node) {
	j.add(finding.SkillAllowedToolsListLenient, pointer, value, allowedToolsList+strictSkips)
	var items []string
	for i, item := range list.Content {
		below := pointer + "/" + strconv.Itoa(i)
		switch n := follow(item); {
		case n.Kind != yaml.ScalarNode:
			j.add(finding.SkillAllowedToolsList, below, item, "this tool is %s: "+toolsInOneLine, kindName(n))
		case isNull(n) || n.Value == "":
			j.add(finding.SkillEmptyValue, below, emptyAt(item, item), "this tool has no name and counts as absent: remove it")
		default:
			text, _ := j.text(below, item)
			items = append(items, text)
		}
	}
	j.skill.tools = strings.Join(items, " ")
}

// nested reads a metadata value that is a list or a mapping as its YAML text.
func (j *judgment) nested(pointer, key string, value *yaml.Node) {
	n := follow(value)
	text, err := yamlText(n, j.skill.limits.Frontmatter)
	if err != nil {
		j.add(finding.SkillMetadataValue, pointer, value, "the value of %s is %s and cannot be written as text: make it one text", printable.Quote(key), kindName(n))
		return
	}
	j.add(finding.SkillMetadataValueLenient, pointer, value, "the value of %s is %s and is kept as its YAML text: make it one text"+strictSkips, printable.Quote(key), kindName(n))
	j.skill.metadata[key] = text
}

// yamlText writes a list or a mapping as YAML, its aliases written out, in at
// most limit bytes.
func yamlText(n *yaml.Node, limit int) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	out := cappedBuffer{limit: limit}
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(bare(n)); err != nil {
		return "", err
	}
	if err := enc.Close(); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// bare copies a node without comments and anchors, with aliases written out.
// Those are known to expand little. Tags stay where the value alone would not
// mean the same.
func bare(n *yaml.Node) *yaml.Node {
	n = follow(n)
	c := &yaml.Node{Kind: n.Kind, Style: n.Style &^ yaml.TaggedStyle, Tag: n.ShortTag(), Value: n.Value}
	switch {
	case n.Kind != yaml.ScalarNode:
	case c.Tag != "!!str":
		c.Style = 0
		if c.Value == "" {
			c.Value = "null"
		}
	case strings.ContainsFunc(n.Value, func(r rune) bool { return !unicode.IsGraphic(r) }):
		c.Style = yaml.DoubleQuotedStyle // in one line
	}
	for _, child := range n.Content {
		c.Content = append(c.Content, bare(child))
	}
	return c
}

var errTooLong = errors.New("the text is too long")

// cappedBuffer refuses what goes over its limit.
type cappedBuffer struct {
	bytes.Buffer
	limit int
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}
