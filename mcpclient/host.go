package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/plugin"
)

// HostOptions are the settings of a [Host].
type HostOptions struct {
	// Options are the policy for each server.
	Options

	// Lazy connects to a server when one of its tools is called or [Host.Ready]
	// asks for it; otherwise adding a plugin begins to connect.
	Lazy bool
	// ShortNames leaves the plugin's name out of the exposed names, for hosts
	// that load one plugin.
	ShortNames bool
	// Reserved are names that no tool may have, those of the host's own tools.
	Reserved []string
	// Pins hold back tools that were not accepted as they are. nil holds back
	// none.
	Pins *Pins
	// Retry says how servers that failed are tried again.
	Retry Retry
	// OnCall hears of each call of a tool that [Host.Call] or [View.Call] made,
	// after it ended, on the caller's goroutine. It is called concurrently. A
	// panic in it is logged and dropped.
	OnCall func(CallRecord)
}

// Format prints the options as [Options.Format] does.
func (o HostOptions) Format(f fmt.State, verb rune) {
	type plain struct {
		Options    Options
		Lazy       bool
		ShortNames bool
		Reserved   []string
		Pins       *Pins
		Retry      Retry
		OnCall     func(CallRecord)
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain{o.Options, o.Lazy, o.ShortNames, o.Reserved, o.Pins, o.Retry, o.OnCall})
}

// Host runs the servers of many plugins and gives their tools as one list. A
// server that is broken, slow or hostile costs its own tools only. It is safe
// for concurrent use and has to be closed.
//
// Exposed names have the plugin's name in them and not the instance, so a Host
// has each plugin once. A host that runs several instances of one, for tenants
// say, has a Host for each.
type Host struct {
	opts   *HostOptions // not by value, in which a printed Host would show Environ
	dialer *dialer
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu        sync.Mutex
	closed    bool
	installed []*installed // in the order in which they were added
	watchers  map[*watcher]struct{}

	rebuilding sync.Mutex
	table      atomic.Pointer[table]
}

type installed struct {
	instance plugin.Instance
	plugin   string
	names    []string // of the servers whose tools can be exposed
	servers  []*server
}

// A table is what is exposed at one moment. It is immutable.
type table struct {
	routes  map[string]route
	tools   []Tool
	held    []Tool
	dropped map[ServerID][]Dropped
}

type route struct {
	tool   Tool
	server *server
}

// NewHost makes a host without plugins. It starts nothing. It fails where the
// options cannot be used.
func NewHost(opts HostOptions) (*Host, error) {
	d, err := newDialer(opts.Options)
	if err != nil {
		return nil, err
	}
	opts.Options = d.opts
	opts.Retry = opts.Retry.withDefaults()
	opts.Reserved = slices.Clone(opts.Reserved)
	h := &Host{opts: &opts, dialer: d, watchers: map[*watcher]struct{}{}}
	h.ctx, h.cancel = context.WithCancelCause(context.Background())
	h.table.Store(&table{})
	return h, nil
}

// ErrInstalled: the host has another instance of the plugin, whose tools have the
// names that those of this one would have.
var ErrInstalled = errors.New("mcpclient: the host has another instance of the plugin")

// Format prints how many servers the host has, whatever the verb, and nothing
// that it holds.
func (h *Host) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "host of %d MCP servers", len(h.servers()))
}

// Add takes the servers of a plugin, in the order in which mcp.json declares
// them. A plugin of the same instance is replaced: its servers are closed first
// and those of the new one start afresh, in the same place of the order. Add
// does not wait for servers to connect, but for those that it closes.
//
// It fails with [ErrClosed], with [ErrInstalled] where another instance has a
// plugin of the name with a server of the same name, and with
// [plugin.ErrInstance]. What was there before is then still there.
func (h *Host) Add(instance plugin.Instance, p *plugin.Plugin) error {
	if _, err := instance.Key(); err != nil {
		return err
	}
	in := &installed{instance: instance, plugin: p.Name()}
	for _, conf := range p.Servers() {
		id := ServerID{Instance: instance, Plugin: p.Name(), Server: conf.Name()}
		in.servers = append(in.servers, newServer(h, id, p, conf))
		if conf.Status() == plugin.ServerEnabled {
			in.names = append(in.names, conf.Name())
		}
	}
	// The old one ends before the new one begins. Its place is kept, and what
	// will stand there is known from now on.
	place := &installed{instance: instance, plugin: in.plugin, names: in.names}
	for _, next := range []*installed{place, in} {
		if err := h.put(next); err != nil {
			return err
		}
	}
	h.rebuild()
	for _, s := range in.servers {
		s.tell()
		if !h.opts.Lazy && s.conf.Status() == plugin.ServerEnabled {
			s.background()
		}
	}
	return nil
}

