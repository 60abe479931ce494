package mcpclient

//lint:file-ignore SA1019 roots, sampling and logging work in the protocol until they are removed from it

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

var one = plugin.Instance{ID: "one"}

func TestHostOneList(t *testing.T) { // [R10] [R11]
	var m memory
	m.set("a", echo("z", "b"))
	m.set("c", echo("read/it"))
	h := newMemoryHost(t, &m, HostOptions{})
	if err := h.Add(plugin.Instance{ID: "2"}, memoryPlugin(t, "second", "c")); err != nil {
		t.Fatal(err)
	}
	if err := h.Add(one, memoryPlugin(t, "first", "a")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	hashed := ToolName("second", "c", "read/it")
	if got, want := toolNames(h.Tools()), hashed+" mcp__first__a__b mcp__first__a__z"; got != want {
		t.Errorf("tools %q, want %q", got, want)
	}
	res, err := h.Call(t.Context(), hashed, json.RawMessage(`{"x": 1}`), CallOptions{})
	if got := textOf(t, res, err); got != `read/it {"x":1}` {
		t.Errorf("got %q", got)
	}
	res, err = h.Call(t.Context(), "mcp__first__a__z", nil, CallOptions{})
	if got := textOf(t, res, err); got != `z {}` {
		t.Errorf("got %q", got)
	}
	tool, ok := h.Lookup(hashed)
	if !ok || tool.Local != "read/it" || tool.Server != (ServerID{plugin.Instance{ID: "2"}, "second", "c"}) {
		t.Errorf("lookup: %+v", tool)
	}
	_, err = h.Call(t.Context(), "mcp__first__a__\x1b[31m", nil, CallOptions{})
	if !errors.Is(err, ErrUnknownTool) || !errors.Is(err, ErrNotSent) || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("unknown tool: %v", err)
	}
}

