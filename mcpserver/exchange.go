package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// exchange is one HTTP request being served: its context, and the
// ResponseWriter that the SDK sees, which bounds each write in time and keeps an
// idle stream open with comments.
type exchange struct {
	context.Context // of the request, ended by cancel too

	e         *endpoint
	cancel    context.CancelFunc
	info      auth.TokenInfo // what the SDK knows the request by; its address is the key of endpoint.open
	body      body
	post      bool
	stateless bool
	opens     bool   // may open a session
	session   string // the id the client named
	aborted   atomic.Bool
	written   atomic.Int64 // when something was last written, in nanoseconds

	life sync.Mutex // guards gone; never held while writing
	gone bool       // the handler has returned, and the connection is another's

	mu        sync.Mutex // guards the rest; held while writing
	w         http.ResponseWriter
	control   *http.ResponseController
	committed bool        // the status is written
	comments  bool        // we wrote it, to send a comment
	handed    bool        // the headers are ours to send
	late      http.Header // what the SDK sets nevertheless
	failed    int         // a status that came after the stream had begun
}

// chunk is how much is written under one deadline.
const chunk = 32 << 10

type exchangeKey struct{}

// Value makes the exchange known to what gets its context.
func (ex *exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return ex
	}
	return ex.Context.Value(key)
}

func newExchange(e *endpoint, w http.ResponseWriter, req *http.Request, control *http.ResponseController) *exchange {
	ex := &exchange{
		e:       e,
		post:    req.Method == http.MethodPost,
		session: req.Header.Get(sessionHeader),
		w:       w,
		control: control,
	}
	ex.Context, ex.cancel = context.WithCancel(req.Context())
	// The user keeps sessions apart a second time, should the SDK's handlers
	// ever be shared between grants.
	ex.info.UserID = e.run().GrantID
	if ex.session == "" {
		ex.stateless = req.Header.Get(versionHeader) >= firstStateless
		ex.opens = ex.post && !ex.stateless
	}
	return ex
}

// verify tells the SDK's bearer middleware whose request it is.
func verify(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	ex, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return &ex.info, nil
}

// exchange returns the open HTTP request that brought a message, or nil.
func (e *endpoint) exchange(info *auth.TokenInfo) *exchange {
	if info == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open[info]
}

type refusal int

const (
	refusedNot refusal = iota
	refusedEnded
	refusedRequests
	refusedSessions
)

// enter counts the exchange, or says why it is refused.
func (e *endpoint) enter(ex *exchange) refusal {
	limits := &e.reg.opts.Limits
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.ended != nil:
		return refusedEnded
	case len(e.open) >= limits.Requests:
		return refusedRequests
	case ex.opens && !e.roomForSession(limits.Sessions):
		return refusedSessions
	}
	e.open[&ex.info] = ex
	if ex.post {
		e.posts++
	}
	if ex.opens {
		e.opening++
	}
	if s := e.sessions[ex.session]; s != nil {
		s.begin()
	}
	e.watch()
	return refusedNot
}

// leave is the end of an exchange that entered.
func (e *endpoint) leave(ex *exchange) {
	ex.cancel()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.open, &ex.info)
	if ex.post {
		e.posts--
	}
	if ex.opens {
		e.opening--
	}
	if s := e.sessions[ex.session]; s != nil {
		s.end(e.reg.opts.Limits.Idle)
	}
	e.settle()
}

// watch keeps the clock of comments going while exchanges are open. The caller
// holds mu.
func (e *endpoint) watch() {
	interval := e.reg.opts.Limits.Comment
	switch {
	case e.watching:
	case e.clock == nil:
		e.clock = time.AfterFunc(interval, e.comment)
	default:
		e.clock.Reset(interval)
	}
	e.watching = true
}

// comment sends a comment on every stream that is idle.
func (e *endpoint) comment() {
	idle := time.Now().Add(-e.reg.opts.Limits.Comment).UnixNano()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watching = false
	if len(e.open) == 0 || e.ended != nil {
		return
	}
	for _, ex := range e.open {
		if ex.written.Load() <= idle {
			go ex.comment() // it can be held up by a slow reader
		}
	}
	e.watch()
}

// abort ends the exchange at once, also where a write hangs.
func (ex *exchange) abort() {
	ex.cancel()
	ex.life.Lock()
	defer ex.life.Unlock()
	if !ex.gone {
		ex.aborted.Store(true)
		ex.control.SetWriteDeadline(past)
		ex.control.SetReadDeadline(past)
	}
}

