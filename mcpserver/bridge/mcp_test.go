package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/bridge"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

func onChat(mcpclient.Tool) []string { return []string{"chat"} }

func bridgeMCP(t testing.TB, e *endpoint, h *mcpclient.Host) *bridge.MCP {
	t.Helper()
	m, err := bridge.NewMCP(h, e.catalog, bridge.MCPOptions{Surfaces: onChat})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	e.invokers.SetSource(bridge.SourceMCP, m)
	return m
}

// TestMCP: the tools of servers reach an agent with the names that the client
// host gives them, with all that they say of themselves, more of them than a
// plugin can declare; calls go through and come back whole; what servers and host
// change is followed; Close takes all away. [K8] [R10]
func TestMCP(t *testing.T) {
	e := newEndpoint(t)
	srv, other := newServer(t), newServer(t)
	no := false
	srv.tool(&mcp.Tool{
		Name: "read file", Title: "Read", Description: strings.Repeat("Reads. ", 1000), // 7,000 bytes
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no},
	}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Content: []mcp.Content{
				&mcp.TextContent{Text: string(req.Params.Arguments)},
				&mcp.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"},
			},
			StructuredContent: map[string]any{"n": 7},
		}, nil
	})
	srv.tool(&mcp.Tool{Name: "fails"}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no luck"}}}, nil
	})
	for i := range 40 {
		other.tool(&mcp.Tool{Name: fmt.Sprintf("tool%02d", i)}, nil)
	}
	clients := newClients(t, mcpclient.HostOptions{})
	add(t, clients, loadPlugin(t, "demo", map[string]*server{"files": srv}))
	m := bridgeMCP(t, e, clients)
	many := add(t, clients, loadPlugin(t, "many", map[string]*server{"x": other}))
	m.Sync()

	tools := e.tools(t)
	if len(tools) != 42 || len(m.Problems()) > 0 {
		t.Fatalf("%d tools; %v", len(tools), m.Problems())
	}
	read := mcpclient.ToolName("demo", "files", "read file")
	tool := tools[read]
	if tool == nil || tool.Title != "Read" || len(tool.Description) < 6999 || tool.OutputSchema == nil ||
		!tool.Annotations.ReadOnlyHint || *tool.Annotations.DestructiveHint || tool.Annotations.IdempotentHint || !*tool.Annotations.OpenWorldHint {
		t.Errorf("%+v", tool)
	}
	if tool := tools["mcp__many__x__tool07"]; tool == nil || tool.Description != "" || !*tool.Annotations.DestructiveHint {
		t.Errorf("%+v", tool)
	}
	res, text := e.call(read, args{"path": "a"})
	if res == nil || text != `{"path":"a"}` || len(res.Content) != 2 || fmt.Sprint(res.StructuredContent) != "map[n:7]" || res.IsError {
		t.Errorf("%+v %s", res, text)
	}
	if res, text := e.call("mcp__demo__files__fails", nil); res == nil || !res.IsError || text != "no luck" {
		t.Errorf("%+v %s", res, text)
	}
	// The schema is judged here, before the server hears of it.
	before := srv.calls.Load()
	if res, text := e.call(read, args{"path": 1}); res == nil || !res.IsError || srv.calls.Load() != before {
		t.Errorf("%s", text)
	}

	// A server changes its list, and the agent is told.
	told := e.notified.Load()
	srv.RemoveTools("fails")
	eventually(t, "a tool of the server goes", func() bool { return e.tools(t)["mcp__demo__files__fails"] == nil })
	eventually(t, "the agent is told", func() bool { return e.notified.Load() > told })
	if res, text := e.call("mcp__demo__files__fails", nil); res != nil || !strings.Contains(text, "unknown tool") {
		t.Error(text)
	}
	srv.tool(&mcp.Tool{Name: "new", Description: "One."}, nil)
	eventually(t, "a tool comes", func() bool { return e.tools(t)["mcp__demo__files__new"] != nil })
	srv.tool(&mcp.Tool{Name: "new", Description: "Two."}, nil)
	eventually(t, "a tool changes", func() bool { return e.tools(t)["mcp__demo__files__new"].Description == "Two." })

	// The catalog suspends the plugin with all that it has.
	e.catalog.Suspend("demo")
	if n := len(e.tools(t)); n != 40 {
		t.Errorf("%d tools while a plugin is suspended", n)
	}
	e.catalog.Resume("demo")

	clients.Remove(many)
	eventually(t, "a plugin goes", func() bool { return len(e.tools(t)) == 2 })
	m.Close()
	if got := e.names(t); got != "" {
		t.Errorf("after Close: %s", got)
	}
	m.Close()
	m.Sync()
	if e.catalog.Snapshot().Len() > 0 {
		t.Error("a closed bridge offers tools")
	}
	buf := make([]byte, 1<<20)
	if strings.Contains(string(buf[:runtime.Stack(buf, true)]), "bridge.(*MCP).follow") {
		t.Error("a closed bridge follows its host")
	}
}

