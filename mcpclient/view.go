package mcpclient

import (
	"context"
	"encoding/json"

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
// are added later as well. nil chooses all. The run that it is for closes it.
func (h *Host) View(chosen func(ServerID) bool) *View {
	v := &View{host: h, chosen: chosen}
	v.ctx, v.cancel = context.WithCancelCause(h.ctx)
	return v
}

func (v *View) sees(id ServerID) bool {
	return v.ctx.Err() == nil && (v.chosen == nil || v.chosen(id))
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

// Call is [Host.Call] for the tools of the view. Once it is closed it fails with
// [ErrClosed].
func (v *View) Call(ctx context.Context, name string, arguments json.RawMessage, opts CallOptions) (*mcp.CallToolResult, error) {
	if v.ctx.Err() != nil {
		return nil, notSent(ErrClosed)
	}
	r, ok := v.host.table.Load().routes[name]
	if !ok || !v.sees(r.server.id) {
		return nil, unknownTool(name)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(v.ctx, func() { cancel(ErrClosed) })
	defer stop()
	// Not by its name again, under which there may be another server's by now.
	return v.host.call(ctx, r, arguments, opts)
}

// Close ends the view's calls in flight and its use. The host's sessions live
// on.
func (v *View) Close() { v.cancel(ErrClosed) }
