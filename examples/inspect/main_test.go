package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plugberth/plugberth/plugin"
)

// inspectPaths runs the program as a user does.
func inspectPaths(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(context.Background(), args, &out, &errs)
	return status, out.String(), errs.String()
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

const manifest = `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "p"}`

func TestDemo(t *testing.T) {
	status, out, errs := inspectPaths(t, "testdata/demo")
	if status != statusOK || errs != "" {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	for _, want := range []string{
		"team-notes 1.4.0",
		"release-notes    Write release notes",
		"notes        stdio  npx (3 arguments)",
		"status-page  streamable-http  https://status.example.com/mcp",
		"  plugin.json\n    9:3     warning",
		"manifest-unknown-field (AP §5.2)",
		"\nteam-notes: 2 skills, 2 servers, 0 skipped; 0 errors, 3 warnings, 1 info\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("colors outside a terminal")
	}
	if strings.Contains(out, "X-Team") || strings.Contains(out, "server-filesystem") {
		t.Error("headers or arguments are shown without -data")
	}
}

func TestBroken(t *testing.T) {
	status, out, _ := inspectPaths(t, "testdata/broken", "testdata/rejected")
	if status != statusFindings {
		t.Errorf("status %d, want %d", status, statusFindings)
	}
	for _, want := range []string{
		"Title-Case  skipped", "shell-line  skipped", "2:7     error", "testdata/rejected  rejected",
		"2 paths: 1 loaded, 1 rejected; 1 skill, 1 server, 8 skipped; 11 errors, 1 warning, 0 info",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

func TestLenient(t *testing.T) {
	status, out, _ := inspectPaths(t, "-json", "-lenient", "testdata/broken")
	var d struct {
		document
		Findings []map[string]any `json:"findings"`
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range d.Skills {
		names = append(names, s.Directory+" "+s.Name)
	}
	if want := []string{"Title-Case title-case", "colon colon", "ok ok"}; !slices.Equal(names, want) {
		t.Errorf("skills %q, want %q", names, want)
	}
	if want := []string{"lost", "no-description"}; !slices.Equal(d.SkippedSkills, want) || status != statusFindings {
		t.Errorf("skipped %q, want %q; status %d", d.SkippedSkills, want, status)
	}
	if _, out, _ := inspectPaths(t, "-lenient", "testdata/broken"); !strings.Contains(out, "strict mode skips the skill") {
		t.Errorf("no word of strict mode:\n%s", out)
	}
}

// keys returns the member names of a JSON object in their order.
func keys(t *testing.T, object string) []string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(object))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var out []string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, name.(string))
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestJSONContract(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	status, out, errs := inspectPaths(t, "-json", "-data", data, "testdata/demo", "testdata/rejected")
	if status != statusFindings || errs != "" {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one a path:\n%s", len(lines), out)
	}
	want := []string{"path", "outcome", "name", "version", "specVersion", "skillsComponent", "skills", "skippedSkills", "mcp", "servers", "skippedServers", "findings"}
	for _, line := range lines {
		if got := keys(t, line); !slices.Equal(got, want) {
			t.Errorf("keys = %q, want %q", got, want)
		}
	}

	var demo, rejected document
	decode := func(line string, into *document) {
		var d struct {
			document
			Findings []map[string]any `json:"findings"`
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		*into = d.document
	}
	decode(lines[0], &demo)
	decode(lines[1], &rejected)
	if demo.Path != "testdata/demo" || demo.Outcome != "loaded" || *demo.Name != "team-notes" || *demo.Version != "1.4.0" || *demo.SpecVersion != "1.0.0" {
		t.Errorf("demo = %+v", demo)
	}
	if len(demo.Skills) != 2 || demo.Skills[1].Location != "skills/release-notes/SKILL.md" || demo.Skills[1].Directory != "release-notes" {
		t.Errorf("skills = %+v", demo.Skills)
	}
	plan := demo.Servers[0].Launch
	if plan == nil || plan.Program != "npx" || plan.Dir != plan.Env["PLUGIN_DATA"]+"/notes" || plan.Args[2] != plan.Dir {
		t.Errorf("launch = %+v", plan)
	}
	if demo.Servers[1].Launch != nil {
		t.Error("a remote server has a launch plan")
	}
	if rejected.Outcome != "rejected" || rejected.Name != nil || rejected.Version != nil || rejected.SpecVersion != nil ||
		rejected.SkillsComponent != "absent" || rejected.MCP != "absent" || rejected.Skills == nil || rejected.Servers == nil {
		t.Errorf("rejected = %s", lines[1])
	}
	for _, name := range []string{"code", "severity", "boundary", "layer", "section", "file", "pointer", "line", "column", "message"} {
		if !strings.Contains(lines[1], `"`+name+`":`) {
			t.Errorf("no finding has %s: %s", name, lines[1])
		}
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("-data created something")
	}
}

func TestTwoInstallsOfOneNameKeepApart(t *testing.T) {
	base := t.TempDir()
	for _, dir := range []string{"a", "b"} {
		write(t, filepath.Join(base, dir, "plugin.json"), manifest)
		write(t, filepath.Join(base, dir, "mcp.json"),
			`{"$schema":"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json","mcpServers":{"s":{"type":"stdio","command":"x","cwd":"${PLUGIN_DATA}"}}}`)
	}
	_, out, _ := inspectPaths(t, "-json", "-data", base, filepath.Join(base, "a"), filepath.Join(base, "b"))
	var dirs []string
	for line := range strings.Lines(out) {
		var d struct {
			Servers []struct{ Launch struct{ Cwd string } }
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, d.Servers[0].Launch.Cwd)
	}
	if len(dirs) != 2 || dirs[0] == dirs[1] || dirs[0] == "" {
		t.Errorf("data directories %q", dirs)
	}
}

func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		name   string
		args   []string
		stderr string
		lines  int // of standard output
	}{
		{"no path", nil, "usage:", 0},
		{"bad flag", []string{"-nope", "testdata/demo"}, "nope", 0},
		{"missing directory", []string{"-json", "testdata/none", "testdata/demo"}, "inspect: testdata/none: ", 1},
		{"an empty path", []string{"-json", ""}, `inspect: "": the path is empty`, 0},
		{"a file", []string{"-json", "main.go"}, "inspect: main.go: this is no directory", 0},
		{"a manifest", []string{"-json", "testdata/demo/plugin.json"}, "this is a file: name its directory, " + filepath.Join("testdata", "demo") + "\n", 0},
		{"an option behind a path", []string{"-json", "testdata/demo", "-lint"}, "inspect: -lint: options stand before paths\n", 1},
		{"an option with a value behind a path", []string{"-json", "testdata/demo", "--fail-on=never"}, "options stand before paths\n", 1},
		{"a pattern of nothing", []string{"-json", "testdata/none*"}, "inspect: testdata/none*: nothing matches this pattern\n", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, out, errs := inspectPaths(t, tc.args...)
			if status != statusFailed || !strings.Contains(errs, tc.stderr) {
				t.Errorf("status %d, stderr %q", status, errs)
			}
			if n := strings.Count(out, "\n"); n != tc.lines {
				t.Errorf("%d lines on standard output: %s", n, out)
			}
		})
	}
}

func TestFailOn(t *testing.T) {
	for _, tc := range []struct {
		level, path string
		want        int
	}{
		{"error", "testdata/demo", statusOK}, // it has warnings
		{"warning", "testdata/demo", statusFindings},
		{"never", "testdata/demo", statusOK},
		{"warning", "testdata/broken", statusFindings},
		{"never", "testdata/broken", statusOK},
		{"never", "testdata/rejected", statusOK},
		{"never", "testdata/none", statusFailed},
		{"info", "testdata/demo", statusFailed},
		{"", "testdata/demo", statusFailed},
	} {
		for _, form := range []string{"-lint=false", "-json", "-sarif"} {
			if status, _, errs := inspectPaths(t, "-fail-on", tc.level, form, tc.path); status != tc.want {
				t.Errorf("-fail-on %s %s %s: status %d, want %d; %s", tc.level, form, tc.path, status, tc.want, errs)
			}
		}
	}
}

// TestNoCommandsToCI: what a package holds cannot begin a command to the system
// that shows the log.
func TestNoCommandsToCI(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plugin.json"),
		`{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"p","version":"##[add-mask]a","description":"::error::gotcha ##[error]x",
"##[warning]y":1}`)
	write(t, filepath.Join(dir, "mcp.json"),
		`{"$schema":"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json","mcpServers":{"::set-output name=status::passed":{},"##vso[task.complete]z":{}}}`)
	skill := filepath.Join("skills", "##[stop-commands]t")
	if runtime.GOOS != "windows" { // which has no colons in names
		skill = filepath.Join("skills", " ::stop-commands::t")
	}
	write(t, filepath.Join(dir, skill, "SKILL.md"), "no frontmatter")
	for _, args := range [][]string{{dir}, {"-json", dir}, {"-sarif", dir}, {"-lines", dir}, {"-lines", filepath.Join(dir, " ::notice::")}, {filepath.Join(dir, "##[none]")}} {
		_, out, errs := inspectPaths(t, args...)
		text := out + errs
		if strings.Contains(text, "##[") || strings.Contains(text, "##vso[") {
			t.Errorf("%v: a command within a line:\n%s", args[:len(args)-1], text)
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") {
				t.Errorf("%v: the line is a command: %s", args[:len(args)-1], line)
			}
		}
	}
	_, out, _ := inspectPaths(t, dir)
	for _, want := range []string{`\x3a:error::gotcha #\x23[error]x`, `p #\x23[add-mask]a`, `    \x3a:set-output name=status::passed  skipped`, `    #\x23vso[task.complete]z  skipped`} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	_, out, _ = inspectPaths(t, "-json", dir)
	var d struct{ Version string }
	if err := json.Unmarshal([]byte(out), &d); err != nil || d.Version != "##[add-mask]a" {
		t.Errorf("version %q, %v", d.Version, err)
	}
}

