package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Event is something that an agent said and a channel took. Kind says which of
// the other fields hold something.
type Event struct {
	// Kind is what happened.
	Kind EventKind `json:"kind"`
	// At is when the channel had taken it.
	At time.Time `json:"at"`
	// Question is what was asked: of a [BlockedError] as the channel recorded
	// it, and otherwise as the agent asked it.
	Question Question `json:"question,omitzero"`
	// Answer is what the agent got for an answer.
	Answer Answer `json:"answer,omitzero"`
	// Summary is what was reported.
	Summary Summary `json:"summary,omitzero"`
	// Spec is what was to be created, Subtask what the run has for it.
	Spec    SubtaskSpec `json:"spec,omitzero"`
	Subtask Subtask     `json:"subtask,omitzero"`
	// Progress is the step.
	Progress Progress `json:"progress,omitzero"`
	// Missed is how many events before this one were dropped because the
	// observer was too slow.
	Missed int `json:"missed,omitempty"`
}

// EventKind is what happened.
type EventKind string

// The kinds of events.
const (
	EventBlocked  EventKind = "blocked"  // a question blocks the run: Question
	EventAnswered EventKind = "answered" // a question got its answer: Question and Answer
	EventSummary  EventKind = "summary"  // a summary was reported: Summary
	EventSubtask  EventKind = "subtask"  // a subtask was asked for and exists: Spec and Subtask
	EventProgress EventKind = "progress" // a step was recorded: Progress
)

// Observer hears what happens in a run.
type Observer interface {
	// Observe is called for one event of the run at a time, in the order in
	// which the calls ended, on a goroutine of its own. The event is the
	// observer's to keep.
	Observe(e Event)
}

// ObserverFunc is a function that is an [Observer].
type ObserverFunc func(e Event)

// Observe calls f.
func (f ObserverFunc) Observe(e Event) { f(e) }

// ObserveOptions choose who hears what happens in a run.
type ObserveOptions struct {
	// Observers are told of each event, independently of each other.
	Observers []Observer
	// Queue is how many events wait for one observer, default 256. Of more the
	// oldest are dropped, and counted in Missed of the event after them.
	Queue int
	// Backlog, if set, counts the events that wait, so that a host can wait for
	// them before it exits. One Backlog serves any number of runs.
	Backlog *Backlog
	// Logger hears of observers that panic, with the stack but without the
	// value. nil is silent.
	Logger *slog.Logger
}

// Observe returns parts that do what p does and tell the observers of all that
// succeeded, and of questions that block. What fails or is refused is no event.
//
// No observer can hold up, fail or end a run: each has a queue of its own and a
// goroutine only while events are in it, one at most. A panic ends that one
// call. What a run must not lose belongs in the [Store], not into an
// observer; what observers have not heard yet when the process exits is lost
// unless the host waits for it ([Backlog.Wait]).
//
// The parts are safe for concurrent use. An Observer given to several runs is
// called by each of them concurrently.
func Observe(p Parts, o ObserveOptions) Parts {
	if o.Queue <= 0 {
		o.Queue = 256
	}
	var all fanOut
	for _, ob := range o.Observers {
		if ob != nil {
			all = append(all, &queue{observer: ob, max: o.Queue, backlog: o.Backlog, logger: o.Logger})
		}
	}
	var observed Parts
	if p.Asker != nil {
		observed.Asker = askFunc(func(ctx context.Context, q Question) (Answer, error) {
			answer, err := p.Asker.Ask(ctx, q)
			var blocked *BlockedError
			switch {
			case err == nil:
				all.tell(Event{Kind: EventAnswered, Question: q, Answer: answer})
			case errors.As(err, &blocked):
				all.tell(Event{Kind: EventBlocked, Question: blocked.Question})
			case errors.Is(err, ErrBlocked):
				all.tell(Event{Kind: EventBlocked, Question: q})
			}
			return answer, err
		})
	}
	if p.Summarizer != nil {
		observed.Summarizer = reportFunc(func(ctx context.Context, s Summary) error {
			err := p.Summarizer.ReportSummary(ctx, s)
			if err == nil {
				all.tell(Event{Kind: EventSummary, Summary: s})
			}
			return err
		})
	}
	if p.Spawner != nil {
		observed.Spawner = spawnFunc(func(ctx context.Context, spec SubtaskSpec) (Subtask, error) {
			sub, err := p.Spawner.SpawnSubtask(ctx, spec)
			if err == nil {
				all.tell(Event{Kind: EventSubtask, Spec: spec, Subtask: sub})
			}
			return sub, err
		})
	}
	if p.Recorder != nil {
		observed.Recorder = recordFunc(func(ctx context.Context, step Progress) error {
			err := p.Recorder.RecordProgress(ctx, step)
			if err == nil {
				all.tell(Event{Kind: EventProgress, Progress: step})
			}
			return err
		})
	}
	return observed
}

type fanOut []*queue

func (f fanOut) tell(e Event) {
	e.At = now()
	for _, q := range f {
		own := e
		own.Question, own.Progress = e.Question.clone(), e.Progress.clone()
		q.put(own)
	}
}

// queue is the events that wait for one observer.
type queue struct {
	observer Observer
	max      int
	backlog  *Backlog
	logger   *slog.Logger

	mu      sync.Mutex
	events  []Event
	missed  int  // dropped before events[0]
	running bool // a goroutine empties the queue
}

func (q *queue) put(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) == q.max {
		q.events[0] = Event{} // the array behind it stays for a while
		q.events = q.events[1:]
		q.missed++
	} else {
		q.backlog.add(1)
	}
	q.events = append(q.events, e)
	if !q.running {
		q.running = true
		go q.run()
	}
}

// run empties the queue and ends.
func (q *queue) run() {
	for {
		e, ok := q.take()
		if !ok {
			return
		}
		q.deliver(e)
	}
}

func (q *queue) take() (Event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) == 0 {
		q.events = nil
		q.running = false
		return Event{}, false
	}
	e := q.events[0]
	e.Missed, q.missed = q.missed, 0
	q.events[0] = Event{}
	q.events = q.events[1:]
	return e, true
}

func (q *queue) deliver(e Event) {
	returned := false
	defer q.backlog.add(-1)
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil { // runtime.Goexit: this goroutine ends
			go q.run()
			return
		}
		q.log(e.Kind, v)
	}()
	q.observer.Observe(e)
	returned = true
}

// log notes a panic. What the host gave, the value and the logger, can panic
// once more.
func (q *queue) log(kind EventKind, v any) {
	if q.logger == nil {
		return
	}
	defer func() { recover() }()
	what := fmt.Sprintf("%T", v)
	if re, ok := v.(runtime.Error); ok {
		what = re.Error()
	}
	q.logger.Error("channel: an observer panicked", "kind", string(kind), "panic", what, "stack", string(debug.Stack()))
}
