package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/internal/toolschema"
)

// callTool answers tools/call. What the agent did wrong, or what went wrong for
// it, is a result that its model can read; only an unknown tool is an error of
// the protocol.
func (e *endpoint) callTool(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest, allowed bool) (mcp.Result, error) {
	tool := e.base.byName[req.Params.Name]
	v := e.reg.catalog.current()
	ofPlugin := allowed && tool == nil && v != nil && !e.hasSDKTool(ctx, next, req)
	timeout := e.reg.opts.Limits.Call
	switch {
	case ofPlugin:
		timeout = e.reg.opts.Limits.Invoke
		if t, ok := v.lookup(req.Params.Name); ok && t.entry.Timeout > 0 {
			timeout = t.entry.Timeout
		}
	case tool == nil:
	case tool.asks:
		timeout = e.reg.opts.Limits.Ask
	case tool.timeout > 0:
		timeout = tool.timeout
	}
	c := e.newCall(ctx, req.Params.Name, req, timeout)
	c.tool, c.req, c.size = tool, req, len(req.Params.Arguments)
	defer c.stop()
	if !allowed {
		return e.answer(c, Result{
			Text:    "Not done: too many calls in a short time. Wait a moment, then go on more slowly.",
			IsError: true, outcome: OutcomeLimited,
		}, nil, ""), nil
	}
	switch {
	case ofPlugin:
		return e.callPlugin(c, v)
	case tool == nil:
		return e.callSDKTool(next, c)
	}
	if problem := c.decode(); problem != "" {
		return e.answer(c, invalidArguments(problem), nil, problem), nil
	}
	if err := tool.input.Validate(c.value); err != nil {
		return e.answer(c, invalidArguments(invalidText(err)), nil, misfit(err)), nil
	}
	if err := tool.input.CheckNames(c.arguments(), c.value); err != nil {
		return e.answer(c, invalidArguments(invalidText(err)), nil, misfit(err)), nil
	}
	if refused := e.begin(c, true); refused != nil {
		return e.answer(c, *refused, nil, ""), nil
	}
	defer e.answeredCall(c)
	return e.conclude(c, c.await(nil, "", nil)), nil
}

// maxValues bounds how many JSON values the arguments of a call have: the
// validator makes an error of each that does not fit.
const maxValues = 20_000

// decode sets the value of the arguments, or says what is wrong with them.
func (c *call) decode() (problem string) {
	if err := json.Unmarshal(c.arguments(), &c.value); err != nil {
		return "they are not valid JSON, or have a number that is too large"
	}
	if more(c.value, maxValues) < 0 {
		return fmt.Sprintf("they have more than %d values", maxValues)
	}
	return ""
}

// more returns how many values are allowed beside those of v, negative if v has
// too many.
func more(v any, allowed int) int {
	allowed--
	switch v := v.(type) {
	case []any:
		for _, c := range v {
			if allowed = more(c, allowed); allowed < 0 {
				return allowed
			}
		}
	case map[string]any:
		for _, c := range v {
			if allowed = more(c, allowed); allowed < 0 {
				return allowed
			}
		}
	}
	return allowed
}

// arguments returns the arguments of a tool, an empty object if there are none.
func (c *call) arguments() json.RawMessage {
	if args := c.req.Params.Arguments; len(args) > 0 && string(args) != "null" {
		return args
	}
	return json.RawMessage("{}")
}

// said returns the arguments decoded.
func (c *call) said() any {
	if c.value == nil {
		return decoded(c.arguments())
	}
	return c.value
}

