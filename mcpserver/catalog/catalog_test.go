package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

const anyObject = `{"type":"object"}`

func tool(name string, change ...func(*Tool)) Tool {
	t := Tool{Name: name, Description: "Does " + name, InputSchema: json.RawMessage(anyObject), Surfaces: []string{"chat"}}
	for _, f := range change {
		f(&t)
	}
	return t
}

func newCatalog(t testing.TB, opts Options) *Catalog {
	t.Helper()
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func declare(t testing.TB, c *Catalog, plugin string, tools ...Tool) {
	t.Helper()
	if err := c.Declare(plugin, tools...); err != nil {
		t.Fatal(err)
	}
}

func names(s *Snapshot) string {
	var out []string
	for _, e := range s.Entries() {
		out = append(out, e.Name)
	}
	return strings.Join(out, " ")
}

func TestDeclare(t *testing.T) { // [K1]
	set := func(f func(*Tool)) Tool { return tool("t", f) }
	schema := func(text string) Tool { return set(func(t *Tool) { t.InputSchema = json.RawMessage(text) }) }
	many := func(n int) (out []Tool) {
		for i := range n {
			out = append(out, tool(fmt.Sprint("t", i)))
		}
		return out
	}
	large := func(n int) string {
		return `{"type":"object","title":"` + strings.Repeat("x", n-len(`{"type":"object","title":""}`)) + `"}`
	}
	for name, tt := range map[string]struct {
		plugin string
		tools  []Tool
		want   error
	}{
		"one":                     {"p", many(1), nil},
		"none":                    {"p", nil, nil},
		"16":                      {"p", many(16), nil},
		"17":                      {"p", many(17), ErrDeclaration},
		"no plugin name":          {"", many(1), ErrDeclaration},
		"no valid plugin name":    {"My Plugin", many(1), ErrDeclaration},
		"32 characters":           {"p", []Tool{tool(strings.Repeat("a", 32))}, nil},
		"33 characters":           {"p", []Tool{tool(strings.Repeat("a", 33))}, ErrDeclaration},
		"a digit first":           {"p", []Tool{tool("1a_b")}, nil},
		"_ first":                 {"p", []Tool{tool("_a")}, ErrDeclaration},
		"no name":                 {"p", []Tool{tool("")}, ErrDeclaration},
		"capital":                 {"p", []Tool{tool("A")}, ErrDeclaration},
		"hyphen":                  {"p", []Tool{tool("a-b")}, ErrDeclaration},
		"line end":                {"p", []Tool{tool("a\n")}, ErrDeclaration},
		"twice":                   {"p", []Tool{tool("a"), tool("a")}, ErrCollision},
		"one bad of two":          {"p", []Tool{tool("a"), tool("B")}, ErrDeclaration},
		"description of 1,024":    {"p", []Tool{set(func(t *Tool) { t.Description = strings.Repeat("é", 512) })}, nil},
		"description of 1,025":    {"p", []Tool{set(func(t *Tool) { t.Description = strings.Repeat("é", 512) + "x" })}, ErrDeclaration},
		"no description":          {"p", []Tool{set(func(t *Tool) { t.Description = "" })}, ErrDeclaration},
		"blank description":       {"p", []Tool{set(func(t *Tool) { t.Description = " \n" })}, ErrDeclaration},
		"hidden text":             {"p", []Tool{set(func(t *Tool) { t.Description = "a\u202eb" })}, ErrDeclaration},
		"no UTF-8":                {"p", []Tool{set(func(t *Tool) { t.Description = "a\xff" })}, ErrDeclaration},
		"lines":                   {"p", []Tool{set(func(t *Tool) { t.Description = "a\n\tb" })}, nil},
		"no surface":              {"p", []Tool{set(func(t *Tool) { t.Surfaces = nil })}, nil},
		"an empty surface":        {"p", []Tool{set(func(t *Tool) { t.Surfaces = []string{""} })}, ErrDeclaration},
		"a surface twice":         {"p", []Tool{set(func(t *Tool) { t.Surfaces = []string{"a", "a"} })}, ErrDeclaration},
		"a surface of two lines":  {"p", []Tool{set(func(t *Tool) { t.Surfaces = []string{"a\nb"} })}, ErrDeclaration},
		"no schema":               {"p", []Tool{schema("")}, ErrDeclaration},
		"schema of a string":      {"p", []Tool{schema(`{"type":"string"}`)}, ErrDeclaration},
		"schema of 64 KiB":        {"p", []Tool{schema(large(64 << 10))}, nil},
		"schema over 64 KiB":      {"p", []Tool{schema(large(64<<10 + 1))}, ErrDeclaration},
		"schema from a file":      {"p", []Tool{schema(`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`)}, ErrDeclaration},
		"schema without a regexp": {"p", []Tool{schema(`{"type":"object","properties":{"a":{"pattern":"(?=a)"}}}`)}, ErrDeclaration},
		"an output schema":        {"p", []Tool{set(func(t *Tool) { t.OutputSchema = json.RawMessage(anyObject) })}, nil},
		"a bad output schema":     {"p", []Tool{set(func(t *Tool) { t.OutputSchema = json.RawMessage(`[]`) })}, ErrDeclaration},
		"a reserved name":         {"p", []Tool{tool("ask")}, ErrCollision},
		"another plugin's name":   {"ot-her", []Tool{tool("b"), tool("er_a")}, nil},
		"a colliding slug":        {"ot.her", []Tool{tool("new"), tool("a")}, ErrCollision},
		"a colliding joint":       {"ot", []Tool{tool("her_a")}, ErrCollision},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCatalog(t, Options{Reserved: []string{"plugin_p_ask"}})
			declare(t, c, "ot-her", tool("a"))
			before := c.Snapshot()
			err := c.Declare(tt.plugin, tt.tools...)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if tt.want == nil {
				if len(tt.tools) > 0 && c.Snapshot().Revision() != before.Revision()+1 {
					t.Error("no new revision")
				}
				return
			}
			var d *DeclarationError
			if !errors.As(err, &d) || d.Plugin != tt.plugin || strings.ContainsAny(err.Error(), "\n\u202e") || !utf8.ValidString(err.Error()) {
				t.Errorf("error %q", err)
			}
			if c.Snapshot() != before {
				t.Errorf("something changed: %s", names(c.Snapshot()))
			}
		})
	}
}

