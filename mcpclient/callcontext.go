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
	context.Context
	deadline time.Time
	abort    context.CancelCauseFunc
}

// Deadline implements context.Context.
func (c *callContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	if key == (abortKey{}) {
		return c.abort
	}
	return c.Context.Value(key)
}

// begin returns the context of a call, and what ends it.
func (s *Session) begin(ctx context.Context, timeout time.Duration) (call context.Context, end func()) {
	inner, cancel := context.WithCancelCause(ctx)
	c := &callContext{Context: inner, deadline: time.Now().Add(timeout), abort: cancel}
	if d, ok := ctx.Deadline(); ok && d.Before(c.deadline) {
		c.deadline = d
	}
	timer := time.AfterFunc(timeout, func() { cancel(errCallTimeout) })
	stop := context.AfterFunc(s.ctx, func() { cancel(ErrClosed) })
	return c, func() {
		timer.Stop()
		stop()
		cancel(nil)
	}
}
