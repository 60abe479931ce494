package channel

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// repeatWindow is how long an answer that was taken is handed out again. It is
// longer than the 60 seconds after which MCP clients give a call up.
const repeatWindow = 2 * time.Minute

// maxConflicts bounds how often one call is overtaken by others. Each time
// another one got its work done, so that only a broken store comes near.
const maxConflicts = 100

// Buffered is the channel of a host that records and resumes: it keeps what the
// agent says in a [Store], never waits for a person, and tells the agent that
// asks to end its turn. The host reads the question after the run, or while it
// goes on, gives the answer when it has one, and resumes the agent with a new
// run on the same store. Make one with [NewBuffered]: the zero Buffered has no
// store, and all of its methods fail.
//
// # Questions
//
// A run has one question at a time. [Buffered.Ask] records it and returns a
// [BlockedError]. While it is pending, the same question asked again gets the
// same error with the same ID, so that a client which lost the response can
// repeat its call; any other question is refused with a [PendingError] and
// nothing is recorded.
//
// Once it is answered, the same question asked again takes the answer: the
// resumed agent need only repeat it. A question is the same if
// [Question.Same] says so. For two minutes the answer is handed out again, for
// a client that lost it; after that the same question is a new one, because a
// consent given once does not stand for ever. Asking anything else is a new
// question too, and an answer that was not taken is then replaced: the host
// that resumes gives it to the agent in the prompt.
//
// # What a call leaves behind
//
// Buffered itself holds nothing. Each call changes the store once, at its end;
// what the store keeps in one step is never half there. If a method returns
// without an error, or Ask with a BlockedError, the store has it, and every
// later read sees it, even where the context ended meanwhile. If the context
// ended before the call, nothing is kept. If the store fails, its error is
// returned, wrapped, and it is the store that knows whether the change was
// made; the call can be repeated: the same question is recorded once, the same
// key means one subtask, the last summary stands. Only a step of progress can
// stand twice.
//
// Any number of Buffered, in any number of processes, can use stores of the
// same run at the same time. All methods are safe for concurrent use. Of
// summaries reported at the same time, one is kept.
type Buffered struct {
	store Store
}

var _ AgentChannel = (*Buffered)(nil)

// NewBuffered returns a channel that keeps everything in s. It panics if s is
// nil.
func NewBuffered(s Store) *Buffered {
	if s == nil {
		panic("channel: NewBuffered without a store")
	}
	return &Buffered{store: s}
}

var errNoStore = errors.New("channel: a Buffered has no store: make one with NewBuffered")

// kept returns the store.
func (b *Buffered) kept() (Store, error) {
	if b == nil || b.store == nil {
		return nil, errNoStore
	}
	return b.store, nil
}

// Ask implements [Asker]: it records the question and returns a
// [BlockedError], or returns the answer to a question asked before.
func (b *Buffered) Ask(ctx context.Context, q Question) (Answer, error) {
	if err := q.Validate(); err != nil {
		return Answer{}, err
	}
	var answer Answer
	var blocked error
	err := b.update(ctx, func(e *Exchange) (changed bool, err error) {
		answer, blocked = Answer{}, nil
		at := now()
		switch {
		case e.Pending() && e.Question.Same(q):
			return false, &BlockedError{Question: e.Question}
		case e.Pending():
			return false, &PendingError{Pending: e.Question}
		case e.answers(q, at):
			answer = e.Answer
			if !e.TakenAt.IsZero() {
				return false, nil
			}
			e.TakenAt = at
			return true, nil
		case q.ID != "" && q.ID == e.Question.ID:
			// An answer to the one could pass for an answer to the other.
			return false, errors.New("channel: the question has the ID of another one")
		}
		next := q.clone()
		if next.ID == "" {
			next.ID = rand.Text()
		}
		next.AskedAt = at
		e.Question, e.Answer, e.TakenAt = next, Answer{}, time.Time{}
		blocked = &BlockedError{Question: next}
		return true, nil
	})
	if err != nil {
		return Answer{}, err
	}
	return answer, blocked
}

// holds reports whether Ask would find q pending or answered.
func (b *Buffered) holds(ctx context.Context, q Question) (bool, error) {
	e, err := b.Exchange(ctx)
	return err == nil && (e.Pending() && e.Question.Same(q) || e.answers(q, now())), err
}

