package mcpclient

//lint:file-ignore SA1019 roots, sampling and logging work in the protocol until they are removed from it

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connectNewest connects to a server over the newest protocol.
func connectNewest(t *testing.T, srv *mcp.Server, opts Options) *Session {
	t.Helper()
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	opts.Egress = DesktopEgress()
	p := loadServers(t, map[string]any{"s": map[string]any{"type": "streamable-http", "url": localhost(ts)}})
	s, err := Connect(t.Context(), p, one, "s", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if v := s.Info().ProtocolVersion; v != "2026-07-28" {
		t.Fatalf("version %s", v)
	}
	return s
}

// asks is a server whose one tool wants the questions answered and says what it
// got.
func asks(questions func(round int) mcp.InputRequestMap) *mcp.Server {
	srv := newEcho()
	var rounds atomic.Int32
	srv.AddTool(&mcp.Tool{Name: "ask", InputSchema: anyObject}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		round := int(rounds.Add(1))
		if m := questions(round); m != nil {
			return &mcp.CallToolResult{InputRequests: m, RequestState: fmt.Sprint("state ", round)}, nil
		}
		text, err := json.Marshal(req.Params.InputResponses)
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: req.Params.RequestState + string(text)}}}, nil
	})
	return srv
}

func once(m mcp.InputRequestMap) func(int) mcp.InputRequestMap {
	return func(round int) mcp.InputRequestMap {
		if round > 1 {
			return nil
		}
		return m
	}
}

// TestServerAsksWithinCall: what a server of the newest protocol asks within a
// call gets the host's answers, or the protocol's refusal.
func TestServerAsksWithinCall(t *testing.T) { // [R14]
	all := mcp.InputRequestMap{
		"e": &mcp.ElicitParams{Message: "name?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}},
		"s": &mcp.CreateMessageParams{MaxTokens: 1, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "hello"}}}},
		"r": &mcp.ListRootsParams{},
	}
	s := connectNewest(t, asks(once(all)), Options{Handlers: Handlers{
		Elicit: func(_ context.Context, _ ServerID, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": p.Message}}, nil
		},
		Sample: func(_ context.Context, id ServerID, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: id.Plugin, Role: "assistant", Content: &mcp.TextContent{Text: "x"}}, nil
		},
		Roots: func(_ context.Context, id ServerID) ([]*mcp.Root, error) {
			return []*mcp.Root{{URI: "file:///" + id.Server}}, nil
		},
	}})
	res, err := s.CallTool(t.Context(), "ask", nil, CallOptions{})
	got := textOf(t, res, err)
	for _, want := range []string{"state 1", `"name":"name?"`, `"model":"p"`, `"uri":"file:///s"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}

	srv := newEcho()
	srv.AddPrompt(&mcp.Prompt{Name: "p"}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if req.Params.InputResponses == nil {
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"r": all["r"]}, RequestState: "here"}, nil
		}
		return &mcp.GetPromptResult{Description: req.Params.RequestState}, nil
	})
	srv.AddResource(&mcp.Resource{Name: "r", URI: "test:r"}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if req.Params.InputResponses == nil {
			return &mcp.ReadResourceResult{InputRequests: mcp.InputRequestMap{"r": all["r"]}, RequestState: "there"}, nil
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test:r", Text: req.Params.RequestState}}}, nil
	})
	s = connectNewest(t, srv, Options{Handlers: Handlers{Roots: func(context.Context, ServerID) ([]*mcp.Root, error) { return nil, nil }}})
	if res, err := s.MCP().GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "p"}); err != nil || res.Description != "here" {
		t.Errorf("a prompt: %v, %v", res, err)
	}
	if res, err := s.MCP().ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test:r"}); err != nil || len(res.Contents) != 1 || res.Contents[0].Text != "there" {
		t.Errorf("a resource: %v, %v", res, err)
	}

	for id, method := range map[string]string{"e": "elicitation/create", "s": "sampling/createMessage", "r": "roots/list"} {
		s := connectNewest(t, asks(once(mcp.InputRequestMap{id: all[id]})), Options{})
		_, err := s.CallTool(t.Context(), "ask", nil, CallOptions{})
		want := "mcpclient: the server asked for " + method + " within the call: this client does not offer " + method
		if !errors.Is(err, ErrServer) || err.Error() != want {
			t.Errorf("without a handler: %v", err)
		}
		if s.Err() != nil {
			t.Errorf("the session ended: %v", s.Err())
		}
	}
}

// TestRoundsAreBounded: a server cannot ask for ever, nor for too much at once,
// nor longer than the call may take.
func TestRoundsAreBounded(t *testing.T) { // [R9] [R14]
	question := &mcp.ElicitParams{Message: "?"}
	var asked atomic.Int32
	opts := Options{Handlers: Handlers{Elicit: func(context.Context, ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		asked.Add(1)
		return &mcp.ElicitResult{Action: "decline"}, nil
	}}}
	s := connectNewest(t, asks(func(int) mcp.InputRequestMap { return mcp.InputRequestMap{"a": question} }), opts)
	if _, err := s.CallTool(t.Context(), "ask", nil, CallOptions{}); !errors.Is(err, ErrServer) || asked.Load() != maxRounds-1 {
		t.Errorf("for ever: %v, after %d questions", err, asked.Load())
	}
	many := mcp.InputRequestMap{}
	for i := range maxAsked + 1 {
		many[fmt.Sprint(i)] = question
	}
	asked.Store(0)
	s = connectNewest(t, asks(once(many)), opts)
	if _, err := s.CallTool(t.Context(), "ask", nil, CallOptions{}); !errors.Is(err, ErrLimit) || asked.Load() != 0 {
		t.Errorf("at once: %v, after %d questions", err, asked.Load())
	}
	opts.Handlers.Elicit = func(ctx context.Context, _ ServerID, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s = connectNewest(t, asks(once(mcp.InputRequestMap{"a": question})), opts)
	if _, err := s.CallTool(t.Context(), "ask", nil, CallOptions{Timeout: 200 * time.Millisecond}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody answers: %v", err)
	}
}

// TestListsAreNotKept: a list that was asked for is the server's own, however
// long it says that the one before holds.
func TestListsAreNotKept(t *testing.T) { // [R11]
	srv := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, &mcp.ServerOptions{
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs = 3_600_000 },
	})
	addEcho(srv, "a")
	s := connectNewest(t, srv, Options{})
	list := func(want string) {
		t.Helper()
		tools, _, err := s.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Local)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("tools %q, want %q", got, want)
		}
	}
	list("a")
	srv.RemoveTools("a")
	addEcho(srv, "b")
	list("b")
}
