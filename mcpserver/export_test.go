package mcpserver

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// SwapTools replaces what the agent of a grant sees by the channel's tools and
// these.
func (r *Registry) SwapTools(id string, revision int, tools ...*Tool) error {
	r.mu.RLock()
	g := r.byID[id]
	r.mu.RUnlock()
	set, err := g.base.with(mcp.Meta{"revision": revision}, tools)
	if err != nil {
		return err
	}
	g.swapTools(set)
	return nil
}

// Find is the check of a token.
func (r *Registry) Find(token string) bool { return r.find(token) != nil }

// DerivedKey is the key of a subtask that the agent gave none.
var DerivedKey = derivedKey

// Left counts what the registry still holds.
func (r *Registry) Left() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.byHash) + len(r.byID) + len(r.byTask) + len(r.expiry)
}

// SetBack sets the wall clock back by d, as the grants see it.
func (r *Registry) SetBack(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.expiry {
		g.expires = g.expires.Add(d)
	}
}

// Sleep lets the time of a grant pass without its timer, as it does while a
// machine sleeps.
func (r *Registry) Sleep(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.byID[id]
	r.expiry.remove(g)
	g.expires = time.Now().Round(0)
	r.expiry.push(g)
}
