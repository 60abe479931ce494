package skills_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// reported returns the SKILL.md files of the reported cases, where those lie
// beside the checkout or in the directory that PLUGBERTH_CASES names.
func reported(t testing.TB) []string {
	dir := os.Getenv("PLUGBERTH_CASES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "cases")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "skill-*.json"))
	var out []string
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Files  map[string]string
			Base64 map[string][]byte
		}
		if err := json.Unmarshal(src, &c); err != nil {
			t.Fatal(err)
		}
		for name, text := range c.Files {
			if strings.HasSuffix(name, "/SKILL.md") {
				out = append(out, text)
			}
		}
		for name, text := range c.Base64 {
			if strings.HasSuffix(name, "/SKILL.md") {
				out = append(out, string(text))
			}
		}
	}
	return out
}

// [Q1]
func FuzzParse(f *testing.F) {
	const small = 4 << 10 // the fuzzer makes more of small files
	for _, row := range append(judgedRows, syntaxRows()...) {
		if len(row.file) <= small {
			f.Add("x", []byte(row.file))
		}
	}
	for _, text := range reported(f) {
		if len(text) <= small {
			f.Add("notes", []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, directory string, file []byte) {
		s, list, err := skills.Parse(directory, file, skills.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if bad := len(list.AtLeast(finding.SeverityError)) > 0; bad != (s == nil) {
			t.Fatalf("errors %v, skill %v", bad, s != nil)
		}
		checkFindings(t, directory, string(file), list)
		s2, list2, _ := skills.Parse(directory, file, skills.Options{})
		if !reflect.DeepEqual(s, s2) || !reflect.DeepEqual(list, list2) {
			t.Fatal("parsing again gave something else")
		}
		if s != nil {
			checkSkill(t, directory, string(file), s)
		}
	})
}

// checkFindings checks what holds of all findings: that they stand in the
// table, inside the file and in order, once each, with a message that prints.
func checkFindings(t *testing.T, directory, file string, list finding.List) {
	lines := strings.Split(strings.TrimPrefix(file, "\uFEFF"), "\n")
	seen := map[finding.Finding]bool{}
	for i, f := range list {
		info, ok := finding.Lookup(f.Code)
		if !ok || f.Severity != info.Severity || f.Boundary != info.Boundary || f.Subject != directory || f.File != "SKILL.md" {
			t.Errorf("finding %+v", f)
		}
		if f.Message == "" || strings.IndexFunc(f.Message, func(r rune) bool { return !unicode.IsGraphic(r) }) >= 0 || !utf8.ValidString(f.Message) {
			t.Errorf("message %q", f.Message)
		}
		seen[f] = true
		if len(seen) != i+1 {
			t.Errorf("twice: %+v", f)
		}
		if f.Line == 0 && f.Column == 0 && f.Code == finding.SkillTooLarge {
			continue
		}
		if f.Line < 1 || f.Line > len(lines) || f.Column < 1 || f.Column > utf8.RuneCountInString(lines[f.Line-1])+1 {
			t.Errorf("outside of the file: %+v", f)
		}
		if i > 0 {
			if before := list[i-1]; before.Line > f.Line || before.Line == f.Line && before.Column > f.Column {
				t.Errorf("out of order: %+v, %+v", before, f)
			}
		}
	}
}

// checkSkill checks what holds of all skills, and that their values are those
// that a plain reading of the YAML finds.
func checkSkill(t *testing.T, directory, file string, s *skills.Skill) {
	if err := skills.CheckName(s.Name()); err != nil || s.Name() != directory || s.Directory() != directory {
		t.Errorf("name %q in the directory %q: %v", s.Name(), directory, err)
	}
	if n := utf8.RuneCountInString(strings.TrimSpace(s.Description())); n < 1 || n > skills.MaxDescription {
		t.Errorf("description of %d characters", n)
	}
	if n := utf8.RuneCountInString(s.Compatibility()); n > skills.MaxCompatibility {
		t.Errorf("compatibility of %d characters", n)
	}
	if !strings.Contains(file, s.Frontmatter()) {
		t.Errorf("frontmatter %q is not of the file", s.Frontmatter())
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(s.Frontmatter()), &values); err != nil {
		return // a tag that does not fit a value kept for the host, or a key that is no text
	}
	for key, got := range map[string]string{"name": s.Name(), "description": s.Description(), "license": s.License(), "compatibility": s.Compatibility()} {
		if want, ok := values[key].(string); ok && got != want {
			t.Errorf("%s %q, want %q", key, got, want)
		} else if values[key] == nil && got != "" {
			t.Errorf("%s %q, want none", key, got)
		}
	}
	if want, ok := values["allowed-tools"].(string); ok && unblank(strings.Join(s.AllowedTools(), "")) != unblank(want) {
		t.Errorf("tools %q of %q", s.AllowedTools(), want)
	}
	if metadata, ok := values["metadata"].(map[string]any); ok {
		for key, value := range metadata {
			if want, ok := value.(string); ok && s.Metadata()[key] != want {
				t.Errorf("metadata %q: %q, want %q", key, s.Metadata()[key], want)
			}
		}
	}
	for _, key := range s.ExtraKeys() {
		var got any
		if err := s.Decode(key, &got); err == nil {
			if want, ok := values[key].(string); ok && got != want {
				t.Errorf("%q decodes to %v, want %q", key, got, want)
			}
		}
	}
}

// unblank returns s without what separates tools.
func unblank(s string) string {
	return strings.NewReplacer(" ", "", "\t", "", "\n", "", "\r", "").Replace(s)
}
