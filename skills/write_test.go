package skills_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// TestEncodeLooks: what is written is what people write by hand. [X1]
func TestEncodeLooks(t *testing.T) {
	d := skills.Draft{
		Name:          "release-notes",
		Description:   "Write release notes from merged changes. Use when a release is cut.",
		License:       "Apache-2.0",
		Compatibility: "Needs git: 2.40 or later",
		Metadata:      map[string]string{"version": "1.10", "author": "example-org", "draft": "yes", "time": "12:30", "": "empty", "steps": "first\n  second\nthird\n"},
		AllowedTools:  []string{"Bash(git log:*)", "Read"},
		Extra: []skills.ExtraKey{
			{"argument-hint", "[version]"},
			{"context", map[string]any{"b": []any{1, "1", true, nil, "x: y", 2.0, math.Inf(-1), 1e30, uint8(7)}, "a": 1.5}},
			{"model", "opus"},
		},
		Body: "\n# Release notes\n\n---\nRead the log.\n",
	}
	const want = `---
name: release-notes
description: Write release notes from merged changes. Use when a release is cut.
license: Apache-2.0
compatibility: "Needs git: 2.40 or later"
metadata:
  "": empty
  author: example-org
  draft: "yes"
  steps: |
    first
      second
    third
  time: "12:30"
  version: "1.10"
allowed-tools: Bash(git log:*) Read
argument-hint: "[version]"
context:
  a: 1.5
  b:
    - 1
    - "1"
    - true
    - null
    - "x: y"
    - 2.0
    - -.inf
    - 1e+30
    - 7
model: opus
---

# Release notes

---
Read the log.
`
	got, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("written:\n%s\nwant:\n%s", got, want)
	}
}

