package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// TestBuildForm: the documents are canonical, and the files are those of the
// draft. [X1]
func TestBuildForm(t *testing.T) {
	pkg := mustBuild(t, sample())
	if got := grave(pkg.Plugin()); len(got) > 0 {
		t.Error(got)
	}
	got := filesOf(t, pkg.FS())
	want := map[string]string{
		"plugin.json": `{
  "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
  "name": "sample",
  "version": "1.2.0",
  "description": "All of it: <b>&</b> \u2028",
  "author": {
    "name": "A",
    "email": "a@example.com",
    "url": "https://example.com"
  },
  "homepage": "https://example.com",
  "repository": "https://example.com/r",
  "license": "MIT",
  "keywords": [
    "one",
    ""
  ],
  "extensions": {
    "com.example": {
      "b": 1.10,
      "a": [
        {
          "x": null
        }
      ]
    },
    "org.example": {}
  }
}
`,
		"mcp.json": `{
  "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
  "mcpServers": {
    "local": {
      "type": "stdio",
      "command": "./bin/server",
      "args": [
        "--config",
        "${PLUGIN_ROOT}/c.json",
        ""
      ],
      "env": {
        "LEVEL": "info"
      },
      "cwd": "./work"
    },
    "remote ` + "\u202e" + `": {
      "type": "sse",
      "url": "https://example.com/sse",
      "headers": {
        "X-Team": "a"
      }
    },
    "bare": {
      "type": "stdio",
      "command": "npx",
      "args": [],
      "env": {}
    }
  }
}
`,
		"skills/review/SKILL.md":            "---\nname: review\ndescription: \"Reviews: carefully.\"\nlicense: MIT\nmetadata:\n  version: \"1.0\"\nallowed-tools: Bash(git log:*) Read\nhooks:\n  a:\n    - 1\n    - \"2\"\n---\n\n# Review\n---\n",
		"skills/review/references/style.md": "Be brief.",
		"skills/review/scripts/run.sh x":    "#!/bin/sh\n",
		"skills/plain/SKILL.md":             "---\nname: plain\ndescription: x\n---\n",
		"skills/note.txt":                   "n",
		"skills/none/x":                     "x",
		"bin/server x":                      "\x7fELF",
		"work/":                             "",
		"com.example/data":                  "d",
	}
	if !maps.Equal(got, want) {
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s:\n%s\nwant:\n%s", name, got[name], want[name])
			}
		}
		t.Errorf("files %q", slices.Sorted(maps.Keys(got)))
	}
	if err := fstest.TestFS(pkg.FS(), "plugin.json", "skills/review/scripts/run.sh", "work"); err != nil {
		t.Error(err)
	}
	if v := pkg.Version(); v != "1.2.0" {
		t.Errorf("version %q", v)
	}
	d := sample()
	d.Manifest.Version = ""
	if pkg := mustBuild(t, d); pkg.Version() != pkg.Hash() || !strings.HasPrefix(pkg.Hash(), "sha256:") {
		t.Errorf("version %q, hash %q", pkg.Version(), pkg.Hash())
	}
}

