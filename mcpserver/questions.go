package mcpserver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/plugberth/plugberth/channel"
)

// questions are the questions of a grant that wait, so that a connection that
// breaks does not lose the answer: the same question asked again joins the one
// that waits, and gets an answer that could not be delivered.
type questions struct {
	mu      sync.Mutex
	ended   *endReason
	waiting []*inquiry
	kept    []keptAnswer // the oldest first
}

// inquiry is one question at the channel.
type inquiry struct {
	question  channel.Question
	cancel    context.CancelFunc
	calls     int           // that wait for it
	detached  bool          // a call left because its connection broke
	delivered bool          // a call that could deliver took the answer
	session   string        // of the first call, empty for none
	done      chan struct{} // closed when the rest is set
	answer    channel.Answer
	err       error
}

// keptAnswer is an answer that found nobody to deliver it.
type keptAnswer struct {
	question channel.Question
	answer   channel.Answer
	session  string
	until    time.Time
}

// Answers wait to be asked for again up to this number, and this long: consent
// given once does not stand for ever.
const (
	maxKept = 8
	keptFor = 10 * time.Minute
)

// errAskPanicked stands for a panic that is logged already.
var errAskPanicked = errors.New("mcpserver: the channel panicked")

// ask puts a question to the channel, or joins it there.
func (qs *questions) ask(ctx context.Context, c *call, q channel.Question) (channel.Answer, error) {
	same := func(other channel.Question) bool { return other.Same(q) }
	qs.mu.Lock()
	qs.kept = slices.DeleteFunc(qs.kept, func(k keptAnswer) bool { return time.Now().After(k.until) })
	if i := slices.IndexFunc(qs.kept, func(k keptAnswer) bool { return same(k.question) }); i >= 0 {
		a := qs.kept[i].answer
		qs.kept = slices.Delete(qs.kept, i, i+1)
		qs.mu.Unlock()
		return a, nil
	}
	var in *inquiry
	if i := slices.IndexFunc(qs.waiting, func(w *inquiry) bool { return same(w.question) }); i >= 0 {
		in = qs.waiting[i]
	} else {
		limit := c.e.reg.opts.Limits.Calls
		if qs.ended != nil || len(qs.waiting) >= limit {
			defer qs.mu.Unlock()
			if qs.ended != nil {
				return channel.Answer{}, qs.ended
			}
			return channel.Answer{}, &channel.LimitError{Limit: "Waiting", Max: limit}
		}
		in = qs.begin(ctx, c, q)
	}
	in.calls++
	qs.mu.Unlock()

	select {
	case <-in.done:
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			wait(in.done, lateGrace/2) // it has the same deadline
		}
	}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	in.calls--
	select {
	case <-in.done:
		in.delivered = in.delivered || c.deliverable()
		qs.keep(in)
		return in.answer, in.err
	default:
	}
	if c.disconnected() {
		in.detached = true
	}
	if in.calls == 0 && !in.detached {
		in.cancel()
	}
	return channel.Answer{}, ctx.Err()
}

// begin puts a question to the channel. The question outlives the connection of
// the call that asked it, but not its deadline and not the grant. The caller
// holds mu.
func (qs *questions) begin(ctx context.Context, c *call, q channel.Question) *inquiry {
	in := &inquiry{question: q, done: make(chan struct{})}
	if c.session != nil {
		in.session = c.session.id
	}
	asking := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		asking, in.cancel = context.WithDeadline(asking, deadline)
	} else {
		asking, in.cancel = context.WithCancel(asking)
	}
	qs.waiting = append(qs.waiting, in)
	e := c.e
	go func() {
		defer in.cancel()
		answer, err := channel.Answer{}, errAskPanicked
		defer func() { // also where the channel ends this goroutine
			qs.mu.Lock()
			defer qs.mu.Unlock()
			in.answer, in.err = answer, err
			qs.waiting = slices.DeleteFunc(qs.waiting, func(w *inquiry) bool { return w == in })
			close(in.done)
			qs.keep(in)
		}()
		answer, err = e.put(asking, q)
	}()
	return in
}

// put calls the channel.
func (e *endpoint) put(ctx context.Context, q channel.Question) (a channel.Answer, err error) {
	returned := false
	defer func() {
		if !returned {
			e.log.Error("handler panicked", "tool", ToolAskUser, "panic", panicText(recover()), "stack", stack())
			a, err = channel.Answer{}, errAskPanicked
		}
	}()
	a, err = e.parts.Asker.Ask(ctx, q)
	returned = true
	return a, err
}

// keep keeps an answer once the last call has left without delivering it. The
// caller holds mu.
func (qs *questions) keep(in *inquiry) {
	if in.err != nil || in.calls > 0 || in.delivered || qs.ended != nil {
		return
	}
	if len(qs.kept) == maxKept {
		qs.kept = slices.Delete(qs.kept, 0, 1)
	}
	qs.kept = append(qs.kept, keptAnswer{in.question, in.answer, in.session, time.Now().Add(keptFor)})
}

// forget drops the answers of a session: its client has come back for them, or
// will not.
func (qs *questions) forget(session string) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.kept = slices.DeleteFunc(qs.kept, func(k keptAnswer) bool { return k.session == session })
}

// end withdraws everything.
func (qs *questions) end(why *endReason) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.ended = why
	qs.kept = nil
	for _, in := range qs.waiting {
		in.cancel()
	}
}

// disconnected reports whether the connection was the call, as it is in the
// stateless protocol, and is gone.
func (c *call) disconnected() bool {
	if c.ex == nil { // gone before the call began
		return c.session == nil
	}
	return c.ex.stateless && !c.ex.connected()
}

// deliverable reports whether an answer reaches the client: by the connection
// that asked, or by the one with which the session came back.
func (c *call) deliverable() bool {
	return c.ex != nil && c.ex.connected() || c.session != nil && c.session.resumed.Load()
}
