package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolSet is the tools that a grant is minted with: those of the channel and the
// host's own. What an agent sees of it is immutable, and shared between grants
// that were minted with the same.
type toolSet struct {
	key    setKey
	more   []*Tool     // the host's, as they were given
	wire   []*mcp.Tool // sorted by name
	byName map[string]*Tool

	mu       sync.Mutex
	offersOf *view                  // whose offers
	offers   map[*surfaceSet]*offer // with what is seen of a catalog
	hides    map[string]bool        // names of a catalog's tools that were logged

	grants int // that have it, guarded by the registry's mu
}

// newToolSet returns the set of some of the channel's tools and more. Two of one
// name are an error.
func newToolSet(key setKey, more []*Tool) (*toolSet, error) {
	channel := channelTools(key)
	n := len(channel) + len(more)
	set := &toolSet{key: key, more: slices.Clone(more), wire: make([]*mcp.Tool, 0, n), byName: make(map[string]*Tool, n)}
	for _, t := range append(channel, more...) {
		if t == nil || t.wire == nil {
			return nil, fmt.Errorf("%w: it was not made by NewTool", ErrTool)
		}
		if set.byName[t.wire.Name] != nil {
			return nil, fmt.Errorf("%w: two are named %s", ErrTool, t.wire.Name)
		}
		set.byName[t.wire.Name] = t
		set.wire = append(set.wire, t.wire)
	}
	sortTools(set.wire)
	return set, nil
}

// setIndex finds the sets that may be of some tools.
type setIndex struct {
	key   setKey
	count int
	first *Tool // of the host's
}

func indexOf(key setKey, more []*Tool) setIndex {
	at := setIndex{key: key, count: len(more)}
	if len(more) > 0 {
		at.first = more[0]
	}
	return at
}

// toolSetOf returns the set of some of the channel's tools and more, the one
// that grants have already where there is one.
func (r *Registry) toolSetOf(key setKey, more []*Tool) (*toolSet, error) {
	r.mu.RLock()
	set := r.sharedSetLocked(key, more)
	r.mu.RUnlock()
	if set != nil {
		return set, nil
	}
	return newToolSet(key, more)
}

func (r *Registry) sharedSetLocked(key setKey, more []*Tool) *toolSet {
	for _, set := range r.sets[indexOf(key, more)] {
		if slices.Equal(set.more, more) {
			return set
		}
	}
	return nil
}

// holdSetLocked counts a grant of a set, and returns the set to use: the one
// that was made meanwhile, if so.
func (r *Registry) holdSetLocked(set *toolSet) *toolSet {
	if shared := r.sharedSetLocked(set.key, set.more); shared != nil {
		set = shared
	} else {
		at := indexOf(set.key, set.more)
		r.sets[at] = append(r.sets[at], set)
	}
	set.grants++
	return set
}

func (r *Registry) dropSetLocked(set *toolSet) {
	if set.grants--; set.grants > 0 {
		return
	}
	at := indexOf(set.key, set.more)
	rest := slices.DeleteFunc(r.sets[at], func(s *toolSet) bool { return s == set })
	if len(rest) == 0 {
		delete(r.sets, at)
	} else {
		r.sets[at] = rest
	}
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

// listChanged notifies each session of the stateful protocol and each listener
// of the stateless one that the list of tools is another. Notifications less than
// 10 ms apart may become one, which then comes after the last of them.
func (g *grant) listChanged() {
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

// onlySentinel reports whether the host added no tool to the SDK's server.
func onlySentinel(sdk []*mcp.Tool) bool {
	return len(sdk) == 0 || len(sdk) == 1 && sdk[0] == sentinel
}
