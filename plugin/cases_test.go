package plugin_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

// reportedCase is one failing input that somebody reported, as data.
type reportedCase struct {
	Root        string
	Files       map[string]string
	Base64      map[string]string
	Symlinks    map[string]string
	Directories []string
	Modes       map[string]string
	Expect      struct {
		Outcome        string
		Name           *string
		Skills         []string
		SkippedSkills  []string `json:"skipped_skills"`
		MCP            string
		Servers        []string
		SkippedServers []string `json:"skipped_servers"`
		Why            string
		Descriptions   map[string]string
		Expands        map[string]struct {
			Args []string
			Env  map[string]string
		}
		Warnings []string
		Limits   struct{ Milliseconds, Megabytes int }
		BodyEnds map[string]string `json:"body_ends"`
		Findings []map[string]any
		Absent   []string `json:"absent_text"`
	}
}

func (c *reportedCase) write(t *testing.T, dir string) {
	t.Helper()
	put := func(name string, content []byte) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := fs.FileMode(0o644)
		if m, ok := c.Modes[name]; ok {
			n, err := strconv.ParseUint(m, 8, 32)
			if err != nil {
				t.Fatal(err)
			}
			mode = fs.FileMode(n)
		}
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range c.Files {
		put(name, []byte(text))
	}
	for name, text := range c.Base64 {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		put(name, b)
	}
	for _, name := range c.Directories {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range c.Symlinks {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Skip(err)
		}
	}
}

// TestReportedCases runs the shared cases where they lie beside the checkout,
// or in the directory that PLUGBERTH_CASES names.
func TestReportedCases(t *testing.T) {
	dir := os.Getenv("PLUGBERTH_CASES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "cases")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	if len(files) == 0 {
		t.Skip("the shared cases are not here; set PLUGBERTH_CASES to their directory")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c reportedCase
			if err := json.Unmarshal(src, &c); err != nil {
				t.Fatal(err)
			}
			runCase(t, &c)
		})
	}
}

func runCase(t *testing.T, c *reportedCase) {
	base := t.TempDir()
	c.write(t, base)
	root := filepath.Join(base, filepath.FromSlash(c.Root))
	want := c.Expect
	start := time.Now()
	p, err := plugin.Load(context.Background(), root, plugin.Options{})
	if limit := want.Limits.Milliseconds; limit > 0 && time.Since(start) > time.Duration(limit)*time.Millisecond {
		t.Errorf("took %v, at most %d ms are allowed", time.Since(start), limit)
	}
	var findings finding.List
	var rejected *plugin.RejectedError
	switch {
	case errors.As(err, &rejected):
		findings = rejected.Findings
		if want.Outcome != "rejected" {
			t.Fatalf("rejected: %v\nwhy not: %s", err, want.Why)
		}
	case err != nil:
		t.Fatal(err)
	default:
		findings = p.Findings()
		if want.Outcome != "loaded" {
			t.Fatalf("loaded, want %s: %s", want.Outcome, want.Why)
		}
		checkLoaded(t, c, p)
	}
	if t.Failed() {
		t.Logf("why: %s\nfindings:\n%v", want.Why, findings)
	}
	for _, field := range want.Warnings {
		if !slices.ContainsFunc(findings, func(f finding.Finding) bool {
			return f.Severity == finding.SeverityWarning && strings.HasPrefix(f.Pointer, "/"+field)
		}) {
			t.Errorf("no warning about %s in:\n%v", field, findings)
		}
	}
	out, err := json.Marshal(findings)
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for _, w := range want.Findings {
		if !slices.ContainsFunc(got, func(g map[string]any) bool {
			for key, value := range w {
				if g[key] != value {
					return false
				}
			}
			return true
		}) {
			t.Errorf("no finding like %v in:\n%s", w, out)
		}
	}
	for _, text := range want.Absent {
		if strings.Contains(findings.String(), text) || strings.Contains(string(out), text) {
			t.Errorf("%q is shown in:\n%v", text, findings)
		}
	}
}

func checkLoaded(t *testing.T, c *reportedCase, p *plugin.Plugin) {
	want := c.Expect
	if want.Name != nil && p.Name() != *want.Name {
		t.Errorf("name = %q, want %q", p.Name(), *want.Name)
	}
	var names, servers []string
	for _, s := range p.Skills() {
		names = append(names, s.Name())
		if text, ok := want.Descriptions[s.Name()]; ok && s.Description() != text {
			t.Errorf("description of %s = %q, want %q", s.Name(), s.Description(), text)
		}
		if end, ok := want.BodyEnds[s.Name()]; ok {
			if body, err := s.Body(); err != nil || !strings.HasSuffix(body, end) {
				t.Errorf("body of %s (%v) does not end in %q", s.Name(), err, end)
			}
		}
	}
	for _, s := range p.Servers() {
		servers = append(servers, s.Name())
	}
	sameSet(t, "skills", names, want.Skills)
	sameSet(t, "skipped skills", p.SkippedSkills(), want.SkippedSkills)
	sameSet(t, "servers", servers, want.Servers)
	sameSet(t, "skipped servers", p.SkippedServers(), want.SkippedServers)
	if p.MCPState().String() != want.MCP {
		t.Errorf("mcp = %v, want %s", p.MCPState(), want.MCP)
	}
	for server, exp := range want.Expands {
		data := filepath.Join(t.TempDir(), "data")
		plan, err := p.LaunchPlan(server, data)
		if err != nil {
			t.Fatal(err)
		}
		fill := strings.NewReplacer("<PLUGIN_ROOT>", p.Dir(), "<PLUGIN_DATA>", plan.Env["PLUGIN_DATA"])
		for i, a := range exp.Args {
			if i >= len(plan.Args) || plan.Args[i] != fill.Replace(a) {
				t.Errorf("args = %q, want %q", plan.Args, exp.Args)
			}
		}
		for name, value := range exp.Env {
			if plan.Env[name] != fill.Replace(value) {
				t.Errorf("%s = %q, want %q", name, plan.Env[name], fill.Replace(value))
			}
		}
	}
}

func sameSet(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Clone(got), slices.Clone(want)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s = %q, want %q", what, got, want)
	}
}
