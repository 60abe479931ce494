package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/plugin"
)

// slowClose is a link whose close waits for release.
type slowClose struct {
	link
	closing chan struct{}
	release chan struct{}
	once    sync.Once
}

func (l *slowClose) close(ctx context.Context, closed <-chan struct{}) error {
	l.once.Do(func() { close(l.closing) })
	<-l.release
	return l.link.close(ctx, closed)
}

// slowClosing makes the links that a host opens close slowly, and returns them
// as they are opened.
func slowClosing(h *Host) <-chan *slowClose {
	opened := make(chan *slowClose, 16)
	open := h.dialer.open
	h.dialer.open = func(ctx context.Context, p *plugin.Plugin, srv *plugin.Server, id ServerID, give giver) (link, error) {
		l, err := open(ctx, p, srv, id, give)
		if err != nil {
			return nil, err
		}
		s := &slowClose{link: l, closing: make(chan struct{}), release: make(chan struct{})}
		opened <- s
		return s, nil
	}
	return opened
}

// TestJoinLeftAttempt: who comes when all others have left an attempt to
// connect gets one of their own.
func TestJoinLeftAttempt(t *testing.T) { // [R3]
	var m memory
	opened, release := make(chan struct{}, 2), make(chan struct{})
	var tries atomic.Int32
	m.set("s", func(ctx context.Context) (*mcp.Server, error) {
		if tries.Add(1) > 1 {
			return newEcho("t"), nil
		}
		opened <- struct{}{}
		<-ctx.Done()
		<-release // it takes its time to notice
		return nil, ctx.Err()
	})
	h := newMemoryHost(t, &m, HostOptions{Lazy: true})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	id := h.Servers()[0].ID
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := h.Session(ctx, id)
		first <- err
	}()
	<-opened
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() {
		_, err := h.Session(t.Context(), id)
		second <- err
	}()
	select {
	case err := <-second:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(20 * time.Millisecond): // it waits for the end of the one that was left
	}
	close(release)
	if err := <-second; err != nil {
		t.Errorf("the second caller: %v", err)
	}
}

// TestChangedWhileListed: a server that changes its tools while they are listed
// for the first time is listed again.
func TestChangedWhileListed(t *testing.T) { // [R11]
	var m memory
	srv := newEcho("a")
	var lists atomic.Int32
	notified := make(chan struct{})
	srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if method == "tools/list" && lists.Add(1) == 1 {
				addEcho(srv, "b")
				<-notified // the client has heard of it before it gets this list
			}
			return res, err
		}
	})
	srv.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if method == "notifications/tools/list_changed" {
				close(notified)
			}
			return res, err
		}
	})
	m.set("s", func(context.Context) (*mcp.Server, error) { return srv, nil })
	h := newMemoryHost(t, &m, HostOptions{})
	events := h.Watch(t.Context())
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	await(t, events, "both tools", func(e Event) bool {
		return e.Tools && toolNames(h.Tools()) == "mcp__p__s__a mcp__p__s__b"
	})
}

// TestFailureIsTold: watchers and the log hear of a server that is gone also
// where a call notices it first, and at once, not when all of it has ended.
func TestFailureIsTold(t *testing.T) { // [R15]
	for _, name := range []string{"nobody calls", "a call notices it first"} {
		t.Run(name, func(t *testing.T) {
			var m memory
			m.set("s", echo("t"))
			var logs logText
			h := newMemoryHost(t, &m, HostOptions{
				Options: Options{Logger: logs.logger()},
				Retry:   Retry{Min: time.Hour, Max: time.Hour},
			})
			opened := slowClosing(h)
			if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
				t.Fatal(err)
			}
			events := h.Watch(t.Context())
			awaitStatus(t, events, "s", StatusConnected)
			l := <-opened
			m.crash("s")
			<-l.closing
			if name != "nobody calls" {
				if _, err := h.Call(t.Context(), "mcp__p__s__t", nil, CallOptions{}); !errors.Is(err, ErrServer) || !errors.Is(err, ErrNotSent) {
					t.Errorf("call: %v", err)
				}
			}
			awaitStatus(t, events, "s", StatusFailed)
			if s := h.Servers()[0]; s.Status != StatusFailed || s.Err == nil {
				t.Errorf("state: %v %v", s.Status, s.Err)
			}
			close(l.release)
			if err := h.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(logs.String(), "an MCP server is gone"); n != 1 {
				t.Errorf("logged %d times: %s", n, logs.String())
			}
		})
	}
}

