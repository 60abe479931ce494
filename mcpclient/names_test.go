package mcpclient

import (
	"regexp"
	"strings"
	"testing"
)

func TestToolName(t *testing.T) { // [R10]
	long := strings.Repeat("x", 60)
	for _, tt := range []struct{ plugin, server, tool, want string }{
		{"demo", "files", "read_file", "mcp__demo__files__read_file"},
		{"", "files", "read_file", "mcp__files__read_file"},
		{"demo", "files", "Read-File", "mcp__demo__files__Read-File"},
		{"", "s", strings.Repeat("t", 56), "mcp__s__" + strings.Repeat("t", 56)},

		{"a.b", "s", "t", "mcp__a_b__s__t_HASH"},
		{"a", "my server", "t", "mcp__a__my_server__t_HASH"},
		{"a", "s", "read/file", "mcp__a__s__read_file_HASH"},
		{"a", "s", "ünïcode", "mcp__a__s___n_code_HASH"},
		{"a", "s", "t\x00\x1b[31m", "mcp__a__s__t___31m_HASH"},
		{"a", "s", "", "mcp__a__s___HASH"},
		{"a", "", "t", "mcp__a____t_HASH"},
		{"a", "s", "x__y", "mcp__a__s__x__y_HASH"},
		{"a", "s", "_x", "mcp__a__s___x_HASH"},
		{"a", "s", "x_", "mcp__a__s__x__HASH"},
		{"", "s", strings.Repeat("t", 57), "mcp__s__" + strings.Repeat("t", 45) + "_HASH"},
		{"plug", long, long, "mcp__plug__" + strings.Repeat("x", 20) + "__" + strings.Repeat("x", 20) + "_HASH"},
	} {
		got := ToolName(tt.plugin, tt.server, tt.tool)
		want, hashed := strings.CutSuffix(tt.want, "HASH")
		if hashed {
			want += hashName(tt.plugin, tt.server, tt.tool)
		}
		if got != want {
			t.Errorf("ToolName(%q, %q, %q) = %q, want %q", tt.plugin, tt.server, tt.tool, got, want)
		}
	}
}

// TestToolNameApart holds that parts which look alike once joined, cut or
// replaced have names of their own.
func TestToolNameApart(t *testing.T) { // [R10]
	long := strings.Repeat("x", 300)
	seen := map[string][3]string{}
	for _, three := range [][3]string{
		{"a", "b", "c"}, {"a", "b__c", "d"}, {"a", "b", "c__d"}, {"a__b", "c", "d"}, {"", "a__b__c", "d"}, {"a", "b__c__d", ""},
		{"a", "b_", "c"}, {"a", "b", "_c"}, {"a_", "b", "c"}, {"a", "_b", "c"},
		{"a", "b c", "d"}, {"a", "b.c", "d"}, {"a", "b_c", "d"}, {"a", "b-c", "d"}, {"a", "B-C", "d"},
		{"a", "b", long}, {"a", "b", long + "y"}, {"a", "b", long + "z"}, {"a", long, "b"},
		{"a", "b", "\xff"}, {"a", "b", "\xfe"}, {"a", "b", "\ufffd"}, {"a", "b", "\x00"},
	} {
		name := ToolName(three[0], three[1], three[2])
		if other, dup := seen[name]; dup {
			t.Errorf("%q and %q are both %q", three, other, name)
		}
		seen[name] = three
	}
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func FuzzToolName(f *testing.F) {
	f.Add("demo", "server", "tool")
	f.Add("", "", "\x00")
	f.Fuzz(func(t *testing.T, plugin, server, tool string) {
		name := ToolName(plugin, server, tool)
		if !validName.MatchString(name) {
			t.Fatalf("ToolName(%q, %q, %q) = %q", plugin, server, tool, name)
		}
		if name != ToolName(plugin, server, tool) {
			t.Fatal("not a function of the three")
		}
		// A name without a hash says its parts.
		if rest, _ := strings.CutPrefix(name, "mcp__"); rest == strings.Join([]string{plugin, server, tool}, "__") {
			parts := strings.Split(rest, "__")
			if len(parts) != 3 || parts[0] != plugin || parts[1] != server || parts[2] != tool {
				t.Fatalf("%q cannot be read back", name)
			}
		}
	})
}
