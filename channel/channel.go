package channel

import (
	"context"
	"errors"
	"time"
)

// ErrBlocked says that a question was recorded and that its answer will not
// come while this turn lasts: the agent ends its turn, and the host resumes the
// run once it has the answer. [BlockedError] carries the question and matches
// ErrBlocked with errors.Is.
var ErrBlocked = errors.New("channel: the run is blocked on a question")

// Asker puts a question to the user.
type Asker interface {
	// Ask returns the answer, or an error that is [ErrBlocked] when the answer
	// will not come in time. It ends with its context. It is called
	// concurrently.
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Summarizer takes the agent's report of what it did.
type Summarizer interface {
	// ReportSummary keeps the summary; a later one replaces it. It is called
	// concurrently.
	ReportSummary(ctx context.Context, s Summary) error
}

// Spawner starts work beside the run.
type Spawner interface {
	// SpawnSubtask creates the subtask, once for each key of the run: called
	// again with a key that it knows, it returns the subtask that it created
	// then. It is called concurrently.
	SpawnSubtask(ctx context.Context, spec SubtaskSpec) (Subtask, error)
}

// Recorder takes the steps of the run as they happen.
type Recorder interface {
	// RecordProgress keeps the step. It is called concurrently.
	RecordProgress(ctx context.Context, p Progress) error
}

// AgentChannel is everything an agent can say to its host. A host that wants
// to offer less implements only some of the four interfaces; see [Parts].
//
// Errors of all four are for the host, unless they are an [AgentError], which
// the agent may read, or [ErrBlocked].
type AgentChannel interface {
	Asker
	Summarizer
	Spawner
	Recorder
}

// Question is what an agent wants to know from the user.
type Question struct {
	// ID names the question within its run. The channel that records it
	// chooses one where it is empty.
	ID string `json:"id,omitempty"`
	// Text is the question itself, never empty.
	Text string `json:"text"`
	// Choices are the answers the agent proposes, in its order; may be empty.
	Choices []string `json:"choices,omitempty"`
	// OnlyChoices refuses an answer that is none of the choices. It means
	// nothing without choices.
	OnlyChoices bool `json:"onlyChoices,omitempty"`
	// AskedAt is when the channel took the question.
	AskedAt time.Time `json:"askedAt,omitzero"`
}

// Answer is the user's answer to a question.
type Answer struct {
	// QuestionID is the question that it answers.
	QuestionID string `json:"questionId,omitempty"`
	// Text is the answer, one of the choices or free text.
	Text string `json:"text"`
	// AnsweredAt is when the host gave it.
	AnsweredAt time.Time `json:"answeredAt,omitzero"`
}

// Summary is the agent's report at the end of its work.
type Summary struct {
	// Text is the report, never empty.
	Text string `json:"text"`
	// ReportedAt is when the channel took it. It is zero where a host's own
	// Summarizer gets the summary.
	ReportedAt time.Time `json:"reportedAt,omitzero"`
}

// SubtaskSpec describes work that an agent hands to its host.
type SubtaskSpec struct {
	// Key makes the request repeatable: the same key in the same run means the
	// same subtask. It is never empty where a channel is called; a tool that
	// lets the agent leave it out derives one.
	Key string `json:"key"`
	// Title is one line, never empty.
	Title string `json:"title"`
	// Prompt is what the subtask has to do, never empty.
	Prompt string `json:"prompt"`
}

// Subtask is a subtask that the host has taken.
type Subtask struct {
	// ID is the host's name for it.
	ID string `json:"id"`
	// Key is the key of the request that created it.
	Key string `json:"key"`
	// Existing says that an earlier request with this key created it.
	Existing bool `json:"existing,omitempty"`
}

// Progress is one step of a run.
type Progress struct {
	// Text is what was done or is being done, never empty.
	Text string `json:"text"`
	// Percent is how much of the run is done, 0 to 100, or nil where the agent
	// does not say.
	Percent *float64 `json:"percent,omitempty"`
	// RecordedAt is when the channel took it.
	RecordedAt time.Time `json:"recordedAt,omitzero"`
}

// BlockedError is the error of an [Asker] whose answer will come later, if at
// all. errors.Is matches it with [ErrBlocked].
type BlockedError struct {
	Question Question
}

// Error says that the run is blocked, without the question's text.
func (e *BlockedError) Error() string { return ErrBlocked.Error() }

// Is reports whether target is [ErrBlocked].
func (e *BlockedError) Is(target error) bool { return target == ErrBlocked }