// odd are texts that writers of YAML get wrong.
var odd = []string{
	"x", "", " ", "'", `"`, `\`, `\n`, "a: b", "a:", ":a", "a #b", "#a", "- a", "-", "--- ", "---", "...", "? a", "|", ">", "|-", "%YAML", "@a", "`a`",
	"a\nb", "a\nb\n", "a\n\nb\n\n", "\na", "\n", "\n\n", " a\nb", "a \nb", "a\n b", "a\n\tb", "\ta", "a\tb", "a\r\nb", "a\rb", "\r", "---\nname: x\n---\n", "a\n---\nb", "a\n...\n",
	"true", "null", "~", "NaN", ".inf", "0x1f", "0o17", "017", "1e3", "1_000", "2024-01-01", "12:30:45", "on", "No", "<<", "=", "!!int 3", "!x", "&a", "*a", "{a: b}", "[a", "a, b", "a]",
	"🧭 emoji", "👩‍💻 joined", "e\u0301 and é", "\u200bzero", "\u202eover", "\ufeffbom", "a\ufeffb", "\u0085next", "a\u2028b", "a\u2029b", "\x00", "\x01\x1b[31m", "\x7f", "\u0080", "\ufffd", "\ufffe", "\U0010ffff", "\U000E0041",
	"it's \"both\"", "C:\\dir\\file", "日本語の説明: テスト", strings.Repeat("long ", 204), strings.Repeat("長", 500), strings.Repeat("a\n", 300),
	"a  b", "a   #   b", "key: |\n  block", "\"quoted\"", "'single'", "a'b", "${PLUGIN_ROOT}", "https://example.com/?a=b#c", "0", "-1", "+", "1.", "1-2", "\u00a0", "\u3000wide\u3000", "a\u00a0#b", "a\u00a0: b",
}

// checkBack writes a draft and reads it as a loader does.
func checkBack(t *testing.T, d skills.Draft) []byte {
	t.Helper()
	out, err := d.Encode()
	if err != nil {
		t.Errorf("%+v: %v", d, err)
		return nil
	}
	fsys := fstest.MapFS{"skills/" + d.Name + "/SKILL.md": {Data: out}}
	root, err := paths.New(fsys)
	if err != nil {
		t.Fatal(err)
	}
	list, err := skills.Load(context.Background(), root, "skills", skills.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list.Findings {
		if f.Code != finding.SkillUnknownKey {
			t.Errorf("%v in\n%s", f, out)
		}
	}
	if len(list.Skills) != 1 {
		t.Fatalf("not read:\n%s", out)
	}
	s := list.Skills[0]
	body, err := s.Body()
	if err != nil {
		t.Fatal(err)
	}
	if s.Name() != d.Name || s.Description() != d.Description || s.License() != d.License || s.Compatibility() != d.Compatibility ||
		!maps.Equal(s.Metadata(), d.Metadata) || !slices.Equal(s.AllowedTools(), d.AllowedTools) || body != d.Body {
		t.Errorf("%+v\ncomes back otherwise from\n%s", d, out)
	}
	for _, x := range d.Extra {
		if text, ok := x.Value.(string); ok {
			var got string
			if err := s.Decode(x.Key, &got); err != nil || got != text {
				t.Errorf("%q = %q comes back as %q, %v from\n%s", x.Key, text, got, err, out)
			}
		}
	}
	again, err := s.Draft()
	if err != nil {
		t.Fatal(err)
	}
	twice, err := again.Encode()
	if err != nil || string(twice) != string(out) {
		t.Errorf("written again: %v\n%s\nfrom\n%s", err, twice, out)
	}
	return out
}

// TestEncodeAnything: values come back as they were, whatever they hold, in
// every field that may hold them. [X1]
func TestEncodeAnything(t *testing.T) {
	for i, text := range odd {
		d := skills.Draft{Name: "a", Description: "x", Body: text, Metadata: map[string]string{text: text, "other": text}}
		if strings.TrimSpace(text) != "" && utf8.RuneCountInString(strings.TrimSpace(text)) <= skills.MaxDescription {
			d.Description = text
		}
		d.License = text
		if utf8.RuneCountInString(text) <= skills.MaxCompatibility {
			d.Compatibility = text
		}
		key := text
		if slices.Contains([]string{"name", ""}, text) {
			key = "k"
		}
		d.Extra = []skills.ExtraKey{{key, text}, {"nested", map[string]any{"a": []any{text, map[string]string{text: text}}}}}
		checkBack(t, d)
		if t.Failed() {
			t.Fatalf("text %d: %q", i, text)
		}
	}
}

// TestEncodeRandom builds drafts at random from odd parts. [X1]
func TestEncodeRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	text := func(max int) string {
		var b strings.Builder
		for range 1 + rnd.IntN(4) {
			b.WriteString(odd[rnd.IntN(len(odd))])
		}
		r := []rune(b.String())
		return string(r[:min(len(r), max)])
	}
	for range 300 {
		d := skills.Draft{Name: "a-1", Description: "x" + text(1000), Body: text(5000)}
		if rnd.IntN(2) == 0 {
			d.License = text(400)
		}
		if rnd.IntN(2) == 0 {
			d.Compatibility = text(500)
		}
		for range rnd.IntN(4) {
			if d.Metadata == nil {
				d.Metadata = map[string]string{}
			}
			d.Metadata[text(300)] = text(2000)
		}
		for i := range rnd.IntN(3) {
			d.AllowedTools = append(d.AllowedTools, fmt.Sprintf("Bash(%s)", strings.NewReplacer("(", "", ")", "").Replace(text(100)))[:5]+fmt.Sprint(i)+")")
		}
		for i := range rnd.IntN(3) {
			d.Extra = append(d.Extra, skills.ExtraKey{Key: fmt.Sprint(i, text(200)), Value: text(800)})
		}
		checkBack(t, d)
		if t.Failed() {
			return
		}
	}
}

// TestEncodeRefuses: what does not conform is refused, with the field. [X1] [X4]
func TestEncodeRefuses(t *testing.T) {
	good := skills.Draft{Name: "a", Description: "x"}
	long := strings.Repeat("x", 1025)
	node := func(text string) *yaml.Node {
		n := new(yaml.Node)
		if err := yaml.Unmarshal([]byte(text), n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	loop := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	loop.Content = []*yaml.Node{loop}
	for _, c := range []struct {
		field string
		with  func(*skills.Draft)
	}{
		{"name", func(d *skills.Draft) { d.Name = "My Skill" }},
		{"name", func(d *skills.Draft) { d.Name = "" }},
		{"description", func(d *skills.Draft) { d.Description = "" }},
		{"description", func(d *skills.Draft) { d.Description = " \n" }},
		{"description", func(d *skills.Draft) { d.Description = long }},
		{"description", func(d *skills.Draft) { d.Description = "a\xff" }},
		{"license", func(d *skills.Draft) { d.License = "\xff" }},
		{"compatibility", func(d *skills.Draft) { d.Compatibility = long }},
		{"body", func(d *skills.Draft) { d.Body = "a\xff" }},
		{"body", func(d *skills.Draft) { d.Body = strings.Repeat("x", 1<<20) }},
		{"metadata[k]", func(d *skills.Draft) { d.Metadata = map[string]string{"k": "\xff"} }},
		{`metadata[\xff]`, func(d *skills.Draft) { d.Metadata = map[string]string{"\xff": "k"} }},
		{"frontmatter", func(d *skills.Draft) { d.Metadata = map[string]string{"k": strings.Repeat("x", 65<<10)} }},
		{"allowedTools[0]", func(d *skills.Draft) { d.AllowedTools = []string{""} }},
		{"allowedTools[1]", func(d *skills.Draft) { d.AllowedTools = []string{"Read", "git add"} }},
		{"allowedTools[0]", func(d *skills.Draft) { d.AllowedTools = []string{"\xff"} }},
		{"allowedTools", func(d *skills.Draft) { d.AllowedTools = []string{"Bash(", "Read"} }},
		{"extra[name]", func(d *skills.Draft) { d.Extra = []skills.ExtraKey{{"name", "x"}} }},
		{"extra[k]", func(d *skills.Draft) { d.Extra = []skills.ExtraKey{{"k", "x"}, {"k", "y"}} }},
		{"extra[k]", func(d *skills.Draft) { d.Extra = []skills.ExtraKey{{"k", func() {}}} }},
		{"extra[k]", func(d *skills.Draft) { d.Extra = []skills.ExtraKey{{"k", make(chan int)}} }},
		{"extra[k]", func(d *skills.Draft) { d.Extra = []skills.ExtraKey{{"k", "\xff"}} }},
		{"extra[k]", func(d *skills.Draft) { d.Extra = []skills.ExtraKey{{"k", node("!custom x")}} }},
		{"extra[k]", func(d *skills.Draft) { d.Extra = []skills.ExtraKey{{"k", node("a: 1\na: 2\n")}} }},
		{"extra[k]", func(d *skills.Draft) { d.Extra = []skills.ExtraKey{{"k", node("b: &b {x: 1}\na: {<<: *b}\n")}} }},
		{"extra[k]", func(d *skills.Draft) { d.Extra = []skills.ExtraKey{{"k", loop}} }},
		{"extra[k]", func(d *skills.Draft) { d.Extra = []skills.ExtraKey{{"k", map[int]int{1: 2}}} }},
		{"extra[0]", func(d *skills.Draft) { d.Extra = []skills.ExtraKey{{"\xff", 1}} }},
	} {
		d := good
		c.with(&d)
		out, err := d.Encode()
		var field *skills.FieldError
		var draft *skills.DraftError
		if !errors.As(err, &field) || !errors.As(err, &draft) || out != nil {
			t.Errorf("%s: %v", c.field, err)
			continue
		}
		if field.Field != c.field || field.Reason == "" || !utf8.ValidString(err.Error()) {
			t.Errorf("%s: the error names %s: %v", c.field, field.Field, err)
		}
	}
	_, err := skills.Draft{Name: "Größe_und  Maß", Description: "x"}.Encode()
	var field *skills.FieldError
	if !errors.Is(err, skills.ErrName) || !errors.As(err, &field) || field.Nearest != "grosse-und-mass" || !strings.Contains(err.Error(), `"grosse-und-mass"`) {
		t.Errorf("the nearest name is not told: %v", err)
	}
}

// TestNearestName: the nearest name is valid, and a valid one stays. [X4]
func TestNearestName(t *testing.T) {
	for text, want := range map[string]string{
		"release-notes": "release-notes", "My Skill": "my-skill", "a__b": "a-b", "--a--b--": "a-b", "Größe": "grosse", "Éclair au café": "eclair-au-cafe",
		"ＦＵＬＬ　ｗｉｄｔｈ": "full-width", "ﬁle": "file", "記録": "", "": "", "---": "", "a.b": "a-b", "C++": "c", "x\xffy": "x-y", "½": "1-2",
		strings.Repeat("a", 70): strings.Repeat("a", 64), strings.Repeat("a", 63) + " b": strings.Repeat("a", 63), "K": "k",
	} {
		got := skills.NearestName(text)
		if got != want {
			t.Errorf("NearestName(%q) = %q, want %q", text, got, want)
		}
		if got != "" && skills.CheckName(got) != nil {
			t.Errorf("%q is not valid", got)
		}
	}
}

func FuzzNearestName(f *testing.F) {
	f.Add("My Skill é")
	f.Fuzz(func(t *testing.T, text string) {
		got := skills.NearestName(text)
		if got != "" && skills.CheckName(got) != nil {
			t.Errorf("%q gives %q", text, got)
		}
		if skills.CheckName(text) == nil && got != text {
			t.Errorf("%q is valid and gives %q", text, got)
		}
	})
}

// FuzzEncode: any draft that can be written reads the same, and only text that
// is not UTF-8 or breaks the specification's limits keeps one from it. [X1]
func FuzzEncode(f *testing.F) {
	for _, text := range odd {
		f.Add("x"+text, text, text, text)
	}
	f.Fuzz(func(t *testing.T, description, key, value, body string) {
		d := skills.Draft{
			Name: "a", Description: description, License: value, Body: body,
			Metadata: map[string]string{key: value}, Extra: []skills.ExtraKey{{"x-" + key, []string{value}}},
		}
		n := utf8.RuneCountInString(strings.TrimSpace(description))
		ok := n > 0 && n <= skills.MaxDescription && len(description)+3*len(key)+3*len(value)+len(body) < 6<<10
		for _, s := range []string{description, key, value, body} {
			ok = ok && utf8.ValidString(s)
		}
		if _, err := d.Encode(); err != nil {
			if ok {
				t.Fatalf("%+v: %v", d, err)
			}
			return
		}
		checkBack(t, d)
	})
}

// FuzzRewrite: a SKILL.md that loads without findings is written again to one
// that loads equal. [X1]
func FuzzRewrite(f *testing.F) {
	for _, text := range odd {
		f.Add([]byte("---\nname: a\ndescription: " + text + "\nx-y: " + text + "\nmetadata: {a: " + text + "}\n---\n" + text))
	}
	f.Add([]byte("---\nname: a\ndescription: &a x\nx: [*a, {b: !!float 3, ? [c] : d}, 1.10, 2024-01-01]\n---\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		fsys := fstest.MapFS{"a/SKILL.md": {Data: file}}
		root, err := paths.New(fsys)
		if err != nil {
			t.Fatal(err)
		}
		list, err := skills.Load(context.Background(), root, ".", skills.Options{})
		if err != nil || len(list.Skills) == 0 || len(list.Findings.AtLeast(finding.SeverityWarning)) > 0 {
			return
		}
		d, err := list.Skills[0].Draft()
		if err != nil {
			t.Fatal(err)
		}
		if len(file) < 8<<10 {
			checkBack(t, d)
		}
	})
}

// TestDraftOfASkill: a skill is written again with its files, links as what they
// lead to, and a skill of lenient mode under the name it is offered by. [X1]
func TestDraftOfASkill(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"My Skill/SKILL.md":   "---\nname: My Skill\ndescription: x\nallowed-tools: [Read, Write]\nhooks: {a: 1.10}\n---\nBody",
		"My Skill/ref/a.md":   "A",
		"My Skill/ref/x/b.md": "B",
		"shared/c.md":         "C",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../shared", filepath.Join(dir, "My Skill", "more")); err != nil {
		t.Skip(err)
	}
	root, err := paths.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := skills.Load(context.Background(), root, ".", skills.Options{Mode: skills.Lenient})
	if err != nil || len(list.Skills) != 1 {
		t.Fatal(list, err)
	}
	d, err := list.Skills[0].Draft()
	if err != nil {
		t.Fatal(err)
	}
	checked := d
	checked.Files = nil
	out := checkBack(t, checked)
	if want := "---\nname: my-skill\ndescription: x\nallowed-tools: Read Write\nhooks:\n  a: 1.10\n---\nBody"; string(out) != want {
		t.Errorf("written:\n%s", out)
	}
	var names []string
	err = fs.WalkDir(d.Files, ".", func(name string, _ fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	if want := []string{".", "more", "ref", "ref/a.md", "ref/x", "ref/x/b.md"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("files %q, %v", names, err)
	}
	if _, err := fs.ReadFile(d.Files, "SKILL.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("SKILL.md: %v", err)
	}
	if c, err := fs.ReadFile(d.Files, "more/c.md"); err != nil || string(c) != "C" {
		t.Errorf("the file behind the link: %q, %v", c, err)
	}
	parsed, _, err := skills.Parse("a", []byte("---\nname: a\ndescription: x\n---\n"), skills.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parsed.Draft(); !errors.Is(err, skills.ErrNoFiles) {
		t.Errorf("a parsed skill: %v", err)
	}
}
