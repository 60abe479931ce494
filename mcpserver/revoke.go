package mcpserver

import (
	"context"
	"sync"
	"time"
)

// endAll ends grants that have been taken out of the registry's maps, and tells of it
// once all of them are: whoever is told cannot keep one alive.
func endAll(grants []*grant, why *endReason) {
	calls := make([]int, len(grants))
	for i, g := range grants {
		calls[i] = g.end(why)
	}
	for i, g := range grants {
		g.tell(why, calls[i])
	}
}

// end ends one of them and returns how many calls were in flight, clients that
// listen not counted; see
// docs/mcpserver.md for the order and its reasons.
func (g *grant) end(why *endReason) (inFlight int) {
	e, calls := g.cancelCalls(why)
	if e == nil {
		g.reg.ending.Done()
		return 0
	}
	for _, c := range calls {
		if c.counted {
			inFlight++
		}
	}
	g.mu.Lock()
	quiet := len(e.open) == 0 && len(e.sessions) == 0
	g.mu.Unlock()
	if quiet {
		g.reg.ending.Done()
		return inFlight
	}
	go func() {
		defer g.reg.ending.Done()
		e.finish()
	}()
	return inFlight
}

// cancelCalls is what has happened when Revoke returns: nothing new begins, and
// what is in flight knows.
func (g *grant) cancelCalls(why *endReason) (*endpoint, []*call) {
	g.mu.Lock()
	g.ended = why
	e := g.endpoint
	var calls []*call
	if e != nil {
		e.answered, e.gone = make(chan struct{}), make(chan struct{})
		e.settle()
		if e.clock != nil {
			e.clock.Stop()
		}
		for c := range e.calls {
			calls = append(calls, c)
		}
	}
	g.mu.Unlock()
	for _, c := range calls {
		c.cancel(why)
	}
	if e != nil {
		e.questions.end(why)
	}
	return e, calls
}

// settle closes the channels of what has ended. The caller holds mu.
func (e *endpoint) settle() {
	closeOnce := func(ch chan struct{}) {
		if ch == nil {
			return
		}
		select {
		case <-ch:
		default:
			close(ch)
		}
	}
	if e.posts == 0 {
		closeOnce(e.answered)
	}
	if len(e.open) == 0 {
		closeOnce(e.gone)
	}
	if e.running == 0 && e.idle != nil {
		close(e.idle)
		e.idle = nil
	}
}

// finish lets answers leave, ends what is still open and closes the sessions.
func (e *endpoint) finish() {
	wait(e.answered, e.reg.opts.Limits.Revoke)

	e.mu.Lock()
	exchanges := make([]*exchange, 0, len(e.open))
	for _, ex := range e.open {
		exchanges = append(exchanges, ex)
	}
	e.mu.Unlock()
	for _, ex := range exchanges {
		ex.abort()
	}
	// Requests that were opening a session end now, and with them sessions that
	// were not initialized.
	wait(e.gone, e.reg.opts.Limits.Revoke)

	var closing sync.WaitGroup
	e.mu.Lock()
	for _, s := range e.sessions {
		s.stopIdle()
		if sdk := s.sdk; sdk != nil {
			closing.Go(func() { sdk.Close() })
		}
	}
	e.mu.Unlock()
	closing.Wait()
}

// tell logs and observes the end of the grant.
func (g *grant) tell(why *endReason, calls int) {
	kind := EventRevoked
	if why == endExpired {
		kind = EventExpired
	}
	log := g.reg.log.With(runAttrs(g.run())...)
	if why == endShutdown {
		log = log.With("reason", string(why.outcome))
	}
	log.Info("grant "+string(kind), "calls", calls)
	g.reg.observe(Event{Kind: kind, At: time.Now(), Run: *g.run(), Outcome: why.outcome})
}

// drained waits until no handler of the grant runs.
func (g *grant) drained(ctx context.Context) error {
	g.mu.Lock()
	e := g.endpoint
	if e == nil || e.running == 0 {
		g.mu.Unlock()
		return nil
	}
	if e.idle == nil {
		e.idle = make(chan struct{})
	}
	idle := e.idle
	g.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait waits for ch, but no longer than d, and reports whether ch was closed.
func wait(ch <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ch:
		return true
	case <-timer.C:
	}
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
