package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/plugberth/plugberth/internal/safelog"
)

// Target takes snapshots, such as an endpoint in another process.
type Target interface {
	// Push hands over a snapshot. It may see the same or an older one again
	// and ignores what is not [Snapshot.Newer] than what it has. A refresher
	// calls it once at a time.
	Push(ctx context.Context, s *Snapshot) error
}

// TargetFunc is a function that is a [Target].
type TargetFunc func(ctx context.Context, s *Snapshot) error

// Push calls f.
func (f TargetFunc) Push(ctx context.Context, s *Snapshot) error { return f(ctx, s) }

// RefresherOptions are the settings of a [Refresher].
type RefresherOptions struct {
	// Timeout bounds one push, default 10 s. A target that goes on after it
	// gets no other push until it returns.
	Timeout time.Duration
	// Logger gets a record of each push that failed. nil is silent.
	Logger *slog.Logger
}

// Refresher pushes the newest snapshot of a catalog to targets. For each target
// the pushes run one after another, and changes that come while one runs become
// one push after it; targets do not wait for each other. What failed is tried
// again with the next change, or with [Refresher.Signal]. It is safe for
// concurrent use and has to be closed. Make one with [NewRefresher]: the zero
// Refresher is closed.
type Refresher struct {
	source  func() *Snapshot
	timeout time.Duration
	log     *slog.Logger
	ctx     context.Context
	cancel  context.CancelCauseFunc
	stop    func()
	work    sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	targets map[string]*target
}

type target struct {
	name string
	Target
	ctx    context.Context // ends when it is removed
	cancel context.CancelFunc

	// Under the refresher's lock.
	wanted  bool          // another push is asked for
	running bool          // a goroutine pushes
	idle    chan struct{} // closed when running becomes false
	pushed  *Snapshot     // the last one that it took
	err     error         // of the last push, nil after one that it took
}

// ErrClosed: the refresher is closed.
var ErrClosed = errors.New("catalog: the refresher is closed")

// NewRefresher returns a refresher without targets that follows a catalog.
func NewRefresher(c *Catalog, opts RefresherOptions) *Refresher {
	if opts.Timeout <= 0 {
		opts.Timeout = 10 * time.Second
	}
	r := &Refresher{source: c.Snapshot, timeout: opts.Timeout, log: safelog.New(opts.Logger), targets: map[string]*target{}}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	changed, stop := c.Watch()
	r.stop = stop
	r.work.Go(func() {
		for {
			select {
			case <-changed:
				r.Signal()
			case <-r.ctx.Done():
				return
			}
		}
	})
	return r
}

// Add takes a target under a name, in place of one that has it, and pushes to
// it at once. It fails with [ErrClosed].
func (r *Refresher) Add(name string, t Target) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.source == nil {
		return ErrClosed
	}
	if old := r.targets[name]; old != nil {
		old.cancel()
	}
	n := &target{name: name, Target: t, idle: closedChan()}
	n.ctx, n.cancel = context.WithCancel(r.ctx)
	r.targets[name] = n
	r.want(n)
	return nil
}

// Remove forgets a target and ends the push to it that is under way.
func (r *Refresher) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.targets[name]; t != nil {
		t.cancel()
		delete(r.targets, name)
	}
}

// Signal asks for a push to each target that does not have the newest snapshot.
// It never blocks. A change of the catalog is a signal by itself.
func (r *Refresher) Signal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.targets {
		r.want(t)
	}
}

// want marks a target and starts its goroutine where none runs. The lock is
// held.
func (r *Refresher) want(t *target) {
	if r.closed {
		return
	}
	t.wanted = true
	if t.running {
		return
	}
	t.running, t.idle = true, make(chan struct{})
	r.work.Go(func() { r.push(t) })
}

// push pushes to one target until nothing is wanted.
func (r *Refresher) push(t *target) {
	for {
		r.mu.Lock()
		s := r.source()
		if !t.wanted || t.ctx.Err() != nil || t.err == nil && !s.Newer(t.pushed) {
			t.wanted, t.running = false, false
			close(t.idle)
			r.mu.Unlock()
			return
		}
		t.wanted = false
		r.mu.Unlock()

		r.pushOnce(t, s)
	}
}

// pushOnce pushes one snapshot and notes what came of it.
func (r *Refresher) pushOnce(t *target, s *Snapshot) {
	ctx, cancel := context.WithTimeout(t.ctx, r.timeout)
	defer cancel()
	err, returned := error(nil), false
	defer func() {
		ended := false // the goroutine, by the target
		if !returned {
			v := recover()
			ended = v == nil
			err = fmt.Errorf("catalog: the target panicked with a value of type %T", v)
		}
		r.mu.Lock()
		t.err = err
		if err == nil {
			t.pushed = s
		}
		r.mu.Unlock()
		if err != nil && t.ctx.Err() == nil {
			r.log.Warn("a target did not take the tool catalog", "target", t.name, "revision", s.Revision(), "error", err)
		}
		if ended {
			r.work.Go(func() { r.push(t) })
		}
	}()
	err = t.Push(ctx, s)
	returned = true
}

// Flush asks for a push to each target and waits until none is under way. It
// returns what failed, by target, or an error: that of ctx, or
// [ErrClosed].
func (r *Refresher) Flush(ctx context.Context) (map[string]error, error) {
	r.Signal()
	for {
		r.mu.Lock()
		if r.closed || r.source == nil {
			r.mu.Unlock()
			return nil, ErrClosed
		}
		var busy chan struct{}
		failed := map[string]error{}
		for name, t := range r.targets {
			if t.running {
				busy = t.idle
			} else if t.err != nil {
				failed[name] = t.err
			}
		}
		r.mu.Unlock()
		if busy == nil {
			return failed, nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Close ends the pushes under way and waits until they have returned, or for
// ctx, whose error it returns then.
func (r *Refresher) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	if r.source == nil {
		return nil
	}
	r.stop()
	r.cancel(ErrClosed)
	done := make(chan struct{})
	go func() {
		r.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func closedChan() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
