package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plugberth/plugberth/plugin/finding"
)

// sarifOf runs the program with -sarif in dir and decodes what it prints.
func sarifOf(t *testing.T, dir string, args ...string) (run sarifRun, status int, stderr string) {
	t.Helper()
	t.Chdir(dir)
	status, out, stderr := inspectPaths(t, append([]string{"-sarif"}, args...)...)
	if !utf8.ValidString(out) || strings.Count(out, "\n") != 1 {
		t.Fatalf("no single line of UTF-8: %q", out)
	}
	var doc sarifLog
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != sarifSchema || doc.Version != "2.1.0" || len(doc.Runs) != 1 || len(doc.Runs[0].Invocations) != 1 {
		t.Fatalf("document %+v", doc)
	}
	if got := doc.Runs[0].Invocations[0].ExitCode; got != status {
		t.Errorf("exitCode %d, but the status is %d", got, status)
	}
	return doc.Runs[0], status, stderr
}

// jsonFindings is what -json says of the same paths, one a finding.
func jsonFindings(t *testing.T, args ...string) (out []map[string]any) {
	t.Helper()
	_, text, _ := inspectPaths(t, append([]string{"-json"}, args...)...)
	for line := range strings.Lines(text) {
		var d struct {
			Path     string
			Findings []map[string]any
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		for _, f := range d.Findings {
			f["path"] = d.Path
			out = append(out, f)
		}
	}
	return out
}

// TestSARIFAgreesWithJSON: each finding is one result, in the same order, with
// the same code, message and place, and all that it refers to is there.
func TestSARIFAgreesWithJSON(t *testing.T) {
	// Bytes that are not UTF-8, names that are patterns and a colon where a scheme would be.
	odd := t.TempDir()
	name := "c:on é#?%[x]"
	if runtime.GOOS == "windows" {
		name = "c on é#%[x]"
	} else if runtime.GOOS == "linux" {
		name += "\xfe"
	}
	write(t, filepath.Join(odd, name, "plugin.json"), `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "p", "a/b~": 1,
  "x": {}, "x": {}}`)
	write(t, filepath.Join(odd, name, "skills", "s", "SKILL.md"), "")
	write(t, filepath.Join(odd, "none", "README.md"), "no manifest")

	for _, tc := range []struct {
		name  string
		dir   string
		args  []string
		files int // that are named
	}{
		{"one path", ".", []string{"testdata/demo"}, 4},
		{"several paths", "testdata", []string{"demo", "broken", "rejected"}, 11},
		{"the directory itself", "testdata/broken", []string{"."}, 6},
		{"lenient and lint", ".", []string{"-lenient", "-lint", "testdata/broken", "testdata/demo"}, 10},
		{"odd names", odd, []string{name, "none"}, 3},
		{"nothing to report", odd, []string{"-lenient"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.files == 0 {
				dir := t.TempDir()
				write(t, filepath.Join(dir, "plugin.json"), manifest)
				tc.args = append(tc.args, dir)
			}
			run, _, _ := sarifOf(t, tc.dir, tc.args...)
			want := jsonFindings(t, tc.args...)
			if len(run.Results) != len(want) {
				t.Fatalf("%d results for %d findings", len(run.Results), len(want))
			}
			files, seen := map[string]bool{}, map[string]bool{}
			for i, r := range run.Results {
				f := want[i]
				if r.RuleID != f["code"] || run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
					t.Errorf("result %d is of the rule %s, %d; want %s", i, r.RuleID, r.RuleIndex, f["code"])
				}
				if wantLevel := strings.Replace(f["severity"].(string), "info", "note", 1); r.Level != wantLevel {
					t.Errorf("%s has the level %s, want %s", r.RuleID, r.Level, wantLevel)
				}
				if r.Message != message(f["message"].(string)) {
					t.Errorf("message %q, want %q", r.Message.Text, f["message"])
				}
				if r.Properties.Layer != f["layer"] || r.Properties.Boundary != f["boundary"] || r.Properties.Section != f["section"] || r.Properties.Plugin != clean(f["path"].(string)) {
					t.Errorf("properties %+v, want those of %v", r.Properties, f)
				}
				if subject, _ := f["subject"].(string); r.Properties.Subject != subject {
					t.Errorf("subject %q, want %q", r.Properties.Subject, subject)
				}

				at := r.Locations[0]
				line, column := 1, 1 // where the finding is about the file as a whole
				if f["line"] != nil {
					line, column = int(f["line"].(float64)), int(f["column"].(float64))
				}
				if got := at.PhysicalLocation.Region; got.StartLine != line || got.StartColumn != column {
					t.Errorf("%s at %d:%d, want %d:%d", r.RuleID, got.StartLine, got.StartColumn, line, column)
				}
				artifact := at.PhysicalLocation.ArtifactLocation
				u, err := url.Parse(artifact.URI)
				if err != nil || u.IsAbs() || strings.ContainsAny(artifact.URI, `\ "`) || u.RawQuery != "" || u.Fragment != "" || artifact.URIBaseID != sourceRoot {
					t.Fatalf("location %+v, %v", artifact, err)
				}
				file := valid(filepath.ToSlash(filepath.Join(filepath.FromSlash(f["path"].(string)), filepath.FromSlash(f["file"].(string)))))
				if valid(u.Path) != file {
					t.Errorf("location %q is the file %q, want %q", artifact.URI, valid(u.Path), file)
				}
				files[artifact.URI] = true

				switch pointer, _ := f["pointer"].(string); {
				case pointer == "" && len(at.LogicalLocations) != 0, pointer != "" && len(at.LogicalLocations) != 1:
					t.Errorf("logical locations %+v for %q", at.LogicalLocations, pointer)
				case pointer != "" && at.LogicalLocations[0].FullyQualifiedName != pointer:
					t.Errorf("logical location %+v, want %q", at.LogicalLocations[0], pointer)
				}
				id := r.PartialFingerprints["plugberth/v1"]
				if id == "" || seen[id] {
					t.Errorf("fingerprint %q is missing or there twice", id)
				}
				seen[id] = true
			}
			if len(files) != tc.files {
				t.Errorf("%d files are named, want %d: %v", len(files), tc.files, files)
			}
			if run.ColumnKind != "unicodeCodePoints" || run.OriginalURIBaseIDs[sourceRoot].URI != "" {
				t.Errorf("columnKind %q, originalUriBaseIds %v", run.ColumnKind, run.OriginalURIBaseIDs)
			}
		})
	}
}

