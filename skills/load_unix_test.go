//go:build unix

package skills_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/skills"
)

// [S1] [L6] Nothing that might block or act is opened.
func TestLoadSpecialFiles(t *testing.T) {
	at := dir(t, map[string]string{
		"skills/good/SKILL.md": skillMD("good"), "skills/fifo/": "", "skills/socket/": "", "skills/linked/SKILL.md": "-> ../../pipe",
	})
	for _, name := range []string{"skills/fifo/SKILL.md", "skills/a-fifo", "skills/good/pipe", "pipe"} {
		if err := syscall.Mkfifo(filepath.Join(at, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	listen(t, filepath.Join(at, "skills", "socket"))
	l := load(t, open(t, at), skills.Options{})
	check(t, l, listed{state: skills.StateLoaded, skills: []string{"good"}, findings: []string{
		"skills/fifo/SKILL.md 0:0 warning skill skill-file-not-regular fifo",
		"skills/linked/SKILL.md 0:0 warning skill skill-file-not-regular linked",
		"skills/socket/SKILL.md 0:0 warning skill skill-file-not-regular socket",
	}})
	if got, more := resources(t, l.Skills[0], 0); len(got) > 0 || more {
		t.Errorf("resources %q, %v", got, more)
	}
	files, err := l.Skills[0].FS()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Open("pipe"); !errors.Is(err, paths.ErrNotRegular) {
		t.Errorf("opening a FIFO: %v", err)
	}
}

// listen makes a socket named SKILL.md in dir; the whole path may be too long
// for one.
func listen(t *testing.T, dir string) {
	t.Chdir(dir)
	l, err := net.Listen("unix", "SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}

// [L6]
func TestLoadSkillsIsAFIFO(t *testing.T) {
	at := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(at, "skills"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(t, load(t, open(t, at), skills.Options{}), listed{state: skills.StateInvalid, findings: []string{"skills 0:0 error component skills-not-directory"}})
}

// [S10] [L6]
func TestBodyBecomesAFIFO(t *testing.T) {
	at := dir(t, map[string]string{"skills/a/SKILL.md": skillMD("a")})
	s := load(t, open(t, at), skills.Options{}).Skills[0]
	file := filepath.Join(at, "skills", "a", "SKILL.md")
	if err := errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o644)); err != nil {
		t.Fatal(err)
	}
	if body, err := s.Body(); !errors.Is(err, paths.ErrNotRegular) || body != "" {
		t.Errorf("%q, %v, want ErrNotRegular", body, err)
	}
}

// [S9] [L3]
func TestLoadWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("nothing is forbidden to root")
	}
	at := dir(t, map[string]string{"skills/a/SKILL.md": skillMD("a"), "skills/b/SKILL.md": skillMD("b"), "skills/c/SKILL.md": skillMD("c")})
	for name, mode := range map[string]os.FileMode{"a/SKILL.md": 0, "b": 0} {
		p := filepath.Join(at, "skills", name)
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(p, 0o755) })
	}
	check(t, load(t, open(t, at), skills.Options{}), listed{state: skills.StateLoaded, skills: []string{"c"}, skipped: []string{"a", "b"}, findings: []string{
		"skills/a/SKILL.md 0:0 error skill skill-unreadable a", "skills/b/SKILL.md 0:0 error skill skill-unreadable b",
	}})
}

// [S10] A file whose name is not UTF-8 cannot be opened through an fs.FS, and
// is not left out without a word.
func TestResourcesNotUTF8(t *testing.T) {
	at := dir(t, map[string]string{"skills/a/SKILL.md": skillMD("a"), "skills/a/good": "1"})
	if err := os.WriteFile(filepath.Join(at, "skills", "a", "\xff"), nil, 0o644); err != nil {
		t.Skip("such names cannot be made here: ", err)
	}
	s := load(t, open(t, at), skills.Options{}).Skills[0]
	if got, more := resources(t, s, 0); len(got) != 1 || got[0] != "good 1" || !more {
		t.Errorf("%q, %v", got, more)
	}
}
