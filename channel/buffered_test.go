package channel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plugberth/plugberth/channel"
)

// [H2] A run asks, is blocked and ends; the host reads the question and gives
// the answer; a later run on the same store, after a restart, gets it.
func TestBufferedRecordAndResume(t *testing.T) {
	ctx := t.Context()
	store := newFileStore(t)
	first := channel.NewBuffered(store)
	q := channel.Question{Text: "Which database?", Choices: []string{"SQLite", "Postgres"}, OnlyChoices: true}

	_, ok, err := first.PendingQuestion(ctx)
	if ok || err != nil {
		t.Fatalf("a new run has a question: %v, %v", ok, err)
	}
	asked := blocked(t, first, q)
	noError(t, first.ReportSummary(ctx, channel.Summary{Text: "Waiting for the choice."}))

	host := channel.NewBuffered(fileStore{store.path, new(sync.Mutex)})
	pending, ok, err := host.PendingQuestion(ctx)
	if err != nil || !ok || pending.ID != asked.ID || !pending.Same(q) || !pending.AskedAt.Equal(asked.AskedAt) {
		t.Fatalf("PendingQuestion = %+v, %v, %v, want %+v", pending, ok, err, asked)
	}
	sum, ok, err := host.ReportedSummary(ctx)
	if err != nil || !ok || sum.Text != "Waiting for the choice." || sum.ReportedAt.IsZero() {
		t.Fatalf("ReportedSummary = %+v, %v, %v", sum, ok, err)
	}
	wantIs(t, host.Answer(ctx, pending.ID, "Oracle"), channel.ErrNotChoice)
	wantIs(t, host.Answer(ctx, pending.ID, " "), channel.ErrInvalid)
	wantIs(t, host.Answer(ctx, "another", "SQLite"), channel.ErrNoQuestion)
	wantIs(t, host.Answer(ctx, "", "SQLite"), channel.ErrNoQuestion)
	if _, ok, _ := host.PendingQuestion(ctx); !ok {
		t.Fatal("a refused answer took the question away")
	}
	noError(t, host.Answer(ctx, pending.ID, "SQLite"))
	noError(t, host.Answer(ctx, pending.ID, "SQLite")) // repeated
	wantIs(t, host.Answer(ctx, pending.ID, "Postgres"), channel.ErrAnswered)
	wantIs(t, host.Withdraw(ctx, pending.ID), channel.ErrAnswered)
	if _, ok, _ := host.PendingQuestion(ctx); ok {
		t.Fatal("an answered question is pending")
	}

	second := channel.NewBuffered(fileStore{store.path, new(sync.Mutex)})
	e, err := second.Exchange(ctx)
	if err != nil || !e.Answered() || e.Answer.Text != "SQLite" || !e.TakenAt.IsZero() {
		t.Fatalf("Exchange = %+v, %v", e, err)
	}
	for range 2 { // the second time for a client that lost the first
		a, err := second.Ask(ctx, q)
		if err != nil || a.Text != "SQLite" || a.QuestionID != asked.ID || a.AnsweredAt.IsZero() {
			t.Fatalf("asked again: %+v, %v", a, err)
		}
	}
	if e, _ := second.Exchange(ctx); e.TakenAt.IsZero() {
		t.Fatal("the host cannot see that the answer was taken")
	}
}

// [H2] One question at a time: the same one again is the same, another one is
// refused and the agent reads why.
func TestBufferedOnePending(t *testing.T) {
	b := channel.NewBuffered(new(channel.MemoryStore))
	asked := blocked(t, b, ask("A?", "yes", "no"))
	if again := blocked(t, b, ask("A?", "yes", "no")); again.ID != asked.ID {
		t.Fatalf("the repeated question has the ID %s, want %s", again.ID, asked.ID)
	}
	for _, q := range []channel.Question{
		ask("B?"), ask("A?"), ask("A?", "no", "yes"),
		{Text: "A?", Choices: []string{"yes", "no"}, OnlyChoices: true},
		{ID: asked.ID, Text: "B?"},
	} {
		_, err := b.Ask(t.Context(), q)
		wantIs(t, err, channel.ErrPending)
		var pe *channel.PendingError
		if !errors.As(err, &pe) || pe.Pending.ID != asked.ID {
			t.Fatalf("Ask(%+v) = %v, want a PendingError with the first question", q, err)
		}
		if text, ok := channel.AgentText(err); !ok || !strings.Contains(text, "End your turn") {
			t.Fatalf("the agent reads %q, %v", text, ok)
		}
		if errors.Is(err, channel.ErrBlocked) {
			t.Fatal("a refused question counts as recorded")
		}
	}
	if q, ok, err := b.PendingQuestion(t.Context()); err != nil || !ok || q.ID != asked.ID {
		t.Fatalf("PendingQuestion = %+v, %v, %v", q, ok, err)
	}
}

