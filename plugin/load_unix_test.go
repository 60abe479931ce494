//go:build unix

package plugin_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/skills"
)

// odd puts something that is no regular file at a path, or skips.
var odd = map[string]func(t *testing.T, path string){
	"FIFO": func(t *testing.T, path string) {
		if err := syscall.Mkfifo(path, 0o666); err != nil {
			t.Skip(err)
		}
	},
	"socket": func(t *testing.T, path string) {
		t.Chdir(filepath.Dir(path)) // a socket's path is short
		l, err := net.Listen("unix", filepath.Base(path))
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { l.Close() })
	},
	"device": func(t *testing.T, path string) {
		if err := os.Symlink("/dev/zero", path); err != nil { // mknod is for root
			t.Skip(err)
		}
	},
	"directory": func(t *testing.T, path string) {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	},
	"link to a FIFO": func(t *testing.T, path string) {
		inside := path + ".fifo"
		if err := syscall.Mkfifo(inside, 0o666); err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(filepath.Base(inside), path); err != nil {
			t.Skip(err)
		}
	},
}

// TestOddFiles: nothing that is no regular file is waited for. [L6] [C1] [S1] [M7]
func TestOddFiles(t *testing.T) {
	for kind, put := range odd {
		outside := kind == "device" // the link leads outside
		for _, name := range []string{"plugin.json", "mcp.json", "skills", "skills/a/SKILL.md", "bin"} {
			if kind == "directory" && name == "skills" {
				continue
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				dir := write(t, map[string]string{"skills/a/x": "", "skills/ok/SKILL.md": okSkill, "mcp.json": fill.Replace(servers(`"s":{"type":"stdio","command":"./bin"}`, `"t":{"type":"stdio","command":"c","cwd":"./bin"}`))})
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				put(t, path)
				type result struct {
					p   *plugin.Plugin
					err error
				}
				done := make(chan result, 1)
				go func() {
					p, err := plugin.Load(context.Background(), dir, plugin.Options{})
					done <- result{p, err}
				}()
				var r result
				select {
				case r = <-done:
				case <-time.After(20 * time.Second):
					t.Fatal("loading hangs")
				}
				got := briefs(outcome(t, r.p, r.err))
				var want []string
				switch name {
				case "plugin.json":
					want = []string{"manifest-not-regular error plugin"}
				case "mcp.json":
					want = []string{"mcp-not-regular error component"}
				case "skills":
					want = []string{"skills-not-directory error component"}
				case "skills/a/SKILL.md":
					want = []string{"skill-file-not-regular warning skill=a"}
				case "bin":
					want = []string{"server-command-not-regular error server=s", "server-cwd-not-directory error server=t"}
					if kind == "directory" {
						want = want[:1]
					}
				}
				if outside {
					for i := range want {
						want[i] = strings.NewReplacer("skill-file-not-regular warning", "skill-escapes error", "not-regular", "escapes", "not-directory", "escapes").Replace(want[i])
					}
				}
				for i := range got {
					got[i], _, _ = strings.Cut(got[i], " /")
				}
				got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, "-missing ") }) // there is no bin
				if !slices.Equal(got, want) {
					t.Errorf("findings = %q, want %q", got, want)
				}
				if name != "skills" && name != "plugin.json" && r.p.Skill("ok") == nil {
					t.Error("the sibling did not load")
				}
			})
		}
	}
}

// TestDeviceNode: a device of the package's own is not opened. [L6]
func TestDeviceNode(t *testing.T) {
	dir := write(t, nil)
	if err := mknod(filepath.Join(dir, "mcp.json")); err != nil {
		t.Skip(err)
	}
	if got := briefs(mustLoad(t, dir).Findings()); !slices.Equal(got, []string{"mcp-not-regular error component"}) {
		t.Errorf("findings = %q", got)
	}
}

// asNobody says that this process is to give up its rights and work in the
// directory that it names.
const asNobody = "PLUGBERTH_TEST_AS_NOBODY"

// TestPermissions: an I/O error counts at the boundary of the file it met. [L3] [Q1]
func TestPermissions(t *testing.T) {
	base := os.Getenv(asNobody)
	switch {
	case base != "":
		for _, err := range []error{os.Chdir("/"), syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)} {
			if err != nil {
				t.Skip(err)
			}
		}
		if _, err := os.Stat(base); err != nil {
			t.Skip(err) // the temporary directory is not for everybody
		}
	case os.Geteuid() == 0:
		base, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{os.Chmod(filepath.Dir(base), 0o755), os.Chmod(base, 0o777)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestPermissions$", "-test.v")
		cmd.Env = append(os.Environ(), asNobody+"="+base)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if strings.Contains(string(out), "--- SKIP") {
			t.Skipf("%s", out)
		}
		return
	default:
		base = t.TempDir()
	}
	testPermissions(t, base)
}

