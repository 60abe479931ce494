package mcpclient

import (
	"context"
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
	}
	return c.Context.Value(key)
}

// begin returns the context of a call, which end ends.
func (s *Session) begin(ctx context.Context, timeout time.Duration) *callContext {
	c := &callContext{session: s, deadline: time.Now().Add(timeout)}
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
	}
}