// TestDirectoryOfPluginsSaysSo: what a directory holds instead of a plugin stands in
// the finding, in each form, with the directories that hold some and no others.
func TestDirectoryOfPluginsSaysSo(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"plugins/a", "plugins/b", "extra/c", "docs/notes", "one/.claude-plugin"} {
		write(t, filepath.Join(base, filepath.FromSlash(name), "plugin.json"), manifest)
	}
	if err := os.Remove(filepath.Join(base, "docs", "notes", "plugin.json")); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"testdata": "the directory holds 3 plugins: inspect " + filepath.Join("testdata", "*"),
		base:       "the directory holds 3 plugins: inspect " + filepath.Join(base, "extra", "*") + " " + filepath.Join(base, "plugins", "*"),
	} {
		for _, form := range []string{"-lint", "-json", "-sarif", "-lines"} {
			status, out, errs := inspectPaths(t, form, dir)
			if form == "-json" || form == "-sarif" {
				want := strings.ReplaceAll(want, `\`, `\\`)
				if !strings.Contains(out, want+`"`) {
					t.Errorf("%s %s: %s", form, dir, out)
				}
			} else if !strings.Contains(out, want+" ") {
				t.Errorf("%s %s: %s", form, dir, out)
			}
			if status != statusFindings || errs != "" {
				t.Errorf("%s %s: status %d, stderr %q", form, dir, status, errs)
			}
		}
	}
}

