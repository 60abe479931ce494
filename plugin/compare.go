package plugin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/skills"
)

// ChangeKind says what became of a component or file.
type ChangeKind string

// The kinds.
const (
	ChangeAdded   ChangeKind = "added"
	ChangeRemoved ChangeKind = "removed"
	ChangeChanged ChangeKind = "changed"
)

// Comparison is what differs between two versions of a package, as data that a
// host can show to whoever is asked for consent to an update. It names what
// changed and quotes no values: both plugins have them. All lists are sorted. Names
// and paths are the packages' own text: use finding.Escape to show them.
type Comparison struct {
	// From and To are the two versions.
	From PackageID `json:"from"`
	To   PackageID `json:"to"`
	// Manifest are the members of plugin.json that differ, extensions by their
	// namespace, such as "extensions[com.example]".
	Manifest []string       `json:"manifest,omitempty"`
	Skills   []SkillChange  `json:"skills,omitempty"`
	Servers  []ServerChange `json:"servers,omitempty"`
	// Executable are files that got or lost an executable bit, and new files that
	// have one. Bits are not in the content hash, so two packages of one hash may
	// differ here.
	Executable []ExecutableChange `json:"executable,omitempty"`
	// Files are all files whose bytes differ, those of components included.
	Files []FileChange `json:"files,omitempty"`
}

// PackageID says which version of a package one is: the plugin's Name, its
// Version and the content Hash, as [Plugin.Hash] returns it.
type PackageID struct {
	Name    string `json:"name"`
	Version string `json:"version"` // as [Plugin.Version] returns it
	Hash    string `json:"hash"`
}

// SkillChange is what became of one skill that loads, by its Name.
type SkillChange struct {
	Name string     `json:"name"`
	Kind ChangeKind `json:"change"`
	// Fields are what changed of a skill that both have: "description", "license",
	// "compatibility", "metadata", "allowed-tools", extra keys by their names, such
	// as "extra[hooks]", "body", "files" for those beside SKILL.md, and "form" where
	// SKILL.md differs and nothing that it says does.
	Fields []string `json:"fields,omitempty"`
}

// ServerChange is what became of one valid server entry, by its Name, which may
// be any text.
type ServerChange struct {
	Name string     `json:"name"`
	Type Transport  `json:"type"` // of the new entry; of the old one where that was removed
	Kind ChangeKind `json:"change"`
	// Fields are what changed of an entry that both have: "type", "command",
	// "args", "env", "cwd", "url", "headers"; "program" where the file that command
	// names holds something else or is reached elsewhere; and "files" where that is
	// so of a file or directory in the package that an argument names, relative to
	// the working directory or behind ${PLUGIN_ROOT}, or a variable behind
	// ${PLUGIN_ROOT}. What programs load beside these is in [Comparison.Files]
	// alone.
	Fields  []string `json:"fields,omitempty"`
	Env     []string `json:"env,omitempty"`     // names of variables that were added, removed or changed
	Headers []string `json:"headers,omitempty"` // likewise
}

// ExecutableChange is a file whose executable bit differs. Path is relative to
// the plugin root, slash-separated and raw.
type ExecutableChange struct {
	Path string `json:"path"`
	Now  bool   `json:"now"` // it can be executed in the new version
}

// FileChange is a file whose content differs. Path is relative to the plugin
// root, slash-separated and raw.
type FileChange struct {
	Path string     `json:"path"`
	Kind ChangeKind `json:"change"`
}

// Same reports whether the two packages hold the same files with the same
// executable bits, and start their servers alike: a link that leads elsewhere can
// change that although no file differs.
func (c *Comparison) Same() bool {
	return c.From.Hash == c.To.Hash && len(c.Executable) == 0 && len(c.Servers) == 0
}

// Compare tells what differs between two versions of a package, each in
// whatever form it was loaded from. Skills and servers that do not load are
// absent, so both are to be loaded with the same options. From may be the zero
// Plugin, for one that is not installed yet: all is added then. It reads all files
// of both, and fails as [Plugin.Hash] does.
func Compare(ctx context.Context, from, to *Plugin, bounds Bounds) (*Comparison, error) {
	c := comparer{from: from, to: to}
	var err error
	if c.old, err = from.sums(ctx, bounds); err != nil {
		return nil, err
	}
	if c.now, err = to.sums(ctx, bounds); err != nil {
		return nil, err
	}
	out := &Comparison{From: from.id(c.old), To: to.id(c.now), Manifest: c.manifest()}
	c.files(out)
	if out.Skills, err = c.skills(ctx); err != nil {
		return nil, err
	}
	out.Servers, err = c.servers(ctx)
	return out, err
}

