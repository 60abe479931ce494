package skills

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/internal/strictjson"
	"github.com/plugberth/plugberth/internal/textpos"
	"github.com/plugberth/plugberth/plugin/finding"
)

// Limits of the specification, in Unicode code points.
const (
	MaxDescription   = 1024
	MaxCompatibility = 500
)

// fileName is the file that makes a directory a skill.
const fileName = "SKILL.md"

// Parse judges the content of one SKILL.md for a skill in the directory of
// that name (AS), as it would be judged without siblings. It returns the skill,
// or nil where one of the findings is an error. The skill has no files:
// [Skill.Body] and its like fail on it. The error is always [ErrOptions].
func Parse(directory string, content []byte, opts Options) (*Skill, finding.List, error) {
	if err := opts.check(); err != nil {
		return nil, nil, err
	}
	opts.Limits = opts.Limits.withDefaults()
	sheet := &report.Sheet{File: fileName, Subject: directory, Source: content, Limit: skillFindings}
	var s *Skill
	if int64(len(content)) > opts.Limits.File {
		sheet.Add(finding.SkillTooLarge, directory, "", report.Whole, tooLarge, opts.Limits.File)
	} else {
		s = judge(directory, content, opts, sheet)
	}
	list := sheet.Findings()
	if s != nil && opts.Mode == Lenient {
		offerNames([]*Skill{s}, nil, list)
	}
	return s, list, nil
}

const (
	toolsInOneLine   = "write the tools in one line, separated by spaces"
	allowedToolsList = "allowed-tools is a list: " + toolsInOneLine
)

const tooLarge = "SKILL.md is larger than %d bytes: move detail to files of their own"

// judge reads one SKILL.md and notes on the sheet what is wrong with it.
func judge(directory string, content []byte, opts Options, sheet *report.Sheet) *Skill {
	doc, f := split(content, opts.Mode)
	if doc.bom {
		sheet.Add(finding.ByteOrderMark, directory, "", 0, "the file begins with a byte order mark, which is ignored: save it without")
	}
	if f == nil {
		f = doc.check(opts.Limits.Frontmatter)
	}
	if f != nil {
		sheet.Add(f.code, directory, f.pointer, f.off, f.message)
		return nil
	}
	if doc.blank {
		sheet.Add(finding.SkillNoFrontmatterLenient, directory, "", 0, blankLines+strictSkips)
	}
	if off := textpos.FirstInvalid(doc.body); off >= 0 {
		sheet.Add(finding.SkillBodyEncoding, directory, "", len(content)-len(doc.body)+off, "this byte of the body is not UTF-8: save the file as UTF-8")
	}
	t, colons, f := doc.parse(opts.Limits.Depth, opts.Mode)
	if f != nil {
		sheet.Add(f.code, directory, f.pointer, f.off, f.message)
		return nil
	}
	j := judgment{t: t, sheet: sheet, mode: opts.Mode,
		skill: &Skill{directory: directory, front: string(doc.front), limits: opts.Limits, mode: opts.Mode}}
	if doc.blank {
		j.skill.rarely().blank = bytes.Count(content[:doc.open], []byte("\n"))
	}
	start := sheet.Len()
	if colons != nil {
		j.noteTexts(colons)
	}
	j.mapping()
	if sheet.Errors(start) {
		return nil
	}
	return j.skill
}

// judgment is the judging of one frontmatter.
type judgment struct {
	t     *tree
	sheet *report.Sheet
	mode  Mode
	skill *Skill

	name, description bool // a fault or value of it was met
}

func (j *judgment) add(code finding.Code, pointer string, n *yaml.Node, format string, args ...any) {
	j.sheet.Add(code, j.skill.directory, pointer, j.t.offset(n), format, args...)
}

func (j *judgment) mapping() {
	pairs := j.t.root.Content
	for i := 0; i+1 < len(pairs); i += 2 {
		key := follow(pairs[i])
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" {
			j.add(finding.SkillKeyNotText, "", pairs[i], "a key must be plain text")
			continue
		}
		j.field(pairs[i], key.Value, pairs[i+1])
	}
	missing := j.t.doc.open // where the frontmatter opens
	if j.t.root.Style&yaml.FlowStyle != 0 {
		missing = j.t.offset(j.t.root) // its brace
	}
	if !j.name {
		j.rename(finding.SkillNameMissing, "", missing, "name is missing: add it, equal to the directory name "+printable.Quote(j.skill.directory))
	}
	if !j.description {
		j.sheet.Add(finding.SkillDescriptionMissing, j.skill.directory, "", missing, "description is missing: say what the skill does and when to use it")
	}
}

