package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/internal/printable"
)

// codeLimited is the JSON-RPC code for a message over the rate of a grant.
const codeLimited = -32029

// dispatch is the middleware through which every message of a grant goes.
func (e *endpoint) dispatch(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil { // of ours: handlers are called with a recover of their own
				e.log.Error("serving a message panicked", "method", method, "panic", panicText(v), "stack", stack())
				res, err = nil, internalError()
			}
			err = e.sendable(err)
		}()
		allowed := e.messages.Allow()
		if method == "tools/call" {
			return e.callTool(ctx, next, req.(*mcp.CallToolRequest), allowed)
		}
		if !allowed {
			return nil, &jsonrpc.Error{Code: codeLimited, Message: "too many requests: slow down"}
		}
		switch method {
		case "tools/list":
			return e.listTools(ctx, next, req)
		case "initialize":
			if e.reg.draining.Load() {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: endShutdown.text}
			}
			if err := e.initialized(req.GetSession().(*mcp.ServerSession)); err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the session cannot be opened"}
			}
			return e.shielded(ctx, e.marshalable(next), method, req)
		case "ping", "logging/setLevel":
			return e.shielded(ctx, next, method, req)
		case "server/discover", "prompts/list", "resources/list", "resources/templates/list":
			return e.shielded(ctx, e.marshalable(next), method, req)
		case "subscriptions/listen":
			return e.listen(ctx, next, method, req)
		}
		if strings.HasPrefix(method, "notifications/") {
			return e.shielded(ctx, next, method, req)
		}
		return e.callHost(ctx, next, method, req)
	}
}

// shielded calls what holds no handler of the host but its middleware.
func (e *endpoint) shielded(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (res mcp.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			e.log.Error("handler panicked", "method", method, "panic", panicText(v), "stack", stack())
			res, err = nil, internalError()
		}
	}()
	res, err = next(context.WithValue(ctx, runKey{}, e.run()), method, req)
	if err != nil && e.configure != nil && ctx.Err() == nil && !errors.As(err, new(*jsonrpc.Error)) {
		// Perhaps of middleware that the host added, and not made for the client.
		e.log.Warn("a message was not answered", "method", method, "detail", errorText(err, decoded(req.GetParams())))
		return nil, internalError()
	}
	return res, err
}

// sending is the middleware around what the host added for messages to the
// client. The SDK sends some of these from goroutines of its own, where a panic
// would end the process.
func (e *endpoint) sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				e.log.Error("sending a message panicked", "method", method, "panic", panicText(v), "stack", stack())
				res, err = nil, internalError()
			}
		}()
		res, err = next(ctx, method, req)
		if res == nil && err == nil && !strings.HasPrefix(method, "notifications/") {
			return nil, internalError() // the SDK takes it for what it asked for
		}
		return res, err
	}
}

// sendable returns an error as the SDK can send it and within the limit of
// results. One with data that is no JSON would never be answered.
func (e *endpoint) sendable(err error) error {
	var rpc *jsonrpc.Error
	limit := e.reg.opts.Limits.Result
	if err == nil || !errors.As(err, &rpc) {
		return err
	}
	message := err.Error()
	if err == error(rpc) {
		message = rpc.Message
	}
	out := &jsonrpc.Error{Code: rpc.Code, Message: bounded(message, limit), Data: rpc.Data}
	if len(out.Message)+len(out.Data) > limit || !json.Valid(out.Data) {
		out.Data = nil
	}
	return out
}

// marshalable is next for what tells of things that the host described: they
// can hold values with methods, and a panic in one would end the process if the
// SDK were the first to marshal it.
func (e *endpoint) marshalable(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if err != nil {
			return nil, err
		}
		if list, ok := res.(*mcp.ListToolsResult); ok && onlySentinel(list.Tools) {
			return res, nil
		}
		if _, problem := measure(res); problem != "" {
			e.log.Error("a description cannot be sent", "method", method, "detail", problem)
			return nil, internalError()
		}
		return res, nil
	}
}

func internalError() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
}