func (p *Plugin) id(sums []fileSum) PackageID {
	id := PackageID{Name: p.Name(), Version: p.Manifest().Version, Hash: contentHash(sums)}
	if id.Version == "" {
		id.Version = id.Hash
	}
	return id
}

// comparer is one run of Compare.
type comparer struct {
	from, to *Plugin
	old, now []fileSum
	oldFiles *serverFiles
	newFiles *serverFiles
}

// find returns the file of that path.
func find(sums []fileSum, name string) (fileSum, bool) {
	i, ok := slices.BinarySearchFunc(sums, name, func(f fileSum, name string) int { return cmp.Compare(f.path, name) })
	if !ok {
		return fileSum{}, false
	}
	return sums[i], true
}

func (c *comparer) manifest() []string {
	a, b := c.from.Manifest(), c.to.Manifest()
	var out []string
	note := func(member string, same bool) {
		if !same || c.from.Declares(member) != c.to.Declares(member) {
			out = append(out, member)
		}
	}
	note("$schema", a.Schema == b.Schema)
	note("name", a.Name == b.Name)
	note("version", a.Version == b.Version)
	note("description", a.Description == b.Description)
	note("author", a.Author == b.Author)
	note("homepage", a.Homepage == b.Homepage)
	note("repository", a.Repository == b.Repository)
	note("license", a.License == b.License)
	note("keywords", slices.Equal(a.Keywords, b.Keywords))
	for _, n := range slices.Concat(c.from.Extensions(), c.to.Extensions()) {
		old, had := c.from.Extension(n)
		now, has := c.to.Extension(n)
		if had != has || !bytes.Equal(compact(old), compact(now)) {
			out = append(out, "extensions["+n+"]")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// compact takes the white space between JSON's tokens away.
func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

func (c *comparer) files(out *Comparison) {
	for _, f := range c.now {
		old, had := find(c.old, f.path)
		switch {
		case !had:
			out.Files = append(out.Files, FileChange{f.path, ChangeAdded})
		case old.sum != f.sum:
			out.Files = append(out.Files, FileChange{f.path, ChangeChanged})
		}
		if f.exec != (had && old.exec) {
			out.Executable = append(out.Executable, ExecutableChange{f.path, f.exec})
		}
	}
	for _, f := range c.old {
		if _, has := find(c.now, f.path); !has {
			out.Files = append(out.Files, FileChange{f.path, ChangeRemoved})
		}
	}
	slices.SortFunc(out.Files, func(a, b FileChange) int { return cmp.Compare(a.Path, b.Path) })
}

func (c *comparer) skills(ctx context.Context) ([]SkillChange, error) {
	var out []SkillChange
	for _, s := range c.to.Skills() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		old := c.from.Skill(s.Name())
		if old == nil {
			out = append(out, SkillChange{Name: s.Name(), Kind: ChangeAdded})
			continue
		}
		fields, err := c.skill(old, s)
		if err != nil {
			return nil, err
		}
		if len(fields) > 0 {
			out = append(out, SkillChange{s.Name(), ChangeChanged, fields})
		}
	}
	for _, s := range c.from.Skills() {
		if c.to.Skill(s.Name()) == nil {
			out = append(out, SkillChange{Name: s.Name(), Kind: ChangeRemoved})
		}
	}
	slices.SortFunc(out, func(a, b SkillChange) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// skill returns what differs between two skills of one name.
func (c *comparer) skill(old, now *skills.Skill) ([]string, error) {
	var out []string
	oldFile, _ := find(c.old, old.Location())
	nowFile, _ := find(c.now, now.Location())
	if oldFile.sum != nowFile.sum {
		note := func(field string, same bool) {
			if !same {
				out = append(out, field)
			}
		}
		note("description", old.Description() == now.Description())
		note("license", old.License() == now.License())
		note("compatibility", old.Compatibility() == now.Compatibility())
		note("metadata", maps.Equal(old.Metadata(), now.Metadata()))
		note("allowed-tools", slices.Equal(old.AllowedTools(), now.AllowedTools()))
		for _, key := range slices.Concat(old.ExtraKeys(), now.ExtraKeys()) {
			note("extra["+key+"]", sameKey(old, now, key))
		}
		oldBody, err := old.Body()
		if err != nil {
			return nil, err
		}
		nowBody, err := now.Body()
		if err != nil {
			return nil, err
		}
		note("body", oldBody == nowBody)
		if len(out) == 0 {
			out = append(out, "form")
		}
	}
	if !slices.Equal(beside(c.old, old), beside(c.now, now)) {
		out = append(out, "files")
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// sameKey reports whether a frontmatter key reads the same in both skills.
func sameKey(old, now *skills.Skill, key string) bool {
	var a, b any
	return old.Decode(key, &a) == nil && now.Decode(key, &b) == nil && reflect.DeepEqual(a, b)
}

// beside returns the files beside a skill's SKILL.md, with paths below its
// directory.
func beside(sums []fileSum, s *skills.Skill) []fileSum {
	prefix := path.Dir(s.Location()) + "/"
	from, _ := slices.BinarySearchFunc(sums, prefix, func(f fileSum, name string) int { return cmp.Compare(f.path, name) })
	var out []fileSum
	for _, f := range sums[from:] {
		if !strings.HasPrefix(f.path, prefix) {
			break
		}
		if f.path != s.Location() {
			f.path = f.path[len(prefix):]
			out = append(out, f)
		}
	}
	return out
}

func (c *comparer) servers(ctx context.Context) ([]ServerChange, error) {
	for _, p := range []*Plugin{c.from, c.to} {
		if p.root != nil {
			release, err := p.root.Hold()
			if err != nil {
				return nil, err
			}
			defer release()
		}
	}
	c.oldFiles, c.newFiles = newServerFiles(c.from, c.old), newServerFiles(c.to, c.now)
	var out []ServerChange
	for _, s := range c.to.servers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		old := c.from.Server(s.name)
		if old == nil {
			out = append(out, ServerChange{Name: s.name, Type: s.typ, Kind: ChangeAdded})
			continue
		}
		change := ServerChange{Name: s.name, Type: s.typ, Kind: ChangeChanged}
		if c.server(&change, old, s); len(change.Fields) > 0 {
			out = append(out, change)
		}
	}
	for _, s := range c.from.servers {
		if c.to.Server(s.name) == nil {
			out = append(out, ServerChange{Name: s.name, Type: s.typ, Kind: ChangeRemoved})
		}
	}
	slices.SortFunc(out, func(a, b ServerChange) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// server notes what differs between two entries of one name.
func (c *comparer) server(change *ServerChange, old, now *Server) {
	note := func(field string, same bool) {
		if !same {
			change.Fields = append(change.Fields, field)
		}
	}
	note("type", old.typ == now.typ)
	note("command", old.stdio.Command == now.stdio.Command)
	note("args", slices.Equal(old.stdio.Args, now.stdio.Args))
	change.Env = differing(old.stdio.Env, now.stdio.Env)
	note("env", len(change.Env) == 0)
	note("cwd", old.stdio.Cwd == now.stdio.Cwd && (old.typ != now.typ || c.oldFiles.cwd(old) == c.newFiles.cwd(now)))
	note("url", old.remote.URL == now.remote.URL)
	change.Headers = differing(old.remote.Headers, now.remote.Headers)
	note("headers", len(change.Headers) == 0)
	alike := len(change.Fields) == 0
	was, is := c.oldFiles.program(old), c.newFiles.program(now)
	if old.stdio.Command != now.stdio.Command {
		was.path, is.path = "", "" // that is what command says
	}
	note("program", was == is)
	note("files", c.sameNamed(old, now, alike))
}

// sameNamed reports whether what two entries name holds the same. Where the
// entries differ, what one of them alone names is their business.
func (c *comparer) sameNamed(old, now *Server, alike bool) bool {
	a, b := c.oldFiles.named(old), c.newFiles.named(now)
	if alike {
		return slices.Equal(a, b)
	}
	before := map[string]namedFile{}
	for _, f := range a {
		before[f.path] = f
	}
	return !slices.ContainsFunc(b, func(f namedFile) bool { was, ok := before[f.path]; return ok && was != f })
}

// differing returns the keys whose values are not the same in both maps, sorted.
func differing(a, b map[string]string) []string {
	var out []string
	for key, value := range a {
		if now, ok := b[key]; !ok || now != value {
			out = append(out, key)
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