// TestRemoveWaitsForWhatIsLeft: what is left of a session that ended by itself
// is the server's too, and Remove waits for it.
func TestRemoveWaitsForWhatIsLeft(t *testing.T) { // [R4]
	var m memory
	m.set("s", echo("t"))
	h := newMemoryHost(t, &m, HostOptions{Retry: Retry{Min: time.Hour, Max: time.Hour}})
	opened := slowClosing(h)
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	events := h.Watch(t.Context())
	awaitStatus(t, events, "s", StatusConnected)
	l := <-opened
	m.crash("s")
	<-l.closing
	if _, err := h.Call(t.Context(), "mcp__p__s__t", nil, CallOptions{}); err == nil {
		t.Fatal("it is gone")
	}
	removed := make(chan struct{})
	go func() {
		h.Remove(one)
		close(removed)
	}()
	select {
	case <-removed:
		t.Error("Remove did not wait for the link")
	case <-time.After(50 * time.Millisecond):
	}
	close(l.release)
	<-removed
}

// TestCanceledRefresh: a caller that leaves is no fault of the servers.
func TestCanceledRefresh(t *testing.T) { // [R3] [R15]
	var m memory
	listing := make(chan struct{}, 1)
	srv := newEcho("t")
	var lists atomic.Int32
	srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" && lists.Add(1) > 1 {
				listing <- struct{}{}
				<-ctx.Done()
			}
			return next(ctx, method, req)
		}
	})
	m.set("s", func(context.Context) (*mcp.Server, error) { return srv, nil })
	h := newMemoryHost(t, &m, HostOptions{})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Refresh(ctx) }()
	<-listing
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("refresh: %v", err)
	}
	if s := h.Servers()[0]; s.Status != StatusConnected || s.Err != nil {
		t.Errorf("state: %v, %v", s.Status, s.Err)
	}
}

// TestRefreshAfterCrash: Refresh connects again to a server that is just gone.
func TestRefreshAfterCrash(t *testing.T) { // [R5]
	var m memory
	m.set("s", echo("t"))
	h := newMemoryHost(t, &m, HostOptions{Retry: Retry{Min: time.Hour, Max: time.Hour}})
	opened := slowClosing(h)
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := <-opened
	go func() { close((<-opened).release) }()
	m.crash("s")
	<-l.closing
	close(l.release)
	if err := h.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := h.Servers()[0]; s.Status != StatusConnected {
		t.Errorf("state: %v, %v", s.Status, s.Err)
	}
}

// TestHeldAfterReconnect: a tool that changed while its server was gone is held
// back from the very call that brings the server back.
func TestHeldAfterReconnect(t *testing.T) { // [R13]
	var m memory
	var calls atomic.Int32
	serve := func(description string) func(context.Context) (*mcp.Server, error) {
		return func(context.Context) (*mcp.Server, error) {
			srv := newEcho()
			srv.AddTool(&mcp.Tool{Name: "t", Description: description, InputSchema: anyObject},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					calls.Add(1)
					return &mcp.CallToolResult{}, nil
				})
			return srv, nil
		}
	}
	m.set("s", serve("harmless"))
	h := newMemoryHost(t, &m, HostOptions{Pins: &Pins{}, Retry: Retry{Min: 1, Max: 1}})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.Accept(h.Held()...)
	if _, err := h.Call(t.Context(), "mcp__p__s__t", nil, CallOptions{}); err != nil {
		t.Fatal(err)
	}
	events := h.Watch(t.Context())
	m.set("s", serve("another tool"))
	m.crash("s")
	awaitStatus(t, events, "s", StatusFailed)
	_, err := h.Call(t.Context(), "mcp__p__s__t", nil, CallOptions{})
	if !errors.Is(err, ErrUnknownTool) || !errors.Is(err, ErrNotSent) {
		t.Errorf("call: %v", err)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	if len(h.Held()) != 1 {
		t.Errorf("held: %v", h.Held())
	}
}

// TestObserverPanics: a call has its result whatever its observer does.
func TestObserverPanics(t *testing.T) { // [R15] [Q1]
	var m memory
	m.set("s", echo("t"))
	h := newMemoryHost(t, &m, HostOptions{OnCall: func(CallRecord) { panic("observer") }})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	res, err := h.Call(t.Context(), "mcp__p__s__t", nil, CallOptions{})
	if got := textOf(t, res, err); got != "t {}" {
		t.Errorf("got %q", got)
	}
}

