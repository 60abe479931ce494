package mcpclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/time/rate"

	"github.com/plugberth/plugberth/internal/printable"
)

const (
	// maxRedirects is how many redirects one request follows.
	maxRedirects = 5
	// streamWait is how long connecting waits for the headers of the event
	// stream. A server that sends them later is heard all the same.
	streamWait = time.Second
	// streamsAtOnce and streamsPerSecond bound how often event streams are
	// opened again: a server decides when one ends and what its number is.
	streamsAtOnce    = 10
	streamsPerSecond = 1
	// streamFailures is how many times in a row the event stream may fail to
	// open again before the session goes on without it.
	streamFailures = 3
)

// guard is the one way of a remote server's link to the network. It is the
// http.RoundTripper below the SDK's transport, so that whatever the SDK sends,
// and wherever a server leads it, passes here: requests go to the configured
// origin and to those that the host authorizes, only the first gets headers and
// credentials, and what comes back is bounded.
type guard struct {
	own                             origin
	ownURL                          *url.URL // the server is configured with; nil is none
	legacy                          bool     // the transport is sse
	oauth                           bool     // the SDK has a handler for 401 and 403
	fixed                           http.Header
	allowed                         map[origin]bool // beside own
	egress                          *Egress
	proxied                         bool
	limits                          Limits
	overBody, overEvent, overValues error // of what breaks them
	log                             *slog.Logger
	secrets                         *secrets // what nothing may show

	base  *http.Transport
	conns connections
	pace  *rate.Limiter // bytes of all responses
	opens *rate.Limiter // event streams opened

	// ctx ends with the link, and everything that is under way with it.
	ctx    context.Context
	cancel context.CancelFunc
	lost   chan struct{} // closed when the server is known to have no such session any more
	once   sync.Once     // closes lost

	mu          sync.Mutex
	closed      bool
	busy        sync.WaitGroup // requests until their headers are there; added to under mu
	session     string         // the server's id of the session
	sessionFrom origin         // who gave it
	token       string         // what the SDK's OAuth handler last authorized with
	reason      error          // why the connection is about to end, as far as it is known here

	unauthorized   atomic.Pointer[UnauthorizedError] // the last that the SDK's OAuth handler was given
	wait           time.Duration                     // streamWait; less in tests
	streamed       atomic.Bool                       // the event stream was asked for
	streamFailed   atomic.Int32                      // times in a row
	streamTooLarge atomic.Bool                       // the event stream broke a limit and is not opened again
}

// newGuard makes a guard and its own pool of connections, which no other policy
// shares.
func newGuard(own origin, opts *Options) *guard {
	g := &guard{
		own: own, egress: opts.Egress, proxied: opts.Proxy != nil, limits: opts.Limits,
		log: opts.Logger, secrets: &secrets{}, lost: make(chan struct{}),
		opens: rate.NewLimiter(streamsPerSecond, streamsAtOnce), wait: streamWait,
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	g.overBody = exceeded("the server's response has more than %d bytes", g.limits.Body)
	g.overValues = exceeded("a message of the server has more than %d values", g.limits.Values)
	g.overEvent = exceeded("an event of the server has more than %d bytes", g.limits.Event)
	burst := int(min(g.limits.Rate, math.MaxInt32))
	g.pace = rate.NewLimiter(rate.Limit(g.limits.Rate), burst)
	g.ctx, g.cancel = context.WithCancel(context.Background())
	var tlsConfig *tls.Config
	if opts.TLS != nil {
		tlsConfig = opts.TLS.Clone()
	}
	var proxy func(*http.Request) (*url.URL, error)
	if opts.Proxy != nil {
		proxy = func(req *http.Request) (u *url.URL, err error) {
			defer func() {
				if recover() != nil {
					u, err = nil, errPanicked
				}
			}()
			return opts.Proxy(req)
		}
	}
	g.base = &http.Transport{
		Proxy:                  proxy,
		DialContext:            g.dial,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // decompressed here, within bounds
		MaxResponseHeaderBytes: g.limits.Header,
		IdleConnTimeout:        90 * time.Second,
	}
	return g
}

// client returns the http.Client of the SDK's transport. It has no timeout,
// which would cut event streams: each request's context bounds it.
func (g *guard) client() *http.Client {
	return &http.Client{Transport: g, CheckRedirect: g.checkRedirect}
}

// dial connects through the egress policy, and no longer than the link lives:
// http.Transport lets a dial go on when its request has ended.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, release := g.bound(ctx)
	defer release()
	conn, err := g.egress.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return g.conns.add(conn)
}

