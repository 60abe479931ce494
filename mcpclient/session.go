package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/internal/modeltext"
)

// Session is a live session with one server. It is made by [Connect] or
// [Host.Session] and is safe for concurrent use.
type Session struct {
	id     ServerID
	entry  string // the digest of its entry in mcp.json
	limits Limits
	wait   time.Duration // of a call
	link   link
	cs     *mcp.ClientSession
	info   ServerInfo
	answer mcp.MethodHandler                                // of what the server asks
	used   func(s *Session, ctx context.Context, err error) // what a call came to; may be nil
	asked  atomic.Int64                                     // questions of the server that are open

	ctx    context.Context // of what the session does of itself; ends with it
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	over    bool
	calls   map[*callContext]struct{} // in flight
	aborted []*callContext            // that were in flight when the session ended

	end    sync.Once
	ended  chan struct{}
	endErr error

	shut     sync.Once
	shutDone chan struct{}
	shutErr  error // what closing failed with, set before shutDone is closed

	progress progressRoutes
}

// ServerInfo is what a server says of itself: its Name, Title and Version, and
// the ProtocolVersion that was agreed on. Text is cleaned and bounded: it is the
// server's and not to be trusted.
type ServerInfo struct {
	ProtocolVersion string
	Name            string
	Title           string
	Version         string
	Instructions    string // cut at [Limits].Instructions
}

// ID returns which server this is.
func (s *Session) ID() ServerID { return s.id }

// Info returns what the server said of itself.
func (s *Session) Info() ServerInfo { return s.info }

// MCP returns the SDK's session, for prompts, resources and whatever else the
// server offers. Sizes stay bounded there, time does not: give each call a
// context with a deadline. Close the [Session], not this one. [Session.Explain]
// makes its errors say more.
func (s *Session) MCP() *mcp.ClientSession { return s.cs }

// Done is closed when the session has ended, by [Session.Close] or because the
// server is gone.
func (s *Session) Done() <-chan struct{} { return s.ended }

// Err returns why the session ended: nil while it lives, [ErrClosed] after
// [Session.Close], and an error that is [ErrServer], [ErrLimit] or
// [ErrNotAllowed] otherwise.
func (s *Session) Err() error {
	select {
	case <-s.ended:
		return s.endErr
	default:
		return nil
	}
}

// Explain makes an error of the SDK's session say what happened to the server:
// that its process ended and the last of its stderr, that an address or a
// redirect was refused, that a limit was passed. Text of the server is escaped
// and bounded in it. It returns nil for nil.
func (s *Session) Explain(err error) error {
	if err == nil {
		return nil
	}
	return explain(s.link, err)
}

// Format prints which server the session is with, whatever the verb, and nothing
// that it holds.
func (s *Session) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "session with MCP server %s", s.id) }

// finish marks the session as ended, for the first reason given.
func (s *Session) finish(err error) {
	s.end.Do(func() {
		s.endErr = err
		close(s.ended) // before the calls end, which ask why
		s.cancel(err)
		s.abortCalls(err)
	})
}

// watch waits until the server is gone. It is the one goroutine of a session.
func (s *Session) watch(gone func(error)) {
	sdk := make(chan error, 1)
	go func() { sdk <- s.cs.Wait() }()
	var err error
	select {
	case err = <-sdk:
		if err == nil {
			err = errors.New("the server closed the connection")
		}
	case <-s.link.done():
		err = errors.New("the server is gone")
	case <-s.ended:
		return
	}
	err = explain(s.link, err)
	s.finish(err)
	if gone != nil && !errors.Is(s.Err(), ErrClosed) {
		gone(s.Err())
	}
	s.Close()
}

// Close ends the session and everything that belongs to it: calls in flight
// fail with [ErrClosed], a local process is ended with its whole group. It
// returns when nothing is left, within some grace periods, and may be called
// more than once. It fails with [ErrServer] where a process is left that did not
// end although it was killed.
func (s *Session) Close() error {
	s.finish(ErrClosed)
	s.shut.Do(func() {
		defer close(s.shutDone)
		s.settle()
		s.shutErr = closeLink(s.link, s.cs)
	})
	<-s.shutDone
	return s.shutErr
}