// TestDroppedIsLoggedOnce: what is left out is logged when it is, not each time
// that anything else changes.
func TestDroppedIsLoggedOnce(t *testing.T) { // [R10]
	var m memory
	srv := newEcho("taken", "t")
	srv.AddTool(&mcp.Tool{Name: "bad", InputSchema: map[string]any{"type": "object", "$ref": "file:///x"}}, nil)
	m.set("s", func(context.Context) (*mcp.Server, error) { return srv, nil })
	var logs bytes.Buffer
	h := newMemoryHost(t, &m, HostOptions{
		Options:  Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))},
		Reserved: []string{"mcp__p__s__taken"},
	})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := h.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"tool=taken", "tool=bad"} {
		if n := strings.Count(logs.String(), tool); n != 1 {
			t.Errorf("%s logged %d times:\n%s", tool, n, &logs)
		}
	}
}

// TestStateSaysWhatIsExposed: watchers hear of what is left out as Servers
// tells it, and Tools counts what is exposed or held back.
func TestStateSaysWhatIsExposed(t *testing.T) { // [R15] [R10]
	var m memory
	m.set("s", echo("taken", "t"))
	h := newMemoryHost(t, &m, HostOptions{Reserved: []string{"mcp__p__s__taken"}})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	check := func(where string, s ServerState) {
		if s.Tools != 1 || len(s.Dropped) != 1 || s.Dropped[0].Local != "taken" {
			t.Errorf("%s: %d tools, dropped %v", where, s.Tools, s.Dropped)
		}
	}
	check("Servers", h.Servers()[0])
	await(t, h.Watch(t.Context()), "connected", func(e Event) bool {
		if e.Server == nil {
			return false
		}
		check("Watch", *e.Server)
		return true
	})
	await(t, h.Watch(t.Context()), "the tools as they are", func(e Event) bool { return e.Tools })
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := h.Servers()[0]; s.Status == StatusConnected || s.Tools != 0 {
		t.Errorf("after Close: %v with %d tools", s.Status, s.Tools)
	}
}

// TestViewCallsWhatItSaw: a view reaches no server that was not chosen for it,
// also where one comes to have the name of a tool that was.
func TestViewCallsWhatItSaw(t *testing.T) { // [R3]
	var m memory
	m.set("s", echo("t"))
	h := newMemoryHost(t, &m, HostOptions{Lazy: true, ShortNames: true})
	two := plugin.Instance{ID: "two"}
	for _, instance := range []plugin.Instance{one, two} {
		if err := h.Add(instance, memoryPlugin(t, "plugin-"+instance.ID, "s")); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	removed := false
	v := h.View(func(id ServerID) bool {
		if id.Instance != one {
			return false
		}
		if !removed { // while the view looks, the plugin goes and the other one's tool gets the name
			removed = true
			h.Remove(one)
		}
		return true
	})
	defer v.Close()
	if _, err := v.Call(t.Context(), "mcp__s__t", nil, CallOptions{}); !errors.Is(err, ErrNotSent) {
		t.Errorf("call: %v", err)
	}
	if tool, ok := h.Lookup("mcp__s__t"); !ok || tool.Server.Instance != two {
		t.Errorf("the name is now of %v", tool.Server)
	}
}

// TestCallKnowsWhyItEnded: whoever hears that a call ended with its session
// finds out why.
func TestCallKnowsWhyItEnded(t *testing.T) {
	for range 200 {
		s := &Session{ended: make(chan struct{})}
		s.ctx, s.cancel = context.WithCancelCause(t.Context())
		call := s.begin(t.Context(), time.Minute)
		go s.finish(ErrClosed)
		<-call.Done()
		if !errors.Is(s.Err(), ErrClosed) {
			t.Fatalf("the session says %v", s.Err())
		}
		call.end()
	}
}

// TestCallAfterTheEnd: a call that begins while its session ends does not wait
// for its deadline.
func TestCallAfterTheEnd(t *testing.T) { // [R3]
	s := &Session{ended: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(t.Context())
	s.finish(ErrClosed)
	call := s.begin(t.Context(), time.Minute)
	defer call.end()
	if !errors.Is(context.Cause(call), ErrClosed) {
		t.Errorf("the call goes on: %v", context.Cause(call))
	}
}

// TestRemovalIsTold: watchers hear of servers that the host does not have any
// more, and of those of an update that they are closed before the new ones are
// there.
func TestRemovalIsTold(t *testing.T) { // [R15]
	var m memory
	m.set("s", echo("t"))
	h := newMemoryHost(t, &m, HostOptions{})
	events := h.Watch(t.Context())
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, events, "s", StatusConnected)
	added := make(chan error, 1)
	go func() { added <- h.Add(one, memoryPlugin(t, "p", "s")) }()
	awaitStatus(t, events, "s", StatusConnected)
	if err := <-added; err != nil {
		t.Fatal(err)
	}
	h.Remove(one)
	await(t, events, "closed", func(e Event) bool {
		return e.Server != nil && e.Server.Status == StatusClosed && errors.Is(e.Server.Err, ErrClosed)
	})
}

// TestNewerListStays: of two lists that are asked for side by side the one that
// was asked for later counts, whichever comes first.
func TestNewerListStays(t *testing.T) { // [R11]
	var m memory
	srv := newEcho("a")
	var lists atomic.Int32
	old, release := make(chan struct{}), make(chan struct{})
	srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if method == "tools/list" && lists.Add(1) == 2 {
				close(old)
				<-release
			}
			return res, err
		}
	})
	m.set("s", func(context.Context) (*mcp.Server, error) { return srv, nil })
	h := newMemoryHost(t, &m, HostOptions{})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	refreshed := make(chan error, 1)
	go func() { refreshed <- h.Refresh(t.Context()) }()
	<-old
	events := h.Watch(t.Context())
	addEcho(srv, "b")
	const both = "mcp__p__s__a mcp__p__s__b"
	await(t, events, "both tools", func(e Event) bool { return e.Tools && toolNames(h.Tools()) == both })
	close(release)
	if err := <-refreshed; err != nil {
		t.Fatal(err)
	}
	if got := toolNames(h.Tools()); got != both {
		t.Errorf("after the older list came: %q", got)
	}
}