// bound returns a context that also ends with the link. That of a session's
// call does already.
func (g *guard) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Value(sessionKey{}) != nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// close ends everything that is under way and waits until it has ended.
func (g *guard) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.cancel()
	g.conns.close()
	g.base.CloseIdleConnections()
	g.busy.Wait()
}

func (g *guard) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.busy.Add(1)
	return true
}

// abortKey is the key of the function that abortable puts into a context.
type abortKey struct{}

// abortable returns a context for one exchange with a server. The guard ends it
// when a response of that exchange breaks a limit: then the call fails at once
// and the session goes on. context.Cause says why. The second result ends it.
func abortable(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, abort := context.WithCancelCause(ctx)
	return context.WithValue(ctx, abortKey{}, abort), func() { abort(nil) }
}

// aborted returns the reason for which the guard ended an exchange, or err.
func aborted(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && known(cause) != nil {
		return cause
	}
	return err
}

// abort ends the exchange that a request belongs to, and reports whether it can
// be ended by itself.
func abort(ctx context.Context, err error) bool {
	f, ok := ctx.Value(abortKey{}).(context.CancelCauseFunc)
	if ok {
		f(err)
	}
	return ok
}

// setReason keeps why the connection will end, for those errors of the SDK
// which do not say.
func (g *guard) setReason(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reason = err
}

func (g *guard) isLost() bool {
	select {
	case <-g.lost:
		return true
	default:
		return false
	}
}

func (g *guard) lose(err error) {
	g.setReason(err)
	g.once.Do(func() { close(g.lost) })
}

// checkRedirect says whether a redirect is followed. It is never answered with
// http.ErrUseLastResponse, because the SDK would end the session over a 3xx.
func (g *guard) checkRedirect(req *http.Request, via []*http.Request) error {
	status := 0
	if req.Response != nil {
		status = req.Response.StatusCode
	}
	target, err := originOf(req.URL)
	if err != nil {
		return refused("the server redirects (%d) to a URL that cannot be used: %v", status, err)
	}
	last := via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return broken("the server redirects more than %d times", maxRedirects)
	case req.Method != via[0].Method:
		return broken("the server redirects %s with %d, which loses the message: the url in mcp.json should be the one that it leads to", via[0].Method, status)
	case target.scheme == "http" && strings.EqualFold(last.URL.Scheme, "https"):
		return refused("the server redirects (%d) from https to %s", status, printable.Quote(target.String()))
	}
	if err := g.reachable(target); err != nil {
		return refused("the server redirects (%d) to %s: %v", status, printable.Quote(target.String()), err)
	}
	return nil
}

var (
	errForeign  = errors.New("the host has not authorized this origin for the server")
	errInsecure = errors.New("http is for localhost, 127.0.0.0/8 and [::1] only")
)

// originOf is [originOf], quick for the URL that nearly all requests have.
func (g *guard) originOf(u *url.URL) (origin, error) {
	if g.ownURL != nil && u.Scheme == g.ownURL.Scheme && u.Host == g.ownURL.Host && u.User == nil && u.Opaque == "" {
		return g.own, nil
	}
	return originOf(u)
}

