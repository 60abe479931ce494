package channel

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"
)

// LiveOptions choose how a [Live] waits. Zero or less in a number means its
// default.
type LiveOptions struct {
	// Deadline is how long a question waits for its answer, default 5 minutes.
	// A context that ends earlier ends the call without an answer and without
	// a record, so let the calls last longer than this.
	Deadline time.Duration
	// Waiting is how many questions wait at the same time, default 16. Another
	// one gets a [LimitError].
	Waiting int
	// Fallback records a question that got no answer in time. Nil means one
	// over a [MemoryStore], for which see [Live.Fallback].
	Fallback *Buffered
}

// Live is an [Asker] for a host with a user at hand: a question waits for its
// answer up to a deadline. Make one with [NewLive]; the zero Live is one with the
// zero [LiveOptions]. The other three parts of a run come from elsewhere, for
// example from the [Buffered] that it falls back to:
//
//	parts := channel.Of(buffered)
//	parts.Asker = channel.NewLive(channel.LiveOptions{Fallback: buffered})
//
// The host answers questions one after the other with [Live.Serve], or takes them
// with [Live.Next], in the order in which they were asked, and answers them with
// [Live.Answer], in any order. The same question
// asked again while it waits, as by a client that lost its connection, does
// not wait twice: both calls get the answer. Asked again later, it is a new
// question.
//
// When the deadline passes, the question is recorded in the fallback, which
// says that the run is blocked. A later answer goes to the fallback, and the
// agent that asks again gets it: what the fallback holds, pending or answered,
// is not put to the user twice but left to the fallback at once. The fallback
// holds one question; where several pass the deadline, the others are refused
// with a [PendingError] and their later answers with [ErrNoQuestion].
//
// A Live starts no goroutine, and holds a question only as long as a call waits
// for it: a call that ends with its context leaves nothing behind. All methods
// are safe for concurrent use.
type Live struct {
	making   sync.Once // guards the next three, and the first changed
	deadline time.Duration
	max      int
	fallback *Buffered

	mu      sync.Mutex
	asked   []*inquiry    // those a call waits for, in the order asked
	changed chan struct{} // closed and replaced when asked grew or the host closed
	closed  bool
}

var _ Asker = (*Live)(nil)

// inquiry is a question that calls of Ask wait for.
type inquiry struct {
	question Question
	until    time.Time
	state    state
	seen     bool // Next returned it
	answer   Answer
	calls    int           // that wait for it
	settled  chan struct{} // closed when it is no longer waiting
	left     chan struct{} // closed when no call is left
}

type state int

const (
	waiting   state = iota
	answered        // the calls return the answer
	expired         // the calls go to the fallback
	abandoned       // of one call: it gives up, others may wait on
)

// NewLive returns a channel that waits for the host.
func NewLive(o LiveOptions) *Live {
	l := new(Live)
	l.making.Do(func() { l.fill(o) })
	return l
}

// ready fills a Live that was not made by NewLive.
func (l *Live) ready() {
	l.making.Do(func() { l.fill(LiveOptions{}) })
}

func (l *Live) fill(o LiveOptions) {
	if o.Deadline <= 0 {
		o.Deadline = 5 * time.Minute
	}
	if o.Waiting <= 0 {
		o.Waiting = 16
	}
	if o.Fallback == nil {
		o.Fallback = NewBuffered(new(MemoryStore))
	}
	l.deadline, l.max, l.fallback, l.changed = o.Deadline, o.Waiting, o.Fallback, make(chan struct{})
}

// Fallback returns the channel that records what got no answer in time.
func (l *Live) Fallback() *Buffered {
	l.ready()
	return l.fallback
}

// Ask implements [Asker]: it waits for the host's answer, and past the deadline
// returns what the fallback says.
func (l *Live) Ask(ctx context.Context, q Question) (Answer, error) {
	l.ready()
	if err := check(ctx, q); err != nil {
		return Answer{}, err
	}
	held, err := l.fallback.holds(ctx, q)
	if err != nil {
		return Answer{}, err
	}
	if held {
		return l.fallback.Ask(ctx, q)
	}
	a, err := l.join(q)
	if err != nil {
		return Answer{}, err
	}
	timer := time.NewTimer(time.Until(a.until))
	defer timer.Stop()
	select {
	case <-a.settled:
	case <-timer.C:
	case <-ctx.Done():
	}
	err = ctx.Err()
	switch l.settle(a, err) {
	case answered: // the host was told so, even where the context ended since
		return a.answer, nil
	case expired:
		defer l.leave(a)
		return l.fallback.Ask(ctx, a.question)
	default:
		return Answer{}, err
	}
}