// TestStableSession: a server whose session lived for long is connected to again
// at once.
func TestStableSession(t *testing.T) { // [R5]
	var m memory
	m.set("s", echo("t"))
	h := newMemoryHost(t, &m, HostOptions{Retry: Retry{Min: time.Hour, Max: time.Hour, Stable: 1}})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := h.Watch(t.Context())
	m.crash("s")
	awaitStatus(t, events, "s", StatusFailed)
	if _, err := h.Call(t.Context(), "mcp__p__s__t", nil, CallOptions{}); err != nil {
		t.Error(err)
	}
}

// TestRefusedWhileConnected: a server that the host's policy ends has no tools,
// is not tried again on use, and is once Refresh asks.
func TestRefusedWhileConnected(t *testing.T) { // [R15]
	var m memory
	m.set("s", echo("t"))
	h := newMemoryHost(t, &m, HostOptions{Retry: Retry{Min: 1, Max: 1}})
	open := h.dialer.open
	h.dialer.open = func(ctx context.Context, p *plugin.Plugin, srv *plugin.Server, id ServerID, give giver) (link, error) {
		l, err := open(ctx, p, srv, id, give)
		return refusedLink{l}, err
	}
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := h.Watch(t.Context())
	m.crash("s")
	awaitStatus(t, events, "s", StatusDisabled)
	await(t, events, "no tools", func(e Event) bool { return e.Tools && len(h.Tools()) == 0 })
	if s := h.Servers()[0]; s.Tools != 0 || !errors.Is(s.Err, ErrNotAllowed) {
		t.Errorf("state: %+v", s)
	}
	if _, err := h.Session(t.Context(), h.Servers()[0].ID); !errors.Is(err, ErrNotAllowed) || m.opened("s") != 1 {
		t.Errorf("on use: %v, opened %d times", err, m.opened("s"))
	}
	if err := h.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := h.Servers()[0]; s.Status != StatusConnected || s.Tools != 1 {
		t.Errorf("after Refresh: %+v", s)
	}
}

// refusedLink says of each error that the host's policy is behind it.
type refusedLink struct{ link }

func (refusedLink) explain(err error) error { return errors.Join(ErrNotAllowed, err) }