// reachable says why no request may go to an origin, or nil.
func (g *guard) reachable(o origin) error {
	switch {
	case o == g.own:
		return nil
	case o.scheme == "http" && !namesLoopback(o.host):
		return errInsecure
	case !g.allowed[o]:
		return errForeign
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if !g.enter() {
		closeBody(req)
		return nil, &remoteError{kind: ErrClosed, text: "the link to the server is closed", unsent: req.Response == nil}
	}
	defer g.busy.Done()

	to, err := g.originOf(req.URL)
	if err != nil {
		closeBody(req)
		return nil, unsent(req, refused("the server leads to a URL that cannot be used: %v", err))
	}
	if err := g.reachable(to); err != nil {
		closeBody(req)
		return nil, unsent(req, refused("the server leads to %s: %v", printable.Quote(to.String()), err))
	}
	if g.proxied {
		if err := g.egress.judgeUndialed(to.host); err != nil {
			closeBody(req)
			return nil, unsent(req, err)
		}
	}

	ctx, release := g.bound(req.Context())
	out := req.WithContext(ctx)
	out.Header = req.Header.Clone()
	g.setHeaders(out, to)
	x := &exchange{g: g, req: req, out: out, to: to, release: release}
	if out.Method == http.MethodGet && !g.legacy {
		return x.stream()
	}
	if sent, ok := tells(req.Context()); ok {
		defer sent()
	}
	resp, err := x.send()
	if err != nil {
		release()
		return nil, err
	}
	if resp, err = x.admit(resp); err != nil {
		release()
		return nil, err
	}
	return resp, nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// setHeaders makes a request's headers those that its origin may have.
func (g *guard) setHeaders(out *http.Request, to origin) {
	h := out.Header
	h.Del("Referer") // the SDK sets none; a redirect does, with the query of the URL
	if out.Method == http.MethodPost {
		h.Set("Accept-Encoding", "gzip")
	}
	if to == g.own {
		if token := h.Get("Authorization"); token != "" {
			g.mu.Lock()
			g.token = token
			g.mu.Unlock()
		}
		addFixed(h, g.fixed)
		if h.Get("Idempotency-Key") != "" || h.Get("X-Idempotency-Key") != "" {
			// http.Transport would send a request with one of them twice.
			out.GetBody = nil
		}
		return
	}
	h.Del("Authorization")
	h.Del("Cookie")
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sessionFrom != to {
		// The session belongs to who gave its id.
		h.Del("Mcp-Session-Id")
	}
}

// An exchange is one request on its way, and its response.
type exchange struct {
	g       *guard
	req     *http.Request // of the SDK
	out     *http.Request // what is sent
	to      origin
	release context.CancelFunc // ends out's context
}

// send sends the request and explains why it failed.
func (x *exchange) send() (*http.Response, error) {
	resp, err := x.g.base.RoundTrip(x.out)
	if err == nil {
		resp.Request = x.req // without what was added
		return resp, nil
	}
	if ctxErr := x.req.Context().Err(); ctxErr != nil {
		return nil, ctxErr
	}
	if x.g.ctx.Err() != nil {
		return nil, &remoteError{kind: ErrClosed, text: "the link to the server is closed", cause: err}
	}
	if k := known(err); k != nil {
		return nil, unsent(x.req, k) // the egress policy
	}
	// net/http has no types for these: headers that are too large in HTTP/1, in
	// HTTP/2, and so large there that the connection is given up.
	switch text := err.Error(); {
	case strings.Contains(text, "response headers exceeded"), strings.Contains(text, "response header list larger"):
		return nil, exceeded("the server's response has more than %d bytes of headers", x.g.limits.Header)
	case strings.Contains(text, "connection error: PROTOCOL_ERROR"), strings.Contains(text, "connection error: COMPRESSION_ERROR"):
		return nil, &remoteError{kind: ErrServer, cause: err, fatal: x.g.legacy,
			text: fmt.Sprintf("the server broke HTTP/2, or its response has more than %d bytes of headers", x.g.limits.Header)}
	}
	out := &remoteError{kind: ErrServer, text: x.to.String() + " does not answer: ", cause: err, fatal: x.g.legacy}
	var opErr *net.OpError
	var tlsErr *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case strings.Contains(err.Error(), http.StatusText(http.StatusProxyAuthRequired)) && x.g.proxied:
		return nil, unsent(x.req, &remoteError{kind: ErrServer, cause: err, fatal: x.g.legacy,
			text: "the proxy that the host chose wants authorization (407), so " + x.to.String() + " was not reached"})
	case errors.As(err, &tlsErr), errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		out.text = "no TLS connection to " + x.to.String() + " came about: "
		_ = unsent(x.req, out)
	}
	if errors.As(err, &opErr) && (opErr.Op == "dial" || opErr.Op == "proxyconnect") {
		out.text = x.to.String() + " cannot be reached: "
		_ = unsent(x.req, out)
	}
	out.text += printable.Escape(err.Error())
	return nil, out
}

// admit bounds a response and decides what the SDK sees of it. It has closed
// the response where it returns an error.
func (x *exchange) admit(resp *http.Response) (*http.Response, error) {
	g := x.g
	if !g.legacy {
		g.mu.Lock()
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" && g.session == "" {
			g.session, g.sessionFrom = id, x.to
		}
		if resp.StatusCode <= 299 && x.out.Method == http.MethodPost && !g.isLost() {
			g.reason = nil // the session goes on
		}
		g.mu.Unlock()
	}
	if resp.StatusCode <= 299 && x.out.Method == http.MethodPost {
		taken(x.req.Context())
	}
	if err := x.wrap(resp); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		switch {
		case g.legacy && x.out.Method == http.MethodGet && !isEventStream(resp):
			_ = resp.Body.Close()
			return nil, broken("the server answers with %s and not with a stream of events", contentType(resp))
		case x.out.Method == http.MethodPost && mediaType(resp) == "application/json":
			// Read here, a response that is too large fails its own call; read by
			// the SDK, it would end the session.
			return resp, x.buffer(resp)
		}
		return resp, nil
	}
	return x.admitFailure(resp)
}

