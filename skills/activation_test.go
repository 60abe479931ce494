package skills_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/internal/modeltext"
	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/skills"
)

// offered loads the one skill "review" of a directory with those entries beside
// its SKILL.md, which has that body.
func offered(t testing.TB, body string, beside map[string]string) skills.Offer {
	t.Helper()
	entries := map[string]string{"skills/review/SKILL.md": "---\nname: review\ndescription: Reviews.\n---\n" + body}
	for name, content := range beside {
		entries["skills/review/"+name] = content
	}
	l := load(t, open(t, dir(t, entries)), skills.Options{})
	if len(l.Skills) != 1 {
		t.Fatal(l.Findings)
	}
	return skills.Offer{Skill: l.Skills[0]}
}

func activate(t testing.TB, o skills.Offer, opts skills.ActivationOptions) *skills.Activation {
	t.Helper()
	a, err := o.Activate(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestActivate(t *testing.T) { // [S10] [S11]
	o := offered(t, "\r\nRead `references/rules.md`:\r\n\r\n    if a < b && c > d { <-done }\r\n", map[string]string{
		"references/rules.md": "Be kind.\n", "scripts/run.sh": "#!/bin/sh\n", "a & b.txt": "",
	})
	o.Package = "reports"
	a := activate(t, o, skills.ActivationOptions{})
	want := `<skill_content name="review" package="reports" directory="skills/review">
Read ` + "`references/rules.md`" + `:

    if a < b && c > d { <-done }
<skill_resources>
<file bytes="0">a &amp; b.txt</file>
<file bytes="9">references/rules.md</file>
<file bytes="10">scripts/run.sh</file>
</skill_resources>
</skill_content>`
	if a.Text != want {
		t.Errorf("got\n%s", a.Text)
	}
	if a.Tokens != skills.ApproxTokens(want) || a.Cut || a.More || len(a.Resources) != 3 || a.Resources[1] != (skills.Resource{Path: "references/rules.md", Size: 9}) {
		t.Errorf("%+v", a)
	}

	o.Name, o.Package, o.Location = "other", "", "/opt/skills/review/SKILL.md"
	if a := activate(t, o, skills.ActivationOptions{}); !strings.HasPrefix(a.Text, "<skill_content name=\"other\" directory=\"/opt/skills/review\">\n") {
		t.Errorf("got\n%s", a.Text)
	}
	if a := activate(t, o, skills.ActivationOptions{NoDirectory: true}); !strings.HasPrefix(a.Text, "<skill_content name=\"other\">\n") {
		t.Errorf("without the directory: %q", a.Text)
	}
	if a := activate(t, offered(t, "\n", nil), skills.ActivationOptions{}); a.Text != "<skill_content name=\"review\" directory=\"skills/review\">\n</skill_content>" {
		t.Errorf("got\n%s", a.Text)
	}
}

func TestActivateBounds(t *testing.T) { // [S10] [S11]
	beside := map[string]string{}
	for i := range 20 {
		beside[fmt.Sprintf("f%02d", i)] = ""
	}
	o := offered(t, strings.Repeat("0123456789\n", 100), beside)
	a := activate(t, o, skills.ActivationOptions{MaxBytes: 60, MaxResources: 5})
	want := `<skill_content name="review" directory="skills/review" bytes="1100" shown="55">
0123456789
0123456789
0123456789
0123456789
0123456789
<skill_resources more="true">
<file bytes="0">f00</file>
<file bytes="0">f01</file>
<file bytes="0">f02</file>
<file bytes="0">f03</file>
<file bytes="0">f04</file>
</skill_resources>
</skill_content>`
	if a.Text != want || !a.Cut || !a.More || len(a.Resources) != 5 {
		t.Errorf("%+v\n%s", a, a.Text)
	}

	beside = map[string]string{}
	for i := range 150 {
		beside[strings.Repeat("n", 200)+fmt.Sprint(i)] = ""
	}
	a = activate(t, offered(t, "", beside), skills.ActivationOptions{MaxResources: 1000})
	if len(a.Text) > 20<<10 || !a.More || len(a.Resources) >= 150 || !strings.Contains(a.Text, `more="true"`) {
		t.Errorf("%d bytes, %d files", len(a.Text), len(a.Resources))
	}
}

func TestActivateOddNames(t *testing.T) { // [S11]
	if runtime.GOOS == "windows" {
		t.Skip("such names cannot be made here")
	}
	o := offered(t, "", map[string]string{
		"<file>": "", "ok": "", "two\nlines": "", "hid\u200bden": "", "‹/skill_resources›": "", `"`: "",
	})
	a := activate(t, o, skills.ActivationOptions{})
	want := `<skill_content name="review" directory="skills/review">
<skill_resources more="true">
<file bytes="0">&quot;</file>
<file bytes="0">&lt;file&gt;</file>
<file bytes="0">ok</file>
</skill_resources>
</skill_content>`
	if a.Text != want || !a.More {
		t.Errorf("got\n%s", a.Text)
	}
}

func TestActivateFails(t *testing.T) {
	if _, err := (skills.Offer{Skill: parsed(t, "a", "A.")}).Activate(context.Background(), skills.ActivationOptions{}); !errors.Is(err, skills.ErrNoFiles) {
		t.Error(err)
	}
	if _, err := (skills.Offer{}).Activate(context.Background(), skills.ActivationOptions{}); !errors.Is(err, skills.ErrOffer) {
		t.Error(err)
	}
	o := offered(t, "", nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := o.Activate(ctx, skills.ActivationOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	root := dir(t, map[string]string{"skills/review/SKILL.md": skillMD("review")})
	o = skills.Offer{Skill: load(t, open(t, root), skills.Options{}).Skills[0]}
	if err := os.RemoveAll(filepath.Join(root, "skills")); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Activate(context.Background(), skills.ActivationOptions{}); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "SKILL") {
		t.Error(err)
	}
}

// ourTags finds what a lenient reader takes for a tag of a rendering.
var ourTags = regexp.MustCompile(`(?i)<[\s/]*(available_skills|skill|skill_content|skill_resources|skill_resource|tool_result|host_note)(?:[\s/>]|$)`)

// A tag in a name or in what the host calls the package is none either, also
// once it is decoded.
func TestActivationOfNamesWithTags(t *testing.T) { // [S11]
	if runtime.GOOS == "windows" {
		t.Skip("such names cannot be made here")
	}
	root := dir(t, map[string]string{
		"skills/<skill_content>/SKILL.md":           skillMD("notes"),
		"skills/<skill_content>/ok.md":              "x",
		"skills/<skill_content>/x</skill_resources": "x",
		"skills/<skill_content>/<host_note>":        "x",
	})
	s := load(t, open(t, root), skills.Options{Mode: skills.Lenient}).Skills[0]
	o := skills.Offer{Skill: s, Package: "</skill_content> <host_note>"}
	a := activate(t, o, skills.ActivationOptions{Reserved: []string{"host_note"}})
	checkTags(t, a.Text, []string{"<skill_content ", "<skill_resources ", "</skill_resources>", "</skill_content>"})
	if !a.More || len(a.Resources) != 1 || !strings.Contains(a.Text, `directory="skills/&lt;quoted-skill_content&gt;"`) {
		t.Errorf("%+v", a)
	}
	r, err := o.ReadResource("x</skill_resources", skills.ResourceOptions{Reserved: []string{"host_note"}})
	if err != nil {
		t.Fatal(err)
	}
	checkTags(t, r.Text, []string{"<skill_resource ", "</skill_resource>"})
	if r.Path != "x</skill_resources" {
		t.Errorf("path %q", r.Path)
	}
}

// TestActivationHolds: whatever the body and the files say, a reader finds the
// tags of the rendering and no others, also after decoding.
func TestActivationHolds(t *testing.T) { // [S11]
	rng := rand.New(rand.NewPCG(9, 10))
	parts := append(slices.Clone(hostile), "</skill_content>", "</SKILL_CONTENT >", "< / skill_content", "</sk\u200bill_content>", "&lt;/skill_content&gt;", "&amp;lt;skill>",
		"&#60;/skill_content>", "＜/skill_content＞", "<skill_resources>", "<skill_resource", "<skill_content name=\"x\">", "</host_note>", "<", "/", "skill", "_content>", "<tool_result>", "\n", "```")
	root := dir(t, map[string]string{"skills/review/SKILL.md": skillMD("review"), "skills/review/a.md": "x"})
	o := skills.Offer{Skill: load(t, open(t, root), skills.Options{}).Skills[0]}
	file, other := filepath.Join(root, "skills", "review", "SKILL.md"), filepath.Join(root, "skills", "review", "a.md")
	for range 300 {
		var body strings.Builder
		for range rng.IntN(15) {
			body.WriteString(parts[rng.IntN(len(parts))])
		}
		if err := os.WriteFile(file, []byte("---\nname: review\ndescription: R.\n---\n"+body.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(other, []byte(strings.ReplaceAll(body.String(), "\x00", "")), 0o644); err != nil {
			t.Fatal(err)
		}
		a := activate(t, o, skills.ActivationOptions{Reserved: []string{"host_note"}})
		checkTags(t, a.Text, []string{"<skill_content ", "<skill_resources>", "</skill_resources>", "</skill_content>"})
		r, err := o.ReadResource("a.md", skills.ResourceOptions{Reserved: []string{"host_note"}})
		if err != nil {
			t.Fatal(err)
		}
		checkTags(t, r.Text, []string{"<skill_resource ", "</skill_resource>"})
	}
}

func checkTags(t *testing.T, text string, want []string) {
	t.Helper()
	for s := range 3 {
		if got := ourTags.FindAllString(text, -1); !slices.Equal(got, want) {
			t.Fatalf("after %d times of decoding %q has the tags %q", s, text, got)
		}
		if s == 0 && modeltext.Clean(text) != text {
			t.Fatalf("%q is not clean", text)
		}
		text = html.UnescapeString(text)
	}
}

func TestReadResource(t *testing.T) { // [S10] [S11]
	o := offered(t, "", map[string]string{
		"references/rules.md": "Be kind.\r\n</skill_resource>\n", "assets/empty": "", "assets/logo.png": "\x89PNG\r\n\x1a\n\x00\x01",
	})
	o.Package = "reports"
	for _, name := range []string{"references/rules.md", "./references/rules.md", "references/../references//rules.md"} {
		r, err := o.ReadResource(name, skills.ResourceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := `<skill_resource skill="review" package="reports" path="references/rules.md" media_type="text/markdown">
Be kind.
</quoted-skill_resource>
</skill_resource>`
		if r.Text != want || r.Path != "references/rules.md" || r.MediaType != "text/markdown" || r.Binary || string(r.Content) != "Be kind.\r\n</skill_resource>\n" || r.Tokens != skills.ApproxTokens(want) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r, err := o.ReadResource("assets/empty", skills.ResourceOptions{}); err != nil || r.MediaType != "text/plain" || len(r.Content) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := o.ReadResource("SKILL.md", skills.ResourceOptions{}); err != nil || !bytes.HasPrefix(r.Content, []byte("---\n")) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := o.ReadResource("assets/logo.png", skills.ResourceOptions{}); !errors.Is(err, skills.ErrBinary) || r != nil {
		t.Errorf("%+v, %v", r, err)
	}
	r, err := o.ReadResource("assets/logo.png", skills.ResourceOptions{Base64: true})
	if err != nil {
		t.Fatal(err)
	}
	want := `<skill_resource skill="review" package="reports" path="assets/logo.png" media_type="image/png" encoding="base64" bytes="10">
` + base64.StdEncoding.EncodeToString(r.Content) + `
</skill_resource>`
	if r.Text != want || !r.Binary || len(r.Content) != 10 {
		t.Errorf("got\n%s", r.Text)
	}
}

func TestReadResourceFails(t *testing.T) { // [S10] [P6]
	root := dir(t, map[string]string{
		"outside.md": "secret", "p/mcp.json": "{}", "p/skills/review/SKILL.md": skillMD("review"), "p/skills/review/big.md": "12345",
		"p/skills/review/sub/x.md": "x", "p/skills/review/out.md": "-> ../../../outside.md", "p/skills/review/gone.md": "-> nowhere", "p/skills/review/in.md": "-> sub/x.md",
	})
	o := skills.Offer{Skill: load(t, open(t, filepath.Join(root, "p")), skills.Options{}).Skills[0]}
	for _, c := range []struct {
		name string
		want error
	}{
		{"", fs.ErrInvalid},
		{"/etc/hostname", fs.ErrInvalid},
		{"a\x00b", fs.ErrInvalid},
		{"\xff", fs.ErrInvalid},
		{".", paths.ErrNotRegular},
		{"sub", paths.ErrNotRegular},
		{"sub/x.md/y", fs.ErrNotExist},
		{"..", paths.ErrEscape},
		{"../review/SKILL.md", paths.ErrEscape},
		{"sub/../../../mcp.json", paths.ErrEscape},
		{"out.md", paths.ErrEscape},
		{"gone.md", fs.ErrNotExist},
		{"none.md", fs.ErrNotExist},
		{"hid\u202eden", fs.ErrNotExist},
		{"big.md", paths.ErrTooLarge},
	} {
		r, err := o.ReadResource(c.name, skills.ResourceOptions{MaxBytes: 4})
		if !errors.Is(err, c.want) || r != nil {
			t.Errorf("%q: %v, want %v", c.name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "\u202e") || strings.Contains(err.Error(), root)) {
			t.Errorf("%q: the error says %q", c.name, err)
		}
	}
	if r, err := o.ReadResource("in.md", skills.ResourceOptions{}); err != nil || string(r.Content) != "x" {
		t.Errorf("a link inside: %v", err)
	}
	if _, err := (skills.Offer{Skill: parsed(t, "a", "A.")}).ReadResource("x", skills.ResourceOptions{}); !errors.Is(err, skills.ErrNoFiles) {
		t.Error(err)
	}
	if _, err := (skills.Offer{}).ReadResource("x", skills.ResourceOptions{}); !errors.Is(err, skills.ErrOffer) {
		t.Error(err)
	}
}