// TestMCPProblems: what does not fit the catalog's bounds is left out whole and
// reported, and keeps nothing else back; a name that another tool has is offered
// once it is free. [K8]
func TestMCPProblems(t *testing.T) {
	e := newEndpoint(t)
	srv := newServer(t)
	srv.tool(&mcp.Tool{Name: "good"}, nil)
	srv.tool(&mcp.Tool{Name: "wordy", Description: strings.Repeat("x", 17<<10)}, nil)
	srv.tool(&mcp.Tool{Name: "title", Title: strings.Repeat("x", 300)}, nil)
	srv.tool(&mcp.Tool{Name: "regexp", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"(?!x)"}}}`)}, nil)
	srv.tool(&mcp.Tool{Name: "surface"}, nil)
	srv.tool(&mcp.Tool{Name: "nowhere"}, nil)
	srv.tool(&mcp.Tool{Name: "taken"}, nil)
	taken := catalog.Tool{Name: "mcp__demo__s__taken", InputSchema: json.RawMessage(`{"type":"object"}`), Surfaces: []string{"chat"}}
	if err := e.catalog.Bridge("other", "", taken); err != nil {
		t.Fatal(err)
	}
	clients := newClients(t, mcpclient.HostOptions{Options: mcpclient.Options{Limits: mcpclient.Limits{Description: 64 << 10}}})
	add(t, clients, loadPlugin(t, "demo", map[string]*server{"s": srv}))
	m, err := bridge.NewMCP(clients, e.catalog, bridge.MCPOptions{Surfaces: func(t mcpclient.Tool) []string {
		switch t.Local {
		case "surface":
			return []string{"no\nsurface"}
		case "nowhere":
			return nil
		}
		return []string{"chat"}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got := e.names(t); got != "mcp__demo__s__good mcp__demo__s__taken" {
		t.Errorf("%s", got)
	}
	got := map[string]string{}
	for _, p := range m.Problems() {
		if p.Plugin != "demo" {
			t.Errorf("%+v", p)
		}
		got[p.Name] = p.Reason
	}
	for name, want := range map[string]string{
		"wordy": "16384 bytes", "title": "256 bytes", "regexp": "input schema", "surface": "a surface", "taken": "is a tool of plugin",
	} {
		if !strings.Contains(got["mcp__demo__s__"+name], want) {
			t.Errorf("%s: %q", name, got["mcp__demo__s__"+name])
		}
	}
	if len(got) != 5 {
		t.Errorf("%q", got)
	}
	if err := e.catalog.Bridge("other", ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the name is free and used", func() bool {
		entry, ok := e.catalog.Snapshot().Lookup("mcp__demo__s__taken")
		return ok && entry.Plugin == "demo" && len(m.Problems()) == 4
	})
	if _, err := bridge.NewMCP(clients, e.catalog, bridge.MCPOptions{}); err == nil {
		t.Error("a bridge without a choice of surfaces")
	}
}

// TestMCPErrors: a call is sent at most once, and what went wrong is told without
// details of the host. A tool that is another than the one that was shown is not
// called. [K5] [K8]
func TestMCPErrors(t *testing.T) {
	e := newEndpoint(t)
	srv := newServer(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) }) // before the server ends, which waits
	srv.tool(&mcp.Tool{Name: "rpc"}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32602, Message: "no such row\u202e " + strings.Repeat("y", 5000)}
	})
	srv.tool(&mcp.Tool{Name: "dies"}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		go srv.http.CloseClientConnections()
		<-release
		return &mcp.CallToolResult{}, nil
	})
	srv.tool(&mcp.Tool{Name: "broken", OutputSchema: json.RawMessage(`{"type":"object","required":["n"]}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: map[string]any{"private": 1}}, nil
		})
	clients := newClients(t, mcpclient.HostOptions{Options: mcpclient.Options{CallTimeout: 2e9}})
	instance := add(t, clients, loadPlugin(t, "demo", map[string]*server{"s": srv}))
	m := bridgeMCP(t, e, clients)
	for _, tt := range []struct {
		tool  string
		says  string
		calls int64
	}{
		{"rpc", "answered with error -32602: no such row y", 1},
		{"broken", "failed on the host's side", 1},
		{"dies", "failed on the host's side", 1},
	} {
		before := srv.calls.Load()
		res, text := e.call("mcp__demo__s__"+tt.tool, nil)
		if res == nil || !res.IsError || !strings.Contains(text, tt.says) || len(text) > 1200 ||
			strings.Contains(text, "localhost") || strings.Contains(text, "private") || strings.ContainsRune(text, '\u202e') {
			t.Errorf("%s: %s", tt.tool, text)
		}
		if n := srv.calls.Load() - before; n != tt.calls {
			t.Errorf("%s: %d calls", tt.tool, n)
		}
	}

	// What the bridge itself refuses, asked directly.
	entry, _ := e.catalog.Snapshot().Lookup("mcp__demo__s__rpc")
	before := srv.calls.Load()
	clients.Remove(instance)
	_, err := m.Invoke(t.Context(), mcpserver.Invocation{Tool: entry, Arguments: json.RawMessage(`{}`)})
	if text, ok := channel.AgentText(err); !ok || !strings.Contains(text, "has changed or is gone") || !errors.Is(err, mcpclient.ErrUnknownTool) {
		t.Errorf("a tool that is gone: %v", err)
	}
	changed := newServer(t)
	changed.tool(&mcp.Tool{Name: "rpc", Description: "Another."}, nil)
	m.Close() // it does not learn of what follows
	add(t, clients, loadPlugin(t, "demo", map[string]*server{"s": changed}))
	_, err = m.Invoke(t.Context(), mcpserver.Invocation{Tool: entry, Arguments: json.RawMessage(`{}`)})
	if text, ok := channel.AgentText(err); !ok || !strings.Contains(text, "has changed") {
		t.Errorf("a tool that has changed: %v", err)
	}
	if srv.calls.Load() != before || changed.calls.Load() != 0 {
		t.Error("it was called")
	}
}

