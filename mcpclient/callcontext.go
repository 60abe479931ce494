package mcpclient

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A callContext is the context of one exchange with a server. It ends with the
// caller's, with the session, at its deadline, or when the guard of a remote
// server ends it over a limit; context.Cause says which. It is one value for
// what would be a chain of four contexts, because every call has one.
type callContext struct {
	context.Context // ends by abort
	session         *Session
	deadline        time.Time
	timer           *time.Timer
	abort           context.CancelCauseFunc

	begun   atomic.Bool           // the server has taken a request of the exchange
	refused atomic.Pointer[error] // that of a server which certainly did not carry it out
	told    chan struct{}         // closed when the server was told that the call is off
	once    sync.Once             // closes told
}

// exchangeKey is the key under which a callContext gives itself.
type exchangeKey struct{}

// taken notes that the server has taken a request: whatever comes after, the
// exchange may have been carried out.
func taken(ctx context.Context) {
	if c, ok := ctx.Value(exchangeKey{}).(*callContext); ok {
		c.begun.Store(true)
	}
}

// turnedAway notes why the server did not carry out a request, nil for one that
// will be sent again.
func turnedAway(ctx context.Context, err error) {
	c, ok := ctx.Value(exchangeKey{}).(*callContext)
	switch {
	case !ok:
	case err == nil:
		c.refused.Store(nil)
	default:
		c.refused.Store(&err)
	}
}

// sessionKey is the key under which a callContext says that it ends with its
// session.
type sessionKey struct{}

// Deadline implements context.Context.
func (c *callContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	switch key.(type) {
	case abortKey:
		return c.abort
	case sessionKey:
		return c.session
	case exchangeKey:
		return c
	}
	return c.Context.Value(key)
}

// begin returns the context of a call, which end ends.
func (s *Session) begin(ctx context.Context, timeout time.Duration) *callContext {
	c := &callContext{session: s, deadline: time.Now().Add(timeout), told: make(chan struct{})}
	c.Context, c.abort = context.WithCancelCause(ctx)
	if d, ok := ctx.Deadline(); ok && d.Before(c.deadline) {
		c.deadline = d
	}
	c.timer = time.AfterFunc(timeout, c.expire)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = map[*callContext]struct{}{}
	}
	if s.over {
		c.abort(ErrClosed)
	} else {
		s.calls[c] = struct{}{}
	}
	return c
}

func (c *callContext) expire() { c.abort(errCallTimeout) }

func (c *callContext) end() {
	c.timer.Stop()
	c.session.mu.Lock()
	delete(c.session.calls, c)
	c.session.mu.Unlock()
	c.abort(nil)
}

// abortCalls ends all calls of a session, those under way and those to come.
func (s *Session) abortCalls(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for c := range s.calls {
		c.abort(err)
		s.aborted = append(s.aborted, c)
	}
}

// settleBound is how long calls have to tell a server that nobody waits for them.
const settleBound = 500 * time.Millisecond

// settle waits until a remote server has been told of the calls that were
// aborted: one that does not know answers the goodbye only once it has answered
// them. The SDK tells it beside, and no more once it says goodbye.
func (s *Session) settle() {
	s.mu.Lock()
	aborted := s.aborted
	s.mu.Unlock()
	if _, remote := s.link.(*remoteLink); !remote || len(aborted) == 0 {
		return
	}
	bound := time.NewTimer(settleBound)
	defer bound.Stop()
	for _, c := range aborted {
		select {
		case <-c.told:
		case <-s.link.done():
			return
		case <-bound.C:
			return
		}
	}
}

// tells reports whether a request is the one that tells the server that a call
// was called off, and returns what to call when it has been sent.
func tells(ctx context.Context) (sent func(), ok bool) {
	c, ok := ctx.Value(exchangeKey{}).(*callContext)
	if !ok || c.Err() == nil {
		return nil, false
	}
	return func() { c.once.Do(func() { close(c.told) }) }, true
}