// TestSARIFRules: all codes stand in the document, whatever was found, within the
// lengths that GitHub allows.
func TestSARIFRules(t *testing.T) {
	run, status, stderr := sarifOf(t, ".", "testdata/demo")
	if status != statusOK || stderr != "" || !run.Invocations[0].ExecutionSuccessful || len(run.Invocations[0].Notifications) != 0 {
		t.Errorf("status %d, stderr %q, invocation %+v", status, stderr, run.Invocations[0])
	}
	all := finding.All()
	rules := run.Tool.Driver.Rules
	if len(rules) != len(all) {
		t.Fatalf("%d rules, %d codes", len(rules), len(all))
	}
	for i, r := range rules {
		info := all[i]
		if r.ID != string(info.Code) || r.DefaultConfiguration.Level != level(info.Severity) {
			t.Errorf("rule %d is %s, %s; want %s, %s", i, r.ID, r.DefaultConfiguration.Level, info.Code, info.Severity)
		}
		if r.ShortDescription != message(info.Meaning) || !strings.Contains(r.FullDescription.Text, section(info.Section)) || !strings.HasPrefix(r.Help.Text, message(info.Advice).Text) {
			t.Errorf("%s: %q, %q, %q", r.ID, r.ShortDescription, r.FullDescription, r.Help)
		}
		for _, text := range []string{r.ShortDescription.Text, r.FullDescription.Text} {
			if text == "" || utf8.RuneCountInString(text) > 1024 {
				t.Errorf("%s has a description of %d characters", r.ID, utf8.RuneCountInString(text))
			}
		}
		tags := r.Properties["tags"].([]any)
		if len(tags) == 0 || len(tags) > 10 || !slices.Contains([]any{"error", "warning", "recommendation"}, r.Properties["problem.severity"]) {
			t.Errorf("%s: properties %v", r.ID, r.Properties)
		}
	}
	if rules[0].Help.Text != "Add a plugin.json with $schema and name; no other file replaces it.\n\nSpecified in: the Agent Plugins Specification §4.1. Layer: spec. Boundary: plugin." {
		t.Errorf("help %q", rules[0].Help.Text)
	}
}

