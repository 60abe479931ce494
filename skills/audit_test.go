package skills_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// audited is a row: a file beside SKILL.md and what an audit says of it, as
// "line:column code", of whole files 0:0.
type audited struct {
	name string
	file string
	text string
	want []string
}

// token returns n characters that look drawn at random, the same on every run:
// the tests make what they look for, so that no scanner takes them for a leak.
func token(n int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	r := rand.New(rand.NewPCG(7, 7))
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

func wide(text string, big bool) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune("\uFEFF" + text)) {
		if big {
			b.Write([]byte{byte(u >> 8), byte(u)})
		} else {
			b.Write([]byte{byte(u), byte(u >> 8)})
		}
	}
	return b.String()
}

var auditRows = []audited{
	{"plain text", "references/a.md", "# Title\n\nSome text, é技😀, [a](b) <b>c</b> a < b | c > d.\n", nil},

	// secrets; internal/secrets has the forms
	{"a token", "a.txt", "x\ny: \"ghp_" + token(36) + "\"\n", []string{"2:5 skill-secret"}},
	{"two tokens and a placeholder", "a.env", "A=ghp_" + token(36) + "\nB=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nÄ=hf_" + token(34), []string{"1:3 skill-secret", "3:3 skill-secret"}},
	{"a private key", "key.pem", "\n-----BEGIN PRIVATE KEY-----\n" + token(64) + "\n" + token(64) + "\n", []string{"2:1 skill-secret"}},
	{"a key that is left out", "key.pem", "-----BEGIN PRIVATE KEY-----\n...\n", nil},

	// text that does not show
	{"bidirectional override", "a.md", "if a \u202e}x\u2066 y\n", []string{"1:6 skill-hidden-text", "1:9 skill-hidden-text"}},
	{"zero-width characters", "a.md", "a\u200bb\u200c\u200d\u2060c", []string{"1:2 skill-hidden-text", "1:4 skill-hidden-text"}},
	{"tag characters", "a.md", "é\n ok\U000e0041\U000e0042\U000e007f.", []string{"2:4 skill-hidden-text"}},
	{"a byte order mark first", "a.md", "\ufeffa", nil},
	{"a byte order mark later", "a.md", "a\ufeffb\n", []string{"1:2 skill-hidden-text"}},
	{"soft hyphen, joiner, filler", "a.md", "a\u00adb\u034fc\u3164d\u2800", []string{"1:2 skill-hidden-text", "1:4 skill-hidden-text", "1:6 skill-hidden-text", "1:8 skill-hidden-text"}},
	{"control characters", "a.md", "a\x1b[2Jb\x00c\x7f\u0090\t\r\n\f", []string{"1:2 skill-hidden-text", "1:7 skill-hidden-text", "1:9 skill-hidden-text"}},
	{"blanks of all kinds are text", "a.md", "a\u00a0b\u2009c\u3000d\u2028e\u0085f", nil},
	{"emoji", "a.md", "❤️ ✔︎ ℹ️ ©️ 1️⃣ #️⃣ 〰️ 👨‍👩‍👧 🏳️‍🌈 👩🏽‍💻 🧔‍♂️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👁️‍🗨️", nil},
	{"a selector too many", "a.md", "❤️\ufe0f️", []string{"1:3 skill-hidden-text"}},
	{"a selector behind a letter", "a.md", "a\ufe0f", []string{"1:2 skill-hidden-text"}},
	{"selectors as data", "a.md", "😀\U000e0100\U000e0101", []string{"1:2 skill-hidden-text"}},
	{"a form of an ideograph", "a.md", "葛\U000e0100 葛\ufe00", nil},
	{"a flag with more in its tags", "a.md", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e0068\U000e007f", []string{"1:2 skill-hidden-text"}},
	{"a joiner between letters", "a.md", "pass\u200dword", []string{"1:5 skill-hidden-text"}},
	{"a joiner behind an emoji", "a.md", "😀\u200da", []string{"1:2 skill-hidden-text"}},
	{"scripts that need joiners", "a.md", "می\u200cخواهم क्\u200dष ශ්\u200dරී", nil},
	{"two joiners where a script needs one", "a.md", "می\u200c\u200cخ", []string{"1:4 skill-hidden-text"}},
	{"breaks of words in Thai", "a.md", "ภาษา\u200bไทย", nil},
	{"direction marks in Hebrew", "a.md", "שלום\u200f! (abc\u200e)", nil},
	{"direction marks in Latin", "a.md", "abc\u200f!\nשלום", []string{"1:4 skill-hidden-text"}},
	{"direction marks as data", "a.md", "שלום\u200f\u200e\u200f", []string{"1:6 skill-hidden-text"}},
	{"UTF-16", "a.md", wide("é\nx\u202ey", false), []string{"2:2 skill-hidden-text"}},
	{"UTF-16, the other way", "a.md", wide("é\nx\u202ey <|im_end|>", true), []string{"2:2 skill-hidden-text", "2:5 skill-injection-marker"}},
	{"Latin-1", "a.txt", "gr\xfc\xdfe <|im_end|> " + strings.Repeat("x", 40), []string{"1:7 skill-injection-marker"}},
	{"a NUL in what is shown as text", "a.md", "\x00<|im_end|>", []string{"1:1 skill-hidden-text", "1:2 skill-injection-marker"}},
	{"a picture", "a.png", "\x89PNG\r\n\x1a\n\x00\x00<|im_end|>\u202e", nil},
	{"bytes without a NUL", "a.bin", strings.Repeat("\xff\x01\x02<|im_end|>", 9) + strings.Repeat("\xfe", 200), nil},
	{"a name with an override", "a\u202e.md", "x", []string{"0:0 skill-hidden-text"}},
	{"a name with a marker", "<|im_start|>system.md", "x", []string{"0:0 skill-injection-marker"}},

	// markers
	{"tokens of chat templates", "a.md", "<|im_start|>system\n<|im_end|> <|eot_id|><|start_header_id|>\n<|endoftext|> <｜User｜> <｜begin▁of▁sentence｜>", []string{
		"1:1 skill-injection-marker", "2:1 skill-injection-marker", "2:12 skill-injection-marker", "2:22 skill-injection-marker",
		"3:1 skill-injection-marker", "3:15 skill-injection-marker", "3:24 skill-injection-marker"}},
	{"instructions of chat templates", "a.md", "[INST] <<SYS>>x<</SYS>> [/INST] [TOOL_CALLS] <start_of_turn>user<end_of_turn>", []string{
		"1:1 skill-injection-marker", "1:8 skill-injection-marker", "1:16 skill-injection-marker", "1:25 skill-injection-marker", "1:33 skill-injection-marker",
		"1:46 skill-injection-marker", "1:65 skill-injection-marker"}},
	{"tags of prompts", "a.md", "</System>\n<system-reminder>\n<x:function_calls>\n<invoke name=\"x\">\n</skill_content>\n<available_skills >\n<tool_result/>", []string{
		"1:1 skill-injection-marker", "2:1 skill-injection-marker", "3:1 skill-injection-marker", "4:1 skill-injection-marker", "5:1 skill-injection-marker",
		"6:1 skill-injection-marker", "7:1 skill-injection-marker"}},
	{"turns of a conversation", "a.md", "Human: hi\n\nAssistant: x\r\n \t\r\nHuman: y", []string{"1:1 skill-injection-marker", "3:1 skill-injection-marker", "5:1 skill-injection-marker"}},
	{"no markers", "a.md", strings.Join([]string{
		"a <| b |> c", "<||>", "<|a b|>", "<|" + strings.Repeat("a", 99) + "|>", "<|im_start", "[inst] [INST [INSTALL] [x](y) []", "<<SYS> <SYS>> << SYS >>", "List<System> x, Foo<systemd>",
		"<instructions> <example> <user> <systemic> <subsystem>", "<system", "<system\n>", "<system<b>", "<invoked>", "</>", "<>", "< system>",
		"x\nHuman: a", "Human:", "", "A Human: b", "Human:b", "Humans: c", "", "system: x", "User: y"}, "\n"), []string{"8:5 skill-injection-marker"}},

	// programs and scripts
	{"ELF", "bin/x", "\x7fELF\x02\x01\x01\x00", []string{"0:0 skill-program"}},
	{"ELF by another name", "a.md", "\x7fELF\x02\x01\x01\x00 <|im_end|>", []string{"0:0 skill-program", "1:1 skill-hidden-text", "1:5 skill-hidden-text", "1:10 skill-injection-marker"}},
	{"Mach-O", "x.dylib", "\xcf\xfa\xed\xfe\x07\x00\x00\x01", []string{"0:0 skill-program"}},
	{"Mach-O of two kinds", "x", "\xca\xfe\xba\xbe\x00\x00\x00\x02", []string{"0:0 skill-program"}},
	{"Java", "X.class", "\xca\xfe\xba\xbe\x00\x00\x00\x3d", []string{"0:0 skill-program"}},
	{"PE", "x.dat", "MZ" + strings.Repeat("\x00", 58) + "\x40\x00\x00\x00PE\x00\x00", []string{"0:0 skill-program"}},
	{"WebAssembly", "x.wasm", "\x00asm\x01\x00\x00\x00", []string{"0:0 skill-program"}},
	{"text that begins with MZ", "x", "MZ is how programs for Windows begin, and so does this text, which is long enough.", []string{"0:0 skill-program"}},
	{"a short text that begins with MZ", "x", "MZ", nil},
	{"a first line", "run", "#!/bin/sh\nls\n", []string{"1:1 skill-script"}},
	{"a first line behind a byte order mark", "run", "\ufeff#!/bin/sh\n", []string{"1:1 skill-script"}},
	{"a name", "scripts/Run.PY", "print(1)\n", []string{"0:0 skill-script"}},
	{"a name of a program", "tools/Setup.EXE", "text\n", []string{"0:0 skill-script"}},
	{"a first line and a name", "x.sh", "#!/bin/sh\n", []string{"1:1 skill-script"}},
	{"a heading is no first line", "x.md", "#! not on the first\n", []string{"1:1 skill-script"}},
	{"no script", "x.md", "\n#!/bin/sh\n# !\n", nil},
	{"an empty file", "x", "", nil},

	// size
	{"as large as the budget", "a.md", strings.Repeat("a", 64<<10), nil},
	{"larger than the budget", "a.md", strings.Repeat("a", 64<<10+1), []string{"0:0 skill-over-budget"}},
	{"a large picture", "a.png", strings.Repeat("\x00", 64<<10+1), nil},
	{"larger than is looked at", "a.md", strings.Repeat("a", 1<<20) + "<|im_end|>", []string{"0:0 skill-audit-cut", "0:0 skill-over-budget"}},
	{"as large as is looked at", "a.md", "<|im_end|>" + strings.Repeat("a", 1<<20-10), []string{"0:0 skill-over-budget", "1:1 skill-injection-marker"}},
}

// inMemory makes a skill of SKILL.md and other files.
func inMemory(t testing.TB, skill string, others map[string]string, mode fs.FileMode) *skills.Skill {
	t.Helper()
	files := fstest.MapFS{"skills/x/SKILL.md": &fstest.MapFile{Data: []byte(skill)}}
	for name, text := range others {
		files["skills/x/"+name] = &fstest.MapFile{Data: []byte(text), Mode: mode}
	}
	root, err := paths.New(files)
	if err != nil {
		t.Fatal(err)
	}
	l := load(t, root, skills.Options{Mode: skills.Lenient})
	if len(l.Skills) != 1 {
		t.Fatal(l.Findings)
	}
	return l.Skills[0]
}

func auditOf(t testing.TB, s *skills.Skill, opts skills.AuditOptions) finding.List {
	t.Helper()
	list, err := s.Audit(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if f.Layer != finding.LayerPolicy && f.Code != finding.FindingsOmitted || f.Severity == finding.SeverityError || f.Subject != s.Directory() || !strings.HasPrefix(f.File, "skills/x") {
			t.Errorf("finding %+v", f)
		}
		if f.Message == "" || strings.IndexFunc(f.Message, func(r rune) bool { return !unicode.IsGraphic(r) }) >= 0 {
			t.Errorf("message %q", f.Message)
		}
	}
	return list
}

func audits(list finding.List) []string {
	var out []string
	for _, f := range list {
		out = append(out, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Code))
	}
	return out
}

