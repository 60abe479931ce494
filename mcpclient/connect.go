package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/internal/modeltext"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/plugin"
)

// ErrUnsupported: the host does not support the server's transport, or loaded
// the plugin so.
var ErrUnsupported = errors.New("mcpclient: the transport is not supported")

// ErrNoServer: the plugin has no valid server of that name, or the host no such
// server.
var ErrNoServer = errors.New("mcpclient: no such server")

func noServer(name string) error { return fmt.Errorf("%w: %s", ErrNoServer, printable.Quote(name)) }

// legacyVersion is the newest protocol version with an initialize handshake.
const legacyVersion = "2025-11-25"

// Connect starts or connects to one server of a plugin by its declared
// transport (AP §7.2.1), shakes hands, and returns the session, which lives
// until it is closed or the server is gone. ctx, [Options].ConnectTimeout and
// [Options].AskTimeout bound the way there and not the session.
//
// It fails with [ErrNoServer], [ErrUnsupported], [ErrNotAllowed], [ErrServer],
// [ErrLimit], an error of [Options].Credentials, or that of ctx.
func Connect(ctx context.Context, p *plugin.Plugin, instance plugin.Instance, server string, opts Options) (*Session, error) {
	d, err := newDialer(opts)
	if err != nil {
		return nil, err
	}
	srv := p.Server(server)
	if srv == nil {
		return nil, noServer(server)
	}
	return d.connect(ctx, p, srv, ServerID{Instance: instance, Plugin: p.Name(), Server: server}, hooks{})
}

// A dialer connects to servers under one policy.
type dialer struct {
	opts     Options
	consents *consents
	// open makes the link; tests put their own here.
	open func(ctx context.Context, p *plugin.Plugin, srv *plugin.Server, id ServerID, give giver) (link, error)
}

// hooks are what the owner of a session hears of it. They do not block.
type hooks struct {
	toolsChanged func()
	gone         func(error)
	used         func(s *Session, ctx context.Context, err error)
}

func newDialer(opts Options) (*dialer, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &dialer{opts: opts, consents: &consents{}}
	d.open = d.openLink
	return d, nil
}

func (d *dialer) openLink(ctx context.Context, p *plugin.Plugin, srv *plugin.Server, id ServerID, give giver) (link, error) {
	if srv.Type() == plugin.TransportStdio {
		return openStdio(ctx, p, id, &d.opts, d.consents, give)
	}
	return openRemote(ctx, srv, id, &d.opts, give)
}

// An attempt is one try at a handshake.
type attempt struct {
	version string        // "" is the newest, found out by asking
	budget  time.Duration // 0 is all that is left
}

// attempts says how to shake hands. Asking for the newest version first costs
// one exchange with a server that does not know it, and the whole wait with one
// that says nothing to what it does not know: so over HTTP it gets a part of
// the time, and a second try with a fresh connection begins with what older
// servers know. Programs on stdio and legacy SSE servers are asked for that
// first.
func attempts(t plugin.Transport, timeout time.Duration) []attempt {
	if t == plugin.TransportStreamableHTTP {
		return []attempt{{"", min(timeout/2, 5*time.Second)}, {legacyVersion, 0}}
	}
	return []attempt{{legacyVersion, 0}, {"", 0}}
}

func (d *dialer) connect(ctx context.Context, p *plugin.Plugin, srv *plugin.Server, id ServerID, hooks hooks) (*Session, error) {
	switch srv.Status() {
	case plugin.ServerUnsupported:
		return nil, ErrUnsupported
	case plugin.ServerDisabled:
		return nil, fmt.Errorf("%w: its transport is disabled", ErrNotAllowed)
	}
	ctx, cancel := withClock(ctx, d.opts.ConnectTimeout, d.opts.AskTimeout)
	defer cancel()
	oauth := &authorizer{}
	keeper := &keeper{d: d, oauth: oauth}
	var why error
	for i, a := range attempts(srv.Type(), d.opts.ConnectTimeout) {
		s, err := d.try(ctx, p, srv, id, keeper.give, hooks, a)
		if err == nil {
			oauth.connected.Store(true)
			return s, nil
		}
		if keeper.err != nil {
			return nil, keeper.err
		}
		if why == nil || betterReason(ctx, srv.Type(), err) {
			why = err
		}
		if ctx.Err() != nil {
			break
		}
		if i == 0 && (oauth.failed.Load() || !againOlder(srv.Type(), err)) {
			break
		}
	}
	return nil, why
}