func TestExposedName(t *testing.T) { // [K2]
	long := strings.Repeat("p", 64)
	for _, tt := range []struct{ prefix, plugin, tool, want string }{
		{"plugin", "demo", "search", "plugin_demo_search"},
		{"x", "my.plug-in", "a_b", "x_my_plug_in_a_b"},
		{"plugin", strings.Repeat("p", 24), strings.Repeat("t", 32), "plugin_" + strings.Repeat("p", 24) + "_" + strings.Repeat("t", 32)},
		{"plugin", long, "t", "plugin_" + strings.Repeat("p", 46) + "_t_"},
		{strings.Repeat("x", 16), long, strings.Repeat("t", 32), strings.Repeat("x", 16) + "_ppppp_" + strings.Repeat("t", 32) + "_"},
	} {
		got := ExposedName(tt.prefix, tt.plugin, tt.tool)
		if !strings.HasPrefix(got, tt.want) || len(got) > maxName || strings.HasSuffix(tt.want, "_") == (got == tt.want) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	if ExposedName("p", long, "t") == ExposedName("p", long[:63]+"q", "t") {
		t.Error("two plugins have one name")
	}
}

func TestCareful(t *testing.T) { // [K2]
	c := newCatalog(t, Options{})
	declare(t, c, "p", tool("t"))
	if e, ok := c.Snapshot().Lookup("plugin_p_t"); !ok || e.Annotations != (Annotations{}) {
		t.Errorf("%+v", e)
	}
}

func TestChanges(t *testing.T) { // [K3]
	c := newCatalog(t, Options{Prefix: "x"})
	step := func(what string, revision uint64, want string) {
		t.Helper()
		if s := c.Snapshot(); s.Revision() != revision || names(s) != want {
			t.Errorf("%s: revision %d %q, want %d %q", what, s.Revision(), names(s), revision, want)
		}
	}
	step("empty", 1, "")
	declare(t, c, "b", tool("z"), tool("a"))
	step("declared", 2, "x_b_a x_b_z")
	declare(t, c, "b", tool("a"), tool("z", func(t *Tool) { t.InputSchema = json.RawMessage(`{ "type" : "object" }`) }))
	step("declared in another form", 2, "x_b_a x_b_z")
	declare(t, c, "a", tool("m"))
	step("another plugin", 3, "x_a_m x_b_a x_b_z")
	declare(t, c, "b", tool("a", func(t *Tool) { t.Surfaces = []string{"chat", "ide"} }))
	step("replaced", 4, "x_a_m x_b_a")
	declare(t, c, "b", tool("a", func(t *Tool) { t.Surfaces = []string{"ide", "chat"} }))
	step("surfaces in another order", 4, "x_a_m x_b_a")
	if !c.Suspend("b") {
		t.Error("not known")
	}
	step("suspended", 5, "x_a_m")
	declare(t, c, "b", tool("c"))
	step("declared while suspended", 5, "x_a_m")
	if err := c.Declare("a", tool("m"), tool("n")); err != nil {
		t.Fatal(err)
	}
	step("another one meanwhile", 6, "x_a_m x_a_n")
	c.Resume("b")
	step("resumed", 7, "x_a_m x_a_n x_b_c")
	c.Resume("b")
	step("resumed again", 7, "x_a_m x_a_n x_b_c")
	c.Withdraw("a")
	c.Withdraw("a")
	step("withdrawn", 8, "x_b_c")
	if c.Suspend("a") || c.Resume("a") {
		t.Error("known")
	}
	declare(t, c, "b")
	step("nothing", 9, "")
}

// TestSuspendedNamesStayTaken: a plugin that is suspended finds its names free
// when it comes back.
func TestSuspendedNamesStayTaken(t *testing.T) { // [K1]
	c := newCatalog(t, Options{})
	declare(t, c, "a-b", tool("t"))
	c.Suspend("a-b")
	if err := c.Declare("a.b", tool("t")); !errors.Is(err, ErrCollision) {
		t.Errorf("got %v", err)
	}
}

func TestSurfaces(t *testing.T) { // [K7]
	c := newCatalog(t, Options{})
	on := func(s ...string) func(*Tool) { return func(t *Tool) { t.Surfaces = s } }
	declare(t, c, "p", tool("both", on("chat", "ide")), tool("chat", on("chat")), tool("ide", on("ide")), tool("none", on()))
	for surface, want := range map[string]string{
		"chat": "plugin_p_both plugin_p_chat", "ide": "plugin_p_both plugin_p_ide", "other": "", "": "", "Chat": "",
	} {
		var got []string
		for _, e := range c.Snapshot().Seen(surface) {
			got = append(got, e.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q sees %v", surface, got)
		}
	}
}

// TestImmutable: nothing that a reader does to what it got changes a snapshot.
func TestImmutable(t *testing.T) { // [K3]
	c := newCatalog(t, Options{})
	declared := tool("t", func(t *Tool) { t.OutputSchema = json.RawMessage(anyObject) })
	declare(t, c, "p", declared)
	s := c.Snapshot()
	before, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	e, _ := s.Lookup("plugin_p_t")
	for _, e := range append(append(s.Entries(), s.Seen("chat")...), e) {
		e.InputSchema[0], e.OutputSchema[0], e.Surfaces[0] = 'x', 'x', "x"
	}
	declared.InputSchema[0], declared.Surfaces[0] = 'x', "x"
	if after, _ := json.Marshal(s); string(after) != string(before) {
		t.Errorf("%s\nbecame %s", before, after)
	}
}

func TestJSON(t *testing.T) { // [K3]
	c := newCatalog(t, Options{Prefix: "my_tools"})
	declare(t, c, strings.Repeat("p", 64), tool(strings.Repeat("t", 32)))
	declare(t, c, "a.b", tool("t", func(t *Tool) {
		t.InputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
		t.OutputSchema = json.RawMessage(`{"type":"object","required":["ok"]}`)
		t.Annotations = Annotations{ReadOnly: true, ClosedWorld: true}
		t.Surfaces = []string{"ide", "chat"}
	}))
	s := c.Snapshot()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var got Snapshot
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(&got); string(again) != string(text) {
		t.Errorf("%s\nbecame %s", text, again)
	}
	if got.Newer(s) || s.Newer(&got) || got.Generation() != s.Generation() || got.Revision() != s.Revision() {
		t.Error("it is another one")
	}
	e, ok := got.Lookup("my_tools_a_b_t")
	if !ok || e.CheckInput(json.RawMessage(`{"n":1}`)) != nil || e.CheckInput(nil) == nil || e.CheckInput(json.RawMessage(`{"n":"secret"}`)) == nil {
		t.Error("it does not judge arguments")
	}
	if err := e.CheckInput(json.RawMessage(`{"n":"secret"}`)); strings.Contains(err.Error(), "secret") {
		t.Errorf("it quotes them: %v", err)
	}
	if e.CheckInput(json.RawMessage(`{"n":1,"N":"x"}`)) == nil || e.CheckInput(json.RawMessage(`{"n":1,"n":1}`)) == nil {
		t.Error("it takes members that another reader reads otherwise")
	}
	if e.CheckOutput(map[string]any{"ok": true}) != nil || e.CheckOutput(map[string]any{}) == nil || e.CheckOutput(nil) == nil {
		t.Error("it does not judge results")
	}
	var zero Snapshot
	text, _ = json.Marshal(&zero)
	if err := json.Unmarshal(text, &got); err != nil || got.Len() != 0 || got.Newer(&zero) {
		t.Errorf("the zero value: %s, %v", text, err)
	}
}

func TestBadJSON(t *testing.T) { // [K3]
	c := newCatalog(t, Options{})
	declare(t, c, "p", tool("a"), tool("b"))
	good, err := json.Marshal(c.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		if !strings.Contains(string(good), old) {
			t.Fatalf("no %s in %s", old, good)
		}
		return strings.Replace(string(good), old, new, 1)
	}
	for name, text := range map[string]string{
		"no JSON":           `{`,
		"a list":            `[]`,
		"generation":        change(`"generation":"`, `"generation":"x`),
		"no generation":     change(c.Snapshot().Generation().String(), Generation{}.String()),
		"no revision":       change(`"revision":2`, `"revision":0`),
		"a negative one":    change(`"revision":2`, `"revision":-1`),
		"another name":      change(`"exposed":"plugin_p_a"`, `"exposed":"plugin_q_a"`),
		"a host's name":     change(`"exposed":"plugin_p_a"`, `"exposed":"ask_user"`),
		"no order":          change(`"exposed":"plugin_p_b"`, `"exposed":"a_p_b"`),
		"a name twice":      change(`"exposed":"plugin_p_b","plugin":"p","name":"b"`, `"exposed":"plugin_p_a","plugin":"p","name":"a"`),
		"a bad local name":  change(`"name":"a"`, `"name":"A"`),
		"a bad plugin name": change(`"plugin":"p"`, `"plugin":"P"`),
		"a bad schema":      change(`{"type":"object"}`, `{"type":"object","$ref":"file:///x"}`),
		"hidden text":       change(`Does a`, `Does\u200b a`),
	} {
		s := Snapshot{revision: 7}
		if err := json.Unmarshal([]byte(text), &s); err == nil || s.revision != 7 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNewer: delayed and reordered snapshots cannot bring old tools back,
// whatever comes in which order.
func TestNewer(t *testing.T) { // [K4]
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var sent []*Snapshot
		for range 3 { // lives of the catalog
			c := newCatalog(t, Options{})
			sent = append(sent, c.Snapshot())
			for i := range 5 {
				declare(t, c, "p", tool(fmt.Sprint("t", i)))
				sent = append(sent, c.Snapshot())
			}
		}
		newest := sent[len(sent)-1]
		order := rnd.Perm(len(sent))
		var have *Snapshot
		sawNewest := false
		for _, i := range order {
			s := sent[i]
			if rnd.IntN(2) == 0 { // as it comes from another process
				text, _ := json.Marshal(s)
				s = new(Snapshot)
				if err := json.Unmarshal(text, s); err != nil {
					t.Fatal(err)
				}
			}
			if s.Newer(have) {
				have = s
			}
			sawNewest = sawNewest || sent[i] == newest
			if sawNewest && names(have) != names(newest) {
				t.Fatalf("after %v: %q", order, names(have))
			}
		}
	}
	if a, b := (Generation{1, 5}), (Generation{1, 6}); a.Compare(b) >= 0 || b.Compare(a) <= 0 || a.Compare(a) != 0 || (Generation{2, 0}).Compare(b) <= 0 {
		t.Error("generations are not ordered")
	}
}

// TestReadersSeeWholeSnapshots: while plugins come and go, each snapshot is one
// of those that were in force, and revisions never go back.
func TestReadersSeeWholeSnapshots(t *testing.T) { // [K3] [K4]
	c := newCatalog(t, Options{})
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			var last uint64
			for {
				s := c.Snapshot()
				if s.Revision() < last {
					t.Errorf("revision %d after %d", s.Revision(), last)
				}
				last = s.Revision()
				// p and q are always of one round.
				if n := s.Len(); n != 0 && n != 3 {
					t.Errorf("half of a change: %s", names(s))
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range 200 {
		if i%2 == 0 {
			declare(t, c, "p", tool("a"), tool("b"), tool(fmt.Sprint("c", i)))
		} else {
			c.Withdraw("p")
		}
	}
	close(done)
	readers.Wait()
}

func TestWatch(t *testing.T) { // [K4]
	c := newCatalog(t, Options{})
	changed, stop := c.Watch()
	heard := func() bool {
		select {
		case <-changed:
			return true
		default:
			return false
		}
	}
	if !heard() || heard() {
		t.Error("not once at the beginning")
	}
	declare(t, c, "p", tool("a"))
	declare(t, c, "p", tool("b"))
	if !heard() || heard() {
		t.Error("not once for a burst")
	}
	declare(t, c, "p", tool("b"))
	if heard() {
		t.Error("without a change")
	}
	stop()
	declare(t, c, "p", tool("c"))
	if heard() {
		t.Error("after it was stopped")
	}
}

func TestOptions(t *testing.T) {
	for prefix, ok := range map[string]bool{
		"": true, "a": true, "a_b": true, "a1": true, strings.Repeat("x", 16): true,
		strings.Repeat("x", 17): false, "_a": false, "a_": false, "A": false, "a-b": false, "a\n": false,
	} {
		if _, err := New(Options{Prefix: prefix}); (err == nil) != ok || err != nil && !errors.Is(err, ErrOptions) {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	c, _ := New(Options{})
	_ = c.Declare("p", tool("a"), tool("b"))
	text, _ := json.Marshal(c.Snapshot())
	f.Add(string(text))
	f.Add(`{"generation":"00000000000000000000000000000000","revision":0,"tools":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s Snapshot
		if json.Unmarshal([]byte(text), &s) != nil {
			return
		}
		once, err := json.Marshal(&s)
		if err != nil {
			t.Fatal(err)
		}
		var again Snapshot
		if err := json.Unmarshal(once, &again); err != nil {
			t.Fatalf("%s cannot be read back: %v", once, err)
		}
		if twice, _ := json.Marshal(&again); string(twice) != string(once) {
			t.Fatalf("%s\nbecame %s", once, twice)
		}
		for _, e := range s.Entries() {
			if len(e.Name) > maxName || !strings.Contains(e.Name, "_") {
				t.Fatalf("name %q", e.Name)
			}
		}
	})
}

// TestTimeout: a tool's own timeout is bounded, counts as content, and survives
// JSON.
func TestTimeout(t *testing.T) {
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	slow := tool("slow")
	for _, bad := range []time.Duration{-1, 24*time.Hour + 1} {
		slow.Timeout = bad
		if err := c.Declare("p", slow); !errors.Is(err, ErrDeclaration) || !strings.Contains(err.Error(), "timeout") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	slow.Timeout = 0
	if err := c.Declare("p", slow); err != nil {
		t.Fatal(err)
	}
	before := c.Snapshot()
	slow.Timeout = 7 * time.Minute
	if err := c.Declare("p", slow); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c.Snapshot())
	if err != nil || !c.Snapshot().Newer(before) {
		t.Fatal(err, c.Snapshot().Revision())
	}
	var read Snapshot
	if err := json.Unmarshal(text, &read); err != nil || read.Entries()[0].Timeout != 7*time.Minute || !read.Entries()[0].Equal(c.Snapshot().Entries()[0]) {
		t.Errorf("%v %s", err, text)
	}
	if err := json.Unmarshal([]byte(strings.Replace(string(text), `"timeout":`, `"timeout":999`, 1)), &read); !errors.Is(err, ErrSnapshot) {
		t.Errorf("a timeout of days is read: %v", err)
	}
}

// TestMissingSchema: who forgets the schema is told so.
func TestMissingSchema(t *testing.T) {
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Declare("p", Tool{Name: "a", Description: "d"}); !errors.Is(err, ErrDeclaration) || !strings.Contains(err.Error(), "input schema is missing") {
		t.Error(err)
	}
}
