package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agent is a client with the token of a run.
type agent struct {
	token   string
	http    *http.Client
	session *mcp.ClientSession
}

// bearer adds the token to each request.
type bearer struct {
	token string
	next  *http.Transport
}

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(req)
}

// connect connects with the protocol that has sessions: the newer one has none
// that somebody could take over.
func connect(ctx context.Context, url, token string) (*agent, error) {
	a := &agent{token: token, http: &http.Client{Transport: bearer{token, &http.Transport{}}}}
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil)
	var err error
	a.session, err = client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: a.http},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	return a, err
}

func (a *agent) close() {
	_ = a.session.Close()
	a.http.Transport.(bearer).next.CloseIdleConnections()
}

// tools returns the names of the tools that the agent sees.
func (a *agent) tools(ctx context.Context) ([]string, error) {
	var names []string
	for tool, err := range a.session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names, nil
}

// call returns the answer of a tool as the agent reads it.
func (a *agent) call(ctx context.Context, tool, arguments string) (string, error) {
	res, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		return "error: " + rpc.Message, nil
	}
	if err != nil {
		return "", err
	}
	var text strings.Builder
	if res.IsError {
		text.WriteString("refused: ")
	}
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	return text.String(), nil
}

// attempt sends a request of the agent's own making and returns the HTTP status.
func (a *agent) attempt(ctx context.Context, url, session string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Session-Id", session)
	req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	resp, err := a.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}