func TestClientManifestIsNoPlugin(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".claude-plugin", "plugin.json"), `{"name": "p"}`)
	_, out, _ := inspectPaths(t, dir)
	if strings.Contains(out, "holds") || !strings.Contains(out, ".claude-plugin/plugin.json is for one client and does not count") {
		t.Errorf("output:\n%s", out)
	}
}

// TestPathsOnce: a path that stands twice, however it is written, is one.
func TestPathsOnce(t *testing.T) {
	_, out, errs := inspectPaths(t, "testdata/demo", "./testdata//demo/", "testdata/demo", "testdata/broken/../demo")
	if strings.Count(out, "team-notes 1.4.0") != 1 || strings.Contains(out, "paths:") || errs != "" {
		t.Errorf("output:\n%s%s", out, errs)
	}
}

// TestSummary: paths of each kind are counted, and no line is empty at the ends.
func TestSummary(t *testing.T) {
	status, out, _ := inspectPaths(t, "testdata/demo", "testdata/none", "testdata/rejected", "")
	if want := "\n\n4 paths: 1 loaded, 1 rejected, 2 unreadable; 2 skills, 2 servers, 0 skipped; 3 errors, 3 warnings, 1 info\n"; status != statusFailed || !strings.HasSuffix(out, want) {
		t.Errorf("status %d:\n%s", status, out)
	}
	for _, args := range [][]string{{"testdata/demo"}, {"testdata/demo", "testdata/broken"}, {"testdata/none", "testdata/demo"}, {"testdata/none", ""}} {
		_, out, _ := inspectPaths(t, args...)
		if strings.HasPrefix(out, "\n") || strings.HasSuffix(out, "\n\n") || strings.Contains(out, "\n\n\n") {
			t.Errorf("%v: %q", args, out)
		}
	}
}

