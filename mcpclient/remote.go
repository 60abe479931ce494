package mcpclient

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/plugin"
)

// streamRetries is how often in a row the SDK tries to open a broken event
// stream again before it gives up the session: seven seconds or so.
const streamRetries = 3

// remoteLink is the link to a streamable-http or sse server.
type remoteLink struct {
	guard *guard
	way   mcp.Transport
	grace time.Duration

	once   sync.Once
	closed chan struct{}
}

// openRemote makes the link to a remote server (AP §7.2.1). It connects to
// nothing yet. opts have their defaults.
//
// The SDK's Client.Connect over a streamable-http link can outlive its context
// only in the OAuth handler of the host, which is called without one: all that
// goes over the network is bounded here, and ends with close. Whoever connects
// must still not wait for Connect itself after the context has ended.
func openRemote(ctx context.Context, srv *plugin.Server, id ServerID, opts *Options, give giver) (link, error) {
	remote, ok := srv.Remote()
	if !ok {
		return nil, broken("server %s is no remote server", printable.Quote(srv.Name()))
	}
	if e := opts.Egress; e == nil || !e.Public && !e.Loopback && len(e.Allow) == 0 {
		return nil, fmt.Errorf("%w: egress policy: the host has chosen none", ErrNotAllowed)
	}
	u, err := url.Parse(remote.URL)
	if err != nil {
		return nil, broken("the url of server %s is malformed", printable.Quote(srv.Name()))
	}
	own, err := originOf(u)
	if err != nil {
		return nil, broken("the url of server %s cannot be used: %v", printable.Quote(srv.Name()), err)
	}
	if own.scheme == "http" && !namesLoopback(own.host) {
		return nil, fmt.Errorf("%w: the url of server %s: %w", ErrNotAllowed, printable.Quote(srv.Name()), errInsecure)
	}
	if addr, err := netip.ParseAddr(own.host); err == nil {
		// Nothing that resolves differently another time.
		if err := opts.Egress.judge(own.host, addr); err != nil {
			return nil, fmt.Errorf("%w: %s", ErrNotAllowed, strings.TrimPrefix(err.Error(), ownText))
		}
	}

	creds, err := give(ctx, CredentialsRequest{
		ID: id, Type: srv.Type(), Digest: srv.Digest(), Origin: own.String(), URL: remote.URL,
	})
	if err != nil {
		return nil, err
	}
	if err := usableHeaders(creds.Headers); err != nil {
		return nil, err
	}
	g := newGuard(own, opts)
	g.ownURL = u
	g.log = g.log.With("mcp", id)
	g.legacy = srv.Type() == plugin.TransportSSE
	g.oauth = creds.OAuth != nil && !g.legacy
	g.fixed = fixedHeaders(remote.Headers, creds.Headers)
	if g.allowed, err = allowedOrigins(opts, id); err != nil {
		return nil, err
	}
	l := &remoteLink{guard: g, grace: opts.GracePeriod, closed: make(chan struct{})}
	for _, values := range g.fixed {
		for _, v := range values {
			g.secrets.add(v)
		}
	}
	for _, values := range u.Query() {
		for _, v := range values {
			if len(v) >= shortestPart {
				g.secrets.add(v)
			}
		}
	}
	for _, f := range remoteFindings(srv) {
		g.log.Warn("a configured header is ignored", "finding", f)
	}
	for name := range creds.Headers {
		if isGenerated(name) {
			g.log.Warn("a header of the credentials is ignored, because the client generates it", "header", printable.Escape(name))
		}
	}

	// The SDK's own limit on an event stands behind that of the guard, which
	// ends a call only.
	event := opts.Limits.Event + 4<<10
	if g.legacy {
		if creds.OAuth != nil {
			g.log.Warn("the OAuth handler is not used: the SDK's sse transport has no place for one")
		}
		l.way = &legacyTransport{g, &mcp.SSEClientTransport{Endpoint: remote.URL, HTTPClient: g.client(), MaxEventSize: event}}
	} else {
		t := &mcp.StreamableClientTransport{Endpoint: remote.URL, HTTPClient: g.client(), MaxEventSize: event, MaxRetries: streamRetries}
		if creds.OAuth != nil {
			t.OAuthHandler = creds.OAuth
		}
		l.way = t
	}
	return l, nil
}

func (l *remoteLink) transport() mcp.Transport { return l.way }

func (l *remoteLink) explain(err error) error { return l.guard.explain(err, l.guard.secrets) }

func (l *remoteLink) done() <-chan struct{} { return l.guard.lost }

// close gives the SDK's session time to say goodbye to the server, and then
// ends all that is under way.
func (l *remoteLink) close(ctx context.Context, sessionClosed <-chan struct{}) error {
	timer := time.NewTimer(l.grace)
	defer timer.Stop()
	select {
	case <-sessionClosed:
	case <-l.closed:
	case <-timer.C:
	case <-ctx.Done():
	}
	l.once.Do(func() {
		defer close(l.closed)
		l.guard.close()
	})
	return nil
}

// legacyTransport is the SDK's sse transport with a stream that lives as long
// as the link: the SDK ties it to the context that bounds connecting.
type legacyTransport struct {
	guard *guard
	sse   *mcp.SSEClientTransport
}

// Connect implements mcp.Transport. The SDK's connection is handed on as it is.
func (t *legacyTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	stream, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	conn, err := t.sse.Connect(stream)
	if !stop() {
		// The context ended first, and the stream with it.
		if err == nil {
			_ = conn.Close()
		}
		cancel()
		return nil, ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	// The guard ends the stream with the link, and the SDK's Close closes its
	// body; then nothing of this context is left.
	context.AfterFunc(t.guard.ctx, cancel)
	return conn, nil
}
