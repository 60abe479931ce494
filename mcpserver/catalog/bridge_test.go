package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/mcpserver/catalog"
)

func bridged(name string) catalog.Tool {
	return catalog.Tool{
		Name: name, InputSchema: json.RawMessage(`{"type": "object"}`), Surfaces: []string{"chat"},
	}
}

func exposed(s *catalog.Snapshot) string {
	var out []string
	for _, e := range s.Entries() {
		out = append(out, e.Source+":"+e.Plugin+":"+e.Name)
	}
	return strings.Join(out, " ")
}

// TestBridge: tools that a bridge offers keep their names, stand beside those that
// plugins declare, share the suspension of their plugin, and survive JSON. [K3] [K8]
func TestBridge(t *testing.T) {
	c, err := catalog.New(catalog.Options{Reserved: []string{"ask_user"}})
	if err != nil {
		t.Fatal(err)
	}
	own := bridged("own")
	own.Description = "Own."
	step := func(want string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if got := exposed(c.Snapshot()); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	step(":demo:plugin_demo_own", c.Declare("demo", own))
	all := ":demo:plugin_demo_own mcp:demo:mcp__demo__S-1__Read"
	step("mcp:demo:mcp__demo__S-1__Read "+":demo:plugin_demo_own", c.Bridge("mcp", "demo", bridged("mcp__demo__S-1__Read")))
	all = exposed(c.Snapshot())
	step("skills::load_skill "+all, c.Bridge("skills", "", bridged("load_skill")))
	all = exposed(c.Snapshot())

	// Equal content is no change.
	before := c.Snapshot()
	if err := c.Bridge("mcp", "demo", bridged("mcp__demo__S-1__Read")); err != nil || c.Snapshot() != before {
		t.Error("equal content makes another snapshot", err)
	}
	text, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	again := new(catalog.Snapshot)
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	if exposed(again) != all {
		t.Errorf("read again: %s", exposed(again))
	}
	for i, e := range again.Entries() {
		if !e.Equal(before.Entries()[i]) || e.CheckInput(json.RawMessage(`{}`)) != nil {
			t.Errorf("read again: %+v", e)
		}
	}

	c.Suspend("demo")
	step("skills::load_skill", nil)
	// A suspension outlasts what a bridge does.
	step("skills::load_skill", c.Bridge("mcp", "demo"))
	step("skills::load_skill", c.Bridge("mcp", "demo", bridged("mcp__demo__S-1__Read")))
	c.Resume("demo")
	step(all, nil)

	// What one source does leaves the others.
	step("skills::load_skill mcp:demo:mcp__demo__S-1__Read", c.Declare("demo"))
	step("skills::load_skill", c.Bridge("mcp", "demo"))
	step("skills::load_skill", c.Declare("demo"))
	c.Withdraw("demo")
	step("", c.Bridge("skills", ""))
	step("mcp:only:x", c.Bridge("mcp", "only", bridged("x")))
	if err := c.Bridge("mcp", "only"); err != nil || c.Suspend("only") {
		t.Error("a plugin of which nothing is left is known", err)
	}
	step("mcp:only:x", c.Bridge("mcp", "only", bridged("x")))
	c.Withdraw("only")
	step("", nil)
	if c.Suspend("only") {
		t.Error("a plugin that was withdrawn is known")
	}
}

// TestBridgeRefused: what breaks a bound or takes a name is refused, and what was
// in force stays. [K1] [K8]
func TestBridgeRefused(t *testing.T) {
	c, err := catalog.New(catalog.Options{Reserved: []string{"ask_user"}})
	if err != nil {
		t.Fatal(err)
	}
	own := bridged("own")
	own.Description = "Own."
	if err := c.Declare("demo", own); err != nil {
		t.Fatal(err)
	}
	if err := c.Bridge("mcp", "demo", bridged("good")); err != nil {
		t.Fatal(err)
	}
	before := c.Snapshot()
	with := func(f func(*catalog.Tool)) []catalog.Tool {
		tool := bridged("other")
		f(&tool)
		return []catalog.Tool{tool}
	}
	many := make([]catalog.Tool, catalog.MaxBridged+1)
	for i := range many {
		many[i] = bridged(fmt.Sprint("t", i))
	}
	for _, tt := range []struct {
		name, source, plugin string
		tools                []catalog.Tool
		want                 error
		one                  bool // the tool by itself is at fault
	}{
		{"source", "M", "demo", nil, catalog.ErrDeclaration, false},
		{"no source", "", "demo", nil, catalog.ErrDeclaration, false},
		{"plugin", "mcp", "De mo", nil, catalog.ErrDeclaration, false},
		{"name", "mcp", "demo", with(func(t *catalog.Tool) { t.Name = "a.b" }), catalog.ErrDeclaration, true},
		{"long name", "mcp", "demo", with(func(t *catalog.Tool) { t.Name = strings.Repeat("a", 65) }), catalog.ErrDeclaration, true},
		{"no name", "mcp", "demo", with(func(t *catalog.Tool) { t.Name = "" }), catalog.ErrDeclaration, true},
		{"description", "mcp", "demo", with(func(t *catalog.Tool) { t.Description = strings.Repeat("a", 16<<10+1) }), catalog.ErrDeclaration, true},
		{"hidden text", "mcp", "demo", with(func(t *catalog.Tool) { t.Description = "a\u200bb" }), catalog.ErrDeclaration, true},
		{"title", "mcp", "demo", with(func(t *catalog.Tool) { t.Title = "a\nb" }), catalog.ErrDeclaration, true},
		{"long title", "mcp", "demo", with(func(t *catalog.Tool) { t.Title = strings.Repeat("a", 257) }), catalog.ErrDeclaration, true},
		{"schema", "mcp", "demo", with(func(t *catalog.Tool) { t.InputSchema = json.RawMessage(`{"type":"array"}`) }), catalog.ErrDeclaration, true},
		{"surface", "mcp", "demo", with(func(t *catalog.Tool) { t.Surfaces = []string{"a\nb"} }), catalog.ErrDeclaration, true},
		{"too many", "mcp", "demo", many, catalog.ErrDeclaration, false},
		{"twice", "mcp", "demo", []catalog.Tool{bridged("a"), bridged("a")}, catalog.ErrCollision, false},
		{"reserved", "mcp", "demo", []catalog.Tool{bridged("ask_user")}, catalog.ErrCollision, false},
		{"of the plugin itself", "mcp", "demo", []catalog.Tool{bridged("plugin_demo_own")}, catalog.ErrCollision, false},
		{"of another source", "skills", "demo", []catalog.Tool{bridged("good")}, catalog.ErrCollision, false},
		{"of another plugin", "mcp", "else", []catalog.Tool{bridged("good")}, catalog.ErrCollision, false},
	} {
		err := c.Bridge(tt.source, tt.plugin, tt.tools...)
		var d *catalog.DeclarationError
		if !errors.Is(err, tt.want) || !errors.As(err, &d) || d.Plugin != tt.plugin {
			t.Errorf("%s: %v", tt.name, err)
		}
		if tt.one != (len(tt.tools) == 1 && tt.tools[0].CheckBridged() != nil) {
			t.Errorf("%s: CheckBridged says otherwise", tt.name)
		}
	}
	// And the reverse: a declaration takes no name of a bridge.
	if err := c.Bridge("mcp", "p", bridged("plugin_q_own")); err != nil {
		t.Fatal(err)
	}
	if err := c.Declare("q", own); !errors.Is(err, catalog.ErrCollision) {
		t.Error(err)
	}
	if err := c.Bridge("mcp", "p"); err != nil || exposed(c.Snapshot()) != exposed(before) {
		t.Errorf("%v: %s", err, exposed(c.Snapshot()))
	}
}

// TestBridgeJSON: a snapshot whose bridged tools break a rule is not read. [K3]
func TestBridgeJSON(t *testing.T) {
	c, err := catalog.New(catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Bridge("mcp", "demo", bridged("good")); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"source":"mcp"`, `"source":"M"`},
		{`"source":"mcp",`, ``},
		{`"exposed":"good"`, `"exposed":"bad"`},
		{`"plugin":"demo"`, `"plugin":"De mo"`},
		{`"name":"good"`, `"name":"good.x"`},
	} {
		bad := strings.Replace(string(text), change[0], change[1], 1)
		if bad == string(text) {
			t.Fatalf("%s is not in %s", change[0], text)
		}
		if err := json.Unmarshal([]byte(bad), new(catalog.Snapshot)); !errors.Is(err, catalog.ErrSnapshot) {
			t.Errorf("%s: %v", change[1], err)
		}
	}
}