// listTools lists one tool set, whole, and beside it what the host added to the
// SDK's server.
func (e *endpoint) listTools(ctx context.Context, next mcp.MethodHandler, req mcp.Request) (mcp.Result, error) {
	list, sdk, err := e.sdkTools(ctx, e.marshalable(next), req.(*mcp.ListToolsRequest))
	if err != nil {
		return nil, err
	}
	offer := e.offer()
	out := *list
	var hidden []string
	out.Tools, hidden = offer.list(sdk)
	out.NextCursor = ""
	for _, name := range hidden {
		if _, logged := e.hidden.LoadOrStore(name, true); !logged {
			e.log.Warn("a tool of the catalog is hidden by one of the host", "tool", printable.Escape(name))
		}
	}
	out.Meta = offer.metaWith(list.Meta)
	return &out, nil
}

// sdkTools returns the tools that the SDK's server has, all pages of them, and
// the result of the first page.
func (e *endpoint) sdkTools(ctx context.Context, next mcp.MethodHandler, req *mcp.ListToolsRequest) (first *mcp.ListToolsResult, tools []*mcp.Tool, err error) {
	for {
		res, err := e.shielded(ctx, next, "tools/list", req)
		if err != nil {
			return nil, nil, err
		}
		page, ok := res.(*mcp.ListToolsResult)
		if !ok {
			return nil, nil, internalError()
		}
		if first == nil {
			first = page
		}
		tools = append(tools, page.Tools...)
		if page.NextCursor == "" {
			return first, tools, nil
		}
		r := *req
		r.Params = &mcp.ListToolsParams{Cursor: page.NextCursor}
		req = &r
	}
}

func unknownTool(name string) error {
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidParams,
		Message: "unknown tool " + printable.Quote(name),
	}
}

// call is one message that a handler of the host answers. It is also the
// context of the handler.
type call struct {
	context.Context // of the message, with the deadline, ended by cancel too

	e       *endpoint
	name    string // of the tool, or the method
	req     *mcp.CallToolRequest
	ex      *exchange
	session *session
	stop    context.CancelFunc
	why     atomic.Pointer[endReason] // set before stop, where the host or the session ended it
	start   time.Time
	size    int  // bytes of the arguments
	counted bool // it is a call, and not a client that listens

	who    *Run        // as it was when the call came in
	tool   *Tool       // nil where the SDK's server or a plugin has the handler
	plugin *pluginCall // set for a tool of a catalog
	value  any         // the arguments, decoded
	done   chan struct{}
	answer answer // set before done is closed
}

// Value makes the run known to the handler.
func (c *call) Value(key any) any {
	if key == (runKey{}) {
		return c.who
	}
	return c.Context.Value(key)
}

// cancel ends the call for a reason that its agent is told.
func (c *call) cancel(why *endReason) {
	c.why.CompareAndSwap(nil, why)
	c.stop()
}

// begin counts a call, or says why it is refused.
func (e *endpoint) begin(c *call, counted bool) *Result {
	limits := &e.reg.opts.Limits
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.ended != nil:
		return &Result{Text: e.ended.text, IsError: true, outcome: e.ended.outcome}
	case e.reg.draining.Load():
		return &Result{Text: endShutdown.text, IsError: true, outcome: OutcomeShutdown}
	case c.session != nil && c.session.ended:
		return &Result{Text: endSession.text, IsError: true, outcome: endSession.outcome}
	case c.plugin != nil && e.plugins[c.plugin.key()] >= limits.PluginCalls:
		return &Result{
			Text:    fmt.Sprintf("Not done: %d calls of this plugin are in flight already. Wait for them to end, then try again.", limits.PluginCalls),
			IsError: true, outcome: OutcomeLimited,
		}
	case c.plugin == nil && counted && e.running-e.ofPlugins >= limits.Calls:
		return &Result{
			Text:    fmt.Sprintf("Not done: %d calls of this run are in flight already. Wait for them to end, then try again.", limits.Calls),
			IsError: true, outcome: OutcomeLimited,
		}
	}
	if c.plugin != nil {
		if e.plugins == nil {
			e.plugins = map[string]int{}
		}
		e.plugins[c.plugin.key()]++
		e.ofPlugins++
	}
	e.calls[c] = struct{}{}
	c.counted = counted
	if counted {
		e.running++
	}
	if c.session != nil {
		c.session.begin()
	}
	return nil
}

