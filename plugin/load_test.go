package plugin_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
	"github.com/plugberth/plugberth/skills/staging"
)

// rich has good and bad parts everywhere.
var rich = map[string]string{
	"plugin.json":                 fill.Replace(`{@S,"name":"rich","version":"1","x":1,"x":2,"extensions":{"com.a":{},"com.b":1}}`),
	"skills/good/SKILL.md":        "---\nname: good\ndescription: d\nextra: 1\n---\nbody\n",
	"skills/good/references/a.md": "text",
	"skills/bad/SKILL.md":         "---\nname: other\n---\n",
	"skills/Upper/SKILL.md":       "---\nname: Upper\ndescription: d\n---\n",
	"skills/none/readme":          "",
	"skills/README.md":            "",
	"skills/deep/a/SKILL.md":      "---\nname: a\ndescription: d\n---\n",
	"mcp.json": fill.Replace(servers(`"z":{"type":"stdio","command":"./bin/x","cwd":"./bin"}`, `"a":{"type":"sse","url":"http://h","headers":{"B":"1","b":"2"}}`,
		`"m":{"type":"stdio","command":"./gone","args":[1,2],"env":{"":null}}`, sibling)),
	"bin/x":            "",
	"com.a/file":       "",
	".mcp.json":        "{",
	"commands/a.md":    "",
	".claude/x":        "",
	"hooks/hooks.json": "{",
}

// view is what a plugin shows of itself.
type view struct {
	Manifest       plugin.Manifest
	Skills         []string
	Skipped        []string
	SkillsState    skills.State
	MCP            plugin.MCPState
	Servers        []string
	SkippedServers []string
	Extensions     []string
	Findings       finding.List
}

func look(p *plugin.Plugin) view {
	v := view{p.Manifest(), nil, p.SkippedSkills(), p.SkillsState(), p.MCPState(), nil, p.SkippedServers(), p.Extensions(), p.Findings()}
	for _, s := range p.Skills() {
		body, err := s.Body()
		v.Skills = append(v.Skills, fmt.Sprint(s.Name(), s.Directory(), s.Description(), s.Location(), body, err))
	}
	for _, s := range p.Servers() {
		local, _ := s.Stdio()
		web, _ := s.Remote()
		v.Servers = append(v.Servers, fmt.Sprint(s.Name(), s.Type(), s.Status(), local, web))
	}
	return v
}