func TestHostIsolation(t *testing.T) { // [R3]
	var m memory
	m.set("good", echo("t"))
	m.set("broken", func(context.Context) (*mcp.Server, error) { return nil, errBroken })
	m.set("hangs", func(ctx context.Context) (*mcp.Server, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	m.set("refused", func(context.Context) (*mcp.Server, error) { return nil, ErrNotAllowed })
	var logs bytes.Buffer
	h := newMemoryHost(t, &m, HostOptions{Options: Options{
		ConnectTimeout: 100 * time.Millisecond,
		Logger:         slog.New(slog.NewTextHandler(&logs, nil)),
	}})
	if err := h.Add(one, memoryPlugin(t, "p", "broken", "hangs", "good", "refused")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	res, err := h.Call(t.Context(), "mcp__p__good__t", nil, CallOptions{})
	textOf(t, res, err)
	want := map[string]Status{"broken": StatusFailed, "hangs": StatusFailed, "good": StatusConnected, "refused": StatusDisabled}
	for _, s := range h.Servers() {
		if s.Status != want[s.ID.Server] {
			t.Errorf("%v: %v %v", s.ID, s.Status, s.Err)
		}
		if (s.Err == nil) != (s.Status == StatusConnected) {
			t.Errorf("%v: error %v", s.ID, s.Err)
		}
	}
	if err := h.Servers()[1].Err; !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrServer) {
		t.Errorf("the one that hangs: %v", err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(logs.String(), "broken") {
		t.Errorf("no record of the broken server: %s", &logs)
	}
}

func TestUnsupportedAndDisabled(t *testing.T) { // [R15] [C9]
	for _, tt := range []struct {
		opts   plugin.Options
		status Status
		err    error
	}{
		{plugin.Options{Unsupported: []plugin.Transport{plugin.TransportStdio}}, StatusUnsupported, ErrUnsupported},
		{plugin.Options{Disabled: []plugin.Transport{plugin.TransportStdio}}, StatusDisabled, ErrNotAllowed},
	} {
		var m memory
		m.set("s", echo("t"))
		h := newMemoryHost(t, &m, HostOptions{})
		if err := h.Add(one, loadPluginWith(t, tt.opts, "p", "s")); err != nil {
			t.Fatal(err)
		}
		if err := h.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := h.Servers()[0]; s.Status != tt.status || !errors.Is(s.Err, tt.err) {
			t.Errorf("got %v, %v", s.Status, s.Err)
		}
		if _, err := h.Session(t.Context(), h.Servers()[0].ID); !errors.Is(err, tt.err) {
			t.Errorf("session: %v", err)
		}
		if m.opened("s") != 0 {
			t.Error("it was opened")
		}
	}
}

// TestReconnect: a server that crashed is connected to on the next use, once,
// and what was in flight fails and is not sent again.
func TestReconnect(t *testing.T) { // [R5]
	var m memory
	var calls atomic.Int32
	entered := make(chan struct{}, 1)
	m.set("s", func(context.Context) (*mcp.Server, error) {
		srv := newEcho("quick")
		srv.AddTool(&mcp.Tool{Name: "slow", InputSchema: anyObject}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			calls.Add(1)
			entered <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		return srv, nil
	})
	h := newMemoryHost(t, &m, HostOptions{Retry: Retry{Min: time.Nanosecond, Max: time.Nanosecond}})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	events := h.Watch(t.Context())
	awaitStatus(t, events, "s", StatusConnected)

	failed := make(chan error, 1)
	go func() {
		_, err := h.Call(t.Context(), "mcp__p__s__slow", nil, CallOptions{})
		failed <- err
	}()
	<-entered
	m.crash("s")
	if err := <-failed; !errors.Is(err, ErrServer) || errors.Is(err, ErrNotSent) {
		t.Errorf("the call in flight: %v", err)
	}
	awaitStatus(t, events, "s", StatusFailed)
	if got := toolNames(h.Tools()); got != "mcp__p__s__quick mcp__p__s__slow" {
		t.Errorf("tools while it is gone: %q", got)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			res, err := h.Call(t.Context(), "mcp__p__s__quick", nil, CallOptions{})
			if err != nil || res.IsError {
				t.Errorf("after the crash: %v", err)
			}
		})
	}
	wg.Wait()
	if n := m.opened("s"); n != 2 {
		t.Errorf("connected %d times", n)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the slow tool ran %d times", n)
	}
}

func TestRetryLimits(t *testing.T) { // [R5]
	r := Retry{Min: time.Second, Max: 10 * time.Second, Attempts: 6, Rest: time.Hour}.withDefaults()
	for failures, most := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second} {
		for range 100 {
			if d := r.wait(failures); d > most || d < most*3/4 {
				t.Errorf("after %d failures %v, want about %v", failures, d, most)
			}
		}
	}
	if d := r.wait(6); d != time.Hour {
		t.Errorf("rest: %v", d)
	}

	var m memory
	m.set("s", func(context.Context) (*mcp.Server, error) { return nil, errBroken })
	h := newMemoryHost(t, &m, HostOptions{Lazy: true, Retry: Retry{Min: time.Hour, Max: time.Hour}})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	id := h.Servers()[0].ID
	if h.Servers()[0].Status != StatusIdle {
		t.Errorf("lazy: %v", h.Servers()[0].Status)
	}
	for range 3 { // only the first one is a try
		if _, err := h.Session(t.Context(), id); !errors.Is(err, errBroken) || !errors.Is(err, ErrNotSent) {
			t.Errorf("session: %v", err)
		}
	}
	m.set("s", echo("t"))
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := h.Servers()[0]; s.Status != StatusFailed {
		t.Errorf("before its time: %v", s.Status)
	}
	if err := h.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := h.Servers()[0]; s.Status != StatusConnected || m.opened("s") != 1 {
		t.Errorf("after a refresh: %v %v, opened %d times", s.Status, s.Err, m.opened("s"))
	}
}

// TestCanceledCaller: a caller that leaves ends an attempt that nobody else
// waits for, at once, and that is no failure of the server.
func TestCanceledCaller(t *testing.T) { // [R3]
	var m memory
	opened, ended := make(chan struct{}), make(chan struct{})
	m.set("s", func(ctx context.Context) (*mcp.Server, error) {
		close(opened)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
	h := newMemoryHost(t, &m, HostOptions{Lazy: true})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := h.Session(ctx, h.Servers()[0].ID)
		done <- err
	}()
	<-opened
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || !errors.Is(err, ErrNotSent) {
		t.Errorf("got %v", err)
	}
	<-ended
	events := h.Watch(t.Context())
	awaitStatus(t, events, "s", StatusIdle)
}

// TestListChanged: the host lists again when a server says so, and on demand.
func TestListChanged(t *testing.T) { // [R11]
	srv := newEcho("a")
	var m memory
	m.set("s", func(context.Context) (*mcp.Server, error) { return srv, nil })
	h := newMemoryHost(t, &m, HostOptions{})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := h.Watch(t.Context())
	addEcho(srv, "b")
	await(t, events, "tools a and b", func(e Event) bool {
		return e.Tools && toolNames(h.Tools()) == "mcp__p__s__a mcp__p__s__b"
	})
	srv.RemoveTools("a")
	await(t, events, "tool b", func(e Event) bool { return e.Tools && toolNames(h.Tools()) == "mcp__p__s__b" })
	if err := h.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := toolNames(h.Tools()); got != "mcp__p__s__b" {
		t.Errorf("after a refresh: %q", got)
	}
}

func TestReplaceAndRemove(t *testing.T) { // [R3] [R4]
	var m memory
	m.set("s", echo("old"))
	m.set("x", echo("x"))
	h := newMemoryHost(t, &m, HostOptions{})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Add(plugin.Instance{ID: "2"}, memoryPlugin(t, "q", "x")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	old, err := h.Session(t.Context(), h.Servers()[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	m.set("s", echo("new"))
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(old.Err(), ErrClosed) {
		t.Errorf("the old session: %v", old.Err())
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := toolNames(h.Tools()); got != "mcp__p__s__new mcp__q__x__x" {
		t.Errorf("after the update: %q", got)
	}
	h.Remove(one)
	h.Remove(one)
	if got := toolNames(h.Tools()); got != "mcp__q__x__x" {
		t.Errorf("after removal: %q", got)
	}
	if _, err := h.Call(t.Context(), "mcp__p__s__new", nil, CallOptions{}); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("call: %v", err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Add(one, memoryPlugin(t, "p", "s")); !errors.Is(err, ErrClosed) {
		t.Errorf("add after close: %v", err)
	}
	if err := h.Ready(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("ready after close: %v", err)
	}
	if got := h.Tools(); len(got) != 0 {
		t.Errorf("tools after close: %v", got)
	}
	if err := h.Add(plugin.Instance{}, memoryPlugin(t, "p", "s")); !errors.Is(err, plugin.ErrInstance) {
		t.Errorf("add without an instance: %v", err)
	}
}

func TestReservedAndColliding(t *testing.T) { // [R10]
	var m memory
	m.set("s", echo("a", "b"))
	h := newMemoryHost(t, &m, HostOptions{Reserved: []string{"mcp__s__a"}, ShortNames: true})
	for _, name := range []string{"p", "q"} {
		if err := h.Add(plugin.Instance{ID: name}, memoryPlugin(t, name, "s")); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := toolNames(h.Tools()); got != "mcp__s__b" {
		t.Errorf("tools %q", got)
	}
	if tool, _ := h.Lookup("mcp__s__b"); tool.Server.Plugin != "p" {
		t.Errorf("the first one has the name: %+v", tool.Server)
	}
	states := h.Servers()
	if len(states[0].Dropped) != 1 || len(states[1].Dropped) != 2 {
		t.Errorf("dropped: %v, %v", states[0].Dropped, states[1].Dropped)
	}
}

// TestOneInstanceOfAPlugin: another instance of a plugin, whose tools would have
// the same names, is refused when it is added, and what was there stays.
func TestOneInstanceOfAPlugin(t *testing.T) { // [R10]
	var m memory
	for _, s := range []string{"s", "other", "third"} {
		m.set(s, echo("t"))
	}
	h := newMemoryHost(t, &m, HostOptions{})
	two := plugin.Instance{Tenant: "acme", ID: one.ID}
	add := func(in plugin.Instance, is error, name string, servers ...string) {
		t.Helper()
		if err := h.Add(in, memoryPlugin(t, name, servers...)); !errors.Is(err, is) {
			t.Errorf("%v with %s %v: %v", in, name, servers, err)
		}
	}
	add(one, nil, "p", "s")
	add(two, ErrInstalled, "p", "other", "s")
	add(two, nil, "p", "other")
	add(two, nil, "q", "s")
	add(two, ErrInstalled, "p", "s")
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := toolNames(h.Tools()); got != "mcp__p__s__t mcp__q__s__t" {
		t.Errorf("tools %q", got)
	}
	h.Remove(one)
	add(two, nil, "p", "s")

	// One whose transport is disabled has no tools.
	off := loadPluginWith(t, plugin.Options{Disabled: []plugin.Transport{plugin.TransportStdio}}, "p", "s")
	if err := h.Add(one, off); err != nil {
		t.Error(err)
	}
}

// TestPins: what was not accepted as it is cannot be called.
func TestPins(t *testing.T) { // [R13]
	srv := newEcho("a")
	var m memory
	m.set("s", func(context.Context) (*mcp.Server, error) { return srv, nil })
	var pins Pins
	h := newMemoryHost(t, &m, HostOptions{Pins: &pins})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(h.Tools()) != 0 || toolNames(h.Held()) != "mcp__p__s__a" {
		t.Fatalf("tools %q, held %q", toolNames(h.Tools()), toolNames(h.Held()))
	}
	if _, err := h.Call(t.Context(), "mcp__p__s__a", nil, CallOptions{}); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("a held tool: %v", err)
	}
	h.Accept(h.Held()...)
	if toolNames(h.Tools()) != "mcp__p__s__a" || len(h.Held()) != 0 {
		t.Fatalf("after accepting: tools %q, held %q", toolNames(h.Tools()), toolNames(h.Held()))
	}
	// Pins survive JSON.
	text, err := json.Marshal(&pins)
	if err != nil {
		t.Fatal(err)
	}
	var again Pins
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if !again.accepted(h.Tools()[0]) {
		t.Errorf("lost: %s", text)
	}

	events := h.Watch(t.Context())
	srv.AddTool(&mcp.Tool{Name: "a", Description: "Now does something else", InputSchema: anyObject},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	await(t, events, "the changed tool held back", func(e Event) bool {
		return e.Tools && len(h.Tools()) == 0 && toolNames(h.Held()) == "mcp__p__s__a"
	})
	if _, err := h.Call(t.Context(), "mcp__p__s__a", nil, CallOptions{}); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("a changed tool: %v", err)
	}
	// One that is accepted as it was before stays held back.
	before := h.Held()[0]
	before.Digest = "sha256:0"
	h.Accept(before)
	if len(h.Tools()) != 0 {
		t.Error("a tool was accepted that is not the one")
	}

	h.Accept(h.Held()...)
	pins.Forget(plugin.Instance{Tenant: "other", ID: one.ID})
	if !pins.accepted(h.Tools()[0]) {
		t.Error("another tenant's instance was forgotten")
	}
	if err := h.Remove(one); err != nil {
		t.Fatal(err)
	}
	pins.Forget(one)
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(h.Tools()) != 0 || len(h.Held()) != 1 {
		t.Errorf("installed again: tools %q, held %q", toolNames(h.Tools()), toolNames(h.Held()))
	}
}

// TestDigest: each thing that a server says of a tool counts.
func TestDigest(t *testing.T) { // [R13]
	yes := true
	base := func() *mcp.Tool {
		return &mcp.Tool{Name: "t", Title: "T", Description: "d", InputSchema: map[string]any{"type": "object", "title": "x"}}
	}
	digest := func(t *testing.T, tool *mcp.Tool) string {
		t.Helper()
		made, err := makeTool(tool, Limits{}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		return made.Digest
	}
	want := digest(t, base())
	if again := digest(t, base()); again != want || !strings.HasPrefix(want, "sha256:") || len(want) != 71 {
		t.Errorf("%q and %q", want, again)
	}
	for name, change := range map[string]func(*mcp.Tool){
		"name":        func(t *mcp.Tool) { t.Name = "u" },
		"title":       func(t *mcp.Tool) { t.Title = "U" },
		"description": func(t *mcp.Tool) { t.Description = "e" },
		"hidden text": func(t *mcp.Tool) { t.Description = "d\u200b" },
		"input":       func(t *mcp.Tool) { t.InputSchema = map[string]any{"type": "object", "title": "y"} },
		"output":      func(t *mcp.Tool) { t.OutputSchema = map[string]any{"type": "object"} },
		"annotations": func(t *mcp.Tool) { t.Annotations = &mcp.ToolAnnotations{DestructiveHint: &yes} },
	} {
		tool := base()
		change(tool)
		if digest(t, tool) == want {
			t.Errorf("%s does not count", name)
		}
	}
}

func TestCallBounds(t *testing.T) { // [R9] [R3]
	var m memory
	m.set("s", func(context.Context) (*mcp.Server, error) {
		srv := newEcho("ok")
		add := func(name string, h mcp.ToolHandler) {
			srv.AddTool(&mcp.Tool{Name: name, InputSchema: anyObject}, h)
		}
		add("big", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 2000)}}}, nil
		})
		add("bigger", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: map[string]any{"a": []string{strings.Repeat("x", 2000)}}}, nil
		})
		add("hangs", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		add("fails", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}}, nil
		})
		add("refuses", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: -32000, Message: "bad\x1b[31m\u202e thing"}
		})
		return srv, nil
	})
	var records []CallRecord
	h := newMemoryHost(t, &m, HostOptions{
		Options: Options{Limits: Limits{Result: 1000}, CallTimeout: 50 * time.Millisecond},
		OnCall:  func(r CallRecord) { records = append(records, r) },
	})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		tool    string
		ctx     context.Context
		want    error
		outcome Outcome
	}{
		{"big", t.Context(), ErrLimit, OutcomeFailed},
		{"bigger", t.Context(), ErrLimit, OutcomeFailed},
		{"hangs", t.Context(), context.DeadlineExceeded, OutcomeTimeout},
		{"hangs", canceled, context.Canceled, OutcomeCanceled},
		{"refuses", t.Context(), ErrServer, OutcomeFailed},
		{"fails", t.Context(), nil, OutcomeToolError},
		{"ok", t.Context(), nil, OutcomeResult},
	} {
		res, err := h.Call(tt.ctx, "mcp__p__s__"+tt.tool, nil, CallOptions{})
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.tool, err)
		}
		last := records[len(records)-1]
		if last.Outcome != tt.outcome || last.Local != tt.tool || last.Tool != "mcp__p__s__"+tt.tool || (last.Err == nil) != (err == nil) {
			t.Errorf("%s: record %+v", tt.tool, last)
		}
		if err == nil && (res.IsError != (tt.tool == "fails") || last.Bytes == 0) {
			t.Errorf("%s: %+v %+v", tt.tool, res, last)
		}
		var wire *jsonrpc.Error
		if tt.tool == "refuses" && (!errors.As(err, &wire) || wire.Code != -32000 || strings.ContainsAny(err.Error(), "\x1b\u202e")) {
			t.Errorf("%s: %q", tt.tool, err)
		}
	}
	if n := m.opened("s"); n != 1 {
		t.Errorf("the session did not survive: %d", n)
	}
}