// [H2] An answer is for one question: another one replaces it, and the same one
// is new again when the time in which a client repeats a call is over.
func TestBufferedAnswerIsForOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		b := channel.NewBuffered(new(channel.MemoryStore))
		first := blocked(t, b, ask("Deploy?"))
		time.Sleep(100 * time.Hour)
		noError(t, b.Answer(ctx, first.ID, "yes"))
		time.Sleep(100 * time.Hour)
		for range 2 {
			a, err := b.Ask(ctx, ask("Deploy?"))
			if err != nil || a.Text != "yes" {
				t.Fatalf("Ask = %+v, %v", a, err)
			}
			time.Sleep(2 * time.Minute)
		}
		second := blocked(t, b, ask("Deploy?"))
		if second.ID == first.ID {
			t.Fatal("the new question has the ID of the old one")
		}
		wantIs(t, b.Answer(ctx, first.ID, "yes"), channel.ErrNoQuestion)

		noError(t, b.Answer(ctx, second.ID, "no"))
		blocked(t, b, ask("Something else?"))
		wantIs(t, b.Answer(ctx, second.ID, "no"), channel.ErrNoQuestion)
	})
}

// [H2] A clock that is set back lets no answer stand longer.
func TestBufferedClockSetBack(t *testing.T) {
	ctx := t.Context()
	store := new(channel.MemoryStore)
	b := channel.NewBuffered(store)
	first := blocked(t, b, ask("Deploy?"))
	noError(t, b.Answer(ctx, first.ID, "yes"))
	if _, err := b.Ask(ctx, ask("Deploy?")); err != nil {
		t.Fatal(err)
	}
	e, err := store.LoadExchange(ctx)
	noError(t, err)
	e.Revision++
	e.TakenAt = e.TakenAt.Add(time.Hour)
	noError(t, store.SaveExchange(ctx, e))
	if second := blocked(t, b, ask("Deploy?")); second.ID == first.ID {
		t.Error("the new question has the ID of the old one")
	}
}

func TestBufferedWithdraw(t *testing.T) {
	ctx := t.Context()
	b := channel.NewBuffered(new(channel.MemoryStore))
	wantIs(t, b.Withdraw(ctx, ""), channel.ErrNoQuestion)
	q := blocked(t, b, ask("A?"))
	wantIs(t, b.Withdraw(ctx, "another"), channel.ErrNoQuestion)
	noError(t, b.Withdraw(ctx, q.ID))
	if e, err := b.Exchange(ctx); err != nil || e.Pending() || e.Answered() || e.Revision != 2 {
		t.Fatalf("Exchange = %+v, %v", e, err)
	}
	wantIs(t, b.Answer(ctx, q.ID, "late"), channel.ErrNoQuestion)
	wantIs(t, b.Withdraw(ctx, q.ID), channel.ErrNoQuestion)
	blocked(t, b, ask("B?"))
}

func TestBufferedQuestionID(t *testing.T) {
	b := channel.NewBuffered(new(channel.MemoryStore))
	if q := blocked(t, b, channel.Question{ID: "mine", Text: "A?"}); q.ID != "mine" {
		t.Fatalf("the ID is %q", q.ID)
	}
	noError(t, b.Answer(t.Context(), "mine", "yes"))
	_, err := b.Ask(t.Context(), channel.Question{ID: "mine", Text: "B?"})
	if err == nil || errors.Is(err, channel.ErrBlocked) {
		t.Fatalf("two questions with one ID: %v", err)
	}
	if e, _ := b.Exchange(t.Context()); !e.Answered() {
		t.Fatal("the refused question took the answer away")
	}
}

