package mcpserver

import (
	"container/heap"
	"fmt"
	"math"
	"time"
)

// expiryHeap holds the live grants, the one that expires first at the top.
type expiryHeap []*grant

func (h *expiryHeap) push(g *grant)   { heap.Push((*heapOrder)(h), g) }
func (h *expiryHeap) remove(g *grant) { heap.Remove((*heapOrder)(h), g.at) }
func (h *expiryHeap) fix(g *grant)    { heap.Fix((*heapOrder)(h), g.at) }

// heapOrder is what container/heap sees of an expiryHeap.
type heapOrder []*grant

func (h heapOrder) Len() int           { return len(h) }
func (h heapOrder) Less(i, j int) bool { return h[i].lasts < h[j].lasts }
func (h heapOrder) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *heapOrder) Push(x any) {
	g := x.(*grant)
	g.at = len(*h)
	*h = append(*h, g)
}

func (h *heapOrder) Pop() any {
	old := *h
	last := len(old) - 1
	g := old[last]
	old[last] = nil
	*h = old[:last]
	return g
}

// lastFor makes the grant live for d from now on. A live grant's registry's mu is
// held.
func (g *grant) lastFor(now time.Time, d time.Duration) {
	g.expires = now.Add(d)
	g.lasts = time.Since(g.reg.started) + min(d, math.MaxInt64/2) // no overflow
}

// Extend makes a live grant last for ttl from now on, for a run that takes longer
// than was planned, and returns when it ends then. It never shortens a grant: one
// that lasts longer already stays as it is. Sessions, streams and calls go on, and
// the token stays the same.
//
// It fails with [ErrGrant] where no live grant has the id, revoked and expired ones
// included, ttl is not positive, or the grant would live longer than
// [Limits.Lifetime] from when it was minted; and with [ErrClosed].
func (r *Registry) Extend(grantID string, ttl time.Duration) (time.Time, error) {
	if ttl <= 0 {
		return time.Time{}, fmt.Errorf("%w: ttl is not positive", ErrGrant)
	}
	g := r.live(grantID)
	if g == nil {
		return time.Time{}, errNoGrant
	}
	ends, extended, err := r.extend(g, grantID, ttl)
	if err != nil || !extended {
		return ends, err
	}
	run := g.run()
	r.log.With(runAttrs(run)...).Info("grant "+string(EventExtended), "expires", ends)
	r.observe(Event{Kind: EventExtended, At: time.Now(), Run: *run, ExpiresAt: ends})
	return ends, nil
}

func (r *Registry) extend(g *grant, id string, ttl time.Duration) (ends time.Time, extended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return time.Time{}, false, ErrClosed
	case r.byID[id] != g || g.left() <= 0: // by now
		return time.Time{}, false, errNoGrant
	case ttl <= g.left():
		return g.expires, false, nil
	}
	now := time.Now().Round(0)
	lifetime := r.opts.Limits.Lifetime
	// By both clocks, as a grant ends.
	if age := max(now.Sub(g.minted), time.Since(r.started)-g.born); ttl > lifetime-age {
		return time.Time{}, false, fmt.Errorf("%w: it would live longer than a grant may, which is %v", ErrGrant, lifetime)
	}
	g.lastFor(now, ttl)
	r.expiry.fix(g)
	r.armLocked()
	return g.expires, true, nil
}

var errNoGrant = fmt.Errorf("%w: no live grant has that id", ErrGrant)

// left is how long the grant still lives: by the wall clock, which goes on while
// a machine sleeps, or by the monotonic one, which nobody can set back,
// whichever comes first. The registry's mu is held.
func (g *grant) left() time.Duration {
	return min(time.Until(g.expires), g.lasts-time.Since(g.reg.started))
}

// armLocked makes the timer fire when the first grant expires. The caller holds
// mu, and there is a first grant.
func (r *Registry) armLocked() {
	d := r.expiry[0].left()
	if r.timer == nil {
		r.timer = time.AfterFunc(d, func() { r.expire(nil) })
	} else {
		r.timer.Reset(d)
	}
}

// expire ends every grant whose time has come, and looks at g, if not nil, whatever
// its place in the heap: a clock that was set between mints mixes up the order.
func (r *Registry) expire(g *grant) {
	var due []*grant
	r.mu.Lock()
	if g != nil && r.byHash[g.hash] == g && g.left() <= 0 { // not extended meanwhile
		r.removeLocked(g)
		due = append(due, g)
	}
	for len(r.expiry) > 0 && r.expiry[0].left() <= 0 {
		g := r.expiry[0]
		r.removeLocked(g)
		due = append(due, g)
	}
	if len(r.expiry) > 0 {
		r.armLocked()
	}
	r.mu.Unlock()
	endAll(due, endExpired)
}