// zipped packs files into an archive and returns it as a file system.
func zipped(t testing.TB, files map[string]string) fs.FS {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for name, text := range files {
		h := &zip.FileHeader{Name: name}
		h.SetMode(0o644)
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			h.SetMode(fs.ModeSymlink | 0o777)
			text = target
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// plainFS hides all methods of a file system but Open, as embed.FS and others
// that cannot read links.
type plainFS struct{ fsys fs.FS }

func (p plainFS) Open(name string) (fs.File, error) { return p.fsys.Open(name) }

// TestSources: one engine, one result, wherever the package lies. [L1] [L7]
func TestSources(t *testing.T) {
	dir := write(t, rich)
	want := look(mustLoad(t, dir))
	if len(want.Findings) < 10 || len(want.Skills) != 1 || len(want.Servers) != 2 {
		t.Fatalf("the package does not show much: %+v", want)
	}
	for name, fsys := range map[string]fs.FS{
		"os.DirFS": os.DirFS(dir), "fstest.MapFS": memory(rich), "zip": zipped(t, rich), "Open only": plainFS{memory(rich)}, "fs.Sub": mustSub(t, os.DirFS(filepath.Dir(dir)), "package"),
	} {
		p := mustLoadFS(t, fsys, plugin.Options{})
		if got := look(p); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v\nwant:\n%+v", name, got, want)
		}
		if p.Dir() != "" {
			t.Errorf("%s: directory = %q", name, p.Dir())
		}
	}
}

func mustSub(t testing.TB, fsys fs.FS, dir string) fs.FS {
	t.Helper()
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

// TestLinksInSources: links are followed where they can be read, and are no
// files elsewhere. [L1] [P1]
func TestLinksInSources(t *testing.T) {
	files := map[string]string{
		"plugin.json": smallManifest, "conf/mcp.json": noServers, "mcp.json": "-> conf/mcp.json", "lib/a/SKILL.md": "---\nname: a\ndescription: d\n---\n", "skills": "-> lib",
		"lib/b/SKILL.md": "-> ../a/SKILL.md", "lib/c": "-> a", "lib/d": "-> ../../out",
	}
	for name, fsys := range map[string]fs.FS{"os.DirFS": os.DirFS(write(t, files)), "fstest.MapFS": memory(files)} {
		p := mustLoadFS(t, fsys, plugin.Options{})
		if p.MCPState() != plugin.MCPConfigured || len(p.Skills()) != 1 || !slices.Equal(p.SkippedSkills(), []string{"b", "c", "d"}) {
			t.Errorf("%s: mcp %v, skills %v, skipped %v", name, p.MCPState(), p.Skills(), p.SkippedSkills())
		}
	}
	for name, fsys := range map[string]fs.FS{"zip": zipped(t, files), "Open only": plainFS{memory(files)}} {
		p := mustLoadFS(t, fsys, plugin.Options{})
		want := []string{"skills-not-directory error component", "mcp-not-regular error component"}
		if got := briefs(p.Findings()); !slices.Equal(got, want) || p.MCPState() != plugin.MCPDisabled || p.SkillsState() != skills.StateInvalid {
			t.Errorf("%s: %q", name, got)
		}
	}
	// A directory is read by resolving, however its links are written.
	dir := write(t, map[string]string{"conf/mcp.json": noServers, "lib/": ""})
	writeTo(t, dir, map[string]string{"mcp.json": "-> " + dir + "/conf/mcp.json", "skills": "-> ../package/lib"})
	if p := mustLoad(t, dir); p.MCPState() != plugin.MCPConfigured || p.SkillsState() != skills.StateLoaded || len(p.Findings()) != 0 {
		t.Errorf("absolute and up-and-back links: %v", p.Findings())
	}
}

// recorder notes which names are asked for.
type recorder struct {
	fs.FS
	mu    sync.Mutex
	names []string
}

func (r *recorder) Open(name string) (fs.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
	return r.FS.Open(name)
}

// TestOrder: of a rejected plugin nothing but plugin.json is opened, and
// plugin.json comes first. [L2] [M7]
func TestOrder(t *testing.T) {
	for _, text := range []string{"", "{", "{}", fill.Replace(`{@S,"name":"A"}`), fill.Replace(`{@S,"name":"a","name":"a"}`), `{"$schema":"https://agent-plugins.org/schemas/1.1.0/plugin.schema.json","name":"a"}`} {
		files := map[string]string{"plugin.json": text, "mcp.json": noServers, "skills/a/SKILL.md": okSkill}
		r := &recorder{FS: memory(files)}
		if _, err := plugin.LoadFS(context.Background(), r, plugin.Options{}); !errors.Is(err, plugin.ErrRejected) {
			t.Errorf("%q: %v", text, err)
		}
		for _, name := range r.names {
			if name != "." && name != "plugin.json" {
				t.Errorf("%q: %s was opened", text, name)
			}
		}
	}
	r := &recorder{FS: memory(map[string]string{"mcp.json": noServers, "skills/a/SKILL.md": okSkill})}
	mustLoadFS(t, r, plugin.Options{})
	index := func(name string) int { return slices.Index(r.names, name) }
	if index("plugin.json") < 0 || index("plugin.json") > index("skills") || index("skills/a/SKILL.md") < 0 || index("skills/a/SKILL.md") > index("mcp.json") {
		t.Errorf("order = %q", r.names)
	}
}

// TestComponents: what a host does not support is neither looked at nor
// reported. [L8]
func TestComponents(t *testing.T) {
	files := map[string]string{"mcp.json": "{", "skills": "a file"}
	for _, c := range []struct {
		components plugin.Components
		want       []string
		opened     []string
	}{
		{plugin.AllComponents, []string{"skills-not-directory", "mcp-invalid-json"}, nil},
		{plugin.SkillsOnly, []string{"skills-not-directory"}, []string{"mcp.json"}},
		{plugin.MCPOnly, []string{"mcp-invalid-json"}, []string{"skills"}},
	} {
		r := &recorder{FS: memory(files)}
		p := mustLoadFS(t, r, plugin.Options{Components: c.components})
		var got []string
		for _, f := range p.Findings() {
			got = append(got, string(f.Code))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.components, got, c.want)
		}
		for _, name := range c.opened {
			if slices.Contains(r.names, name) {
				t.Errorf("%v: %s was opened", c.components, name)
			}
		}
	}
	p := mustLoadFS(t, memory(rich), plugin.Options{Components: plugin.MCPOnly})
	if p.Skills() != nil || p.SkippedSkills() != nil || p.SkillsState() != skills.StateAbsent || p.Skill("good") != nil || len(p.Servers()) != 2 {
		t.Error("MCPOnly shows skills")
	}
	p = mustLoadFS(t, memory(rich), plugin.Options{Components: plugin.SkillsOnly})
	if p.MCPState() != plugin.MCPAbsent || p.Servers() != nil || p.SkippedServers() != nil || len(p.Skills()) != 1 {
		t.Error("SkillsOnly shows servers")
	}
}

// foldingFS ignores letter case when it opens, as many disks do, and lists
// names as they are.
type foldingFS struct{ fsys fs.FS }

func (f foldingFS) real(name string) string {
	at := "."
	for _, part := range strings.Split(name, "/") {
		entries, _ := fs.ReadDir(f.fsys, at)
		for _, e := range entries {
			if strings.EqualFold(e.Name(), part) {
				part = e.Name()
				break
			}
		}
		at = path.Join(at, part)
	}
	return at
}

func (f foldingFS) Open(name string) (fs.File, error)      { return f.fsys.Open(f.real(name)) }
func (f foldingFS) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(f.fsys, f.real(name)) }
func (f foldingFS) ReadLink(name string) (string, error)   { return fs.ReadLink(f.fsys, f.real(name)) }
func (f foldingFS) ReadDir(name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(f.fsys, f.real(name))
}