// TestBuildRefuses: what does not conform cannot be built, and the error names
// the field. [X1] [X4]
func TestBuildRefuses(t *testing.T) {
	server := func(s plugin.ServerDraft) func(*plugin.Draft) {
		return func(d *plugin.Draft) {
			d.Servers = append([]plugin.ServerDraft{{Name: "first", Type: plugin.TransportStdio, Stdio: plugin.Stdio{Command: "c"}}}, s)
		}
	}
	stdio := func(s plugin.Stdio) func(*plugin.Draft) {
		return server(plugin.ServerDraft{Name: "s", Type: plugin.TransportStdio, Stdio: s})
	}
	remote := func(r plugin.Remote) func(*plugin.Draft) {
		return server(plugin.ServerDraft{Name: "s", Type: plugin.TransportStreamableHTTP, Remote: r})
	}
	for _, c := range []struct {
		field string
		with  func(*plugin.Draft)
	}{
		{"manifest.name", func(d *plugin.Draft) { d.Manifest.Name = "" }},
		{"manifest.name", func(d *plugin.Draft) { d.Manifest.Name = "My Plugin" }},
		{"manifest.schema", func(d *plugin.Draft) { d.Manifest.Schema = "https://example.com" }},
		{"manifest.schema", func(d *plugin.Draft) { d.Manifest.Schema = strings.Replace(manifestSchema, "1.0.0", "9.0.0", 1) }},
		{"manifest.version", func(d *plugin.Draft) { d.Manifest.Version = "\xff" }},
		{"manifest.author.email", func(d *plugin.Draft) { d.Manifest.Author.Email = "\xff" }},
		{"manifest.keywords[1]", func(d *plugin.Draft) { d.Manifest.Keywords = []string{"a", "\xff"} }},
		{"manifest", func(d *plugin.Draft) { d.Manifest.Description = strings.Repeat("x", 1<<20) }},
		{"extensions[com.x]", func(d *plugin.Draft) { d.Extensions = map[string]json.RawMessage{"com.x": json.RawMessage(`1`)} }},
		{"extensions[com.x]", func(d *plugin.Draft) { d.Extensions = map[string]json.RawMessage{"com.x": nil} }},
		{"extensions[com.x]", func(d *plugin.Draft) {
			d.Extensions = map[string]json.RawMessage{"com.x": json.RawMessage(`{}}, "name": {`)}
		}},
		{"extensions[com.x][a]", func(d *plugin.Draft) {
			d.Extensions = map[string]json.RawMessage{"com.x": json.RawMessage(`{"a":1,"a":2}`)}
		}},
		{`extensions[\xff]`, func(d *plugin.Draft) { d.Extensions = map[string]json.RawMessage{"\xff": json.RawMessage(`{}`)} }},
		{"skills[1].name", func(d *plugin.Draft) { d.Skills = append(d.Skills, skills.Draft{Name: "Not_A Slug", Description: "x"}) }},
		{"skills[1].name", func(d *plugin.Draft) { d.Skills = append(d.Skills, d.Skills[0]) }},
		{"skills[0].description", func(d *plugin.Draft) { d.Skills[0].Description = "" }},
		{"skills[0].metadata[k]", func(d *plugin.Draft) { d.Skills[0].Metadata = map[string]string{"k": "\xff"} }},
		{"servers[1].type", server(plugin.ServerDraft{Name: "s", Type: "http"})},
		{"servers[1].type", server(plugin.ServerDraft{Name: "s"})},
		{"servers[1].name", server(plugin.ServerDraft{Name: "\xff", Type: plugin.TransportStdio, Stdio: plugin.Stdio{Command: "c"}})},
		{"servers[0].name", server(plugin.ServerDraft{Name: "first", Type: plugin.TransportStdio, Stdio: plugin.Stdio{Command: "c"}})},
		{"servers[1].remote", server(plugin.ServerDraft{Name: "s", Type: plugin.TransportStdio, Stdio: plugin.Stdio{Command: "c"}, Remote: plugin.Remote{URL: "https://h"}})},
		{"servers[1].stdio", server(plugin.ServerDraft{Name: "s", Type: plugin.TransportSSE, Stdio: plugin.Stdio{Command: "c"}, Remote: plugin.Remote{URL: "https://h"}})},
		{"servers[1].command", stdio(plugin.Stdio{})},
		{"servers[1].command", stdio(plugin.Stdio{Command: "node server.js"})},
		{"servers[1].command", stdio(plugin.Stdio{Command: "../x"})},
		{"servers[1].command", stdio(plugin.Stdio{Command: "./missing"})}, // a warning on loading
		{"servers[1].args[1]", stdio(plugin.Stdio{Command: "c", Args: []string{"a", "\x00"}})},
		{"servers[1].args[0]", stdio(plugin.Stdio{Command: "c", Args: []string{"\xff"}})},
		{"servers[1].env[A=B]", stdio(plugin.Stdio{Command: "c", Env: map[string]string{"A=B": "x"}})},
		{"servers[1].env[PLUGIN_ROOT]", stdio(plugin.Stdio{Command: "c", Env: map[string]string{"PLUGIN_ROOT": "x"}})},
		{"servers[1].cwd", stdio(plugin.Stdio{Command: "c", Cwd: "/tmp"})},
		{"servers[1].cwd", stdio(plugin.Stdio{Command: "c", Cwd: "./.."})},
		{"servers[1].cwd", stdio(plugin.Stdio{Command: "c", Cwd: "./missing"})},
		{"servers[1].url", remote(plugin.Remote{})},
		{"servers[1].url", remote(plugin.Remote{URL: "http://example.com"})},
		{"servers[1].url", remote(plugin.Remote{URL: "https://u@example.com"})},
		{"servers[1].headers[X A]", remote(plugin.Remote{URL: "https://h", Headers: map[string]string{"X A": "x"}})},
		{"servers[1].headers[x-a]", remote(plugin.Remote{URL: "https://h", Headers: map[string]string{"X-A": "x", "x-a": "x"}})},
		{"files[skills/b/SKILL.md]", func(d *plugin.Draft) { d.Files = memoryFiles("skills/b/SKILL.md", "no frontmatter") }},
		{"files[mcp.json]", func(d *plugin.Draft) { d.Files = memoryFiles("mcp.json", "[]") }},
		{"files[skills]", func(d *plugin.Draft) { d.Skills, d.Files = nil, memoryFiles("skills", "no directory") }},
	} {
		d := &plugin.Draft{Manifest: plugin.Manifest{Name: "demo"}, Skills: []skills.Draft{{Name: "a", Description: "x"}}}
		c.with(d)
		pkg, err := d.Build(context.Background(), plugin.BuildOptions{})
		var build *plugin.BuildError
		var field *skills.FieldError
		if !errors.As(err, &build) || !errors.As(err, &field) || pkg != nil {
			t.Errorf("%s: %v", c.field, err)
			continue
		}
		if field.Field != c.field || field.Reason == "" {
			t.Errorf("%s: the error is of %s: %v", c.field, field.Field, err)
		}
	}

	_, err := (&plugin.Draft{Manifest: plugin.Manifest{Name: "Meine Prüf_Werkzeuge.v2"}}).Build(context.Background(), plugin.BuildOptions{})
	var field *skills.FieldError
	if !errors.As(err, &field) || field.Nearest != "meine-pruf-werkzeuge.v2" || !errors.Is(err, plugin.ErrName) || errors.Is(err, plugin.ErrCredential) {
		t.Errorf("the nearest name: %v", err)
	}
	_, err = (&plugin.Draft{Manifest: plugin.Manifest{Name: "demo"}, Skills: []skills.Draft{{Name: "Not_A Slug"}}}).Build(context.Background(), plugin.BuildOptions{})
	if !errors.As(err, &field) || field.Nearest != "not-a-slug" || !errors.Is(err, skills.ErrName) || errors.Is(err, plugin.ErrName) {
		t.Errorf("the nearest name: %v", err)
	}
	for text, want := range map[string]string{
		"a.b": "a.b", "A..B": "a.b", ".a.": "a", "-.a": "a", "a-.b": "a.b", "a-.-b": "a-.-b", "": "", "記": "", strings.Repeat("a.", 40): strings.Repeat("a.", 31) + "a", strings.Repeat("a", 63) + ".b": strings.Repeat("a", 63), "a-.a": "a-.a",
	} {
		if text == "a-.b" || text == "a-.a" {
			want = text // valid names stay
		}
		if got := plugin.NearestName(text); got != want || got != "" && plugin.CheckName(got) != nil {
			t.Errorf("NearestName(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestBuildCredentials: what looks like a credential is refused unless forced,
// and no error quotes it. [X7]
func TestBuildCredentials(t *testing.T) {
	const secret = "v9Qm2xLr8sT4kW"
	stdio := func(s plugin.Stdio) plugin.ServerDraft {
		s.Command = "c"
		return plugin.ServerDraft{Name: "s", Type: plugin.TransportStdio, Stdio: s}
	}
	remote := func(url string, headers map[string]string) plugin.ServerDraft {
		return plugin.ServerDraft{Name: "s", Type: plugin.TransportSSE, Remote: plugin.Remote{URL: url, Headers: headers}}
	}
	for _, c := range []struct {
		field string
		s     plugin.ServerDraft
	}{
		{"servers[0].env[GITHUB_TOKEN]", stdio(plugin.Stdio{Env: map[string]string{"GITHUB_TOKEN": secret}})},
		{"servers[0].env[apiKey]", stdio(plugin.Stdio{Env: map[string]string{"apiKey": secret}})},
		{"servers[0].env[X]", stdio(plugin.Stdio{Env: map[string]string{"X": "postgres://u:" + secret + "@h"}})},
		{"servers[0].args[0]", stdio(plugin.Stdio{Args: []string{"AKIAQ3Z7LM2XWC4R6TYB"}})},
		{"servers[0].headers[Authorization]", remote("https://h", map[string]string{"Authorization": "Bearer " + secret})},
		{"servers[0].headers[X-Api-Key]", remote("https://h", map[string]string{"X-Api-Key": secret})},
		{"servers[0].url", remote("https://h/?token="+secret, nil)},
	} {
		d := &plugin.Draft{Manifest: plugin.Manifest{Name: "demo"}, Servers: []plugin.ServerDraft{c.s}}
		_, err := d.Build(context.Background(), plugin.BuildOptions{})
		var field *skills.FieldError
		if !errors.As(err, &field) || field.Field != c.field || !errors.Is(err, plugin.ErrCredential) || !strings.Contains(err.Error(), "credential") {
			t.Errorf("%s: %v", c.field, err)
			continue
		}
		if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "AKIA") {
			t.Errorf("the error quotes it: %v", err)
		}
		pkg, err := d.Build(context.Background(), plugin.BuildOptions{AllowCredentials: true})
		if err != nil {
			t.Errorf("%s is refused although it was forced: %v", c.field, err)
			continue
		}
		if f := pkg.Plugin().Findings(); len(f) != 1 || f[0].Code != finding.ServerCredential {
			t.Errorf("findings %v", f)
		}
		// A plugin with a credential can be drafted, and is refused again.
		again, err := pkg.Plugin().Draft(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := again.Build(context.Background(), plugin.BuildOptions{}); !errors.As(err, &field) {
			t.Errorf("%s: %v", c.field, err)
		}
	}
	for _, s := range []plugin.ServerDraft{
		stdio(plugin.Stdio{Env: map[string]string{"GITHUB_TOKEN": "${GITHUB_TOKEN}", "API_KEY": "", "SECRET": "<your secret>"}}),
		remote("https://h", map[string]string{"Authorization": "Bearer ${TOKEN}"}),
	} {
		mustBuild(t, &plugin.Draft{Manifest: plugin.Manifest{Name: "demo"}, Servers: []plugin.ServerDraft{s}})
	}
}

// TestHostServer: a package that describes the host's own server has a URL and
// no credential. [X1]
func TestHostServer(t *testing.T) {
	pkg := mustBuild(t, plugin.HostServer(plugin.Manifest{Name: "board"}, "board", "https://board.example.com/mcp"))
	p := pkg.Plugin()
	remote, ok := p.Server("board").Remote()
	if !ok || p.Server("board").Type() != plugin.TransportStreamableHTTP || remote.URL != "https://board.example.com/mcp" || remote.Headers != nil || len(p.Findings()) > 0 {
		t.Errorf("%+v %v", remote, p.Findings())
	}
	var field *skills.FieldError
	if _, err := plugin.HostServer(plugin.Manifest{Name: "board"}, "board", "https://board.example.com/mcp?key=a&access_token=v9Qm2xLr8sT4kW").Build(context.Background(), plugin.BuildOptions{}); !errors.As(err, &field) || field.Field != "servers[0].url" {
		t.Errorf("a token in the URL: %v", err)
	}
}

// TestBuildFiles: files that a package cannot hold are refused. [X1] [X2]
func TestBuildFiles(t *testing.T) {
	build := func(files fs.FS) error {
		_, err := (&plugin.Draft{Manifest: plugin.Manifest{Name: "demo"}, Files: files}).Build(context.Background(), plugin.BuildOptions{Bounds: plugin.Bounds{Entries: 40, File: 100, Total: 300}})
		return err
	}
	many := fstest.MapFS{}
	for i := range 50 {
		many[fmt.Sprint(i)] = &fstest.MapFile{}
	}
	for _, c := range []struct {
		name  string
		want  error
		files fs.FS
	}{
		{"a name in other letter case", plugin.ErrEntry, memoryFiles("a/x", "", "A/y", "")},
		{"plugin.json in other letter case", plugin.ErrEntry, memoryFiles("Plugin.json", "")},
		{"a name in another Unicode form", plugin.ErrEntry, memoryFiles("\u00e9", "", "e\u0301", "")},
		{"a backslash", plugin.ErrEntry, memoryFiles(`a\b`, "")},
		{"a device", plugin.ErrEntry, fstest.MapFS{"fifo": {Mode: fs.ModeNamedPipe}}},
		{"a dangling link", plugin.ErrEntry, fstest.MapFS{"link": {Mode: fs.ModeSymlink, Data: []byte("gone")}}},
		{"a link outside", plugin.ErrEntry, fstest.MapFS{"link": {Mode: fs.ModeSymlink, Data: []byte("../x")}}},
		{"an absolute link", plugin.ErrEntry, fstest.MapFS{"link": {Mode: fs.ModeSymlink, Data: []byte("/etc/passwd")}}},
		{"a link to itself", plugin.ErrEntry, fstest.MapFS{"link": {Mode: fs.ModeSymlink, Data: []byte("link")}}},
		{"a link back", plugin.ErrEntry, fstest.MapFS{"a/x": {}, "a/link": {Mode: fs.ModeSymlink, Data: []byte("../a")}}},
		{"a large file", plugin.ErrBounds, memoryFiles("a", strings.Repeat("x", 101))},
		{"large files", plugin.ErrBounds, memoryFiles("a", strings.Repeat("x", 100), "b", strings.Repeat("x", 100), "c", strings.Repeat("x", 100))},
		{"many files", plugin.ErrBounds, many},
		{"a file that cannot be read", fs.ErrPermission, faultyFS{memory(map[string]string{"a": ""}), map[string]error{"a": fs.ErrPermission}}},
	} {
		if err := build(c.files); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := sample().Build(ctx, plugin.BuildOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	for _, err := range []error{new(plugin.Package).WriteZip(new(bytes.Buffer)), new(plugin.Package).WriteTarGz(new(bytes.Buffer))} {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("an empty package: %v", err)
		}
	}
}

// TestBuildLinks: links that stay inside are written as what they point to. [X2]
func TestBuildLinks(t *testing.T) {
	dir := write(t, map[string]string{
		"real/bin/run": "#!/bin/sh\n", "bin": "-> real/bin", "skills/a/SKILL.md": okSkillNamed("a"), "shared/style.md": "s", "skills/a/style.md": "-> ../../shared/style.md",
		"other/SKILL.md": okSkillNamed("b"), "other/x.md": "x", "skills/b": "-> ../other",
	})
	if err := os.Symlink(filepath.Join(dir, "shared"), filepath.Join(dir, "absolute")); err != nil {
		t.Skip(err)
	}
	if err := os.Chmod(filepath.Join(dir, "real/bin/run"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := mustLoad(t, dir)
	d, err := p.Draft(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	pkg := mustBuild(t, d)
	sameImage(t, "rewritten", pkg.Plugin(), p)
	got := slices.Sorted(maps.Keys(filesOf(t, pkg.FS())))
	run, run2 := "bin/run x", "real/bin/run x"
	if runtime.GOOS == "windows" {
		run, run2 = "bin/run", "real/bin/run"
	}
	want := []string{"absolute/style.md", run, "other/SKILL.md", "other/x.md", "plugin.json", run2, "shared/style.md", "skills/a/SKILL.md", "skills/a/style.md", "skills/b/SKILL.md", "skills/b/x.md"}
	if !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	before, err := p.Hash(context.Background(), plugin.Bounds{})
	if err != nil || before == pkg.Hash() {
		t.Errorf("hash %s, %v: plugin.json is in another form, so it is another", before, err)
	}
	for _, target := range []string{"../..", "..", "gone", "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, "loop")); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Build(context.Background(), plugin.BuildOptions{}); !errors.Is(err, plugin.ErrEntry) {
			t.Errorf("a link to %s: %v", target, err)
		}
		if _, err := p.Hash(context.Background(), plugin.Bounds{}); !errors.Is(err, plugin.ErrEntry) {
			t.Errorf("a link to %s: %v", target, err)
		}
		if err := os.Remove(filepath.Join(dir, "loop")); err != nil {
			t.Fatal(err)
		}
	}
}

func okSkillNamed(name string) string { return "---\nname: " + name + "\ndescription: x\n---\n" }

// TestDraft: what cannot be written again without loss is refused. [X1]
func TestDraft(t *testing.T) {
	var build *plugin.BuildError
	for name, files := range map[string]map[string]string{
		"an unknown member": {"plugin.json": strings.Replace(smallManifest, "{", `{"hooks":"./h",`, 1)},
		"a bad skill":       {"skills/a/SKILL.md": "x"},
		"a bad server":      mcpWith(`"a":1`),
		"a bad mcp.json":    {"mcp.json": "{"},
	} {
		if _, err := mustLoadFS(t, memory(files), plugin.Options{}).Draft(context.Background()); !errors.As(err, &build) || len(build.Fields) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := new(plugin.Plugin).Draft(context.Background()); !errors.As(err, &build) {
		t.Errorf("an empty plugin: %v", err)
	}
	// What lint alone says, and a program or directory that is not there yet, are no
	// loss: Build judges them again.
	unfinished := memory(map[string]string{"mcp.json": fill.Replace(servers(`"s":{"type":"stdio","command":"./bin/s","args":["${HOME}"],"cwd":"./work"}`)), ".mcp.json.md": "", "SKILL.md": ""})
	draft, err := mustLoadFS(t, unfinished, plugin.Options{Lint: true}).Draft(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := draft.Build(context.Background(), plugin.BuildOptions{}); !errors.As(err, &build) || build.Fields[0].Field != "servers[0].command" {
		t.Errorf("without the program: %v", err)
	}
	unfinished["bin/s"], unfinished["work/x"] = &fstest.MapFile{Data: []byte("#!"), Mode: 0o755}, &fstest.MapFile{}
	pkg, err := draft.Build(context.Background(), plugin.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if warned := pkg.Plugin().Findings().AtLeast(finding.SeverityWarning); len(warned) != 2 || warned[0].Code != finding.LintPlaceholder || warned[1].Code != finding.LintMisplaced {
		t.Errorf("of the package: %v", warned)
	}
	// What was not looked at stays as it is.
	files := memory(map[string]string{"mcp.json": noServers, "skills/a/SKILL.md": okSkillNamed("a") + "body", "skills/a/x": "x"})
	whole := mustLoadFS(t, files, plugin.Options{})
	for _, only := range []plugin.Components{plugin.SkillsOnly, plugin.MCPOnly} {
		d, err := mustLoadFS(t, files, plugin.Options{Components: only}).Draft(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		sameImage(t, "a part", mustBuild(t, d).Plugin(), whole)
	}
	// A skill that is taken out of the draft is gone with its files.
	d, err := whole.Draft(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	d.Skills, d.Servers = nil, nil
	if got := slices.Sorted(maps.Keys(filesOf(t, mustBuild(t, d).FS()))); !slices.Equal(got, []string{"plugin.json", "skills/"}) {
		t.Errorf("files %q", got)
	}
	// Members that are declared and empty stay declared.
	p := mustLoadFS(t, memory(map[string]string{"plugin.json": fill.Replace(`{@S,"name":"demo","version":"","author":{},"keywords":[],"extensions":{},"license":""}`)}), plugin.Options{})
	if d, err = p.Draft(context.Background()); err != nil {
		t.Fatal(err)
	}
	sameImage(t, "empty members", mustBuild(t, d).Plugin(), p)
}

func FuzzNearestName(f *testing.F) {
	f.Add("My Plugin.v2")
	f.Fuzz(func(t *testing.T, text string) {
		got := plugin.NearestName(text)
		if got != "" && plugin.CheckName(got) != nil {
			t.Errorf("%q gives %q", text, got)
		}
	})
}

// oddTexts are values that writers get wrong.
var oddTexts = []string{"x", "a b", "é", "e\u0301", "\u2028", "\u202e", "\"quoted\"", `back\slash`, "a\nb", "\t", "<&>", "${PLUGIN_ROOT}", "日本", "👩‍💻", "", " ", "a: b # c", "---", "\x01", "\ufeff", "\U0010ffff", "null", "1.0"}

// randomDraft makes a draft that can be built, out of odd values.
func randomDraft(rnd *rand.Rand) *plugin.Draft {
	text := func() string {
		var b strings.Builder
		for range rnd.IntN(4) {
			b.WriteString(oddTexts[rnd.IntN(len(oddTexts))])
		}
		return b.String()
	}
	some := func() bool { return rnd.IntN(2) == 0 }
	d := &plugin.Draft{Manifest: plugin.Manifest{Name: fmt.Sprintf("p-%d.x", rnd.IntN(100)), Version: text(), Description: text(), License: text(), Author: plugin.Author{Name: text()}}}
	for range rnd.IntN(3) {
		d.Manifest.Keywords = append(d.Manifest.Keywords, text())
	}
	for range rnd.IntN(3) {
		if d.Extensions == nil {
			d.Extensions = map[string]json.RawMessage{}
		}
		value, _ := json.Marshal(map[string]any{text(): text(), "n": rnd.Float64()})
		d.Extensions[text()] = value
	}
	files := []string{"bin/run x", text(), "jobs/sub/", ""}
	for i := range rnd.IntN(3) {
		s := skills.Draft{Name: fmt.Sprintf("s%d", i), Description: "x" + text(), License: text(), Body: text()}
		if some() {
			s.Metadata = map[string]string{text(): text(), "k": text()}
		}
		if some() {
			s.Extra = []skills.ExtraKey{{Key: "x-" + text(), Value: []any{text(), 1, nil}}}
		}
		if some() {
			s.Files = memoryFiles("é/a.md", text(), "run x", text())
		}
		d.Skills = append(d.Skills, s)
	}
	if some() {
		d.Servers = []plugin.ServerDraft{}
	}
	args := func() (out []string) {
		for range rnd.IntN(3) {
			out = append(out, strings.ReplaceAll(text(), "\x00", ""))
		}
		return out
	}
	for i := range rnd.IntN(3) {
		s := plugin.ServerDraft{Name: fmt.Sprint(text(), i), Type: plugin.TransportStdio}
		if some() {
			s.Stdio = plugin.Stdio{Command: "./bin/run", Args: args(), Cwd: "./jobs/sub"}
			if some() {
				s.Stdio.Env = map[string]string{"A": text(), "B é": text()}
			}
		} else {
			s.Type = plugin.TransportStreamableHTTP
			s.Remote = plugin.Remote{URL: "https://example.com/é?" + fmt.Sprint(i)}
			if some() {
				s.Remote.Headers = map[string]string{"X-A": "é\tb", "X-B": ""}
			}
		}
		d.Servers = append(d.Servers, s)
	}
	d.Files = memoryFiles(files...)
	return d
}

// checkRound writes a draft in every form and loads each: all are equal to what
// was built, and so is what is written from it again.
func checkRound(t *testing.T, d *plugin.Draft, dir string) {
	t.Helper()
	ctx := context.Background()
	pkg, err := d.Build(ctx, plugin.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if bad := pkg.Plugin().Findings().AtLeast(finding.SeverityWarning); len(bad) > 0 {
		t.Error(bad)
	}
	forms := map[string]*plugin.Plugin{}
	zip, tgz := bothArchives(t, pkg)
	for i, a := range readBoth(t, zip, tgz) {
		if a.Hash() != pkg.Hash() {
			t.Errorf("archive %d has another hash", i)
		}
		p, err := a.Load(ctx, plugin.Options{})
		if err != nil {
			t.Fatal(err)
		}
		forms[fmt.Sprint("archive ", i)] = p
	}
	if dir != "" {
		if err := pkg.WriteDir(ctx, dir, plugin.WriteOptions{Overwrite: true}); err != nil {
			t.Fatal(err)
		}
		forms["directory"] = mustLoad(t, dir)
	}
	for form, p := range forms {
		if bad := grave(p); len(bad) > 0 {
			t.Errorf("%s: %v", form, bad)
		}
		sameImage(t, form, p, pkg.Plugin())
		if hash, err := p.Hash(ctx, plugin.Bounds{}); err != nil || hash != pkg.Hash() {
			t.Errorf("%s: hash %s, %v; want %s", form, hash, err, pkg.Hash())
		}
		again, err := p.Draft(ctx)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := again.Build(ctx, plugin.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		zip2, tgz2 := bothArchives(t, twice)
		if form == "directory" && runtime.GOOS == "windows" {
			continue // which has no executable bits
		}
		if !bytes.Equal(zip, zip2) || !bytes.Equal(tgz, tgz2) {
			t.Errorf("%s: written again, the archives differ", form)
		}
		c, err := plugin.Compare(ctx, pkg.Plugin(), p, plugin.Bounds{})
		if err != nil || !c.Same() || len(c.Files)+len(c.Skills)+len(c.Servers)+len(c.Manifest) > 0 {
			t.Errorf("%s: %+v, %v", form, c, err)
		}
	}
}

// TestRound: any plugin that can be built is written, loads without findings,
// and is equal, in every form. [X1] [X2] [X3] [X5]
func TestRound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	checkRound(t, sample(), dir)
	checkRound(t, &plugin.Draft{Manifest: plugin.Manifest{Name: "x"}}, dir)
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		if checkRound(t, randomDraft(rnd), dir); t.Failed() {
			return
		}
	}
}

// FuzzBuild: any draft that can be built round-trips. [X1]
func FuzzBuild(f *testing.F) {
	for i, s := range oddTexts {
		f.Add(uint64(i), s, s)
	}
	f.Fuzz(func(t *testing.T, seed uint64, name, value string) {
		d := randomDraft(rand.New(rand.NewPCG(seed, 1)))
		d.Manifest.Description = value
		d.Extensions = map[string]json.RawMessage{name: json.RawMessage(value), "com.x": json.RawMessage(`{}`)}
		if !json.Valid([]byte(value)) {
			delete(d.Extensions, name)
		}
		d.Servers = append(d.Servers, plugin.ServerDraft{Name: name, Type: plugin.TransportStdio, Stdio: plugin.Stdio{Command: "c", Args: []string{value}, Env: map[string]string{name: value}}})
		d.Files = memoryFiles("bin/run x", "", "jobs/sub/", "")
		if _, err := d.Build(context.Background(), plugin.BuildOptions{}); err != nil {
			var build *plugin.BuildError
			if !errors.As(err, &build) {
				t.Fatal(err)
			}
			return
		}
		checkRound(t, d, "")
	})
}

// FuzzRewrite: any package that loads without findings is written again to one
// that loads equal. [X1]
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(smallManifest), []byte(noServers), []byte(okSkillNamed("a")))
	f.Add([]byte(fill.Replace(`{@S,"name":"demo","version":"","author":{"name":""},"extensions":{"a":{"x":1e5,"y":"\u0041"}}}`)),
		[]byte(fill.Replace(`{@M,"mcpServers":{"a":{"type":"stdio","command":"./a/../x","args":["\u0001"],"cwd":"./"}}}`)), []byte("---\nname: a\ndescription: |\n  x\n\n  y\nx: &a [1]\ny: *a\n---"))
	f.Fuzz(func(t *testing.T, manifest, config, skill []byte) {
		fsys := fstest.MapFS{"plugin.json": {Data: manifest}, "mcp.json": {Data: config}, "skills/a/SKILL.md": {Data: skill}, "x": {}}
		p, err := plugin.LoadFS(context.Background(), fsys, plugin.Options{})
		if err != nil || len(p.Findings().AtLeast(finding.SeverityWarning)) > 0 {
			return
		}
		d, err := p.Draft(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		pkg, err := d.Build(context.Background(), plugin.BuildOptions{AllowCredentials: true})
		if err != nil {
			var field *skills.FieldError
			if errors.As(err, &field) && (strings.Contains(field.Reason, "too large") || strings.Contains(field.Reason, "larger") || field.Field == "frontmatter") {
				return // an escape took more room
			}
			t.Fatal(err)
		}
		sameImage(t, "rewritten", pkg.Plugin(), p)
	})
}

// TestPeerRewritten: each package of a third party's suite that loads without
// findings is written again, and the suite accepts it as before. [X1]
func TestPeerRewritten(t *testing.T) {
	ran := 0
	eachPeer(t, func(t *testing.T, fx *peerFixture, root string) {
		p, err := plugin.Load(context.Background(), root, plugin.Options{})
		if err != nil || len(p.Findings().AtLeast(finding.SeverityWarning)) > 0 {
			return
		}
		d, err := p.Draft(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		pkg, err := d.Build(context.Background(), plugin.BuildOptions{AllowCredentials: true})
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out")
		if err := pkg.WriteDir(context.Background(), out, plugin.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		sameImage(t, "rewritten", mustLoad(t, out), p)
		checkPeer(t, fx, out)
		ran++
	})
	if ran < 20 {
		t.Errorf("%d packages were written again", ran)
	}
}

// TestHashOfForms: the hash is what its definition says, and links count as
// what they lead to. [X3]
func TestHashOfForms(t *testing.T) {
	files := map[string]string{"plugin.json": smallManifest, "a b/é.md": "x", "a-b": "", "a/b": "y", "a.b": "z"}
	dir := write(t, files)
	const want = "sha256:a1ec37108202da6f6d3526766e65d06fa96952d7f4044a7d5a1e272b7289ea3e" // made with the command
	p := mustLoad(t, dir)
	ctx := context.Background()
	hash, err := p.Hash(ctx, plugin.Bounds{})
	if err != nil || hash != want {
		t.Fatal(hash, err)
	}
	if inMemory, err := mustLoadFS(t, memory(files), plugin.Options{}).Hash(ctx, plugin.Bounds{}); err != nil || inMemory != hash {
		t.Errorf("in memory: %s, %v; want %s", inMemory, err, hash)
	}
	if shell, ok := shellHash(t, dir); ok && "sha256:"+shell != hash {
		t.Errorf("the command prints %s, want %s", shell, hash)
	}
	// Names that a command could take for something else.
	odd := write(t, map[string]string{"plugin.json": smallManifest, "-c": "x", "--tag": "y", "a\\b": "z", "line\nend": "", " *": ""})
	oddHash, err := mustLoad(t, odd).Hash(ctx, plugin.Bounds{})
	if shell, ok := shellHash(t, odd); err != nil || ok && "sha256:"+shell != oddHash {
		t.Errorf("the command prints %s, want %s, %v", shell, oddHash, err)
	}
	// Modes, times and empty directories do not count.
	writeTo(t, dir, map[string]string{"empty/": ""})
	if err := os.Chmod(filepath.Join(dir, "a-b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if again, err := p.Hash(ctx, plugin.Bounds{}); err != nil || again != hash {
		t.Errorf("with other modes: %s, %v", again, err)
	}
	// Content, names and the place of a boundary do.
	seen := map[string]bool{hash: true}
	for _, change := range []map[string]string{{"a/b": "yy"}, {"a/c": ""}, {"a/b": ""}, {"a b/é.md": "y"}} {
		other := maps.Clone(files)
		maps.Copy(other, change)
		h, err := mustLoadFS(t, memory(other), plugin.Options{}).Hash(ctx, plugin.Bounds{})
		if err != nil || seen[h] {
			t.Errorf("%v: %s, %v", change, h, err)
		}
		seen[h] = true
	}
	if v, err := p.Version(ctx, plugin.Bounds{}); err != nil || v != hash {
		t.Errorf("version %s, %v", v, err)
	}
	if _, err := p.Hash(ctx, plugin.Bounds{Entries: 3}); !errors.Is(err, plugin.ErrBounds) {
		t.Errorf("many files: %v", err)
	}
	if _, err := p.Hash(ctx, plugin.Bounds{Total: 10}); !errors.Is(err, plugin.ErrBounds) {
		t.Errorf("large files: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := p.Hash(ended, plugin.Bounds{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestExportPage: the bounds and the command of docs/export.md are the real ones. [X3]
func TestExportPage(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("..", "docs", "export.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{hashCommand, "server-credential", "10,000", "64 MiB", "256 MiB", "100 times"} {
		if !strings.Contains(string(src), text) {
			t.Errorf("the page lacks %q", text)
		}
	}
}
