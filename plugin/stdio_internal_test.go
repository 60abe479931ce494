package plugin

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plugberth/plugberth/plugin/finding"
)

// commandCases are texts of command and the code each gets, "" where the text
// is accepted. Those that only Windows refuses are in the paths package's tests.
var commandCases = []struct {
	command string
	code    finding.Code
}{
	{"node", ""}, {"npx", ""}, {"python3.12", ""}, {"a-b_c+d", ""}, {"日本", ""}, {"...", ""}, {".hidden", ""}, {"~", ""}, {"$HOME", ""}, {"-x", ""},
	{"./bin/server", ""}, {"./bin/my tool", ""}, {"./bin/my  tool --x", ""}, {"./a/../b", ""}, {"./..data/x", ""}, {"./bin/", ""}, {"./", ""}, {"./.", ""}, {".//x", ""}, {"./\t", ""},
	{"./${PLUGIN_ROOT}/x", ""}, {"./../x", ""}, // where they lead is for the resolver
	{"", finding.ServerCommandInvalid}, {".", finding.ServerCommandInvalid}, {"..", finding.ServerCommandInvalid}, {"../x", finding.ServerCommandInvalid}, {"../my tool", finding.ServerCommandInvalid},
	{"/usr/bin/node", finding.ServerCommandInvalid}, {"/usr/bin/node x", finding.ServerCommandInvalid}, {"bin/server", finding.ServerCommandInvalid}, {"a/", finding.ServerCommandInvalid}, {"/", finding.ServerCommandInvalid},
	{`.\x`, finding.ServerCommandInvalid}, {`bin\x`, finding.ServerCommandInvalid}, {`C:\x.exe`, finding.ServerCommandInvalid}, {`\\host\share\x`, finding.ServerCommandInvalid},
	{"${PLUGIN_ROOT}/x", finding.ServerCommandInvalid}, {"${PLUGIN_ROOT}", ""}, {"${HOME}/x y", finding.ServerCommandInvalid}, {"~/x", finding.ServerCommandInvalid},
	{"file:///x", finding.ServerCommandInvalid}, {".. ", finding.ServerCommandInvalid}, {". x", finding.ServerCommandInvalid},
	{"node server.js", finding.ServerCommandShellLine}, {"node ./server.js", finding.ServerCommandShellLine}, {"npx -y @scope/pkg", finding.ServerCommandShellLine}, {" node", finding.ServerCommandShellLine}, {"node ", finding.ServerCommandShellLine},
	{" ", finding.ServerCommandShellLine}, {"a\tb", finding.ServerCommandShellLine}, {"a\nb", finding.ServerCommandShellLine}, {"a\u00a0b", finding.ServerCommandShellLine}, {"bash -c 'x'", finding.ServerCommandShellLine},
	{"a\x00", finding.ServerNUL}, {"\x00", finding.ServerNUL}, {"./a\x00", finding.ServerNUL}, {"/a\x00", finding.ServerNUL},
}

// [C3] [P3] [P4]
func TestCheckCommand(t *testing.T) {
	for _, c := range commandCases {
		f := checkCommand(c.command)
		if f == nil && c.code != "" || f != nil && f.code != c.code {
			t.Errorf("checkCommand(%q) = %+v, want %q", c.command, f, c.code)
		}
		if f != nil && len(c.command) > 3 && strings.Contains(f.message, c.command) && !strings.HasPrefix(c.command, "$") {
			t.Errorf("the message for %q quotes it", c.command)
		}
	}
	if f := checkCommand("node server.js"); !strings.Contains(f.message, "args") {
		t.Errorf("%q does not say where arguments go", f.message)
	}
}

