package channel

import (
	"errors"
	"fmt"
	"time"
)

// Errors to be matched with errors.Is. The first three are what an agent can
// be told: errors of these kinds are an [AgentError]. The others are for the
// host.
var (
	// ErrInvalid: what was said breaks the form that its type asks for.
	ErrInvalid = errors.New("channel: invalid")
	// ErrPending: a question was refused because another one of the run waits
	// for its answer. See [PendingError].
	ErrPending = errors.New("channel: another question is pending")
	// ErrLimit: a limit of the run was reached. See [LimitError].
	ErrLimit = errors.New("channel: over a limit")

	// ErrNoQuestion: no question of this ID waits for an answer. It never
	// existed, was withdrawn, or another question followed it.
	ErrNoQuestion = errors.New("channel: no such question is waiting for an answer")
	// ErrAnswered: the question has another answer already, which stands.
	ErrAnswered = errors.New("channel: the question is answered already")
	// ErrNotChoice: the question takes one of its choices only.
	ErrNotChoice = errors.New("channel: the answer is none of the choices")
	// ErrClosed: the host closed the [Live] channel.
	ErrClosed = errors.New("channel: closed")
	// ErrConflict is what a [QuestionStore] returns when the exchange to save
	// does not follow the one that it holds.
	ErrConflict = errors.New("channel: the exchange was changed meanwhile")
)

// AgentError is an error that the agent may read. AgentText is written for it:
// what was refused, and what to do instead. It holds no detail of the host.
//
// A tool layer shows the agent nothing of any other error: a store's message
// can name hosts, tables or other users. See [AgentText].
type AgentError interface {
	error
	// AgentText returns the text for the agent.
	AgentText() string
}

// AgentText returns the text of the first [AgentError] in the chain of err, and
// whether there is one. A [BlockedError] is none: it is an outcome that a tool
// layer puts into words itself.
func AgentText(err error) (text string, ok bool) {
	var ae AgentError
	if !errors.As(err, &ae) {
		return "", false
	}
	return ae.AgentText(), true
}

// Refusal is an [AgentError] with a text of its own. A host returns one from
// its own channel or store to tell the agent why something is not done.
type Refusal struct {
	// Text is for the agent.
	Text string
	// Err is the cause, or nil. The agent is not shown it.
	Err error
}

// Error is for the host: the cause, then the text.
func (e *Refusal) Error() string {
	if e.Err == nil {
		return "channel: refused: " + e.Text
	}
	return e.Err.Error() + ": " + e.Text
}

// Unwrap returns the cause.
func (e *Refusal) Unwrap() error { return e.Err }

// AgentText returns Text.
func (e *Refusal) AgentText() string { return e.Text }

func invalid(text string) error { return &Refusal{Text: text, Err: ErrInvalid} }

// PendingError refuses a question because another one is pending. errors.Is
// matches it with [ErrPending].
type PendingError struct {
	// Pending is the question that waits.
	Pending Question
}

// Error says that another question is pending, without its text.
func (e *PendingError) Error() string { return ErrPending.Error() }

// Is reports whether target is [ErrPending].
func (e *PendingError) Is(target error) bool { return target == ErrPending }

// AgentText tells the agent to end its turn.
func (e *PendingError) AgentText() string {
	return "This question was not recorded: an earlier question of yours is still waiting for its answer, " +
		"and only one can wait at a time. Do not ask again. End your turn now; you will be resumed when the " +
		"earlier question is answered."
}

// LimitError says which limit of the run was reached. errors.Is matches it with
// [ErrLimit].
type LimitError struct {
	// Limit is the name of the limit: that of the field of [Limits],
	// [LiveOptions] or [MemoryStore] that holds it, such as "Subtasks".
	Limit string
	// Max is its value.
	Max int
	// RetryAfter is how long to wait before the same can succeed, zero where
	// waiting does not help.
	RetryAfter time.Duration
}

// Error names the limit and its value.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: %s, %d", ErrLimit, e.Limit, e.Max)
}

// Is reports whether target is [ErrLimit].
func (e *LimitError) Is(target error) bool { return target == ErrLimit }

// AgentText says what to change.
func (e *LimitError) AgentText() string {
	if what, ok := sizeNames[e.Limit]; ok {
		return fmt.Sprintf("Not taken: the %s is too long. It can have %d characters at most; shorten it.", what, e.Max)
	}
	switch e.Limit {
	case "Choices":
		return fmt.Sprintf("Not taken: too many choices. A question can have %d at most.", e.Max)
	case "Questions":
		return fmt.Sprintf("Not asked: the limit of questions for this run, %d, is used up. Decide yourself, and say so in the summary.", e.Max)
	case "Waiting":
		return fmt.Sprintf("Not asked: the limit of questions that wait at the same time, %d, is used up. Wait for their answers before you ask more.", e.Max)
	case "Subtasks":
		return fmt.Sprintf("Not created: the limit of subtasks for this run, %d, is used up. Do the work yourself, or name it in the summary.", e.Max)
	case "Steps":
		return fmt.Sprintf("Not recorded: the limit of progress steps for this run, %d, is used up. Go on with the work without recording.", e.Max)
	case "ProgressPerMinute":
		return fmt.Sprintf("Not recorded: too many progress steps in a short time. Go on with the work and record %d a minute at most.", e.Max)
	}
	return fmt.Sprintf("Not taken: over a limit of this run, which is %d.", e.Max)
}
