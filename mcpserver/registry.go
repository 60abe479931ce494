package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/safelog"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// Registry mints grants and serves their agents. It is an [http.Handler] for
// Streamable HTTP, to be mounted at any path. All methods are safe for
// concurrent use. Make one with [New]; the zero Registry is one with the zero
// [Options].
type Registry struct {
	making sync.Once // guards what New sets

	opts    Options
	log     *slog.Logger
	impl    *mcp.Implementation
	started time.Time // for what the monotonic clock says
	hosts   map[string]bool
	origins map[string]bool
	cross   *http.CrossOriginProtection

	refusals refusals
	draining atomic.Bool
	ending   sync.WaitGroup // grants that are being ended

	mu     sync.RWMutex
	closed bool
	byHash map[digest]*grant
	byID   map[string]*grant
	byTask map[string]*grant // the newest of a task, which leads to the others
	expiry expiryHeap
	timer  *time.Timer // fires when the first of expiry is due; nil before the first grant
	sets   map[setIndex][]*toolSet

	catalog following
}

// setKey says which of the channel's tools a set holds.
type setKey uint8

// New returns a registry. It fails if a limit is negative, or a host, an origin or
// the name is none.
func New(o Options) (*Registry, error) {
	r := new(Registry)
	var err error
	r.making.Do(func() { err = r.fill(o) })
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ready fills a Registry that was not made by New.
func (r *Registry) ready() {
	r.making.Do(func() { r.fill(Options{}) }) // which cannot fail
}

func (r *Registry) fill(o Options) error {
	if err := o.Limits.fill(); err != nil {
		return err
	}
	if o.Name != "" && !validToolName(o.Name) {
		return fmt.Errorf("mcpserver: Options.Name: %s is not 1 to 64 characters of A-Z a-z 0-9 _ -", printable.Quote(o.Name))
	}
	r.opts = o
	r.log = safelog.New(o.Logger)
	r.started = time.Now()
	r.impl = &mcp.Implementation{
		Name:    cmp.Or(o.Name, "plugberth"),
		Version: cmp.Or(o.Version, "1.0.0"),
	}
	r.hosts = make(map[string]bool)
	r.origins = make(map[string]bool)
	r.cross = http.NewCrossOriginProtection()
	r.byHash = make(map[digest]*grant)
	r.byID = make(map[string]*grant)
	r.byTask = make(map[string]*grant)
	r.sets = make(map[setIndex][]*toolSet)
	r.catalog.init(o.Catalog)
	for _, h := range o.Hosts {
		host, err := canonicalHost(h)
		if err != nil {
			return err
		}
		r.hosts[host] = true
	}
	for _, origin := range o.Origins {
		if err := r.cross.AddTrustedOrigin(origin); err != nil {
			return fmt.Errorf("mcpserver: Options.Origins: %w", err)
		}
		r.origins[origin] = true
	}
	if o.Catalog != nil {
		r.catalog.current()
		r.follow()
	}
	return nil
}

// Minted is a new grant with its token, which is not to be had again.
type Minted struct {
	// ID names the grant for [Registry.Revoke], logs and events. It is no
	// secret.
	ID string
	// Token is what the agent's program authenticates with.
	Token Token
	// ExpiresAt is when the token ends.
	ExpiresAt time.Time

	name string // of the server in configurations, "" for the default
}

// Mint makes a grant. It fails with [ErrGrant], [ErrTool] or [ErrClosed].
func (r *Registry) Mint(spec Grant) (Minted, error) {
	r.ready()
	switch {
	case spec.Identity.Task == "":
		return Minted{}, fmt.Errorf("%w: Identity.Task is empty", ErrGrant)
	case spec.TTL < 0:
		return Minted{}, fmt.Errorf("%w: TTL is negative", ErrGrant)
	case spec.TTL > r.opts.Limits.Lifetime:
		return Minted{}, fmt.Errorf("%w: TTL is longer than a grant may live, which is %v", ErrGrant, r.opts.Limits.Lifetime)
	case spec.Identity.Surface != "" && catalog.CheckSurface(spec.Identity.Surface) != nil:
		return Minted{}, fmt.Errorf("%w: Identity.Surface is not the name of a surface", ErrGrant)
	case spec.TTL == 0:
		spec.TTL = min(defaultTTL, r.opts.Limits.Lifetime)
	}
	offered, err := offeredTools(spec.Channel, spec.Omit)
	if err != nil {
		return Minted{}, err
	}
	set, err := r.toolSetOf(offered, spec.Tools)
	if err != nil {
		return Minted{}, err
	}
	token, id := newSecrets()
	r.notedSurface(id, spec.Identity)
	// Without the monotonic clock, which stands still while a machine sleeps.
	now := time.Now().Round(0)
	g := &grant{
		reg:           r,
		hash:          digestOf(token),
		parts:         spec.Channel,
		instructions:  spec.Instructions,
		serverOptions: spec.ServerOptions,
		configure:     spec.Configure,
		minted:        now,
		born:          time.Since(r.started),
	}
	g.lastFor(now, spec.TTL)
	g.who.Store(&Run{GrantID: id, Identity: spec.Identity, labels: maps.Clone(spec.Labels)})

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return Minted{}, ErrClosed
	}
	g.base = r.holdSetLocked(set)
	r.byHash[g.hash] = g
	r.byID[id] = g
	if g.older = r.byTask[spec.Identity.Task]; g.older != nil {
		g.older.newer = g
	}
	r.byTask[spec.Identity.Task] = g
	r.expiry.push(g)
	if r.expiry[0] == g {
		r.armLocked()
	}
	return Minted{ID: id, Token: Token{&token}, ExpiresAt: g.expires, name: r.opts.Name}, nil
}

