package skills_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// [S7] [Q1] What strict mode keeps, lenient mode keeps with the same values;
// what lenient mode keeps beyond that has a warning, and nothing but the faults
// on the list.
func FuzzLenient(f *testing.F) {
	const small = 4 << 10
	for _, row := range append(judgedRows, syntaxRows()...) {
		if len(row.file) <= small {
			f.Add("x", []byte(row.file))
		}
	}
	for _, row := range leniencies {
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
		strict, strictly, err := skills.Parse(directory, file, skills.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, list, err := skills.Parse(directory, file, skills.Options{Mode: skills.Lenient})
		if err != nil {
			t.Fatal(err)
		}
		checkFindings(t, directory, string(file), list)
		if bad := len(list.AtLeast(finding.SeverityError)) > 0; bad != (s == nil) {
			t.Fatalf("errors %v, skill %v", bad, s != nil)
		}
		again, list2, _ := skills.Parse(directory, file, skills.Options{Mode: skills.Lenient})
		if !reflect.DeepEqual(s, again) || !reflect.DeepEqual(list, list2) {
			t.Fatal("parsing again gave something else")
		}
		forgave := slices.ContainsFunc(list, func(f finding.Finding) bool { return strings.HasSuffix(string(f.Code), "-lenient") })
		if strict != nil {
			if s == nil || forgave || !reflect.DeepEqual(list, strictly) {
				t.Fatalf("strict mode keeps it, lenient mode says %v", list)
			}
			checkSame(t, strict, s)
			return
		}
		if s == nil {
			return
		}
		if !forgave {
			t.Errorf("kept without a warning: %v", list)
		}
		if err := skills.CheckName(s.Name()); err != nil {
			t.Errorf("offered as %q: %v", s.Name(), err)
		}
		if n := utf8.RuneCountInString(strings.TrimSpace(s.Description())); n < 1 || n > 8192 {
			t.Errorf("description of %d characters", n)
		}
		checkTexts(t, s)
	})
}

func checkSame(t *testing.T, a, b *skills.Skill) {
	for what, pair := range map[string][2]string{
		"name": {a.Name(), b.Name()}, "declared": {a.Declared(), b.Declared()}, "directory": {a.Directory(), b.Directory()},
		"description": {a.Description(), b.Description()}, "license": {a.License(), b.License()},
		"compatibility": {a.Compatibility(), b.Compatibility()}, "frontmatter": {a.Frontmatter(), b.Frontmatter()},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s %q, in lenient mode %q", what, pair[0], pair[1])
		}
	}
	if !maps.Equal(a.Metadata(), b.Metadata()) || !slices.Equal(a.AllowedTools(), b.AllowedTools()) || !slices.Equal(a.ExtraKeys(), b.ExtraKeys()) {
		t.Error("metadata, tools or other keys differ")
	}
	for _, key := range a.ExtraKeys() {
		var va, vb any
		ea, eb := a.Decode(key, &va), b.Decode(key, &vb)
		if (ea == nil) != (eb == nil) {
			t.Errorf("%q decodes with %v, in lenient mode %v", key, ea, eb)
		}
	}
}

// checkTexts checks that the text of a metadata value that was a list or a
// mapping means the same.
func checkTexts(t *testing.T, s *skills.Skill) {
	var nested map[string]yaml.Node
	if err := s.Decode("metadata", &nested); err != nil {
		return
	}
	for key, n := range nested {
		text := s.Metadata()[key]
		if n.Kind != yaml.SequenceNode && n.Kind != yaml.MappingNode {
			continue
		}
		var got yaml.Node
		if err := yaml.Unmarshal([]byte(text), &got); err != nil || len(got.Content) != 1 {
			t.Errorf("metadata %q is kept as %q: %v", key, text, err)
		} else if meaning(got.Content[0]) != meaning(&n) {
			t.Errorf("metadata %q is kept as %q", key, text)
		}
	}
}

// [S7] Whatever skills declare in whatever directories, what is offered is
// valid, unique and the same again, and a name that can stand stays.
func FuzzOfferedNames(f *testing.F) {
	f.Add("review\treview\nx\treview\ny\tReview")
	f.Add("a\tzoom\nb\tZoom é\nreview-af83106c\tx\nc\t" + strings.Repeat("ab-", 30))
	f.Add("A\ta\na\tA\n技\t技\nskill\t!\nb\t")
	f.Add("x\treview\nreview\treview\ny\treview-af83106c\nreview-67407fa6\t-")
	f.Fuzz(func(t *testing.T, text string) {
		declared := map[string]string{}
		for _, line := range strings.SplitN(text, "\n", 40) {
			directory, name, _ := strings.Cut(line, "\t")
			if directory == "" || directory == "." || directory == ".." || strings.ContainsAny(directory, "/\x00") || !utf8.ValidString(line) {
				continue
			}
			declared[directory] = name
		}
		if len(declared) == 0 {
			return
		}
		got := offers(t, declared)
		if again := offers(t, declared); !maps.Equal(got, again) {
			t.Errorf("offered %q, then %q", got, again)
		}
		for directory, name := range got {
			if valid := skills.CheckName(directory) == nil; valid && declared[directory] == directory && name != directory {
				t.Errorf("%q conforms and is offered as %q", directory, name)
			} else if _, taken := declared[name]; taken && name != directory {
				t.Errorf("%q is offered under the name of another directory, %q", directory, name)
			}
		}
	})
}

// [S7] The text of a nested metadata value means what the value means.
func FuzzMetadataText(f *testing.F) {
	for _, value := range metadataValues {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		s, _, err := skills.Parse("x", []byte(md(plain+"metadata:\n  k: "+value)), skills.Options{Mode: skills.Lenient})
		if err != nil {
			t.Fatal(err)
		}
		if s != nil {
			checkTexts(t, s)
		}
	})
}
