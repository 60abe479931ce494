package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// pluginCall is what a call of a catalog's tool has more than others.
type pluginCall struct {
	grant *grant
	entry catalog.Entry // as it was when the call came in
}

// seen reports whether the grant sees the tool in a view, as the same plugin's.
func (p *pluginCall) seen(v *view) bool {
	t, ok := v.lookup(p.entry.Name)
	return ok && t.entry.Plugin == p.entry.Plugin && t.entry.Source == p.entry.Source &&
		t.entry.On(p.grant.run().Identity.Surface)
}

// key tells plugins apart where their calls are counted.
func (p *pluginCall) key() string { return p.entry.Source + "\x00" + p.entry.Plugin }

// callPlugin answers the call of a tool that is neither the channel's nor the
// host's, where there is a catalog.
func (e *endpoint) callPlugin(c *call, v *view) (mcp.Result, error) {
	t, ok := v.lookup(c.name)
	if !ok {
		return e.refuse(c, ErrNotDeclared)
	}
	// What happens to the tool from here on is seen by the second look, or cancels
	// the call.
	c.plugin = &pluginCall{grant: e.grant, entry: t.entry}
	if problem := c.decode(); problem != "" {
		return e.answer(c, invalidArguments(problem), nil, problem), nil
	}
	if refused := e.begin(c, true); refused != nil {
		return e.answer(c, *refused, nil, ""), nil
	}
	defer e.answeredCall(c)
	f := &e.reg.catalog
	f.mu.Lock()
	f.calls[c] = struct{}{}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.calls, c)
		f.mu.Unlock()
	}()
	a := c.await(nil, "", nil)
	if a.refused != nil {
		return e.refuse(c, a.refused)
	}
	return e.conclude(c, a), nil
}

// invoke authorizes the call and asks the plugin, once. It runs where a panic is
// the handler's.
func (c *call) invoke(a *answer) {
	run := *c.e.run()
	entry, err := c.authorize(run)
	if err != nil {
		a.refused = err
		return
	}
	invoker := c.e.reg.opts.Invokers.of(entry)
	if invoker == nil {
		a.err = &channel.Refusal{
			Text: "Not done: the plugin of this tool cannot be called now. Go on without it, and say so in your summary.",
			Err:  errNoInvoker,
		}
		return
	}
	if a.err = c.Err(); a.err != nil {
		return
	}
	a.result, a.err = invoker.Invoke(c, Invocation{
		Run: run, Tool: entry, Arguments: c.arguments(), call: c, progress: new(atomic.Int64),
	})
	if a.err == nil {
		var output func(json.RawMessage) error
		if entry.OutputSchema != nil {
			output = func(text json.RawMessage) error { return entry.CheckOutput(decoded(text)) }
		}
		a.out, a.size, a.problem = checkResult(a.result, output)
	}
}

var errNoInvoker = errors.New("mcpserver: no invoker is set for the plugin")

// authorize judges the call: by the host's authorizer, and after that by what is
// the registry's own to judge, since the first takes time and the catalog goes on.
// It returns the tool as it is declared now.
func (c *call) authorize(run Run) (catalog.Entry, error) {
	fail := func(err error) (catalog.Entry, error) { return catalog.Entry{}, err }
	reg := c.e.reg
	v := reg.catalog.current()
	request := Authorization{Run: run, Tool: c.name, Arguments: c.arguments(), Snapshot: v.snapshot}
	authorizer := reg.opts.Authorizer
	if authorizer == nil {
		authorizer = CatalogAuthorizer{}
	}
	if err := authorizer.Authorize(c, request); err != nil {
		return fail(err)
	}
	t, ok := reg.catalog.current().lookup(c.name)
	switch {
	case !ok:
		return fail(ErrNotDeclared)
	case !t.entry.On(run.Identity.Surface), !t.entry.On(c.e.run().Identity.Surface): // judged for the one, and seen on the other now
		return fail(ErrSurface)
	case t.entry.Plugin != c.plugin.entry.Plugin || t.entry.Source != c.plugin.entry.Source:
		return fail(ErrNotDeclared) // the name is another plugin's by now
	}
	judged, known := v.lookup(c.name)
	if reg.opts.Authorizer != nil || !known || !judged.entry.Equal(t.entry) {
		if err := t.entry.CheckInput(c.arguments()); err != nil {
			return fail(&argumentsError{err})
		}
	}
	return t.entry, nil
}

// refuse answers a call that must not reach its plugin, and logs why.
func (e *endpoint) refuse(c *call, err error) (mcp.Result, error) {
	var bad *argumentsError
	switch {
	case errors.Is(err, ErrNotDeclared):
		e.logCall(c.event(OutcomeUnknown, err, 0), "")
		return nil, notOffered(c.name)
	case errors.Is(err, ErrSurface):
		// The agent is not told that the tool is there for others.
		e.logCall(c.event(OutcomeDenied, err, 0), "the tool is not on the run's surface")
		return nil, notOffered(c.name)
	case errors.As(err, &bad):
		return e.answer(c, invalidArguments(invalidText(bad.err)), err, misfit(bad.err)), nil
	case errors.Is(err, ErrArguments):
		return e.answer(c, invalidArguments("they were refused"), err, errorText(err, c.said())), nil
	}
	text, ok := channel.AgentText(err)
	if !ok {
		text = "Not done: the host does not allow this call now. Do not make it again unless you are told that this has changed."
	}
	return e.answer(c, Result{Text: text, IsError: true, outcome: OutcomeDenied}, err, errorText(err, c.said())), nil
}

// notOffered is unknownTool where the list of tools changes.
func notOffered(name string) error {
	return &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidParams,
		Message: fmt.Sprintf("unknown tool %s: it is not offered to this run, or not any more; list the tools again",
			printable.Quote(cut(name, maxToolName))),
	}
}

// hasSDKTool reports whether the host added a tool of that name to the SDK's
// server, which then goes before one of a catalog.
func (e *endpoint) hasSDKTool(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) bool {
	if e.configure == nil {
		return false
	}
	list := &mcp.ListToolsRequest{Session: req.Session, Params: &mcp.ListToolsParams{}, Extra: req.Extra}
	_, tools, err := e.sdkTools(ctx, next, list)
	for _, t := range tools {
		if t.Name == req.Params.Name {
			return true
		}
	}
	return err != nil // then nothing is certain, and the SDK's server answers
}
