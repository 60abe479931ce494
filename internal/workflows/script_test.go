package workflows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// runner is a machine of GitHub as far as the script sees it.
type runner struct {
	t         *testing.T
	workspace string
	path      string // PATH
	env       []string
}

// ran is what became of one run of the script.
type ran struct {
	status  int
	log     string
	outputs map[string]string
	summary string
}

func newRunner(t *testing.T) *runner {
	if runtime.GOOS == "windows" {
		t.Skip("bash on Windows is that of Git, and what it makes of paths is for CI to try")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	return &runner{t: t, workspace: t.TempDir(), path: os.Getenv("PATH")}
}

// stubs is a directory with a go that has inspect ready, made when it is needed.
var stubs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "workflows")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "inspect"), "./examples/inspect")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%w\n%s", err, out)
	}
	const stub = `#!/bin/sh
while [ $# -gt 0 ]; do
	if [ "$1" = -o ]; then
		exec cp "${0%/*}/inspect" "$2"
	fi
	shift
done
exit 1
`
	return dir, os.WriteFile(filepath.Join(dir, "go"), []byte(stub), 0o755)
})

var needsStubs atomic.Bool

func TestMain(m *testing.M) {
	status := m.Run()
	if needsStubs.Load() {
		dir, _ := stubs()
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

// prebuilt puts the stub before the real go, so that a table of runs need not link
// inspect each time.
func (r *runner) prebuilt() {
	r.t.Helper()
	needsStubs.Store(true)
	dir, err := stubs()
	if err != nil {
		r.t.Fatal(err)
	}
	r.path = dir + string(os.PathListSeparator) + r.path
}

func (r *runner) write(name, content string) {
	r.t.Helper()
	name = filepath.Join(r.workspace, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// run runs the script as the composite step of action.yml does.
func (r *runner) run(inputs map[string]string) ran {
	r.t.Helper()
	dir := r.t.TempDir()
	actionPath, err := filepath.Abs(filepath.Join(root, filepath.Dir(script)))
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", `bash "$GITHUB_ACTION_PATH/inspect.sh"`)
	cmd.Dir = r.workspace
	outputs, summary := filepath.Join(dir, "outputs"), filepath.Join(dir, "summary")
	cmd.Env = append([]string{
		"PATH=" + r.path, "HOME=" + os.Getenv("HOME"), "TMPDIR=" + dir,
		"GITHUB_ACTIONS=true", "GITHUB_ACTION_PATH=" + actionPath, "GITHUB_WORKSPACE=" + r.workspace,
		"GITHUB_OUTPUT=" + outputs, "GITHUB_STEP_SUMMARY=" + summary,
	}, r.env...)
	// What action.yml gives by default.
	all := map[string]string{"PATHS": ".", "LINT": "false", "LENIENT": "false", "FAIL_ON": "error", "ANNOTATIONS": "true", "SARIF": "", "REF": ""}
	for name, value := range inputs {
		all[name] = value
	}
	for name, value := range all {
		cmd.Env = append(cmd.Env, "INSPECT_"+name+"="+value)
	}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	out := ran{outputs: map[string]string{}}
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		out.status = exit.ExitCode()
	} else if err != nil {
		r.t.Fatal(err)
	}
	out.log = log.String()
	// Each output is name<<END, the value, END.
	text, _ := os.ReadFile(outputs)
	for rest := string(text); rest != ""; {
		head, after, _ := strings.Cut(rest, "\n")
		name, end, ok := strings.Cut(head, "<<")
		value, after, found := strings.Cut(after, "\n"+end+"\n")
		if !ok || !found {
			r.t.Fatalf("outputs %q", text)
		}
		out.outputs[name], rest = value, after
	}
	text, _ = os.ReadFile(summary)
	out.summary = string(text)
	left, err := filepath.Glob(filepath.Join(dir, "tmp*"))
	if err != nil || len(left) > 0 {
		r.t.Errorf("left behind: %q, %v", left, err)
	}
	return out
}

const (
	good    = `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "good"}`
	warning = `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "warns", "version": "v1", "hooks": {}}`
	bad     = `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "Bad"}`
)

func TestScript(t *testing.T) {
	r := newRunner(t)
	r.prebuilt()
	r.write("good/plugin.json", good)
	r.write("warns/plugin.json", warning)
	r.write("bad/plugin.json", bad)
	r.write("many/a b/plugin.json", good)
	r.write("many/-json/plugin.json", good)
	r.write("many/[ab]/plugin.json", good)
	r.write("many/a/plugin.json", bad)
	r.write("many/README.md", "no plugin")
	r.write("odd/$(touch pwned)`touch pwned`\";'\n*/plugin.json", good)
	r.write("-lint/plugin.json", good)
	r.write("lenient/plugin.json", good)
	r.write("lenient/skills/Other/SKILL.md", "---\nname: other\ndescription: d\n---\n")

	type inputs = map[string]string
	for _, tc := range []struct {
		name   string
		inputs inputs
		status int
		want   string // status, errors and warnings, as the outputs say
		log    string
	}{
		{"one plugin", inputs{"PATHS": "good"}, 0, "passed 0 0", "good  Agent Plugins 1.0.0, good"},
		{"an error", inputs{"PATHS": "bad"}, 1, "findings 1 0", "::error title=inspect::bad: rejected; 1 error, 0 warnings, 0 info"},
		{"several, blank lines, CRLF", inputs{"PATHS": "\n good\ngood\r\n\n  \nwarns"}, 2, "failed  ", ` good: `},
		{"several", inputs{"PATHS": "good\r\nwarns\nbad\n"}, 1, "findings 1 1", "3 paths: 2 loaded"},
		{"a warning", inputs{"PATHS": "warns"}, 0, "passed 0 1", "hooks"},
		{"a warning that fails", inputs{"PATHS": "warns", "FAIL_ON": "warning"}, 1, "findings 0 1", "1 warning"},
		{"nothing fails", inputs{"PATHS": "bad", "FAIL_ON": "never"}, 0, "passed 1 0", "1 error"},
		{"lint", inputs{"PATHS": "warns", "LINT": "true"}, 0, "passed 0 1", "lint-version"},
		{"no lint", inputs{"PATHS": "warns\nlenient"}, 1, "findings 1 1", "2 paths"},
		{"lenient", inputs{"PATHS": "lenient", "LENIENT": "true"}, 0, "passed 0 1", "1 skill"},
		{"a pattern", inputs{"PATHS": "many/*"}, 1, "findings 1 0", "4 paths: 3 loaded"},
		{"a pattern with blanks", inputs{"PATHS": "many/a *"}, 0, "passed 0 0", "many/a b"},
		{"a directory that looks like a pattern", inputs{"PATHS": "many/[ab]"}, 0, "passed 0 0", "many/[ab]"},
		{"a pattern of nothing", inputs{"PATHS": "none/*"}, 2, "failed  ", "none/*: "},
		{"a pattern of files", inputs{"PATHS": "many/README.*"}, 2, "failed  ", "many/README.*: "},
		{"a missing path beside another", inputs{"PATHS": "good\nnone"}, 2, "failed  ", "none: "},
		{"a path that is an option", inputs{"PATHS": "-lint"}, 0, "passed 0 0", "Plugins 1.0.0, -lint"},
		{"a pattern of options", inputs{"PATHS": "-*"}, 0, "passed 0 0", "Plugins 1.0.0, -lint"},
		{"substitutions", inputs{"PATHS": "$(touch pwned)\n`touch pwned`\n\"; touch pwned; \"\n'; touch pwned; '\n${HOME}\n~\n&& touch pwned\n> pwned"}, 2, "failed  ", `"; touch pwned; ": `},
		{"a name of substitutions", inputs{"PATHS": "odd/*"}, 0, "passed 0 0", "good"},
		{"no path", inputs{"PATHS": " \n\n"}, 2, "failed  ", "::error title=inspect::paths is empty"},
		{"an odd lint", inputs{"PATHS": "good", "LINT": "$(touch pwned)"}, 2, "failed  ", "lint is neither"},
		{"an odd lenient", inputs{"PATHS": "good", "LENIENT": "-json"}, 2, "failed  ", "lenient is neither"},
		{"an odd annotations", inputs{"PATHS": "good", "ANNOTATIONS": "$(touch pwned)"}, 2, "failed  ", "annotations is neither"},
		{"an odd fail-on", inputs{"PATHS": "good", "FAIL_ON": "info -json"}, 2, "failed  ", "fail-on is none"},
		{"an odd ref", inputs{"PATHS": "good", "REF": "v1.0.0 -toolexec=$(touch pwned)"}, 0, "passed 0 0", "good"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := r.run(tc.inputs)
			if got.status != tc.status {
				t.Errorf("status %d, want %d", got.status, tc.status)
			}
			if o := got.outputs["status"] + " " + got.outputs["errors"] + " " + got.outputs["warnings"]; o != tc.want {
				t.Errorf("outputs %q, want %q", o, tc.want)
			}
			if !strings.Contains(got.log, tc.log) {
				t.Errorf("the log lacks %q", tc.log)
			}
			if strings.HasPrefix(tc.want, "passed") == strings.Contains(got.log, "::error title=") {
				t.Error("an error annotation without need, or none")
			}
			if _, ok := got.outputs["sarif"]; ok {
				t.Error("a SARIF file that was not asked for")
			}
			if matches, _ := filepath.Glob(filepath.Join(r.workspace, "*pwned*")); len(matches) > 0 {
				t.Fatal("an input was evaluated")
			}
			if t.Failed() {
				t.Log(got.log)
			}
		})
	}
}

// TestScriptBuilds: the program is built from the checkout that the script is in,
// whatever module settings the caller has, and knows its release.
func TestScriptBuilds(t *testing.T) {
	r := newRunner(t)
	r.write("plugin.json", warning)
	r.write("go.mod", "module example.com/caller\n")
	r.write("go.work", "use ./none\n")
	r.env = []string{"GOFLAGS=-mod=vendor", "GOWORK=" + filepath.Join(r.workspace, "go.work")}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		r.env = append(r.env, name+"="+strings.TrimSpace(string(out)))
	}
	got := r.run(map[string]string{"SARIF": "out/inspect.sarif", "REF": "v1.2.3-rc.1"})
	if got.status != 0 || got.outputs["sarif"] != "out/inspect.sarif" || got.outputs["status"] != "passed" {
		t.Fatalf("status %d, outputs %q\n%s", got.status, got.outputs, got.log)
	}
	sarif, err := os.ReadFile(filepath.Join(r.workspace, "out", "inspect.sarif"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"semanticVersion":"1.2.3-rc.1"`, `"ruleId":"manifest-unknown-field"`, `"uri":"plugin.json"`} {
		if !strings.Contains(string(sarif), want) {
			t.Errorf("the SARIF file lacks %s", want)
		}
	}
}

// TestScriptSARIF: the file is written where it is asked for, also when there are
// findings, and through no link; where a path could not be read it is not offered.
func TestScriptSARIF(t *testing.T) {
	r := newRunner(t)
	r.prebuilt()
	r.write("bad/plugin.json", bad)
	r.write("victim", "kept")
	r.write("dir/file", "kept")
	if err := os.Symlink("victim", filepath.Join(r.workspace, "link.sarif")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, sarif, paths string
		file               string // that is written
		offered            bool
		status             int
	}{
		{"plain", "a.sarif", "bad", "a.sarif", true, 1},
		{"again", "a.sarif", "bad", "a.sarif", true, 1},
		{"below a directory", "x/y/a b.sarif", "bad", "x/y/a b.sarif", true, 1},
		{"like an option", "-rf.sarif", "bad", "-rf.sarif", true, 1},
		{"absolute", filepath.Join(r.workspace, "abs", "a.sarif"), "bad", "abs/a.sarif", true, 1},
		{"substitutions", "$(touch pwned).sarif", "bad", "$(touch pwned).sarif", true, 1},
		{"an output of its own", "a.sarif\nstatus=passed", "bad", "a.sarif\nstatus=passed", true, 1},
		{"a link", "link.sarif", "bad", "link.sarif", true, 1},
		{"a directory", "dir", "bad", "", false, 2},
		{"below a file", "victim/a.sarif", "bad", "", false, 2},
		{"a missing path", "part.sarif", "bad\nnone", "part.sarif", false, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := r.run(map[string]string{"PATHS": tc.paths, "SARIF": tc.sarif})
			if got.status != tc.status {
				t.Errorf("status %d, want %d\n%s", got.status, tc.status, got.log)
			}
			if name, ok := got.outputs["sarif"]; ok != tc.offered || ok && name != tc.sarif {
				t.Errorf("the output sarif is %q, %v", name, ok)
			}
			if want := map[int]string{1: "findings", 2: "failed"}[tc.status]; got.outputs["status"] != want {
				t.Errorf("the output status is %q, want %q", got.outputs["status"], want)
			}
			if tc.file != "" {
				info, err := os.Lstat(filepath.Join(r.workspace, tc.file))
				if err != nil || !info.Mode().IsRegular() {
					t.Fatalf("%v, %v", info, err)
				}
				text, err := os.ReadFile(filepath.Join(r.workspace, tc.file))
				if err != nil || !strings.Contains(string(text), `"ruleId":"manifest-name-invalid"`) {
					t.Errorf("%v: %.200s", err, text)
				}
			}
			for _, name := range []string{"victim", "dir/file"} {
				if text, err := os.ReadFile(filepath.Join(r.workspace, name)); err != nil || string(text) != "kept" {
					t.Errorf("%s holds %q, %v", name, text, err)
				}
			}
			if _, err := os.Lstat(filepath.Join(r.workspace, "pwned")); err == nil {
				t.Error("an input was evaluated")
			}
		})
	}
}

// TestScriptHostilePlugin: what a package holds gives no command to the runner,
// ends no block of the summary and sets no output.
func TestScriptHostilePlugin(t *testing.T) {
	r := newRunner(t)
	r.prebuilt()
	r.write("p/plugin.json", `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "p",
"description": "::set-output name=status::passed </pre><img src=x> ##[error]gotcha & more", "::error::x": 1}`)
	r.write("p/skills/::stop-commands::x/SKILL.md", "nothing")
	got := r.run(map[string]string{"PATHS": "p"})
	if got.status != 1 || got.outputs["status"] != "findings" || len(got.outputs) != 3 {
		t.Errorf("status %d, outputs %q", got.status, got.outputs)
	}
	before, rest, ok := strings.Cut(got.log, "::stop-commands::plugberth-")
	secret, rest, _ := strings.Cut(rest, "\n")
	inside, after, found := strings.Cut(rest, "::plugberth-"+secret+"::\n")
	if !ok || !found || len(secret) != 32 || strings.Contains(before+after, "gotcha") || !strings.Contains(inside, "gotcha") {
		t.Errorf("commands are not stopped around the text:\n%s", got.log)
	}
	if again := r.run(map[string]string{"PATHS": "p"}); strings.Contains(again.log, secret) {
		t.Error("the word that ends the text is the same in each run")
	}
	for _, want := range []string{"&lt;/pre&gt;&lt;img src=x&gt;", "&amp; more", "<pre>\n"} {
		if !strings.Contains(got.summary, want) {
			t.Errorf("the summary lacks %q:\n%s", want, got.summary)
		}
	}
	if strings.Count(got.summary, "</pre>") != 1 || strings.Contains(got.summary, "<img") {
		t.Errorf("the summary is not escaped:\n%s", got.summary)
	}
}

// annotationOf is an annotation at a line, as GitHub reads it.
var annotationOf = regexp.MustCompile(`(?m)^::(error|warning|notice) file=([^,:]*),line=(\d+),col=(\d+),title=inspect::(.*)$`)

// TestScriptAnnotations: findings stand at their lines, the most severe first and no
// more of a kind than GitHub takes from a step, whatever names files have.
func TestScriptAnnotations(t *testing.T) {
	r := newRunner(t)
	r.prebuilt()
	r.write("good/plugin.json", good)
	r.write("warns/plugin.json", warning)
	r.write("a,b%:1:2: error: x/plugin.json", warning)
	many := strings.TrimSuffix(bad, "}")
	for i := range 20 {
		r.write(fmt.Sprintf("many/skills/s%02d/SKILL.md", i), "")
		many += fmt.Sprintf(`, "x%02d": 1`, i)
	}
	r.write("many/plugin.json", strings.Replace(many, "Bad", "bad", 1)+"}")
	r.write("hostile/plugin.json", strings.TrimSuffix(good, "}")+`,
  "%0A::error::x\n::set-output name=status::y": 1}`)

	for _, tc := range []struct {
		name, paths, annotations, lint string
		want                           map[string]int
		log                            string
	}{
		{"nothing", "good", "true", "false", nil, ""},
		{"a warning", "warns", "true", "false", map[string]int{"warning": 1}, "::warning file=warns/plugin.json,line=1,col=109,title=inspect::\"hooks\" is not part"},
		{"with lint", "warns", "true", "true", map[string]int{"warning": 1, "notice": 2}, "[lint-version]"},
		{"not asked for", "warns", "false", "true", nil, ""},
		{"too many", "many\nwarns", "true", "true", map[string]int{"error": 9, "warning": 10, "notice": 2}, ""},
		{"an odd name", "a,b%:1:2: error: x", "true", "false", map[string]int{"error": 1}, "::error file=a%2Cb%25,line=1,col=2,title=inspect::x/plugin.json:1:109: warning: "},
		{"hostile", "hostile", "true", "false", map[string]int{"warning": 1}, `::warning file=hostile/plugin.json,line=2,col=3,title=inspect::"%250A::error::x\n::set-output`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if strings.Contains(tc.paths, ":") && runtime.GOOS == "darwin" {
				t.Skip("a name with colons")
			}
			got := r.run(map[string]string{"PATHS": tc.paths, "ANNOTATIONS": tc.annotations, "LINT": tc.lint})
			counts := map[string]int{}
			last := "error"
			for _, m := range annotationOf.FindAllStringSubmatch(got.log, -1) {
				counts[m[1]]++
				if rank := "error warning notice"; strings.Index(rank, m[1]) < strings.Index(rank, last) {
					t.Errorf("%s after %s", m[1], last)
				}
				last = m[1]
			}
			if tc.want == nil {
				tc.want = map[string]int{}
			}
			if !maps.Equal(counts, tc.want) || !strings.Contains(got.log, tc.log) {
				t.Errorf("annotations %v, want %v, and %q in\n%s", counts, tc.want, tc.log, got.log)
			}
			// No more of a kind than a step may have, that of the step itself included.
			if n := len(regexp.MustCompile(`(?m)^::error `).FindAllString(got.log, -1)); n > 10 {
				t.Errorf("%d errors", n)
			}
		})
	}
}