// ReportSummary implements [Summarizer]: the last summary is kept.
func (b *Buffered) ReportSummary(ctx context.Context, s Summary) error {
	store, err := b.check(ctx, s)
	if err != nil {
		return err
	}
	s.ReportedAt = now()
	return wrap("keeping the summary", store.SaveSummary(ctx, s))
}

// SpawnSubtask implements [Spawner]: the store has the subtask when it returns.
func (b *Buffered) SpawnSubtask(ctx context.Context, spec SubtaskSpec) (Subtask, error) {
	store, err := b.check(ctx, spec)
	if err != nil {
		return Subtask{}, err
	}
	sub, err := store.AddSubtask(ctx, spec)
	if err != nil {
		return Subtask{}, wrap("keeping the subtask", err)
	}
	return sub, nil
}

// RecordProgress implements [Recorder]: the store has the step when it returns.
func (b *Buffered) RecordProgress(ctx context.Context, p Progress) error {
	store, err := b.check(ctx, p)
	if err != nil {
		return err
	}
	p = p.clone()
	p.RecordedAt = now()
	return wrap("keeping the progress", store.AddProgress(ctx, p))
}

// PendingQuestion returns the question that waits for its answer; ok is false
// if none does.
func (b *Buffered) PendingQuestion(ctx context.Context) (q Question, ok bool, err error) {
	e, err := b.Exchange(ctx)
	if err != nil || !e.Pending() {
		return Question{}, false, err
	}
	return e.Question, true, nil
}

// ReportedSummary returns the summary reported last; ok is false if none was.
func (b *Buffered) ReportedSummary(ctx context.Context) (s Summary, ok bool, err error) {
	store, err := b.kept()
	if err != nil {
		return Summary{}, false, err
	}
	s, err = store.LoadSummary(ctx)
	if err != nil || s.Text == "" {
		return Summary{}, false, wrap("reading the summary", err)
	}
	return s, true, nil
}

// Exchange returns the latest question with its answer, if it has one, for the
// host that resumes the run.
func (b *Buffered) Exchange(ctx context.Context) (Exchange, error) {
	store, err := b.kept()
	if err != nil {
		return Exchange{}, err
	}
	e, err := store.LoadExchange(ctx)
	if err != nil {
		return Exchange{}, wrap("reading the question", err)
	}
	return e, nil
}

// Answer gives the pending question of that ID its answer. The same answer
// again changes nothing and is no error. Errors: [ErrNoQuestion], [ErrAnswered],
// [ErrNotChoice], [ErrInvalid] for a blank answer, and the store's.
func (b *Buffered) Answer(ctx context.Context, questionID, text string) error {
	return b.update(ctx, func(e *Exchange) (changed bool, err error) {
		switch {
		case questionID == "" || e.Question.ID != questionID:
			return false, ErrNoQuestion
		case e.Answered() && e.Answer.Text == text:
			return false, nil
		case e.Answered():
			return false, ErrAnswered
		}
		e.Answer, err = e.Question.reply(text)
		return err == nil, err
	})
}

// Withdraw drops the pending question of that ID, for a run that goes on
// without the answer. Errors: [ErrNoQuestion], [ErrAnswered] and the store's.
func (b *Buffered) Withdraw(ctx context.Context, questionID string) error {
	return b.update(ctx, func(e *Exchange) (changed bool, err error) {
		switch {
		case questionID == "" || e.Question.ID != questionID:
			return false, ErrNoQuestion
		case e.Answered():
			return false, ErrAnswered
		}
		e.Question = Question{}
		return true, nil
	})
}

// update changes the exchange in one step. Where another call was faster, it
// starts over, and change with it.
func (b *Buffered) update(ctx context.Context, change func(*Exchange) (changed bool, err error)) error {
	for range maxConflicts {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := b.Exchange(ctx)
		if err != nil {
			return err
		}
		changed, err := change(&e)
		if err != nil || !changed {
			return err
		}
		e.Revision++
		err = b.store.SaveExchange(ctx, e)
		if !errors.Is(err, ErrConflict) {
			return wrap("keeping the question", err)
		}
	}
	return wrap("keeping the question", ErrConflict)
}

// check returns the store, or refuses what cannot be kept.
func (b *Buffered) check(ctx context.Context, said interface{ Validate() error }) (Store, error) {
	if err := check(ctx, said); err != nil {
		return nil, err
	}
	return b.kept()
}

// check refuses what is said too late or in bad form.
func check(ctx context.Context, said interface{ Validate() error }) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return said.Validate()
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("channel: %s: %w", doing, err)
}
