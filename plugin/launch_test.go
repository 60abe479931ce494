package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

// TestLaunchPlan: placeholders are replaced in args, env values and cwd, once,
// and nowhere else, even where the root's own name is a placeholder.
// [E1] [E3] [E4]
func TestLaunchPlan(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, data := filepath.Join(base, "${PLUGIN_DATA}", "${PLUGIN_ROOT}"), filepath.Join(base, "data ${PLUGIN_ROOT}")
	writeTo(t, root, map[string]string{
		"plugin.json":           smallManifest,
		"${PLUGIN_ROOT}/server": "x",
		"mcp.json": fill.Replace(servers(
			`"s":{"type":"stdio","command":"./${PLUGIN_ROOT}/server",
			  "args":["${PLUGIN_ROOT}/a","","${PLUGIN_DATA}","${PLUGIN_ROOT}${PLUGIN_DATA}${PLUGIN_ROOT}","$PLUGIN_ROOT","${PLUGIN_ROOT_X}","${HOME}","%PLUGIN_ROOT%","${plugin_root}","$${PLUGIN_ROOT}","${${PLUGIN_ROOT}}","a b\n\"c"],
			  "env":{"A":"${PLUGIN_DATA}/x","${PLUGIN_ROOT}":"${HOME}","Z":""},
			  "cwd":"${PLUGIN_DATA}/state"}`,
			`"bare":{"type":"stdio","command":"node"}`)),
	})
	p := mustLoad(t, root)
	plan, err := p.LaunchPlan("s", data)
	if err != nil {
		t.Fatal(err)
	}
	want := plugin.LaunchPlan{
		Program: filepath.Join(root, "${PLUGIN_ROOT}", "server"),
		Args:    []string{root + "/a", "", data, root + data + root, "$PLUGIN_ROOT", "${PLUGIN_ROOT_X}", "${HOME}", "%PLUGIN_ROOT%", "${plugin_root}", "$" + root, "${" + root + "}", "a b\n\"c"},
		Env:     map[string]string{"A": data + "/x", "${PLUGIN_ROOT}": "${HOME}", "Z": "", "PLUGIN_ROOT": root, "PLUGIN_DATA": data},
		Dir:     filepath.Join(data, "state"),
	}
	if plan.Program != want.Program || !slices.Equal(plan.Args, want.Args) || !maps.Equal(plan.Env, want.Env) || plan.Dir != want.Dir {
		t.Errorf("plan = %+v\nwant  %+v", *plan, want)
	}
	if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("making a plan made the data directory: %v", err)
	}

	bare, err := p.LaunchPlan("bare", data)
	if err != nil {
		t.Fatal(err)
	}
	if bare.Program != "node" || bare.Args == nil || len(bare.Args) != 0 || bare.Dir != root || p.Dir() != root ||
		!maps.Equal(bare.Env, map[string]string{"PLUGIN_ROOT": root, "PLUGIN_DATA": data}) {
		t.Errorf("bare plan = %+v", bare)
	}

	// A plan is plain data: it survives JSON, and belongs to the caller.
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	var again plugin.LaunchPlan
	if err := json.Unmarshal(text, &again); err != nil || again.Digest() != plan.Digest() {
		t.Errorf("%v: %s", err, text)
	}
	plan.Args[0], plan.Env["A"] = "changed", "changed"
	if second, err := p.LaunchPlan("s", data); err != nil || second.Digest() != again.Digest() {
		t.Errorf("a change of a plan changed the plugin: %+v, %v", second, err)
	}
}

// TestLaunchLinkedRoot: PLUGIN_ROOT and PLUGIN_DATA are resolved. [E3]
func TestLaunchLinkedRoot(t *testing.T) {
	dir := write(t, map[string]string{"mcp.json": fill.Replace(stdio(`"args":["${PLUGIN_ROOT}"]`)), "../linked": "-> package", "../realdata/": "", "../data": "-> realdata"})
	base := filepath.Dir(dir)
	p := mustLoad(t, filepath.Join(base, "linked"))
	plan, err := p.LaunchPlan("s", filepath.Join(base, "data", "x", "..", "i"))
	if err != nil {
		t.Fatal(err)
	}
	if data := filepath.Join(base, "realdata", "i"); p.Dir() != dir || plan.Env["PLUGIN_ROOT"] != dir || plan.Args[0] != dir || plan.Dir != dir || plan.Env["PLUGIN_DATA"] != data {
		t.Errorf("plan = %+v", plan)
	}
}

