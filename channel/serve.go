package channel

import (
	"context"
	"errors"
)

// Serve asks a user: it calls answer for one question after the other, in the order
// in which they were asked, and answers the question with what answer returns. It
// ends with its context, with [Live.Close], or with the first error of answer, and
// then closes the Live, so that what has no answer yet is recorded in the fallback.
// It is run in a goroutine of its own:
//
//	go live.Serve(ctx, func(ctx context.Context, q channel.Question) (string, error) {
//		return ask(ctx, q.Text, q.Choices)
//	})
//
// The context of answer also ends when nobody waits for that answer any more: the
// agent has gone, or somebody else has answered. Then what answer returns counts for
// nothing. Where the deadline of the question has passed it goes on, and the answer
// goes to the fallback.
//
// Serve returns nil after Close, the error of ctx, or that of answer. An answer that
// cannot be taken ends it too: one that is none of the choices ([ErrNotChoice]) or empty, or one
// that the fallback fails to record. One that comes too late to be of use to anybody
// does not.
func (l *Live) Serve(ctx context.Context, answer func(ctx context.Context, q Question) (string, error)) error {
	defer l.Close()
	for {
		a, err := l.next(ctx)
		if errors.Is(err, ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := l.serve(ctx, a, answer); err != nil {
			return err
		}
	}
}

// serve answers one question.
func (l *Live) serve(ctx context.Context, a *inquiry, answer func(ctx context.Context, q Question) (string, error)) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-a.left:
			if l.unwanted(a) {
				cancel()
			}
		case <-asking.Done():
		}
	}()
	q := a.question.clone()
	text, err := answer(asking, q)
	switch {
	case ctx.Err() != nil && err != nil:
		return ctx.Err()
	case asking.Err() != nil && ctx.Err() == nil:
		return nil // of no use to anybody
	case err != nil:
		return err
	}
	if err := l.Answer(ctx, q.ID, text); err != nil && !errors.Is(err, ErrNoQuestion) && !errors.Is(err, ErrAnswered) {
		return err
	}
	return nil
}

// unwanted reports whether a question that no call waits for any more needs no
// answer: unlike one whose deadline has passed, it is in no fallback.
func (l *Live) unwanted(a *inquiry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return a.state != expired
}
