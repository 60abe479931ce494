package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin"
)

// entryFor returns an mcp.json with one stdio server named s.
func entryFor(t testing.TB, command string, more map[string]any) string {
	t.Helper()
	entry := map[string]any{"type": "stdio", "command": command}
	for name, value := range more {
		entry[name] = value
	}
	out, err := json.Marshal(map[string]any{"$schema": mcpSchema, "mcpServers": map[string]any{"s": entry}})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// layout is a directory with every kind of thing that a path can lead to.
var layout = map[string]string{
	"bin/server":       "#!/bin/sh\n",
	"bin/my tool":      "#!/bin/sh\n",
	"..data/run":       "x",
	"deep/er/prog":     "x",
	"link":             "-> deep/er",
	"bin/out":          "-> ../../outside/prog",
	"bin/outdir":       "-> ../../outside",
	"bin/in":           "-> server",
	"bin/back":         "-> ../../package/bin/server",
	"bin/dangling":     "-> gone",
	"bin/danglingout":  "-> ../../gone",
	"bin/loop":         "-> loop",
	"bin/self":         "-> .",
	"outside":          "-> ../outside",
	"../outside/prog":  "secret",
	"../package2/prog": "a sibling whose name begins like the root's",
}

// pathCase is a command or cwd on that layout.
type pathCase struct {
	path     string
	code     string // of the one finding, or ""
	resolved string // in the plan, relative to the root; "" where there is no plan
}

// [C3] [P1] [P2] [P3] [P5] [E3]
func TestCommandOnDisk(t *testing.T) {
	for _, c := range []pathCase{
		{"./bin/server", "", "bin/server"},
		{"./bin/my tool", "", "bin/my tool"},
		{"./bin/../bin/server", "", "bin/server"},
		{".//bin/./server", "", "bin/server"},
		{"./..data/run", "", "..data/run"},
		{"./bin/in", "", "bin/server"},
		{"./bin/back", "", "bin/server"},
		{"./bin/self/self/server", "", "bin/server"},
		{"./link/prog", "", "deep/er/prog"},
		{"./link/../../bin/server", "", "bin/server"},
		{"./link/../prog", "server-command-missing", "deep/prog"}, // not the lexical prog
		{"./../package/bin/server", "", "bin/server"},             // leaves and comes back
		{"./bin/gone", "server-command-missing", "bin/gone"},
		{"./gone/x/../y", "server-command-missing", "gone/y"},
		{"./bin/dangling", "server-command-missing", "bin/gone"},
		{"./bin/server/x", "server-command-missing", "bin/server/x"},
		{"./", "server-command-not-regular", ""},
		{"./.", "server-command-not-regular", ""},
		{"./bin", "server-command-not-regular", ""},
		{"./bin/..", "server-command-not-regular", ""},
		{"./link", "server-command-not-regular", ""},
		{"./bin/out", "server-command-escapes", ""},
		{"./bin/outdir/prog", "server-command-escapes", ""},
		{"./bin/outdir/gone", "server-command-escapes", ""},
		{"./bin/danglingout", "server-command-escapes", ""},
		{"./outside/prog", "server-command-escapes", ""},
		{"./../outside/prog", "server-command-escapes", ""},
		{"./../package2/prog", "server-command-escapes", ""},
		{"./../gone", "server-command-escapes", ""},
		{"./gone/../../x", "server-command-escapes", ""},
		{"./bin/loop", "server-command-escapes", ""},
		{"./${PLUGIN_ROOT}/bin/server", "server-command-missing", "${PLUGIN_ROOT}/bin/server"}, // never expanded
	} {
		t.Run(c.path, func(t *testing.T) {
			files := map[string]string{"mcp.json": entryFor(t, c.path, nil)}
			for name, text := range layout {
				files[name] = text
			}
			dir := write(t, files)
			checkPath(t, dir, c, func(plan *plugin.LaunchPlan) string { return plan.Program })
		})
	}
}

// [C5] [P1] [P2] [P3] [P5] [E3]
func TestCwdOnDisk(t *testing.T) {
	for _, c := range []pathCase{
		{"./", "", "."},
		{"./bin", "", "bin"},
		{"./bin/", "", "bin"},
		{"./bin/../deep", "", "deep"},
		{"./..data", "", "..data"},
		{"./link", "", "deep/er"},
		{"./link/..", "", "deep"}, // the parent of what the link leads to
		{"./bin/self", "", "bin"},
		{"./../package", "", "."},
		{"${PLUGIN_ROOT}", "", "."},
		{"${PLUGIN_ROOT}/", "", "."},
		{"${PLUGIN_ROOT}/link/../er", "", "deep/er"},
		{"./gone", "server-cwd-missing", "gone"},
		{"${PLUGIN_ROOT}/gone", "server-cwd-missing", "gone"},
		{"./bin/server", "server-cwd-not-directory", ""},
		{"./bin/in", "server-cwd-not-directory", ""},
		{"./bin/outdir", "server-cwd-escapes", ""},
		{"./outside", "server-cwd-escapes", ""},
		{"./..", "server-cwd-escapes", ""},
		{"${PLUGIN_ROOT}/..", "server-cwd-escapes", ""},
		{"./../package2", "server-cwd-escapes", ""},
		{"./bin/loop", "server-cwd-escapes", ""},
		{"${PLUGIN_DATA}/..", "server-cwd-escapes", ""},
		{"${PLUGIN_DATA}/a/../../b", "server-cwd-escapes", ""},
		{"", "server-cwd-invalid", ""},
		{".", "server-cwd-invalid", ""},
		{"bin", "server-cwd-invalid", ""},
		{"${PLUGIN_ROOT}x", "server-cwd-invalid", ""},
	} {
		t.Run(c.path, func(t *testing.T) {
			files := map[string]string{"mcp.json": entryFor(t, "node", map[string]any{"cwd": c.path})}
			for name, text := range layout {
				files[name] = text
			}
			dir := write(t, files)
			checkPath(t, dir, c, func(plan *plugin.LaunchPlan) string { return plan.Dir })
		})
	}
}

func checkPath(t *testing.T, dir string, c pathCase, part func(*plugin.LaunchPlan) string) {
	t.Helper()
	p := mustLoad(t, dir)
	list := p.Findings()
	checkMessages(t, list)
	if c.code == "" && len(list) != 0 || c.code != "" && (len(list) != 1 || string(list[0].Code) != c.code) {
		t.Errorf("findings %v, want %q", list, c.code)
	}
	plan, err := p.LaunchPlan("s", filepath.Join(dir, "..", "data"))
	if c.resolved == "" {
		if !errors.Is(err, plugin.ErrNoServer) || plan != nil {
			t.Errorf("a skipped server has a plan: %+v, %v", plan, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, filepath.FromSlash(c.resolved)); part(plan) != want {
		t.Errorf("resolved = %s, want %s", part(plan), want)
	}
}

// TestResolvedAgainAtLaunch: what changed since the load counts. [P5] [E4]
func TestResolvedAgainAtLaunch(t *testing.T) {
	dir := write(t, map[string]string{
		"mcp.json": fill.Replace(servers(`"command":{"type":"stdio","command":"./bin/later"}`, `"cwd":{"type":"stdio","command":"c","cwd":"./later"}`)),
		"bin/ok":   "x",
	})
	p := mustLoad(t, dir)
	data := filepath.Join(dir, "..", "data")
	for _, name := range []string{"command", "cwd"} {
		if _, err := p.LaunchPlan(name, data); err != nil {
			t.Errorf("%s is missing but inside: %v", name, err)
		}
	}
	writeTo(t, dir, map[string]string{"bin/later": "-> ../../outside", "later": "-> ../outside", "../outside/": ""})
	for _, name := range []string{"command", "cwd"} {
		plan, err := p.LaunchPlan(name, data)
		if !errors.Is(err, paths.ErrEscape) || plan != nil {
			t.Errorf("%s leads out now: %+v, %v", name, plan, err)
		}
	}
}

// TestLaunchErrorsShowNoControls: an error of a plan may be shown, and a path
// in mcp.json is a stranger's text. [E4]
func TestLaunchErrorsShowNoControls(t *testing.T) {
	dir := write(t, map[string]string{"mcp.json": entryFor(t, "node", map[string]any{"cwd": "./\u202e\x1b[2Jx"})})
	p := mustLoad(t, dir)
	writeTo(t, dir, map[string]string{"\u202e\x1b[2Jx": "-> ../.."})
	_, err := p.LaunchPlan("s", filepath.Join(dir, "..", "data"))
	if !errors.Is(err, paths.ErrEscape) || unprintable(err.Error()) >= 0 {
		t.Errorf("error = %q", err)
	}
}

// TestFSCommands: commands and cwd are judged in any file system, and nothing
// can be launched from one. [L1] [C3] [C5]
func TestFSCommands(t *testing.T) {
	for command, code := range map[string]string{
		"./bin/x": "", "./l": "", "./gone": "server-command-missing", "./bin": "server-command-not-regular", "./out": "server-command-escapes", "./abs": "server-command-escapes", "./../x": "server-command-escapes",
	} {
		fsys := memory(map[string]string{"mcp.json": entryFor(t, command, nil), "bin/x": "", "l": "-> bin/x", "out": "-> ../x", "abs": "-> /bin/sh"})
		p := mustLoadFS(t, fsys, plugin.Options{})
		if got := strings.Join(briefs(p.Findings()), "; "); (code == "") != (got == "") || !strings.HasPrefix(got, code) {
			t.Errorf("%s: %s, want %q", command, got, code)
		}
		if plan, err := p.LaunchPlan("s", t.TempDir()); !errors.Is(err, plugin.ErrNoDirectory) || plan != nil {
			t.Errorf("%s: %v, %v", command, plan, err)
		}
	}
}

// TestManyPaths: hundreds of paths that walk through links end at once. [P5]
func TestManyPaths(t *testing.T) {
	var entries []string
	for i := range 200 {
		entries = append(entries, fmt.Sprintf(`"s%d":{"type":"stdio","command":"./%sx","cwd":"./%s"}`, i, strings.Repeat("l/", 39), strings.Repeat("l/../", 30)))
	}
	dir := write(t, map[string]string{"mcp.json": fill.Replace(servers(entries...)), "l": "-> .", "x": "x"})
	p, err := plugin.Load(context.Background(), dir, plugin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Servers())+len(p.SkippedServers()) != 200 {
		t.Errorf("%d servers, %d skipped", len(p.Servers()), len(p.SkippedServers()))
	}
}
