package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/toolschema"
)

// ToolDef describes a tool of the host. [NewTool] checks it.
type ToolDef struct {
	// Name is 1 to 64 characters of A-Z a-z 0-9 _ - and not the name of one of
	// the channel's tools.
	Name string
	// Title is what people read, optional.
	Title string
	// Description tells a model what the tool does and when to use it, 1 to
	// 4,096 bytes.
	Description string
	// InputSchema is the JSON Schema of the arguments, an object; {"type":
	// "object"} where it is empty. OutputSchema, optional, is that of
	// [Result.Structured]. Both are at most 64 KiB and refer to nothing outside.
	InputSchema, OutputSchema json.RawMessage
	// Annotations are hints for the client. Nil means the careful defaults of
	// the protocol: may change things, may destroy, not idempotent, open world.
	Annotations *mcp.ToolAnnotations
	// Timeout bounds one call, [Limits.Call] where it is zero.
	Timeout time.Duration
	// Handler answers a call.
	Handler Handler
}

// Handler answers a call whose arguments fit the input schema. It is called
// concurrently, ends with its context, and finds the run with [RunFromContext].
//
// An error tells the agent only that the tool failed, and to try once more where
// the tool is read-only or idempotent by its annotations; the first KiB of it is
// logged, without what can be recognized in it of the arguments: keep what the
// agent said out of errors all the same. To tell the agent something, return a
// [Result] with IsError, or a [channel.AgentError], whose text has the bound of
// results. An error that is [context.DeadlineExceeded] is a timeout, whoever set
// the deadline.
//
// An error that is [channel.ErrBlocked], such as a tool gets that asks a person
// through a [channel.Live], tells the agent that the tool has not done its work, to
// end its turn and that it will be resumed. It is no error for the agent, unless the
// tool has an output schema, which nothing that could be said then fits.
//
// A panic counts as an error. Its stack is logged, and what the runtime says of a
// panic of its own; of any other value only the type, since it can hold anything.
type Handler func(ctx context.Context, call Call) (Result, error)

// Call is one call of a tool.
type Call struct {
	// Tool is the tool's name.
	Tool string
	// Arguments is a JSON object that fits the input schema. No member of it
	// stands twice, and none has the name of a declared one in other letter
	// case, so that encoding/json reads what the schema has judged. Numbers were
	// judged as float64 has them.
	Arguments json.RawMessage

	value map[string]any // the same, decoded
	state *call
}

// Progress tells a client that asked for it how far the call is. total is 0
// where it is not known. It does nothing for a client that did not ask, and once
// the call has ended it returns the error of the call's context. It may be called
// concurrently.
func (c Call) Progress(ctx context.Context, done, total float64, message string) error {
	if c.state == nil || c.state.req == nil {
		return nil
	}
	if err := c.state.Err(); err != nil {
		return err
	}
	token := c.state.req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return c.state.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: done, Total: total, Message: message,
	})
}

// Result is what a tool answers.
type Result struct {
	// Text is what a model reads. If it is empty and Content too, it is the JSON
	// of Structured.
	Text string
	// Structured is marshaled to a JSON object; nil means none. It fits the output
	// schema of the tool, if there is one. In a result with IsError it may be
	// missing, and is left out where it does not fit.
	Structured any
	// Content is what Text cannot hold, such as images. It follows Text.
	Content []mcp.Content
	// IsError tells the agent that the tool did not do what it asked.
	IsError bool

	outcome Outcome // where it is not told by IsError
}

// Tool is a tool that was checked. It is immutable, safe for concurrent use,
// and made once for any number of grants. The zero Tool is none: [Registry.Mint]
// refuses it.
type Tool struct {
	wire    *mcp.Tool
	input   *toolschema.Schema
	output  *toolschema.Schema // nil for none
	timeout time.Duration      // 0 for the limit
	asks    bool               // bounded by Limits.Ask instead
	handler Handler
}

// Name returns the tool's name, "" where it was not made by [NewTool].
func (t *Tool) Name() string {
	if t == nil || t.wire == nil {
		return ""
	}
	return t.wire.Name
}

// NewTool checks a definition and compiles its schemas. The error matches
// [ErrTool].
func NewTool(def ToolDef) (*Tool, error) {
	if channelTool(def.Name) {
		return nil, fmt.Errorf("%w: %s is a tool of the channel", ErrTool, printable.Quote(def.Name))
	}
	return newTool(def)
}

func newTool(def ToolDef) (*Tool, error) {
	if !validToolName(def.Name) {
		return nil, fmt.Errorf("%w: the name %s is not 1 to 64 characters of A-Z a-z 0-9 _ -", ErrTool, printable.Quote(cut(def.Name, maxToolName)))
	}
	bad := func(what string) error { return fmt.Errorf("%w: %s %s", ErrTool, def.Name, what) }
	if n := len(def.Description); n == 0 || n > 4096 || !utf8.ValidString(def.Description) {
		return nil, bad("needs a description of 1 to 4,096 bytes of UTF-8")
	}
	if def.Handler == nil {
		return nil, bad("has no handler")
	}
	if def.Timeout < 0 {
		return nil, bad("has a negative timeout")
	}
	t := &Tool{
		wire: &mcp.Tool{
			Name: def.Name, Title: def.Title, Description: def.Description,
			Annotations: cloneAnnotations(def.Annotations),
		},
		timeout: def.Timeout,
		handler: def.Handler,
	}
	text := []byte(def.InputSchema)
	if len(text) == 0 {
		text = []byte(`{"type":"object"}`)
	}
	var err error
	if t.input, t.wire.InputSchema, err = parseSchema(text); err != nil {
		return nil, fmt.Errorf("%w: the input schema of %s: %w", ErrTool, def.Name, err)
	}
	if len(def.OutputSchema) > 0 {
		if t.output, t.wire.OutputSchema, err = parseSchema(def.OutputSchema); err != nil {
			return nil, fmt.Errorf("%w: the output schema of %s: %w", ErrTool, def.Name, err)
		}
	}
	return t, nil
}

func cloneAnnotations(a *mcp.ToolAnnotations) *mcp.ToolAnnotations {
	if a == nil {
		return nil
	}
	out := *a
	for _, hint := range []**bool{&out.DestructiveHint, &out.OpenWorldHint} {
		if *hint != nil {
			v := **hint
			*hint = &v
		}
	}
	return &out
}

// parseSchema returns the schema compiled, and as it is sent.
func parseSchema(text []byte) (*toolschema.Schema, json.RawMessage, error) {
	s, err := toolschema.Parse(text, toolschema.Limits{})
	if err != nil {
		return nil, nil, err
	}
	if err := s.Compile(); err != nil {
		return nil, nil, err
	}
	return s, append(json.RawMessage(nil), text...), nil
}

func validToolName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
