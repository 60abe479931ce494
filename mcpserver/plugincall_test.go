package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// invoker counts what reaches a plugin.
type invoker struct {
	asked  atomic.Int64
	invoke func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error)
}

func (i *invoker) Invoke(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
	i.asked.Add(1)
	if i.invoke == nil {
		return mcpserver.Result{Text: "done"}, nil
	}
	return i.invoke(ctx, inv)
}

// plugged is a host with a catalog whose plugin p is carried out by an invoker.
type plugged struct {
	*host
	catalog  *catalog.Catalog
	invokers *mcpserver.Invokers
	plugin   *invoker
}

func plug(t testing.TB, o mcpserver.Options, tools ...catalog.Tool) *plugged {
	t.Helper()
	p := &plugged{catalog: newCatalog(t), invokers: &mcpserver.Invokers{}, plugin: &invoker{}}
	declare(t, p.catalog, "p", tools...)
	p.invokers.Set("p", p.plugin)
	if o.Limits.Rate == 0 {
		o.Limits.Rate, o.Limits.Burst = fast.Rate, fast.Burst
	}
	o.Catalog, o.Invokers = p.catalog, p.invokers
	p.host = serve(t, o)
	return p
}

// record is the log record of the last call.
func (p *plugged) record(t testing.TB) map[string]any {
	t.Helper()
	var last map[string]any
	for line := range strings.Lines(p.logged.String()) {
		var rec map[string]any
		if json.Unmarshal([]byte(line), &rec) == nil && rec["msg"] == "agent call" {
			last = rec
		}
	}
	return last
}