// What the caller does with its slice later is its own business.
func TestBufferedKeepsItsOwnCopy(t *testing.T) {
	store := new(channel.MemoryStore)
	b := channel.NewBuffered(store)
	choices, percent := []string{"a", "b"}, 10.0
	q := blocked(t, b, ask("A?", choices...))
	noError(t, b.RecordProgress(t.Context(), channel.Progress{Text: "x", Percent: &percent}))
	choices[0], percent, q.Choices[1] = "changed", 99, "changed"
	*store.Progress()[0].Percent = 98
	pending, _, err := b.PendingQuestion(t.Context())
	noError(t, err)
	pending.Choices[0] = "changed"
	if e, _ := b.Exchange(t.Context()); !e.Question.Same(ask("A?", "a", "b")) {
		t.Fatalf("the store holds %+v", e.Question)
	}
	if p := store.Progress(); len(p) != 1 || *p[0].Percent != 10 {
		t.Fatalf("the store holds %+v", p)
	}
}

// [H2] [H4] The last summary wins; steps and subtasks are in the store when the
// call returns, steps in order.
func TestBufferedSummarySubtasksProgress(t *testing.T) {
	ctx := t.Context()
	store := new(channel.MemoryStore)
	b := channel.NewBuffered(store)
	if _, ok, err := b.ReportedSummary(ctx); ok || err != nil {
		t.Fatalf("a new run has a summary: %v, %v", ok, err)
	}
	for i := range 3 {
		text := fmt.Sprint("number ", i)
		noError(t, b.ReportSummary(ctx, channel.Summary{Text: text}))
		if s, ok, err := b.ReportedSummary(ctx); err != nil || !ok || s.Text != text {
			t.Fatalf("ReportedSummary = %+v, %v, %v", s, ok, err)
		}
		noError(t, b.RecordProgress(ctx, channel.Progress{Text: text}))
		steps := store.Progress()
		if len(steps) != i+1 || steps[i].Text != text || steps[i].RecordedAt.IsZero() {
			t.Fatalf("steps %+v", steps)
		}
		sub, err := b.SpawnSubtask(ctx, spec(text))
		if err != nil || sub.Existing || sub.Key != text || sub.ID != fmt.Sprint("subtask-", i+1) {
			t.Fatalf("SpawnSubtask = %+v, %v", sub, err)
		}
		other := spec(text)
		other.Prompt = "Said in other words."
		again, err := b.SpawnSubtask(ctx, other)
		if err != nil || !again.Existing || again.ID != sub.ID || again.Key != sub.Key {
			t.Fatalf("with the same key: %+v, %v, want %+v", again, err, sub)
		}
		if specs := store.Subtasks(); len(specs) != i+1 || specs[i] != spec(text) {
			t.Fatalf("subtasks %+v", specs)
		}
	}
}

// calls are the four calls of an agent.
var calls = []struct {
	name string
	call func(context.Context, channel.AgentChannel) error
}{
	{"ask", func(ctx context.Context, c channel.AgentChannel) error {
		_, err := c.Ask(ctx, ask("A?"))
		return err
	}},
	{"summary", func(ctx context.Context, c channel.AgentChannel) error {
		return c.ReportSummary(ctx, channel.Summary{Text: "Done."})
	}},
	{"subtask", func(ctx context.Context, c channel.AgentChannel) error {
		_, err := c.SpawnSubtask(ctx, spec("a"))
		return err
	}},
	{"progress", func(ctx context.Context, c channel.AgentChannel) error {
		return c.RecordProgress(ctx, channel.Progress{Text: "x"})
	}},
}

func contents(t *testing.T, store fileStore) runFile {
	t.Helper()
	r, err := store.read()
	noError(t, err)
	return r
}

func (r runFile) empty() bool {
	return r.Exchange.Revision == 0 && r.Summary == (channel.Summary{}) && len(r.Subtasks)+len(r.Progress) == 0
}

