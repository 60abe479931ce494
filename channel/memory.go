package channel

import (
	"context"
	"slices"
	"strconv"
	"sync"
)

// What a MemoryStore holds at most.
const (
	maxStoredSubtasks = 1_000
	maxStoredSteps    = 10_000
)

// MemoryStore is a [Store] in memory, for tests and for starting out: what it
// holds is gone with the process. The zero value is ready for use. It is safe
// for concurrent use and must not be copied.
//
// It holds one question, one summary, 1,000 subtasks and 10,000 steps, and
// refuses more with a [LimitError]. How long their texts are is bounded by
// [Limit].
type MemoryStore struct {
	mu       sync.Mutex
	exchange Exchange
	summary  Summary
	specs    []SubtaskSpec
	byKey    map[string]int // index in specs
	steps    []Progress
}

var _ Store = (*MemoryStore)(nil)

// LoadExchange implements [QuestionStore].
func (m *MemoryStore) LoadExchange(ctx context.Context) (Exchange, error) {
	if err := ctx.Err(); err != nil {
		return Exchange{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.exchange
	e.Question = e.Question.clone()
	return e, nil
}

// SaveExchange implements [QuestionStore].
func (m *MemoryStore) SaveExchange(ctx context.Context, e Exchange) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.exchange.Revision+1 != e.Revision {
		return ErrConflict
	}
	e.Question = e.Question.clone()
	m.exchange = e
	return nil
}

// LoadSummary implements [SummaryStore].
func (m *MemoryStore) LoadSummary(ctx context.Context) (Summary, error) {
	if err := ctx.Err(); err != nil {
		return Summary{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.summary, nil
}

// SaveSummary implements [SummaryStore].
func (m *MemoryStore) SaveSummary(ctx context.Context, s Summary) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.summary = s
	return nil
}

// AddSubtask implements [SubtaskStore]. It names the subtasks subtask-1,
// subtask-2 and so on.
func (m *MemoryStore) AddSubtask(ctx context.Context, spec SubtaskSpec) (Subtask, error) {
	if err := ctx.Err(); err != nil {
		return Subtask{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i, existing := m.byKey[spec.Key]
	if !existing {
		i = len(m.specs)
		if i >= maxStoredSubtasks {
			return Subtask{}, &LimitError{Limit: "Subtasks", Max: maxStoredSubtasks}
		}
		if m.byKey == nil {
			m.byKey = make(map[string]int)
		}
		m.specs = append(m.specs, spec)
		m.byKey[spec.Key] = i
	}
	return Subtask{ID: subtaskID(i), Key: spec.Key, Existing: existing}, nil
}

func subtaskID(i int) string { return "subtask-" + strconv.Itoa(i+1) }

// AddProgress implements [ProgressStore].
func (m *MemoryStore) AddProgress(ctx context.Context, p Progress) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.steps) >= maxStoredSteps {
		return &LimitError{Limit: "Steps", Max: maxStoredSteps}
	}
	m.steps = append(m.steps, p.clone())
	return nil
}

// Subtasks returns the specs of the subtasks in the order in which they were
// created: the first is that of subtask-1.
func (m *MemoryStore) Subtasks() []SubtaskSpec {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.specs)
}

// Progress returns the steps in the order in which they were recorded.
func (m *MemoryStore) Progress() []Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	steps := make([]Progress, len(m.steps))
	for i, p := range m.steps {
		steps[i] = p.clone()
	}
	return steps
}