// answeredCall is called when the client gets its answer.
func (e *endpoint) answeredCall(c *call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.calls, c)
	if c.session != nil {
		c.session.end(e.reg.opts.Limits.Idle)
	}
}

// returned is called when the handler has returned, which may be later.
func (e *endpoint) returned(c *call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running--
	if c.plugin != nil {
		e.ofPlugins--
		key := c.plugin.key()
		if e.plugins[key]--; e.plugins[key] == 0 {
			delete(e.plugins, key)
		}
	}
	e.settle()
}

// newCall is what the kinds of calls have in common. A timeout of 0 is none.
func (e *endpoint) newCall(ctx context.Context, name string, req mcp.Request, timeout time.Duration) *call {
	c := &call{e: e, who: e.run(), name: name, start: time.Now(), done: make(chan struct{})}
	if extra := req.GetExtra(); extra != nil {
		c.ex = e.exchange(extra.TokenInfo)
	}
	if ss, ok := req.GetSession().(*mcp.ServerSession); ok {
		c.session = e.session(ss.ID())
	}
	if timeout > 0 {
		c.Context, c.stop = context.WithTimeout(ctx, timeout)
	} else {
		c.Context, c.stop = context.WithCancel(ctx)
	}
	if c.ex != nil {
		c.ex.handOver()
	}
	return c
}

// listen serves a stream of notifications, which lasts until it is canceled.
func (e *endpoint) listen(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	c := e.newCall(ctx, method, req, 0)
	defer c.stop()
	if e.begin(c, false) != nil {
		return nil, internalError()
	}
	defer e.answeredCall(c)
	return e.shielded(c, next, method, req)
}

// callHost calls what the host has added to the SDK's server: prompts,
// resources, completion, methods of its own.
func (e *endpoint) callHost(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	c := e.newCall(ctx, method, req, e.reg.opts.Limits.Call)
	defer c.stop()
	if refused := e.begin(c, true); refused != nil {
		e.logCall(c.event(refused.outcome, nil, 0), "")
		return nil, &jsonrpc.Error{Code: codeLimited, Message: refused.Text}
	}
	defer e.answeredCall(c)
	a := c.await(next, method, req)
	var rpc *jsonrpc.Error
	switch {
	case a.outcome != "":
		err := internalError()
		if a.end != nil {
			err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: a.end.text}
		}
		if a.outcome == OutcomePanic {
			a.err = panicked(a.detail)
		}
		e.logCall(c.event(a.outcome, a.err, 0), a.detail)
		return nil, err
	case errors.As(a.err, &rpc): // made for the client, by the SDK or the host
		e.logCall(c.event(OutcomeTool, a.err, 0), "")
		return nil, a.err
	case a.err != nil:
		e.logCall(c.event(OutcomeError, a.err, 0), errorText(a.err, decoded(req.GetParams())))
		return nil, internalError()
	case a.problem == "" && a.size > e.reg.opts.Limits.Result:
		a.problem = tooLarge(a.size, e.reg.opts.Limits.Result)
		fallthrough
	case a.problem != "":
		e.logCall(c.event(OutcomeResult, errors.New("mcpserver: "+a.problem), a.size), a.problem)
		return nil, internalError()
	}
	e.logCall(c.event(OutcomeOK, nil, a.size), "")
	return a.sdk, nil
}

func (c *call) event(outcome Outcome, err error, size int) Event {
	now := time.Now()
	ev := Event{
		Kind: EventCall, At: now, Run: *c.who, Tool: cut(c.name, maxToolName),
		Duration: now.Sub(c.start), Outcome: outcome, Err: err,
		RequestBytes: c.size, ResultBytes: size,
	}
	if c.plugin != nil {
		ev.Plugin = c.plugin.entry.Plugin
	}
	return ev
}

