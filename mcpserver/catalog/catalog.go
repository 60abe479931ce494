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

	"github.com/plugberth/plugberth/internal/printable"
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
// snapshot never waits for a change. Make one with [New]; the zero Catalog is one
// with the zero [Options], whose generation begins with its first use. It must not
// be copied.
type Catalog struct {
	making   sync.Once // guards the next two, and the first of all else
	prefix   string
	reserved map[string]bool

	mu       sync.Mutex // of changes
	plugins  map[string]*declared
	watchers map[*watcher]struct{}
	current  atomic.Pointer[Snapshot]
}

// declared is what there is of one plugin.
type declared struct {
	own       bool               // it has declared, perhaps nothing
	entries   []Entry            // that it declares
	bridged   map[string][]Entry // that bridges offer for it, by source
	suspended bool
}

func (d *declared) all() []Entry {
	if len(d.bridged) == 0 {
		return d.entries
	}
	out := slices.Clone(d.entries)
	for _, entries := range d.bridged {
		out = append(out, entries...)
	}
	return out
}

const defaultPrefix = "plugin"

// New returns an empty catalog, of a new generation. It fails with [ErrOptions].
func New(opts Options) (*Catalog, error) {
	if opts.Prefix == "" {
		opts.Prefix = defaultPrefix
	}
	if !prefixName.MatchString(opts.Prefix) {
		return nil, fmt.Errorf("%w: the prefix is not 1 to 16 small letters, digits and _", ErrOptions)
	}
	c := new(Catalog)
	c.making.Do(func() { c.fill(opts) })
	return c, nil
}

// ready fills a Catalog that was not made by New.
func (c *Catalog) ready() {
	c.making.Do(func() { c.fill(Options{Prefix: defaultPrefix}) })
}

func (c *Catalog) fill(opts Options) {
	c.prefix, c.reserved = opts.Prefix, map[string]bool{}
	for _, name := range opts.Reserved {
		c.reserved[name] = true
	}
	c.plugins, c.watchers = map[string]*declared{}, map[*watcher]struct{}{}
	c.current.Store(&Snapshot{generation: newGeneration(time.Now()), revision: 1})
}

// Snapshot returns the catalog as it is now.
func (c *Catalog) Snapshot() *Snapshot {
	c.ready()
	return c.current.Load()
}

// Declare puts a plugin's tools in force, in place of those it had; with none
// the plugin stays known and offers nothing. All of them are judged first, and
// the schemas compiled: with an error, a [DeclarationError], nothing changes. A
// plugin that is suspended stays so.
func (c *Catalog) Declare(name string, tools ...Tool) error {
	c.ready()
	entries, err := c.judge(name, tools)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.taken(name, "", entries); err != nil {
		return err
	}
	d := c.known(name)
	d.own, d.entries = true, entries
	c.publish()
	return nil
}

// Bridge puts tools in force that a bridge has for a plugin, in place of those
// that the same source had for it; with none they are gone. A source is the kind
// of a bridge, such as "mcp": 1 to 32 small letters, digits, _ and -. The plugin
// may be empty for tools that belong to no one plugin.
//
// Such tools keep the names that they have elsewhere, so [Tool].Name is the
// exposed name: 1 to 64 letters, digits, _ and -. Their number is bounded by
// [MaxBridged], a description by [MaxBridgedDescription], and it may be empty.
// Everything else is as for [Catalog.Declare], errors and suspension included.
func (c *Catalog) Bridge(source, name string, tools ...Tool) error {
	c.ready()
	entries, err := c.judgeBridged(source, name, tools)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.taken(name, source, entries); err != nil {
		return err
	}
	if len(entries) > 0 {
		d := c.known(name)
		if d.bridged == nil {
			d.bridged = map[string][]Entry{}
		}
		d.bridged[source] = entries
	} else if d := c.plugins[name]; d != nil {
		delete(d.bridged, source)
		if !d.own && len(d.bridged) == 0 && !d.suspended {
			delete(c.plugins, name)
		}
	}
	c.publish()
	return nil
}

// known returns what there is of a plugin, from now on something. The lock is
// held.
func (c *Catalog) known(name string) *declared {
	d := c.plugins[name]
	if d == nil {
		d = &declared{}
		c.plugins[name] = d
	}
	return d
}

