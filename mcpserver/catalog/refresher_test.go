package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a target that keeps what it was pushed.
type recorder struct {
	mu        sync.Mutex
	revisions []uint64
	fail      bool
	wait      chan struct{} // a push waits for it, and for its context
	active    int
	overlap   bool
}

func (r *recorder) Push(ctx context.Context, s *Snapshot) error {
	r.mu.Lock()
	r.active++
	r.overlap = r.overlap || r.active > 1
	fail, wait := r.fail, r.wait
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.active--
		r.mu.Unlock()
	}()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if fail {
		return errors.New("no")
	}
	r.mu.Lock()
	r.revisions = append(r.revisions, s.Revision())
	r.mu.Unlock()
	return nil
}

func (r *recorder) got() []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.revisions)
}

func (r *recorder) set(fail bool, wait chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail, r.wait = fail, wait
}

func TestRefresher(t *testing.T) { // [K6]
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog(t, Options{})
		r := NewRefresher(c, RefresherOptions{Timeout: time.Minute})
		defer r.Close(context.Background())
		change := func(i int) { declare(t, c, "p", tool(fmt.Sprint("t", i))) }
		var fast, slow, failing recorder
		gate := make(chan struct{})
		slow.set(false, gate)
		failing.set(true, nil)
		for name, target := range map[string]Target{"fast": &fast, "slow": &slow, "failing": &failing,
			"panics": TargetFunc(func(context.Context, *Snapshot) error { panic("x") })} {
			if err := r.Add(name, target); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := fast.got(); !slices.Equal(got, []uint64{1}) {
			t.Fatalf("at once: %v", got)
		}

		// A burst while one target is slow: the others get on, it gets the
		// newest afterwards, once.
		for i := range 10 {
			change(i)
		}
		synctest.Wait()
		if got := fast.got(); got[len(got)-1] != 11 || len(got) > 11 {
			t.Errorf("the fast one: %v", got)
		}
		if got := slow.got(); len(got) != 0 {
			t.Errorf("the slow one: %v", got)
		}
		close(gate)
		synctest.Wait()
		if got := slow.got(); !slices.Equal(got, []uint64{1, 11}) {
			t.Errorf("the slow one afterwards: %v", got)
		}

		// What failed comes with the next change.
		failing.set(false, nil)
		synctest.Wait()
		if got := failing.got(); len(got) != 0 {
			t.Errorf("without a change: %v", got)
		}
		change(10)
		synctest.Wait()
		if got := failing.got(); !slices.Equal(got, []uint64{12}) {
			t.Errorf("with the next change: %v", got)
		}
		if got := fast.got(); got[len(got)-1] != 12 {
			t.Errorf("the fast one: %v", got)
		}

		// Without a change nothing is pushed, but to whom it failed.
		before := len(fast.got())
		r.Signal()
		failed, err := r.Flush(context.Background())
		if err != nil || len(failed) != 1 || failed["panics"] == nil {
			t.Errorf("flush: %v, %v", failed, err)
		}
		if got := fast.got(); len(got) != before {
			t.Errorf("pushed again: %v", got)
		}
		for _, target := range []*recorder{&fast, &slow, &failing} {
			if target.overlap {
				t.Error("two pushes at once")
			}
		}
	})
}

func TestRefresherSignalDoesNotBlock(t *testing.T) { // [K6]
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog(t, Options{})
		r := NewRefresher(c, RefresherOptions{Timeout: time.Hour})
		stuck := make(chan struct{})
		if err := r.Add("stuck", TargetFunc(func(context.Context, *Snapshot) error {
			<-stuck // does not hear its context
			return nil
		})); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		for i := range 100 {
			declare(t, c, "p", tool(fmt.Sprint("t", i)))
			r.Signal()
		}
		if time.Since(start) != 0 {
			t.Error("it waited")
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := r.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("flush: %v", err)
		}
		if err := r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		close(stuck)
		if err := r.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := r.Add("late", &recorder{}); !errors.Is(err, ErrClosed) {
			t.Errorf("add: %v", err)
		}
		r.Signal()
	})
}

func TestRefresherTimeout(t *testing.T) { // [K6]
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog(t, Options{})
		r := NewRefresher(c, RefresherOptions{Timeout: 3 * time.Second})
		defer r.Close(context.Background())
		var slow recorder
		slow.set(false, make(chan struct{}))
		if err := r.Add("slow", &slow); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		failed, err := r.Flush(context.Background())
		if err != nil || !errors.Is(failed["slow"], context.DeadlineExceeded) {
			t.Errorf("%v, %v", failed, err)
		}
		if took := time.Since(start); took < 3*time.Second || took > 6*time.Second {
			t.Errorf("after %v", took)
		}
	})
}

func TestRefresherRemoveAndReplace(t *testing.T) { // [K6]
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog(t, Options{})
		r := NewRefresher(c, RefresherOptions{})
		defer r.Close(context.Background())
		var first, second recorder
		first.set(false, make(chan struct{}))
		for _, target := range []*recorder{&first, &second} {
			if err := r.Add("x", target); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if got := second.got(); !slices.Equal(got, []uint64{1}) {
			t.Errorf("in its place: %v", got)
		}
		if first.active != 0 {
			t.Error("the push to the one that was replaced goes on")
		}
		r.Remove("x")
		r.Remove("x")
		declare(t, c, "p", tool("a"))
		synctest.Wait()
		if got := second.got(); !slices.Equal(got, []uint64{1}) {
			t.Errorf("after it was removed: %v", got)
		}
	})
}
