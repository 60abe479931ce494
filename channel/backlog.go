package channel

import (
	"context"
	"sync"
)

// Backlog is the events that observers have not heard yet, those of all runs
// whose [ObserveOptions] name it. The zero value is ready for use. It is safe for
// concurrent use and must not be copied.
type Backlog struct {
	mu    sync.Mutex
	count int
	empty chan struct{} // closed when count becomes 0; nil while nobody waits
}

// Wait waits until the observers have heard every event, those included that come
// meanwhile, or until ctx ends, whose error it returns. A host calls it before it
// exits, once its runs have ended. It must not be called by an observer, for whose
// event it would wait.
func (b *Backlog) Wait(ctx context.Context) error {
	for {
		b.mu.Lock()
		if b.count == 0 {
			b.mu.Unlock()
			return nil
		}
		if b.empty == nil {
			b.empty = make(chan struct{})
		}
		empty := b.empty
		b.mu.Unlock()
		select {
		case <-empty:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// add counts events. A nil Backlog counts nothing.
func (b *Backlog) add(n int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count += n
	if b.count == 0 && b.empty != nil {
		close(b.empty)
		b.empty = nil
	}
}
