package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/mcpserver"
)

// agent is a client that listens for changes of its list of tools.
type agent struct {
	session *mcp.ClientSession
	changed chan struct{}
	tools   map[string]string // what it saw last: name and description
}

// bearer adds the token to each request.
type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(req)
}

func connect(ctx context.Context, url, token string) (*agent, error) {
	a := &agent{changed: make(chan struct{}, 100)}
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { a.changed <- struct{}{} },
	})
	var err error
	a.session, err = client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)},
	}, nil)
	return a, err
}

func (a *agent) close() { _ = a.session.Close() }

// story prints what happens. After an error it does nothing more.
type story struct {
	ctx   context.Context
	out   io.Writer
	agent *agent
	err   error
}

func (s *story) say(text string) { s.printf("%s\n", text) }

func (s *story) printf(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.out, format, args...)
	}
}

func (s *story) do(err error) {
	if s.err == nil {
		s.err = err
	}
}

// told waits until the agent is told that its list changed, and shows how.
func (s *story) told() {
	if s.err != nil {
		return
	}
	select {
	case <-s.agent.changed:
		s.say("  the agent is told that its tools changed")
		s.look()
	case <-s.ctx.Done():
		s.err = s.ctx.Err()
	}
}

// look lists the tools and shows what differs from the last time.
func (s *story) look() {
	if s.err != nil {
		return
	}
	list, err := s.agent.session.ListTools(s.ctx, nil)
	if err != nil {
		s.err = err
		return
	}
	now := map[string]string{}
	for _, tool := range list.Tools {
		now[tool.Name] = tool.Description
	}
	was := s.agent.tools
	s.agent.tools = now
	about, _ := list.Meta[mcpserver.MetaCatalog].(map[string]any)
	s.printf("  it sees %d tools, revision %v\n", len(now), about["revision"])
	names := slices.Concat(slices.Collect(maps.Keys(was)), slices.Collect(maps.Keys(now)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		old, had := was[name]
		description, has := now[name]
		switch {
		case !had:
			s.printf("  + %s: %s\n", name, description)
		case !has:
			s.printf("  - %s\n", name)
		case old != description:
			s.printf("  ~ %s: %s\n", name, description)
		}
	}
}

// call makes a call and shows the answer.
func (s *story) call(tool, arguments string) { s.finish(s.start(tool, arguments)) }

// start makes a call beside the story.
func (s *story) start(tool, arguments string) <-chan string {
	answer := make(chan string, 1)
	s.printf("  > %s %s\n", tool, arguments)
	if s.err != nil {
		return answer
	}
	go func() {
		res, err := s.agent.session.CallTool(s.ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
		answer <- shown(res, err)
	}()
	return answer
}

func (s *story) finish(answer <-chan string) {
	if s.err != nil {
		return
	}
	select {
	case text := <-answer:
		s.printf("  < %s\n", text)
	case <-s.ctx.Done():
		s.err = s.ctx.Err()
	}
}

// shown is an answer in one line.
func shown(res *mcp.CallToolResult, err error) string {
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		return "error: " + rpc.Message
	}
	if err != nil {
		return "error: " + err.Error()
	}
	text := ""
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	if res.IsError {
		return "refused: " + text
	}
	return text
}