// field judges one key of the frontmatter; at is the key's node.
func (j *judgment) field(at *yaml.Node, key string, value *yaml.Node) {
	pointer := strictjson.Pointer(key)
	switch key {
	case "name":
		j.name = true
		if isNull(value) {
			j.rename(finding.SkillNameMissing, pointer, j.t.offset(emptyAt(at, value)), "name has no value: give it the directory name "+printable.Quote(j.skill.directory))
			return
		}
		if text, ok := j.text(pointer, value); ok {
			j.judgeName(text, value)
		}
	case "description":
		j.description = true
		if isNull(value) {
			j.add(finding.SkillDescriptionMissing, pointer, emptyAt(at, value), "description has no value: say what the skill does and when to use it")
			return
		}
		if text, ok := j.text(pointer, value); ok {
			n := utf8.RuneCountInString(strings.TrimSpace(text))
			switch {
			case n == 0:
				j.add(finding.SkillDescriptionMissing, pointer, value, "description is blank: say what the skill does and when to use it")
			case n > MaxDescription && n <= maxLenientDescription:
				j.forgive(finding.SkillDescriptionTooLong, pointer, value,
					"description has %d characters: shorten it to %d", n, MaxDescription)
			case n > MaxDescription:
				j.add(finding.SkillDescriptionTooLong, pointer, value,
					"description has %d characters: shorten it to %d", n, MaxDescription)
			}
			j.skill.description = text
		}
	case "license":
		j.skill.license, _ = j.optional(pointer, key, at, value)
	case "compatibility":
		text, ok := j.optional(pointer, key, at, value)
		if n := utf8.RuneCountInString(text); ok && n > MaxCompatibility {
			j.forgive(finding.SkillCompatibilityTooLong, pointer, value,
				"compatibility has %d characters: shorten it to %d", n, MaxCompatibility)
		}
		j.skill.compatibility = text
	case "allowed-tools":
		switch list := follow(value); {
		case list.Kind == yaml.SequenceNode && j.mode == Lenient:
			j.joinTools(pointer, value, list)
			return
		case list.Kind == yaml.SequenceNode:
			j.add(finding.SkillAllowedToolsList, pointer, value, allowedToolsList)
			return
		}
		j.skill.tools, _ = j.optional(pointer, key, at, value)
	case "metadata":
		j.metadata(pointer, at, value)
	default:
		j.add(finding.SkillUnknownKey, pointer, at, "the key %s is not part of the specification; it is kept for the host", printable.Quote(key))
		rare := j.skill.rarely()
		rare.extra = append(rare.extra, key)
	}
}

func (j *judgment) judgeName(name string, value *yaml.Node) {
	j.skill.name = name
	if err := CheckName(name); err != nil {
		reason := strings.TrimPrefix(err.Error(), ErrName.Error()+": ")
		j.rename(finding.SkillNameInvalid, "/name", j.t.offset(value), fmt.Sprintf(
			"%s is no skill name, %s: use 1 to %d of a-z, 0-9 and single hyphens between them", printable.Quote(name), reason, maxName))
		return
	}
	if name != j.skill.directory {
		j.rename(finding.SkillNameMismatch, "/name", j.t.offset(value), fmt.Sprintf(
			"name is %s but the directory is %s: rename one of the two", printable.Quote(name), printable.Quote(j.skill.directory)))
	}
}

// emptyAt returns what to point at for a value that is null or empty: the value
// where it is written, as ~ or "", and its key where nothing is.
func emptyAt(key, value *yaml.Node) *yaml.Node {
	if value.Kind == yaml.ScalarNode && value.Value == "" && value.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0 {
		return key
	}
	return value
}

func isNull(n *yaml.Node) bool {
	n = follow(n)
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// text returns a scalar's literal text, with a warning where YAML reads it as
// something other than text.
func (j *judgment) text(pointer string, value *yaml.Node) (string, bool) {
	n := follow(value)
	if n.Kind != yaml.ScalarNode {
		j.add(finding.SkillWrongType, pointer, value, "%s is %s: make it one text", pointer[1:], kindName(n))
		return "", false
	}
	if tag := n.ShortTag(); tag != "!!str" && tag != "!!null" {
		j.add(finding.SkillNotAString, pointer, value, "YAML reads this as %s; it is taken as its text: put it in quotes", tagName(tag))
	}
	return n.Value, true
}

// optional is text for a key that counts as absent when it is empty.
func (j *judgment) optional(pointer, key string, at, value *yaml.Node) (string, bool) {
	if n := follow(value); n.Kind == yaml.ScalarNode && (isNull(n) || n.Value == "") {
		j.add(finding.SkillEmptyValue, pointer, emptyAt(at, value), "%s has no value and counts as absent: remove it or give it a value", printable.Quote(key))
		return "", false
	}
	return j.text(pointer, value)
}

func (j *judgment) metadata(pointer string, at, value *yaml.Node) {
	n := follow(value)
	switch {
	case n.Kind == yaml.ScalarNode && (isNull(n) || n.Value == ""):
		j.add(finding.SkillEmptyValue, pointer, emptyAt(at, value), `"metadata" has no value and counts as absent: remove it or give it a value`)
		return
	case n.Kind != yaml.MappingNode:
		j.add(finding.SkillWrongType, pointer, value, "metadata is %s: make it key: value lines", kindName(n))
		return
	}
	j.skill.metadata = make(map[string]string, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		at, value := n.Content[i], n.Content[i+1]
		key := follow(at)
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" {
			j.add(finding.SkillKeyNotText, pointer, at, "a key of metadata must be plain text")
			continue
		}
		below := pointer + strictjson.Pointer(key.Value)
		if tag := key.ShortTag(); tag != "!!str" {
			j.add(finding.SkillNotAString, below, at, "YAML reads this key as %s; it is taken as its text: put it in quotes", tagName(tag))
		}
		switch v := follow(value); {
		case v.Kind != yaml.ScalarNode && j.mode == Lenient:
			j.nested(below, key.Value, value)
		case v.Kind != yaml.ScalarNode:
			j.add(finding.SkillMetadataValue, below, value, "the value of %s is %s: make it one text", printable.Quote(key.Value), kindName(v))
		case isNull(v):
			j.add(finding.SkillEmptyValue, below, emptyAt(at, value), "%s has no value and counts as absent: remove it or give it a value", printable.Quote(key.Value))
		default:
			j.skill.metadata[key.Value], _ = j.text(below, value)
		}
	}
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	return "a text"
}

func tagName(tag string) string {
	switch tag {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!timestamp":
		return "a date"
	}
	return "something other than text"
}
