package plugin

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/internal/strictjson"
	"github.com/plugberth/plugberth/plugin/finding"
)

// manifestFile is the one portable manifest (AP §5.1).
const manifestFile = "plugin.json"

// Manifest is what plugin.json says of the plugin (AP §5). A field that the
// document leaves out is empty; [Plugin.Declares] tells the difference. Name
// conforms to [CheckName]. Version, Description, Homepage, Repository, License,
// Keywords and the fields of Author are texts of the package of any form and
// content: use finding.Escape to show them.
type Manifest struct {
	Schema      string // the canonical identifier
	SpecVersion string // the version of the specification that it names
	Name        string
	Version     string
	Description string
	Author      Author
	Homepage    string
	Repository  string
	License     string
	Keywords    []string
}

// Author is the manifest's author object (AP §5.4): Name, Email and URL, each
// empty where it is left out.
type Author struct {
	Name, Email, URL string
}

// manifest is a judged plugin.json.
type manifest struct {
	Manifest
	version    *version
	declared   map[string]bool
	extensions map[string]json.RawMessage
}

func permitted(member string) bool {
	switch member {
	case "$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords", "extensions":
		return true
	}
	return false
}

// jsonCodes are the codes for a document that cannot be used as a whole.
type jsonCodes struct {
	encoding, syntax, complex finding.Code
}

// parseJSON reads a document and notes why it cannot be read.
func parseJSON(src []byte, lim Limits, codes jsonCodes, sheet *report.Sheet) *strictjson.Document {
	if bytes.HasPrefix(src, []byte("\uFEFF")) {
		sheet.Add(finding.ByteOrderMark, "", "", 0, "the file begins with a byte order mark, which is ignored: save it without")
	}
	doc, err := strictjson.Parse(src, strictjson.Limits{Depth: lim.Depth})
	if err == nil {
		return doc
	}
	code, off := codes.syntax, 0
	if e, ok := err.(*strictjson.Error); ok {
		off = e.Offset
		switch e.Reason {
		case strictjson.Encoding:
			code = codes.encoding
		case strictjson.TooDeep, strictjson.TooLarge:
			code = codes.complex
		}
	}
	sheet.Add(code, "", "", off, err.Error())
	return nil
}

// judgeManifest reads plugin.json. It returns nil where the plugin is to be
// rejected; the sheet says why.
func judgeManifest(src []byte, opts Options, sheet *report.Sheet) *manifest {
	doc := parseJSON(src, opts.Limits,
		jsonCodes{finding.ManifestInvalidEncoding, finding.ManifestInvalidJSON, finding.ManifestTooComplex}, sheet)
	if doc == nil {
		return nil
	}
	root := doc.Root()
	if root.Kind() != strictjson.Object {
		sheet.Add(finding.ManifestNotObject, "", "", root.Offset(), "the manifest is %s: make it an object", root.Kind())
		return nil
	}
	j := manifestJudge{notes: notes{sheet: sheet}, m: &manifest{declared: map[string]bool{}}, warned: map[string]bool{}}
	j.members(root)
	j.schema(root)
	if !j.unsupported {
		j.shape(root)
	}
	if j.failed {
		return nil
	}
	if opts.Lint {
		j.lint(root)
	}
	return j.m
}

type manifestJudge struct {
	notes
	failed      bool
	m           *manifest
	unsupported bool // another version's manifest: its rules are not known
	warned      map[string]bool
}

func (j *manifestJudge) add(code finding.Code, pointer string, off int, format string, args ...any) {
	if j.take(code, len(pointer), &j.failed) {
		j.sheet.Add(code, "", pointer, off, format, args...)
	}
}

// members looks for what JSON allows and a careful reader does not: members
// that stand twice and escapes that are no text.
func (j *manifestJudge) members(root strictjson.Value) {
	for m := range root.Members() {
		known := permitted(m.Name)
		if known && m.Duplicate {
			j.add(finding.ManifestDuplicateMember, strictjson.Pointer(m.Name), m.Offset, "%s stands twice: remove one", printable.Quote(m.Name))
		}
		if known && m.Name != "extensions" {
			j.used(m)
		} else {
			j.ignored(m)
		}
	}
}

// used notes the flaws of a member that counts.
func (j *manifestJudge) used(m strictjson.Member) {
	for f := range m.Value.Flaws() {
		if j.full() && j.failed {
			j.sheet.Cut = true
			break
		}
		pointer := strictjson.Pointer(m.Name) + strictjson.Pointer(f.Path...)
		if f.Duplicate {
			j.add(finding.ManifestDuplicateMember, pointer, f.Offset, "this member stands twice: remove one")
		} else {
			j.add(finding.ManifestUnpairedSurrogate, pointer, f.Offset, "this text has an escape that is half a character: write both halves")
		}
	}
}

