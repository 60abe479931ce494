package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

func newCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := catalog.New(catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// declared is a tool that takes a text and is seen on chat.
func declared(name, description string) catalog.Tool {
	return catalog.Tool{
		Name: name, Description: description, Surfaces: []string{"chat"},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":100}},"additionalProperties":false}`),
	}
}

func declare(t testing.TB, c *catalog.Catalog, plugin string, tools ...catalog.Tool) {
	t.Helper()
	if err := c.Declare(plugin, tools...); err != nil {
		t.Fatal(err)
	}
}

// generation is a set of tools that all say its number.
func generation(n, size int) []catalog.Tool {
	tools := make([]catalog.Tool, size)
	for i := range tools {
		tools[i] = declared(fmt.Sprintf("tool_%02d", i), fmt.Sprint("generation ", n))
		tools[i].InputSchema = json.RawMessage(`{"type":"object"}`) // quick to compile
	}
	return tools
}

// onChat is an identity on the surface chat.
var onChat = mcpserver.Identity{Task: "t", Session: "s", Surface: "chat"}

// memory is the name of the transport that is none, beside the eras.
const memory = "in memory"

// link opens a client of a grant: over Streamable HTTP in an era, or in memory.
func (h *host) link(t testing.TB, g mcpserver.Grant, era string, opts *mcp.ClientOptions) (m mcpserver.Minted, again func(*mcp.ClientOptions) *mcp.ClientSession, cs *mcp.ClientSession) {
	t.Helper()
	if era != memory {
		m = h.mint(t, g)
		again = func(opts *mcp.ClientOptions) *mcp.ClientSession { return h.connect(t, m.Token.Reveal(), era, opts) }
		return m, again, again(opts)
	}
	built := make(chan *mcp.Server, 1)
	g.Configure = func(s *mcp.Server) { built <- s }
	m = h.mint(t, g)
	raw{url: h.url, token: m.Token.Reveal(), version: stateless}.do(t, "POST", `{}`) // builds the server
	server := <-built
	again = func(opts *mcp.ClientOptions) *mcp.ClientSession {
		ours, theirs := mcp.NewInMemoryTransports()
		ss, err := server.Connect(t.Context(), ours, nil)
		if err != nil {
			t.Fatal(err)
		}
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts).Connect(t.Context(), theirs,
			&mcp.ClientSessionOptions{ProtocolVersion: stateful}) // the newer one begins to listen only after that
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cs.Close(); ss.Close() })
		return cs
	}
	return m, again, again(opts)
}

// shown is what a list says, in one line a tool.
func shown(tools []*mcp.Tool) string {
	var b strings.Builder
	for _, tool := range tools {
		fmt.Fprintf(&b, "%s %s\n", tool.Name, tool.Description)
	}
	return b.String()
}

// seen is what a snapshot shows on a surface, in the same form.
func seen(s *catalog.Snapshot, surface string) string {
	var b strings.Builder
	for _, e := range s.Seen(surface) {
		fmt.Fprintf(&b, "%s %s\n", e.Name, e.Description)
	}
	return b.String()
}

// revision is what a list says of the catalog.
func revision(t testing.TB, list *mcp.ListToolsResult) (generation string, revision uint64) {
	t.Helper()
	about, _ := list.Meta[mcpserver.MetaCatalog].(map[string]any)
	if about == nil {
		return "", 0
	}
	return about["generation"].(string), uint64(about["revision"].(float64))
}

func list(t testing.TB, cs *mcp.ClientSession) *mcp.ListToolsResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	l, err := cs.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// names are those of a list.
func names(tools []*mcp.Tool) string {
	var out []string
	for _, tool := range tools {
		out = append(out, tool.Name)
	}
	return strings.Join(out, " ")
}

var fast = mcpserver.Limits{Rate: 1 << 30, Burst: 1 << 30}

