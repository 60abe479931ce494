package channel_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/plugberth/plugberth/channel"
)

// [H5] A host that waits for the backlog before it exits loses no event, of any of
// its runs, also where observers are slow, panic or end their goroutine.
func TestBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var backlog channel.Backlog
		noError(t, backlog.Wait(t.Context()))
		gate := make(chan struct{})
		var heard, calls atomic.Int64
		options := channel.ObserveOptions{
			Backlog: &backlog,
			Observers: []channel.Observer{
				channel.ObserverFunc(func(channel.Event) { <-gate; heard.Add(1) }),
				channel.ObserverFunc(func(channel.Event) {
					switch calls.Add(1) % 3 {
					case 0:
						panic("no")
					case 1:
						runtime.Goexit()
					}
				}),
				nil,
			},
		}
		runs := []channel.Parts{
			channel.Observe(channel.Of(channel.NewBuffered(new(channel.MemoryStore))), options),
			channel.Observe(channel.Of(channel.NewBuffered(new(channel.MemoryStore))), options),
		}
		for i := range 10 {
			noError(t, runs[i%2].Recorder.RecordProgress(t.Context(), channel.Progress{Text: fmt.Sprint(i)}))
		}
		canceled, cancel := context.WithCancel(t.Context())
		waited := make(chan error)
		go func() { waited <- backlog.Wait(canceled) }()
		synctest.Wait()
		cancel()
		wantIs(t, <-waited, context.Canceled)
		go func() { waited <- backlog.Wait(context.Background()) }()
		synctest.Wait()
		close(gate)
		noError(t, <-waited)
		if heard.Load() != 10 || calls.Load() != 10 {
			t.Errorf("%d and %d events were heard of 10", heard.Load(), calls.Load())
		}
	})
}

// [H5] Events that were dropped because an observer was too slow are not waited for.
func TestBacklogDropped(t *testing.T) {
	var backlog channel.Backlog
	gate := make(chan struct{})
	var heard atomic.Int64
	parts := channel.Observe(channel.Of(channel.NewBuffered(new(channel.MemoryStore))), channel.ObserveOptions{
		Backlog: &backlog, Queue: 2,
		Observers: []channel.Observer{channel.ObserverFunc(func(e channel.Event) { <-gate; heard.Add(1 + int64(e.Missed)) })},
	})
	for range 50 {
		noError(t, parts.Recorder.RecordProgress(t.Context(), channel.Progress{Text: "x"}))
	}
	close(gate)
	noError(t, backlog.Wait(t.Context()))
	if heard.Load() != 50 {
		t.Errorf("%d events were heard or counted as missed", heard.Load())
	}
}

// [H5] Waiting while events come and go ends, and never before them.
func TestBacklogStorm(t *testing.T) {
	var backlog channel.Backlog
	var heard atomic.Int64
	parts := channel.Observe(channel.Of(channel.NewBuffered(new(channel.MemoryStore))), channel.ObserveOptions{
		Backlog: &backlog, Queue: 10_000,
		Observers: []channel.Observer{channel.ObserverFunc(func(channel.Event) { heard.Add(1) })},
	})
	var all sync.WaitGroup
	var said atomic.Int64
	for range 8 {
		all.Go(func() {
			for range 200 {
				if err := parts.Recorder.RecordProgress(context.Background(), channel.Progress{Text: "x"}); err != nil {
					t.Error(err)
				}
				said.Add(1)
				before := said.Load()
				if err := backlog.Wait(context.Background()); err != nil || heard.Load() < before-8 {
					t.Errorf("%v, heard %d of at least %d", err, heard.Load(), before-8)
				}
			}
		})
	}
	all.Wait()
	noError(t, backlog.Wait(t.Context()))
	if heard.Load() != 1600 {
		t.Errorf("%d events were heard", heard.Load())
	}
}
