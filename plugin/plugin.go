package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// Plugin is a loaded plugin. It is made by [Load] and [LoadFS], is immutable
// and safe for concurrent use, keeps no file open and needs no closing. It
// holds no skill bodies; they are read when asked for. The zero value is an
// empty plugin without a name.
type Plugin struct {
	root           *paths.Root
	manifest       *manifest
	skills         *skills.Listing // nil where skills were not asked for
	mcpState       MCPState
	servers        []*Server
	skippedServers []string
	findings       finding.List
}

// Name returns the plugin's name (AP §5.5).
func (p *Plugin) Name() string { return p.Manifest().Name }

// Manifest returns a copy of what plugin.json says (AP §5).
func (p *Plugin) Manifest() Manifest {
	if p.manifest == nil {
		return Manifest{}
	}
	return p.manifest.copy()
}

// Declares reports whether plugin.json has the permitted member of that name.
func (p *Plugin) Declares(member string) bool {
	return p.manifest != nil && p.manifest.declared[member]
}

// Root returns the plugin root, for contained access to the package's files.
func (p *Plugin) Root() *paths.Root { return p.root }

// Dir returns the absolute, resolved path of the plugin root, which is also
// PLUGIN_ROOT (AP §9.1), or "" for a plugin that was not loaded from a
// directory.
func (p *Plugin) Dir() string { return p.root.Dir() }

// Findings returns a copy of all that was found wrong: with plugin.json first,
// then with skills in their order, then with mcp.json, each in document order, and
// at last with what else stands in the plugin root, where lint was asked for.
func (p *Plugin) Findings() finding.List { return slices.Clone(p.findings) }

// SkillsState says what became of the skills directory (AP §6.2).
func (p *Plugin) SkillsState() skills.State {
	if p.skills == nil {
		return skills.StateAbsent
	}
	return p.skills.State
}

// Skills returns the skills that conform, sorted by directory name (AP §7.1).
func (p *Plugin) Skills() []*skills.Skill {
	if p.skills == nil {
		return nil
	}
	return slices.Clone(p.skills.Skills)
}

// Skill returns the skill of that name, or nil.
func (p *Plugin) Skill(name string) *skills.Skill {
	if p.skills != nil {
		for _, s := range p.skills.Skills {
			if s.Name() == name {
				return s
			}
		}
	}
	return nil
}

// SkillSource returns the plugin's skills as a source for [skills.NewSet], with
// the plugin's name and declared version as their origin.
func (p *Plugin) SkillSource() skills.Source {
	m := p.Manifest()
	return skills.Source{
		Origin: skills.Origin{Kind: skills.KindPackage, Package: m.Name, Version: m.Version},
		Skills: p.Skills(),
	}
}

// SkippedSkills returns the directory names of the skills that were skipped,
// sorted. Each has an error among the findings.
func (p *Plugin) SkippedSkills() []string {
	if p.skills == nil {
		return nil
	}
	return slices.Clone(p.skills.Skipped)
}

// MCPState says what became of mcp.json (AP §7.2.2).
func (p *Plugin) MCPState() MCPState { return p.mcpState }

// Servers returns the valid server entries in the order of mcp.json, those
// with an unsupported or disabled transport included (AP §7.2.1).
func (p *Plugin) Servers() []*Server { return slices.Clone(p.servers) }

// Server returns the valid entry of that name, or nil.
func (p *Plugin) Server(name string) *Server {
	for _, s := range p.servers {
		if s.name == name {
			return s
		}
	}
	return nil
}

// SkippedServers returns the names of the entries that were skipped, in the
// order of mcp.json. Each has an error among the findings.
func (p *Plugin) SkippedServers() []string { return slices.Clone(p.skippedServers) }

// Extensions returns the namespaces that hold client-specific manifest data,
// sorted (AP §8.1).
func (p *Plugin) Extensions() []string {
	if p.manifest == nil {
		return nil
	}
	return p.manifest.namespaces()
}

// Extension returns a copy of the JSON object that plugin.json holds for a
// namespace, as it stands there, or false where there is none. Its content has
// not been judged beyond being JSON (AP §8.1).
func (p *Plugin) Extension(namespace string) (json.RawMessage, bool) {
	if p.manifest == nil {
		return nil, false
	}
	raw, ok := p.manifest.extensions[namespace]
	return bytes.Clone(raw), ok
}

// ExtensionFS returns the top-level directory named after a namespace as a
// file system that is contained in the plugin root like [paths.Root] (AP §8.2).
// It fails with fs.ErrNotExist where there is no directory of exactly that
// name, and with paths.ErrEscape where it leads outside.
func (p *Plugin) ExtensionFS(namespace string) (fs.FS, error) {
	fail := func(err error) (fs.FS, error) {
		return nil, &fs.PathError{Op: "open", Path: namespace, Err: err}
	}
	if !fs.ValidPath(namespace) || namespace == "." || strings.ContainsAny(namespace, `/\`) {
		return fail(fs.ErrInvalid)
	}
	loc, err := p.root.Resolve(namespace)
	if err != nil {
		return nil, err
	}
	if !loc.IsDir() {
		return fail(fs.ErrNotExist)
	}
	if exact, err := p.root.Exact(context.Background(), namespace); err != nil || !exact {
		return fail(fs.ErrNotExist)
	}
	return fs.Sub(p.root, loc.Name())
}
