package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plugberth/plugberth/plugin"
)

// Options are the settings of a [Catalog].
type Options struct {
	// Prefix begins each exposed name: 1 to 16 small letters, digits and _,
	// neither first nor last a _. Default "plugin".
	Prefix string
	// Reserved are names that no tool may have, those of the host's own tools.
	Reserved []string
}

// ErrOptions: the options of a catalog cannot be used.
var ErrOptions = errors.New("catalog: unusable options")

// Catalog is what plugins declare. It is safe for concurrent use, and reading a
// snapshot never waits for a change.
type Catalog struct {
	prefix   string
	reserved map[string]bool

	mu       sync.Mutex // of changes
	plugins  map[string]*declared
	watchers map[*watcher]struct{}
	current  atomic.Pointer[Snapshot]
}

// declared is what one plugin has declared.
type declared struct {
	entries   []Entry
	suspended bool
}

// New returns an empty catalog, of a new generation.
func New(opts Options) (*Catalog, error) {
	if opts.Prefix == "" {
		opts.Prefix = "plugin"
	}
	if !prefixName.MatchString(opts.Prefix) {
		return nil, fmt.Errorf("%w: the prefix is not 1 to 16 small letters, digits and _", ErrOptions)
	}
	c := &Catalog{
		prefix: opts.Prefix, reserved: map[string]bool{},
		plugins: map[string]*declared{}, watchers: map[*watcher]struct{}{},
	}
	for _, name := range opts.Reserved {
		c.reserved[name] = true
	}
	c.current.Store(&Snapshot{generation: newGeneration(time.Now()), revision: 1})
	return c, nil
}

// Snapshot returns the catalog as it is now.
func (c *Catalog) Snapshot() *Snapshot { return c.current.Load() }

// Declare puts a plugin's tools in force, in place of those it had; with none
// the plugin stays known and offers nothing. All of them are judged first, and
// the schemas compiled: with an error, a [DeclarationError], nothing changes. A
// plugin that is suspended stays so.
func (c *Catalog) Declare(name string, tools ...Tool) error {
	entries, err := c.judge(name, tools)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for other, d := range c.plugins {
		if other == name {
			continue
		}
		for _, taken := range d.entries {
			for _, e := range entries {
				if e.Name == taken.Name {
					return &DeclarationError{name, e.Tool.Name, fmt.Errorf("%w: %s is a tool of plugin %s", ErrCollision, e.Name, other)}
				}
			}
		}
	}
	d := c.plugins[name]
	if d == nil {
		d = &declared{}
		c.plugins[name] = d
	}
	d.entries = entries
	c.publish()
	return nil
}

// judge checks a declaration by itself, without the lock: schemas take time.
func (c *Catalog) judge(name string, tools []Tool) ([]Entry, error) {
	if err := plugin.CheckName(name); err != nil {
		return nil, &DeclarationError{Plugin: name, Err: fmt.Errorf("%w: %w", ErrDeclaration, err)}
	}
	if len(tools) > MaxTools {
		return nil, &DeclarationError{Plugin: name, Err: fmt.Errorf("%w: it has more than %d tools", ErrDeclaration, MaxTools)}
	}
	entries := make([]Entry, 0, len(tools))
	for _, t := range tools {
		in, out, err := t.check()
		if err != nil {
			return nil, &DeclarationError{name, t.Name, err}
		}
		e := Entry{Name: ExposedName(c.prefix, name, t.Name), Plugin: name, Tool: t.normal(in, out), in: in, out: out}
		if c.reserved[e.Name] {
			return nil, &DeclarationError{name, t.Name, fmt.Errorf("%w: %s is reserved", ErrCollision, e.Name)}
		}
		if slices.ContainsFunc(entries, func(o Entry) bool { return o.Name == e.Name }) {
			return nil, &DeclarationError{name, t.Name, fmt.Errorf("%w: the plugin declares %s twice", ErrCollision, e.Name)}
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// Withdraw takes a plugin and its tools out of the catalog. It does nothing
// where the plugin is not known.
func (c *Catalog) Withdraw(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.plugins, name)
	c.publish()
}

// Suspend takes a plugin's tools out of the catalog and keeps what it declared
// and declares meanwhile, until [Catalog.Resume]. It reports whether the plugin
// is known.
func (c *Catalog) Suspend(name string) bool { return c.suspend(name, true) }

// Resume puts the tools of a suspended plugin in force again. It reports
// whether the plugin is known.
func (c *Catalog) Resume(name string) bool { return c.suspend(name, false) }

func (c *Catalog) suspend(name string, suspended bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.plugins[name]
	if d != nil {
		d.suspended = suspended
		c.publish()
	}
	return d != nil
}

// publish makes the snapshot of what is declared, if that is another. The lock
// is held.
func (c *Catalog) publish() {
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(c.plugins)) {
		if d := c.plugins[name]; !d.suspended {
			entries = append(entries, d.entries...)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	old := c.current.Load()
	if slices.EqualFunc(old.entries, entries, func(a, b Entry) bool {
		return a.Name == b.Name && a.Plugin == b.Plugin && a.Tool.equal(b.Tool)
	}) {
		return
	}
	c.current.Store(&Snapshot{old.generation, old.revision + 1, entries})
	for w := range c.watchers {
		w.wake()
	}
}

// A watcher is told that there is another snapshot.
type watcher struct{ signal chan struct{} }

func (w *watcher) wake() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// Watch returns a channel that gets a value after the catalog changed, one for
// any number of changes that the reader has not yet heard of, and a function
// that ends it. The channel has a value from the beginning, so that a reader
// which takes a snapshot for each value misses none. It is not closed.
func (c *Catalog) Watch() (changed <-chan struct{}, stop func()) {
	w := &watcher{signal: make(chan struct{}, 1)}
	w.signal <- struct{}{}
	c.mu.Lock()
	c.watchers[w] = struct{}{}
	c.mu.Unlock()
	return w.signal, func() {
		c.mu.Lock()
		delete(c.watchers, w)
		c.mu.Unlock()
	}
}
