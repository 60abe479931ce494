package staging_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/skills/staging"
)

// Variables that make this test program a run that ends in the middle.
const (
	crashAt        = "PLUGBERTH_TEST_CRASH_AT"
	crashDo        = "PLUGBERTH_TEST_CRASH_DO"
	crashSource    = "PLUGBERTH_TEST_CRASH_SOURCE"
	crashWorkspace = "PLUGBERTH_TEST_CRASH_WORKSPACE"
	crashed        = 7
)

// TestCrashChild is the run that ends in the middle, in a process of its own.
func TestCrashChild(t *testing.T) {
	at, err := strconv.Atoi(os.Getenv(crashAt))
	if err != nil {
		t.Skip("it is part of TestCrash")
	}
	target := staging.WithStep(staging.Target{Workspace: os.Getenv(crashWorkspace), Dir: "a/s"}, func(string) {
		if at--; at == 0 {
			os.Exit(crashed)
		}
	})
	if os.Getenv(crashDo) == "stage" {
		_, err = target.Stage(context.Background(), items(t, os.Getenv(crashSource))...)
	} else {
		_, err = target.UnstageAll(context.Background())
	}
	must(t, err)
}

// crash runs Stage or Unstage in a process that ends at its step n, and reports
// whether it got that far.
func crash(t *testing.T, do, source, workspace string, n int) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashChild$")
	cmd.Env = append(os.Environ(), crashAt+"="+strconv.Itoa(n), crashDo+"="+do, crashSource+"="+source, crashWorkspace+"="+workspace)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == crashed {
		return true
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

// TestCrash kills a run at each of its steps. Whoever reads the target then finds
// a skill as a whole or not at all, what others put there stays, the next run
// finishes the work, and after unstaging all is as before.
func TestCrash(t *testing.T) {
	const theirs = "theirs"
	old := source(t, map[string]string{"references/a.md": "old", "references/gone.md": "old"}, "review")
	next := source(t, map[string]string{"references/a.md": "new", "assets/b.md": "new"}, "review")
	oldFiles := map[string]string{"SKILL.md": skillMD("review"), "references/a.md": "old", "references/gone.md": "old"}
	newFiles := map[string]string{"SKILL.md": skillMD("review"), "references/a.md": "new", "assets/b.md": "new"}
	for _, scenario := range []struct {
		name, do string
		first    bool // the old skill is staged before
		others   bool // and somebody put a file there
	}{
		{"stage", "stage", false, false},
		{"update", "stage", true, true},
		{"unstage", "unstage", true, false},
	} {
		t.Run(scenario.name, func(t *testing.T) {
			for n := 1; ; n++ {
				target := staging.Target{Workspace: t.TempDir(), Dir: "a/s"}
				fill(t, target.Workspace, map[string]string{"mine": "mine"})
				before := tree(t, target.Workspace)
				if scenario.first {
					stage(t, target, items(t, old)...)
				}
				if scenario.others {
					fill(t, target.Workspace, map[string]string{"a/s/review/references/their.md": theirs})
				}
				died := crash(t, scenario.do, next, target.Workspace, n)

				// The reader of the target sees no part of a skill.
				got := map[string]string{}
				if _, err := os.Stat(filepath.Join(target.Workspace, "a", "s", "review")); err == nil {
					got = files(t, target, "review")
				}
				delete(got, "references/their.md")
				if _, ok := got["SKILL.md"]; ok && len(differ(oldFiles, got)) > 0 && len(differ(newFiles, got)) > 0 {
					t.Errorf("step %d: half a skill: %q", n, got)
				}

				// The next run goes on.
				results := stage(t, target, items(t, next)...)
				if r := results[0]; r.Err != nil {
					t.Errorf("step %d: %+v", n, r)
				}
				got = files(t, target, "review")
				if scenario.others {
					if got["references/their.md"] != theirs {
						t.Errorf("step %d: their file is gone", n)
					}
					delete(got, "references/their.md")
				}
				if d := differ(newFiles, got); len(d) > 0 {
					t.Errorf("step %d: %q", n, d)
				}
				unstage(t, target)
				if scenario.others {
					must(t, os.RemoveAll(filepath.Join(target.Workspace, "a", "s", "review")))
				}
				for _, d := range differ(before, tree(t, target.Workspace)) {
					// Directories that were made in the moment before that could be
					// recorded stay, and those in which their file was.
					if d != "+ a/" && d != "+ a/s/" {
						t.Errorf("step %d: after all: %s", n, d)
					}
				}
				if !died {
					if n < 5 {
						t.Errorf("only %d steps", n)
					}
					break
				}
			}
		})
	}
}

// TestCrashThenUnstage undoes an interrupted run without another one of Stage.
func TestCrashThenUnstage(t *testing.T) {
	old := source(t, map[string]string{"references/a.md": "old"}, "review")
	next := source(t, map[string]string{"references/a.md": "new"}, "review")
	for n := 1; ; n++ {
		target := staging.Target{Workspace: t.TempDir(), Dir: "a/s"}
		fill(t, target.Workspace, map[string]string{"a/s/mine/SKILL.md": "mine"})
		before := tree(t, target.Workspace)
		stage(t, target, items(t, old)...)
		died := crash(t, "stage", next, target.Workspace, n)
		for _, r := range unstage(t, target) {
			if r.Err != nil || r.Kept != nil {
				t.Errorf("step %d: %+v", n, r)
			}
		}
		for p := range tree(t, target.Workspace) {
			if strings.Contains(p, ".plugberth") {
				t.Errorf("step %d: %s is left", n, p)
			}
		}
		same(t, before, tree(t, target.Workspace))
		if !died {
			break
		}
	}
}
