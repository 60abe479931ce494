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
	tool := e.tools.Load().byName[req.Params.Name]
	timeout := e.reg.opts.Limits.Call
	switch {
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
	if tool == nil {
		return e.callSDKTool(next, c)
	}
	if err := json.Unmarshal(c.arguments(), &c.value); err != nil {
		return e.answer(c, invalidArguments("they are not valid JSON, or have a number that is too large"), nil, ""), nil
	}
	if err := tool.input.Validate(c.value); err != nil {
		return e.answer(c, invalidArguments(invalidText(err)), nil, ""), nil
	}
	if refused := e.begin(c, true); refused != nil {
		return e.answer(c, *refused, nil, ""), nil
	}
	defer e.answeredCall(c)
	return e.conclude(c, c.await(nil, "", nil)), nil
}

// arguments returns the arguments of a tool, an empty object if there are none.
func (c *call) arguments() json.RawMessage {
	if args := c.req.Params.Arguments; len(args) > 0 && string(args) != "null" {
		return args
	}
	return json.RawMessage("{}")
}

// conclude turns what a handler gave into what the agent gets.
func (e *endpoint) conclude(c *call, a answer) *mcp.CallToolResult {
	switch {
	case a.outcome == OutcomePanic, errors.Is(a.err, errAskPanicked):
		return e.answer(c, failed(OutcomePanic), nil, a.detail)
	case a.outcome == OutcomeTimeout:
		return e.answer(c, Result{Text: "The tool did not finish in time, and it is not known how far it got. Do not rely on it having done anything.", IsError: true, outcome: OutcomeTimeout}, a.err, "")
	case a.outcome != "":
		text := "The call was canceled before it was finished."
		if a.end != nil {
			text = a.end.text
		}
		return e.answer(c, Result{Text: text, IsError: true, outcome: a.outcome}, a.err, "")
	case errors.Is(a.err, channel.ErrBlocked):
		return e.answer(c, blockedResult(a.err), nil, "")
	case a.err != nil:
		if text, ok := channel.AgentText(a.err); ok {
			return e.answer(c, Result{Text: text, IsError: true, outcome: OutcomeTool}, a.err, errorText(a.err, c.value))
		}
		return e.answer(c, failed(OutcomeError), a.err, errorText(a.err, c.value))
	}
	res := a.result
	if res.outcome == "" {
		res.outcome = OutcomeOK
		if res.IsError {
			res.outcome = OutcomeTool
		}
	}
	return e.answerChecked(c, res)
}

// failed is all that an agent hears of an error that was not made for it.
func failed(outcome Outcome) Result {
	return Result{
		Text:    "The tool failed on the host's side, and it is not known how far it got. No more is known here. You may try once more; if it fails again, go on without it and say so in your summary.",
		IsError: true, outcome: outcome,
	}
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

// answer logs a call and makes the SDK's result of ours.
func (e *endpoint) answer(c *call, res Result, err error, detail string) *mcp.CallToolResult {
	out, size, _ := toSDK(res)
	e.logCall(c.event(res.outcome, err, size), detail)
	return out
}

// answerChecked does so for what a handler gave, which is judged first.
func (e *endpoint) answerChecked(c *call, res Result) *mcp.CallToolResult {
	out, size, err := toSDK(res)
	var problem string
	switch limit := e.reg.opts.Limits.Result; {
	case err != nil:
		problem = "the structured result is no JSON object"
	case size > limit:
		text := fmt.Sprintf("The tool did its work, but its result has %d bytes and a result can have %d. Ask for less.", size, limit)
		return e.answer(c, Result{Text: text, IsError: true, outcome: OutcomeResult}, nil, "the result is too large")
	case c.tool.output != nil && !res.IsError:
		structured, _ := out.StructuredContent.(json.RawMessage)
		if structured == nil {
			problem = "there is an output schema and no structured result"
		} else if err := c.tool.output.ValidateJSON(structured); err != nil {
			problem = "the structured result does not fit the output schema"
		}
	}
	if problem != "" {
		return e.answer(c, failed(OutcomeResult), nil, problem)
	}
	e.logCall(c.event(res.outcome, nil, size), "")
	return out
}

var errStructured = errors.New("not a JSON object")

// toSDK returns the SDK's form of a result and its size.
func toSDK(res Result) (*mcp.CallToolResult, int, error) {
	out := &mcp.CallToolResult{IsError: res.IsError}
	size := len(res.Text)
	if res.Structured != nil {
		data, err := json.Marshal(res.Structured)
		if err != nil {
			return nil, 0, err
		}
		if len(data) == 0 || data[0] != '{' {
			return nil, 0, errStructured
		}
		out.StructuredContent = json.RawMessage(data)
		size += len(data)
		if res.Text == "" && len(res.Content) == 0 {
			res.Text = string(data)
			size += len(data)
		}
	}
	content := make([]mcp.Content, 0, 1+len(res.Content))
	if res.Text != "" {
		content = append(content, &mcp.TextContent{Text: res.Text})
	}
	for _, c := range res.Content {
		size += contentSize(c)
		content = append(content, c)
	}
	out.Content = content
	return out, size, nil
}

// contentSize is about how many bytes content takes.
func contentSize(c mcp.Content) int {
	switch c := c.(type) {
	case *mcp.TextContent:
		return len(c.Text)
	case *mcp.ImageContent:
		return len(c.Data) * 4 / 3
	case *mcp.AudioContent:
		return len(c.Data) * 4 / 3
	case *mcp.ResourceLink:
		return len(c.URI) + len(c.Name) + len(c.Title) + len(c.Description)
	case *mcp.EmbeddedResource:
		if c.Resource == nil {
			return 0
		}
		return len(c.Resource.URI) + len(c.Resource.Text) + len(c.Resource.Blob)*4/3
	}
	return 0
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
		return e.answer(c, failed(OutcomeResult), nil, "the result is none of a tool"), nil
	}
	size := 0
	for _, content := range out.Content {
		size += contentSize(content)
	}
	if out.StructuredContent != nil {
		data, err := json.Marshal(out.StructuredContent)
		if err != nil {
			return e.answer(c, failed(OutcomeResult), nil, "the structured result is no JSON"), nil
		}
		size += len(data)
	}
	if limit := e.reg.opts.Limits.Result; size > limit {
		text := fmt.Sprintf("The tool did its work, but its result has %d bytes and a result can have %d. Ask for less.", size, limit)
		return e.answer(c, Result{Text: text, IsError: true, outcome: OutcomeResult}, nil, "the result is too large"), nil
	}
	outcome := OutcomeOK
	if out.IsError {
		outcome = OutcomeTool
	}
	e.logCall(c.event(outcome, nil, size), "")
	return out, nil
}