// closeLink says goodbye on a session, if there is one, and ends its link. The
// SDK's Close waits for calls in flight, so it runs beside.
func closeLink(l link, cs *mcp.ClientSession) error {
	closed := make(chan struct{})
	if cs == nil {
		close(closed)
	} else {
		go func() {
			defer close(closed)
			_ = cs.Close()
		}()
	}
	err := l.close(context.Background(), closed)
	// What the session waits for has lost its link by now. The bound is for
	// what nobody has thought of.
	bound := time.NewTimer(closeBound)
	defer bound.Stop()
	select {
	case <-closed:
	case <-bound.C:
	}
	return err
}

const closeBound = 5 * time.Second

// CallOptions are optional settings of one call. The zero value is ready.
type CallOptions struct {
	// Timeout bounds the call instead of [Options].CallTimeout, when positive.
	// Connecting to a server that is not connected comes before, within
	// [Options].ConnectTimeout.
	Timeout time.Duration
	// Progress gets what the server says of its progress, in order, on a
	// goroutine of its own. While it is busy only the newest is kept. It is not
	// called after the call has returned: the call waits for it, so it must not
	// wait for the call.
	Progress func(Progress)
}

// Progress is a server's report on a call: how much is Done, in units of the
// server's choice.
type Progress struct {
	Done    float64
	Total   float64 // 0 where the server does not know
	Message string  // cleaned text of the server
}

// ErrNotSent is wrapped by the error of a call that has certainly not been
// carried out, so that making it again is safe: it has not reached the server, or
// the server turned it away with 401 (RFC 9110 §15.5.2: it has not been applied),
// or with 404 because it has no such session any more (MCP, Streamable HTTP,
// Session Management). The next call connects again.
var ErrNotSent = errors.New("mcpclient: the call was not sent")

// ErrArguments: the arguments of a call are not a JSON object. It is the
// caller's fault, and the call is not sent.
var ErrArguments = errors.New("mcpclient: the arguments are not a JSON object")

func isObject(text json.RawMessage) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}

// notSent marks the error of a call as an [ErrNotSent].
func notSent(err error) error {
	if errors.Is(err, ErrNotSent) {
		return err
	}
	return &notSentError{err: err}
}

type notSentError struct {
	err     error
	refused bool // by the server
}

func (e *notSentError) Error() string {
	if e.refused {
		return e.err.Error() + " (it was not carried out)"
	}
	return e.err.Error() + " (nothing was sent)"
}

func (e *notSentError) Unwrap() []error { return []error{ErrNotSent, e.err} }

// CallTool calls a tool by the server's own name for it. Arguments are a JSON
// object, or nothing. An error of the tool is a result with IsError; the error
// that is returned says that there is no result: it wraps [ErrServer],
// [ErrLimit], [ErrClosed], [ErrArguments] or the error of a context, with
// [ErrNotSent] where that is certain, and a *jsonrpc.Error where the server answered with one.
// Nothing is ever sent twice.
func (s *Session) CallTool(ctx context.Context, tool string, arguments json.RawMessage, opts CallOptions) (_ *mcp.CallToolResult, err error) {
	if err := s.Err(); err != nil {
		return nil, notSent(err)
	}
	timeout := s.wait
	if opts.Timeout > 0 {
		timeout = opts.Timeout
	}
	if ctx.Err() != nil {
		return nil, notSent(context.Cause(ctx))
	}
	params := &mcp.CallToolParams{Name: tool}
	if len(arguments) > 0 {
		if !isObject(arguments) {
			return nil, notSent(ErrArguments)
		}
		params.Arguments = arguments
	}
	call := s.begin(ctx, timeout)
	defer call.end()
	if s.used != nil {
		defer func() { s.used(s, ctx, err) }()
	}
	if opts.Progress != nil {
		token, done := s.progress.add(opts.Progress)
		defer done()
		params.SetProgressToken(token)
	}
	res, err := s.cs.CallTool(call, params)
	if err != nil {
		return nil, s.callError(ctx, call, err)
	}
	if res == nil {
		return nil, fmt.Errorf("%w: it answered without a result", ErrServer)
	}
	if n := resultSize(res, s.limits.Result); n > s.limits.Result {
		return nil, fmt.Errorf("%w: a result of more than %d bytes", ErrLimit, s.limits.Result)
	}
	return res, nil
}

