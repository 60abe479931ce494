package skills_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/skills"
)

func digest(t testing.TB, s *skills.Skill) string {
	t.Helper()
	d, err := s.Digest(context.Background(), skills.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The digest is what the documentation says, in a directory and in memory.
func TestDigest(t *testing.T) {
	entries := map[string]string{
		"skills/a/SKILL.md":          skillMD("a"),
		"skills/a/references/b.md":   "two\nlines\r\n",
		"skills/a/references-b.md":   "",
		"skills/a/Z/é\n line 2.txt":  "\x00\xff",
		"skills/a/assets/deep/x/y/z": strings.Repeat("z", 100_000),
		"skills/a/empty/":            "",
	}
	if runtime.GOOS == "windows" {
		delete(entries, "skills/a/Z/é\n line 2.txt")
	}
	at := dir(t, entries)
	got := digest(t, load(t, open(t, at), skills.Options{}).Skills[0])
	if want := "sha256:a78c57aeb80d44f9cb258f6659bbc76e6ba8988dd8b98fca7eaa34d9f42324cb"; got != want && runtime.GOOS != "windows" {
		t.Errorf("digest %s, want %s", got, want)
	}

	files := fstest.MapFS{}
	for name, content := range entries {
		if !strings.HasSuffix(name, "/") {
			files["elsewhere/"+name] = &fstest.MapFile{Data: []byte(content), Mode: 0o755}
		}
	}
	root, err := paths.New(files)
	if err != nil {
		t.Fatal(err)
	}
	l, err := skills.Load(context.Background(), root, "elsewhere/skills", skills.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if in := digest(t, l.Skills[0]); in != got {
		t.Errorf("digest in memory %s, in a directory %s", in, got)
	}

	if _, err := exec.LookPath("sha256sum"); err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no sha256sum to compare with")
	}
	cmd := exec.Command("sh", "-c", `find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum -z -- | sha256sum`)
	cmd.Dir = filepath.Join(at, "skills", "a")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("the tools differ here: %v, %s", err, out)
	}
	if sum, _, _ := strings.Cut(string(out), " "); "sha256:"+sum != got {
		t.Errorf("digest %s, the documented command says %s", got, sum)
	}
}

// What counts, and what does not.
func TestDigestChanges(t *testing.T) {
	at := dir(t, map[string]string{
		"skills/a/SKILL.md": skillMD("a"), "skills/a/x": "1", "skills/a/link": "-> ../../shared", "shared/y": "2", "outside": "3",
	})
	s := load(t, open(t, at), skills.Options{}).Skills[0]
	file := func(name string) string { return filepath.Join(at, filepath.FromSlash(name)) }
	write := func(name, text string) func() error {
		return func() error { return os.WriteFile(file(name), []byte(text), 0o644) }
	}
	before := digest(t, s)
	for _, step := range []struct {
		what    string
		do      func() error
		changes bool
	}{
		{"the same content again", write("skills/a/x", "1"), false},
		{"another mode", func() error { return os.Chmod(file("skills/a/x"), 0o700) }, false},
		{"an empty directory", func() error { return os.Mkdir(file("skills/a/d"), 0o755) }, false},
		{"a file beside the skill", write("skills/z", "1"), false},
		{"another byte", write("skills/a/x", "2"), true},
		{"a body", write("skills/a/SKILL.md", skillMD("a")+"More.\n"), true},
		{"a file behind a link", write("shared/y", "3"), true},
		{"an empty file", write("skills/a/d/e", ""), true},
		{"another name", func() error { return os.Rename(file("skills/a/d/e"), file("skills/a/d/f")) }, true},
		{"a file gone", func() error { return os.Remove(file("skills/a/d/f")) }, true},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		after := digest(t, s)
		if (after != before) != step.changes {
			t.Errorf("%s: changed %v", step.what, after != before)
		}
		before = after
	}
}

// [L5] A digest is of everything, or there is none.
func TestDigestIncomplete(t *testing.T) {
	entries := map[string]string{"skills/a/SKILL.md": skillMD("a"), "skills/a/x": "123", "skills/a/y": "45"}
	total := int64(len(skillMD("a"))) + 5
	root := open(t, dir(t, entries))
	s := load(t, root, skills.Options{}).Skills[0]
	for _, tt := range []struct {
		bounds skills.Bounds
		ok     bool
	}{
		{skills.Bounds{}, true}, {skills.Bounds{Files: -1, Bytes: -1}, true},
		{skills.Bounds{Files: 3, Bytes: total}, true},
		{skills.Bounds{Files: 2}, false}, {skills.Bounds{Files: 1}, false}, {skills.Bounds{Bytes: total - 1}, false}, {skills.Bounds{Bytes: 1}, false},
	} {
		d, err := s.Digest(context.Background(), tt.bounds)
		if tt.ok != (err == nil) || tt.ok != (d != "") || !tt.ok && !errors.Is(err, skills.ErrIncomplete) {
			t.Errorf("%+v: %q, %v", tt.bounds, d, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if d, err := s.Digest(ctx, skills.Bounds{}); !errors.Is(err, context.Canceled) || d != "" {
		t.Errorf("%q, %v", d, err)
	}
	if _, err := (&skills.Skill{}).Digest(context.Background(), skills.Bounds{}); !errors.Is(err, skills.ErrNoFiles) {
		t.Errorf("a skill without files: %v", err)
	}

	files := fstest.MapFS{}
	for name, text := range entries {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	broken := ""
	root, err := paths.New(hookFS{files, func(name string) error {
		if name == broken {
			return errAny
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	s = load(t, root, skills.Options{}).Skills[0]
	for _, name := range []string{"skills/a", "skills/a/x", "skills/a/SKILL.md"} {
		broken = name
		if d, err := s.Digest(context.Background(), skills.Bounds{}); !errors.Is(err, skills.ErrIncomplete) || d != "" {
			t.Errorf("%s cannot be read: %q, %v", name, d, err)
		}
	}
	var missing *fs.PathError
	broken = "skills/a/SKILL.md"
	if _, err := s.Digest(context.Background(), skills.Bounds{}); !errors.As(err, &missing) {
		t.Errorf("%v does not hold its cause", err)
	}
}
