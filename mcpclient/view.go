package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// View is a part of a host for one run: the servers that were chosen for it,
// until it is closed. It shares the host's sessions. It is safe for concurrent
// use.
type View struct {
	host   *Host
	chosen func(ServerID) bool
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// View returns a view over the servers for which chosen is true, those that
// are added later as well. nil chooses all. chosen is asked whenever the view is
// used, concurrently, and says the same each time. The run that it is for closes
// it.
func (h *Host) View(chosen func(ServerID) bool) *View {
	v := &View{host: h, chosen: chosen}
	v.ctx, v.cancel = context.WithCancelCause(h.ctx)
	return v
}

func (v *View) sees(id ServerID) bool {
	return v.ctx.Err() == nil && (v.chosen == nil || v.chosen(id))
}

// Ready is [Host.Ready] for the servers of the view. Once it is closed it fails
// with [ErrClosed].
func (v *View) Ready(ctx context.Context) error {
	if v.ctx.Err() != nil {
		return ErrClosed
	}
	ctx, done := v.bound(ctx)
	defer done()
	return v.host.ready(ctx, v.sees)
}

// Servers returns what [Host.Servers] does of the chosen servers, and nothing
// once the view is closed.
func (v *View) Servers() []ServerState {
	var out []ServerState
	for _, s := range v.host.Servers() {
		if v.sees(s.ID) {
			out = append(out, s)
		}
	}
	return out
}

// Tools returns what [Host.Tools] does of the chosen servers, and nothing once
// the view is closed.
func (v *View) Tools() []Tool {
	var out []Tool
	for _, t := range v.host.table.Load().tools {
		if v.sees(t.Server) {
			out = append(out, cloneTool(t))
		}
	}
	return out
}

// Lookup returns the tool of the view that is exposed under a name.
func (v *View) Lookup(name string) (Tool, bool) {
	r, ok := v.route(name)
	if !ok {
		return Tool{}, false
	}
	return cloneTool(r.tool), true
}

func (v *View) route(name string) (route, bool) {
	r, ok := v.host.table.Load().routes[name]
	if !ok || !v.sees(r.server.id) {
		return route{}, false
	}
	return r, true
}

// Call is [Host.Call] for the tools of the view. Once it is closed it fails with
// [ErrClosed].
func (v *View) Call(ctx context.Context, name string, arguments json.RawMessage, opts CallOptions) (*mcp.CallToolResult, error) {
	if v.ctx.Err() != nil {
		return nil, notSent(ErrClosed)
	}
	r, ok := v.route(name)
	if !ok {
		return nil, v.host.unexposed(name, v.sees)
	}
	ctx, done := v.bound(ctx)
	defer done()
	// Not by its name again, under which there may be another server's by now.
	return v.host.call(ctx, r, arguments, opts)
}

// Format prints no more than that it is a view, whatever the verb.
func (v *View) Format(f fmt.State, _ rune) { fmt.Fprint(f, "view over MCP servers") }

// bound returns a context that also ends with the view.
func (v *View) bound(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(v.ctx, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Close ends the view's calls in flight and its use. The host's sessions live
// on.
func (v *View) Close() { v.cancel(ErrClosed) }