// background connects without anyone waiting for it.
func (s *server) background() {
	if f, _, _ := s.board(true); f != nil {
		s.leave(f)
	}
}

// put puts in where its instance's plugin is, or behind all others, and closes
// that one's servers.
func (h *Host) put(in *installed) error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return ErrClosed
	}
	var old []*server
	at := -1
	for i, other := range h.installed {
		if other.instance == in.instance {
			at, old = i, other.servers
			continue
		}
		if name, ok := other.shares(in); ok {
			h.mu.Unlock()
			return fmt.Errorf("%w %s, with a server %s: the tools of both would have the same names, so give each instance a Host of its own",
				ErrInstalled, printable.Quote(in.plugin), printable.Quote(name))
		}
	}
	if at >= 0 {
		h.installed[at] = in
	} else {
		h.installed = append(h.installed, in)
	}
	h.mu.Unlock()
	_ = closeServers(old) // what is left was logged, and does not keep the new one away
	return nil
}

// shares returns the name of a server that both have in plugins of one name.
func (in *installed) shares(other *installed) (name string, ok bool) {
	if in.plugin != other.plugin {
		return "", false
	}
	for _, name := range in.names {
		if slices.Contains(other.names, name) {
			return name, true
		}
	}
	return "", false
}

// Remove closes the servers of an instance and waits until nothing of them is
// left. It does nothing where the host does not have it, and fails as
// [Session.Close] does.
func (h *Host) Remove(instance plugin.Instance) error {
	h.mu.Lock()
	at := slices.IndexFunc(h.installed, func(i *installed) bool { return i.instance == instance })
	if at < 0 {
		h.mu.Unlock()
		return nil
	}
	old := h.installed[at]
	h.installed = slices.Delete(slices.Clone(h.installed), at, at+1)
	h.mu.Unlock()
	h.rebuild()
	err := closeServers(old.servers)
	h.dialer.consents.forget(instance)
	h.rebuild()
	return err
}