// TestSARIFNotifications: what is about the run and not about a plugin is a
// notification with its description, and the rest is still there.
func TestSARIFNotifications(t *testing.T) {
	run, status, stderr := sarifOf(t, ".", "testdata/none", "testdata/rejected", "main.go", "", "testdata")
	if status != statusFailed || strings.Count(stderr, "\n") != 3 {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
	invocation := run.Invocations[0]
	if invocation.ExecutionSuccessful {
		t.Error("a path could not be read, and the run calls itself successful")
	}
	var got []string
	for _, n := range invocation.Notifications {
		d := run.Tool.Driver.Notifications[n.Descriptor.Index]
		if d.ID != n.Descriptor.ID || d.DefaultConfiguration.Level != n.Level || n.Message.Text == "" {
			t.Errorf("notification %+v is described as %+v", n, d)
		}
		uri := "nowhere"
		for _, l := range n.Locations {
			uri = l.PhysicalLocation.ArtifactLocation.URI
		}
		got = append(got, n.Level+" "+n.Descriptor.ID+" "+uri)
	}
	want := []string{
		"error path-unreadable testdata/none", "error path-unreadable main.go", "error path-unreadable nowhere",
	}
	if !slices.Equal(got, want) {
		t.Errorf("notifications %q, want %q", got, want)
	}
	var codes []string
	for _, r := range run.Results {
		codes = append(codes, r.RuleID+" "+r.Locations[0].PhysicalLocation.ArtifactLocation.URI)
	}
	if last := run.Results[len(run.Results)-1]; !strings.Contains(last.Message.Text, "the directory holds 3 plugins: inspect "+filepath.Join("testdata", "*")) {
		t.Errorf("message %q", last.Message.Text)
	}
	if want := []string{
		"manifest-schema-missing testdata/rejected/plugin.json", "manifest-wrong-type testdata/rejected/plugin.json",
		"manifest-wrong-type testdata/rejected/plugin.json", "manifest-missing testdata/plugin.json",
	}; !slices.Equal(codes, want) {
		t.Errorf("results %q, want %q", codes, want)
	}
}

// TestSARIFFingerprints: a finding keeps its fingerprint when lines are added
// above it.
func TestSARIFFingerprints(t *testing.T) {
	dir := t.TempDir()
	prints := func(manifest string) map[string]string {
		write(t, filepath.Join(dir, "plugin.json"), manifest)
		run, _, _ := sarifOf(t, dir, ".", "missing-manifest")
		out := map[string]string{}
		for _, r := range run.Results {
			name := r.RuleID
			for _, l := range r.Locations[0].LogicalLocations {
				name += l.FullyQualifiedName
			}
			out[name] = r.PartialFingerprints["plugberth/v1"]
			// GitHub's action computes the hash of a line where there is a file.
			_, own := r.PartialFingerprints["primaryLocationLineHash"]
			if own != (r.RuleID == "manifest-missing") {
				t.Errorf("%s: fingerprints %v", name, r.PartialFingerprints)
			}
		}
		return out
	}
	if err := os.Mkdir(filepath.Join(dir, "missing-manifest"), 0o755); err != nil {
		t.Fatal(err)
	}
	const start = `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",`
	before := prints(start + `"name": "p", "hooks": {}, "tags": {}, "tags": 1, "tags": 2}`)
	after := prints(start + "\n\n\"version\": \"1\",\n\"tags\": {}, \"tags\": 1, \"tags\": 2,\n\"hooks\": [],\n\"name\": \"p\"}")
	if len(before) != 4 || len(before) != len(after) {
		t.Fatalf("fingerprints %v and %v", before, after)
	}
	values := map[string]bool{}
	for name, id := range before {
		if after[name] != id {
			t.Errorf("%s had the fingerprint %s and has %s", name, id, after[name])
		}
		if values[id] {
			t.Errorf("the fingerprint %s stands twice", id)
		}
		values[id] = true
	}
}

// TestSARIFLinks: a position in a file that is reached through a link is told of
// the file, which a repository has; a fault of the link of the link.
func TestSARIFLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "p", "plugin.json"), manifest)
	write(t, filepath.Join(dir, "p", "vendor", "inside", "SKILL.md"), "---\nname: other\ndescription: d\n---\n")
	write(t, filepath.Join(dir, "shared", "outside", "SKILL.md"), "---\nname: outside\ndescription: d\n---\n")
	if err := os.Mkdir(filepath.Join(dir, "p", "skills"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"inside": "../vendor/inside", "outside": "../../shared/outside"} {
		if err := os.Symlink(filepath.FromSlash(target), filepath.Join(dir, "p", "skills", link)); err != nil {
			t.Skip(err)
		}
	}
	entered := filepath.Join(t.TempDir(), "entered")
	if err := os.Symlink(dir, entered); err != nil {
		t.Skip(err)
	}
	for _, tc := range []struct{ dir, path string }{
		{dir, "p"},
		{dir, filepath.Join(dir, "p")},
		{entered, "p"},
		{entered, filepath.Join(entered, "p")},
		{entered, filepath.Join(dir, "p")},
	} {
		run, _, _ := sarifOf(t, tc.dir, tc.path)
		var got []string
		for _, r := range run.Results {
			got = append(got, r.RuleID+" "+r.Locations[0].PhysicalLocation.ArtifactLocation.URI)
		}
		want := []string{"skill-name-mismatch p/vendor/inside/SKILL.md", "skill-escapes p/skills/outside"}
		if !slices.Equal(got, want) {
			t.Errorf("%s in %s: results %q, want %q", tc.path, tc.dir, got, want)
		}
	}
}