// ignored notes the flaws of a member that is ignored or never validated: one
// warning of each kind a name is enough.
func (j *manifestJudge) ignored(m strictjson.Member) {
	var twice, half *place
	if m.Duplicate && !permitted(m.Name) {
		twice = &place{off: m.Offset}
	}
	if m.Unpaired {
		half = &place{off: m.Offset}
	}
	for f := range m.Value.Flaws() {
		switch {
		case f.Duplicate && twice == nil:
			twice = &place{f.Offset, strictjson.Pointer(f.Path...)}
		case !f.Duplicate && half == nil:
			half = &place{f.Offset, strictjson.Pointer(f.Path...)}
		}
		if twice != nil && half != nil {
			break
		}
	}
	j.once(finding.ManifestDuplicateIgnored, m, twice, "this member stands twice, within what is ignored or never validated: remove one")
	j.once(finding.ManifestUnpairedSurrogateIgnored, m, half, "this text has an escape that is half a character: write both halves")
}

// place is where something is below a member.
type place struct {
	off     int
	pointer string
}

// once notes a warning about a member unless its name has had that one.
func (j *manifestJudge) once(code finding.Code, m strictjson.Member, at *place, message string) {
	if at == nil || j.warned[string(code)+m.Name] {
		return
	}
	j.warned[string(code)+m.Name] = true
	j.add(code, strictjson.Pointer(m.Name)+at.pointer, at.off, message)
}

// schema selects the rules by the canonical identifier (AP §5.2).
func (j *manifestJudge) schema(root strictjson.Value) {
	m := root.Member("$schema")
	canonical := versions[len(versions)-1].manifest
	switch {
	case m.Value.Kind() == strictjson.Invalid:
		j.add(finding.ManifestSchemaMissing, "", root.Offset(), `$schema is missing: add "$schema": %q`, canonical)
		return
	case m.Value.Kind() != strictjson.String || m.Value.Unpaired():
		return // said elsewhere
	}
	id := m.Value.Text()
	if id == "" {
		j.add(finding.ManifestSchemaMissing, "/$schema", m.Value.Offset(), "$schema is empty: write %q", canonical)
		return
	}
	v, declared := recognize(manifestFile, id)
	switch {
	case v != nil:
		j.m.version, j.m.Schema, j.m.SpecVersion = v, id, v.number
	case declared != "":
		j.unsupported = true
		j.add(finding.ManifestVersionUnsupported, "/$schema", m.Value.Offset(),
			"the plugin targets version %s of the specification; supported: %s", printable.Escape(declared), strings.Join(SpecVersions(), ", "))
	default:
		j.add(finding.ManifestSchemaUnrecognized, "/$schema", m.Value.Offset(), "$schema is no canonical identifier: write %q", canonical)
	}
}

// shape judges the members by the schema and reads them.
func (j *manifestJudge) shape(root strictjson.Value) {
	rules := j.m.version
	if rules == nil {
		rules = versions[len(versions)-1] // rejected already: this only helps the author
	}
	// What only warns has budgets of its own: it must not hide what decides.
	instance := map[string]any{}
	newBudget := func() *budget { return &budget{left: maxFaults, cut: &j.sheet.Cut} }
	used, unknown := newBudget(), newBudget()
	for m := range root.Members() {
		switch {
		case m.Duplicate:
		case m.Name == "extensions":
			instance[m.Name] = outline(m.Value, newBudget())
		case permitted(m.Name):
			instance[m.Name] = used.instance(m.Value)
		case unknown.take():
			instance[m.Name] = nil // the name alone is at fault
		}
	}
	for _, p := range validate(rules.schemas().manifest, instance, root) {
		j.problem(p)
	}
	for m := range root.Members() {
		if permitted(m.Name) && !m.Duplicate {
			j.m.declared[m.Name] = true
			j.read(m)
		}
	}
}

// outline keeps of an object only which of its members are objects.
func outline(v strictjson.Value, b *budget) any {
	if v.Kind() != strictjson.Object {
		return nil
	}
	out := map[string]any{}
	for m := range v.Members() {
		switch {
		case m.Duplicate:
		case m.Value.Kind() == strictjson.Object:
			out[m.Name] = map[string]any{}
		case b.take():
			out[m.Name] = nil
		}
	}
	return out
}

