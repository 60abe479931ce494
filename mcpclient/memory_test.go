package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/plugin"
)

// memoryPlugin makes a plugin of the name with stdio servers of those names.
func memoryPlugin(t testing.TB, name string, servers ...string) *plugin.Plugin {
	t.Helper()
	return loadPluginWith(t, plugin.Options{}, name, servers...)
}

func loadPluginWith(t testing.TB, opts plugin.Options, name string, servers ...string) *plugin.Plugin {
	t.Helper()
	var entries []string
	for _, s := range servers {
		key, _ := json.Marshal(s)
		entries = append(entries, string(key)+`: {"type": "stdio", "command": "server"}`)
	}
	p, err := plugin.LoadFS(context.Background(), fstest.MapFS{
		"plugin.json": {Data: []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "` + name + `"}`)},
		"mcp.json": {Data: []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {` +
			strings.Join(entries, ", ") + `}}`)},
	}, opts)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Servers()) != len(servers) {
		t.Fatalf("servers: %v", p.Findings())
	}
	return p
}

// memory stands for the servers of a test host, by name: what runs when one is
// connected to. Each connection gets a server of its own.
type memory struct {
	mu      sync.Mutex
	servers map[string]func(context.Context) (*mcp.Server, error)
	links   map[string][]*memoryLink
}

func (m *memory) set(name string, make func(context.Context) (*mcp.Server, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.servers == nil {
		m.servers = map[string]func(context.Context) (*mcp.Server, error){}
		m.links = map[string][]*memoryLink{}
	}
	m.servers[name] = make
}

// opened returns how often a server was connected to.
func (m *memory) opened(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.links[name])
}

// crash breaks the newest link to a server.
func (m *memory) crash(name string) {
	m.mu.Lock()
	l := m.links[name][len(m.links[name])-1]
	m.mu.Unlock()
	l.end()
}

func (m *memory) open(ctx context.Context, _ *plugin.Plugin, _ *plugin.Server, id ServerID, give giver) (link, error) {
	if _, err := give(ctx, CredentialsRequest{ID: id}); err != nil {
		return nil, err
	}
	m.mu.Lock()
	make, ok := m.servers[id.Server]
	m.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("%w: no program", ErrServer)
	}
	srv, err := make(ctx)
	if err != nil {
		return nil, err
	}
	client, far := mcp.NewInMemoryTransports()
	ss, err := srv.Connect(context.WithoutCancel(ctx), far, nil)
	if err != nil {
		return nil, err
	}
	l := &memoryLink{client: client, server: ss, gone: chanOf()}
	m.mu.Lock()
	m.links[id.Server] = append(m.links[id.Server], l)
	m.mu.Unlock()
	return l, nil
}

func chanOf() chan struct{} { return make(chan struct{}) }

type memoryLink struct {
	client mcp.Transport
	server *mcp.ServerSession
	once   sync.Once
	gone   chan struct{}
}

func (l *memoryLink) transport() mcp.Transport { return l.client }
func (l *memoryLink) explain(err error) error  { return err }
func (l *memoryLink) done() <-chan struct{}    { return l.gone }
func (l *memoryLink) end() {
	l.once.Do(func() {
		close(l.gone)
		go l.server.Close()
	})
}
func (l *memoryLink) close(_ context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
	case <-time.After(time.Second):
	}
	l.end()
	return nil
}

// newMemoryHost makes a host whose servers are those of the memory.
func newMemoryHost(t testing.TB, m *memory, opts HostOptions) *Host {
	t.Helper()
	h, err := NewHost(opts)
	if err != nil {
		t.Fatal(err)
	}
	h.dialer.open = m.open
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

var anyObject = json.RawMessage(`{"type":"object"}`)

// echo is a server whose tools answer with their own name and arguments.
func echo(tools ...string) func(context.Context) (*mcp.Server, error) {
	return func(context.Context) (*mcp.Server, error) {
		return newEcho(tools...), nil
	}
}

func newEcho(tools ...string) *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	for _, name := range tools {
		addEcho(srv, name)
	}
	return srv
}

func addEcho(srv *mcp.Server, name string) {
	srv.AddTool(&mcp.Tool{Name: name, Description: "Says " + name, InputSchema: anyObject},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + " " + string(req.Params.Arguments)}}}, nil
		})
}

func textOf(t testing.TB, res *mcp.CallToolResult, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Content) != 1 {
		t.Fatalf("content: %v", res.Content)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func toolNames(tools []Tool) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// await reads events until one satisfies ok.
func await(t testing.TB, events <-chan Event, what string, ok func(Event) bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case e, open := <-events:
			if !open {
				t.Fatalf("no event: %s", what)
			}
			if ok(e) {
				return
			}
		case <-deadline:
			t.Fatalf("no event in time: %s", what)
		}
	}
}

func awaitStatus(t testing.TB, events <-chan Event, server string, status Status) {
	t.Helper()
	await(t, events, server+" "+status.String(), func(e Event) bool {
		return e.Server != nil && e.Server.ID.Server == server && e.Server.Status == status
	})
}

var errBroken = errors.New("broken")