// TestExactNames: fixed names are matched byte for byte, also where the disk
// would find another spelling. [L9]
func TestExactNames(t *testing.T) {
	const skill = "---\nname: a\ndescription: d\n---\n"
	for name, wrap := range map[string]func(fs.FS) fs.FS{
		"exact":                 func(fsys fs.FS) fs.FS { return fsys },
		"folding":               func(fsys fs.FS) fs.FS { return foldingFS{fsys} },
		"folding without links": func(fsys fs.FS) fs.FS { return plainFS{foldingFS{fsys}} },
	} {
		for _, spelled := range []string{"Plugin.json", "PLUGIN.JSON", "plugin.Json"} {
			fsys := wrap(fstestFS(map[string]string{spelled: smallManifest}))
			_, err := plugin.LoadFS(context.Background(), fsys, plugin.Options{})
			var rejected *plugin.RejectedError
			if !errors.As(err, &rejected) || rejected.Findings[0].Code != finding.ManifestMissing || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s: %v", name, spelled, err)
			}
		}
		p := mustLoadFS(t, wrap(fstestFS(map[string]string{"plugin.json": smallManifest, "MCP.JSON": "{", "Skills/a/SKILL.md": skill, "Com.Example/x": ""})), plugin.Options{})
		if p.MCPState() != plugin.MCPAbsent || p.SkillsState() != skills.StateAbsent || len(p.Findings()) != 0 {
			t.Errorf("%s: mcp %v, skills %v, %v", name, p.MCPState(), p.SkillsState(), p.Findings())
		}
		if _, err := p.ExtensionFS("com.example"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: com.example: %v", name, err)
		}
		p = mustLoadFS(t, wrap(fstestFS(map[string]string{"plugin.json": smallManifest, "mcp.json": noServers, "skills/a/skill.md": skill, "skills/b/Skill.MD": skill, "skills/c/SKILL.md": "---\nname: c\ndescription: d\n---\n"})), plugin.Options{})
		if p.MCPState() != plugin.MCPConfigured || len(p.Skills()) != 1 || p.SkippedSkills() != nil || len(p.Findings()) != 0 {
			t.Errorf("%s: mcp %v, skills %v, %v", name, p.MCPState(), p.Skills(), p.Findings())
		}
	}
}