// TestInvoke: a call reaches its plugin once, with the run that the token is bound
// to, and text, structured content and the error flag come back. It is logged and
// observed with identity, plugin, tool, duration and outcome. [K5]
func TestInvoke(t *testing.T) {
	tool := declared("do", "Does it.")
	tool.OutputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"task_id":{"type":"string"}}}`)
	p := plug(t, mcpserver.Options{}, tool)
	id := mcpserver.Identity{Task: "t1", Session: "s1", Workspace: "w1", Surface: "chat"}
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			m, _, cs := p.link(t, mcpserver.Grant{Identity: id}, era, nil)
			var got mcpserver.Invocation
			p.plugin.invoke = func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
				got = inv
				if who, ok := mcpserver.RunFromContext(ctx); !ok || who.GrantID != inv.Run.GrantID {
					t.Errorf("the context has the run %+v", who)
				}
				if d, ok := ctx.Deadline(); !ok || time.Until(d) > 30*time.Second || time.Until(d) < 20*time.Second {
					t.Errorf("the deadline is in %v", time.Until(d))
				}
				return mcpserver.Result{
					Text: "two", Structured: map[string]any{"n": 2},
					Content: []mcp.Content{&mcp.ImageContent{Data: []byte{1}, MIMEType: "image/png"}},
				}, nil
			}
			before := p.plugin.asked.Load()
			res := call(t, cs, "plugin_p_do", args{"text": "a secret", "task_id": "another"})
			if res.IsError || text(res) != "two" || structured(t, res)["n"] != 2.0 || len(res.Content) != 2 {
				t.Errorf("%+v", res)
			}
			if got.Run.GrantID != m.ID || got.Run.Identity != id || got.Tool.Name != "plugin_p_do" || got.Tool.Tool.Name != "do" ||
				got.Tool.Plugin != "p" || string(got.Arguments) != `{"task_id":"another","text":"a secret"}` {
				t.Errorf("%+v", got)
			}
			if n := p.plugin.asked.Load() - before; n != 1 {
				t.Errorf("asked %d times", n)
			}
			ev := p.event(t, mcpserver.EventCall)
			if ev.Plugin != "p" || ev.Tool != "plugin_p_do" || ev.Outcome != mcpserver.OutcomeOK || ev.Run.Identity != id || ev.Duration <= 0 {
				t.Errorf("%+v", ev)
			}
			rec := p.record(t)
			for key, want := range map[string]any{
				"task": "t1", "session": "s1", "workspace": "w1", "surface": "chat", "grant": m.ID,
				"plugin": "p", "tool": "plugin_p_do", "outcome": "ok",
			} {
				if rec[key] != want {
					t.Errorf("the record's %s is %v", key, rec[key])
				}
			}
			if rec["duration"] == nil || strings.Contains(p.logged.String(), "a secret") {
				t.Errorf("%v", rec)
			}
			p.plugin.invoke = func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) {
				return mcpserver.Result{Text: "no such thing", IsError: true}, nil
			}
			if res := call(t, cs, "plugin_p_do", nil); !res.IsError || text(res) != "no such thing" {
				t.Errorf("%+v", res)
			}
			if ev := p.event(t, mcpserver.EventCall); ev.Outcome != mcpserver.OutcomeTool {
				t.Errorf("%+v", ev)
			}
		})
	}
}

// TestRefused: what must not reach the plugin does not, what the plugin gave and
// must not go out does not, the agent is told in a way that it can act on and
// without internals, and it is logged. [K5] [K7]
func TestRefused(t *testing.T) {
	tool := declared("do", "Does it.")
	tool.OutputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	elsewhere := declared("else", "Elsewhere.")
	elsewhere.Surfaces = []string{"batch"}
	orphan := declared("orphan", "Nobody does it.")
	internal := errors.New("dial 10.0.0.7: refused")
	limits := fast
	limits.Result = 2000
	limits.Invoke = 50 * time.Millisecond
	p := plug(t, mcpserver.Options{Limits: limits}, tool, elsewhere)
	declare(t, p.catalog, "gone", declared("do", "Goes."))
	declare(t, p.catalog, "lazy", orphan)
	_, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, stateful, nil)
	list(t, cs)
	p.catalog.Withdraw("gone") // after it was listed
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for _, tt := range []struct {
		name    string
		tool    string
		args    any
		invoke  func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error)
		outcome mcpserver.Outcome
		says    string // to the agent
		detail  string // in the log
		asked   int64
	}{
		{name: "forged name", tool: "plugin_p_forged", outcome: mcpserver.OutcomeUnknown, says: "unknown tool"},
		{name: "stale name", tool: "plugin_gone_do", outcome: mcpserver.OutcomeUnknown, says: "list the tools again"},
		{name: "local name", tool: "do", outcome: mcpserver.OutcomeUnknown, says: "unknown tool"},
		{name: "sentinel", tool: "plugberth.tools", outcome: mcpserver.OutcomeUnknown, says: "unknown tool"},
		{name: "wrong surface", tool: "plugin_p_else", outcome: mcpserver.OutcomeDenied, says: "unknown tool", detail: "surface"},
		{name: "no invoker", tool: "plugin_lazy_orphan", outcome: mcpserver.OutcomeTool, says: "cannot be called now", detail: "no invoker"},
		{name: "wrong type", tool: "plugin_p_do", args: args{"text": 7}, outcome: mcpserver.OutcomeInvalid, says: "/text"},
		{name: "too long", tool: "plugin_p_do", args: args{"text": strings.Repeat("private", 30)}, outcome: mcpserver.OutcomeInvalid, says: "/text"},
		{name: "no such argument", tool: "plugin_p_do", args: args{"private": 1}, outcome: mcpserver.OutcomeInvalid, says: "do not fit"},
		{name: "too many values", tool: "plugin_p_do", args: args{"text": make([]int, 30_000)}, outcome: mcpserver.OutcomeInvalid, says: "more than 20000 values"},
		{name: "no object", tool: "plugin_p_do", args: []int{1}, outcome: mcpserver.OutcomeInvalid, says: "do not fit"},
		{name: "output schema", tool: "plugin_p_do", asked: 1, outcome: mcpserver.OutcomeResult, says: "failed on the host's side", detail: "output schema",
			invoke: func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) {
				return mcpserver.Result{Structured: map[string]any{"n": "private"}}, nil
			}},
		{name: "no structured result", tool: "plugin_p_do", asked: 1, outcome: mcpserver.OutcomeResult, says: "failed on the host's side", detail: "no structured result",
			invoke: func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) {
				return mcpserver.Result{Text: "private"}, nil
			}},
		{name: "no object as result", tool: "plugin_p_do", asked: 1, outcome: mcpserver.OutcomeResult, says: "failed on the host's side", detail: "no JSON object",
			invoke: func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) {
				return mcpserver.Result{Structured: []string{"private"}}, nil
			}},
		{name: "over the bound", tool: "plugin_p_do", asked: 1, outcome: mcpserver.OutcomeResult, says: "Ask for less", detail: "too large",
			invoke: func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) {
				return mcpserver.Result{Structured: map[string]any{"n": 1}, Text: strings.Repeat("private ", 300)}, nil
			}},
		{name: "error", tool: "plugin_p_do", asked: 1, outcome: mcpserver.OutcomeError, says: "failed on the host's side", detail: "dial",
			invoke: func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) {
				return mcpserver.Result{}, internal
			}},
		{name: "error for agents", tool: "plugin_p_do", asked: 1, outcome: mcpserver.OutcomeTool, says: "come back tomorrow", detail: "dial",
			invoke: func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) {
				return mcpserver.Result{}, &channel.Refusal{Text: "come back tomorrow", Err: internal}
			}},
		{name: "panic", tool: "plugin_p_do", asked: 1, outcome: mcpserver.OutcomePanic, says: "failed on the host's side",
			invoke: func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) { panic("private") }},
		{name: "late", tool: "plugin_p_do", asked: 1, outcome: mcpserver.OutcomeTimeout, says: "did not finish in time",
			invoke: func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) {
				<-release // it does not heed the context
				return mcpserver.Result{}, nil
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.plugin.invoke = tt.invoke
			before := p.plugin.asked.Load()
			res, err := tryCall(cs, tt.tool, tt.args)
			said := fmt.Sprint(err)
			if err == nil {
				said = text(res)
				if !res.IsError {
					t.Errorf("no error: %s", said)
				}
			}
			if !strings.Contains(said, tt.says) {
				t.Errorf("the agent hears %q", said)
			}
			for _, never := range []string{"10.0.0.7", "mcpserver:", "goroutine", "privateprivate"} {
				if strings.Contains(said, never) {
					t.Errorf("the agent hears %q", said)
				}
			}
			if n := p.plugin.asked.Load() - before; n != tt.asked {
				t.Errorf("the plugin was asked %d times", n)
			}
			ev := p.event(t, mcpserver.EventCall)
			if ev.Outcome != tt.outcome || ev.Tool != tt.tool {
				t.Errorf("%+v", ev)
			}
			rec := p.record(t)
			detail, _ := rec["detail"].(string)
			if rec["outcome"] != string(tt.outcome) || rec["tool"] != tt.tool || rec["task"] != "t" || !strings.Contains(detail, tt.detail) {
				t.Errorf("%v", rec)
			}
		})
	}
	if strings.Contains(p.logged.String(), "privateprivate") {
		t.Error("an argument stands in the log")
	}
}

// TestStaleDeclaration: a call is judged by the declaration of its moment and not
// by what was listed: by another schema, as another plugin's tool, and while the
// plugin is suspended not at all. [K5]
func TestStaleDeclaration(t *testing.T) {
	p := plug(t, mcpserver.Options{}, declared("do", "Does it."))
	_, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, stateless, nil)
	list(t, cs)
	if res := call(t, cs, "plugin_p_do", args{"text": "x"}); res.IsError {
		t.Fatal(text(res))
	}
	strict := declared("do", "Does it.")
	strict.InputSchema = json.RawMessage(`{"type":"object","required":["number"]}`)
	declare(t, p.catalog, "p", strict)
	if res := call(t, cs, "plugin_p_do", args{"text": "x"}); !res.IsError || !strings.Contains(text(res), "number") {
		t.Error(text(res))
	}
	p.catalog.Suspend("p")
	if _, err := tryCall(cs, "plugin_p_do", args{"number": 1}); err == nil {
		t.Error("a suspended plugin was called")
	}
	p.catalog.Resume("p")
	if res := call(t, cs, "plugin_p_do", args{"number": 1}); res.IsError {
		t.Error(text(res))
	}
	// The same name of another plugin is carried out by that one.
	p.catalog.Withdraw("p")
	other := strict
	other.Name = "plugin_p_do"
	if err := p.catalog.Bridge("mcp", "q", other); err != nil {
		t.Fatal(err)
	}
	var q invoker
	p.invokers.SetSource("mcp", &q)
	call(t, cs, "plugin_p_do", args{"number": 1})
	if p.plugin.asked.Load() != 2 || q.asked.Load() != 1 {
		t.Errorf("p was asked %d times, q %d", p.plugin.asked.Load(), q.asked.Load())
	}
}

// TestWithdrawnInFlight: a call in flight whose plugin is withdrawn or suspended,
// or whose run gets another surface, is canceled with the reason, and the plugin's
// context ends; a tool that is only declared anew finishes. A call after that never
// reaches the plugin. [K5]
func TestWithdrawnInFlight(t *testing.T) {
	for _, tt := range []struct {
		name     string
		take     func(p *plugged, grant string)
		canceled bool
	}{
		{"withdrawn", func(p *plugged, _ string) { p.catalog.Withdraw("p") }, true},
		{"suspended", func(p *plugged, _ string) { p.catalog.Suspend("p") }, true},
		{"without the tool", func(p *plugged, _ string) { p.catalog.Declare("p") }, true},
		{"off the surface", func(p *plugged, grant string) { p.SetSurface(grant, "batch") }, true},
		{"declared anew", func(p *plugged, _ string) { p.catalog.Declare("p", declared("do", "Does it better.")) }, false},
	} {
		for _, era := range eras {
			t.Run(tt.name+"/"+era, func(t *testing.T) {
				p := plug(t, mcpserver.Options{}, declared("do", "Does it."))
				begun, finish := make(chan struct{}), make(chan struct{})
				ended := make(chan error, 1)
				p.plugin.invoke = func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
					close(begun)
					select {
					case <-ctx.Done():
						ended <- ctx.Err()
						return mcpserver.Result{}, ctx.Err()
					case <-finish:
						ended <- nil
						return mcpserver.Result{Text: "finished"}, nil
					}
				}
				m, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, era, nil)
				answer := make(chan string, 1)
				go func() {
					res, err := tryCall(cs, "plugin_p_do", args{})
					if err != nil {
						answer <- err.Error()
					} else {
						answer <- fmt.Sprint(res.IsError, " ", text(res))
					}
				}()
				<-begun
				tt.take(p, m.ID)
				if !tt.canceled {
					close(finish)
				}
				got := <-answer
				ev := p.event(t, mcpserver.EventCall)
				if err := <-ended; (err != nil) != tt.canceled {
					t.Errorf("the plugin's context: %v", err)
				}
				if tt.canceled {
					if !strings.HasPrefix(got, "true The tool was withdrawn") || ev.Outcome != mcpserver.OutcomeWithdrawn || ev.Plugin != "p" {
						t.Errorf("%s; %+v", got, ev)
					}
					for range 20 {
						if _, err := tryCall(cs, "plugin_p_do", args{}); err == nil {
							t.Error("it can be called")
						}
					}
				} else if got != "false finished" {
					t.Errorf("%s; %+v", got, ev)
				}
				if n := p.plugin.asked.Load(); n != 1 {
					t.Errorf("the plugin was asked %d times", n)
				}
			})
		}
	}
}

// TestWithdrawnWhileCalling: agents that call without pause while a plugin comes
// and goes reach it only while it is there: a call that begins after Withdraw
// returned does not, and one that began before has its context ended. [K5]
func TestWithdrawnWhileCalling(t *testing.T) {
	p := plug(t, mcpserver.Options{}, declared("do", "Does it."))
	var present atomic.Bool
	present.Store(true)
	p.plugin.invoke = func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
		if present.Load() {
			return mcpserver.Result{}, nil
		}
		select { // it was on its way when the plugin was withdrawn
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
			t.Error("a call of a plugin that is withdrawn goes on")
		}
		return mcpserver.Result{}, ctx.Err()
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for i := range 4 {
		_, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, eras[i%2], nil)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					tryCall(cs, "plugin_p_do", args{})
				}
			}
		})
	}
	for range 20 {
		p.catalog.Withdraw("p")
		present.Store(false)
		time.Sleep(2 * time.Millisecond) // lets calls come in
		before := p.plugin.asked.Load()
		_, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, stateless, nil)
		if _, err := tryCall(cs, "plugin_p_do", args{}); err == nil {
			t.Error("a call after Withdraw is answered")
		}
		if n := p.plugin.asked.Load() - before; n > 4 {
			t.Errorf("%d calls reached the plugin after it was withdrawn", n)
		}
		present.Store(true)
		declare(t, p.catalog, "p", declared("do", "Does it."))
	}
	close(stop)
	wg.Wait()
}

// authorizer is a host's own.
type authorizer func(ctx context.Context, a mcpserver.Authorization) error

func (f authorizer) Authorize(ctx context.Context, a mcpserver.Authorization) error { return f(ctx, a) }

// TestAuthorizer: the host's authorizer is asked for each call, with what the
// token is bound to, and what it says decides what the agent hears; it cannot
// allow what the registry refuses, and a panic or hang in it refuses. [K5]
func TestAuthorizer(t *testing.T) {
	var judge atomic.Pointer[authorizer]
	limits := fast
	limits.Invoke = 50 * time.Millisecond
	p := plug(t, mcpserver.Options{
		Limits: limits,
		Authorizer: authorizer(func(ctx context.Context, a mcpserver.Authorization) error {
			return (*judge.Load())(ctx, a)
		}),
	}, declared("do", "Does it."))
	m, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, stateful, nil)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	elsewhere := newCatalog(t)
	allow := func(context.Context, mcpserver.Authorization) error { return nil }
	for _, tt := range []struct {
		name    string
		judge   authorizer
		args    any
		outcome mcpserver.Outcome
		says    string
	}{
		{"allows", func(ctx context.Context, a mcpserver.Authorization) error {
			if who, _ := mcpserver.RunFromContext(ctx); who.GrantID != m.ID || a.Run.GrantID != m.ID || a.Run.Identity != onChat ||
				a.Tool != "plugin_p_do" || string(a.Arguments) != `{"text":"x"}` || a.Snapshot != p.catalog.Snapshot() {
				t.Errorf("%+v", a)
			}
			return nil
		}, args{"text": "x"}, mcpserver.OutcomeOK, "done"},
		{"allows what the schema does not", allow, args{"text": 1}, mcpserver.OutcomeInvalid, "do not fit"},
		{"withdraws meanwhile", func(context.Context, mcpserver.Authorization) error {
			p.catalog.Suspend("p")
			return nil
		}, args{}, "", ""},
		{"moves the run meanwhile", func(context.Context, mcpserver.Authorization) error {
			p.SetSurface(m.ID, "batch")
			return nil
		}, args{}, "", ""},
		{"refuses", func(context.Context, mcpserver.Authorization) error { return errors.New("quota of 10.0.0.7") },
			args{}, mcpserver.OutcomeDenied, "does not allow"},
		{"refuses in words", func(context.Context, mcpserver.Authorization) error {
			return &channel.Refusal{Text: "The budget is spent.", Err: errors.New("quota of 10.0.0.7")}
		}, args{}, mcpserver.OutcomeDenied, "The budget is spent."},
		{"the session is another task's", mcpserver.CatalogAuthorizer{
			Belong: func(_ context.Context, run mcpserver.Run) error {
				return fmt.Errorf("session %s is of task u", run.Identity.Session)
			},
		}.Authorize, args{}, mcpserver.OutcomeDenied, "does not allow"},
		{"they belong together", mcpserver.CatalogAuthorizer{
			Belong: func(context.Context, mcpserver.Run) error { return nil },
		}.Authorize, args{}, mcpserver.OutcomeOK, "done"},
		{"another catalog, the owner's, has it not", mcpserver.CatalogAuthorizer{Snapshot: elsewhere.Snapshot}.Authorize,
			args{}, mcpserver.OutcomeUnknown, "unknown tool"},
		{"arguments", func(context.Context, mcpserver.Authorization) error { return mcpserver.ErrArguments },
			args{}, mcpserver.OutcomeInvalid, "do not fit"},
		{"panics", func(context.Context, mcpserver.Authorization) error { panic("10.0.0.7") }, args{}, mcpserver.OutcomePanic, "failed on the host's side"},
		{"hangs", func(context.Context, mcpserver.Authorization) error { <-release; return nil }, args{}, mcpserver.OutcomeTimeout, "in time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			judge.Store(&tt.judge)
			before := p.plugin.asked.Load()
			res, err := tryCall(cs, "plugin_p_do", tt.args)
			said := fmt.Sprint(err)
			if err == nil {
				said = text(res)
			}
			ev := p.event(t, mcpserver.EventCall)
			if tt.outcome != "" && ev.Outcome != tt.outcome || tt.outcome == "" && ev.Outcome == mcpserver.OutcomeOK ||
				!strings.Contains(said, tt.says) || strings.Contains(said, "10.0.0.7") || strings.Contains(said, "task u") {
				t.Errorf("%q, %+v", said, ev)
			}
			if asked := p.plugin.asked.Load() - before; (asked == 1) != (ev.Outcome == mcpserver.OutcomeOK) {
				t.Errorf("asked %d times: %+v", asked, ev)
			}
			p.catalog.Resume("p")
			p.SetSurface(m.ID, "chat")
		})
	}
}

// TestCatalogAuthorizer: the ready authorizer judges in the order of the rule.
// [K5] [K7]
func TestCatalogAuthorizer(t *testing.T) {
	c := newCatalog(t)
	declare(t, c, "p", declared("do", "Does it."))
	good := mcpserver.Authorization{Run: mcpserver.Run{Identity: onChat}, Tool: "plugin_p_do", Snapshot: c.Snapshot(), Arguments: json.RawMessage(`{}`)}
	change := func(f func(a *mcpserver.Authorization)) mcpserver.Authorization {
		a := good
		f(&a)
		return a
	}
	foreign := mcpserver.CatalogAuthorizer{Belong: func(context.Context, mcpserver.Run) error { return errors.New("no") }}
	for _, tt := range []struct {
		name string
		by   mcpserver.CatalogAuthorizer
		a    mcpserver.Authorization
		want error
	}{
		{"good", mcpserver.CatalogAuthorizer{}, good, nil},
		{"identity comes first", foreign, change(func(a *mcpserver.Authorization) { a.Tool = "x" }), mcpserver.ErrIdentity},
		{"no snapshot", mcpserver.CatalogAuthorizer{}, change(func(a *mcpserver.Authorization) { a.Snapshot = nil }), mcpserver.ErrNotDeclared},
		{"not declared", mcpserver.CatalogAuthorizer{}, change(func(a *mcpserver.Authorization) { a.Tool = "x" }), mcpserver.ErrNotDeclared},
		{"surface before arguments", mcpserver.CatalogAuthorizer{}, change(func(a *mcpserver.Authorization) {
			a.Run.Identity.Surface, a.Arguments = "batch", json.RawMessage(`{"x":1}`)
		}), mcpserver.ErrSurface},
		{"no surface", mcpserver.CatalogAuthorizer{}, change(func(a *mcpserver.Authorization) { a.Run.Identity.Surface = "" }), mcpserver.ErrSurface},
		{"arguments", mcpserver.CatalogAuthorizer{}, change(func(a *mcpserver.Authorization) { a.Arguments = json.RawMessage(`{"x":1}`) }), mcpserver.ErrArguments},
	} {
		if err := tt.by.Authorize(t.Context(), tt.a); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestInvokeCancel: when the agent cancels, its plugin's context ends. [K5]
func TestInvokeCancel(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			p := plug(t, mcpserver.Options{}, declared("do", "Does it."))
			begun, ended := make(chan struct{}), make(chan error, 1)
			p.plugin.invoke = func(ctx context.Context, _ mcpserver.Invocation) (mcpserver.Result, error) {
				close(begun)
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Second):
				}
				ended <- ctx.Err()
				return mcpserver.Result{}, ctx.Err()
			}
			_, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, era, nil)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-begun
				cancel()
			}()
			if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "plugin_p_do"}); err == nil {
				t.Error("a canceled call is answered")
			}
			if err := <-ended; err == nil {
				t.Error("the plugin's context did not end")
			}
			if ev := p.event(t, mcpserver.EventCall); ev.Outcome != mcpserver.OutcomeCanceled || p.plugin.asked.Load() != 1 {
				t.Errorf("%+v, asked %d times", ev, p.plugin.asked.Load())
			}
		})
	}
}

// TestPluginCalls: a plugin whose calls hang takes the places of its own calls,
// and neither those of other plugins nor those of the host's tools. [K5]
func TestPluginCalls(t *testing.T) {
	p := plug(t, mcpserver.Options{Limits: mcpserver.Limits{Calls: 1, PluginCalls: 2, Rate: fast.Rate, Burst: fast.Burst}}, declared("hang", "Hangs."))
	declare(t, p.catalog, "good", declared("do", "Does it."))
	p.invokers.Set("good", &invoker{})
	begun, release := make(chan struct{}, 10), make(chan struct{})
	p.plugin.invoke = func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
		begun <- struct{}{}
		<-release
		return mcpserver.Result{Text: "released"}, nil
	}
	_, _, cs := p.link(t, mcpserver.Grant{Identity: onChat, Tools: []*mcpserver.Tool{note(t)}}, stateful, nil)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if res, err := tryCall(cs, "plugin_p_hang", args{}); err != nil || text(res) != "released" {
				t.Error(res, err)
			}
		})
		<-begun
	}
	if res := call(t, cs, "plugin_p_hang", args{}); !res.IsError || !strings.Contains(text(res), "2 calls of this plugin") {
		t.Error(text(res))
	}
	for tool, want := range map[string]string{"plugin_good_do": "done", "note": "noted"} {
		if got := text(call(t, cs, tool, args{"text": "x"})); got != want {
			t.Errorf("%s answers %s", tool, got)
		}
	}
	close(release)
	wg.Wait()
	if res := call(t, cs, "plugin_p_hang", args{}); text(res) != "released" {
		t.Error(text(res))
	}
}

// TestInvokeProgress: a client that asked hears of progress, at a bounded rate.
func TestInvokeProgress(t *testing.T) {
	p := plug(t, mcpserver.Options{}, declared("do", "Does it."))
	p.plugin.invoke = func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
		for n := range 1000 {
			if err := inv.Progress(ctx, float64(n), 1000, "working"); err != nil {
				t.Error(err)
			}
		}
		return mcpserver.Result{Text: "done"}, nil
	}
	var heard atomic.Int64
	_, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, stateful, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			if req.Params.Message == "working" {
				heard.Add(1)
			}
		},
	})
	params := &mcp.CallToolParams{Name: "plugin_p_do"}
	params.SetProgressToken("x")
	begun := time.Now()
	if _, err := cs.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	eventually(t, "progress", func() bool { return heard.Load() >= 1 })
	if most := 1 + int64(time.Since(begun)/(50*time.Millisecond)); heard.Load() > most {
		t.Errorf("heard %d reports", heard.Load())
	}
}