// TestLaunchDataCwd: a cwd below PLUGIN_DATA may be missing, and must stay
// inside, whatever stands in the data directory at launch. [C5] [E1] [P5]
func TestLaunchDataCwd(t *testing.T) {
	for _, c := range []struct {
		cwd  string
		want string // relative to the data directory
		err  error
	}{
		{"${PLUGIN_DATA}", ".", nil},
		{"${PLUGIN_DATA}/", ".", nil},
		{"${PLUGIN_DATA}/have", "have", nil},
		{"${PLUGIN_DATA}/gone/x/../y", "gone/y", nil},
		{"${PLUGIN_DATA}/in/..", "deep", nil},
		{"${PLUGIN_DATA}/..data", "..data", nil},
		{"${PLUGIN_DATA}/out", "", paths.ErrEscape},
		{"${PLUGIN_DATA}/out/x", "", paths.ErrEscape},
		{"${PLUGIN_DATA}/loop", "", paths.ErrEscape},
		{"${PLUGIN_DATA}/file", "", plugin.ErrPlan},
	} {
		dir := write(t, map[string]string{"mcp.json": entryFor(t, "node", map[string]any{"cwd": c.cwd}),
			"../data/have/": "", "../data/deep/er/": "", "../data/in": "-> deep/er", "../data/out": "-> ../outside", "../outside/x/": "", "../data/file": "", "../data/loop": "-> loop"})
		data := filepath.Join(filepath.Dir(dir), "data")
		plan, err := mustLoad(t, dir).LaunchPlan("s", data)
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %v, want %v", c.cwd, err, c.err)
			continue
		}
		if err == nil && plan.Dir != filepath.Join(data, filepath.FromSlash(c.want)) {
			t.Errorf("%s: dir = %s, want %s", c.cwd, plan.Dir, c.want)
		}
		if c.err != nil && plan != nil {
			t.Errorf("%s: a plan comes with an error", c.cwd)
		}
	}
}

// TestLaunchPlaceholderInCwd: what a placeholder brings in behind another
// component is judged at launch. [E1] [C5]
func TestLaunchPlaceholderInCwd(t *testing.T) {
	dir := write(t, map[string]string{"mcp.json": fill.Replace(servers(
		`"in":{"type":"stdio","command":"c","cwd":"./${PLUGIN_DATA}"}`, `"twice":{"type":"stdio","command":"c","cwd":"${PLUGIN_ROOT}/${PLUGIN_ROOT}"}`,
		`"up":{"type":"stdio","command":"c","cwd":"./${PLUGIN_DATA}/../../../../../../../../../../../../../../../../x"}`))})
	p := mustLoad(t, dir)
	data := filepath.Join(filepath.Dir(dir), "data")
	if plan, err := p.LaunchPlan("in", data); err != nil || plan.Dir != dir+data {
		t.Errorf("in: %+v, %v", plan, err)
	}
	if plan, err := p.LaunchPlan("twice", data); err != nil || plan.Dir != dir+dir {
		t.Errorf("twice: %+v, %v", plan, err)
	}
	if plan, err := p.LaunchPlan("up", data); !errors.Is(err, paths.ErrEscape) || plan != nil {
		t.Errorf("up: %+v, %v", plan, err)
	}
}

