package channel_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plugberth/plugberth/channel"
)

func limited(l channel.Limits) (channel.Parts, *channel.MemoryStore) {
	store := new(channel.MemoryStore)
	return channel.Limit(channel.Of(channel.NewBuffered(store)), l), store
}

func wantLimit(t *testing.T, err error, name string, max int) {
	t.Helper()
	var le *channel.LimitError
	if !errors.As(err, &le) || !errors.Is(err, channel.ErrLimit) || le.Limit != name || le.Max != max {
		t.Fatalf("got %v, want over %s, %d", err, name, max)
	}
}

// [H5] Each text is bounded, in characters: the greatest length passes, one
// more does not, and nothing of what is refused is kept.
func TestLimitSizes(t *testing.T) {
	say := func(n int) string { return strings.Repeat("é", n) }
	send := map[string]func(context.Context, channel.Parts, string) error{
		"QuestionText": func(ctx context.Context, p channel.Parts, s string) error {
			_, err := p.Asker.Ask(ctx, ask(s))
			return err
		},
		"Choice": func(ctx context.Context, p channel.Parts, s string) error {
			_, err := p.Asker.Ask(ctx, ask("A?", "yes", s))
			return err
		},
		"SummaryText": func(ctx context.Context, p channel.Parts, s string) error {
			return p.Summarizer.ReportSummary(ctx, channel.Summary{Text: s})
		},
		"SubtaskKey": func(ctx context.Context, p channel.Parts, s string) error {
			_, err := p.Spawner.SpawnSubtask(ctx, channel.SubtaskSpec{Key: s, Title: "t", Prompt: "p"})
			return err
		},
		"SubtaskTitle": func(ctx context.Context, p channel.Parts, s string) error {
			_, err := p.Spawner.SpawnSubtask(ctx, channel.SubtaskSpec{Key: "k", Title: s, Prompt: "p"})
			return err
		},
		"SubtaskPrompt": func(ctx context.Context, p channel.Parts, s string) error {
			_, err := p.Spawner.SpawnSubtask(ctx, channel.SubtaskSpec{Key: "k", Title: "t", Prompt: s})
			return err
		},
		"ProgressText": func(ctx context.Context, p channel.Parts, s string) error {
			return p.Recorder.RecordProgress(ctx, channel.Progress{Text: s})
		},
	}
	for name, send := range send {
		t.Run(name, func(t *testing.T) {
			for _, set := range []int{0, 5} { // the default, and a host's choice
				var l channel.Limits
				reflect.ValueOf(&l).Elem().FieldByName(name).SetInt(int64(set))
				max := int(reflect.ValueOf(l.WithDefaults()).FieldByName(name).Int())
				p, store := limited(l)
				for _, n := range []int{max + 1, max + 2, 2 * max, 10*max + 1} {
					wantLimit(t, send(t.Context(), p, say(n)), name, max)
				}
				if e, _ := store.LoadExchange(t.Context()); e.Revision != 0 || len(store.Subtasks())+len(store.Progress()) != 0 {
					t.Fatal("something that was refused is kept")
				}
				if err := send(t.Context(), p, say(max)); err != nil && !errors.Is(err, channel.ErrBlocked) {
					t.Fatalf("%d characters of %d: %v", max, max, err)
				}
			}
		})
	}
	t.Run("Choices", func(t *testing.T) {
		p, _ := limited(channel.Limits{Choices: 2})
		_, err := p.Asker.Ask(t.Context(), ask("A?", "1", "2", "3"))
		wantLimit(t, err, "Choices", 2)
		blocked(t, p.Asker, ask("A?", "1", "2"))
	})
	t.Run("form", func(t *testing.T) { // checked for a host's own channel as well
		p, _ := limited(channel.Limits{})
		_, err := p.Asker.Ask(t.Context(), ask(""))
		wantIs(t, err, channel.ErrInvalid)
		wantIs(t, p.Summarizer.ReportSummary(t.Context(), channel.Summary{}), channel.ErrInvalid)
		_, err = p.Spawner.SpawnSubtask(t.Context(), channel.SubtaskSpec{})
		wantIs(t, err, channel.ErrInvalid)
		wantIs(t, p.Recorder.RecordProgress(t.Context(), channel.Progress{}), channel.ErrInvalid)
	})
}

func TestLimitsWithDefaults(t *testing.T) {
	if got, want := (channel.Limits{Choices: -1, Subtasks: math.MinInt}).WithDefaults(), (channel.Limits{}).WithDefaults(); !reflect.DeepEqual(got, want) {
		t.Errorf("negative numbers give %+v, want %+v", got, want)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[channel.Limits]()) {
		if v := reflect.ValueOf(channel.Limits{}.WithDefaults()).FieldByIndex(f.Index); v.Kind() == reflect.Int && v.Int() <= 0 {
			t.Errorf("%s has no default", f.Name)
		}
	}
	own := channel.Limits{Questions: 7, ProgressBurst: math.MaxInt}
	if got := own.WithDefaults(); got.Questions != 7 || got.ProgressBurst != math.MaxInt || got.Subtasks != 20 {
		t.Errorf("WithDefaults = %+v", got)
	}
}

type spawnerFunc func(channel.SubtaskSpec) (channel.Subtask, error)

func (f spawnerFunc) SpawnSubtask(_ context.Context, s channel.SubtaskSpec) (channel.Subtask, error) {
	return f(s)
}

