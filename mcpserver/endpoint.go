package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/internal/safelog"
)

// grant is a live grant. What an unused one costs is here; the rest is in its
// endpoint.
type grant struct {
	reg           *Registry
	hash          digest
	who           atomic.Pointer[Run] // only its surface changes
	moving        sync.Mutex          // held while it does
	parts         channel.Parts
	instructions  string
	serverOptions func(*mcp.ServerOptions)
	configure     func(*mcp.Server)
	minted        time.Time
	born          time.Duration // when it was minted, after the registry's start, by the monotonic clock
	expires       time.Time     // by the wall clock alone; guarded by the registry's mu
	lasts         time.Duration // until when it lives after the registry's start; guarded by the registry's mu
	used          atomic.Int64  // when a request last came in, in nanoseconds; 0 for never
	base          *toolSet      // what the grant was minted with

	at           int    // in the registry's expiry heap, guarded by its mu
	older, newer *grant // of the same task, guarded by the registry's mu

	building sync.Mutex // held while the endpoint is built
	mu       sync.Mutex
	ended    *endReason // nil while the grant is live
	endpoint *endpoint  // nil until it is first used
}

// run is the run that the grant is bound to. It is not changed: a grant that gets
// another surface gets another one.
func (g *grant) run() *Run { return g.who.Load() }

// endpoint is what serves a grant that is used.
type endpoint struct {
	*grant
	log       *slog.Logger // with the identity, without the surface
	server    *mcp.Server
	stateful  http.Handler
	stateless http.Handler
	requests  *rate.Limiter // HTTP requests
	messages  *rate.Limiter // what they carry: one of the oldest protocol can carry many

	// Guarded by the grant's mu.
	open      map[*auth.TokenInfo]*exchange // HTTP requests being served
	posts     int                           // of which carry messages
	calls     map[*call]struct{}            // calls that are not answered yet
	running   int                           // handlers that have not returned
	plugins   map[string]int                // of which plugins' tools have, by plugin
	ofPlugins int                           // the sum of plugins
	sessions  map[string]*session
	opening   int           // requests that may open a session
	idle      chan struct{} // if set, closed when no handler runs
	clock     *time.Timer   // of comments
	watching  bool          // the clock runs
	answered  chan struct{} // set once the grant ended, closed when posts is 0
	gone      chan struct{} // set once the grant ended, closed when open is empty

	swapping sync.Mutex // guards planted
	planted  bool       // the SDK's server knows the sentinel
	hidden   sync.Map   // names of a catalog's tools that were logged as hidden

	questions questions
}

// use returns the grant's endpoint, built if need be, or nil if the grant has
// ended. It fails if the host's functions panic.
func (g *grant) use() (e *endpoint, err error) {
	if e, ended := g.current(); e != nil || ended {
		return e, nil
	}
	// Not under mu: the host's functions may ask the registry for the grant.
	g.building.Lock()
	defer g.building.Unlock()
	if e, ended := g.current(); e != nil || ended {
		return e, nil
	}
	defer func() {
		if v := recover(); v != nil {
			g.reg.log.With(runAttrs(g.run())...).Error("configuring the server panicked", "panic", panicText(v), "stack", stack())
			e, err = nil, errBuild
		}
	}()
	e = g.build()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended != nil {
		return nil, nil
	}
	g.endpoint = e
	return e, nil
}

var errBuild = errors.New("mcpserver: configuring the server panicked")

// current returns the endpoint if there is one and the grant is live.
func (g *grant) current() (e *endpoint, ended bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended != nil {
		return nil, true
	}
	return g.endpoint, false
}

func (g *grant) build() *endpoint {
	limits := &g.reg.opts.Limits
	e := &endpoint{
		grant:    g,
		log:      g.reg.log.With(grantAttrs(g.run())...),
		requests: rate.NewLimiter(rate.Limit(limits.Rate), limits.Burst),
		messages: rate.NewLimiter(rate.Limit(limits.Rate), limits.Burst),
		open:     make(map[*auth.TokenInfo]*exchange),
		calls:    make(map[*call]struct{}),
	}
	var opts mcp.ServerOptions
	opts.Instructions = g.instructions
	opts.Capabilities = &mcp.ServerCapabilities{}
	if g.serverOptions != nil {
		g.serverOptions(&opts)
	}
	if opts.Capabilities == nil {
		opts.Capabilities = &mcp.ServerCapabilities{}
	}
	if opts.Logger != nil {
		opts.Logger = safelog.New(opts.Logger)
	}
	caps := *opts.Capabilities
	caps.Tools = &mcp.ToolCapabilities{ListChanged: true}
	opts.Capabilities = &caps
	opts.GetSessionID = nil // the SDK's own: random, and never the client's
	setCacheable := opts.SetCacheable
	opts.SetCacheable = func(ctx context.Context, req mcp.Request, c *mcp.Cacheable) {
		if setCacheable != nil {
			setCacheable(ctx, req, c)
		}
		c.CacheScope = "private" // one token sees what another does not
	}
	e.server = mcp.NewServer(g.reg.impl, &opts)
	if g.configure != nil {
		g.configure(e.server)
	}
	// Added last, so that they are outside of what the host adds.
	e.server.AddReceivingMiddleware(e.dispatch)
	e.server.AddSendingMiddleware(e.sending)

	getServer := func(*http.Request) *mcp.Server { return e.server }
	e.stateful = withInfo(stripped{mcp.NewStreamableHTTPHandler(getServer, &mcp.StreamableHTTPOptions{
		EventStore:                 (*eventStore)(e),
		DisableLocalhostProtection: true, // the registry has checked the Host
		MaxRequestBodyBytes:        -1,   // and bounds the body
	})})
	e.stateless = withInfo(stripped{mcp.NewStreamableHTTPHandler(getServer, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		PropagateRequestCancellation: true,
		DisableLocalhostProtection:   true,
		MaxRequestBodyBytes:          -1,
	})})
	return e
}

func (g *grant) info() GrantInfo {
	run := g.run()
	info := GrantInfo{
		ID: run.GrantID, Identity: run.Identity, Labels: maps.Clone(run.labels),
		MintedAt: g.minted,
	}
	g.reg.mu.RLock()
	info.ExpiresAt = g.expires
	g.reg.mu.RUnlock()
	if used := g.used.Load(); used != 0 {
		info.LastActivity = time.Unix(0, used)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.endpoint; e != nil {
		info.Sessions, info.Calls, info.Requests = len(e.sessions), e.running, len(e.open)
	}
	return info
}