// TestLaunchErrors: each failure has an error of its own. [Q1] [L1]
func TestLaunchErrors(t *testing.T) {
	files := map[string]string{"mcp.json": fill.Replace(servers(`"s":{"type":"stdio","command":"./x"}`, `"r":{"type":"sse","url":"https://h"}`, `"bad":1`,
		`"big":{"type":"stdio","command":"c","args":["`+strings.Repeat("${PLUGIN_ROOT}", 60_000)+`"]}`)), "x": "x"}
	dir := write(t, files)
	p := mustLoad(t, dir)
	data := filepath.Join(filepath.Dir(dir), "data")
	for name, c := range map[string]struct {
		p            *plugin.Plugin
		server, data string
		want         error
	}{
		"no server":          {p, "none", data, plugin.ErrNoServer},
		"a skipped server":   {p, "bad", data, plugin.ErrNoServer},
		"a remote server":    {p, "r", data, plugin.ErrNotStdio},
		"relative data":      {p, "s", "data", plugin.ErrDataDir},
		"no data":            {p, "s", "", plugin.ErrDataDir},
		"data with NUL":      {p, "s", data + "\x00", plugin.ErrDataDir},
		"data is a file":     {p, "s", filepath.Join(dir, "x"), plugin.ErrDataDir},
		"no directory":       {mustLoadFS(t, memory(files), plugin.Options{}), "s", data, plugin.ErrNoDirectory},
		"the zero plugin":    {&plugin.Plugin{}, "s", data, plugin.ErrNoDirectory},
		"an fs.FS of a disk": {mustLoadFS(t, os.DirFS(dir), plugin.Options{}), "s", data, plugin.ErrNoDirectory},
	} {
		if plan, err := c.p.LaunchPlan(c.server, c.data); !errors.Is(err, c.want) || plan != nil {
			t.Errorf("%s: %v, %v, want %v", name, plan, err, c.want)
		}
	}

	// Expansion is bounded: a name of 200 bytes, 60,000 times, is 12 MB.
	deep := filepath.Join(filepath.Dir(dir), strings.Repeat("n", 200))
	if err := os.Rename(dir, deep); err != nil {
		t.Fatal(err)
	}
	if plan, err := mustLoad(t, deep).LaunchPlan("big", data); !errors.Is(err, plugin.ErrPlan) || plan != nil {
		t.Errorf("big: %v", err)
	}
}

// TestLaunchKindChanges: a command that becomes a directory, or a cwd that
// becomes a file, fails the launch. [P5] [C3] [C5]
func TestLaunchKindChanges(t *testing.T) {
	dir := write(t, map[string]string{"mcp.json": fill.Replace(servers(`"a":{"type":"stdio","command":"./x"}`, `"b":{"type":"stdio","command":"c","cwd":"./y"}`))})
	p := mustLoad(t, dir)
	writeTo(t, dir, map[string]string{"x/": "", "y": "file"})
	for _, name := range []string{"a", "b"} {
		if plan, err := p.LaunchPlan(name, dir); !errors.Is(err, plugin.ErrPlan) || plan != nil {
			t.Errorf("%s: %v, %v", name, plan, err)
		}
	}
}

func samplePlan() plugin.LaunchPlan {
	return plugin.LaunchPlan{Program: "/p/bin/server", Args: []string{"--a", "b"}, Env: map[string]string{"A": "1", "B": "2"}, Dir: "/p"}
}

