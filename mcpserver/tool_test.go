package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/mcpserver"
)

// echo is a tool of the host that says what it got and from whom.
func echo(t testing.TB, name string) *mcpserver.Tool {
	t.Helper()
	tool, err := mcpserver.NewTool(mcpserver.ToolDef{
		Name:         name,
		Description:  "Says what it got.",
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":10}},"required":["text"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
		Handler: func(ctx context.Context, call mcpserver.Call) (mcpserver.Result, error) {
			var in struct{ Text string }
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return mcpserver.Result{}, err
			}
			who, _ := mcpserver.RunFromContext(ctx)
			return mcpserver.Result{Structured: map[string]string{"text": in.Text, "task": who.Identity.Task}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// custom is a tool with the given handler and no arguments.
func custom(t testing.TB, name string, h mcpserver.Handler) *mcpserver.Tool {
	t.Helper()
	tool, err := mcpserver.NewTool(mcpserver.ToolDef{Name: name, Description: "A test.", Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// TestNewTool: what cannot be offered is refused when it is made. [K1]
func TestNewTool(t *testing.T) {
	ok := mcpserver.ToolDef{
		Name: "a_tool-1", Description: "Does something.",
		Handler: func(context.Context, mcpserver.Call) (mcpserver.Result, error) { return mcpserver.Result{}, nil },
	}
	if tool, err := mcpserver.NewTool(ok); err != nil || tool.Name() != "a_tool-1" {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*mcpserver.ToolDef){
		"no name":                    func(d *mcpserver.ToolDef) { d.Name = "" },
		"a name with a dot":          func(d *mcpserver.ToolDef) { d.Name = "a.b" },
		"a long name":                func(d *mcpserver.ToolDef) { d.Name = strings.Repeat("a", 65) },
		"a name of the channel":      func(d *mcpserver.ToolDef) { d.Name = "ask_user" },
		"no description":             func(d *mcpserver.ToolDef) { d.Description = "" },
		"a long description":         func(d *mcpserver.ToolDef) { d.Description = strings.Repeat("a", 4097) },
		"no handler":                 func(d *mcpserver.ToolDef) { d.Handler = nil },
		"a negative timeout":         func(d *mcpserver.ToolDef) { d.Timeout = -1 },
		"a schema that is no object": func(d *mcpserver.ToolDef) { d.InputSchema = json.RawMessage(`{"type":"string"}`) },
		"a schema that is no JSON":   func(d *mcpserver.ToolDef) { d.InputSchema = json.RawMessage(`{`) },
		"a schema that leads out": func(d *mcpserver.ToolDef) {
			d.InputSchema = json.RawMessage(`{"type":"object","$ref":"file:///etc/passwd"}`)
		},
		"a bad output schema": func(d *mcpserver.ToolDef) { d.OutputSchema = json.RawMessage(`{"type":"array"}`) },
		"a large schema": func(d *mcpserver.ToolDef) {
			d.InputSchema = json.RawMessage(`{"type":"object","x":"` + strings.Repeat("a", 70_000) + `"}`)
		},
	} {
		d := ok
		change(&d)
		if _, err := mcpserver.NewTool(d); !errors.Is(err, mcpserver.ErrTool) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Who wrote it is told what is wrong, and where.
	for want, change := range map[string]func(*mcpserver.ToolDef){
		`"a.b"`:                       func(d *mcpserver.ToolDef) { d.Name = "a.b" },
		`at byte 18`:                  func(d *mcpserver.ToolDef) { d.InputSchema = json.RawMessage(`{"type":"object",}`) },
		`a_tool-1: the schema cannot`: func(d *mcpserver.ToolDef) { d.InputSchema = json.RawMessage(`{"type":"object","required":1}`) },
		`"/properties/a/pattern" is no`: func(d *mcpserver.ToolDef) {
			d.OutputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"pattern":"("}}}`)
		},
		`its type is missing and has to be`: func(d *mcpserver.ToolDef) { d.OutputSchema = json.RawMessage(`{}`) },
	} {
		d := ok
		change(&d)
		if _, err := mcpserver.NewTool(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