// betterReason reports whether the error of the second attempt says more than
// that of the first: the handshake that all servers know does, and so does
// everything where the time was not up.
func betterReason(ctx context.Context, t plugin.Transport, second error) bool {
	return !errors.Is(second, errConnectTimeout) && (t == plugin.TransportStreamableHTTP || ctx.Err() != nil)
}

// timeoutError is a deadline that was ours. It is a context.DeadlineExceeded.
type timeoutError struct{ text string }

func (e *timeoutError) Error() string        { return e.text }
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }
func (e *timeoutError) Timeout() bool        { return true }

var (
	errConnectTimeout error = &timeoutError{"it did not connect in time"}
	errAskTimeout     error = &timeoutError{ownText + "the host was asked and did not answer in time"}
)

// againOlder reports whether a failed first handshake may be for its protocol
// version, so that another may do.
func againOlder(t plugin.Transport, err error) bool {
	var unauthorized *UnauthorizedError
	if errors.Is(err, ErrNotAllowed) || errors.Is(err, ErrLimit) || errors.As(err, &unauthorized) {
		return false
	}
	if t == plugin.TransportStreamableHTTP {
		return true
	}
	// A program is started again only if it answered that it knows no
	// initialize or none of its versions.
	var wire *jsonrpc.Error
	return errors.As(err, &wire) && (wire.Code == jsonrpc.CodeMethodNotFound ||
		wire.Code == jsonrpc.CodeInvalidRequest || wire.Code == mcp.CodeUnsupportedProtocolVersion)
}

// A giver gives what the host has for a server.
type giver func(context.Context, CredentialsRequest) (Credentials, error)

// A keeper asks the host once while one connection is made, and again only where
// the question has changed.
type keeper struct {
	d     *dialer
	oauth *authorizer
	asked CredentialsRequest // the zero value: not yet
	creds Credentials
	err   error // of the host
}

func (k *keeper) give(ctx context.Context, req CredentialsRequest) (Credentials, error) {
	if req != k.asked {
		creds, err := k.d.credentials(ctx, req)
		if err != nil {
			k.err = err
			return Credentials{}, err
		}
		if creds.OAuth != nil {
			k.oauth.host, creds.OAuth = creds.OAuth, k.oauth
		}
		k.asked, k.creds = req, creds
	}
	return k.creds, nil
}

// credentials asks the host, no longer than ctx lives. What it panics with may
// hold a secret, so that is not shown.
func (d *dialer) credentials(ctx context.Context, req CredentialsRequest) (Credentials, error) {
	if d.opts.Credentials == nil {
		return Credentials{}, nil
	}
	type answer struct {
		creds Credentials
		err   error
	}
	defer asking(ctx)()
	given := make(chan answer, 1)
	go func() {
		a := answer{err: errors.New("the host's function did not return")}
		defer func() {
			if recover() != nil {
				a = answer{err: errPanicked}
			}
			given <- a
		}()
		creds, err := d.opts.Credentials(ctx, req)
		a = answer{creds, err}
	}()
	select {
	case a := <-given:
		if a.err != nil {
			return Credentials{}, fmt.Errorf("mcpclient: no credentials: %w", a.err)
		}
		return a.creds, nil
	case <-ctx.Done():
		if cause := context.Cause(ctx); !errors.Is(cause, errAskTimeout) {
			return Credentials{}, connectError(cause)
		}
		return Credentials{}, fmt.Errorf("mcpclient: no credentials: the host's function did not answer in time: %w", context.DeadlineExceeded)
	}
}

