//go:build unix

package skills_test

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/plugberth/plugberth/skills"
)

// [L6] [P6] Of real files: the executable bit counts, nothing outside is looked
// at, and what might block is not opened.
func TestAuditRealFiles(t *testing.T) {
	at := dir(t, map[string]string{
		"p/skills/x/SKILL.md":  md(plain),
		"p/skills/x/tool":      "x\n",
		"p/skills/x/in.md":     "-> ../../shared.md",
		"p/skills/x/out.md":    "-> ../../../outside.md",
		"p/skills/x/dir":       "-> ../../..",
		"p/shared.md":          "a\u202eb",
		"outside.md":           "a\u202eb",
		"p/skills/x/sub/empty": "",
	})
	if err := os.Chmod(filepath.Join(at, "p", "skills", "x", "tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(at, "p", "skills", "x", "pipe.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := load(t, open(t, filepath.Join(at, "p")), skills.Options{}).Skills[0]
	var got []string
	for _, f := range auditOf(t, s, skills.AuditOptions{}) {
		got = append(got, f.File+" "+string(f.Code))
	}
	if want := []string{"skills/x/in.md skill-hidden-text", "skills/x/tool skill-script"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