// TestSARIFOutside: what is not below the working directory is named whole.
func TestSARIFOutside(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a b", "plugin.json"), "{")
	run, _, _ := sarifOf(t, t.TempDir(), filepath.Join(dir, "a b"))
	at := run.Results[0].Locations[0].PhysicalLocation.ArtifactLocation
	if !strings.HasPrefix(at.URI, "file:///") || !strings.HasSuffix(at.URI, "/a%20b/plugin.json") || at.URIBaseID != "" {
		t.Errorf("location %+v", at)
	}
}

func TestSARIFHostileText(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plugin.json"),
		`{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"p",
"[free](https://evil.example/)":1,"{0}":1,"##[error]x":1,"##vso[task.complete]":1,"\u001b[2J\u202e":1}`)
	t.Chdir(dir)
	_, out, _ := inspectPaths(t, "-sarif", ".")
	for _, bad := range []string{"\x1b", "\u202e", "##[", "##vso["} {
		if strings.Contains(out, bad) {
			t.Errorf("%q reached the output: %s", bad, out)
		}
	}
	run, _, _ := sarifOf(t, dir, ".")
	for i, want := range []string{`\[free\](https://evil.example/)`, `{{0}}`, `#\x23[error]x`, `#\x23vso[task.complete]`, `\x1b[2J\u202e`} {
		text := run.Results[i].Message.Text
		if i == 2 || i == 3 { // a message quotes, and the document escapes
			want = strings.Replace(want, `\x23`, "#", 1)
		}
		if !strings.HasPrefix(text, `"`+want+`" is not part`) {
			t.Errorf("message %q, want %q", text, want)
		}
	}
}