// try makes one link and shakes hands over it.
func (d *dialer) try(ctx context.Context, p *plugin.Plugin, srv *plugin.Server, id ServerID, give giver, hooks hooks, a attempt) (*Session, error) {
	if a.budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = withClock(ctx, a.budget, d.opts.AskTimeout)
		defer cancel()
	}
	l, err := d.open(ctx, p, srv, id, give)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, ErrNotAllowed) {
			return nil, connectError(cause)
		}
		return nil, err
	}
	s := &Session{
		id: id, entry: srv.Digest(), limits: d.opts.Limits, wait: d.opts.CallTimeout, link: l, used: hooks.used,
		ended: make(chan struct{}), shutDone: make(chan struct{}),
	}
	// The session outlives ctx, whose deadline is for the handshake.
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	client := mcp.NewClient(&d.opts.Client, clientOptions(&d.opts, s, hooks))
	client.AddReceivingMiddleware(answers(&d.opts, s))
	client.AddSendingMiddleware(results, s.rounds)

	type result struct {
		cs  *mcp.ClientSession
		err error
	}
	done := make(chan result, 1)
	way := &keptTransport{Transport: l.transport()}
	handshake, end := abortable(s.ctx)
	go func() {
		var r result
		defer func() { done <- r }()
		defer unreadable(&r.err)
		r.cs, r.err = client.Connect(handshake, way, &mcp.ClientSessionOptions{ProtocolVersion: a.version})
	}()
	var r result
	finished := false
	select {
	case r = <-done:
		finished = true
	case <-l.done():
		// The SDK hears of it as well, unless it waits for something else.
		select {
		case r = <-done:
			finished = true
		case <-time.After(time.Second):
			r.err = errors.New("the server is gone")
		}
	case <-ctx.Done():
		r.err = context.Cause(ctx)
	}
	if r.err == nil {
		s.cs = r.cs
		s.info = d.serverInfo(r.cs)
		go s.watch(hooks.gone)
		return s, nil
	}
	err = aborted(handshake, r.err)
	end()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
		// What the link saw may say why nothing came.
		explained := l.explain(cause)
		switch {
		case errors.Is(explained, ErrNotAllowed), errors.Is(explained, ErrLimit):
			err = short(explained)
		case !errors.Is(cause, errConnectTimeout):
		case errors.Is(explained, ErrServer):
			err = short(explained)
		default:
			err = connectError(explained)
		}
	} else {
		err = explain(l, err)
	}
	s.finish(err)
	if left := closeLink(l, nil); left != nil {
		d.opts.Logger.Warn("what was begun of an MCP server is left", "mcp", id, "error", left)
	}
	// The SDK's Connect has lost its link and ends; what it made is closed.
	// Only the host's OAuth handler can hold it up.
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if !finished {
			if late := <-done; late.cs != nil {
				_ = late.cs.Close()
			}
		}
		way.close()
	}()
	way.close()
	bound := time.NewTimer(time.Second)
	defer bound.Stop()
	select {
	case <-ended:
	case <-bound.C:
	}
	return nil, err
}

// keptTransport keeps the connection that it hands on as it is. Of a handshake
// that fails the SDK does not always close it, and one under way may wait for
// nothing else.
type keptTransport struct {
	mcp.Transport
	conn atomic.Pointer[mcp.Connection]
}

// Connect implements mcp.Transport.
func (t *keptTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err == nil {
		t.conn.Store(&conn)
	}
	return conn, err
}

func (t *keptTransport) close() {
	if conn := t.conn.Load(); conn != nil {
		_ = (*conn).Close()
	}
}

// connectError is the error for a context that ended on the way.
func connectError(cause error) error {
	if errors.Is(cause, errConnectTimeout) {
		return fmt.Errorf("%w: %w", ErrServer, cause)
	}
	return cause
}

func (d *dialer) serverInfo(cs *mcp.ClientSession) ServerInfo {
	res := cs.InitializeResult()
	if res == nil {
		return ServerInfo{}
	}
	info := ServerInfo{
		ProtocolVersion: brief(res.ProtocolVersion),
		Instructions:    cut(modeltext.Clean(res.Instructions), d.opts.Limits.Instructions),
	}
	if impl := res.ServerInfo; impl != nil {
		info.Name, info.Title, info.Version = brief(impl.Name), brief(impl.Title), brief(impl.Version)
	}
	return info
}

// withDefaults checks the options and fills in what is left out.
func (o Options) withDefaults() (Options, error) {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&o.ConnectTimeout, 30*time.Second)
	set(&o.AskTimeout, 5*time.Minute)
	set(&o.CallTimeout, 60*time.Second)
	set(&o.GracePeriod, 2*time.Second)
	o.Limits = o.Limits.withDefaults()
	if o.Client.Name == "" {
		o.Client.Name = "plugberth"
	}
	if o.Client.Version == "" {
		o.Client.Version = "1"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