// fstestFS is memory without the manifest that it adds.
func fstestFS(files map[string]string) fs.FS {
	out := memory(files)
	if _, ok := files["plugin.json"]; !ok {
		delete(out, "plugin.json")
	}
	return out
}

// TestPure: loading writes nothing, leaves nothing running, gives the same
// result each time, and can be done side by side. [L4] [L7]
func TestPure(t *testing.T) {
	dir := write(t, rich)
	before := tree(t, dir)
	want := look(mustLoad(t, dir))
	running := runtime.NumGoroutine()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 5 {
				p, err := plugin.Load(context.Background(), dir, plugin.Options{})
				if err != nil {
					t.Error(err)
				} else if got := look(p); !reflect.DeepEqual(got, want) {
					t.Errorf("another result:\n%+v\nwant:\n%+v", got, want)
				}
			}
		})
	}
	group.Wait()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > running && time.Now().Before(deadline); {
		runtime.Gosched() // the goroutines above may still be ending
	}
	if n := runtime.NumGoroutine(); n > running {
		t.Errorf("%d goroutines, before %d", n, running)
	}
	if after := tree(t, dir); !reflect.DeepEqual(after, before) {
		t.Errorf("the package changed:\n%q\nbefore:\n%q", after, before)
	}
}

// tree describes everything below a directory.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out = append(out, fmt.Sprint(path, info.Mode(), info.Size(), info.ModTime()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestErrors: what is a rejection, and what is not. [L3] [Q1]
func TestErrors(t *testing.T) {
	ctx := context.Background()
	dir := write(t, map[string]string{"../empty/": "", "file": "x", "../loop": "-> loop", "../dangling": "-> gone"})
	base := filepath.Dir(dir)

	_, err := plugin.Load(ctx, filepath.Join(base, "empty"), plugin.Options{})
	var rejected *plugin.RejectedError
	if !errors.As(err, &rejected) || !errors.Is(err, plugin.ErrRejected) || !errors.Is(err, fs.ErrNotExist) || rejected.Findings[0].Code != finding.ManifestMissing {
		t.Errorf("no manifest: %v", err)
	}
	if !strings.HasPrefix(err.Error(), "plugin: rejected: plugin.json: error: ") || !strings.Contains(err.Error(), "[manifest-missing, AP §4.1]") {
		t.Errorf("text = %q", err)
	}
	_, err = plugin.LoadFS(ctx, memory(map[string]string{"plugin.json": "{"}), plugin.Options{})
	if !errors.Is(err, plugin.ErrRejected) || errors.Is(err, fs.ErrNotExist) || errors.Unwrap(err) != nil {
		t.Errorf("bad manifest: %v", err)
	}
	_, err = plugin.LoadFS(ctx, memory(map[string]string{"plugin.json": "-> ../x"}), plugin.Options{})
	if !errors.Is(err, plugin.ErrRejected) || !errors.Is(err, paths.ErrEscape) {
		t.Errorf("a manifest outside: %v", err)
	}

	for name, want := range map[string]error{"none": fs.ErrNotExist, "package/file": nil, "package/file/x": nil, "loop": nil, "dangling": fs.ErrNotExist, "x\x00": fs.ErrInvalid} {
		p, err := plugin.Load(ctx, filepath.Join(base, filepath.FromSlash(name)), plugin.Options{})
		if p != nil || err == nil || errors.Is(err, plugin.ErrRejected) || want != nil && !errors.Is(err, want) {
			t.Errorf("root %q: %v, %v", name, p, err)
		}
	}
	for name, fsys := range map[string]fs.FS{"nil": nil, "no root": faultyFS{memory(nil), map[string]error{".": fs.ErrPermission, "lstat .": fs.ErrPermission}}, "a missing root": mustSub(t, os.DirFS(base), "none")} {
		if name == "no root" {
			fsys = plainFS{fsys}
		}
		if p, err := plugin.LoadFS(ctx, fsys, plugin.Options{}); p != nil || err == nil || errors.Is(err, plugin.ErrRejected) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}

	if err := new(plugin.RejectedError); err.Error() == "" || !errors.Is(err, plugin.ErrRejected) {
		t.Errorf("the zero rejection: %v", err)
	}
	var zero plugin.Plugin
	if _, ok := zero.Extension("x"); ok || zero.Name() != "" || zero.Dir() != "" || zero.Declares("name") || zero.Findings() != nil || zero.Servers() != nil || zero.Skills() != nil || zero.Extensions() != nil {
		t.Error("the zero plugin holds something")
	}
	if _, err := zero.ExtensionFS("com.x"); err == nil {
		t.Error("the zero plugin has an extension directory")
	}
}