// TestHostileLists: what a server says of its tools is bounded and cleaned.
func TestHostileLists(t *testing.T) { // [R9] [R10]
	long := strings.Repeat("x", 300)
	for name, tt := range map[string]struct {
		tools   []*mcp.Tool
		want    string
		dropped int
	}{
		"hidden text": {[]*mcp.Tool{{Name: "t", Title: "a\u202eb", Description: "a\u200bb\x1b[31m", InputSchema: map[string]any{
			"type": "object", "description": "c\U000e0041d", "properties": map[string]any{"p": map[string]any{"title": "e\ufefff"}}}}}, "t", 0},
		"hidden property": {[]*mcp.Tool{{Name: "t", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"p\u200b": true}}}}, "", 1},
		"hidden choice":   {[]*mcp.Tool{{Name: "t", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"p": map[string]any{"enum": []any{"a\u202e"}}}}}}, "", 1},
		"names": {[]*mcp.Tool{
			{Name: "", InputSchema: anyObject}, {Name: long, InputSchema: anyObject}, {Name: "t", InputSchema: anyObject}, {Name: "t", InputSchema: anyObject},
			{Name: "../../x\x00", InputSchema: anyObject}}, "../../x\x00 t", 3},
		"schemas": {[]*mcp.Tool{
			{Name: "none"}, {Name: "untyped", InputSchema: map[string]any{}}, {Name: "list", InputSchema: []any{}}, {Name: "string", InputSchema: map[string]any{"type": "string"}},
			{Name: "file", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"$ref": "file:///etc/passwd"}}}},
			{Name: "out", InputSchema: anyObject, OutputSchema: map[string]any{"type": "object", "$ref": "https://example.com/"}},
			{Name: "large", InputSchema: map[string]any{"type": "object", "title": strings.Repeat("x", 70_000)}},
		}, "none untyped", 5},
	} {
		t.Run(name, func(t *testing.T) {
			var m memory
			m.set("s", func(context.Context) (*mcp.Server, error) {
				srv := newEcho("sentinel")
				srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
						if method == "tools/list" {
							return &mcp.ListToolsResult{Tools: tt.tools}, nil
						}
						return next(ctx, method, req)
					}
				})
				return srv, nil
			})
			h := newMemoryHost(t, &m, HostOptions{})
			if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
				t.Fatal(err)
			}
			if err := h.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tool := range h.Tools() {
				got = append(got, tool.Local)
				if text := fmt.Sprint(tool.Name, tool.Title, tool.Description, string(tool.InputSchema)); strings.ContainsAny(text, "\u200b\u202e\x1b\ufeff\U000e0041") || strings.Contains(text, `\u`) {
					t.Errorf("hidden text in %q", text)
				}
				if !json.Valid(tool.InputSchema) {
					t.Errorf("schema %s", tool.InputSchema)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("tools %q, want %q", got, tt.want)
			}
			state := h.Servers()[0]
			if state.Status != StatusConnected || len(state.Dropped) != tt.dropped {
				t.Errorf("%v, dropped %v", state.Status, state.Dropped)
			}
			for _, d := range state.Dropped {
				if len(d.Local) > 100 || strings.Contains(d.Local, "\x00") || d.Reason == "" {
					t.Errorf("dropped %q: %s", d.Local, d.Reason)
				}
			}
		})
	}
}