var past = time.Unix(1, 0)

// connected reports whether an answer can still leave by this exchange.
func (ex *exchange) connected() bool {
	ex.life.Lock()
	defer ex.life.Unlock()
	return !ex.gone && ex.Err() == nil
}

// finish is called when the handler returns: from here on nothing is written.
func (ex *exchange) finish() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.committed {
		ex.deadline() // for what net/http still has to flush
	}
	ex.life.Lock()
	defer ex.life.Unlock()
	ex.gone = true
	// The SDK holds on to the context of the request that opened a session, and
	// so to this exchange, but not to its connection.
	ex.w, ex.control, ex.late, ex.body = nil, nil, nil, body{}
}

// handOver says that a message of this exchange has reached the dispatcher: the
// SDK has set the headers, and will not touch them while the call runs. From
// here on a comment may begin the response.
func (ex *exchange) handOver() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if !ex.handed {
		ex.handed = true
		ex.written.CompareAndSwap(0, time.Now().UnixNano())
	}
}

// resume begins the response to a client that comes back for its answers. The
// SDK would send no headers before the first event, which may be long in coming.
func (ex *exchange) resume() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.w == nil || ex.committed {
		return
	}
	h := ex.w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-cache, no-transform")
	ex.handed = true // what the SDK sets now comes too late
	ex.begin()
	if _, err := ex.write([]byte(": ok\n\n")); err == nil {
		ex.control.Flush()
	}
}

const eventStream = "text/event-stream"

// begin begins the response in place of the SDK. The caller holds mu.
func (ex *exchange) begin() {
	ex.commit(http.StatusOK)
	ex.comments = true
}

// comment writes an SSE comment on a stream.
func (ex *exchange) comment() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.w == nil || !ex.committed && !ex.handed || ex.aborted.Load() || ex.w.Header().Get("Content-Type") != eventStream {
		return
	}
	if !ex.committed {
		ex.begin()
	}
	if _, err := ex.write([]byte(": still here\n\n")); err == nil {
		ex.control.Flush()
	}
}

// Header implements [http.ResponseWriter].
func (ex *exchange) Header() http.Header {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	switch {
	case ex.handed || ex.w == nil:
		if ex.late == nil {
			ex.late = make(http.Header)
		}
		return ex.late
	}
	return ex.w.Header()
}

// WriteHeader implements [http.ResponseWriter].
func (ex *exchange) WriteHeader(status int) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.w == nil {
		return
	}
	if ex.comments && status >= 400 {
		ex.failed = status
		return
	}
	ex.commit(status)
}

func (ex *exchange) commit(status int) {
	if ex.committed {
		return
	}
	ex.committed = true
	for k, v := range ex.late {
		ex.w.Header()[k] = v
	}
	ex.deadline()
	ex.w.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (ex *exchange) Write(p []byte) (int, error) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.w == nil {
		return 0, http.ErrHandlerTimeout
	}
	ex.commit(http.StatusOK)
	if ex.failed != 0 {
		// The SDK answers an error as a body of its own; what has begun as a
		// stream has to go on as one.
		ex.failed = 0
		var b bytes.Buffer
		b.WriteString("event: message\ndata: ")
		b.Write(p)
		b.WriteString("\n\n")
		if _, err := ex.write(b.Bytes()); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return ex.write(p)
}

// write writes under a deadline for each chunk. The caller holds mu.
func (ex *exchange) write(p []byte) (n int, err error) {
	for {
		part := p[n:min(n+chunk, len(p))]
		ex.deadline()
		m, err := ex.w.Write(part)
		n += m
		if err != nil {
			ex.cancel()
			return n, err
		}
		if n == len(p) {
			return n, nil
		}
	}
}

// deadline bounds the next write. The caller holds mu.
func (ex *exchange) deadline() {
	now := time.Now()
	ex.written.Store(now.UnixNano())
	ex.control.SetWriteDeadline(now.Add(ex.e.reg.opts.Limits.Write)) // best effort
	if ex.aborted.Load() {
		ex.control.SetWriteDeadline(past)
	}
}

// FlushError implements what [http.ResponseController] looks for.
func (ex *exchange) FlushError() error {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.w == nil {
		return http.ErrHandlerTimeout
	}
	err := ex.control.Flush()
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		ex.cancel()
	}
	return err
}
