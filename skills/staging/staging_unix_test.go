//go:build unix

package staging_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/skills/staging"
)

// inTime fails the test where something hangs.
func inTime(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("it hangs")
	}
}

// TestSpecialFiles: a FIFO or socket in the skill refuses it, one in the target
// is left alone, and neither makes anything wait.
func TestSpecialFiles(t *testing.T) { // [P6]
	root := source(t, map[string]string{"references/a.md": "a", "scripts/x": ""}, "review")
	item := items(t, root)[0]
	must(t, syscall.Mkfifo(filepath.Join(root, "skills", "review", "references", "pipe"), 0o644))
	target := staging.Target{Workspace: t.TempDir(), Dir: "s"}
	inTime(t, func() {
		if r := staged(t, target, item, staging.OutcomeRefused); !errors.Is(r.Err, paths.ErrNotRegular) {
			t.Errorf("%+v", r)
		}
	})
	must(t, os.Remove(filepath.Join(root, "skills", "review", "references", "pipe")))
	// What is left out by rule is not looked at.
	must(t, syscall.Mkfifo(filepath.Join(root, "skills", "review", "scripts", "pipe"), 0o644))
	staged(t, target, item, staging.OutcomeStaged)

	staged1 := filepath.Join(target.Workspace, "s", "review")
	must(t, os.Remove(filepath.Join(staged1, "references", "a.md")))
	for _, p := range []string{"references/a.md", "SKILL.fifo"} {
		must(t, syscall.Mkfifo(filepath.Join(staged1, filepath.FromSlash(p)), 0o644))
	}
	inTime(t, func() {
		if r := staged(t, target, item, staging.OutcomeRefused); !errors.Is(r.Err, staging.ErrModified) {
			t.Errorf("%+v", r)
		}
		if r := unstage(t, target)[0]; len(r.Kept) != 2 {
			t.Errorf("%+v", r)
		}
	})
}

// TestFIFOInTheState: what the run needs to read makes it wait just as little.
func TestFIFOInTheState(t *testing.T) {
	item := items(t, source(t, nil, "review"))[0]
	for _, name := range []string{".lock", ".target.json", "review.json"} {
		target := staging.Target{Workspace: t.TempDir(), Dir: "s"}
		fill(t, target.Workspace, map[string]string{"s/.plugberth/": ""})
		must(t, syscall.Mkfifo(filepath.Join(target.Workspace, "s", ".plugberth", name), 0o644))
		inTime(t, func() {
			results, err := target.Stage(context.Background(), item)
			if err == nil && results[0].Err == nil {
				t.Errorf("%s: it was staged", name)
			}
		})
	}
}

func TestUnreadableSource(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	root := source(t, map[string]string{"references/a.md": "a"}, "review")
	must(t, os.Chmod(filepath.Join(root, "skills", "review", "references", "a.md"), 0))
	target := staging.Target{Workspace: t.TempDir(), Dir: "s"}
	if r := staged(t, target, items(t, root)[0], staging.OutcomeRefused); !errors.Is(r.Err, fs.ErrPermission) {
		t.Errorf("%+v", r)
	}
}