// [H4] A store that fails leaves nothing half recorded, its error is there for
// the host, and there is no text in it for the agent.
func TestBufferedStoreFails(t *testing.T) {
	for _, tt := range calls {
		t.Run(tt.name, func(t *testing.T) {
			store := newFileStore(t)
			faulty := &faultyStore{Store: store, write: func() error { return errStore }}
			b := channel.NewBuffered(faulty)
			err := tt.call(t.Context(), b)
			wantIs(t, err, errStore)
			if text, ok := channel.AgentText(err); ok {
				t.Fatalf("the agent would read %q", text)
			}
			if errors.Is(err, channel.ErrBlocked) {
				t.Fatal("the agent would believe that its question is recorded")
			}
			if r := contents(t, store); !r.empty() {
				t.Fatalf("the store holds %+v", r)
			}
			faulty.write = nil
			if err := tt.call(t.Context(), b); err != nil && !errors.Is(err, channel.ErrBlocked) {
				t.Fatal(err)
			}
			if contents(t, store).empty() {
				t.Fatal("nothing was kept once the store worked again")
			}
		})
	}
	t.Run("reads", func(t *testing.T) {
		b := channel.NewBuffered(&faultyStore{Store: newFileStore(t), read: func() error { return errStore }})
		_, _, err := b.PendingQuestion(t.Context())
		wantIs(t, err, errStore)
		_, _, err = b.ReportedSummary(t.Context())
		wantIs(t, err, errStore)
		wantIs(t, b.Answer(t.Context(), "x", "y"), errStore)
	})
}

// [H2] [H4] A write whose confirmation was lost: the call is repeated and finds
// what it did.
func TestBufferedConfirmationLost(t *testing.T) {
	for _, tt := range calls {
		t.Run(tt.name, func(t *testing.T) {
			store := newFileStore(t)
			faulty := &faultyStore{Store: store, wrote: func() error { return errStore }}
			b := channel.NewBuffered(faulty)
			wantIs(t, tt.call(t.Context(), b), errStore)
			faulty.wrote = nil
			before := contents(t, store)
			if err := tt.call(t.Context(), b); err != nil && !errors.Is(err, channel.ErrBlocked) {
				t.Fatal(err)
			}
			after := contents(t, store)
			if after.Exchange.Revision != before.Exchange.Revision || after.Exchange.Question.ID != before.Exchange.Question.ID {
				t.Errorf("the question was recorded twice: %+v, %+v", before.Exchange, after.Exchange)
			}
			if len(after.Subtasks) != len(before.Subtasks) {
				t.Errorf("a second subtask: %+v", after.Subtasks)
			}
			if after.Summary.Text != before.Summary.Text {
				t.Errorf("another summary: %+v", after.Summary)
			}
			if len(after.Progress) > 2 {
				t.Errorf("steps: %+v", after.Progress)
			}
		})
	}
}

// A context that ended before the call leaves nothing; one that ends after the
// write does not undo it.
func TestBufferedContext(t *testing.T) {
	for _, tt := range calls {
		t.Run(tt.name, func(t *testing.T) {
			store := newFileStore(t)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			wantIs(t, tt.call(ctx, channel.NewBuffered(store)), context.Canceled)
			if r := contents(t, store); !r.empty() {
				t.Fatalf("the store holds %+v", r)
			}

			ctx, cancel = context.WithCancel(t.Context())
			b := channel.NewBuffered(&faultyStore{Store: store, wrote: func() error { cancel(); return nil }})
			if err := tt.call(ctx, b); err != nil && !errors.Is(err, channel.ErrBlocked) {
				t.Fatal(err)
			}
			if contents(t, store).empty() {
				t.Fatal("what was reported as kept is not there")
			}
		})
	}
}

// What the store refuses in words for the agent reaches it.
func TestBufferedStoreRefuses(t *testing.T) {
	refusal := &channel.Refusal{Text: "The task is closed.", Err: errStore}
	b := channel.NewBuffered(&faultyStore{Store: new(channel.MemoryStore), write: func() error { return refusal }})
	for _, tt := range calls {
		err := tt.call(t.Context(), b)
		wantIs(t, err, errStore)
		if text, ok := channel.AgentText(err); !ok || text != "The task is closed." {
			t.Errorf("%s: the agent reads %q, %v", tt.name, text, ok)
		}
	}
}

// A store that always says that another call was faster ends the call.
func TestBufferedEndlessConflict(t *testing.T) {
	b := channel.NewBuffered(&faultyStore{Store: new(channel.MemoryStore), write: func() error { return channel.ErrConflict }})
	_, err := b.Ask(t.Context(), ask("A?"))
	wantIs(t, err, channel.ErrConflict)
}

