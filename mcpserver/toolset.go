package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolSet is what an agent sees at one moment. It is immutable, and shared
// between grants that see the same.
type toolSet struct {
	wire   []*mcp.Tool // sorted by name
	byName map[string]*Tool
	meta   mcp.Meta // sent with each list, such as the revision of a catalog; may be nil
}

// with returns a set of the tools of s and more, with a meta of its own. Two of
// one name are an error.
func (s *toolSet) with(meta mcp.Meta, more []*Tool) (*toolSet, error) {
	n := len(s.wire) + len(more)
	set := &toolSet{wire: make([]*mcp.Tool, 0, n), byName: make(map[string]*Tool, n), meta: meta}
	maps.Copy(set.byName, s.byName)
	set.wire = append(set.wire, s.wire...)
	for _, t := range more {
		if t == nil || t.wire == nil {
			return nil, fmt.Errorf("%w: it was not made by NewTool", ErrTool)
		}
		if set.byName[t.wire.Name] != nil {
			return nil, fmt.Errorf("%w: two are named %s", ErrTool, t.wire.Name)
		}
		set.byName[t.wire.Name] = t
		set.wire = append(set.wire, t.wire)
	}
	slices.SortFunc(set.wire, func(a, b *mcp.Tool) int { return strings.Compare(a.Name, b.Name) })
	return set, nil
}

// sentinel is the one tool of ours that the SDK's server of a grant knows, every
// other time: adding it and removing it makes the SDK notify the sessions. Its
// name is none that a tool of ours can have, and it is neither listed nor
// called.
var sentinel = &mcp.Tool{
	Name:        "plugberth.tools",
	InputSchema: json.RawMessage(`{"type":"object"}`),
}

// refuseSentinel is never reached: the dispatcher knows no tool of that name.
func refuseSentinel(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, unknownTool(sentinel.Name)
}

// swapTools replaces what the grant's agent sees. Lists and calls see the old
// set or the new one, whole, and each session of the stateful protocol and each
// listener of the stateless one is notified once. Swaps less than 10 ms apart
// may share a notification, which then comes after the last of them.
func (g *grant) swapTools(set *toolSet) {
	g.tools.Store(set)
	g.mu.Lock()
	e := g.endpoint
	g.mu.Unlock()
	if e == nil {
		return
	}
	e.swapping.Lock()
	defer e.swapping.Unlock()
	if e.planted {
		e.server.RemoveTools(sentinel.Name)
	} else {
		e.server.AddTool(sentinel, refuseSentinel)
	}
	e.planted = !e.planted
}

// list puts the tools that a host added to the SDK's server beside the set's.
func (s *toolSet) list(sdk []*mcp.Tool) []*mcp.Tool {
	if len(sdk) == 0 || len(sdk) == 1 && sdk[0] == sentinel {
		return s.wire
	}
	out := slices.Clone(s.wire)
	for _, t := range sdk {
		if t.Name != sentinel.Name && s.byName[t.Name] == nil {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *mcp.Tool) int { return strings.Compare(a.Name, b.Name) })
	return out
}
