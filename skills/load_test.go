package skills_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// skillMD returns a SKILL.md that conforms in the directory of that name.
func skillMD(name string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + ".\n---\nBody of " + name + ".\n"
}

// dir makes a directory with those entries: a name that ends in / is a
// directory, content that begins with "-> " a link.
func dir(t testing.TB, entries map[string]string) string {
	t.Helper()
	root := t.TempDir()
	fill(t, root, entries)
	return root
}

func fill(t testing.TB, root string, entries map[string]string) {
	t.Helper()
	for name, content := range entries {
		at := filepath.Join(root, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			if err = os.Symlink(filepath.FromSlash(target), at); err != nil && runtime.GOOS == "windows" {
				t.Skip("links cannot be made here: ", err)
			}
		} else {
			err = os.WriteFile(at, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func open(t testing.TB, dir string) *paths.Root {
	t.Helper()
	root, err := paths.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func load(t testing.TB, root *paths.Root, opts skills.Options) *skills.Listing {
	t.Helper()
	l, err := skills.Load(context.Background(), root, "skills", opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// loadAt writes what the tables compare of a finding of Load.
func loadAt(f finding.Finding) string { return f.File + " " + short(f) + " " + f.Subject }

func directories(l *skills.Listing) []string {
	var out []string
	for _, s := range l.Skills {
		out = append(out, s.Directory())
	}
	return out
}

// listed is a row: a package, and what loading its skills finds.
type listed struct {
	name     string
	entries  map[string]string
	state    skills.State
	skills   []string
	skipped  []string
	findings []string
}

func check(t *testing.T, l *skills.Listing, want listed) {
	t.Helper()
	if l.State != want.state {
		t.Errorf("state %s, want %s", l.State, want.state)
	}
	if got := directories(l); !slices.Equal(got, want.skills) {
		t.Errorf("skills %q, want %q", got, want.skills)
	}
	if !slices.Equal(l.Skipped, want.skipped) {
		t.Errorf("skipped %q, want %q", l.Skipped, want.skipped)
	}
	var got []string
	for _, f := range l.Findings {
		got = append(got, strings.TrimSpace(loadAt(f)))
		if f.Message == "" {
			t.Errorf("%v has no message", f)
		}
	}
	if !slices.Equal(got, want.findings) {
		t.Errorf("findings\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want.findings, "\n\t"))
	}
	checkSkipped(t, l)
}

// checkSkipped makes sure that what was skipped was reported, and nothing else. [S9]
func checkSkipped(t *testing.T, l *skills.Listing) {
	t.Helper()
	errs := map[string]bool{}
	for _, f := range l.Findings {
		if f.Severity == finding.SeverityError && f.Boundary == finding.BoundarySkill {
			errs[f.Subject] = true
		}
	}
	for _, name := range l.Skipped {
		if !errs[name] {
			t.Errorf("%q was skipped without an error", name)
		}
	}
	if len(errs) != len(l.Skipped) {
		t.Errorf("errors for %v, skipped %q", errs, l.Skipped)
	}
}

const invalid = "---\nname: other\ndescription: d\n---\n"

var listedRows = []listed{
	{"no skills directory", map[string]string{"README.md": ""}, skills.StateAbsent, nil, nil, nil},
	{"an empty skills directory", map[string]string{"skills/": ""}, skills.StateLoaded, nil, nil, nil},
	{"what counts [S1]", map[string]string{
		"SKILL.md":                       skillMD("root"),
		"skills/SKILL.md":                skillMD("skills"),
		"skills/README.md":               "# T",
		"skills/b/SKILL.md":              skillMD("b"),
		"skills/a/SKILL.md":              skillMD("a"),
		"skills/a/SKILL.md.bak":          "",
		"skills/empty/":                  "",
		"skills/nested/deep/SKILL.md":    skillMD("deep"),
		"skills/a/references/x/SKILL.md": skillMD("x"),
		"skills/lower/skill.md":          skillMD("lower"),
		"skills/mixed/Skill.md":          skillMD("mixed"),
		"skills/suffix/SKILL.md.txt":     skillMD("suffix"),
		"skills/.hidden/notes":           "",
	}, skills.StateLoaded, []string{"a", "b"}, nil, nil},
	{"one bad skill leaves the others [L3]", map[string]string{
		"skills/a/SKILL.md": skillMD("a"),
		"skills/b/SKILL.md": invalid,
		"skills/c/SKILL.md": "",
		"skills/d/SKILL.md": skillMD("d"),
		"skills/e/SKILL.md": "---\nname: e\n---\n",
	}, skills.StateLoaded, []string{"a", "d"}, []string{"b", "c", "e"}, []string{
		"skills/b/SKILL.md 2:7 error skill skill-name-mismatch /name b",
		"skills/c/SKILL.md 1:1 error skill skill-no-frontmatter c",
		"skills/e/SKILL.md 1:1 error skill skill-description-missing e",
	}},
	{"names of directories are compared exactly [S3]", map[string]string{
		"skills/PDF/SKILL.md": skillMD("pdf"), "skills/a b/SKILL.md": skillMD("a b"),
	}, skills.StateLoaded, nil, []string{"PDF", "a b"}, []string{
		"skills/PDF/SKILL.md 2:7 error skill skill-name-mismatch /name PDF",
		"skills/a b/SKILL.md 2:7 error skill skill-name-invalid /name a b",
	}},
	{"SKILL.md is a directory", map[string]string{"skills/a/SKILL.md/": "", "skills/b/SKILL.md": skillMD("b")},
		skills.StateLoaded, []string{"b"}, nil, []string{"skills/a/SKILL.md 0:0 warning skill skill-file-not-regular a"}},
	{"SKILL.md is a link [S1]", map[string]string{
		"shared/in.md":           skillMD("in"),
		"skills/in/SKILL.md":     "-> ../../shared/in.md",
		"skills/twice/SKILL.md":  "-> ../twice/other.md",
		"skills/twice/other.md":  skillMD("twice"),
		"skills/out/SKILL.md":    "-> ../../../out.md",
		"skills/etc/SKILL.md":    "-> /outside.md",
		"skills/gone/SKILL.md":   "-> nowhere",
		"skills/loop/SKILL.md":   "-> SKILL.md",
		"skills/folder/SKILL.md": "-> ..",
	}, skills.StateLoaded, []string{"in", "twice"}, []string{"etc", "out"}, []string{
		"skills/etc/SKILL.md 0:0 error skill skill-escapes etc",
		"skills/folder/SKILL.md 0:0 warning skill skill-file-not-regular folder",
		"skills/gone/SKILL.md 0:0 warning skill skill-file-not-regular gone",
		"skills/loop/SKILL.md 0:0 warning skill skill-file-not-regular loop",
		"skills/out/SKILL.md 0:0 error skill skill-escapes out",
	}},
	{"children that are links [S1]", map[string]string{
		"shared/in/SKILL.md":  skillMD("in"),
		"shared/bare/":        "",
		"shared/text":         "",
		"skills/in":           "-> ../shared/in",
		"skills/again":        "-> in",
		"skills/bare":         "-> ../shared/bare",
		"skills/file":         "-> ../shared/text",
		"skills/gone":         "-> nowhere",
		"skills/loop":         "-> loop",
		"skills/loop1":        "-> loop2",
		"skills/loop2":        "-> loop1",
		"skills/out":          "-> ../..",
		"skills/root":         "-> ..",
		"skills/self":         "-> .",
		"skills/tmp":          "-> /",
		"skills/within/inner": "-> ../../shared",
	}, skills.StateLoaded, []string{"in"}, []string{"again", "out", "tmp"}, []string{
		"skills/again/SKILL.md 2:7 error skill skill-name-mismatch /name again",
		"skills/gone 0:0 warning skill skill-dangling-link gone",
		"skills/loop 0:0 warning skill skill-dangling-link loop",
		"skills/loop1 0:0 warning skill skill-dangling-link loop1",
		"skills/loop2 0:0 warning skill skill-dangling-link loop2",
		"skills/out 0:0 error skill skill-escapes out",
		"skills/tmp 0:0 error skill skill-escapes tmp",
	}},
	{"skills is a file", map[string]string{"skills": ""}, skills.StateInvalid, nil, nil, []string{"skills 0:0 error component skills-not-directory"}},
	{"skills is a link to a file", map[string]string{"skills": "-> f", "f": ""}, skills.StateInvalid, nil, nil, []string{"skills 0:0 error component skills-not-directory"}},
	{"skills is a link inside", map[string]string{"skills": "-> shared/./s", "shared/s/a/SKILL.md": skillMD("a"), "shared/s/b/SKILL.md": invalid},
		skills.StateLoaded, []string{"a"}, []string{"b"}, []string{"skills/b/SKILL.md 2:7 error skill skill-name-mismatch /name b"}},
	{"skills is a link outside", map[string]string{"skills": "-> .."}, skills.StateInvalid, nil, nil, []string{"skills 0:0 error component skills-escapes"}},
	{"skills dangles", map[string]string{"skills": "-> nowhere"}, skills.StateInvalid, nil, nil, []string{"skills 0:0 error component skills-not-directory"}},
	{"skills loops", map[string]string{"skills": "-> skills"}, skills.StateInvalid, nil, nil, []string{"skills 0:0 error component skills-not-directory"}},
	{"Skills is another name", map[string]string{"Skills/a/SKILL.md": skillMD("a")}, skills.StateAbsent, nil, nil, nil}, // [L9]
}

// [S1] [S9] [L3] [L9]
func TestLoad(t *testing.T) {
	for _, tt := range listedRows {
		t.Run(tt.name, func(t *testing.T) {
			root := open(t, dir(t, tt.entries))
			l := load(t, root, skills.Options{})
			check(t, l, tt)
			// [L7]
			if again := load(t, root, skills.Options{}); !reflect.DeepEqual(again, l) {
				t.Error("loading again gave something else")
			}
			for _, s := range l.Skills {
				if want := "skills/" + s.Directory() + "/SKILL.md"; s.Location() != want {
					t.Errorf("location %q, want %q", s.Location(), want)
				}
				if body, err := s.Body(); err != nil || body != "Body of "+s.Name()+".\n" {
					t.Errorf("body of %s: %q, %v", s.Name(), body, err)
				}
			}
		})
	}
}

// [S1] Links that are absolute, or leave and come back, but end inside.
func TestLoadLinksThatEndInside(t *testing.T) {
	root := dir(t, map[string]string{"shared/abs/SKILL.md": skillMD("abs"), "shared/back/SKILL.md": skillMD("back"), "skills/": ""})
	fill(t, root, map[string]string{
		"skills/abs":  "-> " + filepath.Join(root, "shared", "abs"),
		"skills/back": "-> ../../" + filepath.Base(root) + "/shared/back",
	})
	check(t, load(t, open(t, root), skills.Options{}), listed{state: skills.StateLoaded, skills: []string{"abs", "back"}})
}

// [L1] The same rules hold for any fs.FS.
func TestLoadFS(t *testing.T) {
	for _, tt := range listedRows {
		t.Run(tt.name, func(t *testing.T) {
			files := fstest.MapFS{}
			for name, content := range tt.entries {
				if target, ok := strings.CutPrefix(content, "-> "); ok {
					files[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
				} else if name, ok := strings.CutSuffix(name, "/"); ok {
					files[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
				} else {
					files[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
				}
			}
			root, err := paths.New(files)
			if err != nil {
				t.Fatal(err)
			}
			check(t, load(t, root, skills.Options{}), tt)
		})
	}
}

// foldFS finds files in any letter case, as some systems do.
type foldFS struct{ fstest.MapFS }

func (f foldFS) real(name string) string {
	for real := range f.MapFS {
		for at := real; at != "."; at = path.Dir(at) {
			if strings.EqualFold(at, name) {
				return at
			}
		}
	}
	return name
}

func (f foldFS) Open(name string) (fs.File, error)          { return f.MapFS.Open(f.real(name)) }
func (f foldFS) Lstat(name string) (fs.FileInfo, error)     { return f.MapFS.Lstat(f.real(name)) }
func (f foldFS) ReadLink(name string) (string, error)       { return f.MapFS.ReadLink(f.real(name)) }
func (f foldFS) ReadDir(name string) ([]fs.DirEntry, error) { return f.MapFS.ReadDir(f.real(name)) }

// [S1] [L9]
func TestLoadWhereCaseIsIgnored(t *testing.T) {
	file := func(name string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(skillMD(name))} }
	for name, tt := range map[string]struct {
		files fstest.MapFS
		want  listed
	}{
		"lower-case file":   {fstest.MapFS{"skills/a/skill.md": file("a"), "skills/b/SKILL.md": file("b")}, listed{state: skills.StateLoaded, skills: []string{"b"}}},
		"folder":            {fstest.MapFS{"skills/a/Skill.md/x": file("a")}, listed{state: skills.StateLoaded}},
		"dangling":          {fstest.MapFS{"skills/a/skill.md": {Data: []byte("nowhere"), Mode: fs.ModeSymlink}}, listed{state: skills.StateLoaded}},
		"outside":           {fstest.MapFS{"skills/a/skill.md": {Data: []byte("../../../x"), Mode: fs.ModeSymlink}}, listed{state: skills.StateLoaded}},
		"upper-case parent": {fstest.MapFS{"Skills/a/SKILL.md": file("a")}, listed{state: skills.StateAbsent}},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := paths.New(foldFS{tt.files})
			if err != nil {
				t.Fatal(err)
			}
			check(t, load(t, root, skills.Options{}), tt.want)
		})
	}
}

func many(n int) map[string]string {
	entries := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("s%d", i)
		entries["skills/"+name+"/SKILL.md"] = skillMD(name)
	}
	return entries
}

// [L5]
func TestLoadLimits(t *testing.T) {
	entries := many(5)
	entries["skills/s1/SKILL.md"] = invalid
	entries["skills/s2/SKILL.md"] = skillMD("s2") + strings.Repeat("x", 200)
	entries["skills/a-file"] = ""
	entries["skills/a/notes"] = ""
	entries["skills/zz/notes"] = ""
	root := open(t, dir(t, entries))
	mismatch := "skills/s1/SKILL.md 2:7 error skill skill-name-mismatch /name s1"
	tooMany := "skills 0:0 error component skills-too-many"
	tests := []struct {
		name   string
		limits skills.Limits
		want   listed
	}{
		{"skills, a skipped one counts", skills.Limits{Skills: 3},
			listed{skills: []string{"s0", "s2"}, skipped: []string{"s1"}, findings: []string{mismatch, tooMany}}},
		{"as many skills as may be", skills.Limits{Skills: 5},
			listed{skills: []string{"s0", "s2", "s3", "s4"}, skipped: []string{"s1"}, findings: []string{mismatch}}},
		{"one skill", skills.Limits{Skills: 1}, listed{skills: []string{"s0"}, findings: []string{tooMany}}},
		{"entries, in order", skills.Limits{Entries: 4},
			listed{skills: []string{"s0"}, skipped: []string{"s1"}, findings: []string{tooMany, mismatch}}},
		{"as many entries as may be", skills.Limits{Entries: 8},
			listed{skills: []string{"s0", "s2", "s3", "s4"}, skipped: []string{"s1"}, findings: []string{mismatch}}},
		{"both", skills.Limits{Entries: 5, Skills: 1}, listed{skills: []string{"s0"}, findings: []string{tooMany, tooMany}}},
		{"file size", skills.Limits{File: 100}, listed{skills: []string{"s0", "s3", "s4"}, skipped: []string{"s1", "s2"},
			findings: []string{mismatch, "skills/s2/SKILL.md 0:0 error skill skill-too-large s2"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.state = skills.StateLoaded
			check(t, load(t, root, skills.Options{Limits: tt.limits}), tt.want)
		})
	}
}

// [L7] The order in which entries were made, or are listed, is of no matter.
func TestLoadOrder(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	names := []string{"z", "a", "a-b", "a1", "b", "m", "B", "10", "9"}
	for i := range names {
		fill(t, a, map[string]string{"skills/" + names[i] + "/SKILL.md": skillMD(names[i])})
		other := names[len(names)-1-i]
		fill(t, b, map[string]string{"skills/" + other + "/SKILL.md": skillMD(other)})
	}
	la, lb := load(t, open(t, a), skills.Options{}), load(t, open(t, b), skills.Options{})
	if !slices.IsSorted(directories(la)) || len(la.Skills) < 7 {
		t.Errorf("skills %q", directories(la))
	}
	if !slices.Equal(directories(la), directories(lb)) || !slices.Equal(la.Skipped, lb.Skipped) || !reflect.DeepEqual(la.Findings, lb.Findings) {
		t.Errorf("%q, %v, but %q, %v", directories(la), la.Findings, directories(lb), lb.Findings)
	}
}

// [S9] Directory names are anybody's.
func TestLoadOddNames(t *testing.T) {
	names := []string{"a\nb", "\x1b[2J", "a\u202eb", "a\u200bb", " ", "..a", "-", strings.Repeat("n", 200), "not-utf8-\xff", `a\b`, "a:b", "é", "e\u0301", "SKILL.md"}
	root := t.TempDir()
	var made []string
	for _, name := range names {
		at := filepath.Join(root, "skills", name)
		if os.MkdirAll(at, 0o755) != nil || os.WriteFile(filepath.Join(at, "SKILL.md"), []byte(skillMD("good")), 0o644) != nil {
			continue // not every file system has them
		}
		made = append(made, name)
	}
	if len(made) < 3 {
		t.Fatalf("only %q could be made", made)
	}
	if runtime.GOOS == "linux" && len(made) != len(names) {
		t.Errorf("only %q could be made", made)
	}
	l := load(t, open(t, root), skills.Options{})
	checkSkipped(t, l)
	slices.Sort(made)
	if runtime.GOOS == "linux" && !slices.Equal(l.Skipped, made) {
		t.Errorf("skipped %q, want %q", l.Skipped, made)
	}
	for _, f := range l.Findings {
		text := f.String()
		if strings.ContainsAny(text, "\n\x1b\u202e\u200b") || !utf8.ValidString(text) {
			t.Errorf("not escaped: %q", text)
		}
		if f.File != "skills/"+f.Subject+"/SKILL.md" {
			t.Errorf("file %q of subject %q", f.File, f.Subject)
		}
	}
}

// [L4]
func TestLoadCancelled(t *testing.T) {
	files := fstest.MapFS{}
	for name, content := range many(6) {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	ctx, cancel := context.WithCancel(context.Background())
	read := 0
	root, err := paths.New(hookFS{files, func(name string) error {
		if path.Base(name) == "SKILL.md" {
			if read++; read == 3 {
				cancel()
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if l, err := skills.Load(ctx, root, "skills", skills.Options{}); !errors.Is(err, context.Canceled) || l != nil {
		t.Errorf("cancelled during: %v, %v", l, err)
	}
	if read != 3 {
		t.Errorf("%d files were read, want 3", read)
	}
	if l, err := skills.Load(ctx, root, "skills", skills.Options{}); !errors.Is(err, context.Canceled) || l != nil {
		t.Errorf("cancelled before: %v, %v", l, err)
	}
	if read != 3 {
		t.Error("a file was read for a context that had ended")
	}
}

func TestLoadErrors(t *testing.T) {
	root := open(t, dir(t, nil))
	if _, err := skills.Load(context.Background(), root, "skills", skills.Options{Mode: 77}); err == nil {
		t.Error("an unknown mode was accepted")
	}
	for _, root := range []*paths.Root{nil, {}} {
		if _, err := skills.Load(context.Background(), root, "skills", skills.Options{}); err == nil {
			t.Error("a root that was not opened was accepted")
		}
	}
}

// hookFS calls hook before it opens a file; it can read no links.
type hookFS struct {
	fs.FS
	hook func(name string) error
}

func (h hookFS) Open(name string) (fs.File, error) {
	if err := h.hook(name); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return h.FS.Open(name)
}

// [L3] [S9] An I/O error counts at the boundary of the file it met.
func TestLoadUnreadable(t *testing.T) {
	errDisk := errors.New("disk on fire\x1b[2J")
	files := fstest.MapFS{}
	for name, content := range many(3) {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	failing := func(names ...string) *paths.Root {
		root, err := paths.New(hookFS{files, func(name string) error {
			if slices.Contains(names, name) {
				return errDisk
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return root
	}
	unreadable := "0:0 error skill skill-unreadable"
	tests := []struct {
		name string
		root *paths.Root
		want listed
	}{
		{"a file", failing("skills/s1/SKILL.md"), listed{state: skills.StateLoaded, skills: []string{"s0", "s2"}, skipped: []string{"s1"},
			findings: []string{"skills/s1/SKILL.md " + unreadable + " s1"}}},
		{"two directories", failing("skills/s0", "skills/s2"), listed{state: skills.StateLoaded, skills: []string{"s1"}, skipped: []string{"s0", "s2"},
			findings: []string{"skills/s0/SKILL.md " + unreadable + " s0", "skills/s2/SKILL.md " + unreadable + " s2"}}},
		{"all of it", failing("skills"), listed{state: skills.StateInvalid, findings: []string{"skills 0:0 error component skills-unreadable"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := load(t, tt.root, skills.Options{})
			check(t, l, tt.want)
			for _, f := range l.Findings {
				if !strings.Contains(f.Message, `disk on fire\x1b[2J`) {
					t.Errorf("message %q", f.Message)
				}
			}
		})
	}
}

// [S10] The body is read when it is asked for.
func TestBody(t *testing.T) {
	at := dir(t, map[string]string{"skills/a/SKILL.md": skillMD("a"), "outside/": ""})
	file := filepath.Join(at, "skills", "a", "SKILL.md")
	s := load(t, open(t, at), skills.Options{Limits: skills.Limits{File: 1000}}).Skills[0]
	write := func(text string) func() error {
		return func() error { return os.WriteFile(file, []byte(text), 0o644) }
	}
	tests := []struct {
		name string
		do   func() error
		want string
		err  error // any for one without identity
	}{
		{"as it was", func() error { return nil }, "Body of a.\n", nil},
		{"changed", write("---\nname: a\ndescription: d\n---\n\nNew \xff\r\n---\n"), "\nNew \xff\r\n---\n", nil},
		{"without a body", write("---\nname: a\ndescription: d\n---"), "", nil},
		{"as large as it may be", write(skillMD("a") + strings.Repeat("x", 1000-len(skillMD("a")))), "Body of a.\n" + strings.Repeat("x", 1000-len(skillMD("a"))), nil},
		{"grown over the limit", write(skillMD("a") + strings.Repeat("x", 1000)), "", paths.ErrTooLarge},
		{"without frontmatter", write("Body."), "", errAny},
		{"gone", func() error { return os.Remove(file) }, "", fs.ErrNotExist},
		{"back", write(skillMD("a")), "Body of a.\n", nil},
		{"a directory", func() error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o755)) }, "", paths.ErrNotRegular},
		{"directory gone", func() error { return os.RemoveAll(filepath.Dir(file)) }, "", fs.ErrNotExist},
	}
	for _, tt := range tests {
		if err := tt.do(); err != nil {
			t.Fatal(err)
		}
		body, err := s.Body()
		if body != tt.want || (err == nil) != (tt.err == nil) || tt.err != nil && tt.err != errAny && !errors.Is(err, tt.err) {
			t.Errorf("%s: %q, %v, want %q, %v", tt.name, body, err, tt.want, tt.err)
		}
	}
}

var errAny = errors.New("any error")

// [S10] [P6]
func TestBodyBehindALinkOutside(t *testing.T) {
	at := dir(t, map[string]string{"p/skills/a/SKILL.md": skillMD("a"), "secret.md": skillMD("secret")})
	s := load(t, open(t, filepath.Join(at, "p")), skills.Options{}).Skills[0]
	file := filepath.Join(at, "p", "skills", "a", "SKILL.md")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	fill(t, at, map[string]string{"p/skills/a/SKILL.md": "-> ../../../secret.md"})
	if body, err := s.Body(); !errors.Is(err, paths.ErrEscape) || body != "" {
		t.Errorf("%q, %v, want ErrEscape", body, err)
	}
}

func resources(t *testing.T, s *skills.Skill, max int) ([]string, bool) {
	t.Helper()
	list, more, err := s.Resources(context.Background(), max)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range list {
		out = append(out, fmt.Sprint(r.Path, " ", r.Size))
	}
	return out, more
}

// [S10] [P6]
func TestResources(t *testing.T) {
	at := dir(t, map[string]string{
		"p/skills/a/SKILL.md":            skillMD("a"),
		"p/skills/a/scripts/run.sh":      "12345",
		"p/skills/a/scripts-old.txt":     "",
		"p/skills/a/references/SKILL.md": "1",
		"p/skills/a/references/x/y/z":    "12",
		"p/skills/a/empty/":              "",
		"p/skills/a/.hidden":             "123",
		"p/skills/a/skill.md.bak":        "",
		"p/skills/a/to-file":             "-> ../../shared/f",
		"p/skills/a/to-dir":              "-> ../../shared/d",
		"p/skills/a/to-skill":            "-> SKILL.md",
		"p/skills/a/out-file":            "-> ../../../secret",
		"p/skills/a/out-dir":             "-> ../../..",
		"p/skills/a/gone":                "-> nowhere",
		"p/skills/a/loop":                "-> loop",
		"p/skills/a/back":                "-> .",
		"p/shared/f":                     "1234",
		"p/shared/d/g":                   "123456",
		"p/shared/d/up":                  "-> ../../skills/a",
		"secret":                         "secret",
	})
	l := load(t, open(t, filepath.Join(at, "p")), skills.Options{})
	s := l.Skills[0]
	all := []string{".hidden 3", "references/SKILL.md 1", "references/x/y/z 2", "scripts/run.sh 5", "scripts-old.txt 0",
		"skill.md.bak 0", "to-dir/g 6", "to-file 4", "to-skill " + fmt.Sprint(len(skillMD("a")))}
	for max := range len(all) + 3 {
		want, wantMore := all, false
		if max > 0 && max < len(all) {
			want, wantMore = all[:max], true
		}
		if got, more := resources(t, s, max); !slices.Equal(got, want) || more != wantMore {
			t.Errorf("at most %d: %q, %v, want %q, %v", max, got, more, want, wantMore)
		}
	}
	files, err := s.FS()
	if err != nil {
		t.Fatal(err)
	}
	list, _, _ := s.Resources(context.Background(), 0)
	for _, r := range list {
		data, err := fs.ReadFile(files, r.Path)
		if err != nil || int64(len(data)) != r.Size {
			t.Errorf("%s: %d bytes, %v, want %d", r.Path, len(data), err, r.Size)
		}
	}
	for name, want := range map[string]error{
		"out-file": paths.ErrEscape, "out-dir": paths.ErrEscape, "out-dir/secret": paths.ErrEscape, "loop": paths.ErrLoop,
		"gone": fs.ErrNotExist, "absent": fs.ErrNotExist, "../b": fs.ErrInvalid, "/etc/passwd": fs.ErrInvalid, "to-dir/../x": fs.ErrInvalid,
	} {
		if data, err := fs.ReadFile(files, name); !errors.Is(err, want) || len(data) > 0 {
			t.Errorf("%s: %q, %v, want %v", name, data, err, want)
		}
		if _, err := files.Open(name); !errors.Is(err, want) {
			t.Errorf("open %s: %v, want %v", name, err, want)
		}
		if _, err := fs.Stat(files, name); !errors.Is(err, want) {
			t.Errorf("stat %s: %v, want %v", name, err, want)
		}
	}
}

// [S10] [L5] What is left out for a limit is always told.
func TestResourcesLimits(t *testing.T) {
	entries := map[string]string{"skills/a/SKILL.md": skillMD("a"), "skills/a/z": ""}
	for i := range 5 {
		entries[fmt.Sprintf("skills/a/d/f%d", i)] = ""
	}
	entries["skills/a/b/c/d/e/f"] = ""
	root := open(t, dir(t, entries))
	tests := []struct {
		name   string
		limits skills.Limits
		want   string
		more   bool
	}{
		{"enough", skills.Limits{}, "b/c/d/e/f d/f0 d/f1 d/f2 d/f3 d/f4 z", false},
		{"just enough entries", skills.Limits{Entries: 13}, "b/c/d/e/f d/f0 d/f1 d/f2 d/f3 d/f4 z", false},
		{"an entry too many", skills.Limits{Entries: 12}, "b/c/d/e/f d/f0 d/f1 d/f2 d/f3 z", true},
		{"few entries", skills.Limits{Entries: 2}, "", true},
		{"just deep enough", skills.Limits{Depth: 5}, "b/c/d/e/f d/f0 d/f1 d/f2 d/f3 d/f4 z", false},
		{"too deep in one place", skills.Limits{Depth: 4}, "d/f0 d/f1 d/f2 d/f3 d/f4 z", true},
	}
	for _, tt := range tests {
		s := load(t, root, skills.Options{Limits: tt.limits}).Skills[0]
		list, more, err := s.Resources(context.Background(), 0)
		var got []string
		for _, r := range list {
			got = append(got, r.Path)
		}
		if strings.Join(got, " ") != tt.want || more != tt.more || err != nil {
			t.Errorf("%s: %q, %v, %v, want %q, %v", tt.name, got, more, err, tt.want, tt.more)
		}
	}
	// Links that double the files at each level end at the limits.
	double := map[string]string{"skills/a/SKILL.md": skillMD("a"), "skills/a/l0/f": ""}
	for i := 1; i < 30; i++ {
		double[fmt.Sprintf("skills/a/l%d/x", i)] = fmt.Sprintf("-> ../l%d", i-1)
		double[fmt.Sprintf("skills/a/l%d/y", i)] = fmt.Sprintf("-> ../l%d", i-1)
	}
	s := load(t, open(t, dir(t, double)), skills.Options{Limits: skills.Limits{Entries: 1000}}).Skills[0]
	if list, more, err := s.Resources(context.Background(), 1<<30); len(list) == 0 || len(list) > 1000 || !more || err != nil {
		t.Errorf("%d files, %v, %v", len(list), more, err)
	}
}

// [S10] A directory that cannot be read hides no other.
func TestResourcesUnreadable(t *testing.T) {
	files := fstest.MapFS{}
	for _, name := range []string{"a/SKILL.md", "a/b/f", "a/c/d/f", "a/c/e", "a/z"} {
		files["skills/"+name] = &fstest.MapFile{Data: []byte(skillMD("a"))}
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
	s := load(t, root, skills.Options{}).Skills[0]
	for name, want := range map[string]string{"": "b/f c/d/f c/e z", "skills/a/b": "c/d/f c/e z", "skills/a/c/d": "b/f c/e z", "skills/a/z": "b/f c/d/f c/e"} {
		broken = name
		list, more, err := s.Resources(context.Background(), 0)
		var got []string
		for _, r := range list {
			got = append(got, r.Path)
		}
		if strings.Join(got, " ") != want || more != (name != "") || err != nil {
			t.Errorf("%q broken: %q, %v, %v, want %q", name, got, more, err, want)
		}
	}
	broken = "skills/a"
	if _, _, err := s.Resources(context.Background(), 0); !errors.Is(err, errAny) {
		t.Errorf("the skill's own directory broken: %v", err)
	}
}

// [S10] The catalog holds no bodies.
func TestBodiesAreNotKept(t *testing.T) {
	const count, size = 200, 200 << 10
	at := t.TempDir()
	body := strings.Repeat("x", size)
	for i := range count {
		name := fmt.Sprintf("s%d", i)
		fill(t, at, map[string]string{"skills/" + name + "/SKILL.md": skillMD(name) + body})
	}
	root := open(t, at)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	l := load(t, root, skills.Options{})
	grown := heap() - before
	if len(l.Skills) != count {
		t.Fatalf("%d skills", len(l.Skills))
	}
	own := 0
	for _, s := range l.Skills {
		own += len(s.Frontmatter()) + len(s.Name()) + len(s.Description()) + len(s.Location())
	}
	if each := (grown - int64(own)) / count; each > 2<<10 {
		t.Errorf("each skill keeps %d bytes beyond its text", each)
	}
	runtime.KeepAlive(l)
	runtime.KeepAlive(root)
}

// [L4] A skill is safe for concurrent use.
func TestConcurrentUse(t *testing.T) {
	root := open(t, dir(t, map[string]string{
		"skills/a/SKILL.md": strings.Replace(skillMD("a"), "---\nBody", "k: {l: m}\nmetadata: {n: o}\n---\nBody", 1),
		"skills/a/assets/x": "x",
		"skills/b/SKILL.md": invalid,
	}))
	s := load(t, root, skills.Options{}).Skills[0]
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if l, err := skills.Load(context.Background(), root, "skills", skills.Options{}); err != nil || len(l.Skills) != 1 || len(l.Skipped) != 1 {
					t.Errorf("%v, %v", l, err)
				}
				var k map[string]string
				if err := s.Decode("k", &k); err != nil || k["l"] != "m" {
					t.Errorf("%v, %v", k, err)
				}
				if body, err := s.Body(); err != nil || body != "Body of a.\n" {
					t.Errorf("%q, %v", body, err)
				}
				if list, more, err := s.Resources(context.Background(), 0); err != nil || more || len(list) != 1 {
					t.Errorf("%v, %v, %v", list, more, err)
				}
				files, err := s.FS()
				if err != nil {
					t.Error(err)
					return
				}
				f, err := files.Open("assets/x")
				if err != nil {
					t.Error(err)
					return
				}
				if data, err := io.ReadAll(f); err != nil || string(data) != "x" {
					t.Errorf("%q, %v", data, err)
				}
				f.Close()
				s.Metadata()["n"] = "changed"
			}
		})
	}
	wg.Wait()
}

func TestEveryLoadCodeHasARow(t *testing.T) {
	met := map[string]bool{string(finding.SkillUnreadable): true} // TestLoadUnreadable
	for _, row := range listedRows {
		for _, f := range row.findings {
			met[strings.Fields(f)[4]] = true
		}
	}
	for _, code := range loadCodes {
		if !met[string(code)] {
			t.Errorf("no row produces %s", code)
		}
	}
}

func TestStateString(t *testing.T) {
	for state, want := range map[skills.State]string{skills.StateAbsent: "absent", skills.StateLoaded: "loaded", skills.StateInvalid: "invalid", 9: "invalid"} {
		if got := state.String(); got != want {
			t.Errorf("%d: %q, want %q", state, got, want)
		}
	}
}