// TestLines: each finding is one line of the form that is promised, with the file,
// line and column of the SARIF document.
func TestLines(t *testing.T) {
	form := regexp.MustCompile(`^(.+?):(\d+):(\d+): (error|warning|info): (.+) \[([a-z-]+)\]$`)
	args := []string{"-lint", "-lenient", "testdata/demo", "testdata/broken", "testdata/rejected", "testdata"}
	status, out, errs := inspectPaths(t, append([]string{"-lines"}, args...)...)
	if status != statusFindings || errs != "" {
		t.Errorf("status %d, stderr %q", status, errs)
	}
	run, _, _ := sarifOf(t, ".", args...)
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != len(run.Results) || len(lines) < 10 {
		t.Fatalf("%d lines, %d results:\n%s", len(lines), len(run.Results), out)
	}
	for i, line := range lines {
		m, r := form.FindStringSubmatch(line), run.Results[i]
		if m == nil {
			t.Errorf("line %q", line)
			continue
		}
		at := r.Locations[0].PhysicalLocation
		want := []string{at.ArtifactLocation.URI, fmt.Sprint(at.Region.StartLine), fmt.Sprint(at.Region.StartColumn), strings.Replace(r.Level, "note", "info", 1), "", r.RuleID}
		if message(m[5]) != r.Message {
			t.Errorf("message %q, want %q", m[5], r.Message.Text)
		}
		m[5] = ""
		if !slices.Equal(m[1:], want) {
			t.Errorf("line %q, want %q", line, want)
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plugin.json"), "{")
	if _, out, _ := inspectPaths(t, "-lines", dir); !strings.HasPrefix(out, filepath.ToSlash(dir)+"/plugin.json:1:2: error: ") {
		t.Errorf("outside of the working directory: %q", out)
	}
	status, out, errs = inspectPaths(t, "-lines", "testdata/none")
	if status != statusFailed || out != "" || errs != "inspect: testdata/none: no such file or directory\n" && runtime.GOOS != "windows" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	for _, form := range [][]string{{"-json"}, {"-sarif"}, {"-data", "x"}} {
		if status, out, errs := inspectPaths(t, append(append([]string{"-lines"}, form...), "testdata/demo")...); status != statusFailed || out != "" || !strings.Contains(errs, "shows findings only") {
			t.Errorf("%v: status %d, stdout %q, stderr %q", form, status, out, errs)
		}
	}
}

func TestHostileTextIsEscaped(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plugin.json"),
		`{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"p","version":"\u001b[2J","description":"a\u202eb\u200b","x\u0007\u202e":1}`)
	write(t, filepath.Join(dir, "skills", "e\u202evil", "SKILL.md"), "no frontmatter")
	for _, args := range [][]string{{dir}, {"-json", dir}, {"-lines", dir}} {
		_, out, errs := inspectPaths(t, args...)
		for _, bad := range []string{"\x1b", "\x07", "\u202e", "\u200b"} {
			if strings.Contains(out+errs, bad) {
				t.Errorf("%v: %q reached the output:\n%s%s", args, bad, out, errs)
			}
		}
	}
	_, out, _ := inspectPaths(t, "-json", dir)
	var d struct{ SkippedSkills []string }
	if err := json.Unmarshal([]byte(out), &d); err != nil || len(d.SkippedSkills) != 1 || d.SkippedSkills[0] != "e\u202evil" {
		t.Errorf("skippedSkills = %q, %v", d.SkippedSkills, err)
	}
}

// fullDisk fails every write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWriteErrorsAreTold(t *testing.T) {
	for _, args := range [][]string{{"testdata/demo"}, {"-json", "testdata/demo"}, {"-sarif", "testdata/demo"}, {"-lines", "testdata/demo"}, {"testdata/demo", "testdata/broken"}} {
		var errs bytes.Buffer
		if status := run(context.Background(), args, fullDisk{}, &errs); status != statusFailed || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%v: status %d, stderr %q", args, status, errs.String())
		}
	}
}