// TestMCPUnreachable: a server that cannot be reached is said to be so, and that
// nothing was sent. [K8]
func TestMCPUnreachable(t *testing.T) {
	e := newEndpoint(t)
	srv := newServer(t)
	srv.tool(&mcp.Tool{Name: "t"}, nil)
	clients := newClients(t, mcpclient.HostOptions{Options: mcpclient.Options{ConnectTimeout: 2e9, CallTimeout: 2e9}})
	add(t, clients, loadPlugin(t, "demo", map[string]*server{"s": srv}))
	bridgeMCP(t, e, clients)
	srv.http.Listener.Close()
	srv.http.CloseClientConnections()
	for range 3 { // the first may find out only by trying
		res, text := e.call("mcp__demo__s__t", nil)
		if res != nil && !res.IsError {
			t.Fatalf("%s", text)
		}
		if strings.Contains(text, "nothing was sent") {
			return
		}
	}
	t.Error("the agent never hears that nothing was sent")
}

// TestMCPPins: a tool that is held back is offered once it is accepted. [K8] [R13]
func TestMCPPins(t *testing.T) {
	e := newEndpoint(t)
	srv := newServer(t)
	srv.tool(&mcp.Tool{Name: "t"}, nil)
	clients := newClients(t, mcpclient.HostOptions{Pins: &mcpclient.Pins{}})
	add(t, clients, loadPlugin(t, "demo", map[string]*server{"s": srv}))
	bridgeMCP(t, e, clients)
	if got := e.names(t); got != "" {
		t.Errorf("held back, and seen: %s", got)
	}
	clients.Accept(clients.Held()...)
	eventually(t, "it is offered", func() bool { return e.names(t) == "mcp__demo__s__t" })
	if _, text := e.call("mcp__demo__s__t", nil); text != "from t" {
		t.Error(text)
	}
	if err := clients.Close(t.Context()); err != nil {
		t.Error(err)
	}
	eventually(t, "the tools of a closed host go", func() bool { return e.names(t) == "" })
}
