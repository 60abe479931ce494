package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin"
)

// export runs the program as a user does.
func export(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(context.Background(), args, &out, &errs)
	return status, out.String(), errs.String()
}

// copyOf is the directory of skills, to be changed.
func copyOf(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "Team Skills")
	if err := os.CopyFS(dir, os.DirFS("testdata/skills")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func change(t *testing.T, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestExport: the forms are one package, and a later one says what changed. [X3] [X6]
func TestExport(t *testing.T) {
	dir := copyOf(t)
	out := t.TempDir()
	to := func(name string) string { return filepath.Join(out, name) }
	status, first, errs := export("-version", "1.0.0", "-dir", to("d"), "-zip", to("a.zip"), "-tar", to("a.tar.gz"), dir)
	if status != statusOK || errs != "" {
		t.Fatalf("status %d: %s", status, errs)
	}
	lines := strings.Split(first, "\n")
	if lines[0] != "team-skills 1.0.0" || !strings.HasPrefix(lines[1], "sha256:") || !strings.Contains(first, "  incident-review\n  release-notes\n") {
		t.Errorf("printed:\n%s", first)
	}
	for _, old := range []string{"d", "a.zip", "a.tar.gz"} {
		status, got, errs := export("-version", "1.0.0", "-since", to(old), dir)
		if status != statusOK || !strings.HasSuffix(got, "nothing changed since 1.0.0\n") {
			t.Errorf("%s: status %d: %s%s", old, status, got, errs)
		}
	}

	change(t, dir, "release-notes/references/style.md", "Other.\n")
	change(t, dir, "review/SKILL.md", "---\nname: review\ndescription: x\n---\n")
	if err := os.RemoveAll(filepath.Join(dir, "incident-review")); err != nil {
		t.Fatal(err)
	}
	status, got, errs := export("-version", "1.1.0", "-since", to("a.zip"), dir)
	want := `since 1.0.0
  changed  manifest   plugin.json: version
  removed  skill      incident-review
  changed  skill      release-notes: files
  added    skill      review
  changed  file       plugin.json
  removed  file       skills/incident-review/SKILL.md
  changed  file       skills/release-notes/references/style.md
  added    file       skills/review/SKILL.md
`
	if status != statusOK || !strings.HasSuffix(got, want) {
		t.Errorf("status %d, printed:\n%s%s", status, got, errs)
	}

	// What is there is kept, unless it is what was written or -force is said.
	if status, _, errs := export("-dir", to("d"), dir); status != statusFailed || !strings.Contains(errs, "stands in the place") {
		t.Errorf("status %d: %s", status, errs)
	}
	if status, _, errs := export("-zip", to("a.zip"), dir); status != statusFailed || !strings.Contains(errs, "-force") {
		t.Errorf("status %d: %s", status, errs)
	}
	if status, _, errs := export("-dir", to("d"), "-replace", lines[1], dir); status != statusOK {
		t.Errorf("status %d: %s", status, errs)
	}
	if status, _, errs := export("-dir", to("d"), "-zip", to("a.zip"), "-tar", to("a.tar.gz"), "-force", dir); status != statusOK {
		t.Errorf("status %d: %s", status, errs)
	}
	p, err := plugin.Load(context.Background(), to("d"), plugin.Options{Lint: true})
	if err != nil || len(p.Findings()) > 0 || p.Skill("review") == nil {
		t.Errorf("%v, %v", p, err)
	}
	if _, got, _ := export(dir); !strings.HasPrefix(got, "team-skills sha256:") {
		t.Errorf("without a version:\n%s", got)
	}
}

// TestExportRefuses: what does not conform is told and not written. [X1] [X4]
func TestExportRefuses(t *testing.T) {
	dir := copyOf(t)
	change(t, dir, "Title Case/SKILL.md", "---\nname: Title Case\ndescription: x\n---\n")
	out := filepath.Join(t.TempDir(), "d")
	status, _, errs := export("-dir", out, dir)
	if status != statusRefused || !strings.Contains(errs, "skill-name-invalid") {
		t.Errorf("status %d: %s", status, errs)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("it was written")
	}
	if status, got, errs := export("-lenient", dir); status != statusOK || !strings.Contains(got, "  title-case\n") {
		t.Errorf("status %d: %s%s", status, got, errs)
	}
	if status, _, errs := export("-name", "Not A Name", "testdata/skills"); status != statusRefused || !strings.Contains(errs, `"not-a-name"`) {
		t.Errorf("status %d: %s", status, errs)
	}
	for _, args := range [][]string{{}, {"-x"}, {filepath.Join(dir, "gone")}, {"-since", filepath.Join(dir, "gone"), "testdata/skills"}, {"-zip", filepath.Join(dir, "gone", "x"), "testdata/skills"}} {
		if status, _, errs := export(args...); status != statusFailed || errs == "" {
			t.Errorf("%q: status %d: %s", args, status, errs)
		}
	}
	if status, _, _ := export("-h"); status != statusOK {
		t.Errorf("help: status %d", status)
	}
}