// TestDigest: the digest is the same on every machine and in every run, and
// differs when a field, or a boundary between fields, moves. [E4]
func TestDigest(t *testing.T) {
	// Computed by another program from the description, see the comment of Digest.
	const golden = "sha256:5edf71e13831a46e2eb931b91f816d7f2ec00d755fa3ead75bd23581fbfa9249"
	if got := samplePlan().Digest(); got != golden {
		t.Errorf("digest = %s, want %s", got, golden)
	}
	seen := map[string]string{}
	for name, change := range map[string]func(*plugin.LaunchPlan){
		"nothing":                func(*plugin.LaunchPlan) {},
		"program":                func(p *plugin.LaunchPlan) { p.Program = "/p/bin/serves" },
		"program to args":        func(p *plugin.LaunchPlan) { p.Program, p.Args = "/p/bin/server--a", p.Args[1:] },
		"args":                   func(p *plugin.LaunchPlan) { p.Args = []string{"--a", "c"} },
		"order of args":          func(p *plugin.LaunchPlan) { p.Args = []string{"b", "--a"} },
		"joined args":            func(p *plugin.LaunchPlan) { p.Args = []string{"--ab"} },
		"moved boundary of args": func(p *plugin.LaunchPlan) { p.Args = []string{"--", "ab"} },
		"an empty arg behind":    func(p *plugin.LaunchPlan) { p.Args = []string{"--a", "b", ""} },
		"an empty arg before":    func(p *plugin.LaunchPlan) { p.Args = []string{"", "--a", "b"} },
		"no args":                func(p *plugin.LaunchPlan) { p.Args = nil },
		"an arg to env": func(p *plugin.LaunchPlan) {
			p.Args, p.Env = []string{"--a"}, map[string]string{"A": "1", "B": "2", "b": ""}
		},
		"env value":                 func(p *plugin.LaunchPlan) { p.Env["A"] = "2" },
		"env name":                  func(p *plugin.LaunchPlan) { p.Env = map[string]string{"C": "1", "B": "2"} },
		"env values swapped":        func(p *plugin.LaunchPlan) { p.Env = map[string]string{"A": "2", "B": "1"} },
		"name and value boundary":   func(p *plugin.LaunchPlan) { p.Env = map[string]string{"A1": "", "B": "2"} },
		"one more variable":         func(p *plugin.LaunchPlan) { p.Env["C"] = "" },
		"no env":                    func(p *plugin.LaunchPlan) { p.Env = nil },
		"dir":                       func(p *plugin.LaunchPlan) { p.Dir = "/q" },
		"env value to dir":          func(p *plugin.LaunchPlan) { p.Env["B"], p.Dir = "", "2/p" },
		"letter case":               func(p *plugin.LaunchPlan) { p.Dir = "/P" },
		"NUL":                       func(p *plugin.LaunchPlan) { p.Args = []string{"--a\x00b"} },
		"all empty":                 func(p *plugin.LaunchPlan) { *p = plugin.LaunchPlan{} },
		"length that looks like it": func(p *plugin.LaunchPlan) { p.Args = []string{"--a\x00\x00\x00\x00\x00\x00\x00\x01b"} },
	} {
		p := samplePlan()
		change(&p)
		d := p.Digest()
		if other, ok := seen[d]; ok {
			t.Errorf("%q and %q have the same digest", name, other)
		}
		seen[d] = name
		if d != p.Digest() || len(d) != len("sha256:")+64 {
			t.Errorf("%s: digest = %s", name, d)
		}
	}
	empty := plugin.LaunchPlan{Args: []string{}, Env: map[string]string{}}
	if empty.Digest() != (plugin.LaunchPlan{}).Digest() {
		t.Error("nil and empty differ")
	}
}

// TestServerDigest: an entry's digest is the same wherever the plugin is, and
// differs where the entry does. [E4]
func TestServerDigest(t *testing.T) {
	seen := map[string]string{}
	for name, entry := range map[string]string{
		"stdio":             `{"type":"stdio","command":"c"}`,
		"args":              `{"type":"stdio","command":"c","args":["a"]}`,
		"env":               `{"type":"stdio","command":"c","env":{"A":"1"}}`,
		"cwd":               `{"type":"stdio","command":"c","cwd":"${PLUGIN_ROOT}"}`,
		"remote":            `{"type":"streamable-http","url":"https://a.example/mcp"}`,
		"another url":       `{"type":"streamable-http","url":"https://b.example/mcp"}`,
		"another path":      `{"type":"streamable-http","url":"https://a.example/mcp2"}`,
		"another transport": `{"type":"sse","url":"https://a.example/mcp"}`,
		"a header":          `{"type":"streamable-http","url":"https://a.example/mcp","headers":{"X-A":"1"}}`,
		"another value":     `{"type":"streamable-http","url":"https://a.example/mcp","headers":{"X-A":"2"}}`,
	} {
		files := map[string]string{"mcp.json": fill.Replace(servers(`"s":` + entry))}
		digest := mustLoad(t, write(t, files)).Server("s").Digest()
		if other, ok := seen[digest]; ok || len(digest) != len("sha256:")+64 {
			t.Errorf("%q and %q have the digest %s", name, other, digest)
		}
		seen[digest] = name
		if again := mustLoad(t, write(t, files)).Server("s").Digest(); again != digest {
			t.Errorf("%s: in another place the digest is %s, not %s", name, again, digest)
		}
	}
	// Computed by another program from the description.
	const golden = "sha256:4f676b12fac60803da7699a07e9dc51100b9fa31ff9eef2b5c90dede79ad312c"
	if seen[golden] != "a header" {
		t.Errorf("no entry has the digest %s, but %v", golden, seen)
	}
}