// admitFailure decides on a response that is no success. The SDK ends the
// session over most of them; what concerns one request only is made an error of
// that request.
func (x *exchange) admitFailure(resp *http.Response) (*http.Response, error) {
	g := x.g
	switch status := resp.StatusCode; {
	case isRedirect(resp):
		return resp, nil // http.Client asks checkRedirect
	case x.out.Method == http.MethodDelete:
		return resp, nil // the session is at its end
	case status == http.StatusUnauthorized, status == http.StatusForbidden && resp.Header.Get("WWW-Authenticate") != "":
		err := unauthorized(resp)
		post := x.to == g.own && x.out.Method == http.MethodPost
		if post && status == http.StatusUnauthorized && x.req.Response == nil {
			turnedAway(x.req.Context(), err) // RFC 9110 §15.5.2: it has not been applied
		}
		if post && g.oauth {
			g.unauthorized.Store(err)
			return resp, nil // the SDK asks the handler
		}
		if post && status == http.StatusUnauthorized {
			g.lose(err) // the host has something else by the next connection
		}
		_ = resp.Body.Close()
		return nil, err
	case status == http.StatusNotFound && (g.legacy && x.out.Method == http.MethodPost || x.out.Header.Get("Mcp-Session-Id") != ""):
		err := &remoteError{kind: ErrServer, text: "the server has forgotten the session (404)", cause: mcp.ErrSessionMissing, fatal: true}
		if x.out.Method == http.MethodPost && x.req.Response == nil {
			turnedAway(x.req.Context(), err) // MCP: a session that has ended takes no request
		}
		g.lose(err)
		_ = resp.Body.Close()
		if g.legacy {
			return nil, err
		}
		// The SDK takes a JSON-RPC error in the body for one of the call only.
		resp.Body, resp.ContentLength = http.NoBody, 0
		return resp, nil
	}
	if !g.legacy && x.out.Method == http.MethodPost && mediaType(resp) == "application/json" && resp.StatusCode >= 400 && resp.StatusCode <= 499 && resp.StatusCode != http.StatusTooManyRequests {
		if err := x.buffer(resp); err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		if msg, err := jsonrpc.DecodeMessage(body); err == nil {
			if r, ok := msg.(*jsonrpc.Response); ok && r.Error != nil {
				return resp, nil // an answer to this request, in the protocol's own form
			}
		}
	}
	_ = resp.Body.Close()
	return nil, broken("the server answers %s with %d %s", x.out.Method, resp.StatusCode, http.StatusText(resp.StatusCode))
}

// wrap puts the bounds around a response's body.
func (x *exchange) wrap(resp *http.Response) error {
	g, max := x.g, x.g.limits.Body
	events := isEventStream(resp)
	if !events && resp.ContentLength > max {
		return g.overBody
	}
	var r io.Reader = &pacedReader{x.out.Context(), resp.Body, g.pace}
	if !events {
		r = &cappedReader{r, max, g.overBody}
	}
	switch encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		r = &pacedReader{x.out.Context(), &gunzipReader{r: r}, g.pace}
		if !events {
			r = &cappedReader{r, max, g.overBody}
		}
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength, resp.Uncompressed = -1, true
	default:
		return broken("the server's response is encoded in a way that was not asked for")
	}
	body := &guardedBody{wire: resp.Body, release: x.release}
	if events {
		r = &eventReader{r: r, ctx: x.out.Context(), max: g.limits.Event, over: g.overEvent, maxValues: g.limits.Values, overValues: g.overValues}
		body.fail = x.streamBroke
		if g.legacy {
			body.ended = func() { g.once.Do(func() { close(g.lost) }) }
		}
	}
	body.Reader = r
	resp.Body = body
	return nil
}