func testPermissions(t *testing.T, base string) {
	files := map[string]string{
		"plugin.json": smallManifest, "skills/a/SKILL.md": "---\nname: a\ndescription: d\n---\n", "skills/ok/SKILL.md": okSkill,
		"mcp.json": fill.Replace(servers(`"s":{"type":"stdio","command":"./bin/x"}`, `"t":{"type":"stdio","command":"c","cwd":"./bin/d"}`, sibling)), "bin/x": "", "bin/d/": "",
	}
	for i, c := range []struct {
		name string // of what has no permissions
		want []string
		mcp  plugin.MCPState
		s    skills.State
	}{
		{"plugin.json", []string{"manifest-unreadable error plugin"}, 0, 0},
		{"mcp.json", []string{"mcp-unreadable error component"}, plugin.MCPDisabled, skills.StateLoaded},
		{"skills", []string{"skills-unreadable error component"}, plugin.MCPConfigured, skills.StateInvalid},
		{"skills/a", []string{"skill-unreadable error skill=a"}, plugin.MCPConfigured, skills.StateLoaded},
		{"skills/a/SKILL.md", []string{"skill-unreadable error skill=a"}, plugin.MCPConfigured, skills.StateLoaded},
		{"bin", []string{"server-path-unreadable error server=s", "server-path-unreadable error server=t"}, plugin.MCPConfigured, skills.StateLoaded},
		{"", nil, 0, 0},
	} {
		dir := filepath.Join(base, string(rune('a'+i)))
		writeTo(t, dir, files)
		path := filepath.Join(dir, filepath.FromSlash(c.name))
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		p, err := plugin.Load(context.Background(), dir, plugin.Options{})
		os.Chmod(path, 0o755)
		if c.name == "" {
			if p != nil || !errors.Is(err, fs.ErrPermission) { // the root or plugin.json, as the system tells
				t.Errorf("a root without permissions: %v, %v", p, err)
			}
			continue
		}
		list := outcome(t, p, err)
		got := briefs(list)
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], " /")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		checkMessages(t, list)
		if strings.Contains(list.String(), base) {
			t.Errorf("%s: a message shows where the package lies: %v", c.name, list)
		}
		if err != nil {
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %v is not fs.ErrPermission", c.name, err)
			}
			continue
		}
		if p.MCPState() != c.mcp || p.SkillsState() != c.s || c.s == skills.StateLoaded && p.Skill("ok") == nil || c.mcp == plugin.MCPConfigured && p.Server("good") == nil {
			t.Errorf("%s: mcp %v, skills %v", c.name, p.MCPState(), p.SkillsState())
		}
		if c.name == "bin" {
			continue
		}
		// At launch the same error has its own kind.
		if err := os.Chmod(filepath.Join(dir, "bin"), 0); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"s", "t"} {
			if p.Server(name) == nil {
				continue
			}
			if plan, err := p.LaunchPlan(name, base); plan != nil || !errors.Is(err, plugin.ErrPlan) || !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: plan %v, %v", name, plan, err)
			}
		}
		os.Chmod(filepath.Join(dir, "bin"), 0o755)
	}
}

// TestSwap swaps files and directories of a package for links to another one
// while it is loaded: nothing of the other one is ever read. [P1] [L3]
func TestSwap(t *testing.T) {
	const secret = "OUTSIDE"
	dir := write(t, map[string]string{
		"skills/a/SKILL.md":                        "---\nname: a\ndescription: inside\n---\nbody\n",
		"mcp.json":                                 noServers,
		"com.x/file":                               "inside",
		"../other/plugin.json":                     fill.Replace(`{@S,"name":"outside","description":"` + secret + `","` + secret + `":1}`),
		"../other/mcp.json":                        fill.Replace(servers(`"` + secret + `":{"type":"stdio","command":"c"}`)),
		"../other/SKILL.md":                        "---\nname: a\ndescription: " + secret + "\n---\n" + secret + "\n",
		"../other/skills/a/SKILL.md":               "---\nname: a\ndescription: " + secret + "\n---\n",
		"../other/skills/" + secret:                "",
		"../other/com.x/file":                      secret,
		"../other/skills/" + secret + "s/SKILL.md": "",
	})
	base := filepath.Dir(dir)
	stop, ended := make(chan bool, 1), make(chan bool)
	go func() {
		defer close(ended)
		for {
			for name, target := range map[string]string{"plugin.json": "plugin.json", "mcp.json": "mcp.json", "skills": "skills", "skills/a": "skills/a", "skills/a/SKILL.md": "SKILL.md", "com.x": "com.x"} {
				select {
				case <-stop:
					return
				default:
				}
				path, aside := filepath.Join(dir, filepath.FromSlash(name)), filepath.Join(base, "aside")
				link := filepath.Join(base, "link")
				if os.Symlink(filepath.Join(base, "other", filepath.FromSlash(target)), link) != nil || os.Rename(path, aside) != nil || os.Rename(link, path) != nil {
					t.Error("the swap does not work")
					return
				}
				os.Rename(path, link)
				os.Rename(aside, path)
				os.Remove(link)
			}
		}
	}()
	loads, swapped := 0, 0
	// A second is long enough, but on a machine that is busy elsewhere.
	for start := time.Now(); time.Since(start) < time.Second || swapped == 0 && time.Since(start) < 20*time.Second; loads++ {
		p, err := plugin.Load(context.Background(), dir, plugin.Options{})
		list := outcome(t, p, err)
		if len(list) > 0 {
			swapped++
		}
		text := list.String()
		if err == nil {
			v := look(p)
			text += strings.Join(v.Skills, "") + strings.Join(v.Servers, "") + strings.Join(v.Skipped, "") + v.Manifest.Name + v.Manifest.Description
			if fsys, err := p.ExtensionFS("com.x"); err == nil {
				content, _ := fs.ReadFile(fsys, "file")
				text += string(content)
			} else if !errors.Is(err, paths.ErrEscape) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("com.x: %v", err)
			}
		}
		if strings.Contains(strings.ToUpper(strings.ReplaceAll(text, "leads outside", "")), secret) {
			t.Fatalf("something from outside was read: %s", text)
		}
	}
	stop <- true
	<-ended
	t.Logf("%d loads, %d of which met a swap", loads, swapped)
	if swapped == 0 {
		t.Error("no load met a swap")
	}
}
