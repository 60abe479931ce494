package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/plugberth/plugberth/internal/filetree"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// Draft is a plugin package to be built in memory. A host fills it, or takes it
// from a plugin that it loaded ([Plugin.Draft]), and calls [Draft.Build]. The
// zero value lacks the manifest's name, which every package needs. A draft is
// not safe for concurrent use while it is changed.
type Draft struct {
	// Manifest becomes plugin.json. Its Schema may be left empty for the newest
	// version of the specification that is supported, and SpecVersion is not
	// looked at. Fields that are empty are left out.
	Manifest Manifest
	// Extensions is client-specific manifest data by namespace (AP §8.1), each a
	// JSON object.
	Extensions map[string]json.RawMessage
	// Skills become directories below skills, each named as its skill is.
	Skills []skills.Draft
	// Servers become mcp.json, in this order. Nil makes none, and an empty list
	// one without servers.
	Servers []ServerDraft
	// Files is all else that the package holds, nil for nothing: programs that
	// servers start, extension directories, documents. A plugin.json at its top is
	// left out, and so is an mcp.json where Servers is not nil. Directories of
	// skills that are not drafted may be in it, and are judged like all skills.
	// Links in it, and in the files of skills, are written as what they lead to,
	// which must be in the same file system.
	Files fs.FS

	// declared are the members of plugin.json that stay although they are empty,
	// so that a plugin that is written again keeps what it declares.
	declared map[string]bool
}

// ServerDraft is an entry of mcp.json to be written (AP §7.2.1).
type ServerDraft struct {
	Name   string    // any text, as the key of mcpServers
	Type   Transport // which says which of the two below counts
	Stdio  Stdio     // of a stdio server, zero for others
	Remote Remote    // of a remote server, zero for others
}

// HostServer returns the draft of a package that describes the host's own MCP
// server, of type streamable-http at that URL, and nothing else. It has no
// headers: whoever installs the package brings the credentials.
func HostServer(m Manifest, name, url string) *Draft {
	return &Draft{Manifest: m, Servers: []ServerDraft{{Name: name, Type: TransportStreamableHTTP, Remote: Remote{URL: url}}}}
}

// Draft returns a draft that builds the plugin again: equal to it when loaded,
// in canonical form, and with links written as what they lead to. Bodies of
// skills are read for it; other files are read when it is built, and must not
// have changed by then.
//
// Only what was loaded without fault can be drafted without loss, so it fails
// with a [*BuildError] where the plugin has warnings or errors among its
// findings. Those about what the draft keeps whole are not in its way, because
// [Draft.Build] judges it again: a program or working directory that is not there
// (it can still be added to Files), what looks like a credential, and what only
// lint says. It fails as [skills.Skill.Body] does, and with the context's error.
func (p *Plugin) Draft(ctx context.Context) (*Draft, error) {
	if p.root == nil || p.manifest == nil {
		return nil, &BuildError{Fields: []*skills.FieldError{{Field: "manifest", Reason: "the plugin is empty: load one"}}}
	}
	if faults := p.findings.AtLeast(finding.SeverityWarning); len(faults) > 0 {
		e := &BuildError{}
		for _, f := range faults {
			if !keptWhole(f.Code) {
				e.Fields = append(e.Fields, &skills.FieldError{Field: f.File, Reason: f.Message})
			}
		}
		if len(e.Fields) > 0 {
			return nil, e
		}
	}
	d := &Draft{Manifest: p.Manifest(), declared: p.manifest.declared}
	if p.manifest.extensions != nil {
		d.Extensions = map[string]json.RawMessage{}
		for namespace := range p.manifest.extensions {
			d.Extensions[namespace], _ = p.Extension(namespace)
		}
	}
	omit := []string{manifestFile}
	for _, s := range p.Skills() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		draft, err := s.Draft()
		if err != nil {
			return nil, err
		}
		d.Skills = append(d.Skills, draft)
		omit = append(omit, path.Join(skillsDir, s.Directory()))
	}
	if p.mcpState == MCPConfigured {
		omit = append(omit, mcpFile)
		d.Servers = []ServerDraft{}
		for _, s := range p.servers {
			draft := ServerDraft{Name: s.name, Type: s.typ}
			draft.Stdio, _ = s.Stdio()
			draft.Remote, _ = s.Remote()
			d.Servers = append(d.Servers, draft)
		}
	}
	d.Files = filetree.NewView(p.root, ".", omit...)
	return d, nil
}

// keptWhole reports whether a draft of a plugin with such a finding loses nothing
// of it.
func keptWhole(code finding.Code) bool {
	switch code {
	case finding.ServerCredential, finding.ServerCommandMissing, finding.ServerCwdMissing:
		return true
	}
	return lintOnly(code)
}

// ErrCredential is what a [BuildError] is, for errors.Is, if something that looks
// like a credential is among its faults; see [BuildOptions.AllowCredentials].
var ErrCredential = errors.New("plugin: something looks like a credential")

// BuildError says why a draft is no package that conforms, field by field. It is
// [ErrName] where the plugin's name is at fault, skills.ErrName where that of a
// skill is, and [ErrCredential].
type BuildError struct {
	// Fields has at least one error, for instance of the field "manifest.name",
	// "skills[0].description", "servers[1].url" or "files[skills/a/SKILL.md]".
	Fields []*skills.FieldError

	kinds []error // what it is beside the errors of its fields
}

// Is reports whether target is one of the errors that the faults are of.
func (e *BuildError) Is(target error) bool { return slices.Contains(e.kinds, target) }

// Error returns the first error and how many more there are.
func (e *BuildError) Error() string {
	if len(e.Fields) == 0 {
		return "plugin: the draft does not conform"
	}
	text := "plugin: the draft does not conform: " + e.Fields[0].Error()
	if n := len(e.Fields) - 1; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text
}

// Unwrap returns the errors of the fields.
func (e *BuildError) Unwrap() []error {
	out := make([]error, len(e.Fields))
	for i, f := range e.Fields {
		out[i] = f
	}
	return out
}

func (e *BuildError) add(field, reason string) {
	e.Fields = append(e.Fields, &skills.FieldError{Field: field, Reason: reason})
}

// err returns e if anything is wrong.
func (e *BuildError) err() error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// merge takes over the fields of an error about one skill.
func (e *BuildError) merge(prefix string, err error) {
	var draft *skills.DraftError
	if !errors.As(err, &draft) {
		e.add(prefix, "it cannot be written")
		return
	}
	for _, f := range draft.Fields {
		one := *f
		one.Field = prefix + "." + f.Field
		e.Fields = append(e.Fields, &one)
	}
}

// drafts reports whether a skill of that name is drafted.
func (d *Draft) drafts(name string) int {
	return slices.IndexFunc(d.Skills, func(s skills.Draft) bool { return s.Name == name })
}