func TestHostilePages(t *testing.T) { // [R9]
	pages := func(answer func(cursor string) *mcp.ListToolsResult) func(context.Context) (*mcp.Server, error) {
		return func(context.Context) (*mcp.Server, error) {
			srv := newEcho("sentinel")
			srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == "tools/list" {
						return answer(req.GetParams().(*mcp.ListToolsParams).Cursor), nil
					}
					return next(ctx, method, req)
				}
			})
			return srv, nil
		}
	}
	tool := func(name string) *mcp.Tool { return &mcp.Tool{Name: name, InputSchema: anyObject} }
	many := make([]*mcp.Tool, 10_000)
	for i := range many {
		many[i] = tool(fmt.Sprint("t", i))
	}
	for name, tt := range map[string]struct {
		answer func(string) *mcp.ListToolsResult
		want   error
		tools  int
	}{
		"three pages": {func(c string) *mcp.ListToolsResult {
			next := map[string]string{"": "1", "1": "2"}[c]
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{tool("t" + c)}, NextCursor: next}
		}, nil, 3},
		"without end":     {func(c string) *mcp.ListToolsResult { return &mcp.ListToolsResult{NextCursor: c + "x"} }, ErrLimit, 0},
		"the same cursor": {func(string) *mcp.ListToolsResult { return &mcp.ListToolsResult{NextCursor: "x"} }, ErrServer, 0},
		"10,000 tools":    {func(string) *mcp.ListToolsResult { return &mcp.ListToolsResult{Tools: many} }, ErrLimit, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var m memory
			m.set("s", pages(tt.answer))
			h := newMemoryHost(t, &m, HostOptions{})
			if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
				t.Fatal(err)
			}
			if err := h.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			s := h.Servers()[0]
			if s.Status != StatusConnected || !errors.Is(s.Err, tt.want) || len(h.Tools()) != tt.tools {
				t.Errorf("%v, %v, %d tools", s.Status, s.Err, len(h.Tools()))
			}
			sess, err := h.Session(t.Context(), s.ID)
			if err != nil {
				t.Fatal(err)
			}
			if res, err := sess.CallTool(t.Context(), "sentinel", nil, CallOptions{}); err != nil || res.IsError {
				t.Errorf("the session did not survive: %v", err)
			}
		})
	}
}

