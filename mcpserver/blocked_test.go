package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// errBlockedTool is what a tool returns that asks somebody who has no time.
var errBlockedTool = fmt.Errorf("asking: %w", &channel.BlockedError{Question: channel.Question{ID: "q1", Text: "May it?"}})

const posted = `{"type":"object","properties":{"posted":{"type":"boolean"}},"required":["posted"],"additionalProperties":false}`

// TestBlockedTool: a tool that asks somebody ends the turn as ask_user does, and
// what the agent gets never breaks the tool's output schema, which clients judge.
// [Q3]
func TestBlockedTool(t *testing.T) {
	handler := func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
		return mcpserver.Result{}, errBlockedTool
	}
	own := func(name, output string) *mcpserver.Tool {
		tool, err := mcpserver.NewTool(mcpserver.ToolDef{Name: name, Description: "Posts.", OutputSchema: json.RawMessage(output), Handler: handler})
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	plain, strict := declared("plain", "Posts."), declared("strict", "Posts.")
	strict.OutputSchema = json.RawMessage(posted)
	p := plug(t, mcpserver.Options{}, plain, strict)
	p.plugin.invoke = func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) {
		return mcpserver.Result{}, errBlockedTool
	}
	for _, era := range eras {
		cs := p.connect(t, p.mint(t, mcpserver.Grant{
			Identity: mcpserver.Identity{Task: t.Name(), Surface: "chat"},
			Tools:    []*mcpserver.Tool{own("own_plain", ""), own("own_strict", posted)},
			Configure: func(s *mcp.Server) {
				s.AddTool(&mcp.Tool{Name: "sdk", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(posted)},
					func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, errBlockedTool })
			},
		}).Token.Reveal(), era, nil)
		for name, isError := range map[string]bool{"own_plain": false, "own_strict": true, "plugin_p_plain": false, "plugin_p_strict": true, "sdk": true} {
			res := call(t, cs, name, args{})
			if !strings.Contains(text(res), "End your turn now") || strings.Contains(text(res), "Your question") || res.IsError != isError {
				t.Errorf("%s %s: %v %q", era, name, res.IsError, text(res))
			}
			if isError && res.StructuredContent != nil {
				t.Errorf("%s %s: %v breaks the output schema", era, name, res.StructuredContent)
			}
			if ev := p.event(t, mcpserver.EventCall); ev.Outcome != mcpserver.OutcomeBlocked {
				t.Errorf("%s %s: %+v", era, name, ev)
			}
		}
	}
}

// TestErrorResultFits: the structured part of a result that is an error is left out
// where it does not fit the output schema, since a client would read nothing of the
// result then, and stays where it does.
func TestErrorResultFits(t *testing.T) {
	for _, tt := range []struct {
		structured any
		kept       bool
	}{{args{"why": "late"}, false}, {args{"posted": false}, true}} {
		tool, err := mcpserver.NewTool(mcpserver.ToolDef{Name: "post", Description: "Posts.", OutputSchema: json.RawMessage(posted),
			Handler: func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
				return mcpserver.Result{Structured: tt.structured, IsError: true}, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		h := serve(t, mcpserver.Options{})
		cs := h.connect(t, h.mint(t, mcpserver.Grant{Tools: []*mcpserver.Tool{tool}}).Token.Reveal(), stateless, nil)
		res := call(t, cs, "post", nil)
		if !res.IsError || text(res) == "" || (res.StructuredContent != nil) != tt.kept {
			t.Errorf("%v: %q %v", tt.structured, text(res), res.StructuredContent)
		}
	}
}

// TestOnceMore: only a tool that says that it is read-only or idempotent is to be
// called again after a failure of which nothing is known.
func TestOnceMore(t *testing.T) {
	tool := func(name string, a *mcp.ToolAnnotations) *mcpserver.Tool {
		made, err := mcpserver.NewTool(mcpserver.ToolDef{Name: name, Description: "d", Annotations: a,
			Handler: func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
				return mcpserver.Result{}, errors.New("no")
			}})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	declare := func(name string, a catalog.Annotations) catalog.Tool {
		d := declared(name, "d")
		d.Annotations = a
		return d
	}
	p := plug(t, mcpserver.Options{}, declare("plain", catalog.Annotations{}), declare("reads", catalog.Annotations{ReadOnly: true}), declare("repeats", catalog.Annotations{Idempotent: true}))
	p.plugin.invoke = func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) { panic("no") }
	cs := p.connect(t, p.mint(t, mcpserver.Grant{
		Identity: mcpserver.Identity{Task: t.Name(), Surface: "chat"},
		Tools: []*mcpserver.Tool{tool("none", nil), tool("plain", &mcp.ToolAnnotations{Title: "x"}),
			tool("reads", &mcp.ToolAnnotations{ReadOnlyHint: true}), tool("repeats", &mcp.ToolAnnotations{IdempotentHint: true})},
	}).Token.Reveal(), stateless, nil)
	for name, again := range map[string]bool{
		"none": false, "plain": false, "reads": true, "repeats": true,
		"plugin_p_plain": false, "plugin_p_reads": true, "plugin_p_repeats": true,
	} {
		res := call(t, cs, name, args{})
		if !res.IsError || strings.Contains(text(res), "try once more") != again || !strings.Contains(text(res), "failed on the host's side") {
			t.Errorf("%s: %q", name, text(res))
		}
	}
}

// TestOwnDeadline: a deadline that a handler or an invoker sets itself is a timeout
// as that of the limits is.
func TestOwnDeadline(t *testing.T) {
	wait := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		<-ctx.Done()
		return fmt.Errorf("waiting: %w", ctx.Err())
	}
	own, err := mcpserver.NewTool(mcpserver.ToolDef{Name: "own", Description: "d",
		Handler: func(ctx context.Context, _ mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{}, wait(ctx)
		}})
	if err != nil {
		t.Fatal(err)
	}
	p := plug(t, mcpserver.Options{}, declared("do", "d"))
	p.plugin.invoke = func(ctx context.Context, _ mcpserver.Invocation) (mcpserver.Result, error) {
		return mcpserver.Result{}, wait(ctx)
	}
	cs := p.connect(t, p.mint(t, mcpserver.Grant{
		Identity: mcpserver.Identity{Task: t.Name(), Surface: "chat"}, Tools: []*mcpserver.Tool{own},
	}).Token.Reveal(), stateless, nil)
	for _, name := range []string{"own", "plugin_p_do"} {
		if res := call(t, cs, name, args{}); !strings.Contains(text(res), "did not finish in time") {
			t.Errorf("%s: %q", name, text(res))
		}
		ev := p.event(t, mcpserver.EventCall)
		if ev.Outcome != mcpserver.OutcomeTimeout || !errors.Is(ev.Err, context.DeadlineExceeded) || !strings.Contains(p.logged.String(), "waiting: context deadline exceeded") {
			t.Errorf("%s: %+v", name, ev)
		}
	}
}
