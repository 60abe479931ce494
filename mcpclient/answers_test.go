package mcpclient

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestHandlersThatFail: whatever the host's handlers do, the client lives on and
// the server learns nothing of it.
func TestHandlersThatFail(t *testing.T) { // [R14] [Q1]
	type elicit = func(context.Context, ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error)
	for name, handler := range map[string]elicit{
		"nothing": func(context.Context, ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, nil },
		"an error": func(context.Context, ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return nil, errors.New("s3cret")
		},
		"a panic": func(context.Context, ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error) { panic("s3cret") },
	} {
		t.Run(name, func(t *testing.T) {
			srv := newEcho()
			heard := make(chan error, 3)
			srv.AddTool(&mcp.Tool{Name: "ask", InputSchema: anyObject}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?"})
				heard <- err
				_, err = req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
				heard <- err
				_, err = req.Session.ListRoots(ctx, nil)
				heard <- err
				return &mcp.CallToolResult{}, nil
			})
			var m memory
			m.set("s", func(context.Context) (*mcp.Server, error) { return srv, nil })
			h := newMemoryHost(t, &m, HostOptions{Options: Options{Handlers: Handlers{
				Elicit: handler,
				Sample: func(ctx context.Context, id ServerID, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
					_, err := handler(ctx, id, nil)
					return nil, err
				},
				Roots: func(ctx context.Context, id ServerID) ([]*mcp.Root, error) {
					if _, err := handler(ctx, id, nil); err != nil {
						return nil, err
					}
					return nil, errors.New("s3cret")
				},
			}}})
			if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
				t.Fatal(err)
			}
			if err := h.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Call(t.Context(), "mcp__p__s__ask", nil, CallOptions{}); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := <-heard; err == nil || !strings.HasSuffix(err.Error(), "the client failed to answer") {
					t.Errorf("the server heard: %v", err)
				}
			}
		})
	}
}