// taken fails if one of the names is another tool's, that is not one of the
// same plugin and source. The lock is held.
func (c *Catalog) taken(name, source string, entries []Entry) error {
	for other, d := range c.plugins {
		for _, e := range d.all() {
			if other == name && e.Source == source {
				continue
			}
			i, found := slices.BinarySearchFunc(entries, e.Name, func(e Entry, name string) int { return strings.Compare(e.Name, name) })
			if found {
				return &DeclarationError{name, entries[i].Tool.Name, fmt.Errorf("%w: %s is a tool of plugin %s", ErrCollision, e.Name, printable.Quote(other))}
			}
		}
	}
	return nil
}

// judge checks a declaration by itself, without the lock: schemas take time.
func (c *Catalog) judge(name string, tools []Tool) ([]Entry, error) {
	if err := plugin.CheckName(name); err != nil {
		return nil, &DeclarationError{Plugin: name, Err: fmt.Errorf("%w: %w", ErrDeclaration, err)}
	}
	if len(tools) > maxTools {
		return nil, &DeclarationError{Plugin: name, Err: fmt.Errorf("%w: it has more than %d tools", ErrDeclaration, maxTools)}
	}
	entries := make([]Entry, 0, len(tools))
	for _, t := range tools {
		in, out, err := t.check()
		if err != nil {
			return nil, &DeclarationError{name, t.Name, err}
		}
		entries = append(entries, Entry{Name: ExposedName(c.prefix, name, t.Name), Plugin: name, Tool: t.normal(in, out), in: in, out: out})
	}
	return entries, c.sorted(name, entries)
}

// judgeBridged is judge for the tools of a bridge.
func (c *Catalog) judgeBridged(source, name string, tools []Tool) ([]Entry, error) {
	if !sourceName.MatchString(source) {
		return nil, &DeclarationError{Plugin: name, Err: fmt.Errorf("%w: the source is not 1 to 32 small letters, digits, _ and -", ErrDeclaration)}
	}
	if err := checkBridgedPlugin(name); err != nil {
		return nil, &DeclarationError{Plugin: name, Err: fmt.Errorf("%w: %w", ErrDeclaration, err)}
	}
	if len(tools) > MaxBridged {
		return nil, &DeclarationError{Plugin: name, Err: fmt.Errorf("%w: it has more than %d tools", ErrDeclaration, MaxBridged)}
	}
	entries := make([]Entry, 0, len(tools))
	for _, t := range tools {
		in, out, err := t.checkBridged()
		if err != nil {
			return nil, &DeclarationError{name, t.Name, err}
		}
		entries = append(entries, Entry{Name: t.Name, Plugin: name, Source: source, Tool: t.normal(in, out), in: in, out: out})
	}
	return entries, c.sorted(name, entries)
}

// sorted sorts entries and fails if a name is reserved or stands twice.
func (c *Catalog) sorted(name string, entries []Entry) error {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	for i, e := range entries {
		if c.reserved[e.Name] {
			return &DeclarationError{name, e.Tool.Name, fmt.Errorf("%w: %s is reserved", ErrCollision, e.Name)}
		}
		if i > 0 && entries[i-1].Name == e.Name {
			return &DeclarationError{name, e.Tool.Name, fmt.Errorf("%w: the plugin declares %s twice", ErrCollision, e.Name)}
		}
	}
	return nil
}

// Withdraw takes a plugin and its tools out of the catalog, those that bridges
// offer for it included. A bridge that goes on having some may offer them again,
// so what it follows has to let go of the plugin as well. It does nothing where
// the plugin is not known.
func (c *Catalog) Withdraw(name string) {
	c.ready()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.plugins, name)
	c.publish()
}

// Suspend takes a plugin's tools out of the catalog, those that bridges offer for
// it included, and keeps what is declared, also meanwhile, until
// [Catalog.Resume]. It reports whether the plugin is known.
func (c *Catalog) Suspend(name string) bool { return c.suspend(name, true) }

// Resume puts the tools of a suspended plugin in force again. It reports
// whether the plugin is known.
func (c *Catalog) Resume(name string) bool { return c.suspend(name, false) }

func (c *Catalog) suspend(name string, suspended bool) bool {
	c.ready()
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
			entries = append(entries, d.all()...)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	old := c.current.Load()
	if slices.EqualFunc(old.entries, entries, Entry.Equal) {
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
	c.ready()
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