func TestAudit(t *testing.T) {
	for _, tt := range auditRows {
		t.Run(tt.name, func(t *testing.T) {
			s := inMemory(t, md(plain), map[string]string{tt.file: tt.text}, 0o644)
			list := auditOf(t, s, skills.AuditOptions{})
			if got := audits(list); !slices.Equal(got, tt.want) {
				t.Errorf("findings\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(tt.want, "\n\t"))
			}
			for _, f := range list {
				if f.File != "skills/x/"+tt.file {
					t.Errorf("file %q", f.File)
				}
			}
			if again := auditOf(t, s, skills.AuditOptions{}); !reflect.DeepEqual(again, list) {
				t.Error("another audit says something else")
			}
		})
	}
}

// No message quotes what looks like a secret, nor what stands around it.
func TestAuditKeepsSecrets(t *testing.T) {
	secret := token(36)
	s := inMemory(t, md(plain)+"x ghp_"+secret+"\n", map[string]string{"a.json": `{"t": "ghp_` + secret + `"}`, "b": "xoxb-820414937261-4850173926401-" + token(24)}, 0o644)
	list := auditOf(t, s, skills.AuditOptions{})
	if len(list) != 3 {
		t.Fatal(list)
	}
	for _, f := range list {
		if text := f.String(); strings.Contains(text, secret[:6]) || strings.Contains(text, "ghp_") || strings.Contains(text, "xoxb") {
			t.Errorf("%s", text)
		}
	}
	if list[0].File != "skills/x/SKILL.md" || list[0].Line != 6 || list[0].Column != 3 {
		t.Errorf("%+v", list[0])
	}
}

// What the frontmatter says is looked at too, escapes read.
func TestAuditValues(t *testing.T) {
	for name, tt := range map[string]struct {
		file string
		want []string
	}{
		"hidden in an escape":        {md("name: x\ndescription: \"a\\u202eb\""), []string{"3:14 skill-hidden-text"}},
		"a marker in an escape":      {md("license: x\ndescription: \"\\x3c|im_end|>\"\nname: x"), []string{"3:14 skill-injection-marker"}},
		"both, folded, a blank line": {"\n" + md("name: x\ndescription: \"\\u200b [IN\\\n  ST]\"\ncompatibility: \"\\U000E0041\""), []string{"4:14 skill-hidden-text", "4:14 skill-injection-marker", "6:16 skill-hidden-text"}},
		"seen as they are":           {md("name: x\ndescription: \"a\u202eb [INST]\""), []string{"3:16 skill-hidden-text", "3:19 skill-injection-marker"}},
		"emoji in an escape":         {md("name: x\ndescription: \"\\u2764\\ufe0f\""), nil},
	} {
		s := inMemory(t, tt.file, nil, 0)
		if got := audits(auditOf(t, s, skills.AuditOptions{})); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	s := inMemory(t, md("name: x\ndescription: \"a\\u202eb\""), nil, 0)
	if list := auditOf(t, s, skills.AuditOptions{}); list[0].Pointer != "/description" || !strings.HasPrefix(list[0].Message, "description holds") {
		t.Errorf("%+v", list[0])
	}
}

// [L5] What was not looked at is told.
func TestAuditBounds(t *testing.T) {
	others := map[string]string{"a.md": "12345\u202e", "b.md": "67890\u202e", "c/d.md": "abc"}
	size := int64(len(md(plain)))
	s := inMemory(t, md(plain), others, 0o644)
	cut := func(file string) string { return file + " skill-audit-cut" }
	hidden := func(file string) string { return file + " skill-hidden-text" }
	for name, tt := range map[string]struct {
		opts skills.AuditOptions
		want []string
	}{
		"the defaults":             {skills.AuditOptions{}, []string{hidden("a.md"), hidden("b.md")}},
		"negative":                 {skills.AuditOptions{Budget: -1, File: -1, Files: -1, Bytes: -1}, []string{hidden("a.md"), hidden("b.md")}},
		"just enough files":        {skills.AuditOptions{Files: 4}, []string{hidden("a.md"), hidden("b.md")}},
		"a file too few":           {skills.AuditOptions{Files: 3}, []string{hidden("a.md"), hidden("b.md"), cut(".")}},
		"SKILL.md only":            {skills.AuditOptions{Files: 1}, []string{cut(".")}},
		"small files":              {skills.AuditOptions{File: 5}, []string{cut("SKILL.md"), cut("a.md"), cut("b.md")}},
		"just enough bytes":        {skills.AuditOptions{Bytes: size + 19}, []string{hidden("a.md"), hidden("b.md")}},
		"a byte too few":           {skills.AuditOptions{Bytes: size + 18}, []string{hidden("a.md"), hidden("b.md"), cut("c/d.md")}},
		"bytes for SKILL.md alone": {skills.AuditOptions{Bytes: size}, []string{cut("a.md"), cut("b.md"), cut("c/d.md")}},
		"a budget":                 {skills.AuditOptions{Budget: 7}, []string{"SKILL.md skill-over-budget", "a.md skill-over-budget", hidden("a.md"), "b.md skill-over-budget", hidden("b.md")}},
	} {
		var got []string
		for _, f := range auditOf(t, s, tt.opts) {
			file := strings.TrimPrefix(strings.TrimPrefix(f.File, "skills/x"), "/")
			if file == "" {
				file = "."
			}
			got = append(got, file+" "+string(f.Code))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	// Of very many faults of one kind the others are not lost.
	many := inMemory(t, md(plain), map[string]string{"a.md": strings.Repeat("x\u202e <|im_end|> ghp_"+token(36)+"\n", 5000)}, 0o644)
	kinds := map[finding.Code]int{}
	for _, f := range auditOf(t, many, skills.AuditOptions{Budget: 1 << 30}) {
		kinds[f.Code]++
	}
	want := map[finding.Code]int{finding.SkillHiddenText: 50, finding.SkillInjectionMarker: 50, finding.SkillSecret: 50, finding.FindingsOmitted: 1}
	if !reflect.DeepEqual(kinds, want) {
		t.Errorf("%v, want %v", kinds, want)
	}
}

// [L3] A file that cannot be read hides no other.
func TestAuditUnreadable(t *testing.T) {
	files := fstest.MapFS{"skills/x/SKILL.md": {Data: []byte(md(plain))}, "skills/x/a": {Data: []byte("\u202e")}, "skills/x/b": {Data: []byte("\u202e")}}
	broken := map[string]bool{}
	root, err := paths.New(hookFS{files, func(name string) error {
		if broken[name] {
			return errAny
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := load(t, root, skills.Options{}).Skills[0]
	broken["skills/x/SKILL.md"] = true
	want := []string{"0:0 skill-audit-cut", "1:1 skill-hidden-text", "1:1 skill-hidden-text"}
	if got := audits(auditOf(t, s, skills.AuditOptions{})); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	broken = map[string]bool{"skills/x/a": true}
	want = []string{"1:1 skill-hidden-text", "0:0 skill-audit-cut"}
	if got := audits(auditOf(t, s, skills.AuditOptions{})); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	broken = map[string]bool{"skills/x": true}
	if _, err := s.Audit(context.Background(), skills.AuditOptions{}); !errors.Is(err, errAny) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if list, err := s.Audit(ctx, skills.AuditOptions{}); !errors.Is(err, context.Canceled) || list != nil {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := (&skills.Skill{}).Audit(context.Background(), skills.AuditOptions{}); !errors.Is(err, skills.ErrNoFiles) {
		t.Errorf("%v", err)
	}
}

// An executable bit is told apart from what the file is.
func TestAuditExecutableBit(t *testing.T) {
	others := map[string]string{"a.md": "x", "b.sh": "x", "c": "#!/bin/sh", "d.png": "\x00", "e": "\x7fELF"}
	bits := func(mode fs.FileMode) string {
		var out []string
		for _, f := range auditOf(t, inMemory(t, md(plain), others, mode), skills.AuditOptions{}) {
			out = append(out, fmt.Sprintf("%s %s %v", strings.TrimPrefix(f.File, "skills/x/"), f.Code, strings.Contains(f.Message, "executable bit")))
		}
		return strings.Join(out, ", ")
	}
	if got, want := bits(0o644), "b.sh skill-script false, c skill-script false, e skill-program false"; got != want {
		t.Errorf("without: %s, want %s", got, want)
	}
	want := "a.md skill-script true, b.sh skill-script true, c skill-script true, d.png skill-script true, e skill-program false"
	if got := bits(0o755); got != want {
		t.Errorf("with: %s, want %s", got, want)
	}
}

// [L5] No file costs much. Measured: 0.2 s for the worst.
func TestAuditIsQuick(t *testing.T) {
	const size = 16 * hostileSize
	for name, unit := range map[string]string{
		"opened tags": "<", "brackets": "[", "tokens": "<|aaaa", "wide tokens": "<｜", "system": "<system ", "turns": "\nHuman: ", "hidden": "a\u202e", "a run": "\u200b", "marks": "\u200fא",
		"emoji": "❤️", "flags": "🏴\U000e0067", "secrets": " ghp_" + strings.Repeat("a", 40), "not UTF-8": "\xff", "NUL": "\x00",
	} {
		s := inMemory(t, md(plain), map[string]string{"a.md": strings.Repeat(unit, size/len(unit))}, 0o644)
		start := time.Now()
		auditOf(t, s, skills.AuditOptions{})
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

// [Q1]
func FuzzAudit(f *testing.F) {
	for _, row := range auditRows {
		if len(row.text) < 4<<10 {
			f.Add(row.file, []byte(row.text))
		}
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		if !fs.ValidPath(name) || name == "." || name == "SKILL.md" || strings.HasPrefix(name, "SKILL.md/") {
			name = "a.md"
		}
		s := inMemory(t, md(plain), map[string]string{name: string(text)}, 0o644)
		list := auditOf(t, s, skills.AuditOptions{})
		for i, f := range list {
			if (f.Line == 0) != (f.Column == 0) {
				t.Errorf("%+v", f)
			}
			if i > 0 && f.File == list[i-1].File && f.Code != finding.FindingsOmitted && (f.Line < list[i-1].Line || f.Line == list[i-1].Line && f.Column < list[i-1].Column) {
				t.Errorf("out of order: %+v, %+v", list[i-1], f)
			}
		}
	})
}
