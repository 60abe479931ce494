package channel_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plugberth/plugberth/channel"
)

// record is an observer that keeps what it hears.
type record struct {
	mu     sync.Mutex
	events []channel.Event
}

func (r *record) Observe(e channel.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *record) all() []channel.Event {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

func observed(store channel.Store, observers ...channel.Observer) channel.Parts {
	return channel.Observe(channel.Of(channel.NewBuffered(store)), channel.ObserveOptions{Observers: observers})
}

func step(t *testing.T, p channel.Parts, text string) {
	t.Helper()
	noError(t, p.Recorder.RecordProgress(t.Context(), channel.Progress{Text: text}))
}

// [H5] Every observer hears what the channel took, in order.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		store := new(channel.MemoryStore)
		first, second := new(record), new(record)
		p := observed(store, first, second)
		q := blocked(t, p.Asker, ask("A?", "yes", "no"))
		noError(t, channel.NewBuffered(store).Answer(ctx, q.ID, "yes"))
		_, err := p.Asker.Ask(ctx, ask("A?", "yes", "no"))
		noError(t, err)
		step(t, p, "x")
		noError(t, p.Summarizer.ReportSummary(ctx, channel.Summary{Text: "Done."}))
		for range 2 {
			_, err = p.Spawner.SpawnSubtask(ctx, spec("a"))
			noError(t, err)
		}
		for _, r := range []*record{first, second} {
			var got []string
			for _, e := range r.all() {
				if e.At.IsZero() || e.Missed != 0 {
					t.Errorf("event %+v", e)
				}
				got = append(got, fmt.Sprint(e.Kind, " ", e.Question.Text, e.Answer.Text, e.Summary.Text, e.Spec.Key, e.Subtask.ID, e.Subtask.Existing, e.Progress.Text))
			}
			want := "blocked A?false, answered A?yesfalse, progress falsex, summary Done.false, subtask asubtask-1false, subtask asubtask-1true"
			if s := strings.Join(got, ", "); s != want {
				t.Errorf("got  %s\nwant %s", s, want)
			}
			if e := r.all()[0]; e.Question.ID != q.ID {
				t.Errorf("the blocked question has the ID %q, want %q", e.Question.ID, q.ID)
			}
		}
	})
}

// A host's own channel may say that it is blocked without a BlockedError.
type blockingHost struct{}

func (blockingHost) Ask(context.Context, channel.Question) (channel.Answer, error) {
	return channel.Answer{}, fmt.Errorf("later: %w", channel.ErrBlocked)
}

func TestObserveHostsOwnBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(record)
		p := channel.Observe(channel.Of(blockingHost{}), channel.ObserveOptions{Observers: []channel.Observer{r}})
		_, err := p.Asker.Ask(t.Context(), ask("A?"))
		wantIs(t, err, channel.ErrBlocked)
		if e := r.all(); len(e) != 1 || e[0].Kind != channel.EventBlocked || e[0].Question.Text != "A?" {
			t.Fatalf("events %+v", e)
		}
	})
}

// [H5] What failed or was refused is no event.
func TestObserveFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(record)
		b := channel.NewBuffered(&faultyStore{Store: new(channel.MemoryStore), write: func() error { return errStore }})
		p := channel.Observe(channel.Of(b), channel.ObserveOptions{Observers: []channel.Observer{r}})
		for _, tt := range calls {
			wantIs(t, tt.call(t.Context(), struct {
				channel.Asker
				channel.Summarizer
				channel.Spawner
				channel.Recorder
			}{p.Asker, p.Summarizer, p.Spawner, p.Recorder}), errStore)
		}
		if e := r.all(); len(e) != 0 {
			t.Fatalf("events %+v", e)
		}
	})
}

// [H5] An observer that blocks holds up nobody, loses the oldest events over
// its queue, and is told how many.
func TestObserveBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow, fast := new(record), new(record)
		p := channel.Observe(channel.Of(channel.NewBuffered(new(channel.MemoryStore))), channel.ObserveOptions{
			Queue: 3,
			Observers: []channel.Observer{
				channel.ObserverFunc(func(e channel.Event) { <-release; slow.Observe(e) }),
				fast,
			},
		})
		began := time.Now()
		for i := range 10 {
			step(t, p, fmt.Sprint(i))
			synctest.Wait()
		}
		if time.Since(began) != 0 {
			t.Fatalf("the run was held up for %v", time.Since(began))
		}
		if e := fast.all(); len(e) != 10 || e[9].Missed != 0 {
			t.Fatalf("the fast observer has %d events", len(e))
		}
		close(release)
		var got []string
		for _, e := range slow.all() {
			got = append(got, fmt.Sprint(e.Progress.Text, "/", e.Missed))
		}
		if s := strings.Join(got, " "); s != "0/0 7/6 8/0 9/0" {
			t.Fatalf("the slow observer has %s", s)
		}
	})
}

