package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// tellGap is the least time between two notifications of all grants. The SDK
// sends one 10 ms after the last cause, so that causes in a row closer than that
// would hold it back for as long as they last.
const tellGap = 25 * time.Millisecond

// following is what a registry has of a catalog.
type following struct {
	source *catalog.Catalog // nil where snapshots are only pushed
	view   atomic.Pointer[view]
	told   atomic.Pointer[view] // that all grants were told of, nil for none
	taking sync.Mutex           // held while a view is made

	begin sync.Once
	news  chan struct{} // a snapshot was pushed
	done  chan struct{} // closed on shutdown
	ended sync.WaitGroup

	mu    sync.Mutex
	calls map[*call]struct{} // of plugins' tools, that have not been answered
}

func (f *following) init(source *catalog.Catalog) {
	f.source = source
	f.news = make(chan struct{}, 1)
	f.done = make(chan struct{})
	f.calls = map[*call]struct{}{}
}

// current returns the newest view, nil where there never was a snapshot. It asks
// the catalog, so that what has been withdrawn is gone at once.
func (f *following) current() *view {
	v := f.view.Load()
	if f.source == nil {
		return v
	}
	if s := f.source.Snapshot(); v == nil || s.Newer(v.snapshot) {
		v, _ = f.take(s)
	}
	return v
}

// take makes s the current snapshot if it is newer, and returns the current view.
func (f *following) take(s *catalog.Snapshot) (v *view, taken bool) {
	f.taking.Lock()
	defer f.taking.Unlock()
	old := f.view.Load()
	if old != nil && !s.Newer(old.snapshot) {
		return old, false
	}
	v = newView(s, old)
	f.view.Store(v)
	return v, true
}

// Push takes a snapshot of a catalog that lives elsewhere: new grants start with
// it, and the agents of live ones see it at once. One that is not newer than what
// the registry has ([catalog.Snapshot.Newer]) is ignored. It implements
// [catalog.Target]. It fails with [ErrClosed], and for a snapshot that is not of
// [Options].Catalog where the registry has one.
func (r *Registry) Push(ctx context.Context, s *catalog.Snapshot) error {
	r.ready()
	r.mu.RLock()
	closed := r.closed
	r.mu.RUnlock()
	if closed {
		return ErrClosed
	}
	if s == nil {
		return nil
	}
	if own := r.catalog.source; own != nil && own.Snapshot().Generation() != s.Generation() {
		return errForeign
	}
	r.follow()
	if _, taken := r.catalog.take(s); taken {
		select {
		case r.catalog.news <- struct{}{}:
		default:
		}
	}
	return nil
}

var errForeign = errors.New("mcpserver: the registry follows a catalog of its own, and the snapshot is another's")

// Snapshot returns the snapshot of the catalog by which the registry judges calls
// and lists tools now, nil if it never had one.
func (r *Registry) Snapshot() *catalog.Snapshot {
	r.ready()
	if v := r.catalog.current(); v != nil {
		return v.snapshot
	}
	return nil
}

// follow starts the goroutine that tells grants of changes, once.
func (r *Registry) follow() {
	f := &r.catalog
	f.begin.Do(func() {
		var changed <-chan struct{}
		stop := func() {}
		if f.source != nil {
			changed, stop = f.source.Watch()
		}
		first := f.view.Load()
		f.told.Store(first)
		f.ended.Go(func() {
			defer stop()
			r.tellChanges(first, changed)
		})
	})
}

// tellChanges ends calls whose tools are gone, and notifies grants that see
// another list, until the registry is shut down. told is the view that grants
// started with.
func (r *Registry) tellChanges(told *view, changed <-chan struct{}) {
	f := &r.catalog
	pause := time.NewTimer(tellGap)
	defer pause.Stop()
	pause.Stop()
	pausing := false
	for {
		select {
		case <-changed:
		case <-f.news:
		case <-pause.C:
			pausing = false
		case <-f.done:
			return
		}
		v := f.current()
		f.endGone(v)
		if v == told || pausing {
			continue
		}
		r.tellAll(told, v)
		told = v
		f.told.Store(v)
		pausing = true
		pause.Reset(tellGap)
	}
}

// tellAll notifies the grants whose surface sees something else in a view than in
// the one before.
func (r *Registry) tellAll(old, v *view) {
	r.mu.RLock()
	grants := slices.Collect(maps.Values(r.byID))
	r.mu.RUnlock()
	changed := map[string]bool{}
	for _, g := range grants {
		surface := g.run().Identity.Surface
		differs, judged := changed[surface]
		if !judged {
			differs = !v.on(surface).same(old.on(surface))
			changed[surface] = differs
		}
		if differs {
			g.listChanged()
		}
	}
}

// endGone cancels the calls in flight of tools that the run does not see any
// more.
func (f *following) endGone(v *view) {
	f.mu.Lock()
	var gone []*call
	for c := range f.calls {
		if !c.plugin.seen(v) {
			gone = append(gone, c)
		}
	}
	f.mu.Unlock()
	for _, c := range gone {
		c.cancel(endWithdrawn)
	}
}

// SetSurface gives a live grant another surface, or none with "": from now on its
// agent sees, and can call, what that surface does. It acts as one change of the
// list of tools; calls in flight whose tools are not seen any more are canceled.
// It fails with [ErrGrant] where no live grant has the id or the surface is no
// name of one ([catalog.CheckSurface]).
func (r *Registry) SetSurface(grantID, surface string) error {
	if surface != "" && catalog.CheckSurface(surface) != nil {
		return fmt.Errorf("%w: the surface is not the name of one", ErrGrant)
	}
	g := r.live(grantID)
	if g == nil {
		return errNoGrant
	}
	g.moving.Lock()
	defer g.moving.Unlock()
	was := g.run()
	if was.Identity.Surface == surface {
		return nil
	}
	run := *was
	run.Identity.Surface = surface
	told := r.catalog.told.Load() // before the grant counts as one of the new surface
	g.who.Store(&run)
	v := r.catalog.current()
	r.catalog.endGone(v)
	r.log.With(grantAttrs(&run)...).Info("the surface of a grant was changed", "from", printable.Escape(was.Identity.Surface), "surface", printable.Escape(surface))
	// What the agent was told last can be older than v, and whoever tells of v finds
	// the grant on the new surface, where nothing may have changed.
	now := v.on(surface)
	if !now.same(v.on(was.Identity.Surface)) || !now.same(told.on(was.Identity.Surface)) {
		g.listChanged()
	}
	return nil
}

// offer returns what the agent sees now. The surface and the view are of one
// moment.
func (g *grant) offer() *offer {
	for {
		run := g.run()
		v := g.reg.catalog.current()
		if g.run() != run {
			continue
		}
		var seen *surfaceSet
		if run.Identity.Surface != "" {
			seen = v.on(run.Identity.Surface)
		}
		return g.base.beside(seen, g.reg.log)
	}
}

// end stops following.
func (f *following) end() {
	f.taking.Lock()
	select {
	case <-f.done:
	default:
		close(f.done)
	}
	f.taking.Unlock()
	f.begin.Do(func() {}) // so that nothing starts any more
	f.ended.Wait()
}