// conclude turns what a handler gave into what the agent gets.
func (e *endpoint) conclude(c *call, a answer) *mcp.CallToolResult {
	switch {
	case a.outcome == OutcomePanic, errors.Is(a.err, errAskPanicked):
		return e.answer(c, c.failed(OutcomePanic), panicked(a.detail), a.detail)
	case a.outcome == OutcomeTimeout:
		return e.answer(c, tooLate(), a.err, "")
	case a.outcome != "":
		text := "The call was canceled before it was finished."
		if a.end != nil {
			text = a.end.text
		}
		return e.answer(c, Result{Text: text, IsError: true, outcome: a.outcome}, a.err, "")
	case errors.Is(a.err, channel.ErrBlocked):
		return e.answer(c, c.blocked(a.err), nil, "")
	case a.err != nil:
		if text, ok := channel.AgentText(a.err); ok {
			return e.answer(c, Result{Text: text, IsError: true, outcome: OutcomeTool}, a.err, errorText(a.err, c.said()))
		}
		if errors.Is(a.err, context.DeadlineExceeded) { // of the handler's own deadline
			return e.answer(c, tooLate(), a.err, errorText(a.err, c.said()))
		}
		return e.answer(c, c.failed(OutcomeError), a.err, errorText(a.err, c.said()))
	}
	if refused := e.unsendable(c, a); refused != nil {
		return refused
	}
	outcome := a.result.outcome
	switch {
	case outcome != "":
	case a.result.IsError:
		outcome = OutcomeTool
	default:
		outcome = OutcomeOK
	}
	e.logCall(c.event(outcome, nil, a.size), "")
	return a.out
}

// unsendable returns what the agent gets in place of a result that cannot be
// sent, and nil for one that can.
func (e *endpoint) unsendable(c *call, a answer) *mcp.CallToolResult {
	limit := e.reg.opts.Limits.Result
	switch {
	case a.problem != "":
		return e.answer(c, c.failed(OutcomeResult), errors.New("mcpserver: "+a.problem), a.problem)
	case a.size > limit:
		text := fmt.Sprintf("The tool did its work, but its result has %d bytes and a result can have %d. Ask for less.", a.size, limit)
		problem := tooLarge(a.size, limit)
		return e.answer(c, Result{Text: text, IsError: true, outcome: OutcomeResult}, errors.New("mcpserver: "+problem), problem)
	}
	return nil
}

func tooLarge(size, limit int) string {
	return fmt.Sprintf("the result is too large: it has %d bytes and may have %d", size, limit)
}

// failed is all that an agent hears of an error that was not made for it.
func (c *call) failed(outcome Outcome) Result {
	text := "The tool failed on the host's side, and it is not known how far it got. No more is known here. "
	if c.repeatable() {
		text += "You may try once more; if it fails again, go on without it and say so in your summary."
	} else {
		text += "Do not call it again for the same, since it may have been done: go on without it and say so in your summary."
	}
	return Result{Text: text, IsError: true, outcome: outcome}
}

// repeatable reports whether the tool says of itself that calling it twice does no
// more than calling it once.
func (c *call) repeatable() bool {
	switch {
	case c.plugin != nil:
		a := c.plugin.entry.Annotations
		return a.ReadOnly || a.Idempotent
	case c.tool != nil && c.tool.wire.Annotations != nil:
		a := c.tool.wire.Annotations
		return a.ReadOnlyHint || a.IdempotentHint
	}
	return false
}

// tooLate is what an agent hears of a deadline, the handler's own included.
func tooLate() Result {
	return Result{
		Text:    "The tool did not finish in time, and it is not known how far it got. Do not rely on it having done anything.",
		IsError: true, outcome: OutcomeTimeout,
	}
}

// panicked is what an observer hears of a panic.
func panicked(detail string) error {
	if detail == "" {
		return errAskPanicked
	}
	return errors.New("mcpserver: the handler panicked: " + detail)
}

func invalidArguments(why string) Result {
	return Result{
		Text:    "Not done: the arguments do not fit the tool's input schema: " + why + ". Correct them and call again.",
		IsError: true, outcome: OutcomeInvalid,
	}
}

func invalidText(err error) string {
	if errors.Is(err, toolschema.ErrNoValidator) {
		return "they cannot be checked"
	}
	return err.Error() // it names places and rules, and never a value
}

// misfit is what the log says of a value that does not fit its schema: where and
// why, and nothing that the value holds.
func misfit(err error) string {
	var invalid *toolschema.InvalidError
	switch {
	case errors.As(err, &invalid):
		return invalid.ForLog()
	case errors.Is(err, toolschema.ErrTooComplex):
		return toolschema.ErrTooComplex.Error()
	}
	return "it does not fit the schema"
}

