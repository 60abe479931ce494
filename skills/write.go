package skills

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/plugberth/plugberth/internal/filetree"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/plugin/finding"
)

// Draft is a skill to be written. [Draft.Encode] makes its SKILL.md; the drafts
// of a plugin package take its files along. The zero value lacks a name and a
// description, which every skill needs.
type Draft struct {
	Name          string            // also that of its directory; see [CheckName] and [NearestName]
	Description   string            // what it does and when to use it, up to [MaxDescription] characters
	License       string            // "" for none
	Compatibility string            // "" for none, up to [MaxCompatibility] characters
	Metadata      map[string]string // nil for none; written in the order of the keys
	AllowedTools  []string          // each as [Skill.AllowedTools] returns it; empty for none
	Extra         []ExtraKey        // keys that the specification does not define, in this order
	Body          string            // what follows the frontmatter, to the letter
	Files         fs.FS             // the files beside SKILL.md, nil for none; a SKILL.md at its top is left out
}

// ExtraKey is a frontmatter Key that the specification does not define, and its
// value.
type ExtraKey struct {
	Key string
	// Value is nil, a string, boolean or number, a slice of such values or a map
	// from strings to them, or a *yaml.Node of gopkg.in/yaml.v3, which keeps order
	// and the literal text of what is no string; comments are left out.
	Value any
}

// FieldError says what is wrong with one field of a draft.
type FieldError struct {
	Field   string // such as "name" or "metadata[author]"; of a package "skills[0].name"
	Reason  string // what to change, safe to show
	Nearest string // for a name: the nearest valid one, or "" where nothing of it can be kept
	cause   error
}

// Error returns the field, the reason and the nearest name.
func (e *FieldError) Error() string {
	text := e.Field + ": " + e.Reason
	if e.Nearest != "" {
		text += "; the nearest valid name is " + printable.Quote(e.Nearest)
	}
	return text
}

// Unwrap returns what the error came from, such as [ErrName], or nil.
func (e *FieldError) Unwrap() error { return e.cause }

// DraftError says why a draft is no skill that conforms.
type DraftError struct {
	Fields []*FieldError // at least one
}

// Error returns the errors of all fields.
func (e *DraftError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Error()
	}
	return "skills: the draft does not conform: " + strings.Join(parts, "; ")
}

// Unwrap returns the errors of the fields.
func (e *DraftError) Unwrap() []error {
	out := make([]error, len(e.Fields))
	for i, f := range e.Fields {
		out[i] = f
	}
	return out
}

// Encode returns the SKILL.md of the draft (AS): the keys of the specification
// in its order, then the extra ones, as plain YAML that people would write where
// the values allow it, and the body unchanged. Reading it gives the same values,
// whatever they hold: that is checked, by reading it as [Strict] mode does with
// the default limits. Equal drafts give equal bytes.
//
// It fails with a [*DraftError] where the draft does not conform, has a warning
// when read, or holds a value that YAML cannot hold, such as text that is not
// UTF-8.
func (d Draft) Encode() ([]byte, error) {
	e := encoding{draft: d}
	e.check()
	if len(e.faults) > 0 {
		return nil, &DraftError{e.faults}
	}
	front, err := e.front()
	if len(e.faults) > 0 {
		return nil, &DraftError{e.faults}
	}
	if err != nil {
		return nil, &DraftError{[]*FieldError{{Field: "frontmatter", Reason: "it cannot be written as YAML: " + printable.Escape(err.Error()), cause: err}}}
	}
	out := make([]byte, 0, len(front)+len(d.Body)+8)
	out = append(out, "---\n"...)
	out = append(out, front...)
	out = append(out, "---\n"...)
	out = append(out, d.Body...)
	e.readBack(out)
	if len(e.faults) > 0 {
		return nil, &DraftError{e.faults}
	}
	return out, nil
}

// encoding is the writing of one SKILL.md.
type encoding struct {
	draft  Draft
	extra  []*yaml.Node // the values of draft.Extra as they are written
	faults []*FieldError
}

func (e *encoding) fault(field, reason string) {
	e.faults = append(e.faults, &FieldError{Field: field, Reason: reason})
}

const notUTF8 = "it is not UTF-8: YAML cannot hold it"

// check refuses what writing would change or lose.
func (e *encoding) check() {
	d := e.draft
	if err := CheckName(d.Name); err != nil {
		e.faults = append(e.faults, &FieldError{
			Field: "name", Reason: "it is no skill name, " + strings.TrimPrefix(err.Error(), ErrName.Error()+": "), Nearest: NearestName(d.Name), cause: err,
		})
	}
	for _, f := range []struct{ field, text string }{
		{"description", d.Description}, {"license", d.License}, {"compatibility", d.Compatibility}, {"body", d.Body},
	} {
		if !utf8.ValidString(f.text) {
			e.fault(f.field, notUTF8)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.Metadata)) {
		if !utf8.ValidString(key) || !utf8.ValidString(d.Metadata[key]) {
			e.fault(fieldOf("metadata", key), notUTF8)
		}
	}
	for i, tool := range d.AllowedTools {
		field := fmt.Sprintf("allowedTools[%d]", i)
		if !utf8.ValidString(tool) {
			e.fault(field, notUTF8)
		} else if !slices.Equal(splitTools(tool), []string{tool}) {
			e.fault(field, "it is not one tool: blanks stand inside parentheses only, which are closed")
		}
	}
	if tools := splitTools(strings.Join(d.AllowedTools, " ")); len(e.faults) == 0 && !slices.Equal(tools, d.AllowedTools) && len(d.AllowedTools) > 0 {
		e.fault("allowedTools", "the tools do not stay apart in one line: close all parentheses")
	}
	e.checkExtra()
}