func TestSARIFLimits(t *testing.T) {
	shower := func(out, errs *bytes.Buffer) *sarifShower {
		s, err := newSARIF(out, errs)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	results := func(s *sarifShower) {
		r := &result{path: "p"}
		for i := range 10 {
			r.findings = append(r.findings, finding.New(finding.ByteOrderMark, finding.Place{File: "plugin.json"}, fmt.Sprint(i)),
				finding.New(finding.ManifestUnknownField, finding.Place{File: "plugin.json"}, fmt.Sprint(i)),
				finding.New(finding.ManifestWrongType, finding.Place{File: "plugin.json"}, fmt.Sprint(i)))
		}
		if err := s.result(r); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("results", func(t *testing.T) {
		var out, errs bytes.Buffer
		s := shower(&out, &errs)
		s.most = 12
		results(s)
		if err := s.end(statusFindings); err != nil {
			t.Fatal(err)
		}
		var doc sarifLog
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for _, r := range doc.Runs[0].Results {
			counts[r.Level]++
		}
		notes := doc.Runs[0].Invocations[0].Notifications
		if counts["error"] != 10 || counts["warning"] != 2 || counts["note"] != 0 {
			t.Errorf("results %v", counts)
		}
		if len(notes) != 1 || notes[0].Descriptor.ID != "results-omitted" || !strings.Contains(notes[0].Message.Text, "18 results are left out") || !strings.Contains(errs.String(), "18 results are left out") {
			t.Errorf("notifications %+v, stderr %q", notes, &errs)
		}
	})
	t.Run("as many as allowed", func(t *testing.T) {
		var out, errs bytes.Buffer
		s := shower(&out, &errs)
		s.most = 30
		results(s)
		if err := s.end(statusFindings); err != nil || errs.Len() > 0 || strings.Contains(out.String(), "are left out") {
			t.Errorf("%v, stderr %q", err, &errs)
		}
		// Findings that differ in nothing else are counted.
		seen := map[string]bool{}
		for _, r := range s.results {
			seen[r.PartialFingerprints["plugberth/v1"]] = true
		}
		if len(seen) != len(s.results) {
			t.Errorf("%d fingerprints for %d results", len(seen), len(s.results))
		}
	})
	t.Run("size", func(t *testing.T) {
		var out, errs bytes.Buffer
		s := shower(&out, &errs)
		s.compression = 1000
		results(s)
		if err := s.end(statusFindings); err != nil || !json.Valid(out.Bytes()) || !strings.Contains(errs.String(), "bytes compressed") {
			t.Errorf("%v, stderr %q", err, &errs)
		}
	})
}

func TestSARIFExcludes(t *testing.T) {
	for _, args := range [][]string{{"-json"}, {"-data", "x"}} {
		args = append(append([]string{"-sarif"}, args...), "testdata/demo")
		if status, out, errs := inspectPaths(t, args...); status != statusFailed || out != "" || !strings.Contains(errs, "leave out -json and -data") {
			t.Errorf("%v: status %d, stdout %q, stderr %q", args, status, out, errs)
		}
	}
}

// TestSARIFInterrupted: half a document would be taken for all that is wrong.
func TestSARIFInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	if status := run(ctx, []string{"-sarif", "testdata/demo", "testdata/broken"}, &out, &errs); status != statusFailed || out.Len() > 0 {
		t.Errorf("status %d, stdout %q", status, &out)
	}
}

func TestToolVersion(t *testing.T) {
	main := func(path, version string) debug.Module { return debug.Module{Path: path, Version: version} }
	for _, tc := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"unknown", nil, ""},
		{"a checkout", &debug.BuildInfo{Main: main(module, "(devel)")}, ""},
		{"a release", &debug.BuildInfo{Main: main(module, "v1.2.3")}, "1.2.3"},
		{"a commit", &debug.BuildInfo{Main: main(module, "v0.0.0-20260102030405-0123456789ab+dirty")}, "0.0.0-20260102030405-0123456789ab+dirty"},
		{"a copy", &debug.BuildInfo{Main: main("example.com/ci", "v9.9.9"), Deps: []*debug.Module{{Path: module, Version: "v0.2.0"}}}, "0.2.0"},
		{"a replaced copy", &debug.BuildInfo{Main: main("example.com/ci", "v9.9.9"), Deps: []*debug.Module{{Path: module, Version: "v0.2.0", Replace: &debug.Module{}}}}, ""},
	} {
		if got := semantic(moduleVersion(tc.info)); got != tc.want {
			t.Errorf("%s: version %q, want %q", tc.name, got, tc.want)
		}
	}
}