func TestNamesAreTheSameEverywhere(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plugin.json"), manifest)
	name := "a\n\x1bé\u3164"
	if runtime.GOOS == "linux" {
		name += "\xfe"
	}
	if err := os.MkdirAll(filepath.Join(dir, "skills", name), 0o755); err != nil {
		t.Skip(err)
	}
	write(t, filepath.Join(dir, "skills", name, "SKILL.md"), "no frontmatter")
	_, out, _ := inspectPaths(t, "-json", dir)
	for _, bad := range []string{"\x1b", "\u3164", "\ufffd"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q reached the output: %s", bad, out)
		}
	}
	var d struct {
		SkippedSkills []string
		Findings      []struct{ Subject string }
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(name, "\xfe", `\xfe`)
	if len(d.SkippedSkills) != 1 || d.SkippedSkills[0] != want || d.Findings[0].Subject != want {
		t.Errorf("skipped %q, subject %q, want %q", d.SkippedSkills, d.Findings[0].Subject, want)
	}
}

func TestColors(t *testing.T) {
	var out bytes.Buffer
	show := newText(&out, 1)
	show.color = true // as on a terminal
	r, err := inspect(context.Background(), "testdata/broken", plugin.Options{}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := show.result(r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\x1b[31merror  \x1b[0m") {
		t.Errorf("errors are not red:\n%q", out.String())
	}
}

func TestColorsAreForTerminals(t *testing.T) {
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, like a terminal
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if isTerminal(device) != newText(device, 1).color {
		t.Error("a terminal without NO_COLOR gets no colors")
	}
	if newText(&bytes.Buffer{}, 1).color {
		t.Error("colors outside a terminal")
	}
	t.Setenv("NO_COLOR", "1")
	if newText(device, 1).color {
		t.Error("colors in spite of NO_COLOR")
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	if newText(device, 1).color {
		t.Error("colors on a dumb terminal")
	}
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := &progress{out: &out, total: 3, start: time.Now()}
	p.step()
	if out.Len() > 0 {
		t.Errorf("progress within the first second: %q", out.String())
	}
	p.start = p.start.Add(-2 * time.Second)
	p.step()
	p.clear()
	if got, want := out.String(), "\rinspect: 2 of 3\r\x1b[K"; got != want {
		t.Errorf("progress %q, want %q", got, want)
	}
	if newProgress(&out, 1000).out != nil {
		t.Error("progress outside a terminal")
	}
}

func TestManyPlugins(t *testing.T) {
	base := t.TempDir()
	args := []string{"-json"}
	for i := range 1000 {
		dir := filepath.Join(base, fmt.Sprintf("p%d", i))
		write(t, filepath.Join(dir, "plugin.json"), manifest)
		args = append(args, dir)
	}
	status, out, _ := inspectPaths(t, args...)
	if n := strings.Count(out, "\n"); status != statusOK || n != 1000 {
		t.Errorf("status %d, %d documents", status, n)
	}
}