func closeServers(list []*server) error {
	var wg sync.WaitGroup
	errs := make([]error, len(list))
	for i, s := range list {
		wg.Go(func() { errs[i] = s.close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Close ends all calls and closes all servers, side by side. It returns when
// nothing is left, or with the error of ctx while the rest goes on, and fails as
// [Session.Close] does. It may be called more than once.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	list := h.serversLocked()
	watchers := h.watchers
	h.watchers = nil
	h.mu.Unlock()
	h.cancel(ErrClosed)
	done := make(chan error, 1)
	go func() {
		err := closeServers(list)
		defer func() { done <- err }()
		for w := range watchers {
			w.stop()
		}
		h.rebuild()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *Host) serversLocked() []*server {
	var list []*server
	for _, in := range h.installed {
		list = append(list, in.servers...)
	}
	return list
}

func (h *Host) servers() []*server {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.serversLocked()
}

func (h *Host) server(id ServerID) *server {
	for _, s := range h.servers() {
		if s.id == id {
			return s
		}
	}
	return nil
}

// Ready connects, side by side, to each server that may be used and is not
// connected, and returns when each is connected or failed; the states say which.
// Servers that failed a moment ago are left alone until [Retry] lets them be
// tried. It fails with the error of ctx or with [ErrClosed].
func (h *Host) Ready(ctx context.Context) error {
	return h.ready(ctx, func(ServerID) bool { return true })
}

func (h *Host) ready(ctx context.Context, chosen func(ServerID) bool) error {
	list, err := h.openServers()
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for _, s := range list {
		if s.conf.Status() == plugin.ServerEnabled && chosen(s.id) {
			wg.Go(func() { _, _ = s.acquire(ctx) })
		}
	}
	wg.Wait()
	return context.Cause(ctx)
}

// openServers returns all servers, or [ErrClosed].
func (h *Host) openServers() ([]*server, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	return h.serversLocked(), nil
}

// Refresh tries servers that failed again without waiting for [Retry], asks the
// host's consent and credentials again for those that were refused, connects
// again to those that refused the last call with an [UnauthorizedError], lists
// the tools of the others anew, and returns when that is done; the states say what
// became of each. Without ids it does so for all servers. It fails with the error
// of ctx, with [ErrClosed], or, before it does anything, with [ErrNoServer].
func (h *Host) Refresh(ctx context.Context, ids ...ServerID) error {
	list, err := h.openServers()
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		all := list
		list = nil
		for _, id := range ids {
			at := slices.IndexFunc(all, func(s *server) bool { return s.id == id })
			if at < 0 {
				return noServer(id.Server)
			}
			list = append(list, all[at])
		}
	}
	var wg sync.WaitGroup
	for _, s := range list {
		if s.conf.Status() != plugin.ServerEnabled {
			continue
		}
		wg.Go(func() {
			s.forgive()
			if sess, flew, err := s.reach(ctx); err == nil && !flew {
				_ = s.listNow(ctx, sess)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// Servers returns the state of each server, plugins in the order in which they
// were added, servers in that of mcp.json.
func (h *Host) Servers() []ServerState {
	list := h.servers()
	out := make([]ServerState, len(list))
	for i, s := range list {
		out[i] = h.shown(s.state())
	}
	return out
}

// shown completes a server's state by what became of its tools in the one list.
func (h *Host) shown(s ServerState) ServerState {
	dropped := h.table.Load().dropped[s.ID]
	if s.Tools > 0 {
		s.Tools = max(0, s.Tools-len(dropped))
	}
	s.Dropped = append(slices.Clip(s.Dropped), dropped...)
	return s
}

// Session returns the session with one server, connecting where there is none,
// for its prompts, resources and whatever else it offers. The host closes it.
// Calls of tools that are made there are the server's own affair: neither
// [HostOptions].Pins nor [HostOptions].OnCall nor output schemas apply. It fails
// with [ErrNoServer] and as [Host.Call] does where that cannot connect.
func (h *Host) Session(ctx context.Context, id ServerID) (*Session, error) {
	s := h.server(id)
	if s == nil {
		return nil, noServer(id.Server)
	}
	return s.acquire(ctx)
}

// Tools returns the tools of all servers that are or were connected and may be
// again, in the order of [Host.Servers] and, of one server, of the server's own
// names. Names are unique.
func (h *Host) Tools() []Tool { return cloneTools(h.table.Load().tools) }

// Held returns the tools that [HostOptions].Pins hold back, with the names that
// they would have.
func (h *Host) Held() []Tool { return cloneTools(h.table.Load().held) }

// Accept pins tools as they are and gives them out where they were held back.
// What is not the host's any more, or has changed since it was listed, stays held
// back.
// It does nothing in a host without pins.
func (h *Host) Accept(tools ...Tool) {
	if h.opts.Pins != nil {
		h.opts.Pins.accept(tools...)
		h.rebuild()
	}
}

// Lookup returns the tool that is exposed under a name.
func (h *Host) Lookup(name string) (Tool, bool) {
	r, ok := h.table.Load().routes[name]
	if !ok {
		return Tool{}, false
	}
	return cloneTool(r.tool), true
}

func cloneTools(list []Tool) []Tool {
	out := make([]Tool, len(list))
	for i, t := range list {
		out[i] = cloneTool(t)
	}
	return out
}

func cloneTool(t Tool) Tool {
	t.InputSchema = slices.Clone(t.InputSchema)
	t.OutputSchema = slices.Clone(t.OutputSchema)
	if t.Annotations != nil {
		a := *t.Annotations
		a.DestructiveHint = clonePointer(a.DestructiveHint)
		a.OpenWorldHint = clonePointer(a.OpenWorldHint)
		t.Annotations = &a
	}
	return t
}

// rebuild makes the table anew from what the servers have.
func (h *Host) rebuild() {
	h.rebuilding.Lock()
	defer h.rebuilding.Unlock()
	old := h.table.Load()
	t := &table{routes: map[string]route{}, dropped: map[ServerID][]Dropped{}}
	for _, s := range h.servers() {
		for _, tool := range s.tools() {
			shown := tool.Server.Plugin
			if h.opts.ShortNames {
				shown = ""
			}
			tool.Name = ToolName(shown, tool.Server.Server, tool.Local)
			if reason := h.refuseName(t, tool.Name); reason != "" {
				var l toolList
				l.drop(tool.Local, reason)
				t.dropped[s.id] = append(t.dropped[s.id], l.dropped...)
				if slices.Contains(old.dropped[s.id], l.dropped[0]) {
					continue // it was logged before
				}
				h.log(slog.LevelWarn, "a tool of an MCP server is left out", s.id,
					slog.String("tool", l.dropped[0].Local), slog.String("reason", reason))
				continue
			}
			t.routes[tool.Name] = route{tool, s}
			if h.opts.Pins != nil && !h.opts.Pins.accepted(tool) {
				t.held = append(t.held, tool)
			} else {
				t.tools = append(t.tools, tool)
			}
		}
	}
	for _, tool := range t.held {
		delete(t.routes, tool.Name)
	}
	h.table.Store(t)
	if !sameTools(old.tools, t.tools) || !sameTools(old.held, t.held) {
		h.tellTools()
	}
}

func (h *Host) refuseName(t *table, name string) string {
	if slices.Contains(h.opts.Reserved, name) {
		return "the host has reserved its name"
	}
	if _, taken := t.routes[name]; taken {
		return "another tool has its exposed name"
	}
	return ""
}

func sameTools(a, b []Tool) bool {
	return slices.EqualFunc(a, b, func(a, b Tool) bool {
		return a.Name == b.Name && a.Digest == b.Digest && a.Entry == b.Entry && a.Server == b.Server
	})
}

// CallRecord is what [HostOptions.OnCall] hears of one call of a tool of Server.
type CallRecord struct {
	Tool     string // the exposed name
	Server   ServerID
	Local    string        // the server's own name, any text
	Duration time.Duration // with connecting, where that was needed
	Bytes    int           // of the result as JSON, roughly
	Outcome  Outcome
	Err      error // nil unless the call has no result
}

// Outcome is how a call ended.
type Outcome uint8

// The outcomes.
const (
	OutcomeResult    Outcome = iota // a result
	OutcomeToolError                // a result that is an error of the tool
	OutcomeCanceled                 // the caller's context ended
	OutcomeTimeout                  // the server did not answer in time
	OutcomeFailed                   // no result for another reason
)

// String returns the outcome in lower-case words.
func (o Outcome) String() string {
	switch o {
	case OutcomeResult:
		return "result"
	case OutcomeToolError:
		return "tool error"
	case OutcomeCanceled:
		return "canceled"
	case OutcomeTimeout:
		return "timeout"
	}
	return "failed"
}

// MarshalText writes what [Outcome.String] returns.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// ErrUnknownTool: no tool is exposed under that name.
var ErrUnknownTool = errors.New("mcpclient: no such tool")

// ErrHeld: the tool of that name is held back by [Pins]. It matches
// [ErrUnknownTool].
var ErrHeld = fmt.Errorf("%w: it is held back until it is accepted", ErrUnknownTool)

// Call calls a tool by its exposed name, connecting to its server where it is
// not. Arguments are a JSON object, or nothing. An error of the tool is a
// result with IsError; what [Session.CallTool] says of errors holds here, with
// [ErrUnknownTool] for a name that is not exposed and [ErrHeld] for one that is
// held back. The result is the server's
// and not to be trusted: its structured content fits the tool's output schema,
// its size is bounded, and its text is as it came; [ResultText] makes it safe
// for a prompt. A server that puts a credential which it was given into a result
// gives it to whoever reads that: honest results hold such values too, the name of
// a tenant say, so they are not masked.
//
// The text of an error has no value of a header, an environment or a URL's query in
// it, and what it quotes of a server is escaped and cut. It does name what the
// host's operator has to know: the server's origin, the addresses that were
// dialed, the proxy, for a program the end of its stderr. So it is for a log and
// for who chose the policy. What a model, or a tenant of a service, may learn of
// that network is the host's to decide, by the errors that errors.Is and errors.As
// find.
func (h *Host) Call(ctx context.Context, name string, arguments json.RawMessage, opts CallOptions) (*mcp.CallToolResult, error) {
	r, ok := h.table.Load().routes[name]
	switch {
	case h.ctx.Err() != nil:
		return nil, notSent(ErrClosed)
	case !ok:
		return nil, h.unexposed(name, nil)
	}
	return h.call(ctx, r, arguments, opts)
}

// unexposed says why no tool is exposed under a name, of those on the servers
// that are seen. nil sees all.
func (h *Host) unexposed(name string, sees func(ServerID) bool) error {
	why := ErrUnknownTool
	if slices.ContainsFunc(h.table.Load().held, func(t Tool) bool { return t.Name == name && (sees == nil || sees(t.Server)) }) {
		why = ErrHeld
	}
	return notSent(fmt.Errorf("%w: %s", why, printable.Quote(name)))
}

func (h *Host) call(ctx context.Context, r route, arguments json.RawMessage, opts CallOptions) (*mcp.CallToolResult, error) {
	began := time.Now()
	res, err := h.deliver(ctx, r, arguments, opts)
	if h.opts.OnCall != nil || h.opts.Logger.Enabled(ctx, slog.LevelDebug) {
		h.record(ctx, r, res, err, time.Since(began))
	}
	return res, err
}

func (h *Host) deliver(ctx context.Context, r route, arguments json.RawMessage, opts CallOptions) (*mcp.CallToolResult, error) {
	sess, err := r.server.acquire(ctx)
	if err != nil {
		return nil, err
	}
	if r, err = h.renew(r); err != nil {
		return nil, err
	}
	res, err := sess.CallTool(ctx, r.tool.Local, arguments, opts)
	if err != nil {
		return nil, err
	}
	if err := r.tool.checkOutput(res); err != nil {
		return nil, err
	}
	return res, nil
}

// renew returns the route as it is once its server is there: one that was
// connected to again may have come back with other tools, which Pins hold back.
func (h *Host) renew(r route) (route, error) {
	if r.server.has(r.tool) {
		return r, nil
	}
	h.rebuild()
	now, ok := h.table.Load().routes[r.tool.Name]
	if !ok || now.server != r.server {
		return r, h.unexposed(r.tool.Name, func(id ServerID) bool { return id == r.server.id })
	}
	return now, nil
}

// checkOutput judges structured content by the output schema. A schema that
// the validator cannot use judges nothing.
func (t *Tool) checkOutput(res *mcp.CallToolResult) error {
	if t.output == nil || res.IsError || t.output.Compile() != nil {
		return nil
	}
	if res.StructuredContent == nil {
		return fmt.Errorf("%w: its result has no structured content, which the tool's output schema asks for", ErrServer)
	}
	if err := t.output.Validate(res.StructuredContent); err != nil {
		return fmt.Errorf("%w: its result does not fit the tool's output schema: %w", ErrServer, err)
	}
	return nil
}

func (h *Host) record(ctx context.Context, r route, res *mcp.CallToolResult, err error, took time.Duration) {
	rec := CallRecord{Tool: r.tool.Name, Server: r.server.id, Local: r.tool.Local, Duration: took, Err: err}
	switch {
	case err == nil:
		rec.Bytes = resultSize(res, h.opts.Limits.Result)
		if res.IsError {
			rec.Outcome = OutcomeToolError
		}
	case ctx.Err() != nil:
		rec.Outcome = OutcomeCanceled
	case errors.Is(err, errCallTimeout):
		rec.Outcome = OutcomeTimeout
	default:
		rec.Outcome = OutcomeFailed
	}
	if h.opts.OnCall != nil {
		h.observe(rec)
	}
	h.log(slog.LevelDebug, "called a tool of an MCP server", r.server.id, slog.String("tool", rec.Tool),
		slog.Duration("took", took), slog.Int("bytes", rec.Bytes), slog.String("outcome", rec.Outcome.String()))
}

// observe tells the observer, whose panic must not cost the call its result.
func (h *Host) observe(rec CallRecord) {
	defer func() {
		if recover() != nil {
			h.log(slog.LevelError, "the host's OnCall panicked", rec.Server)
		}
	}()
	h.opts.OnCall(rec)
}

func (h *Host) log(level slog.Level, msg string, id ServerID, attrs ...slog.Attr) {
	if h.opts.Logger.Enabled(h.ctx, level) {
		h.opts.Logger.LogAttrs(h.ctx, level, msg, append([]slog.Attr{slog.Any("mcp", id)}, attrs...)...)
	}
}
