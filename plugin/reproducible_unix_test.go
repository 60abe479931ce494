//go:build unix

package plugin_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plugberth/plugberth/plugin"
)

const reproduceEnv = "PLUGBERTH_TEST_REPRODUCE"

// TestReproduceHelper is the other process of TestReproducible: it builds a
// package from a directory and says what it wrote.
func TestReproduceHelper(t *testing.T) {
	dir := os.Getenv(reproduceEnv)
	if dir == "" {
		t.Skip("run by TestReproducible")
	}
	p := mustLoad(t, dir)
	d, err := p.Draft(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	pkg := mustBuild(t, d)
	zip, tgz := bothArchives(t, pkg)
	out := filepath.Join(filepath.Dir(dir), "out")
	if err := pkg.WriteDir(context.Background(), out, plugin.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("made %x %x %s", sha256.Sum256(zip), sha256.Sum256(tgz), pkg.Hash())
	for _, name := range []string{".", "plugin.json", "bin", "bin/run", "skills/a/SKILL.md", "empty"} {
		info, err := os.Stat(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf(" %s=%v", name, info.Mode())
	}
	fmt.Println(" end")
}

// TestReproducible: the same bytes and modes in two directories, with another
// umask, time zone and file times. [X2] [X3]
func TestReproducible(t *testing.T) {
	files := map[string]string{"skills/a/SKILL.md": okSkillNamed("a"), "bin/run": "#!/bin/sh\n", "empty/": "", "é.md": "x", "mcp.json": noServers}
	var first string
	for _, c := range []struct {
		umask, zone string
		mode        os.FileMode
		when        time.Time
	}{
		{"022", "UTC", 0o755, time.Now()},
		{"077", "Asia/Kathmandu", 0o711, time.Unix(1, 0)},
		{"000", "America/St_Johns", 0o777, time.Date(2099, 12, 31, 23, 59, 59, 0, time.UTC)},
	} {
		dir := write(t, files)
		run := filepath.Join(dir, "bin", "run")
		if err := os.Chmod(run, c.mode); err != nil {
			t.Fatal(err)
		}
		for name := range files {
			if err := os.Chtimes(filepath.Join(dir, name), c.when, c.when); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("sh", "-c", `umask "$0" && exec "$1" -test.run '^TestReproduceHelper$' -test.v`, c.umask, os.Args[0])
		cmd.Env = append(os.Environ(), reproduceEnv+"="+dir, "TZ="+c.zone)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		made := between(string(out), "made ", " end")
		if first == "" {
			first = made
		}
		if made == "" || made != first {
			t.Errorf("umask %s, zone %s:\n%s\nwant\n%s", c.umask, c.zone, made, first)
		}
	}
	const modes = ".=drwxr-xr-x plugin.json=-rw-r--r-- bin=drwxr-xr-x bin/run=-rwxr-xr-x skills/a/SKILL.md=-rw-r--r-- empty=drwxr-xr-x"
	if got := between(first+" end", " .=", " end"); ".="+got != modes {
		t.Errorf("modes .=%s, want %s", got, modes)
	}
}

// between returns what stands between two texts, or "".
func between(s, from, to string) string {
	_, s, ok := strings.Cut(s, from)
	s, _, ok2 := strings.Cut(s, to)
	if !ok || !ok2 {
		return ""
	}
	return s
}