// cancelFS cancels a context when a name is opened.
type cancelFS struct {
	fs.FS
	name   string
	cancel func()
}

func (c cancelFS) Open(name string) (fs.File, error) {
	if name == c.name {
		c.cancel()
	}
	return c.FS.Open(name)
}

// [L4]
func TestContextEnds(t *testing.T) {
	for _, at := range []string{"", "plugin.json", "skills", "skills/good/SKILL.md", "mcp.json"} {
		ctx, cancel := context.WithCancel(context.Background())
		if at == "" {
			cancel()
		}
		p, err := plugin.LoadFS(ctx, cancelFS{memory(rich), at, cancel}, plugin.Options{})
		if !errors.Is(err, context.Canceled) || errors.Is(err, plugin.ErrRejected) || p != nil {
			t.Errorf("cancelled at %q: %v, %v", at, p, err)
		}
		cancel()
	}
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	if _, err := plugin.Load(ctx, write(t, nil), plugin.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deadline: %v", err)
	}
}

// wideFS has n skills without having to write or search as many files.
type wideFS struct{ top fstest.MapFS }

func newWideFS(n int) wideFS {
	top := memory(nil)
	for i := range n {
		top[fmt.Sprintf("skills/s%05d", i)] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
	}
	return wideFS{top}
}

func (w wideFS) of(name string) fstest.MapFS {
	parts := strings.Split(name, "/")
	if len(parts) < 2 {
		return w.top
	}
	return fstest.MapFS{"skills/" + parts[1] + "/SKILL.md": {Data: []byte("---\nname: " + parts[1] + "\ndescription: d\n---\n")}}
}

func (w wideFS) Open(name string) (fs.File, error)      { return w.of(name).Open(name) }
func (w wideFS) Lstat(name string) (fs.FileInfo, error) { return w.of(name).Lstat(name) }
func (w wideFS) ReadLink(name string) (string, error)   { return w.of(name).ReadLink(name) }

// TestManySkills: the limit counts, the first in order load, and it is quick. [L5] [L7]
func TestManySkills(t *testing.T) {
	max, opts := 10_000, plugin.Options{}
	if raceEnabled { // as much work as the race detector has time for
		max, opts.Limits.Skills.Skills = 500, 500
	}
	start := time.Now()
	p := mustLoadFS(t, newWideFS(max+1), opts)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	list := p.Skills()
	if len(list) != max || list[0].Name() != "s00000" || list[max-1].Name() != fmt.Sprintf("s%05d", max-1) || p.SkillsState() != skills.StateLoaded {
		t.Errorf("%d skills", len(list))
	}
	if got := briefs(p.Findings()); !slices.Equal(got, []string{"skills-too-many error component"}) {
		t.Errorf("findings %q", got)
	}
}