// cwdCases are texts of cwd, what each is split into, and the code it gets.
var cwdCases = []struct {
	cwd   string
	base  cwdBase
	below string
	code  finding.Code
}{
	{"./", cwdRoot, "./", ""}, {"./a", cwdRoot, "./a", ""}, {"./a/../b/", cwdRoot, "./a/../b/", ""}, {"./..data", cwdRoot, "./..data", ""}, {"./a b", cwdRoot, "./a b", ""}, {"./.", cwdRoot, "./.", ""},
	{"./../x", cwdRoot, "./../x", ""}, // where it leads is for the resolver
	{"${PLUGIN_ROOT}", cwdRoot, "./", ""}, {"${PLUGIN_ROOT}/", cwdRoot, "./", ""}, {"${PLUGIN_ROOT}/a", cwdRoot, "./a", ""}, {"${PLUGIN_ROOT}//a", cwdRoot, "./a", ""}, {"${PLUGIN_ROOT}/..", cwdRoot, "./..", ""},
	{"${PLUGIN_DATA}", cwdData, "./", ""}, {"${PLUGIN_DATA}/", cwdData, "./", ""}, {"${PLUGIN_DATA}/a/b", cwdData, "./a/b", ""}, {"${PLUGIN_DATA}///", cwdData, "./", ""},
	{"${PLUGIN_ROOT}/${PLUGIN_DATA}", cwdRoot, "./${PLUGIN_DATA}", ""}, {"./${PLUGIN_ROOT}", cwdRoot, "./${PLUGIN_ROOT}", ""},
	{"", 0, "", finding.ServerCwdInvalid}, {".", 0, "", finding.ServerCwdInvalid}, {"..", 0, "", finding.ServerCwdInvalid}, {"a", 0, "", finding.ServerCwdInvalid}, {"../a", 0, "", finding.ServerCwdInvalid}, {"/", 0, "", finding.ServerCwdInvalid},
	{"/tmp", 0, "", finding.ServerCwdInvalid}, {" ./a", 0, "", finding.ServerCwdInvalid}, {`.\a`, 0, "", finding.ServerCwdInvalid}, {"~", 0, "", finding.ServerCwdInvalid}, {"${PLUGIN_ROOT}x", 0, "", finding.ServerCwdInvalid},
	{"${PLUGIN_ROOT}..", 0, "", finding.ServerCwdInvalid}, {`${PLUGIN_ROOT}\a`, 0, "", finding.ServerCwdInvalid}, {"${PLUGIN_DATA}${PLUGIN_ROOT}", 0, "", finding.ServerCwdInvalid}, {"$PLUGIN_ROOT", 0, "", finding.ServerCwdInvalid},
	{"${plugin_root}", 0, "", finding.ServerCwdInvalid}, {"${HOME}/x", 0, "", finding.ServerCwdInvalid}, {" ${PLUGIN_ROOT}", 0, "", finding.ServerCwdInvalid}, {"${PLUGIN_ROOT} ", 0, "", finding.ServerCwdInvalid}, {"file://./", 0, "", finding.ServerCwdInvalid},
	{"./\x00", 0, "", finding.ServerNUL}, {"\x00", 0, "", finding.ServerNUL}, {"${PLUGIN_DATA}/\x00", 0, "", finding.ServerNUL},
}

// [C5] [P3] [P4]
func TestParseCwd(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("some of these names are refused there")
	}
	for _, c := range cwdCases {
		base, below, f := parseCwd(c.cwd)
		if f != nil && (f.code != c.code || c.code == "") || f == nil && (c.code != "" || base != c.base || below != c.below) {
			t.Errorf("parseCwd(%q) = %v, %q, %+v; want %v, %q, %q", c.cwd, base, below, f, c.base, c.below, c.code)
		}
	}
}

// TestVersionMismatch: mcp.json follows the version of plugin.json. [C1]
func TestVersionMismatch(t *testing.T) {
	next := newVersion("2.0.0")
	next.schemas = versions[0].schemas
	versions = append(versions, next)
	defer func() { versions = versions[:1] }()
	for _, c := range []struct {
		manifest, mcp string
		state         MCPState
	}{
		{"1.0.0", "1.0.0", MCPConfigured}, {"2.0.0", "2.0.0", MCPConfigured}, {"1.0.0", "2.0.0", MCPDisabled}, {"2.0.0", "1.0.0", MCPDisabled},
	} {
		p, err := LoadFS(context.Background(), fstest.MapFS{
			"plugin.json":       {Data: []byte(`{"$schema":"` + identifierBase + c.manifest + `/plugin.schema.json","name":"a"}`)},
			"mcp.json":          {Data: []byte(`{"mcpServers":{},"$schema":"` + identifierBase + c.mcp + `/mcp.schema.json"}`)},
			"skills/a/SKILL.md": {Data: []byte("---\nname: a\ndescription: d\n---\n")},
		}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p.MCPState() != c.state || p.Manifest().SpecVersion != c.manifest || len(p.Skills()) != 1 {
			t.Errorf("%s with %s: %v, %v", c.manifest, c.mcp, p.MCPState(), p.Findings())
		}
		if list := p.Findings(); c.state == MCPDisabled && (len(list) != 1 || list[0].Code != finding.MCPVersionMismatch || list[0].Pointer != "/$schema" || list[0].Line != 1 || list[0].Column != 28) {
			t.Errorf("%s with %s: %v", c.manifest, c.mcp, list)
		}
	}
}