// find returns the live grant of a token, or nil.
func (r *Registry) find(token string) *grant {
	r.ready()
	presented := digestOf(token)
	r.mu.RLock()
	g := r.byHash[presented]
	var left time.Duration
	if g != nil {
		left = g.left()
	}
	r.mu.RUnlock()
	// The map has compared the hashes already. That this one takes the same
	// time on a hit, a near miss and a far miss is what the hash is for.
	stored := new(digest)
	if g != nil {
		stored = &g.hash
	}
	if !stored.equal(&presented) {
		return nil
	}
	if left <= 0 {
		r.expire(g) // before its timer, which stands still while a machine sleeps
		return nil
	}
	return g
}

// live returns the live grant of an id, or nil.
func (r *Registry) live(id string) *grant {
	r.ready()
	r.mu.RLock()
	g := r.byID[id]
	var left time.Duration
	if g != nil {
		left = g.left()
	}
	r.mu.RUnlock()
	if g != nil && left <= 0 {
		r.expire(g)
		return nil
	}
	return g
}

// LookupToken returns the live grant of a token, as a host needs it that
// authenticates other requests of its agents by the same token.
func (r *Registry) LookupToken(token string) (GrantInfo, bool) {
	g := r.find(token)
	if g == nil {
		return GrantInfo{}, false
	}
	return g.info(), true
}

// Grant returns the live grant of that id.
func (r *Registry) Grant(id string) (GrantInfo, bool) {
	g := r.live(id)
	if g == nil {
		return GrantInfo{}, false
	}
	return g.info(), true
}

