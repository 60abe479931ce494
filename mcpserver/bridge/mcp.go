package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/internal/modeltext"
	"github.com/plugberth/plugberth/internal/safelog"
	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// MCPOptions are the settings of an [MCP].
type MCPOptions struct {
	// Surfaces says on which surfaces a tool is seen; without any it is seen
	// nowhere. It is called for each tool when the host's list changes, one after
	// the other, and says the same for the same tool. A panic in it leaves that
	// tool out. It is required: what agents see of a server is a choice.
	Surfaces func(mcpclient.Tool) []string
	// Logger gets a record of each tool that cannot be offered. nil is silent.
	Logger *slog.Logger
}

// MCP offers the tools of a client host through a catalog and follows their
// changes: servers that come and go, lists that change, tools that are held back
// until they are accepted. It is the invoker of these tools. It is safe for
// concurrent use and has to be closed. Make one with [NewMCP]: the zero MCP offers
// nothing.
type MCP struct {
	host    *mcpclient.Host
	catalog *catalog.Catalog
	opts    MCPOptions
	stop    context.CancelFunc
	work    sync.WaitGroup

	syncing  sync.Mutex // one list is taken over at a time
	closed   bool
	plugins  map[string]bool // that something is offered for
	collided bool            // a tool is left out for another's name

	mu       sync.RWMutex
	offered  map[string]string // the digest of each tool that is offered, by name
	problems []Problem
}

// NewMCP offers what the host has now, all of it when it returns, and follows it
// until [MCP.Close], or until the host is closed, which takes all of it away. What
// changes after that, by [mcpclient.Host.Ready] or a server that comes, is offered a
// moment later, beside whoever changed it: call [MCP.Sync] before going on with it.
// It fails where the host, the catalog or Surfaces is missing.
func NewMCP(host *mcpclient.Host, c *catalog.Catalog, opts MCPOptions) (*MCP, error) {
	switch {
	case host == nil:
		return nil, errors.New("bridge: the host is missing")
	case c == nil:
		return nil, errNoCatalog
	case opts.Surfaces == nil:
		return nil, errors.New("bridge: MCPOptions.Surfaces is missing")
	}
	opts.Logger = safelog.New(opts.Logger)
	m := &MCP{host: host, catalog: c, opts: opts, plugins: map[string]bool{}}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	events := host.Watch(ctx)
	m.Sync()
	m.work.Go(func() { m.follow(events) })
	return m, nil
}

var errNoCatalog = errors.New("bridge: the catalog is missing")

func (m *MCP) follow(events <-chan mcpclient.Event) {
	changed, stop := m.catalog.Watch()
	defer stop()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				m.end() // the host is closed, and nothing of it can be called
				return
			}
			if e.Tools {
				m.Sync()
			}
		case <-changed:
			// A name may be free now that another tool had.
			m.syncing.Lock()
			collided := m.collided
			m.syncing.Unlock()
			if collided {
				m.Sync()
			}
		}
	}
}

// Sync takes over the host's list as it is now: when it returns, the catalog has
// it. The bridge does so by itself, a moment after a change; a host calls it, after
// [mcpclient.Host.Ready] for example, to know that it has been done.
func (m *MCP) Sync() {
	m.syncing.Lock()
	defer m.syncing.Unlock()
	if m.closed || m.host == nil {
		return
	}
	var problems []Problem
	leaveOut := func(plugin, name string, reason error) {
		problems = append(problems, Problem{plugin, name, reason.Error()})
	}
	tools := map[string][]catalog.Tool{}
	digests := map[string]string{}
	for _, t := range m.host.Tools() {
		plugin := t.Server.Plugin
		surfaces, err := m.surfaces(t)
		tool := declaration(t, surfaces)
		if err == nil {
			err = tool.CheckBridged()
		}
		switch {
		case err != nil:
			leaveOut(plugin, t.Name, err)
		case len(tools[plugin]) == catalog.MaxBridged:
			leaveOut(plugin, t.Name, fmt.Errorf("the plugin's servers have more than %d tools", catalog.MaxBridged))
		default:
			tools[plugin] = append(tools[plugin], tool)
			digests[t.Name] = t.Digest
		}
	}
	for plugin := range m.plugins {
		if _, still := tools[plugin]; !still {
			tools[plugin] = nil
		}
	}
	m.collided = false
	for _, plugin := range slices.Sorted(maps.Keys(tools)) {
		rest := tools[plugin]
		for {
			err := m.catalog.Bridge(SourceMCP, plugin, rest...)
			if err == nil {
				break
			}
			var bad *catalog.DeclarationError
			at := -1
			if errors.As(err, &bad) {
				at = slices.IndexFunc(rest, func(t catalog.Tool) bool { return t.Name == bad.Tool })
			}
			if at < 0 { // it is about the plugin
				for _, t := range rest {
					leaveOut(plugin, t.Name, err)
					delete(digests, t.Name)
				}
				break
			}
			m.collided = m.collided || errors.Is(err, catalog.ErrCollision)
			leaveOut(plugin, rest[at].Name, bad.Err)
			delete(digests, rest[at].Name)
			rest = slices.Delete(rest, at, at+1)
		}
		m.plugins[plugin] = len(rest) > 0
		if !m.plugins[plugin] {
			delete(m.plugins, plugin)
		}
	}
	m.mu.Lock()
	old := m.problems
	// After the catalog has them: until then a call of what has changed is
	// refused.
	m.offered, m.problems = digests, problems
	m.mu.Unlock()
	for _, p := range problems {
		if !slices.Contains(old, p) {
			m.opts.Logger.Warn("a tool of an MCP server cannot be offered to agents", "plugin", p.Plugin, "tool", p.Name, "reason", p.Reason)
		}
	}
}