// TestLenientSkills: the host chooses for each load what becomes of skills that
// do not conform. [S7] [S6]
func TestLenientSkills(t *testing.T) {
	dir := write(t, map[string]string{
		"plugin.json":          fill.Replace(`{@S,"name":"a"}`),
		"skills/b/SKILL.md":    "---\nname: My Skill\ndescription: d\n---\nBody.\n",
		"skills/lost/SKILL.md": "# No frontmatter\n",
	})
	for mode, want := range map[skills.Mode][]string{skills.Strict: nil, skills.Lenient: {"my-skill"}} {
		p, err := plugin.Load(context.Background(), dir, plugin.Options{SkillMode: mode})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range p.Skills() {
			names = append(names, s.Name())
		}
		if !slices.Equal(names, want) {
			t.Errorf("mode %d: %q, %v", mode, names, p.Findings())
		}
		if mode == skills.Lenient && (p.Skill("my-skill") == nil || p.Skill("My Skill") != nil || !slices.Equal(p.SkippedSkills(), []string{"lost"})) {
			t.Errorf("skipped %q", p.SkippedSkills())
		}
	}
}

// TestSkillSource: a plugin's skills come with what plugin.json says of it.
func TestSkillSource(t *testing.T) {
	load := func(dir string, opts plugin.Options) *plugin.Plugin {
		p, err := plugin.Load(context.Background(), dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	dir := write(t, rich)
	source := load(dir, plugin.Options{}).SkillSource()
	if want := (skills.Origin{Kind: skills.KindPackage, Package: "rich", Version: "1"}); source.Origin != want || len(source.Skills) != 1 || source.Skills[0].Name() != "good" {
		t.Errorf("source %+v", source)
	}
	if source := load(dir, plugin.Options{Components: plugin.MCPOnly}).SkillSource(); source.Origin.Package != "rich" || len(source.Skills) > 0 {
		t.Errorf("without skills: %+v", source)
	}
	// What the host brings along stays, wherever the plugin stands.
	own := skills.Source{Origin: skills.Origin{Kind: skills.KindEmbedded, Package: "host"}, Skills: source.Skills}
	set, err := skills.NewSet(skills.SetOptions{}, source, own)
	if err != nil {
		t.Fatal(err)
	}
	if e, _ := set.Lookup("good"); e.Origin != own.Origin || len(set.Shadowed()) != 1 {
		t.Errorf("%+v", e)
	}
}

// TestFindingsOf: all findings, of a plugin that is loaded and of one that is
// rejected; an error only where nothing was judged. [L3]
func TestFindingsOf(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // the code
	}{
		{"clean", nil, ""},
		{"loaded", map[string]string{"skills/a/SKILL.md": ""}, "skill-no-frontmatter"},
		{"rejected", map[string]string{"plugin.json": "{"}, "manifest-invalid-json"},
	} {
		list, err := plugin.FindingsOf(plugin.LoadFS(ctx, memory(c.files), plugin.Options{}))
		if err != nil || (len(list) == 0) != (c.want == "") || len(list) > 0 && string(list[0].Code) != c.want {
			t.Errorf("%s: %v, %v", c.name, list, err)
		}
	}
	dir := t.TempDir()
	list, err := plugin.FindingsOf(plugin.Load(ctx, dir, plugin.Options{}))
	if err != nil || len(list) != 1 || list[0].Code != finding.ManifestMissing {
		t.Errorf("an empty directory: %v, %v", list, err)
	}
	if list, err := plugin.FindingsOf(plugin.Load(ctx, filepath.Join(dir, "none"), plugin.Options{})); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, plugin.ErrRejected) || list != nil {
		t.Errorf("no directory: %v, %v", list, err)
	}
	if list, err := plugin.FindingsOf(plugin.Load(ctx, dir, plugin.Options{Components: 9})); !errors.Is(err, plugin.ErrOptions) || list != nil {
		t.Errorf("unusable options: %v, %v", list, err)
	}
	if list, err := plugin.FindingsOf(nil, nil); list != nil || err != nil {
		t.Errorf("nothing: %v, %v", list, err)
	}
}

// TestStatesAsText: states stand in JSON as words.
func TestStatesAsText(t *testing.T) {
	text, err := json.Marshal([]any{plugin.MCPAbsent, plugin.MCPDisabled, plugin.ServerEnabled, plugin.ServerUnsupported, skills.StateLoaded, staging.OutcomeUnchanged})
	if err != nil || string(text) != `["absent","disabled","enabled","unsupported","loaded","unchanged"]` {
		t.Errorf("%s, %v", text, err)
	}
}