// streamBroke is told that an event stream ended with an error.
func (x *exchange) streamBroke(err error) {
	if known(err) == nil {
		return // the connection broke, or the request ended
	}
	x.g.log.Warn("event stream of the server ended", "reason", x.g.explain(err, x.g.secrets))
	switch {
	case x.g.legacy:
		x.g.setReason(err)
	case x.out.Method == http.MethodGet && x.isStandalone():
		x.g.streamTooLarge.Store(true)
	case !abort(x.req.Context(), err):
		x.g.setReason(err)
	}
}

// buffer reads a body to its end, within its bounds.
func (x *exchange) buffer(resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		if ctxErr := x.req.Context().Err(); ctxErr != nil {
			return ctxErr
		}
		if known(err) != nil {
			return err
		}
		return &remoteError{kind: ErrServer, text: "the server's response broke off: " + printable.Escape(err.Error()), cause: err}
	}
	if tooManyValues(body, x.g.limits.Values) {
		return x.g.overValues
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

// isRedirect reports whether http.Client follows a response, where it may.
func isRedirect(resp *http.Response) bool {
	switch resp.StatusCode {
	case 301, 302, 303, 307, 308:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// contentType names a response's type for a message.
func contentType(resp *http.Response) string {
	if t := mediaType(resp); t != "" {
		return printable.Quote(t)
	}
	return "no type"
}

// maxSchemes is how many schemes of a server an error names.
const maxSchemes = 8

// isToken reports whether a text is a token of HTTP (RFC 9110 §5.6.2), and no
// longer than a name is.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !alnum && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// unauthorized reads what a server says of the authorization that it wants.
func unauthorized(resp *http.Response) *UnauthorizedError {
	e := &UnauthorizedError{Status: resp.StatusCode}
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return e // its text is the server's
	}
	for _, c := range challenges {
		if scheme := strings.ToLower(c.Scheme); isToken(scheme) && len(e.Schemes) < maxSchemes && !slices.Contains(e.Schemes, scheme) {
			e.Schemes = append(e.Schemes, scheme)
		}
		if c.Scheme == "bearer" {
			e.ResourceMetadata, e.Scope = c.Params["resource_metadata"], c.Params["scope"]
		}
	}
	return e
}

// explain makes an error of the SDK's session say what happened here.
func (g *guard) explain(err error, s *secrets) error {
	if err == nil {
		return nil
	}
	g.mu.Lock()
	reason := g.reason
	s = s.with(g.session, g.token)
	g.mu.Unlock()
	switch text := err.Error(); {
	case known(err) != nil:
		reason = nil
	case isAnswer(err):
		wire := (*jsonrpc.Error)(nil)
		if !s.in(text) && errors.As(err, &wire) && !s.in(string(wire.Data)) {
			return err
		}
		reason = nil
	case strings.HasSuffix(text, ": Unauthorized"), strings.HasSuffix(text, ": Forbidden"):
		reason = nil
		if u := g.unauthorized.Load(); u != nil {
			reason = u
		}
	case saysWhy(err):
		reason = nil
	}
	return s.show(err, reason)
}

// saysWhy reports whether an error is of one request, or of who made it, and not
// only what is left to say when a connection or a stream has ended.
func saysWhy(err error) bool {
	u := (*url.Error)(nil)
	return errors.As(err, &u) || errors.Is(err, context.Canceled)
}

// isAnswer reports whether an error is the server's own answer to a request.
func isAnswer(err error) bool {
	var wire *jsonrpc.Error
	var u *url.Error
	return errors.As(err, &wire) && !isRejected(wire) && !errors.As(err, &u)
}

// connections are those that a guard has dialed, to be closed with it.
type connections struct {
	mu     sync.Mutex
	open   map[*trackedConn]struct{}
	closed bool
}

type trackedConn struct {
	net.Conn
	all *connections
}

func (c *connections) add(conn net.Conn) (net.Conn, error) {
	t := &trackedConn{conn, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	if c.open == nil {
		c.open = map[*trackedConn]struct{}{}
	}
	c.open[t] = struct{}{}
	return t, nil
}

func (c *connections) close() {
	c.mu.Lock()
	c.closed = true
	open := c.open
	c.open = nil
	c.mu.Unlock()
	for conn := range open {
		_ = conn.Conn.Close()
	}
}

func (t *trackedConn) Close() error {
	t.all.mu.Lock()
	delete(t.all.open, t)
	t.all.mu.Unlock()
	return t.Conn.Close()
}
