package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the suite calls. Names, texts and orders are those that its scenarios ask
// for.

var (
	anyObject = json.RawMessage(`{"type":"object"}`)

	// A picture of one pixel, and a sound of one sample.
	picture = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82")
	sound   = []byte("RIFF&\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00\x02\x00\x10\x00data\x02\x00\x00\x00\x00\x00")
)

func text(format string, args ...any) *mcp.TextContent {
	return &mcp.TextContent{Text: fmt.Sprintf(format, args...)}
}

func result(content ...mcp.Content) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: content}
}

func embedded(uri string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "An embedded text"}}
}

type toolFunc func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error)

// fixed is a tool that always gives the same.
func fixed(content ...mcp.Content) toolFunc {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return result(content...), nil
	}
}

func addTools(srv *mcp.Server) {
	add := func(name string, schema json.RawMessage, f toolFunc) {
		srv.AddTool(&mcp.Tool{Name: name, Description: "For the conformance suite: " + name, InputSchema: schema}, mcp.ToolHandler(f))
	}
	for name, f := range map[string]toolFunc{
		"test_simple_text":            fixed(text("A simple text.")),
		"test_image_content":          fixed(&mcp.ImageContent{Data: picture, MIMEType: "image/png"}),
		"test_audio_content":          fixed(&mcp.AudioContent{Data: sound, MIMEType: "audio/wav"}),
		"test_embedded_resource":      fixed(embedded("test://embedded-resource")),
		"test_multiple_content_types": fixed(text("A text"), &mcp.ImageContent{Data: picture, MIMEType: "image/png"}, embedded("test://mixed-content-resource")),
		"test_streaming_elicitation":  fixed(text("Nothing was asked.")),
		"test_tool_with_logging":      withLogging,
		"test_tool_with_progress":     withProgress,
		"test_logging_tool":           logsOnce,
		"test_error_handling": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("This tool always fails.")}}, nil
		},
		"test_sampling":                     sampling,
		"test_elicitation":                  elicitation,
		"test_elicitation_sep1034_defaults": elicit("Every kind of default", defaultsSchema),
		"test_elicitation_sep1330_enums":    elicit("Every kind of choice", enumsSchema),
		"test_reconnection":                 reconnection,
		"test_missing_capability":           missingCapability,
		"test_trigger_tool_change": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			srv.AddTool(&mcp.Tool{Name: "test_comes_and_goes", Description: "For the conformance suite", InputSchema: anyObject}, mcp.ToolHandler(fixed()))
			return result(text("The tools changed.")), nil
		},
		"test_trigger_prompt_change": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			srv.AddPrompt(&mcp.Prompt{Name: "test_comes_and_goes", Description: "For the conformance suite"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{}, nil
			})
			return result(text("The prompts changed.")), nil
		},
	} {
		add(name, anyObject, f)
	}
	add("json_schema_2020_12_tool", wideSchema, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return result(text("Called with %s", req.Params.Arguments)), nil
	})
	add("test_x_mcp_header", headerSchema, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return result(text("Called with %s", req.Params.Arguments)), nil
	})
	addRounds(add)
}

func withLogging(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for i, step := range []string{"started", "at work", "done"} {
		if i > 0 {
			pause(ctx, 50*time.Millisecond)
		}
		//lint:ignore SA1019 the suite checks it while it is supported
		if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "The tool is " + step}); err != nil {
			return nil, err
		}
	}
	return result(text("Three messages were logged.")), nil
}

func logsOnce(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	//lint:ignore SA1019 the suite checks it while it is supported
	if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "The tool was called"}); err != nil {
		return nil, err
	}
	return result(text("A message was logged, if the client wants it.")), nil
}

func withProgress(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	token := req.Params.GetProgressToken()
	for _, done := range []float64{0, 50, 100} {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: done, Total: 100, Message: fmt.Sprintf("%v of 100", done),
		})
		if err != nil {
			return nil, err
		}
		pause(ctx, 50*time.Millisecond)
	}
	return result(text("%v", token)), nil
}

// pause is for scenarios that look at what comes before the answer.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func sampling(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Prompt string `json:"prompt"`
	}
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, err
	}
	//lint:ignore SA1019 the suite checks it while it is supported
	res, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
		//lint:ignore SA1019 the suite checks it while it is supported
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: text("%s", in.Prompt)}},
		MaxTokens: 100,
	})
	if err != nil {
		return nil, err
	}
	said := "something that is no text"
	if t, ok := res.Content.(*mcp.TextContent); ok {
		said = t.Text
	}
	return result(text("LLM response: %s", said)), nil
}

func elicitation(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, err
	}
	return elicit(in.Message, object(map[string]any{"username": map[string]any{"type": "string"}}, "username"))(ctx, req)
}

// elicit is a tool that asks the user in the protocol of before 2026-07-28.
func elicit(message string, schema any) toolFunc {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: schema})
		if err != nil {
			return nil, err
		}
		content, err := json.Marshal(res.Content)
		if err != nil {
			return nil, err
		}
		return result(text("Elicitation result: action=%s, content=%s", res.Action, content)), nil
	}
}

// reconnection answers on another connection than the one it was asked on.
func reconnection(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Extra != nil && req.Extra.CloseSSEStream != nil {
		req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
	}
	pause(ctx, 100*time.Millisecond)
	return result(text("The answer, after the connection was closed.")), nil
}

func missingCapability(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	//lint:ignore SA1019 the suite checks it while it is supported
	if caps := req.ClientCapabilities(); caps != nil && caps.Sampling != nil {
		return result(text("The client has it.")), nil
	}
	data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
		//lint:ignore SA1019 the suite checks it while it is supported
		RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}},
	})
	if err != nil {
		return nil, errors.New("the answer cannot be made")
	}
	return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client has not announced sampling", Data: data}
}

func object(properties map[string]any, required ...string) map[string]any {
	out := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

var defaultsSchema = object(map[string]any{
	"name":     map[string]any{"type": "string", "default": "John Doe"},
	"age":      map[string]any{"type": "integer", "default": 30},
	"score":    map[string]any{"type": "number", "default": 95.5},
	"status":   map[string]any{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
	"verified": map[string]any{"type": "boolean", "default": true},
})

var enumsSchema = func() map[string]any {
	plain := []string{"option1", "option2", "option3"}
	titled := []map[string]any{
		{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"},
	}
	return object(map[string]any{
		"untitledSingle": map[string]any{"type": "string", "enum": plain},
		"titledSingle":   map[string]any{"type": "string", "oneOf": titled},
		"legacyEnum":     map[string]any{"type": "string", "enum": []string{"opt1", "opt2", "opt3"}, "enumNames": []string{"Option One", "Option Two", "Option Three"}},
		"untitledMulti":  map[string]any{"type": "array", "minItems": 1, "maxItems": 3, "items": map[string]any{"type": "string", "enum": plain}},
		"titledMulti":    map[string]any{"type": "array", "minItems": 1, "maxItems": 3, "items": map[string]any{"type": "string", "anyOf": titled}},
	})
}()

// wideSchema uses what JSON Schema 2020-12 has beyond older drafts.
var wideSchema = json.RawMessage(`{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {
		"address": {
			"$anchor": "addressDef",
			"type": "object",
			"properties": {"street": {"type": "string"}, "city": {"type": "string"}}
		}
	},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`)

// headerSchema mirrors an argument in a header.
var headerSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"region": {"type": "string", "x-mcp-header": "Region"},
		"level": {"type": "integer"}
	}
}`)
