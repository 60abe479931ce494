package mcpserver

import (
	"time"

	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// Find is the check of a token.
func (r *Registry) Find(token string) bool { return r.find(token) != nil }

// DerivedKey is the key of a subtask that the agent gave none.
var DerivedKey = derivedKey

// Left counts what the registry still holds.
func (r *Registry) Left() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.byHash) + len(r.byID) + len(r.byTask) + len(r.expiry) + len(r.sets)
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

// SwapNow makes s what the agents of a registry see that follows no catalog, and
// tells them, as the goroutine that follows one does. It returns how long storing
// took and how long telling.
func (r *Registry) SwapNow(s *catalog.Snapshot) (stored, told time.Duration) {
	begun := time.Now()
	old := r.catalog.view.Load()
	v, _ := r.catalog.take(s)
	stored = time.Since(begun)
	begun = time.Now()
	r.tellAll(old, v)
	return stored, time.Since(begun)
}