func TestBufferedInvalid(t *testing.T) {
	store := newFileStore(t)
	b := channel.NewBuffered(store)
	ctx := t.Context()
	_, err := b.Ask(ctx, ask(" "))
	wantIs(t, err, channel.ErrInvalid)
	wantIs(t, b.ReportSummary(ctx, channel.Summary{}), channel.ErrInvalid)
	_, err = b.SpawnSubtask(ctx, channel.SubtaskSpec{Title: "t", Prompt: "p"})
	wantIs(t, err, channel.ErrInvalid)
	wantIs(t, b.RecordProgress(ctx, channel.Progress{}), channel.ErrInvalid)
	if r := contents(t, store); !r.empty() {
		t.Fatalf("the store holds %+v", r)
	}
}

func TestNewBufferedWithoutStore(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	channel.NewBuffered(nil)
}

// [H2] [H4] Many calls at once, over several channels of one run and stores
// opened separately: one question is recorded, one subtask made for each key,
// every step kept, and what a call returned is read at once.
func TestBufferedStorm(t *testing.T) {
	for _, tt := range []struct {
		name  string
		store func() channel.Store
		check func(*testing.T, channel.Store) (specs []channel.SubtaskSpec, steps []channel.Progress)
	}{
		{"memory", func() channel.Store { return new(channel.MemoryStore) },
			func(_ *testing.T, s channel.Store) ([]channel.SubtaskSpec, []channel.Progress) {
				m := s.(*channel.MemoryStore)
				return m.Subtasks(), m.Progress()
			}},
		{"file", func() channel.Store { return newFileStore(t) },
			func(t *testing.T, s channel.Store) ([]channel.SubtaskSpec, []channel.Progress) {
				r := contents(t, s.(fileStore))
				return r.Subtasks, r.Progress
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const agents, rounds, keys = 16, 6, 5
			ctx := t.Context()
			store := tt.store()
			var mu sync.Mutex
			recorded := map[string]bool{} // question IDs
			ids := map[string]string{}    // of subtasks by key
			created := 0
			var wg sync.WaitGroup
			for agent := range agents {
				wg.Go(func() {
					b := channel.NewBuffered(store)
					for round := range rounds {
						_, err := b.Ask(ctx, ask(fmt.Sprintf("Question %d of %d?", round, agent)))
						var be *channel.BlockedError
						switch {
						case errors.As(err, &be):
							mu.Lock()
							recorded[be.Question.ID] = true
							mu.Unlock()
							if q, ok, err := b.PendingQuestion(ctx); err != nil || !ok || q.ID != be.Question.ID {
								t.Errorf("recorded %+v and read %+v, %v, %v", be.Question, q, ok, err)
							}
						case !errors.Is(err, channel.ErrPending):
							t.Errorf("Ask: %v", err)
						}
						sub, err := b.SpawnSubtask(ctx, spec(fmt.Sprint((agent+round)%keys)))
						if err != nil {
							t.Errorf("SpawnSubtask: %v", err)
						}
						mu.Lock()
						if id, ok := ids[sub.Key]; ok && id != sub.ID {
							t.Errorf("two subtasks of key %s: %s and %s", sub.Key, id, sub.ID)
						}
						ids[sub.Key] = sub.ID
						if !sub.Existing {
							created++
						}
						mu.Unlock()
						if err := b.RecordProgress(ctx, channel.Progress{Text: fmt.Sprint(agent, " ", round)}); err != nil {
							t.Errorf("RecordProgress: %v", err)
						}
						if err := b.ReportSummary(ctx, channel.Summary{Text: fmt.Sprint("by ", agent)}); err != nil {
							t.Errorf("ReportSummary: %v", err)
						}
						if _, ok, err := b.ReportedSummary(ctx); err != nil || !ok {
							t.Errorf("ReportedSummary: %v, %v", ok, err)
						}
					}
				})
			}
			wg.Wait()
			specs, steps := tt.check(t, store)
			if len(recorded) != 1 || created != keys || len(specs) != keys || len(steps) != agents*rounds {
				t.Errorf("%d questions, %d subtasks created, %d kept, %d steps; want 1, %d, %d, %d",
					len(recorded), created, len(specs), len(steps), keys, keys, agents*rounds)
			}
			next := map[string]int{} // of each agent, whose own steps keep their order
			for _, p := range steps {
				var agent, round int
				if _, err := fmt.Sscan(p.Text, &agent, &round); err != nil {
					t.Fatal(err)
				}
				if key := fmt.Sprint(agent); next[key] != round {
					t.Errorf("step %d of %d stands where %d belongs", round, agent, next[key])
				} else {
					next[key]++
				}
			}
		})
	}
}
