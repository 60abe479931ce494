package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/skills"
)

// TestCompare: what changed between two versions, by component. [X6]
func TestCompare(t *testing.T) {
	ctx := context.Background()
	base := func() *plugin.Draft { return sample() }
	type want struct {
		manifest   []string
		skills     []plugin.SkillChange
		servers    []plugin.ServerChange
		executable []plugin.ExecutableChange
		files      string
	}
	changed := func(name string, typ plugin.Transport, fields ...string) []plugin.ServerChange {
		return []plugin.ServerChange{{Name: name, Type: typ, Kind: plugin.ChangeChanged, Fields: fields}}
	}
	skill := func(fields ...string) []plugin.SkillChange {
		return []plugin.SkillChange{{Name: "review", Kind: plugin.ChangeChanged, Fields: fields}}
	}
	const stdio, sse = plugin.TransportStdio, plugin.TransportSSE
	for _, c := range []struct {
		name string
		with func(d *plugin.Draft)
		want want
	}{
		{"nothing", func(*plugin.Draft) {}, want{}},
		{"the manifest", func(d *plugin.Draft) { d.Manifest.Version, d.Manifest.Author.Name, d.Manifest.Keywords = "2", "B", nil },
			want{manifest: []string{"author", "keywords", "version"}, files: "~plugin.json"}},
		{"extension data", func(d *plugin.Draft) {
			d.Extensions["com.example"] = json.RawMessage(`{}`)
			delete(d.Extensions, "org.example")
		}, want{manifest: []string{"extensions[com.example]", "extensions[org.example]"}, files: "~plugin.json"}},
		{"a skill added", func(d *plugin.Draft) { d.Skills = append(d.Skills, skills.Draft{Name: "new", Description: "x"}) },
			want{skills: []plugin.SkillChange{{Name: "new", Kind: plugin.ChangeAdded}}, files: "+skills/new/SKILL.md"}},
		{"a skill removed", func(d *plugin.Draft) { d.Skills = d.Skills[:1] },
			want{skills: []plugin.SkillChange{{Name: "plain", Kind: plugin.ChangeRemoved}}, files: "-skills/plain/SKILL.md"}},
		{"a skill's values", func(d *plugin.Draft) {
			s := &d.Skills[0]
			s.Description, s.License, s.Compatibility, s.AllowedTools, s.Metadata = "Other.", "X", "git", []string{"Bash(*)"}, nil
		}, want{skills: skill("allowed-tools", "compatibility", "description", "license", "metadata"), files: "~skills/review/SKILL.md"}},
		{"a skill's body", func(d *plugin.Draft) { d.Skills[0].Body += "more" }, want{skills: skill("body"), files: "~skills/review/SKILL.md"}},
		{"a skill's extra keys", func(d *plugin.Draft) {
			d.Skills[0].Extra = []skills.ExtraKey{{Key: "hooks", Value: 1}, {Key: "model", Value: "x"}}
		},
			want{skills: skill("extra[hooks]", "extra[model]"), files: "~skills/review/SKILL.md"}},
		{"a skill's files", func(d *plugin.Draft) {
			d.Skills[0].Files = memoryFiles("references/style.md", "Be long.", "scripts/run.sh x", "#!/bin/sh\n", "extra.md", "")
		}, want{skills: skill("files"), files: "+skills/review/extra.md ~skills/review/references/style.md"}},
		{"an executable bit of a skill's file", func(d *plugin.Draft) {
			d.Skills[0].Files = memoryFiles("references/style.md x", "Be brief.", "scripts/run.sh", "#!/bin/sh\n")
		}, want{skills: skill("files"), executable: []plugin.ExecutableChange{{Path: "skills/review/references/style.md", Now: true}, {Path: "skills/review/scripts/run.sh"}}}},
		{"a server added", func(d *plugin.Draft) {
			d.Servers = append(d.Servers, plugin.ServerDraft{Name: "new", Type: sse, Remote: plugin.Remote{URL: "https://h"}})
		}, want{servers: []plugin.ServerChange{{Name: "new", Type: sse, Kind: plugin.ChangeAdded}}, files: "~mcp.json"}},
		{"a server removed", func(d *plugin.Draft) { d.Servers = d.Servers[:2] },
			want{servers: []plugin.ServerChange{{Name: "bare", Type: stdio, Kind: plugin.ChangeRemoved}}, files: "~mcp.json"}},
		{"a server's program and arguments", func(d *plugin.Draft) {
			d.Servers[0].Stdio.Command, d.Servers[0].Stdio.Args, d.Servers[0].Stdio.Cwd = "node", nil, ""
		}, want{servers: changed("local", stdio, "command", "args", "cwd", "program"), files: "~mcp.json"}},
		{"a server's type", func(d *plugin.Draft) {
			d.Servers[2] = plugin.ServerDraft{Name: "bare", Type: sse, Remote: plugin.Remote{URL: "https://h"}}
		}, want{servers: changed("bare", sse, "type", "command", "url"), files: "~mcp.json"}},
		{"a server's URL", func(d *plugin.Draft) { d.Servers[1].Remote.URL += "2" }, want{servers: changed("remote \u202e", sse, "url"), files: "~mcp.json"}},
		{"a server's environment", func(d *plugin.Draft) { d.Servers[0].Stdio.Env = map[string]string{"LEVEL": "debug", "NEW": "x"} },
			want{servers: []plugin.ServerChange{{Name: "local", Type: stdio, Kind: plugin.ChangeChanged, Fields: []string{"env"}, Env: []string{"LEVEL", "NEW"}}}, files: "~mcp.json"}},
		{"a server's headers", func(d *plugin.Draft) { d.Servers[1].Remote.Headers = map[string]string{"X-Other": "a"} },
			want{servers: []plugin.ServerChange{{Name: "remote \u202e", Type: sse, Kind: plugin.ChangeChanged, Fields: []string{"headers"}, Headers: []string{"X-Other", "X-Team"}}}, files: "~mcp.json"}},
		{"the program of a server", func(d *plugin.Draft) { d.Files = replaceFile(d, "bin/server", "other", 0o755) },
			want{servers: changed("local", stdio, "program"), files: "~bin/server"}},
		{"the bit of the program", func(d *plugin.Draft) { d.Files = replaceFile(d, "bin/server", "\x7fELF", 0o644) },
			want{servers: changed("local", stdio, "program"), executable: []plugin.ExecutableChange{{Path: "bin/server"}}}},
		{"other files", func(d *plugin.Draft) { d.Files = replaceFile(d, "new x", "", 0o755) },
			want{executable: []plugin.ExecutableChange{{Path: "new x", Now: true}}, files: "+new x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := base()
			c.with(d)
			from, to := mustBuild(t, base()).Plugin(), mustBuild(t, d).Plugin()
			got, err := plugin.Compare(ctx, from, to, plugin.Bounds{})
			if err != nil {
				t.Fatal(err)
			}
			var files []string
			for _, f := range got.Files {
				files = append(files, map[plugin.ChangeKind]string{plugin.ChangeAdded: "+", plugin.ChangeRemoved: "-", plugin.ChangeChanged: "~"}[f.Kind]+f.Path)
			}
			if have := (want{got.Manifest, got.Skills, got.Servers, got.Executable, strings.Join(files, " ")}); !reflect.DeepEqual(have, c.want) {
				t.Errorf("%+v\nwant\n%+v", have, c.want)
			}
			if got.Same() != (c.name == "nothing") {
				t.Errorf("Same is %v", got.Same())
			}
			if got.From.Name != "sample" || got.From.Version != "1.2.0" || (got.From.Hash == got.To.Hash) != (len(files) == 0) {
				t.Errorf("%+v, %+v", got.From, got.To)
			}
			text, err := json.Marshal(got)
			if err != nil || strings.Contains(string(text), "info") || strings.Contains(string(text), "https://h") {
				t.Errorf("as JSON: %s, %v", text, err)
			}
			back, err := plugin.Compare(ctx, to, from, plugin.Bounds{})
			if err != nil || len(back.Files) != len(got.Files) || len(back.Skills) != len(got.Skills) || len(back.Servers) != len(got.Servers) {
				t.Errorf("the other way: %+v, %v", back, err)
			}
		})
	}
	// What is not installed yet is added as a whole.
	first, err := plugin.Compare(ctx, new(plugin.Plugin), mustBuild(t, sample()).Plugin(), plugin.Bounds{})
	if err != nil || len(first.Skills) != 2 || len(first.Servers) != 3 || first.Servers[0].Kind != plugin.ChangeAdded || first.From.Name != "" || first.Same() {
		t.Errorf("%+v, %v", first, err)
	}
	// The form alone, and a version that is not declared.
	one := memory(map[string]string{"skills/a/SKILL.md": "---\nname: a\ndescription: x\n---\n"})
	other := maps.Clone(one)
	other["skills/a/SKILL.md"] = memory(map[string]string{"f": "---\ndescription: \"x\"\nname: a\n---\n"})["f"]
	got, err := plugin.Compare(ctx, mustLoadFS(t, one, plugin.Options{}), mustLoadFS(t, other, plugin.Options{}), plugin.Bounds{})
	if err != nil || len(got.Skills) != 1 || got.Skills[0].Fields[0] != "form" || got.To.Version != got.To.Hash || got.To.Version == got.From.Version {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := plugin.Compare(ctx, mustLoadFS(t, one, plugin.Options{}), mustLoadFS(t, other, plugin.Options{}), plugin.Bounds{Entries: 1}); !errors.Is(err, plugin.ErrBounds) {
		t.Errorf("bounds: %v", err)
	}
}

// TestCompareServerFiles: a server is shown as changed where the files change
// that its entry names, whichever way. [X6]
func TestCompareServerFiles(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		stdio plugin.Stdio
		file  string // that changes
		shown bool
	}{
		{"an argument behind the root", plugin.Stdio{Args: []string{"${PLUGIN_ROOT}/dist/index.js"}}, "dist/index.js", true},
		{"one with a flag", plugin.Stdio{Args: []string{"--config=${PLUGIN_ROOT}/dist/index.js"}}, "dist/index.js", true},
		{"a directory", plugin.Stdio{Args: []string{"${PLUGIN_ROOT}/dist"}}, "dist/sub/x", true},
		{"a directory with a slash", plugin.Stdio{Args: []string{"${PLUGIN_ROOT}/dist/"}}, "dist/sub/x", true},
		{"the root", plugin.Stdio{Args: []string{"${PLUGIN_ROOT}"}}, "other", true},
		{"a relative argument", plugin.Stdio{Args: []string{"dist/index.js"}}, "dist/index.js", true},
		{"a relative argument with ./", plugin.Stdio{Args: []string{"./dist/index.js"}}, "dist/index.js", true},
		{"a relative argument with a flag", plugin.Stdio{Args: []string{"--import=./dist/index.js"}}, "dist/index.js", true},
		{"relative to the working directory", plugin.Stdio{Args: []string{"index.js"}, Cwd: "./dist"}, "dist/index.js", true},
		{"relative to a working directory behind the root", plugin.Stdio{Args: []string{"../other"}, Cwd: "${PLUGIN_ROOT}/dist"}, "other", true},
		{"a variable", plugin.Stdio{Env: map[string]string{"NODE_OPTIONS": "--require ${PLUGIN_ROOT}/dist/index.js"}}, "dist/index.js", true},
		{"a list of paths", plugin.Stdio{Env: map[string]string{"PYTHONPATH": "${PLUGIN_ROOT}/gone:${PLUGIN_ROOT}/dist:/lib"}}, "dist/sub/x", true},
		{"a list that begins with the root", plugin.Stdio{Env: map[string]string{"PYTHONPATH": "${PLUGIN_ROOT}:/lib"}}, "other", true},
		{"a file that is not named", plugin.Stdio{Args: []string{"${PLUGIN_ROOT}/dist/index.js", "--flag", "", "--empty=", "/etc/passwd", "../../x", "\\"}}, "other", false},
		{"relative to the data directory", plugin.Stdio{Args: []string{"other"}, Cwd: "${PLUGIN_DATA}"}, "other", false},
		{"a variable that looks relative", plugin.Stdio{Env: map[string]string{"X": "other"}}, "other", false},
	} {
		build := func(change string) *plugin.Plugin {
			files := map[string]string{"dist/index.js": "1", "dist/sub/x": "1", "other": "1"}
			if change != "" {
				files[change] = "2"
			}
			s := c.stdio
			s.Command = "node"
			return mustBuild(t, &plugin.Draft{Manifest: plugin.Manifest{Name: "demo"}, Files: memory(files), Servers: []plugin.ServerDraft{{Name: "s", Type: plugin.TransportStdio, Stdio: s}}}).Plugin()
		}
		got, err := plugin.Compare(ctx, build(""), build(c.file), plugin.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		if shown := len(got.Servers) == 1 && slices.Equal(got.Servers[0].Fields, []string{"files"}); shown != c.shown || !shown && len(got.Servers) > 0 {
			t.Errorf("%s: %+v", c.name, got.Servers)
		}
		if same, err := plugin.Compare(ctx, build(""), build(""), plugin.Bounds{}); err != nil || !same.Same() {
			t.Errorf("%s, unchanged: %+v, %v", c.name, same, err)
		}
	}
}

// TestCompareLinks: a program or working directory that a link leads elsewhere is
// another one, although all files are the same. [X6] [X3]
func TestCompareLinks(t *testing.T) {
	ctx := context.Background()
	config := mcpWith(`"s":{"type":"stdio","command":"./run","cwd":"./work"}`)["mcp.json"]
	load := func(run, work string) *plugin.Plugin {
		dir := write(t, map[string]string{
			"mcp.json": config, "a/run": "#!/bin/sh\n", "b/run": "#!/bin/sh\n", "a/lib": "1", "b/lib": "2",
			"c/x": "", "d/x": "", "run": "-> " + run, "work": "-> " + work,
		})
		return mustLoad(t, dir)
	}
	base := load("a/run", "c")
	for _, c := range []struct{ run, work, field string }{
		{"a/run", "c", ""}, {"b/run", "c", "program"}, {"a/run", "d", "cwd"},
	} {
		got, err := plugin.Compare(ctx, base, load(c.run, c.work), plugin.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		if got.From.Hash != got.To.Hash || got.Same() != (c.field == "") || c.field != "" && (len(got.Servers) != 1 || !slices.Equal(got.Servers[0].Fields, []string{c.field})) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestCompareExtraKeys: no key of a package can be taken for a field of the
// comparison. [X6]
func TestCompareExtraKeys(t *testing.T) {
	build := func(value string) *plugin.Plugin {
		return mustBuild(t, &plugin.Draft{Manifest: plugin.Manifest{Name: "demo"}, Skills: []skills.Draft{{Name: "a", Description: "x", Extra: []skills.ExtraKey{{Key: "form", Value: value}}}}}).Plugin()
	}
	got, err := plugin.Compare(context.Background(), build("1"), build("2"), plugin.Bounds{})
	if err != nil || len(got.Skills) != 1 || !slices.Equal(got.Skills[0].Fields, []string{"extra[form]"}) {
		t.Errorf("%+v, %v", got, err)
	}
}