// TestFollowThousand: clients that list without pause while the catalog changes
// 1,000 times see one snapshot each time, whole, and never an older one than
// before. They are notified at most once a change and at least once after the
// last. The channel's tools and the host's stay. [K3] [K4] [K7]
func TestFollowThousand(t *testing.T) {
	const changes = 1000
	for _, era := range append(slices.Clone(eras), memory) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c := newCatalog(t)
			declare(t, c, "aa", generation(0, 3)...)
			declare(t, c, "bb", generation(0, 3)...)
			h := serve(t, mcpserver.Options{Limits: fast, Catalog: c})
			g := mcpserver.Grant{Identity: onChat, Channel: channel.Parts{Recorder: &run{}}, Tools: []*mcpserver.Tool{note(t)}}
			var notified, last atomic.Int64
			opts := &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
				notified.Add(1)
				last.Store(time.Now().UnixNano())
			}}
			_, again, listener := h.link(t, g, era, opts)

			type sample struct {
				revision uint64
				text     string
			}
			stop := make(chan struct{})
			samples := make([][]sample, 2)
			var wg sync.WaitGroup
			for i := range samples {
				cs := again(nil)
				wg.Go(func() {
					for {
						l, err := cs.ListTools(context.Background(), nil)
						if err != nil {
							t.Error(err)
							return
						}
						_, n := revision(t, l)
						samples[i] = append(samples[i], sample{n, shown(l.Tools)})
						select {
						case <-stop:
							return
						default:
						}
					}
				})
			}
			want := map[uint64]string{}
			note := func() {
				s := c.Snapshot()
				want[s.Revision()] = "note Notes it.\n" + seen(s, "chat")
			}
			note()
			first := c.Snapshot().Revision()
			for n := 1; n <= changes; n++ {
				switch n % 5 {
				case 0:
					c.Withdraw("bb")
				case 1, 3:
					declare(t, c, "aa", generation(n, 1+n%4)...)
				default:
					declare(t, c, "bb", generation(n, 3)...)
				}
				note()
			}
			done := time.Now().UnixNano()
			if n := c.Snapshot().Revision() - first; n != changes {
				t.Fatalf("%d changes", n)
			}
			eventually(t, "the last change is notified", func() bool { return last.Load() > done })
			close(stop)
			wg.Wait()
			if n := notified.Load(); n > changes {
				t.Errorf("%d notifications for %d changes", n, changes)
			}
			record := "" // where it stands among the others
			for _, list := range samples {
				before, lists := uint64(0), map[uint64]bool{}
				for _, s := range list {
					lists[s.revision] = true
					if s.revision < before {
						t.Fatalf("revision %d after %d", s.revision, before)
					}
					before = s.revision
					lines := strings.SplitAfter(s.text, "\n")
					i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "record_progress ") })
					if i < 0 {
						t.Fatalf("the channel's tool is not in %s", s.text)
					}
					record = lines[i]
					if got := strings.Replace(s.text, record, "", 1); got != want[s.revision] {
						t.Fatalf("revision %d lists\n%s, want\n%s", s.revision, got, want[s.revision])
					}
				}
				if len(lists) < 2 {
					t.Errorf("%d lists saw %d revisions", len(list), len(lists))
				}
			}
			l := list(t, listener)
			if gen, n := revision(t, l); n != c.Snapshot().Revision() || gen != c.Snapshot().Generation().String() {
				t.Errorf("at the end: %s %d", gen, n)
			}
			t.Logf("%d lists, %d notifications", len(samples[0])+len(samples[1]), notified.Load())
		})
	}
}