func (j *manifestJudge) problem(p problem) {
	top := p.path[0]
	switch {
	case p.kind == missingMember:
		j.add(finding.ManifestNameMissing, "", p.offset, "name is missing: add it")
	case p.kind == unknownMember && top == "author":
		j.add(finding.ManifestAuthorMember, p.pointer, p.offset, "author has no member %s: only name, email and url", printable.Quote(p.path[1]))
	case p.kind == unknownMember:
		j.add(finding.ManifestUnknownField, p.pointer, p.offset,
			"%s is not part of the manifest and is ignored: %s", printable.Quote(top), belongs(top))
	case top == "extensions" && len(p.path) == 1:
		j.add(finding.ManifestExtensionsNotObject, p.pointer, p.offset, "extensions is %s and is ignored: make it an object keyed by namespace", p.value.Kind())
	case top == "extensions":
		j.add(finding.ManifestExtensionNotObject, p.pointer, p.offset, "the namespace holds %s and is ignored: make it an object", p.value.Kind())
	default:
		j.add(finding.ManifestWrongType, p.pointer, p.offset, "%s is %s: make it %s", where(p.path), p.value.Kind(), p.want)
	}
}

// belongs says where it belongs what a manifest has no member for.
func belongs(member string) string {
	switch strings.ToLower(member) {
	case "skills":
		return "remove it, skills stand in skills/NAME/SKILL.md"
	case "mcpservers", "mcp_servers", "mcp", "servers":
		return "remove it, servers stand in mcp.json"
	case "commands", "agents", "hooks", "rules", "lspservers", "outputstyles", "apps", "themes":
		return "remove it, or move it below a namespace in extensions; a package has only skills and MCP servers"
	}
	return "remove it, or move it below a namespace in extensions"
}

// where names a value for a message.
func where(path []string) string {
	if len(path) == 2 && path[0] == "author" {
		return "author." + printable.Escape(path[1])
	}
	if len(path) > 1 {
		return "an element of " + printable.Escape(path[0])
	}
	return printable.Escape(path[0])
}

// read takes a member's value, whose type may be wrong.
func (j *manifestJudge) read(m strictjson.Member) {
	text := func(v strictjson.Value) string {
		if v.Kind() != strictjson.String {
			return ""
		}
		return v.Text()
	}
	switch m.Name {
	case "name":
		if m.Value.Kind() != strictjson.String || m.Value.Unpaired() {
			return // said elsewhere
		}
		j.m.Name = m.Value.Text()
		switch err := CheckName(j.m.Name); {
		case j.m.Name == "":
			j.add(finding.ManifestNameMissing, "/name", m.Value.Offset(), "name is empty: give the plugin a name")
		case err != nil:
			instead := "use 1 to 64 of a-z, 0-9, hyphen and period"
			if nearest := NearestName(j.m.Name); nearest != "" {
				instead = "write " + printable.Quote(nearest)
			}
			j.add(finding.ManifestNameInvalid, "/name", m.Value.Offset(), "%s is no plugin name, %s: %s", printable.Quote(j.m.Name),
				strings.TrimPrefix(err.Error(), ErrName.Error()+": "), instead)
		}
	case "version":
		j.m.Version = text(m.Value)
	case "description":
		j.m.Description = text(m.Value)
	case "homepage":
		j.m.Homepage = text(m.Value)
	case "repository":
		j.m.Repository = text(m.Value)
	case "license":
		j.m.License = text(m.Value)
	case "author":
		j.m.Author = Author{
			Name:  text(m.Value.Member("name").Value),
			Email: text(m.Value.Member("email").Value),
			URL:   text(m.Value.Member("url").Value),
		}
	case "keywords":
		j.m.Keywords = make([]string, 0, m.Value.Len())
		for _, e := range m.Value.Elements() {
			j.m.Keywords = append(j.m.Keywords, text(e))
		}
	case "extensions":
		j.m.extensions = map[string]json.RawMessage{}
		var twice []string
		for n := range m.Value.Members() {
			if n.Duplicate {
				twice = append(twice, n.Name)
			}
			if n.Value.Kind() == strictjson.Object && !n.Unpaired {
				j.m.extensions[n.Name] = bytes.Clone(n.Value.Raw())
			}
		}
		for _, name := range twice {
			delete(j.m.extensions, name)
		}
	}
}

// copy returns the manifest's public part, sharing nothing.
func (m *manifest) copy() Manifest {
	out := m.Manifest
	out.Keywords = slices.Clone(out.Keywords)
	return out
}

// namespaces returns the extension namespaces, sorted.
func (m *manifest) namespaces() []string {
	return slices.Sorted(maps.Keys(m.extensions))
}