var errCallTimeout error = &timeoutError{"it did not answer in time"}

// callError says why a call has no result: the caller's own context first, then
// what ended the session or the call, then what the SDK says.
func (s *Session) callError(ctx context.Context, call *callContext, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	select {
	case <-s.link.done():
		// The session ends about now. Who calls again gets another one then.
		select {
		case <-s.ended:
		case <-time.After(closeBound):
		}
	default:
	}
	if why := call.refused.Load(); why != nil && !call.begun.Load() {
		return &notSentError{explain(s.link, *why), true}
	}
	if ended := s.Err(); ended != nil {
		return ended
	}
	cause := context.Cause(call)
	if errors.Is(cause, errCallTimeout) {
		return fmt.Errorf("%w: %w", ErrServer, cause)
	}
	err = explain(s.link, aborted(call, err))
	if isUnsent(err) && !call.begun.Load() {
		return notSent(err)
	}
	return err
}

// answerError is a protocol error that the server answered with, shown safely.
type answerError struct{ wire *jsonrpc.Error }

func (e *answerError) Error() string {
	return fmt.Sprintf("%v: it answered with error %d: %s", ErrServer, e.wire.Code, brief(e.wire.Message))
}

func (e *answerError) Unwrap() []error { return []error{ErrServer, e.wire} }

// brief makes a server's text fit for an error or a log.
func brief(s string) string {
	const most = 300
	s = modeltext.Line(s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// explain is link.explain with what a caller can match at least.
func explain(l link, err error) error {
	err = l.explain(err)
	for _, known := range []error{ErrServer, ErrLimit, ErrNotAllowed, ErrClosed} {
		if errors.Is(err, known) {
			return short(err)
		}
	}
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return &answerError{wire}
	}
	return &serverError{err}
}

// short drops the way that an error of ours took through the SDK from its text.
func short(err error) error {
	if text := err.Error(); strings.Index(text, ownText) > 0 {
		return &explained{text[strings.Index(text, ownText):], []error{err}}
	}
	return err
}

// ownText is what the text of each error of this package begins with.
const ownText = "mcpclient: "

// serverError is an error of the SDK or the system that nothing more is known
// of. Its text may hold the server's, so it is shown briefly.
type serverError struct{ err error }

func (e *serverError) Error() string {
	return ErrServer.Error() + ": " + brief(withoutWay(e.err.Error()))
}
func (e *serverError) Unwrap() []error { return []error{ErrServer, e.err} }

// way is what the SDK puts in front of an error that only passes it.
var way = regexp.MustCompile(`^(?:(?:calling|sending) "[^"]*": |rejected by transport: |mcpclient: )+`)

// withoutWay cuts the way through the SDK off a text, unless it is all there is.
func withoutWay(text string) string {
	if rest := way.ReplaceAllString(text, ""); rest != "" {
		return rest
	}
	return text
}

// progressRoutes lead a server's progress to the call that it belongs to.
type progressRoutes struct {
	next   atomic.Int64
	mu     sync.Mutex
	routes map[string]chan Progress
}

// add makes a route to f, and returns its token and what ends it.
func (r *progressRoutes) add(f func(Progress)) (token string, done func()) {
	token = "plugberth-" + strconv.FormatInt(r.next.Add(1), 10)
	news := make(chan Progress, 1)
	r.mu.Lock()
	if r.routes == nil {
		r.routes = map[string]chan Progress{}
	}
	r.routes[token] = news
	r.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		for p := range news {
			func() {
				defer func() { _ = recover() }()
				f(p)
			}()
		}
	}()
	return token, func() {
		r.mu.Lock()
		delete(r.routes, token)
		close(news)
		r.mu.Unlock()
		<-idle
	}
}

// deliver never blocks: it runs on the SDK's one goroutine for notifications.
func (r *progressRoutes) deliver(token any, p Progress) {
	key, ok := token.(string)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	news, ok := r.routes[key]
	if !ok {
		return
	}
	select {
	case <-news: // an older one that nobody has taken
	default:
	}
	news <- p
}
