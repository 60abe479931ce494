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
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// exchange is one HTTP request being served, and the ResponseWriter that the
// SDK sees: it bounds each write in time and keeps an idle stream open with
// comments.
type exchange struct {
	e         *endpoint
	ctx       context.Context
	cancel    context.CancelCauseFunc
	post      bool
	stateless bool
	opens     bool   // may open a session
	session   string // the id the client named
	aborted   atomic.Bool

	life sync.Mutex // guards gone; never held while writing
	gone bool       // the handler has returned, and the connection is another's

	mu        sync.Mutex // guards the rest; held while writing
	w         http.ResponseWriter
	control   *http.ResponseController
	committed bool        // the status is written
	comments  bool        // we wrote it, to send a comment
	late      http.Header // what the SDK sets once the headers are ours to send
	failed    int         // a status that came after the stream had begun
	timer     *time.Timer
	quiet     bool // nothing was written since the timer was set
}

// chunk is how much is written under one deadline.
const chunk = 32 << 10

func newExchange(e *endpoint, w http.ResponseWriter, req *http.Request) *exchange {
	ex := &exchange{
		e:       e,
		post:    req.Method == http.MethodPost,
		session: req.Header.Get(sessionHeader),
		w:       w,
		control: http.NewResponseController(w),
	}
	ex.ctx, ex.cancel = context.WithCancelCause(req.Context())
	if ex.session == "" {
		ex.stateless = req.Header.Get(versionHeader) >= firstStateless
		ex.opens = ex.post && !ex.stateless
	}
	return ex
}

// exchangeKey is where the SDK carries an exchange to the dispatcher.
const exchangeKey = "plugberth exchange"

// verify tells the SDK whose request it is. The user keeps sessions apart a
// second time, should the handlers ever be shared.
func (ex *exchange) verify(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
	return &auth.TokenInfo{
		UserID: ex.e.run.GrantID,
		Extra:  map[string]any{exchangeKey: ex},
	}, nil
}

// exchangeOf returns the HTTP request that brought a message, or nil.
func exchangeOf(extra *mcp.RequestExtra) *exchange {
	if extra == nil {
		return nil
	}
	return exchangeIn(extra.TokenInfo)
}

func exchangeIn(info *auth.TokenInfo) *exchange {
	if info == nil {
		return nil
	}
	ex, _ := info.Extra[exchangeKey].(*exchange)
	return ex
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
	e.open[ex] = struct{}{}
	if ex.post {
		e.posts++
	}
	if ex.opens {
		e.opening++
	}
	if s := e.sessions[ex.session]; s != nil {
		s.begin()
	}
	return refusedNot
}

// leave is the end of an exchange that entered.
func (e *endpoint) leave(ex *exchange) {
	ex.cancel(nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.open, ex)
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

// abort ends the exchange at once, also where a write hangs.
func (ex *exchange) abort(why error) {
	ex.cancel(why)
	ex.life.Lock()
	defer ex.life.Unlock()
	if !ex.gone {
		ex.aborted.Store(true)
		ex.control.SetWriteDeadline(past)
		ex.control.SetReadDeadline(past)
	}
}

// connected reports whether an answer can still leave by this exchange.
func (ex *exchange) connected() bool {
	ex.life.Lock()
	defer ex.life.Unlock()
	return !ex.gone && ex.ctx.Err() == nil
}

var past = time.Unix(1, 0)

// finish is called when the handler returns: from here on nothing is written.
func (ex *exchange) finish() {
	ex.life.Lock()
	ex.gone = true
	ex.life.Unlock()
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.timer != nil {
		ex.timer.Stop()
	}
	if ex.committed && !ex.aborted.Load() {
		ex.deadline() // for what net/http still has to flush
	}
	// The SDK holds on to the context of the request that opened a session, and
	// so to this exchange, but not to its connection.
	ex.w = nil
}

// handOver says that a message of this exchange has reached the dispatcher: the
// SDK has set the headers, and will not touch them while the call runs. From
// here on a comment may begin the response.
func (ex *exchange) handOver() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.late == nil && ex.w != nil {
		ex.late = make(http.Header)
		ex.arm()
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
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	ex.late = make(http.Header) // what the SDK sets now comes too late
	ex.commit(http.StatusOK)
	ex.comments = true
	if _, err := ex.write([]byte(": ok\n\n")); err == nil {
		ex.control.Flush()
	}
	ex.arm()
}

// arm starts the clock of comments. The caller holds mu.
func (ex *exchange) arm() {
	if ex.timer == nil {
		ex.timer = time.AfterFunc(ex.e.reg.opts.Limits.Comment, ex.comment)
	}
}

// comment writes an SSE comment if nothing was written for a while.
func (ex *exchange) comment() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.w == nil || ex.aborted.Load() {
		return
	}
	if ex.quiet && ex.w.Header().Get("Content-Type") == "text/event-stream" {
		if !ex.committed {
			ex.commit(http.StatusOK)
			ex.comments = true
		}
		if _, err := ex.write([]byte(": still here\n\n")); err == nil {
			ex.control.Flush()
		}
	}
	ex.quiet = true
	ex.timer.Reset(ex.e.reg.opts.Limits.Comment)
}

// Header implements [http.ResponseWriter].
func (ex *exchange) Header() http.Header {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	switch {
	case ex.late != nil:
		return ex.late
	case ex.w == nil:
		return make(http.Header)
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
	ex.quiet = false
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
			ex.cancel(endSlow)
			return n, err
		}
		if n == len(p) {
			return n, nil
		}
	}
}

func (ex *exchange) deadline() {
	ex.control.SetWriteDeadline(time.Now().Add(ex.e.reg.opts.Limits.Write)) // best effort
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
		ex.cancel(endSlow)
	}
	if ex.committed {
		ex.arm()
	}
	return err
}
