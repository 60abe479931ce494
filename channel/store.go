package channel

import (
	"context"
	"time"
)

// Store keeps what the agent of one run said, for [Buffered]. A store is bound
// to its run by the host; no method takes an identity, and none comes from the
// agent.
//
// Each method does all of its work or none, and what it returned from without
// an error is seen by every later read, also by a read through another Store of
// the same run in another process. An error leaves open whether the work was
// done, as a broken connection does: what [Buffered] calls can be called again.
// All methods are called concurrently and should end with their context. An
// error goes to the host; the agent reads it only if it is an [AgentError].
//
// A host that offers fewer parts can keep fewer things: a struct that embeds
// the four interfaces is a Store with some of them nil.
type Store interface {
	QuestionStore
	SummaryStore
	SubtaskStore
	ProgressStore
}

// QuestionStore keeps the latest question of a run.
type QuestionStore interface {
	// LoadExchange returns what was saved last, the zero Exchange if nothing
	// was.
	LoadExchange(ctx context.Context) (Exchange, error)
	// SaveExchange replaces the exchange if e follows it, which is to say that
	// the revision it holds is e.Revision-1, and returns [ErrConflict]
	// otherwise. Comparing and replacing are one step. In SQL:
	//
	//	UPDATE runs SET exchange = $1, revision = $2 WHERE run = $3 AND revision = $2 - 1
	SaveExchange(ctx context.Context, e Exchange) error
}

// SummaryStore keeps the summary of a run.
type SummaryStore interface {
	// SaveSummary replaces the summary.
	SaveSummary(ctx context.Context, s Summary) error
	// LoadSummary returns what was saved last, the zero Summary if nothing was.
	LoadSummary(ctx context.Context) (Summary, error)
}

// SubtaskStore keeps the subtasks of a run.
type SubtaskStore interface {
	// AddSubtask creates the subtask and names it, unless the run has one of
	// the same key: that one it returns, with Existing set, whatever the rest
	// of the spec says. Looking and creating are one step, as with a unique
	// index on run and key.
	//
	// What starts the work should read it from the store. To start it here
	// after the write, or on the news of it, loses the subtask when the process
	// ends in between: asked again, it exists.
	AddSubtask(ctx context.Context, spec SubtaskSpec) (Subtask, error)
}

// ProgressStore keeps the steps of a run.
type ProgressStore interface {
	// AddProgress adds the step after the others.
	AddProgress(ctx context.Context, p Progress) error
}

// Exchange is the latest question of a run and what became of it. The zero
// value stands for no question.
type Exchange struct {
	// Revision counts the changes, from 1.
	Revision uint64 `json:"revision"`
	// Question is the question; it has no ID where it was withdrawn.
	Question Question `json:"question,omitzero"`
	// Answer is the answer; it has no AnsweredAt while there is none.
	Answer Answer `json:"answer,omitzero"`
	// TakenAt is when the agent took the answer by asking again.
	TakenAt time.Time `json:"takenAt,omitzero"`
}

// Pending reports whether the question waits for its answer.
func (e Exchange) Pending() bool { return e.Question.ID != "" && e.Answer.AnsweredAt.IsZero() }

// Answered reports whether there is an answer.
func (e Exchange) Answered() bool { return !e.Answer.AnsweredAt.IsZero() }

// answers reports whether the answer is one to q as well. One that was taken in
// the future, because the clock was set back since, does not stand until then.
func (e Exchange) answers(q Question, at time.Time) bool {
	return e.Answered() && e.Question.Same(q) && (e.TakenAt.IsZero() || at.Sub(e.TakenAt).Abs() <= repeatWindow)
}