// answer is what a handler gave, or why it gave nothing.
type answer struct {
	result  Result              // of a tool of ours
	out     *mcp.CallToolResult // its form for the SDK
	sdk     mcp.Result          // of what the host added to the SDK's server
	size    int                 // bytes of the result
	problem string              // why it cannot be sent, for the log
	err     error
	refused error      // why the call did not reach its plugin
	outcome Outcome    // set where the handler gave nothing
	end     *endReason // why, if it was ended
	detail  string     // for the log
}

// lateGrace is how long a handler whose time is up may take to say something.
const lateGrace = 250 * time.Millisecond

// await runs a handler in a goroutine of its own and waits for it or for the
// context. A handler that goes on nevertheless holds up nobody but keeps its
// slot. next is called where no tool of ours is.
func (c *call) await(next mcp.MethodHandler, method string, req mcp.Request) answer {
	go c.run(next, method, req)
	select {
	case <-c.done:
		return c.judge(c.answer)
	case <-c.Done():
	}
	grace := time.Duration(0)
	if errors.Is(c.Err(), context.DeadlineExceeded) {
		grace = lateGrace
	}
	if wait(c.done, grace) {
		return c.judge(c.answer)
	}
	return c.ended(answer{})
}

func (c *call) run(next mcp.MethodHandler, method string, req mcp.Request) {
	defer c.e.returned(c)
	defer close(c.done)
	returned := false
	defer func() {
		if returned {
			return
		}
		detail := panicText(recover())
		c.e.log.Error("handler panicked", "tool", printable.Escape(cut(c.name, maxToolName)), "panic", detail, "stack", stack())
		c.answer = answer{outcome: OutcomePanic, detail: detail}
	}()
	a := &c.answer
	switch {
	case c.plugin != nil:
		c.invoke(a)
	case c.tool == nil:
		if a.sdk, a.err = next(c, method, req); a.err == nil {
			a.size, a.problem = measure(a.sdk)
		}
	default:
		a.result, a.err = c.tool.handler(c, Call{
			Tool: c.name, Arguments: c.arguments(), value: c.value.(map[string]any), state: c,
		})
		if a.err == nil {
			a.out, a.size, a.problem = checkResult(a.result, c.tool.checkOutput())
		}
	}
	probe(a.err)
	probe(a.refused)
	returned = true
}

// probe calls the methods of a handler's error that are called later, here
// where a panic is the handler's: in that of a nil pointer, for example.
func probe(err error) {
	if err == nil {
		return
	}
	_ = err.Error()
	_ = errors.Is(err, channel.ErrBlocked)
	_ = errors.Is(err, context.DeadlineExceeded)
	_ = errors.As(err, new(*jsonrpc.Error))
	_ = errors.As(err, new(*channel.BlockedError))
	_ = errors.As(err, new(*argumentsError))
	channel.AgentText(err)
}

// judge takes the error of a handler whose context has ended for what it is, and
// so that of an authorizer, unless it says that there is no such tool.
func (c *call) judge(a answer) answer {
	refused := a.refused != nil && !errors.Is(a.refused, ErrNotDeclared) && !errors.Is(a.refused, ErrSurface)
	if (a.err != nil || refused) && a.outcome == "" && (c.Err() != nil || c.late()) {
		if refused {
			a.err, a.refused = a.refused, nil
		}
		return c.ended(a)
	}
	return a
}

// late reports whether the deadline has passed, which a handler may notice
// before the context does.
func (c *call) late() bool {
	deadline, ok := c.Deadline()
	return ok && !time.Now().Before(deadline)
}

func (c *call) ended(a answer) answer {
	a.outcome, a.end = OutcomeCanceled, c.why.Load()
	if c.late() {
		a.outcome = OutcomeTimeout
	}
	if a.end != nil {
		a.outcome = a.end.outcome
	}
	return a
}
