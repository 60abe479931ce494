package workflows

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

const (
	root    = "../.."
	ci      = ".github/workflows/ci.yml"
	action  = ".github/actions/inspect/action.yml"
	script  = ".github/actions/inspect/inspect.sh"
	starter = "examples/inspect/workflow.yml"
)

func read(t *testing.T, name string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

type step struct {
	Uses, Run, Shell string
	With, Env        map[string]string
}

type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Timeout     int `yaml:"timeout-minutes"`
		Steps       []step
	}
}

type composite struct {
	Inputs map[string]struct {
		Description string
		Default     string
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

func parse[T any](t *testing.T, name string) (out T) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, name)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPins: what is run is named by its commit, with the release beside it, and
// is the same everywhere.
func TestPins(t *testing.T) {
	pinned := regexp.MustCompile(`^([\w.-]+/[\w.-]+)(?:/[\w./-]+)?@([0-9a-f]{40}) # v\d+\.\d+\.\d+$`)
	uses := regexp.MustCompile(`(?m)^ *(?:- )?uses: (.*)$`)
	seen := map[string]string{}
	for _, name := range []string{ci, action, starter} {
		found := uses.FindAllStringSubmatch(read(t, name), -1)
		if len(found) == 0 {
			t.Errorf("%s uses nothing", name)
		}
		for _, m := range found {
			if strings.HasPrefix(m[1], "./") || strings.HasPrefix(m[1], "plugberth/plugberth/") {
				continue
			}
			pin := pinned.FindStringSubmatch(m[1])
			if pin == nil {
				t.Errorf("%s: %s is not pinned to a commit with its release in a comment", name, m[1])
				continue
			}
			if other := seen[pin[1]]; other != "" && other != pin[2] {
				t.Errorf("%s: %s is %s here and %s elsewhere", name, pin[1], pin[2], other)
			}
			seen[pin[1]] = pin[2]
		}
	}
}

// TestPermissions: a workflow may read, each job ends in time, and the one that
// uploads may do that and no more.
func TestPermissions(t *testing.T) {
	for _, name := range []string{ci, starter} {
		w := parse[workflow](t, name)
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s has the permissions %v", name, w.Permissions)
		}
		for id, job := range w.Jobs {
			if job.Timeout == 0 || len(job.Steps) == 0 {
				t.Errorf("%s: the job %s has no time limit or no steps", name, id)
			}
			for scope, access := range job.Permissions {
				if access != "read" && !(name == starter && scope == "security-events") {
					t.Errorf("%s: the job %s may %s %s", name, id, access, scope)
				}
			}
			for _, s := range job.Steps {
				if strings.Contains(s.Run, "${{") {
					t.Errorf("%s: an expression becomes shell text: %s", name, s.Run)
				}
				if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != "false" {
					t.Errorf("%s: the job %s keeps the token in its checkout", name, id)
				}
			}
		}
	}
}

// TestAction: inputs reach the script in variables alone, all of them, and the
// script knows no others; the outputs are those that it sets.
func TestAction(t *testing.T) {
	a := parse[composite](t, action)
	text := read(t, script)
	if a.Runs.Using != "composite" {
		t.Fatalf("using %q", a.Runs.Using)
	}
	env := map[string]string{}
	for _, s := range a.Runs.Steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("an expression becomes shell text: %s", s.Run)
		}
		if s.Run != "" && s.Shell != "bash" {
			t.Errorf("shell %q for %s", s.Shell, s.Run)
		}
		for name, value := range s.Env {
			env[name] = value
		}
	}
	for name, input := range a.Inputs {
		variable := "INSPECT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if env[variable] != "${{ inputs."+name+" }}" || input.Description == "" {
			t.Errorf("the input %s is %q in %s", name, env[variable], variable)
		}
	}
	for _, name := range regexp.MustCompile(`INSPECT_[A-Z_]+`).FindAllString(text, -1) {
		if _, ok := env[name]; !ok && name != "INSPECT_" {
			t.Errorf("the script reads %s, which action.yml does not set", name)
		}
	}
	set := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\s*output ([a-z]+) `).FindAllStringSubmatch(text, -1) {
		set[m[1]] = true
	}
	for name, output := range a.Outputs {
		if !set[name] || output.Value != "${{ steps.inspect.outputs."+name+" }}" {
			t.Errorf("output %s is %q, set by the script: %v", name, output.Value, set[name])
		}
		delete(set, name)
	}
	if len(set) > 0 {
		t.Errorf("outputs that action.yml does not know: %v", set)
	}
}

// TestStarter: the workflow to be copied uses inputs and outputs that there are,
// at the newest release.
func TestStarter(t *testing.T) {
	a := parse[composite](t, action)
	newest := "0.1.0" // the first
	if m := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindStringSubmatch(read(t, "CHANGELOG.md")); m != nil {
		newest = m[1]
	}
	used := 0
	for _, job := range parse[workflow](t, starter).Jobs {
		for _, s := range job.Steps {
			name, ref, _ := strings.Cut(s.Uses, "@")
			if name != "plugberth/plugberth/"+strings.TrimSuffix(action, "/action.yml") {
				continue
			}
			used++
			if ref != "v"+newest {
				t.Errorf("the starter uses %s, and the newest release is %s", ref, newest)
			}
			for input := range s.With {
				if _, ok := a.Inputs[input]; !ok {
					t.Errorf("there is no input %s", input)
				}
			}
		}
	}
	if used != 1 {
		t.Errorf("the starter uses the action %d times", used)
	}
	for _, m := range regexp.MustCompile(`steps\.inspect\.outputs\.([a-z-]+)`).FindAllStringSubmatch(read(t, starter), -1) {
		if _, ok := a.Outputs[m[1]]; !ok {
			t.Errorf("there is no output %s", m[1])
		}
	}
}

// TestDependabot: all files with pins are looked at.
func TestDependabot(t *testing.T) {
	var d struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directories []string
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, ".github/dependabot.yml")), &d); err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, u := range d.Updates {
		if u.Ecosystem == "github-actions" {
			dirs = append(dirs, u.Directories...)
		}
	}
	for _, name := range []string{action, starter} {
		if dir := "/" + filepath.ToSlash(filepath.Dir(filepath.FromSlash(name))); !slices.Contains(dirs, dir) {
			t.Errorf("%s is not looked at: %q", name, dirs)
		}
	}
	if !slices.Contains(dirs, "/") { // .github/workflows
		t.Errorf("the workflows are not looked at: %q", dirs)
	}
}