// surfaces asks the host where a tool is seen.
func (m *MCP) surfaces(t mcpclient.Tool) (list []string, err error) {
	defer func() {
		if recover() != nil {
			list, err = nil, errors.New("MCPOptions.Surfaces panicked")
		}
	}()
	return m.opts.Surfaces(t), nil
}

// declaration is a tool of a server as a catalog has it.
func declaration(t mcpclient.Tool, surfaces []string) catalog.Tool {
	out := catalog.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description,
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Surfaces: surfaces,
	}
	if a := t.Annotations; a != nil {
		if out.Title == "" {
			out.Title = a.Title
		}
		out.Annotations = catalog.Annotations{
			ReadOnly:       a.ReadOnlyHint,
			NonDestructive: a.DestructiveHint != nil && !*a.DestructiveHint,
			Idempotent:     a.IdempotentHint,
			ClosedWorld:    a.OpenWorldHint != nil && !*a.OpenWorldHint,
		}
	}
	return out
}

// Problems returns the tools that the host has and that are not offered, and why.
func (m *MCP) Problems() []Problem {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Clone(m.problems)
}

// Invoke implements [mcpserver.Invoker] by one call of the host, which sends it
// at most once. A tool of which the server says something else by now than what
// agents were shown is not called.
func (m *MCP) Invoke(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
	name := inv.Tool.Name
	m.mu.RLock()
	digest, ok := m.offered[name]
	m.mu.RUnlock()
	if ok { // and then there is a host
		tool, there := m.host.Lookup(name)
		ok = there && tool.Digest == digest
	}
	if !ok {
		return mcpserver.Result{}, &channel.Refusal{
			Text: "Not done: the tool has changed or is gone. List the tools again, and go by what they say then.",
			Err:  mcpclient.ErrUnknownTool,
		}
	}
	res, err := m.host.Call(ctx, name, inv.Arguments, mcpclient.CallOptions{
		Progress: func(p mcpclient.Progress) { _ = inv.Progress(ctx, p.Done, p.Total, p.Message) },
	})
	if err != nil {
		return mcpserver.Result{}, forAgent(ctx, err)
	}
	return result(res), nil
}

func result(res *mcp.CallToolResult) mcpserver.Result {
	return mcpserver.Result{Structured: res.StructuredContent, Content: res.Content, IsError: res.IsError}
}

// maxServerText bounds what an agent gets to read of a server's error.
const maxServerText = 1 << 10

// forAgent makes errors whose meaning helps the agent such as it can read.
func forAgent(ctx context.Context, err error) error {
	var rpc *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, mcpclient.ErrNotSent):
		return &channel.Refusal{
			Text: "Not done: the server of this tool cannot be reached now, and nothing was sent to it. You may try again later; go on without it meanwhile.",
			Err:  err,
		}
	case errors.As(err, &rpc):
		text := modeltext.Line(rpc.Message)
		if len(text) > maxServerText {
			text = modeltext.Line(text[:maxServerText]) + "…"
		}
		return &channel.Refusal{Text: fmt.Sprintf("The server of this tool answered with error %d: %s", rpc.Code, text), Err: err}
	}
	return err
}

// Close takes the tools out of the catalog and ends following. Calls in flight
// are canceled as those of withdrawn tools are.
func (m *MCP) Close() {
	if m.stop != nil {
		m.stop()
	}
	m.work.Wait()
	m.end()
}

func (m *MCP) end() {
	m.syncing.Lock()
	defer m.syncing.Unlock()
	m.closed = true
	for plugin := range m.plugins {
		_ = m.catalog.Bridge(SourceMCP, plugin) // none cannot fail
	}
	clear(m.plugins)
}
