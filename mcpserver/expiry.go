package mcpserver

import (
	"container/heap"
	"time"
)

// expiryHeap holds the live grants, the one that expires first at the top.
type expiryHeap []*grant

func (h *expiryHeap) push(g *grant)   { heap.Push((*heapOrder)(h), g) }
func (h *expiryHeap) remove(g *grant) { heap.Remove((*heapOrder)(h), g.at) }

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

// left is how long the grant still lives: by the wall clock, which goes on while
// a machine sleeps, or by the monotonic one, which nobody can set back,
// whichever comes first.
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

// expire ends every grant whose time has come, and g, if not nil, whatever its
// place in the heap: a clock that was set between mints mixes up the order.
func (r *Registry) expire(g *grant) {
	var due []*grant
	r.mu.Lock()
	if g != nil && r.byHash[g.hash] == g {
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
	for _, g := range due {
		g.end(endExpired)
	}
}