// [H5] An observer that panics, or ends its goroutine, hurts neither the run nor
// its own next event. The log has the kind and the stack, not the value.
func TestObservePanics(t *testing.T) {
	for _, tt := range []struct {
		name, logged string
		fail         func()
	}{
		{"panic", "panic=string", func() { panic("token-in-a-panic") }},
		{"panic with nil", "panic called with nil", func() { panic(nil) }},
		{"runtime error", "index out of range", func() { var none []int; _ = none[len(none)] }},
		{"runtime error that panics", "", func() { panic(runtimeBomb{}) }},
		{"Goexit", "", runtime.Goexit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				r, other := new(record), new(record)
				p := channel.Observe(channel.Of(channel.NewBuffered(new(channel.MemoryStore))), channel.ObserveOptions{
					Logger: slog.New(slog.NewTextHandler(&log, nil)),
					Observers: []channel.Observer{channel.ObserverFunc(func(e channel.Event) {
						if e.Progress.Text != "2" {
							tt.fail()
						}
						r.Observe(e)
					}), other},
				})
				for i := range 4 {
					step(t, p, fmt.Sprint(i))
				}
				if e := r.all(); len(e) != 1 || e[0].Progress.Text != "2" || e[0].Missed != 0 {
					t.Errorf("the observer has %+v", e)
				}
				if e := other.all(); len(e) != 4 {
					t.Errorf("the other observer has %d events", len(e))
				}
				s := log.String()
				if !strings.Contains(s, tt.logged) || tt.logged != "" && (strings.Count(s, "level=ERROR") != 3 || !strings.Contains(s, "kind=progress")) {
					t.Errorf("the log has %s", s)
				}
				if strings.Contains(s, "token-in-a-panic") {
					t.Error("the log has the value")
				}
			})
		})
	}
	t.Run("without a logger", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := observed(new(channel.MemoryStore), channel.ObserverFunc(func(channel.Event) { panic("x") }))
			step(t, p, "0")
			synctest.Wait()
			step(t, p, "1")
		})
	})
}

// runtimeBomb panics when the panic with it is looked at.
type runtimeBomb struct{}

func (runtimeBomb) RuntimeError() {}
func (runtimeBomb) Error() string { panic("token-in-a-panic") }

// An observer may change its event: it is no one else's.
func TestObserveOwnCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		change := channel.ObserverFunc(func(e channel.Event) {
			if len(e.Question.Choices) > 0 {
				e.Question.Choices[0] = "changed"
			}
			if e.Progress.Percent != nil {
				*e.Progress.Percent = 99
			}
		})
		store := new(channel.MemoryStore)
		r := new(record)
		p := observed(store, change, r, change)
		percent := 10.0
		q := ask("A?", "yes")
		asked := blocked(t, p.Asker, q)
		noError(t, p.Recorder.RecordProgress(t.Context(), channel.Progress{Text: "x", Percent: &percent}))
		e := r.all()
		if e[0].Question.Choices[0] != "yes" || *e[1].Progress.Percent != 10 || q.Choices[0] != "yes" || asked.Choices[0] != "yes" || percent != 10 {
			t.Fatalf("another one's event was changed: %+v", e)
		}
	})
}

// [H5] Many calls at once: an observer is called for one event at a time and
// misses none within its queue.
func TestObserveStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const agents, rounds = 16, 50
		inside := 0 // unguarded: the race detector watches
		r := new(record)
		p := channel.Observe(channel.Of(channel.NewBuffered(new(channel.MemoryStore))), channel.ObserveOptions{
			Queue: agents * rounds,
			Observers: []channel.Observer{channel.ObserverFunc(func(e channel.Event) {
				inside++
				r.Observe(e)
			})},
		})
		var wg sync.WaitGroup
		for agent := range agents {
			wg.Go(func() {
				for round := range rounds {
					if err := p.Recorder.RecordProgress(t.Context(), channel.Progress{Text: fmt.Sprint(agent, " ", round)}); err != nil {
						t.Errorf("RecordProgress: %v", err)
					}
				}
			})
		}
		wg.Wait()
		next := make([]int, agents)
		for _, e := range r.all() {
			var agent, round int
			if _, err := fmt.Sscan(e.Progress.Text, &agent, &round); err != nil || next[agent] != round {
				t.Fatalf("event %+v, want step %d", e, next[agent])
			}
			next[agent]++
		}
		if len(r.events) != agents*rounds || inside != agents*rounds {
			t.Fatalf("%d events, want %d", len(r.events), agents*rounds)
		}
	})
}