// join makes the caller one of those who wait for q.
func (l *Live) join(q Question) (*inquiry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := 0
	for _, a := range l.asked {
		if a.question.Same(q) {
			a.calls++
			return a, nil
		}
		if q.ID != "" && a.question.ID == q.ID {
			return nil, errors.New("channel: the question has the ID of another one")
		}
		if a.state == waiting {
			count++
		}
	}
	if count >= l.max {
		return nil, &LimitError{Limit: "Waiting", Max: l.max}
	}
	q = q.clone()
	if q.ID == "" {
		q.ID = rand.Text()
	}
	q.AskedAt = now()
	a := &inquiry{
		question: q,
		until:    time.Now().Add(l.deadline),
		calls:    1,
		settled:  make(chan struct{}),
		left:     make(chan struct{}),
	}
	if l.closed {
		a.expire()
	}
	l.asked = append(l.asked, a)
	l.wake()
	return a, nil
}

// settle returns what a call that has waited for a does now: it returns the
// answer, goes to the fallback, or gives up where its context ended with err.
// Unless it goes to the fallback it has left, in the same step: an answer that
// is accepted has a call that returns it.
func (l *Live) settle(a *inquiry, err error) state {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		a.expire()
	}
	does := a.state
	if err != nil && does != answered {
		does = abandoned
	}
	if does != expired {
		l.remove(a)
	}
	return does
}

// expire ends the wait for a; the lock is held.
func (a *inquiry) expire() {
	if a.state == waiting {
		a.state = expired
		close(a.settled)
	}
}

func (l *Live) leave(a *inquiry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(a)
}

// remove takes one call off a, and the last one takes a out; the lock is held.
func (l *Live) remove(a *inquiry) {
	a.calls--
	if a.calls == 0 {
		l.asked = slices.DeleteFunc(l.asked, func(other *inquiry) bool { return other == a })
		close(a.left)
	}
}

// wake lets every Next look again; the lock is held.
func (l *Live) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Next returns the question asked first of those that it has not returned yet
// and that still wait, and waits until there is one. Of several callers each
// gets other questions. Errors: [ErrClosed] and that of ctx.
func (l *Live) Next(ctx context.Context) (Question, error) {
	a, err := l.next(ctx)
	if err != nil {
		return Question{}, err
	}
	return a.question.clone(), nil
}

func (l *Live) next(ctx context.Context) (*inquiry, error) {
	l.ready()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l.mu.Lock()
		for _, a := range l.asked {
			if a.state == waiting && !a.seen {
				a.seen = true
				l.mu.Unlock()
				return a, nil
			}
		}
		changed, closed := l.changed, l.closed
		l.mu.Unlock()
		if closed {
			return nil, ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Waiting returns the questions that wait, in the order in which they were
// asked, also those that Next returned: what a host shows after it lost track.
func (l *Live) Waiting() []Question {
	l.mu.Lock()
	defer l.mu.Unlock()
	var qs []Question
	for _, a := range l.asked {
		if a.state == waiting {
			qs = append(qs, a.question.clone())
		}
	}
	return qs
}

// Answer answers the question of that ID. Without an error, either a call of
// Ask returns the answer or the fallback has it, in which case the agent gets
// it when it asks again. A second answer to a question that did not reach the
// fallback is an [ErrNoQuestion]. Errors: those of [Buffered.Answer], and that
// of ctx while the question is being recorded in the fallback.
func (l *Live) Answer(ctx context.Context, questionID, text string) error {
	l.ready()
	l.mu.Lock()
	i := slices.IndexFunc(l.asked, func(a *inquiry) bool { return a.question.ID == questionID })
	if i < 0 || l.asked[i].state == answered {
		l.mu.Unlock()
		return l.fallback.Answer(ctx, questionID, text)
	}
	a := l.asked[i]
	if a.state == waiting {
		defer l.mu.Unlock()
		answer, err := a.question.reply(text)
		if err != nil {
			return err
		}
		a.answer, a.state = answer, answered
		close(a.settled)
		return nil
	}
	l.mu.Unlock()
	// The fallback may not have the question yet.
	select {
	case <-a.left:
		return l.fallback.Answer(ctx, questionID, text)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close says that the host is gone: every question that waits goes to the
// fallback now, and every later one at once. Next returns [ErrClosed]. Answer
// keeps working. Close does not wait and can be called again.
func (l *Live) Close() {
	l.ready()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, a := range l.asked {
		a.expire()
	}
	l.wake()
}