// answer logs a call and makes the SDK's result of one of our own texts, or of
// one that an error has for the agent, which is cut where it is too long.
func (e *endpoint) answer(c *call, res Result, err error, detail string) *mcp.CallToolResult {
	res.Text = bounded(res.Text, e.reg.opts.Limits.Result)
	out := &mcp.CallToolResult{IsError: res.IsError, Content: []mcp.Content{&mcp.TextContent{Text: res.Text}}}
	size := len(res.Text)
	if res.Structured != nil {
		if data, err := json.Marshal(res.Structured); err == nil {
			out.StructuredContent = json.RawMessage(data)
			size += len(data)
		}
	}
	e.logCall(c.event(res.outcome, err, size), detail)
	return out
}

// checkOutput returns what judges structured results, nil for nothing.
func (t *Tool) checkOutput() func(json.RawMessage) error {
	if t.output == nil {
		return nil
	}
	return func(text json.RawMessage) error { return t.output.ValidateJSON(text) }
}

// checkResult returns the SDK's form of what a handler gave and its size, or says
// what is wrong with it. output judges its structured part, unless it is nil. It
// runs where a panic is the handler's: what a host puts into a result can have
// methods.
func checkResult(res Result, output func(json.RawMessage) error) (out *mcp.CallToolResult, size int, problem string) {
	out = &mcp.CallToolResult{IsError: res.IsError}
	size = len(res.Text)
	var structured json.RawMessage
	if res.Structured != nil {
		data, err := json.Marshal(res.Structured)
		if err != nil || data[0] != '{' {
			return nil, 0, "the structured result is no JSON object"
		}
		structured = data
		out.StructuredContent = structured
		size += len(data)
		if res.Text == "" && len(res.Content) == 0 {
			res.Text = string(data)
			size += len(data)
		}
	}
	if output != nil {
		if structured == nil && !res.IsError {
			return nil, 0, "there is an output schema and no structured result"
		}
		if structured != nil {
			switch err := output(structured); {
			case err != nil && res.IsError: // clients judge it too, and would show nothing of the result
				out.StructuredContent = nil
			case err != nil:
				return nil, 0, "the structured result does not fit the output schema: " + misfit(err)
			}
		}
	}
	content := make([]mcp.Content, 0, 1+len(res.Content))
	if res.Text != "" {
		content = append(content, &mcp.TextContent{Text: res.Text})
	}
	for _, c := range res.Content {
		n, problem := measure(c)
		if problem != "" {
			return nil, 0, problem
		}
		size += n
		content = append(content, c)
	}
	out.Content = content
	return out, size, ""
}

// measure returns the size of what the SDK is to send. What cannot be marshaled
// is found here, where it is the handler's fault, and not in the SDK, where a
// panic would end the process.
func measure(v any) (size int, problem string) {
	data, err := json.Marshal(v)
	if err != nil || string(data) == "null" {
		return 0, "the result cannot be marshaled"
	}
	return len(data), ""
}

// decoded is a value as JSON has it.
func decoded(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	json.Unmarshal(data, &out)
	return out
}

// callSDKTool calls a tool that the host added to the SDK's server itself.
func (e *endpoint) callSDKTool(next mcp.MethodHandler, c *call) (mcp.Result, error) {
	if c.name == sentinel.Name {
		e.logCall(c.event(OutcomeUnknown, nil, 0), "")
		return nil, unknownTool(c.name)
	}
	if refused := e.begin(c, true); refused != nil {
		return e.answer(c, *refused, nil, ""), nil
	}
	defer e.answeredCall(c)
	a := c.await(next, "tools/call", c.req)
	var rpc *jsonrpc.Error
	if a.outcome == "" && errors.As(a.err, &rpc) {
		outcome := OutcomeTool
		if rpc.Code == jsonrpc.CodeInvalidParams {
			outcome = OutcomeUnknown
		}
		e.logCall(c.event(outcome, a.err, 0), "")
		return nil, a.err
	}
	if a.outcome != "" || a.err != nil {
		return e.conclude(c, a), nil
	}
	out, ok := a.sdk.(*mcp.CallToolResult)
	if !ok {
		a.problem = "the result is none of a tool"
	}
	if refused := e.unsendable(c, a); refused != nil {
		return refused, nil
	}
	outcome := OutcomeOK
	if out.IsError {
		outcome = OutcomeTool
	}
	e.logCall(c.event(outcome, nil, a.size), "")
	return out, nil
}
