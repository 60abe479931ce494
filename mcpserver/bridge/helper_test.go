package bridge_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/skills"
)

// endpoint is a registry over a catalog on a socket, and an agent's client.
type endpoint struct {
	catalog  *catalog.Catalog
	invokers *mcpserver.Invokers
	registry *mcpserver.Registry
	agent    *mcp.ClientSession
	notified atomic.Int64
}

func newEndpoint(t testing.TB) *endpoint {
	t.Helper()
	e := &endpoint{invokers: &mcpserver.Invokers{}}
	var err error
	if e.catalog, err = catalog.New(catalog.Options{}); err != nil {
		t.Fatal(err)
	}
	e.registry, err = mcpserver.New(mcpserver.Options{
		Catalog: e.catalog, Invokers: e.invokers, Limits: mcpserver.Limits{Rate: 1 << 20, Burst: 1 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.registry.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "t", Surface: "chat"}})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(e.registry)
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { e.notified.Add(1) },
	})
	e.agent, err = client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: ts.URL, HTTPClient: &http.Client{Transport: bearer(m.Token.Reveal())},
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		e.agent.Close()
		if err := e.registry.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		ts.Close()
	})
	return e
}

type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(req)
}

// tools are what the agent sees, by name.
func (e *endpoint) tools(t testing.TB) map[string]*mcp.Tool {
	t.Helper()
	list, err := e.agent.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*mcp.Tool{}
	for _, tool := range list.Tools {
		out[tool.Name] = tool
	}
	return out
}

func (e *endpoint) names(t testing.TB) string {
	t.Helper()
	list, err := e.agent.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, tool := range list.Tools {
		out = append(out, tool.Name)
	}
	return strings.Join(out, " ")
}

func (e *endpoint) call(tool string, args any) (*mcp.CallToolResult, string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	res, err := e.agent.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, err.Error()
	}
	var parts []string
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, text.Text)
		}
	}
	return res, strings.Join(parts, "\n")
}

type args = map[string]any

// server is an MCP server on this machine.
type server struct {
	*mcp.Server
	http  *httptest.Server
	calls atomic.Int64
}

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{Server: mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})}
	s.http = httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.Server }, nil))
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// tool adds a tool of the server, in place of one of its name.
func (s *server) tool(tool *mcp.Tool, answer func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	if tool.InputSchema == nil {
		tool.InputSchema = map[string]any{"type": "object"}
	}
	s.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.calls.Add(1)
		if answer == nil {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "from " + tool.Name}}}, nil
		}
		return answer(ctx, req)
	})
}

// loadPlugin makes a plugin with these servers.
func loadPlugin(t testing.TB, name string, servers map[string]*server) *plugin.Plugin {
	t.Helper()
	var entries []string
	for name, s := range servers {
		entries = append(entries, fmt.Sprintf(`%q: {"type": "streamable-http", "url": %q}`, name, strings.Replace(s.http.URL, "127.0.0.1", "localhost", 1)))
	}
	p, err := plugin.LoadFS(t.Context(), fstest.MapFS{
		"plugin.json": {Data: []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "` + name + `"}`)},
		"mcp.json": {Data: []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {` +
			strings.Join(entries, ", ") + `}}`)},
	}, plugin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newClients(t testing.TB, opts mcpclient.HostOptions) *mcpclient.Host {
	t.Helper()
	opts.Egress = mcpclient.DesktopEgress()
	h, err := mcpclient.NewHost(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		h.Close(ctx)
	})
	return h
}

func add(t testing.TB, h *mcpclient.Host, p *plugin.Plugin) plugin.Instance {
	t.Helper()
	instance := plugin.Instance{ID: "installed " + p.Name()}
	if err := h.Add(instance, p); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := h.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return instance
}

// loadSkills makes a set of skills from files.
func loadSkills(t testing.TB, pkg string, files fstest.MapFS) *skills.Set {
	t.Helper()
	root, err := paths.New(files)
	if err != nil {
		t.Fatal(err)
	}
	listing, err := skills.Load(t.Context(), root, ".", skills.Options{})
	if err != nil {
		t.Fatal(err)
	}
	set, err := skills.NewSet(skills.SetOptions{}, skills.Source{Origin: skills.Origin{Package: pkg}, Skills: listing.Skills})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func skill(name, description, body string) *fstest.MapFile {
	return file("---\nname: " + name + "\ndescription: " + description + "\n---\n" + body)
}

// eventually waits for what happens beside the test and gives no signal.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come true", what)
		}
		time.Sleep(time.Millisecond)
	}
}
