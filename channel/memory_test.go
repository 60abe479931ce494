package channel_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/plugberth/plugberth/channel"
)

func TestMemoryStoreBounds(t *testing.T) {
	ctx := t.Context()
	m := new(channel.MemoryStore)
	for i := range 1_000 {
		_, err := m.AddSubtask(ctx, spec(fmt.Sprint(i)))
		noError(t, err)
	}
	_, err := m.AddSubtask(ctx, spec("one more"))
	wantIs(t, err, channel.ErrLimit)
	sub, err := m.AddSubtask(ctx, spec("7"))
	if err != nil || sub != (channel.Subtask{ID: "subtask-8", Key: "7", Existing: true}) {
		t.Fatalf("AddSubtask = %+v, %v", sub, err)
	}
	for range 10_000 {
		noError(t, m.AddProgress(ctx, channel.Progress{Text: "x"}))
	}
	wantIs(t, m.AddProgress(ctx, channel.Progress{Text: "x"}), channel.ErrLimit)
	if len(m.Subtasks()) != 1_000 || len(m.Progress()) != 10_000 {
		t.Fatalf("%d subtasks, %d steps", len(m.Subtasks()), len(m.Progress()))
	}
}

func TestMemoryStoreExchange(t *testing.T) {
	ctx := t.Context()
	m := new(channel.MemoryStore)
	e, err := m.LoadExchange(ctx)
	if err != nil || e.Revision != 0 || e.Pending() || e.Answered() {
		t.Fatalf("LoadExchange = %+v, %v", e, err)
	}
	wantIs(t, m.SaveExchange(ctx, channel.Exchange{}), channel.ErrConflict)
	wantIs(t, m.SaveExchange(ctx, channel.Exchange{Revision: 2}), channel.ErrConflict)
	first := channel.Exchange{Revision: 1, Question: channel.Question{ID: "1", Text: "A?"}}
	noError(t, m.SaveExchange(ctx, first))
	wantIs(t, m.SaveExchange(ctx, first), channel.ErrConflict)
	if e, err := m.LoadExchange(ctx); err != nil || e.Revision != 1 || !e.Pending() {
		t.Fatalf("LoadExchange = %+v, %v", e, err)
	}
}

func TestMemoryStoreContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := new(channel.MemoryStore)
	_, err := m.LoadExchange(ctx)
	wantIs(t, err, context.Canceled)
	_, err = m.LoadSummary(ctx)
	wantIs(t, err, context.Canceled)
	_, err = m.AddSubtask(ctx, spec("a"))
	wantIs(t, err, context.Canceled)
	wantIs(t, m.SaveExchange(ctx, channel.Exchange{Revision: 1}), context.Canceled)
	wantIs(t, m.SaveSummary(ctx, channel.Summary{Text: "x"}), context.Canceled)
	wantIs(t, m.AddProgress(ctx, channel.Progress{Text: "x"}), context.Canceled)
	if s, err := m.LoadSummary(t.Context()); err != nil || s.Text != "" || len(m.Subtasks())+len(m.Progress()) != 0 {
		t.Fatalf("something was kept: %+v, %v", s, err)
	}
}
