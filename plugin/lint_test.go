package plugin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

// TestLint: what is no component but likely meant as one, and what a server would
// get as it stands, is said where the host asks for lint, and nowhere else; what is
// loaded stays the same. [S1] [C1] [E1] [L8] [L9]
func TestLint(t *testing.T) {
	const skill = "skills/ok/SKILL.md"
	for _, c := range []struct {
		name  string
		files map[string]string
		opts  plugin.Options
		want  []string // without boundary and position
	}{
		{name: "nothing to say", files: map[string]string{skill: okSkill, "README.md": "", "skills/README.md": "", "skills/CHANGELOG.md": "", "skills/notes.txt": "", "skills/ok/deep/SKILL.md": "", "docs/skill.md": "", "mcp.json": noServers, ".mcp.json": "{}", "skill/x": ""}},
		{name: "no component", want: []string{"plugin.json lint-no-component"}},
		{name: "no component, with files", files: map[string]string{"skills/": "", "mcp.json": noServers}, want: []string{"plugin.json lint-no-component"}},
		{name: "a component of many", files: map[string]string{"mcp.json": fill.Replace(servers(sibling))}},
		{name: "skipped is not none", files: map[string]string{"skills/a/SKILL.md": ""}, want: []string{"skills/a/SKILL.md skill-no-frontmatter a"}},
		{name: "disabled is not none", files: map[string]string{"mcp.json": "{}"}, want: []string{"mcp.json mcp-schema-missing", "mcp.json mcp-servers-missing"}},
		{name: "not looked at is not none", opts: plugin.Options{Components: plugin.SkillsOnly}},
		{name: "names that are close", files: map[string]string{skill: okSkill, "skills/a/skill.md": "", "skills/b/Skill.md": "", "skills/c/SKILL.MD": "", "skills/d/SKILL.txt": "", "skills/d/x/SKILL.md": ""},
			want: []string{"skills/a/skill.md lint-misplaced a", "skills/b/Skill.md lint-misplaced b", "skills/c/SKILL.MD lint-misplaced c", "skills/d/SKILL.txt lint-misplaced d"}},
		{name: "too deep", files: map[string]string{skill: okSkill, "skills/group/a/SKILL.md": "", "skills/group/b/SKILL.md": "", "skills/group/README.md": ""}, want: []string{"skills/group/a/SKILL.md lint-misplaced group"}},
		{name: "no SKILL.md", files: map[string]string{skill: okSkill, "skills/shared/x.md": "", "skills/shared/a/b/SKILL.md": "", "skills/empty/": ""}, want: []string{"skills/empty lint-no-skill empty", "skills/shared lint-no-skill shared"}},
		{name: "files in skills", files: map[string]string{skill: okSkill, "skills/SKILL.md": "", "skills/review.md": ""}, want: []string{"skills/SKILL.md lint-misplaced SKILL.md", "skills/review.md lint-misplaced review.md"}},
		{name: "at the root", files: map[string]string{skill: okSkill, "SKILL.md": "", "Skills/a/SKILL.md": "", "skill/a/SKILL.md": "", "Mcp.json": "{}", ".mcp.json": "{}"},
			want: []string{".mcp.json lint-misplaced", "Mcp.json lint-misplaced", "SKILL.md lint-misplaced", "Skills lint-misplaced", "skill lint-misplaced"}},
		{name: "one skill in a directory of that name", files: map[string]string{skill: okSkill, "skill/SKILL.md": ""}, want: []string{"skill lint-misplaced"}},
		{name: "skills only", opts: plugin.Options{Components: plugin.SkillsOnly}, files: map[string]string{".mcp.json": "{}", "Mcp.json": "{}", "SKILL.md": ""}, want: []string{"SKILL.md lint-misplaced"}},
		{name: "MCP only", opts: plugin.Options{Components: plugin.MCPOnly}, files: map[string]string{".mcp.json": "{}", "skills/a/x": "", "Skills/": "", "SKILL.md": ""}, want: []string{".mcp.json lint-misplaced"}},
		{name: "a link that leads out", files: map[string]string{skill: okSkill, "skills/x/SKILL.md": "-> ../../../out", "skills/y/deep": "-> /"}, want: []string{"skills/x/SKILL.md skill-escapes x", "skills/y lint-no-skill y"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := memory(c.files)
			plain := mustLoadFS(t, fsys, c.opts)
			c.opts.Lint = true
			p := mustLoadFS(t, fsys, c.opts)
			var got []string
			for _, f := range p.Findings() {
				got = append(got, strings.TrimSpace(f.File+" "+string(f.Code)+" "+f.Subject))
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("findings:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			checkMessages(t, p.Findings())
			for _, f := range plain.Findings() {
				if strings.HasPrefix(string(f.Code), "lint-") {
					t.Errorf("without lint: %v", f)
				}
			}
			if len(plain.Skills()) != len(p.Skills()) || len(plain.Servers()) != len(p.Servers()) {
				t.Error("lint changes what is loaded")
			}
		})
	}
}

// TestLintPlaceholder: values that hold a placeholder which nothing replaces. [E1]
func TestLintPlaceholder(t *testing.T) {
	const secret = "s3cret"
	for value, found := range map[string]bool{
		"${CLAUDE_PLUGIN_ROOT}/x": true, "$PLUGIN_ROOT": true, "${HOME}/x": true, "~/x": true, "~": true, "--dir=~/x": true, "${API_TOKEN}": true, "${X:-0}": true,
		"a${PLUGIN_ROOT}${X}": true, "%PLUGIN_ROOT%": true, "%USERPROFILE%/x": true, "$HOME/" + secret: true,
		"": false, "${PLUGIN_ROOT}/x": false, "${PLUGIN_DATA}": false, "$": false, "$1": false, "$abc": false, "^a$": false, "a$B": false, "%Y-%m-%d": false, "100%": false, "a~/b": false, "{x}": false, "${": false, "${}": false, "$(date)": false, "%41%42%": false,
	} {
		for _, c := range []struct {
			entry string
			at    string
		}{
			{`"type":"stdio","command":"c","args":["a",@]`, "/mcpServers/s/args/1"},
			{`"type":"stdio","command":"c","env":{"A":@}`, "/mcpServers/s/env/A"},
		} {
			list := lintOf(t, strings.Replace(c.entry, "@", quoted(value), 1))
			if got := len(list) == 1 && list[0].Code == finding.LintPlaceholder && list[0].Pointer == c.at && list[0].Subject == "s" && list[0].Line > 0; got != found || !found && len(list) > 0 {
				t.Errorf("%s in %s: %v", value, c.at, list)
			}
			if strings.Contains(list.String(), secret) {
				t.Errorf("quoted: %v", list)
			}
		}
	}
	// Headers and url are never expanded.
	for _, entry := range []string{
		`"type":"sse","url":"https://h/","headers":{"Authorization":"Bearer ${TOKEN}"}`,
		`"type":"sse","url":"https://h/","headers":{"X":"${PLUGIN_ROOT}"}`,
		`"type":"sse","url":"https://h/${TENANT}"`,
		`"type":"stdio","command":"c","cwd":"./${HOME}"`,
	} {
		list := lintOf(t, entry)
		if len(list) == 0 || list[len(list)-1].Code != finding.LintPlaceholder {
			t.Errorf("%s: %v", entry, list)
		}
	}
	for _, entry := range []string{
		`"type":"sse","url":"https://h/?$filter=$ABC","headers":{"X":"$ABC ~/x"}`,
		`"type":"stdio","command":"sh","args":["-c","exec $PLUGIN_ROOT/x ${HOME}"]`,
		`"type":"stdio","command":"./bin/bash.exe","args":["$HOME"]`,
	} {
		if list := lintOf(t, entry); len(list) > 0 {
			t.Errorf("%s: %v", entry, list)
		}
	}
}

func lintOf(t *testing.T, entry string) finding.List {
	t.Helper()
	p := mustLoadFS(t, memory(map[string]string{"mcp.json": fill.Replace(servers(`"s":{` + entry + `}`)), "bin/bash.exe": ""}), plugin.Options{Lint: true})
	if len(p.Servers()) != 1 {
		t.Fatalf("%s: %v", entry, p.Findings())
	}
	return p.Findings()
}

func quoted(s string) string { return `"` + s + `"` }

// TestManifestInstead: a manifest that is missing is not replaced by another file,
// and the message names the one that was likely meant, in a directory and in a file
// system. [M7] [L2] [L9]
func TestManifestInstead(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
		inFS  string // where that says less
	}{
		{"nothing", map[string]string{"README.md": ""}, "plugin root: add one", ""},
		{"other letters", map[string]string{"Plugin.json": smallManifest, ".claude-plugin/plugin.json": "{}"}, "rename Plugin.json, because letter case counts", ""},
		{"other letters, seldom", map[string]string{"pluGin.json": smallManifest}, "rename pluGin.json, because", "plugin root: add one"},
		{"a client's", map[string]string{".claude-plugin/plugin.json": "no JSON"}, "add one, because .claude-plugin/plugin.json is for one client", ""},
		{"another client's", map[string]string{".other/plugin.json": ""}, "because .other/plugin.json is for one client", "plugin root: add one"},
		{"a directory", map[string]string{".claude-plugin/plugin.json/x": "", "Plugin.json/x": ""}, "plugin root: add one", ""},
		{"a link that leads out", map[string]string{".claude-plugin": "-> /etc"}, "plugin root: add one", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			writeTo(t, dir, c.files)
			files := memory(c.files)
			delete(files, "plugin.json")
			_, inDir := plugin.Load(context.Background(), dir, plugin.Options{})
			_, inFS := plugin.LoadFS(context.Background(), files, plugin.Options{})
			if c.inFS == "" {
				c.inFS = c.want
			}
			for want, err := range map[string]error{c.want: inDir, c.inFS + " ": inFS} {
				var rejected *plugin.RejectedError
				if !errors.As(err, &rejected) || len(rejected.Findings) != 1 || rejected.Findings[0].Code != finding.ManifestMissing ||
					!strings.Contains(rejected.Findings[0].Message+" ", strings.TrimSuffix(want, " ")) {
					t.Errorf("%v, want %q", err, want)
				}
			}
		})
	}
}

// TestLintLooksOnly: names are looked at and files are not opened: one that cannot
// be read makes no difference.
func TestLintLooksOnly(t *testing.T) {
	dir := write(t, map[string]string{".mcp.json": "{}", "skills/a/skill.md": "x", "skills/ok/SKILL.md": okSkill})
	before, err := plugin.Load(context.Background(), dir, plugin.Options{Lint: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".mcp.json", "skills/a/skill.md"} {
		if err := os.Chmod(filepath.Join(dir, filepath.FromSlash(name)), 0); err != nil {
			t.Fatal(err)
		}
	}
	after, err := plugin.Load(context.Background(), dir, plugin.Options{Lint: true})
	if err != nil || before.Findings().String() != after.Findings().String() || len(after.Findings()) != 2 {
		t.Errorf("%v, %v", after.Findings(), err)
	}
}