// TestConsentOverTime: a host is asked once for what it decided on, again after
// Refresh where it refused, and again for a plugin that was removed.
func TestConsentOverTime(t *testing.T) { // [R2]
	opts := testOptions(t)
	var asked atomic.Int32
	var allow atomic.Bool
	opts.Consent = func(context.Context, ConsentRequest) error {
		asked.Add(1)
		if allow.Load() {
			return nil
		}
		return errors.New("no")
	}
	h, err := NewHost(HostOptions{Options: *opts, Retry: Retry{Min: 1, Max: 1}, Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	p := testPlugin(t, "normal")
	if err := h.Add(one, p); err != nil {
		t.Fatal(err)
	}
	id := h.Servers()[0].ID
	step := func(what string, want int32, is error) {
		t.Helper()
		_, err := h.Session(t.Context(), id)
		if !errors.Is(err, is) || asked.Load() != want {
			t.Errorf("%s: %v, asked %d times", what, err, asked.Load())
		}
	}
	step("refused", 1, ErrNotAllowed)
	step("still refused", 1, ErrNotAllowed)
	allow.Store(true)
	step("on its own", 1, ErrNotAllowed)
	if err := h.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	step("after Refresh", 2, nil)
	sess, err := h.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	sess.Close()
	step("another start", 2, nil)
	if err := h.Add(one, p); err != nil { // an update that is the same
		t.Fatal(err)
	}
	step("the same plan", 2, nil)
	h.Remove(one)
	if err := h.Add(one, p); err != nil {
		t.Fatal(err)
	}
	step("installed again", 3, nil)
}

// TestOneProcessAtATime: a server on stdio is started again when the one before
// has ended whole.
func TestOneProcessAtATime(t *testing.T) { // [R4] [R5]
	var m memory
	m.set("s", echo("t"))
	h := newMemoryHost(t, &m, HostOptions{Retry: Retry{Min: 1, Max: 1}})
	opened := slowClosing(h)
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := <-opened
	events := h.Watch(t.Context())
	m.crash("s")
	<-first.closing
	awaitStatus(t, events, "s", StatusFailed)
	called := make(chan error, 1)
	go func() {
		_, err := h.Call(t.Context(), "mcp__p__s__t", nil, CallOptions{})
		called <- err
	}()
	awaitStatus(t, events, "s", StatusConnecting)
	select {
	case <-opened:
		t.Error("it was started beside the one before")
	case err := <-called:
		t.Errorf("the call did not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(first.release)
	if err := <-called; err != nil {
		t.Error(err)
	}
	close((<-opened).release)
}

// TestCloseEndsWaiting: who waits for a server when the host closes hears that it
// closed.
func TestCloseEndsWaiting(t *testing.T) { // [R3] [R4]
	var m memory
	opened := make(chan struct{})
	m.set("s", func(ctx context.Context) (*mcp.Server, error) {
		close(opened)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	h := newMemoryHost(t, &m, HostOptions{Lazy: true})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	id := h.Servers()[0].ID
	waiting := make(chan error, 1)
	go func() {
		_, err := h.Session(t.Context(), id)
		waiting <- err
	}()
	<-opened
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; !errors.Is(err, ErrClosed) || !errors.Is(err, ErrNotSent) || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestSteadyChanges: a server that says again and again that its tools changed,
// slower than it is listed, is listed ever more rarely, and at once when it has
// been quiet. [R9]
func TestSteadyChanges(t *testing.T) { // [R11]
	synctest.Test(t, func(t *testing.T) {
		var m memory
		srv := newEcho("a")
		var lists atomic.Int32
		srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/list" {
					lists.Add(1)
				}
				return next(ctx, method, req)
			}
		})
		m.set("s", func(context.Context) (*mcp.Server, error) { return srv, nil })
		h := newMemoryHost(t, &m, HostOptions{})
		if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
			t.Fatal(err)
		}
		if err := h.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		lists.Store(0)
		for i := range 400 { // a minute
			if addEcho(srv, "b"); i%2 == 1 {
				srv.RemoveTools("b")
			}
			time.Sleep(150 * time.Millisecond)
		}
		if n := lists.Load(); n < 2 || n > 40 {
			t.Errorf("listed %d times", n)
		}
		time.Sleep(30 * time.Second)
		addEcho(srv, "c")
		time.Sleep(50 * time.Millisecond)
		if _, ok := h.Lookup("mcp__p__s__c"); !ok {
			t.Error("a change after a while is not seen soon")
		}
		h.Close(context.Background())
	})
}
