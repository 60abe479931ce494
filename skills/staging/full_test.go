//go:build linux || darwin

package staging_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/plugberth/plugberth/skills/staging"
)

// Variables that make this test program a run that can write no file larger than
// so many bytes, as on a disk that is full.
const (
	fullAt        = "PLUGBERTH_TEST_FULL_AT"
	fullSource    = "PLUGBERTH_TEST_FULL_SOURCE"
	fullWorkspace = "PLUGBERTH_TEST_FULL_WORKSPACE"
)

// TestFullChild is that run, in a process of its own.
func TestFullChild(t *testing.T) {
	at, err := strconv.ParseUint(os.Getenv(fullAt), 10, 64)
	if err != nil {
		t.Skip("it is part of TestFullDisk")
	}
	list := items(t, os.Getenv(fullSource))
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	before := limit
	limit.Cur = at
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	target := staging.Target{Workspace: os.Getenv(fullWorkspace), Dir: "a/s"}
	results, err := target.Stage(context.Background(), list...)
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before)) // so that a report can be written
	switch {
	case err == nil && len(results) == 1 && results[0].Err == nil:
	case errors.Is(err, staging.ErrTarget), err == nil && results[0].Outcome == staging.OutcomeRefused && errors.Is(results[0].Err, staging.ErrTarget):
		t.Fatal("it is full")
	default:
		t.Fatal(results, err)
	}
}

// TestFullDisk: where a file cannot be written any more, the skill is refused and
// all is as it was before; once there is room, it is staged.
func TestFullDisk(t *testing.T) {
	old := source(t, map[string]string{"references/a.md": "old"}, "review")
	next := source(t, map[string]string{"references/a.md": strings.Repeat("new ", 2000), "assets/b.md": "b"}, "review")
	for _, first := range []bool{false, true} {
		for _, at := range []int{0, 40, 400, 2000} {
			target := staging.Target{Workspace: t.TempDir(), Dir: "a/s"}
			fill(t, target.Workspace, map[string]string{"mine": "mine"})
			empty := tree(t, target.Workspace)
			if first {
				stage(t, target, items(t, old)...)
			}
			before := tree(t, target.Workspace)
			cmd := exec.Command(os.Args[0], "-test.run=^TestFullChild$")
			cmd.Env = append(os.Environ(), fullAt+"="+strconv.Itoa(at), fullSource+"="+next, fullWorkspace+"="+target.Workspace)
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "it is full") {
				t.Fatalf("%d bytes: %v\n%s", at, err, out)
			}
			same(t, before, tree(t, target.Workspace))
			if r := stage(t, target, items(t, next)...)[0]; r.Err != nil {
				t.Errorf("%d bytes: %v", at, r.Err)
			}
			unstage(t, target)
			same(t, empty, tree(t, target.Workspace))
		}
	}
}