func (e *encoding) checkExtra() {
	seen := map[string]bool{}
	for i, x := range e.draft.Extra {
		field := fieldOf("extra", x.Key)
		switch {
		case !utf8.ValidString(x.Key):
			e.fault(fmt.Sprintf("extra[%d]", i), notUTF8)
			continue
		case specified(x.Key):
			e.fault(field, "the specification defines this key: use the field for it")
		case seen[x.Key]:
			e.fault(field, "the key stands twice: remove one")
		}
		seen[x.Key] = true
		n, err := nodeOf(x.Value)
		if err != nil {
			e.fault(field, "the value cannot be written: "+printable.Escape(err.Error()))
		}
		e.extra = append(e.extra, n)
	}
}

// fieldOf names one value of a mapping.
func fieldOf(field, key string) string { return field + "[" + printable.Escape(key) + "]" }

func specified(key string) bool {
	switch key {
	case "name", "description", "license", "compatibility", "metadata", "allowed-tools":
		return true
	}
	return false
}

// readBack reads the file as a strict loader does and compares the values.
func (e *encoding) readBack(file []byte) {
	d := e.draft
	s, findings, err := Parse(d.Name, file, Options{})
	if err != nil {
		e.fault("frontmatter", printable.Escape(err.Error()))
		return
	}
	for _, f := range findings.AtLeast(finding.SeverityWarning) {
		e.fault(fieldAt(f.Pointer, f.Code), f.Message)
	}
	if s == nil || len(e.faults) > 0 {
		return
	}
	differs := func(field string, same bool) {
		if !same {
			e.fault(field, "YAML does not give this value back as it is")
		}
	}
	differs("name", s.Name() == d.Name)
	differs("description", s.Description() == d.Description)
	differs("license", s.License() == d.License)
	differs("compatibility", s.Compatibility() == d.Compatibility)
	differs("metadata", maps.Equal(s.metadata, d.Metadata) && (s.metadata == nil) == (d.Metadata == nil))
	differs("allowedTools", slices.Equal(s.AllowedTools(), d.AllowedTools))
	keys := s.ExtraKeys()
	for i, x := range d.Extra {
		var n yaml.Node
		same := i < len(keys) && keys[i] == x.Key && s.Decode(x.Key, &n) == nil && sameValue(&n, e.extra[i])
		differs(fieldOf("extra", x.Key), same)
	}
	doc, f := split(file, Strict)
	differs("body", f == nil && string(doc.body) == d.Body)
}

// fieldAt returns the field of a draft that a finding is about.
func fieldAt(pointer string, code finding.Code) string {
	switch code {
	case finding.SkillDescriptionMissing:
		return "description"
	case finding.SkillBodyEncoding, finding.SkillTooLarge:
		return "body"
	}
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, token := range tokens {
		tokens[i] = printable.Escape(strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	switch {
	case tokens[0] == "":
		return "frontmatter"
	case tokens[0] == "allowed-tools":
		return "allowedTools"
	case !specified(tokens[0]):
		return "extra[" + tokens[0] + "]"
	case len(tokens) > 1:
		return tokens[0] + "[" + tokens[1] + "]"
	}
	return tokens[0]
}

// Draft returns a draft that writes the skill again: with its name as it is
// offered, so that a skill kept by [Lenient] mode may conform then, its body,
// which is read for it, and the files beside SKILL.md, which are read when they
// are needed. It fails as [Skill.Body] does.
func (s *Skill) Draft() (Draft, error) {
	body, err := s.Body()
	if err != nil {
		return Draft{}, err
	}
	d := Draft{
		Name: s.name, Description: s.description, License: s.license, Compatibility: s.compatibility,
		Metadata: s.Metadata(), AllowedTools: s.AllowedTools(), Body: body,
		Files: filetree.NewView(s.root, s.dir, fileName),
	}
	for _, key := range s.ExtraKeys() {
		n := new(yaml.Node)
		if err := s.Decode(key, n); err != nil {
			return Draft{}, err
		}
		d.Extra = append(d.Extra, ExtraKey{key, n})
	}
	return d, nil
}

// front writes the YAML between the delimiters.
func (e *encoding) front() ([]byte, error) {
	d := e.draft
	top := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	add := func(key string, value *yaml.Node) { top.Content = append(top.Content, textNode(key), value) }
	add("name", textNode(d.Name))
	add("description", textNode(d.Description))
	if d.License != "" {
		add("license", textNode(d.License))
	}
	if d.Compatibility != "" {
		add("compatibility", textNode(d.Compatibility))
	}
	if d.Metadata != nil {
		m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, key := range slices.Sorted(maps.Keys(d.Metadata)) {
			m.Content = append(m.Content, textNode(key), textNode(d.Metadata[key]))
		}
		add("metadata", m)
	}
	if len(d.AllowedTools) > 0 {
		add("allowed-tools", textNode(strings.Join(d.AllowedTools, " ")))
	}
	for i, x := range d.Extra {
		add(x.Key, e.extra[i])
	}
	return encodeYAML(top)
}

func encodeYAML(n *yaml.Node) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