// TestScriptSummaryIsCut: GitHub refuses a summary that is over a megabyte.
func TestScriptSummaryIsCut(t *testing.T) {
	r := newRunner(t)
	r.prebuilt()
	var members strings.Builder
	for i := range 60 {
		members.WriteString(`, "` + strings.Repeat("&é", 30) + string(rune('a'+i/26)) + string(rune('a'+i%26)) + `": 1`)
	}
	var paths strings.Builder
	for i := range 20 {
		name := "p" + string(rune('a'+i))
		r.write(name+"/plugin.json", strings.TrimSuffix(good, "}")+members.String()+"}")
		paths.WriteString(name + "\n")
	}
	got := r.run(map[string]string{"PATHS": paths.String()})
	if len(got.log) < 200_000 {
		t.Fatalf("the log has %d bytes: too few to be cut", len(got.log))
	}
	if got.status != 0 || len(got.summary) > 1<<20 || !strings.Contains(got.summary, "</pre>\n\nThe rest stands in the log of the step.") {
		t.Errorf("status %d, a summary of %d bytes, at its end %q", got.status, len(got.summary), got.summary[len(got.summary)-100:])
	}
	if strings.ToValidUTF8(got.summary, "") != got.summary {
		t.Error("the summary is no UTF-8")
	}
}