func TestOutputSchema(t *testing.T) { // [R11]
	var m memory
	results := map[string]*mcp.CallToolResult{
		"fits":  {StructuredContent: map[string]any{"n": 1}},
		"not":   {StructuredContent: map[string]any{"n": "secret"}},
		"none":  {Content: []mcp.Content{&mcp.TextContent{Text: "1"}}},
		"error": {IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}},
	}
	m.set("s", func(context.Context) (*mcp.Server, error) {
		srv := newEcho()
		for name, res := range results {
			srv.AddTool(&mcp.Tool{Name: name, InputSchema: anyObject, OutputSchema: json.RawMessage(
				`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return res, nil })
		}
		return srv, nil
	})
	h := newMemoryHost(t, &m, HostOptions{})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, fails := range map[string]bool{"fits": false, "not": true, "none": true, "error": false} {
		_, err := h.Call(t.Context(), "mcp__p__s__"+name, nil, CallOptions{})
		if errors.Is(err, ErrServer) != fails || (err == nil) == fails {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s quotes the result: %v", name, err)
		}
	}
}

func TestProgress(t *testing.T) { // [R11]
	var m memory
	seen := make(chan Progress)
	var got []Progress
	m.set("s", func(context.Context) (*mcp.Server, error) {
		srv := newEcho()
		srv.AddTool(&mcp.Tool{Name: "t", InputSchema: anyObject}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for i := range 3 {
				err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: req.Params.GetProgressToken(), Progress: float64(i), Total: 3, Message: "step\u200b\x1b[1m"})
				if err != nil {
					return nil, err
				}
				got = append(got, <-seen)
			}
			return &mcp.CallToolResult{}, nil
		})
		return srv, nil
	})
	h := newMemoryHost(t, &m, HostOptions{})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Call(t.Context(), "mcp__p__s__t", nil, CallOptions{Progress: func(p Progress) { seen <- p }}); err != nil {
		t.Fatal(err)
	}
	for i, p := range got {
		if p != (Progress{Done: float64(i), Total: 3, Message: "step[1m"}) {
			t.Errorf("progress %d: %v", i, p)
		}
	}
	if len(got) != 3 {
		t.Errorf("got %v", got)
	}
}

// TestServerAsks: what a server asks of its client reaches the host's handler,
// or gets the protocol's refusal.
func TestServerAsks(t *testing.T) { // [R14]
	ask := func(_ context.Context) (*mcp.Server, error) {
		srv := newEcho()
		srv.AddTool(&mcp.Tool{Name: "ask", InputSchema: anyObject}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var out []string
			say := func(what string, err error, text string) {
				var wire *jsonrpc.Error
				if errors.As(err, &wire) {
					text = fmt.Sprint(wire.Code)
				} else if err != nil {
					text = err.Error()
				}
				out = append(out, what+"="+text)
			}
			roots, err := req.Session.ListRoots(ctx, nil)
			if err == nil {
				say("roots", nil, roots.Roots[0].URI)
			} else {
				say("roots", err, "")
			}
			msg, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
			if err == nil {
				say("sample", nil, msg.Model)
			} else {
				say("sample", err, "")
			}
			caps := req.Session.InitializeParams().Capabilities
			say("announced", nil, fmt.Sprint(caps.RootsV2 != nil, caps.Sampling != nil, caps.Elicitation != nil))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(out, " ")}}}, nil
		})
		return srv, nil
	}
	for name, tt := range map[string]struct {
		handlers Handlers
		want     string
	}{
		"none": {Handlers{}, "roots=-32601 sample=-32601 announced=false false false"},
		"all": {Handlers{
			Elicit: func(context.Context, ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "decline"}, nil
			},
			Roots: func(_ context.Context, id ServerID) ([]*mcp.Root, error) {
				return []*mcp.Root{{URI: "file:///" + id.Server}}, nil
			},
			Sample: func(_ context.Context, id ServerID, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Model: id.Plugin, Role: "assistant", Content: &mcp.TextContent{Text: "x"}}, nil
			},
		}, "roots=file:///s sample=p announced=true true true"},
		"panicking": {Handlers{
			Roots: func(context.Context, ServerID) ([]*mcp.Root, error) { panic("secret") },
			Sample: func(context.Context, ServerID, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				panic("secret")
			},
		}, "roots=-32603 sample=-32603 announced=true true false"},
	} {
		t.Run(name, func(t *testing.T) {
			var m memory
			m.set("s", ask)
			h := newMemoryHost(t, &m, HostOptions{Options: Options{Handlers: tt.handlers}})
			if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
				t.Fatal(err)
			}
			if err := h.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			res, err := h.Call(t.Context(), "mcp__p__s__ask", nil, CallOptions{})
			if got := textOf(t, res, err); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestView: a run sees the servers that were chosen for it, until it ends.
func TestView(t *testing.T) { // [R3]
	var m memory
	entered := make(chan struct{})
	m.set("a", func(context.Context) (*mcp.Server, error) {
		srv := newEcho("t")
		srv.AddTool(&mcp.Tool{Name: "slow", InputSchema: anyObject}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(entered)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		return srv, nil
	})
	m.set("b", echo("t"))
	h := newMemoryHost(t, &m, HostOptions{})
	if err := h.Add(one, memoryPlugin(t, "p", "a", "b")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := h.View(func(id ServerID) bool { return id.Server == "a" })
	if got := toolNames(v.Tools()); got != "mcp__p__a__slow mcp__p__a__t" {
		t.Errorf("tools %q", got)
	}
	if s := v.Servers(); len(s) != 1 || s[0].ID.Server != "a" || s[0].Status != StatusConnected {
		t.Errorf("servers %+v", s)
	}
	if tool, ok := v.Lookup("mcp__p__a__t"); !ok || tool.Local != "t" {
		t.Errorf("looked up: %+v", tool)
	}
	if tool, ok := v.Lookup("mcp__p__b__t"); ok {
		t.Errorf("another server: %+v", tool)
	}
	if _, err := v.Call(t.Context(), "mcp__p__b__t", nil, CallOptions{}); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("another server: %v", err)
	}
	res, err := v.Call(t.Context(), "mcp__p__a__t", nil, CallOptions{})
	textOf(t, res, err)
	failed := make(chan error)
	go func() {
		_, err := v.Call(t.Context(), "mcp__p__a__slow", nil, CallOptions{})
		failed <- err
	}()
	<-entered
	v.Close()
	if err := <-failed; !errors.Is(err, ErrClosed) {
		t.Errorf("in flight: %v", err)
	}
	if _, err := v.Call(t.Context(), "mcp__p__a__t", nil, CallOptions{}); !errors.Is(err, ErrClosed) || len(v.Tools()) != 0 || len(v.Servers()) != 0 {
		t.Errorf("after it closed: %v", err)
	}
	if _, ok := v.Lookup("mcp__p__a__t"); ok {
		t.Error("a tool is found after it closed")
	}
	if err := v.Ready(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Ready after it closed: %v", err)
	}
	res, err = h.Call(t.Context(), "mcp__p__b__t", nil, CallOptions{})
	textOf(t, res, err)
}

// TestViewReady: a run that waits for its servers connects to no others, and
// stops waiting when its view closes.
func TestViewReady(t *testing.T) { // [R3]
	var m memory
	entered := make(chan struct{})
	m.set("a", echo("t"))
	m.set("b", echo("t"))
	m.set("hangs", func(ctx context.Context) (*mcp.Server, error) {
		close(entered)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	h := newMemoryHost(t, &m, HostOptions{Lazy: true})
	if err := h.Add(one, memoryPlugin(t, "p", "a", "b", "hangs")); err != nil {
		t.Fatal(err)
	}
	v := h.View(func(id ServerID) bool { return id.Server == "a" })
	defer v.Close()
	if err := v.Ready(t.Context()); err != nil || toolNames(v.Tools()) != "mcp__p__a__t" || m.opened("b") != 0 {
		t.Errorf("%v, tools %q, b was opened %d times", err, toolNames(v.Tools()), m.opened("b"))
	}
	w := h.View(func(id ServerID) bool { return id.Server == "hangs" })
	waited := make(chan error)
	go func() { waited <- w.Ready(t.Context()) }()
	<-entered
	w.Close()
	if err := <-waited; !errors.Is(err, ErrClosed) {
		t.Errorf("a view that closes: %v", err)
	}
}

// TestRefreshOne: one server is tried again or listed anew, and no other.
func TestRefreshOne(t *testing.T) { // [R5] [R11]
	var m memory
	var broken atomic.Bool
	broken.Store(true)
	for _, name := range []string{"a", "b"} {
		m.set(name, func(context.Context) (*mcp.Server, error) {
			if broken.Load() {
				return nil, errBroken
			}
			return newEcho("t"), nil
		})
	}
	h := newMemoryHost(t, &m, HostOptions{Retry: Retry{Min: time.Hour, Max: time.Hour}})
	if err := h.Add(one, memoryPlugin(t, "p", "a", "b")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken.Store(false)
	if err := h.Refresh(t.Context(), h.Servers()[0].ID); err != nil {
		t.Fatal(err)
	}
	states := h.Servers()
	if states[0].Status != StatusConnected || states[1].Status != StatusFailed {
		t.Errorf("states %+v", states)
	}
	unknown := ServerID{Instance: one, Plugin: "p", Server: "c"}
	if err := h.Refresh(t.Context(), states[1].ID, unknown); !errors.Is(err, ErrNoServer) || h.Servers()[1].Status != StatusFailed {
		t.Errorf("with an unknown one: %v, %+v", err, h.Servers()[1])
	}
	if err := h.Refresh(t.Context()); err != nil || h.Servers()[1].Status != StatusConnected {
		t.Errorf("all: %v, %+v", err, h.Servers()[1])
	}
}

// TestClosedHostSaysSo: a call of a host that is closed says that, whatever it
// calls.
func TestClosedHostSaysSo(t *testing.T) { // [R3]
	var m memory
	m.set("s", echo("t"))
	h := newMemoryHost(t, &m, HostOptions{})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Call(t.Context(), "mcp__p__s__t", nil, CallOptions{}); !errors.Is(err, ErrClosed) || !errors.Is(err, ErrNotSent) {
		t.Errorf("got %v", err)
	}
}

// TestLedAstray: a server whose name led where the policy refuses is connected
// to once it leads elsewhere, without anyone who asks for it; one whose URL
// spells out such a place stays disabled. [R7]
func TestLedAstray(t *testing.T) { // [R5] [R15]
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newEcho("t") }, nil))
	defer ts.Close()
	var astray atomic.Bool
	astray.Store(true)
	egress := DesktopEgress()
	egress.Check = func(context.Context, string, netip.AddrPort) error {
		if astray.Load() {
			return errors.New("not there")
		}
		return nil
	}
	h, err := NewHost(HostOptions{Options: Options{Egress: egress}, Retry: Retry{Min: 1, Max: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	if err := h.Add(one, loadServers(t, map[string]any{
		"led":     map[string]any{"type": "streamable-http", "url": localhost(ts)},
		"literal": map[string]any{"type": "streamable-http", "url": "https://10.0.0.1/"},
	})); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := func(led, literal Status) {
		t.Helper()
		for _, s := range h.Servers() {
			status := led
			if s.ID.Server == "literal" {
				status = literal
			}
			if s.Status != status || status != StatusConnected && !errors.Is(s.Err, ErrNotAllowed) {
				t.Errorf("%v: %v, %v", s.ID, s.Status, s.Err)
			}
		}
	}
	want(StatusFailed, StatusDisabled)
	astray.Store(false)
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(StatusConnected, StatusDisabled)
}

// TestStateHasFindings: what the client found in an entry can be read from the
// server's state. [R6] [R2]
func TestStateHasFindings(t *testing.T) { // [R15]
	h, err := NewHost(HostOptions{Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	if err := h.Add(one, loadServers(t, map[string]any{
		"remote": map[string]any{"type": "streamable-http", "url": "https://mcp.example.com/", "headers": map[string]string{"Host": "header-secret", "X-A": "header-secret"}},
		"local":  map[string]any{"type": "stdio", "command": "server", "env": map[string]string{"NODE_OPTIONS": "env-secret", "A": "b"}},
		"plain":  map[string]any{"type": "stdio", "command": "server"},
	})); err != nil {
		t.Fatal(err)
	}
	want := map[string]finding.Code{"remote": finding.ConnectHeaderIgnored, "local": finding.LaunchEnvLoadsCode}
	for _, s := range h.Servers() {
		var codes []finding.Code
		for _, f := range s.Findings {
			codes = append(codes, f.Code)
			if strings.Contains(f.Message, "secret") || f.Subject != s.ID.Server {
				t.Errorf("%+v", f)
			}
		}
		if code := want[s.ID.Server]; code == "" && len(codes) > 0 || code != "" && !slices.Equal(codes, []finding.Code{code}) {
			t.Errorf("%v: %v", s.ID, codes)
		}
	}
}

// TestQuestionsAreBounded: no more of a server's questions stand before the host
// at once than the bound, whichever way they come, and more are refused. [R9]
func TestQuestionsAreBounded(t *testing.T) { // [R14]
	const more = 10
	var m memory
	var refused atomic.Int32
	release := make(chan struct{})
	m.set("s", func(context.Context) (*mcp.Server, error) {
		srv := newEcho()
		srv.AddTool(&mcp.Tool{Name: "ask", InputSchema: anyObject}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var wg sync.WaitGroup
			for range maxRequests + more {
				wg.Go(func() {
					_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?"})
					var wire *jsonrpc.Error
					if errors.As(err, &wire) && wire.Code == codeBusy && refused.Add(1) == more {
						close(release)
					}
				})
			}
			wg.Wait()
			return &mcp.CallToolResult{}, nil
		})
		return srv, nil
	})
	var now, most atomic.Int32
	h := newMemoryHost(t, &m, HostOptions{Options: Options{Handlers: Handlers{
		Elicit: func(ctx context.Context, _ ServerID, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			select {
			case <-release:
			case <-ctx.Done():
			case <-time.After(5 * time.Second): // nothing was refused
			}
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	}}})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // those that were answered count no more
		refused.Store(0)
		release = make(chan struct{})
		if _, err := h.Call(t.Context(), "mcp__p__s__ask", nil, CallOptions{}); err != nil {
			t.Fatal(err)
		}
		if most.Load() != maxRequests || refused.Load() != more {
			t.Errorf("%d at once, %d refused", most.Load(), refused.Load())
		}
	}
}

// TestQuestionEndsWithSession: a handler of the host that waits for a person is
// told when nobody wants the answer any more. [R14]
func TestQuestionEndsWithSession(t *testing.T) { // [R4]
	over, end := context.WithCancel(t.Context())
	asks := func() *mcp.Server {
		srv := newEcho()
		srv.AddTool(&mcp.Tool{Name: "ask", InputSchema: anyObject}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer context.AfterFunc(over, cancel)() // the SDK's server does not give up by itself
			_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?"})
			return &mcp.CallToolResult{}, err
		})
		return srv
	}
	var m memory
	m.set("memory", func(context.Context) (*mcp.Server, error) { return asks(), nil })
	mux := http.NewServeMux()
	mux.Handle("/http", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return asks() }, nil))
	mux.Handle("/sse", mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return asks() }, nil))
	ts := httptest.NewServer(mux)
	defer ts.Close()
	defer end()
	p := loadServers(t, map[string]any{
		"memory": map[string]any{"type": "stdio", "command": "server"},
		"http":   map[string]any{"type": "streamable-http", "url": localhost(ts) + "/http"},
		"sse":    map[string]any{"type": "sse", "url": localhost(ts) + "/sse"},
	})
	for _, server := range []string{"memory", "http", "sse"} {
		for what, leave := range map[string]func(h *Host){
			"the host closes":   func(h *Host) { _ = h.Close(context.Background()) },
			"the plugin leaves": func(h *Host) { _ = h.Remove(one) },
		} {
			t.Run(server+"/"+what, func(t *testing.T) {
				entered, left := make(chan struct{}), make(chan struct{})
				h, err := NewHost(HostOptions{Lazy: true, Options: Options{
					Egress: DesktopEgress(), GracePeriod: 100 * time.Millisecond,
					Handlers: Handlers{Elicit: func(ctx context.Context, _ ServerID, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						close(entered)
						<-ctx.Done()
						close(left)
						return nil, ctx.Err()
					}},
				}})
				if err != nil {
					t.Fatal(err)
				}
				defer h.Close(context.Background())
				open := h.dialer.open
				h.dialer.open = func(ctx context.Context, p *plugin.Plugin, srv *plugin.Server, id ServerID, give giver) (link, error) {
					if srv.Name() == "memory" {
						return m.open(ctx, p, srv, id, give)
					}
					return open(ctx, p, srv, id, give)
				}
				if err := h.Add(one, p); err != nil {
					t.Fatal(err)
				}
				sess, err := h.Session(t.Context(), ServerID{Instance: one, Plugin: p.Name(), Server: server})
				if err != nil {
					t.Fatal(err)
				}
				called := make(chan error, 1)
				go func() {
					_, err := sess.CallTool(t.Context(), "ask", nil, CallOptions{})
					called <- err
				}()
				select {
				case <-entered:
				case err := <-called:
					t.Fatalf("the call ended: %v", err)
				}
				began := time.Now()
				leave(h)
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it took %v to close", took)
				}
				within(t, "the question", func() { <-left })
				if err := <-called; !errors.Is(err, ErrClosed) {
					t.Errorf("the call: %v", err)
				}
			})
		}
	}
}

// TestForgottenSession: the call after one that a server answered with 404 gets
// a session of its own, at once and each time. [R5]
func TestForgottenSession(t *testing.T) {
	var forgotten sync.Map
	var last atomic.Pointer[string]
	var calls atomic.Int32
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		srv := newEcho()
		srv.AddTool(&mcp.Tool{Name: "t", InputSchema: anyObject}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			calls.Add(1)
			return &mcp.CallToolResult{}, nil
		})
		return srv
	}, nil)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("Mcp-Session-Id")
		if _, gone := forgotten.Load(id); gone && r.Method == http.MethodPost {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		if id != "" {
			last.Store(&id)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(ts.Close)
	t.Cleanup(ts.CloseClientConnections)
	h := newHostWith(t, HostOptions{Options: Options{Egress: DesktopEgress(), GracePeriod: 50 * time.Millisecond}, Retry: Retry{Min: 1, Max: 1, Attempts: 1000}},
		map[string]any{"s": map[string]any{"type": "streamable-http", "url": localhost(ts)}})
	const rounds = 20
	for i := range rounds {
		if _, err := h.Call(t.Context(), "mcp__p__s__t", nil, CallOptions{}); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		forgotten.Store(*last.Load(), true)
		if _, err := h.Call(t.Context(), "mcp__p__s__t", nil, CallOptions{}); !errors.Is(err, ErrServer) || !errors.Is(err, ErrNotSent) {
			t.Fatalf("round %d, forgotten: %v", i, err)
		}
	}
	if calls.Load() != rounds {
		t.Errorf("%d calls arrived, not %d", calls.Load(), rounds)
	}
}