// TestNotifyOnce: changes 50 ms apart are notified once each, also a change of
// the grant's surface and a suspension; a change that the surface does not see is
// not. [K4]
func TestNotifyOnce(t *testing.T) {
	for _, era := range append(slices.Clone(eras), memory) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c := newCatalog(t)
			h := serve(t, mcpserver.Options{Limits: fast, Catalog: c})
			var notified atomic.Int64
			m, _, _ := h.link(t, mcpserver.Grant{Identity: onChat}, era, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { notified.Add(1) },
			})
			elsewhere := declared("other", "Elsewhere.")
			elsewhere.Surfaces = []string{"batch"}
			want := int64(0)
			for i, step := range []struct {
				do    func()
				tells int64
			}{
				{func() { declare(t, c, "aa", generation(1, 4)...) }, 1},
				{func() { declare(t, c, "aa", generation(2, 4)...) }, 1},
				{func() { declare(t, c, "aa", generation(2, 4)...) }, 0},
				{func() { declare(t, c, "cc", elsewhere) }, 0},
				{func() { c.Suspend("aa") }, 1},
				{func() { c.Resume("aa") }, 1},
				{func() { h.SetSurface(m.ID, "batch") }, 1},
				{func() { h.SetSurface(m.ID, "batch") }, 0},
				{func() { h.SetSurface(m.ID, "") }, 1},
				{func() { c.Withdraw("cc") }, 0},
				{func() { h.SetSurface(m.ID, "chat") }, 1},
				{func() { c.Withdraw("aa") }, 1},
			} {
				step.do()
				want += step.tells
				time.Sleep(50 * time.Millisecond) // the distance that the rule names
				eventually(t, "the notification", func() bool { return notified.Load() >= want })
				if n := notified.Load(); n != want {
					t.Fatalf("step %d: %d notifications, want %d", i, n, want)
				}
			}
		})
	}
}

// TestNotifyStream: changes that never pause do not keep notifications back. [K4]
func TestNotifyStream(t *testing.T) {
	c := newCatalog(t)
	h := serve(t, mcpserver.Options{Limits: fast, Catalog: c})
	notified := make(chan struct{}, 1000)
	h.link(t, mcpserver.Grant{Identity: onChat}, stateful, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { notified <- struct{}{} },
	})
	timeout := time.After(20 * time.Second)
	heard := 0
	for n := 0; heard < 3; n++ {
		declare(t, c, "aa", generation(n, 1)...)
		select {
		case <-notified:
			heard++
		case <-timeout:
			t.Fatalf("heard %d notifications during %d changes in a row", heard, n)
		default:
		}
	}
}

// TestSurface: a grant sees what its surface does and nothing else, none if it
// has none; a change of surface acts at once, for lists and calls, and what was
// declared meanwhile is there when it comes back. [K4] [K7]
func TestSurface(t *testing.T) {
	both := declared("both", "On two.")
	both.Surfaces = []string{"chat", "batch"}
	batch := declared("batch", "On the other.")
	batch.Surfaces = []string{"batch"}
	nowhere := declared("nowhere", "On none.")
	nowhere.Surfaces = nil
	c := newCatalog(t)
	declare(t, c, "p", declared("chat", "On one."), both, batch, nowhere)
	var invokers mcpserver.Invokers
	var runs []string
	invokers.Set("p", mcpserver.InvokerFunc(func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
		who, _ := mcpserver.RunFromContext(ctx)
		runs = append(runs, fmt.Sprint(inv.Tool.Tool.Name, " on ", inv.Run.Identity.Surface, " ", who.Identity == inv.Run.Identity))
		return mcpserver.Result{Text: "done"}, nil
	}))
	h := serve(t, mcpserver.Options{Limits: fast, Catalog: c, Invokers: &invokers})
	for _, tt := range []struct{ surface, want string }{
		{"chat", "plugin_p_both plugin_p_chat"},
		{"batch", "plugin_p_batch plugin_p_both"},
		{"unknown", ""},
		{"", ""},
	} {
		_, _, cs := h.link(t, mcpserver.Grant{Identity: mcpserver.Identity{Task: "t", Surface: tt.surface}}, stateless, nil)
		l := list(t, cs)
		if got := names(l.Tools); got != tt.want {
			t.Errorf("%q sees %q, want %q", tt.surface, got, tt.want)
		}
		if _, n := revision(t, l); (n > 0) != (tt.surface != "") {
			t.Errorf("%q: revision %d", tt.surface, n)
		}
	}
	m, _, cs := h.link(t, mcpserver.Grant{Identity: onChat}, stateful, nil)
	if res := call(t, cs, "plugin_p_chat", args{}); res.IsError {
		t.Error(text(res))
	}
	for _, surface := range []string{"batch", ""} {
		if err := h.SetSurface(m.ID, surface); err != nil {
			t.Fatal(err)
		}
		if _, err := tryCall(cs, "plugin_p_chat", args{}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("on %q: %v", surface, err)
		}
	}
	if l := list(t, cs); len(l.Tools) != 0 {
		t.Errorf("without a surface: %s", names(l.Tools))
	}
	declare(t, c, "q", declared("late", "Later."))
	h.SetSurface(m.ID, "chat")
	if got := names(list(t, cs).Tools); got != "plugin_p_both plugin_p_chat plugin_q_late" {
		t.Errorf("back on chat: %s", got)
	}
	h.SetSurface(m.ID, "batch")
	call(t, cs, "plugin_p_both", args{})
	if want := []string{"chat on chat true", "both on batch true"}; !slices.Equal(runs, want) {
		t.Errorf("%q", runs)
	}
	if info, _ := h.Grant(m.ID); info.Identity.Surface != "batch" {
		t.Errorf("%+v", info)
	}
	for _, err := range []error{h.SetSurface(m.ID, "a\nb"), h.SetSurface("nobody", "chat")} {
		if err == nil || !strings.Contains(err.Error(), "invalid grant") {
			t.Error(err)
		}
	}
	if _, err := h.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "t", Surface: " x"}}); err == nil {
		t.Error("a surface that is none is minted")
	}
	h.Revoke(m.ID)
	if h.SetSurface(m.ID, "chat") == nil {
		t.Error("a grant that has ended gets a surface")
	}
}