// [H5] A run has so many subtasks. A key used again is the same one, those of
// earlier turns count, and a refused one does not.
func TestLimitSubtasks(t *testing.T) {
	spawn := func(p channel.Parts, key string) error {
		_, err := p.Spawner.SpawnSubtask(t.Context(), spec(key))
		return err
	}
	t.Run("number", func(t *testing.T) {
		p, store := limited(channel.Limits{Subtasks: 2})
		for _, key := range []string{"a", "b", "a", "b"} {
			noError(t, spawn(p, key))
		}
		wantLimit(t, spawn(p, "c"), "Subtasks", 2)
		noError(t, spawn(p, "a"))
		if n := len(store.Subtasks()); n != 2 {
			t.Fatalf("%d subtasks", n)
		}
	})
	t.Run("of earlier turns", func(t *testing.T) {
		p, _ := limited(channel.Limits{Subtasks: 2, Spawned: []string{"a"}})
		noError(t, spawn(p, "a"))
		noError(t, spawn(p, "b"))
		wantLimit(t, spawn(p, "c"), "Subtasks", 2)
	})
	t.Run("failed and refused", func(t *testing.T) {
		faulty := &faultyStore{Store: new(channel.MemoryStore)}
		p := channel.Limit(channel.Of(channel.NewBuffered(faulty)), channel.Limits{Subtasks: 2})
		faulty.write = func() error { return &channel.Refusal{Text: "No."} }
		for i := range 5 {
			if text, _ := channel.AgentText(spawn(p, fmt.Sprint(i))); text != "No." {
				t.Fatalf("the agent reads %q", text)
			}
		}
		faulty.write, faulty.wrote = nil, func() error { return errStore }
		wantIs(t, spawn(p, "a"), errStore) // it exists nevertheless
		faulty.wrote = nil
		noError(t, spawn(p, "a"))
		noError(t, spawn(p, "b"))
		wantLimit(t, spawn(p, "c"), "Subtasks", 2)
		// A refusal for what exists gives nothing back.
		faulty.write = func() error { return &channel.Refusal{Text: "No."} }
		if text, _ := channel.AgentText(spawn(p, "a")); text != "No." {
			t.Fatalf("the agent reads %q", text)
		}
		wantLimit(t, spawn(p, "c"), "Subtasks", 2)
	})
	t.Run("created by one call and refused to another", func(t *testing.T) {
		entered, refuse := make(chan struct{}), make(chan struct{})
		calls := 0
		host := spawnerFunc(func(channel.SubtaskSpec) (channel.Subtask, error) {
			if calls++; calls == 1 {
				close(entered)
				<-refuse
				return channel.Subtask{}, &channel.Refusal{Text: "No."}
			}
			return channel.Subtask{ID: "1"}, nil
		})
		p := channel.Limit(channel.Parts{Spawner: host}, channel.Limits{Subtasks: 1})
		first := make(chan error)
		go func() { first <- spawn(p, "a") }()
		<-entered
		noError(t, spawn(p, "a"))
		close(refuse)
		if text, _ := channel.AgentText(<-first); text != "No." {
			t.Fatalf("the agent reads %q", text)
		}
		wantLimit(t, spawn(p, "b"), "Subtasks", 1)
	})
	t.Run("at once", func(t *testing.T) {
		p, store := limited(channel.Limits{Subtasks: 7})
		var refused atomic.Int64
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				for j := range 20 {
					err := spawn(p, fmt.Sprint((i*7+j)%40))
					if errors.Is(err, channel.ErrLimit) {
						refused.Add(1)
					} else if err != nil {
						t.Errorf("SpawnSubtask: %v", err)
					}
				}
			})
		}
		wg.Wait()
		if n := len(store.Subtasks()); n != 7 || refused.Load() == 0 {
			t.Fatalf("%d subtasks, %d refused", n, refused.Load())
		}
	})
}

// [H5] Steps may come in a burst and then at a rate.
func TestLimitProgressRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := limited(channel.Limits{ProgressPerMinute: 30, ProgressBurst: 3})
		step := func() error { return p.Recorder.RecordProgress(t.Context(), channel.Progress{Text: "x"}) }
		for range 3 {
			noError(t, step())
		}
		for range 5 {
			err := step()
			wantLimit(t, err, "ProgressPerMinute", 30)
			var le *channel.LimitError
			if errors.As(err, &le); le.RetryAfter <= 0 || le.RetryAfter > 2*time.Second+time.Millisecond {
				t.Fatalf("RetryAfter = %v", le.RetryAfter)
			}
		}
		var le *channel.LimitError
		errors.As(step(), &le)
		time.Sleep(le.RetryAfter)
		noError(t, step())
		wantIs(t, step(), channel.ErrLimit)

		time.Sleep(time.Hour) // the burst does not grow
		for range 3 {
			noError(t, step())
		}
		wantIs(t, step(), channel.ErrLimit)

		before, began := len(store.Progress()), time.Now()
		for time.Since(began) < 10*time.Minute {
			_ = step()
			time.Sleep(100 * time.Millisecond)
		}
		if n := len(store.Progress()) - before; n < 299 || n > 301 {
			t.Fatalf("%d steps in ten minutes, want 300", n)
		}
	})
}

// [H5]
func TestLimitCounts(t *testing.T) {
	ctx := t.Context()
	p, store := limited(channel.Limits{Questions: 2, Steps: 3})
	_, err := p.Asker.Ask(ctx, ask("")) // not counted
	wantIs(t, err, channel.ErrInvalid)
	blocked(t, p.Asker, ask("A?"))
	blocked(t, p.Asker, ask("A?"))
	_, err = p.Asker.Ask(ctx, ask("A?"))
	wantLimit(t, err, "Questions", 2)
	for range 3 {
		noError(t, p.Recorder.RecordProgress(ctx, channel.Progress{Text: "x"}))
	}
	wantLimit(t, p.Recorder.RecordProgress(ctx, channel.Progress{Text: "x"}), "Steps", 3)
	if n := len(store.Progress()); n != 3 {
		t.Fatalf("%d steps", n)
	}
}