// Grants returns all live grants, the oldest first.
func (r *Registry) Grants() []GrantInfo {
	r.ready()
	r.mu.RLock()
	grants := make([]*grant, 0, len(r.byID))
	for _, g := range r.byID {
		if g.left() > 0 {
			grants = append(grants, g)
		}
	}
	r.mu.RUnlock()
	out := make([]GrantInfo, len(grants))
	for i, g := range grants {
		out[i] = g.info()
	}
	slices.SortFunc(out, func(a, b GrantInfo) int {
		return cmp.Or(a.MintedAt.Compare(b.MintedAt), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Revoke ends the grant of that id and reports whether it was live. When it
// returns, the token is refused and the calls in flight have been told; their
// answers leave, and streams and sessions end, within [Limits.Revoke] and a
// little. It can be called from a handler of the same grant.
func (r *Registry) Revoke(id string) bool {
	r.ready()
	r.mu.Lock()
	g := r.byID[id]
	if g != nil {
		r.removeLocked(g)
	}
	r.mu.Unlock()
	if g == nil {
		return false
	}
	endAll([]*grant{g}, endRevoked)
	return true
}

// RevokeTask ends every grant of a task as [Registry.Revoke] does, and returns
// how many there were.
func (r *Registry) RevokeTask(task string) int {
	r.ready()
	var grants []*grant
	r.mu.Lock()
	for g := r.byTask[task]; g != nil; g = r.byTask[task] {
		r.removeLocked(g)
		grants = append(grants, g)
	}
	r.mu.Unlock()
	endAll(grants, endRevoked)
	return len(grants)
}

// removeLocked takes a live grant out of the maps, so that its token is
// unknown. The caller, who holds mu, ends it afterwards.
func (r *Registry) removeLocked(g *grant) {
	delete(r.byHash, g.hash)
	run := g.run()
	delete(r.byID, run.GrantID)
	r.dropSetLocked(g.base)
	switch task := run.Identity.Task; {
	case g.newer != nil:
		g.newer.older = g.older
	case g.older != nil:
		r.byTask[task] = g.older
	default:
		delete(r.byTask, task)
	}
	if g.older != nil {
		g.older.newer = g.newer
	}
	g.newer, g.older = nil, nil
	r.expiry.remove(g)
	r.ending.Add(1) // until end has finished
}

// Shutdown ends the registry. At once nothing new is minted, connected or
// called; calls in flight go on until they are done or the context ends, and
// then every grant is revoked. It returns when nothing is left, with the
// context's error if calls were cut off for it, or at the latest some seconds
// after the context ended, where a host's middleware does not let go.
//
// Call it before [http.Server.Shutdown], which waits for the streams that this
// ends, and not from a handler, for which it would wait.
func (r *Registry) Shutdown(ctx context.Context) error {
	r.ready()
	r.draining.Store(true)
	r.mu.Lock()
	r.closed = true
	grants := slices.Collect(maps.Values(r.byID))
	r.mu.Unlock()
	var cutOff error
	for _, g := range grants {
		if err := g.drained(ctx); err != nil {
			cutOff = err
			break
		}
	}
	r.mu.Lock()
	grants = slices.Collect(maps.Values(r.byID))
	for _, g := range grants {
		r.removeLocked(g)
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Unlock()
	endAll(grants, endShutdown)
	r.catalog.end()
	ended := make(chan struct{})
	go func() {
		r.ending.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return cutOff
	case <-ctx.Done():
	}
	if !wait(ended, 2*r.opts.Limits.Revoke+3*time.Second) || cutOff != nil {
		return ctx.Err()
	}
	return nil
}

// offeredTools says which tools of the channel a grant offers.
func offeredTools(parts channel.Parts, omit []string) (setKey, error) {
	var key setKey
	for i, has := range []bool{parts.Asker != nil, parts.Summarizer != nil, parts.Spawner != nil, parts.Recorder != nil} {
		if has {
			key |= 1 << i
		}
	}
	for _, name := range omit {
		i := slices.Index(channelToolNames[:], name)
		if i < 0 {
			return 0, fmt.Errorf("%w: Omit names %s, which is no tool of the channel", ErrGrant, printable.Quote(name))
		}
		key &^= 1 << i
	}
	return key, nil
}

// endReason says why a grant, a session or a call was ended.
type endReason struct {
	outcome Outcome
	text    string // for the agent
}

func (e *endReason) Error() string { return "mcpserver: " + string(e.outcome) }

var (
	endRevoked   = &endReason{OutcomeRevoked, "The host has revoked this run's access, and this call was not finished. Stop working and end your turn: nothing more reaches the host."}
	endExpired   = &endReason{OutcomeExpired, "This run's access has expired, and this call was not finished. Stop working and end your turn: nothing more reaches the host."}
	endShutdown  = &endReason{OutcomeShutdown, "The host is shutting down, and this call was not finished. End your turn."}
	endWithdrawn = &endReason{OutcomeWithdrawn, "The tool was withdrawn from this run before the call was finished, and it is not known how far it got. Do not call it again; go on without it."}
	endSession   = &endReason{OutcomeCanceled, "The session was ended before the call was finished."}
)