// TestSurfaceWhileListing: lists that run while surface and catalog change show a
// state that there was. [K4]
func TestSurfaceWhileListing(t *testing.T) {
	c := newCatalog(t)
	h := serve(t, mcpserver.Options{Limits: fast, Catalog: c})
	m, again, _ := h.link(t, mcpserver.Grant{Identity: onChat}, memory, nil)
	onSurface := func(s string) catalog.Tool {
		tool := declared("t", s)
		tool.Surfaces = []string{s}
		return tool
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		cs := again(nil)
		wg.Go(func() {
			for {
				l, err := cs.ListTools(context.Background(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				if len(l.Tools) > 0 {
					t.Errorf("the tool %s was seen", l.Tools[0].Description)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	// The tool is always on the surface that the grant is not on.
	for range 500 {
		declare(t, c, "p", onSurface("batch"))
		declare(t, c, "p")
		h.SetSurface(m.ID, "batch")
		declare(t, c, "p", onSurface("chat"))
		declare(t, c, "p")
		h.SetSurface(m.ID, "chat")
	}
	close(stop)
	wg.Wait()
}

// TestHostToolsWin: where a tool of a catalog has the name of one of the host or
// of the SDK's server, the host's is listed and called, and that is logged. [K4]
func TestHostToolsWin(t *testing.T) {
	c := newCatalog(t)
	bridged := func(name string) catalog.Tool {
		tool := declared("x", "of the catalog")
		tool.Name = name
		return tool
	}
	if err := c.Bridge("mcp", "p", bridged("note"), bridged("of_sdk"), bridged("record_progress"), bridged("other")); err != nil {
		t.Fatal(err)
	}
	var invokers mcpserver.Invokers
	invokers.SetSource("mcp", mcpserver.InvokerFunc(func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) {
		return mcpserver.Result{Text: "from the catalog"}, nil
	}))
	h := serve(t, mcpserver.Options{Catalog: c, Invokers: &invokers})
	r := &run{}
	_, _, cs := h.link(t, mcpserver.Grant{
		Identity: onChat, Tools: []*mcpserver.Tool{note(t)}, Channel: channel.Parts{Recorder: r},
		Configure: func(s *mcp.Server) {
			s.AddTool(&mcp.Tool{Name: "of_sdk", InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "from the SDK"}}}, nil
				})
		},
	}, stateful, nil)
	for range 2 {
		l := list(t, cs)
		if got := names(l.Tools); got != "note of_sdk other record_progress" {
			t.Errorf("%s", got)
		}
		for _, tool := range l.Tools {
			if (tool.Description == "of the catalog") != (tool.Name == "other") {
				t.Errorf("%s says %s", tool.Name, tool.Description)
			}
		}
	}
	for name, want := range map[string]string{"note": "noted", "of_sdk": "from the SDK", "other": "from the catalog"} {
		if got := text(call(t, cs, name, args{"text": "x"})); got != want {
			t.Errorf("%s answers %s", name, got)
		}
	}
	call(t, cs, "record_progress", args{"text": "x"})
	if len(r.steps) != 1 {
		t.Error("the catalog's record_progress was called")
	}
	logged := h.logged.String()
	hidden := map[any]int{}
	for line := range strings.Lines(logged) {
		var rec map[string]any
		if json.Unmarshal([]byte(line), &rec) == nil && rec["msg"] == "a tool of the catalog is hidden by one of the host" {
			hidden[rec["tool"]]++
		}
	}
	if want := map[any]int{"note": 1, "of_sdk": 1, "record_progress": 1}; !maps.Equal(hidden, want) {
		t.Errorf("logged: %v", hidden)
	}
}

// TestPushModel: snapshots of several lives of a catalog that come late, twice and
// in any order, as JSON, bring nothing old back: after each one the agent sees
// the newest that was pushed, by a model. [K3] [K4]
func TestPushModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for round := range 5 {
		h := serve(t, mcpserver.Options{Limits: fast})
		_, _, cs := h.link(t, mcpserver.Grant{Identity: onChat}, eras[round%2], nil)
		if l := list(t, cs); len(l.Tools) > 0 || l.Meta[mcpserver.MetaCatalog] != nil {
			t.Fatalf("before any snapshot: %v", l)
		}
		var sent [][]byte
		for life := range 3 {
			c := newCatalog(t)
			sent = append(sent, marshal(t, c.Snapshot()))
			for n := range 15 {
				plugin := string(rune('a' + rng.IntN(3)))
				switch rng.IntN(4) {
				case 0:
					c.Withdraw(plugin)
				case 1:
					c.Suspend(plugin)
				case 2:
					c.Resume(plugin)
					fallthrough
				default:
					declare(t, c, plugin, generation(100*life+n, 1+rng.IntN(3))...)
				}
				sent = append(sent, marshal(t, c.Snapshot()))
			}
		}
		// Delayed: each is moved back by some places, and some come twice.
		for i := range sent {
			j := min(i+rng.IntN(12), len(sent)-1)
			sent[i], sent[j] = sent[j], sent[i]
			if rng.IntN(3) == 0 {
				sent = append(sent, sent[rng.IntN(len(sent))])
			}
		}
		var newest *catalog.Snapshot
		for i, data := range sent {
			s := new(catalog.Snapshot)
			if err := json.Unmarshal(data, s); err != nil {
				t.Fatal(err)
			}
			if err := h.Push(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			// The model compares by itself: the text of a generation sorts as it does.
			if newest == nil || s.Generation().String() > newest.Generation().String() ||
				s.Generation() == newest.Generation() && s.Revision() > newest.Revision() {
				newest = s
			}
			l := list(t, cs)
			if got := shown(l.Tools); got != seen(newest, "chat") {
				t.Fatalf("round %d, push %d: %s\nwant revision %d:\n%s", round, i, got, newest.Revision(), seen(newest, "chat"))
			}
			if gen, n := revision(t, l); gen != newest.Generation().String() || n != newest.Revision() {
				t.Fatalf("round %d, push %d: %s %d", round, i, gen, n)
			}
		}
		if h.Snapshot().Revision() != newest.Revision() {
			t.Error("the registry says that it has another snapshot")
		}
	}
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPushConcurrent: pushes from several sides at once end with the newest.
// [K4] [K6]
func TestPushConcurrent(t *testing.T) {
	c := newCatalog(t)
	h := serve(t, mcpserver.Options{Limits: fast})
	refresher := catalog.NewRefresher(c, catalog.RefresherOptions{})
	defer refresher.Close(context.Background())
	for i := range 3 {
		if err := refresher.Add(fmt.Sprint(i), h.Registry); err != nil {
			t.Fatal(err)
		}
	}
	var notified atomic.Int64
	_, _, cs := h.link(t, mcpserver.Grant{Identity: onChat}, stateful, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { notified.Add(1) },
	})
	for n := range 100 {
		declare(t, c, "aa", generation(n, 3)...)
	}
	if failed, err := refresher.Flush(t.Context()); err != nil || len(failed) > 0 {
		t.Fatal(failed, err)
	}
	if got := shown(list(t, cs).Tools); got != seen(c.Snapshot(), "chat") {
		t.Errorf("%s", got)
	}
	eventually(t, "a notification", func() bool { return notified.Load() > 0 })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	h.Shutdown(ctx)
	if err := h.Push(ctx, c.Snapshot()); err != mcpserver.ErrClosed {
		t.Errorf("after shutdown: %v", err)
	}
}

// TestNewGrants: grants that are minted while the catalog changes start with it
// as it is. [K7]
func TestNewGrants(t *testing.T) {
	c := newCatalog(t)
	h := serve(t, mcpserver.Options{Limits: fast, Catalog: c})
	for n := range 20 {
		declare(t, c, "aa", generation(n, 2)...)
		m := h.mint(t, mcpserver.Grant{Identity: onChat, Channel: channel.Parts{Recorder: &run{}}})
		cs := h.connect(t, m.Token.Reveal(), eras[n%2], nil)
		if got := seen(c.Snapshot(), "chat"); !strings.Contains(shown(list(t, cs).Tools), got) {
			t.Errorf("grant %d does not see %s", n, got)
		}
		h.Revoke(m.ID)
	}
	eventually(t, "nothing is left", func() bool { return h.Left() == 0 })
}

// TestAnnotations: what a plugin does not say of a tool is taken for the worse,
// and said on the wire. [K2]
func TestAnnotations(t *testing.T) {
	c := newCatalog(t)
	kind := declared("kind", "Kind.")
	kind.Title = "A kind tool"
	kind.Annotations = catalog.Annotations{ReadOnly: true, NonDestructive: true, Idempotent: true, ClosedWorld: true}
	kind.OutputSchema = json.RawMessage(`{"type":"object"}`)
	declare(t, c, "p", declared("careful", "Careful."), kind)
	h := serve(t, mcpserver.Options{Catalog: c})
	_, _, cs := h.link(t, mcpserver.Grant{Identity: onChat}, stateless, nil)
	got := map[string]string{}
	for _, tool := range list(t, cs).Tools {
		got[tool.Name] = fmt.Sprint(tool.Title, tool.Annotations.ReadOnlyHint, *tool.Annotations.DestructiveHint,
			tool.Annotations.IdempotentHint, *tool.Annotations.OpenWorldHint, tool.OutputSchema != nil)
	}
	want := map[string]string{
		"plugin_p_careful": "false true false true false",
		"plugin_p_kind":    "A kind tooltrue false true false true",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestFollowEnds: a registry that is shut down follows its catalog no more, and
// leaves no goroutine behind; one that was never pushed a snapshot has none.
func TestFollowEnds(t *testing.T) {
	following := func() bool {
		buf := make([]byte, 1<<20)
		return strings.Contains(string(buf[:runtime.Stack(buf, true)]), "tellChanges")
	}
	c := newCatalog(t)
	for _, o := range []mcpserver.Options{{Catalog: c}, {}} {
		reg, err := mcpserver.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if o.Catalog == nil {
			if following() {
				t.Error("a registry without a catalog follows one")
			}
			if err := reg.Push(t.Context(), c.Snapshot()); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "it follows", following)
		for range 2 {
			if err := reg.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "it follows no more", func() bool { return !following() })
		declare(t, c, "aa", declared("a", "A."))
	}
}