// TestLaunchDataDirLink: a link in the place of the data directory is refused,
// one above it is the host's own. [E3]
func TestLaunchDataDirLink(t *testing.T) {
	dir := write(t, map[string]string{"mcp.json": fill.Replace(servers(`"s":{"type":"stdio","command":"c","cwd":"${PLUGIN_DATA}/x"}`))})
	p := mustLoad(t, dir)
	base := t.TempDir()
	real := filepath.Join(base, "real")
	if err := os.MkdirAll(filepath.Join(real, "key"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"root": "real", "key": "real/key"} {
		if err := os.Symlink(target, filepath.Join(base, name)); err != nil {
			t.Skip(err)
		}
	}
	if plan, err := p.LaunchPlan("s", filepath.Join(base, "key")); !errors.Is(err, plugin.ErrDataDir) {
		t.Errorf("a link as data directory: %v, %v", plan, err)
	}
	plan, err := p.LaunchPlan("s", filepath.Join(base, "root", "key"))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := filepath.EvalSymlinks(filepath.Join(real, "key"))
	if err != nil {
		t.Fatal(err)
	}
	if plan.Env["PLUGIN_DATA"] != resolved || plan.Dir != filepath.Join(resolved, "x") {
		t.Errorf("plan = %+v, want data %s", plan, resolved)
	}
}

// TestLaunchNeedsAnEnabledServer [C9]
func TestLaunchNeedsAnEnabledServer(t *testing.T) {
	dir := write(t, map[string]string{"mcp.json": fill.Replace(servers(`"s":{"type":"stdio","command":"c"}`))})
	for _, opts := range []plugin.Options{
		{Disabled: []plugin.Transport{plugin.TransportStdio}}, {Unsupported: []plugin.Transport{plugin.TransportStdio}},
	} {
		p, err := plugin.Load(context.Background(), dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		if plan, err := p.LaunchPlan("s", filepath.Join(dir, "data")); !errors.Is(err, plugin.ErrNotEnabled) || plan != nil {
			t.Errorf("%+v: %v, %v", opts, plan, err)
		}
	}
}

// TestUnusableOptions [L8] [C9]
func TestUnusableOptions(t *testing.T) {
	for name, opts := range map[string]plugin.Options{
		"components":  {Components: 9},
		"disabled":    {Disabled: []plugin.Transport{"STDIO"}},
		"unsupported": {Unsupported: []plugin.Transport{"http"}},
		"mode":        {SkillMode: 9},
	} {
		p, err := plugin.Load(context.Background(), t.TempDir(), opts)
		if p != nil || !errors.Is(err, plugin.ErrOptions) || errors.Is(err, plugin.ErrRejected) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// TestCwdWithInnerPlaceholders: what can be told of such a cwd before launch is
// judged at load. [C5]
func TestCwdWithInnerPlaceholders(t *testing.T) {
	dir := write(t, map[string]string{"out": "-> /", "in/": ""})
	up := strings.Repeat("/..", strings.Count(dir, "/")+2)
	for cwd, want := range map[string]finding.Code{
		"./${PLUGIN_ROOT}" + up:                       finding.ServerCwdEscapes,
		"${PLUGIN_ROOT}/${PLUGIN_ROOT}" + up + "/x":   finding.ServerCwdEscapes,
		"${PLUGIN_DATA}/${PLUGIN_ROOT}" + up + "/x":   finding.ServerCwdEscapes,
		"${PLUGIN_DATA}/../../${PLUGIN_DATA}":         finding.ServerCwdEscapes,
		"./out/${PLUGIN_DATA}":                        finding.ServerCwdEscapes,
		"./../../${PLUGIN_DATA}/x":                    finding.ServerCwdEscapes,
		"./${PLUGIN_ROOT}":                            finding.ServerCwdMissing,
		"./in/a${PLUGIN_ROOT}":                        finding.ServerCwdMissing,
		"./in/${PLUGIN_DATA}":                         "",
		"./in/x${PLUGIN_DATA}/..":                     "",
		"${PLUGIN_DATA}/${PLUGIN_ROOT}":               "",
		"${PLUGIN_DATA}/${PLUGIN_DATA}/../../../../a": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, "mcp.json"), []byte(fill.Replace(servers(`"s":{"type":"stdio","command":"c","cwd":"`+cwd+`"}`))), 0o644); err != nil {
			t.Fatal(err)
		}
		var got finding.Code
		for _, f := range mustLoad(t, dir).Findings() {
			got += f.Code
		}
		if got != want {
			t.Errorf("cwd %q: %q, want %q", cwd, got, want)
		}
	}
}
