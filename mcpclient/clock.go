package mcpclient

import (
	"context"
	"sync"
	"time"
)

// A clock bounds the time of connecting to a server. It stands still while the
// host is asked for something, because a person may have to answer: then the
// host's own time is bounded instead.
type clock struct {
	outer  *clock // stands still with this one; nil for the outermost
	cancel context.CancelCauseFunc
	ask    time.Duration // how long one question may take

	mu     sync.Mutex
	left   time.Duration
	since  time.Time // when it was last set going
	timer  *time.Timer
	asking int // questions under way
	ended  bool
}

type clockKey struct{}

// withClock returns a context that ends with errConnectTimeout once d has
// passed, questions to the host apart, and with errAskTimeout when one of these
// takes longer than ask. A clock within another one's context leaves that to it.
func withClock(ctx context.Context, d, ask time.Duration) (context.Context, context.CancelFunc) {
	c := &clock{ask: ask, left: d, since: time.Now()}
	c.outer, _ = ctx.Value(clockKey{}).(*clock)
	ctx, c.cancel = context.WithCancelCause(ctx)
	c.timer = time.AfterFunc(d, func() { c.cancel(errConnectTimeout) })
	return context.WithValue(ctx, clockKey{}, c), c.end
}

// asking stops the clocks of a context until the function that it returns is
// called. In a context without one, or whose clocks have ended, it does nothing.
func asking(ctx context.Context) (answered func()) {
	inner, _ := ctx.Value(clockKey{}).(*clock)
	for c := inner; c != nil; c = c.outer {
		c.stop()
	}
	return func() {
		for c := inner; c != nil; c = c.outer {
			c.goOn()
		}
	}
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking++; c.asking > 1 || c.ended {
		return
	}
	c.timer.Stop()
	c.left -= time.Since(c.since)
	if c.outer == nil {
		c.timer = time.AfterFunc(c.ask, func() { c.cancel(errAskTimeout) })
	}
}

func (c *clock) goOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking--; c.asking > 0 || c.ended {
		return
	}
	c.timer.Stop()
	c.since = time.Now()
	c.timer = time.AfterFunc(c.left, func() { c.cancel(errConnectTimeout) })
}

func (c *clock) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.timer.Stop()
	c.cancel(nil)
}
