package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

// Status is what became of a server.
type Status uint8

// The statuses.
const (
	StatusIdle        Status = iota // not connected yet: its first use connects
	StatusConnecting                // being started or connected to
	StatusConnected                 // ready
	StatusFailed                    // failed or gone, or led where the host's policy refuses; the next use tries again, after a while
	StatusDisabled                  // the host's policy refuses the server itself, by Consent or Egress say, until [Host.Refresh]
	StatusUnsupported               // the host does not support its transport
	StatusClosed                    // the host is closed, or does not have the server any more
)

// String returns the status as one lower-case word.
func (s Status) String() string {
	switch s {
	case StatusIdle:
		return "idle"
	case StatusConnecting:
		return "connecting"
	case StatusConnected:
		return "connected"
	case StatusFailed:
		return "failed"
	case StatusDisabled:
		return "disabled"
	case StatusClosed:
		return "closed"
	}
	return "unsupported"
}

// MarshalText writes what [Status.String] returns.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// ServerState is one server of a host at one moment: the server ID, of transport
// Type.
type ServerState struct {
	ID     ServerID
	Type   plugin.Transport
	Origin string // of a remote server's url, as in [CredentialsRequest]; "" for stdio
	Status Status
	// Err says why the server is failed, disabled, unsupported or closed, and
	// for a connected one why its tools could not be listed; nil otherwise.
	Err error
	// CallErr says why the last call of a tool of a connected server came to
	// nothing: the server did not answer, refused it, or broke a limit. It is nil
	// again after a call that was answered, also with an error, and on a new
	// connection.
	CallErr error
	Since   time.Time  // of the status
	Info    ServerInfo // of a connected server
	Tools   int        // exposed or held back
	Dropped []Dropped  // tools that cannot be used
	// Findings are what the client found in the server's entry: configured
	// headers that it ignores, and variables that make programs load code.
	Findings finding.List
}

// Retry says how often a server that failed is tried again. A try is made when
// the server is used, never on its own. In each field 0 or less is the
// default.
type Retry struct {
	Min      time.Duration // after the first failure, doubling with each, default 500 ms
	Max      time.Duration // at most, default 1 min
	Attempts int           // failures one after another before it rests, default 8
	Rest     time.Duration // between tries from then on, default 15 min
	Stable   time.Duration // a session that lived so long counts as no failure when it ends, default 30 s
}

func (r Retry) withDefaults() Retry {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&r.Min, 500*time.Millisecond)
	set(&r.Max, time.Minute)
	set(&r.Rest, 15*time.Minute)
	set(&r.Stable, 30*time.Second)
	if r.Attempts <= 0 {
		r.Attempts = 8
	}
	return r
}

// wait is how long to leave a server alone after so many failures. A part of it
// is chance, so that a host's servers are not all tried at once.
func (r Retry) wait(failures int) time.Duration {
	if failures >= r.Attempts {
		return r.Rest
	}
	d := r.Min
	for i := 1; i < failures && d < r.Max; i++ {
		d *= 2
	}
	d = min(d, r.Max)
	return d - time.Duration(rand.Int64N(int64(d)/4+1))
}

// A server is one server of a host over all its connections.
type server struct {
	host     *Host
	id       ServerID
	p        *plugin.Plugin
	conf     *plugin.Server
	findings finding.List
	origin   string // of a remote server

	ctx    context.Context // ends when the server is removed
	cancel context.CancelCauseFunc
	work   sync.WaitGroup // its goroutines

	mu       sync.Mutex
	closed   bool
	status   Status
	err      error
	callErr  error // of the session's last call
	since    time.Time
	sess     *Session
	last     *Session  // the one before, which may not be gone yet
	born     time.Time // of sess
	flight   *flight
	left     error // a session of it that could not be ended
	failures int
	retryAt  time.Time
	list     *toolList // the last good one, nil before
	stale    bool      // the server said that its tools changed
	relists  bool      // a goroutine lists them
	relisted time.Time // when it last did, because the server said so
	gap      time.Duration
	asked    int // how often a list was asked for
	answered int // the newest of those that list is, or that failed
}

// A flight is one attempt to connect, which its callers share.
type flight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiters int  // who would leave if their context ended
	keep    bool // goes on when nobody waits
	left    bool // everyone left, so it was ended
	sess    *Session
	err     error
}

func newServer(h *Host, id ServerID, p *plugin.Plugin, conf *plugin.Server) *server {
	s := &server{host: h, id: id, p: p, conf: conf, findings: remoteFindings(conf), since: time.Now()}
	if stdio, ok := conf.Stdio(); ok {
		s.findings = loaderFindings(conf.Name(), stdio.Env, onWindows)
	}
	if remote, ok := conf.Remote(); ok {
		s.origin = originText(remote.URL)
	}
	s.ctx, s.cancel = context.WithCancelCause(h.ctx)
	switch conf.Status() {
	case plugin.ServerUnsupported:
		s.status, s.err = StatusUnsupported, ErrUnsupported
	case plugin.ServerDisabled:
		s.status, s.err = StatusDisabled, fmt.Errorf("%w: its transport is disabled", ErrNotAllowed)
	}
	return s
}

// acquire returns the session, connecting where there is none.
func (s *server) acquire(ctx context.Context) (*Session, error) {
	sess, _, err := s.reach(ctx)
	return sess, err
}

// reach is acquire, and says whether it had to connect.
func (s *server) reach(ctx context.Context) (sess *Session, flew bool, err error) {
	for {
		f, sess, err := s.board(false)
		if f == nil {
			return sess, false, err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			s.leave(f)
			return nil, false, notSent(context.Cause(ctx))
		}
		switch left := s.leave(f); {
		case f.err == nil:
			return f.sess, true, nil
		case !left:
			return nil, false, notSent(f.err)
		}
		// It was ended because all who waited before had left.
	}
}

// board returns the living session, or the flight to wait for, or why there
// will be neither.
func (s *server) board(keep bool) (*flight, *Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, notSent(ErrClosed)
	}
	if s.lost(); s.sess != nil {
		return nil, s.sess, nil
	}
	if s.flight == nil {
		switch {
		case s.status == StatusUnsupported, s.status == StatusDisabled, time.Now().Before(s.retryAt):
			return nil, nil, notSent(s.err)
		}
		s.takeOff()
	}
	s.flight.waiters++
	s.flight.keep = s.flight.keep || keep
	return s.flight, nil, nil
}

// leave ends the flight if it was for nobody else. It reports whether the
// flight had been ended before for that reason.
func (s *server) leave(f *flight) (left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.waiters--
	left = f.left
	select {
	case <-f.done:
	default:
		if f.waiters == 0 && !f.keep {
			f.left = true
			f.cancel()
		}
	}
	return left
}

// takeOff begins to connect. It is called with the lock held.
func (s *server) takeOff() {
	ctx, cancel := context.WithCancel(s.ctx)
	f := &flight{done: make(chan struct{}), cancel: cancel}
	s.flight = f
	s.stale = false
	s.turn(StatusConnecting, nil)
	s.host.tell(s.stateLocked())
	last := s.last
	s.work.Go(func() {
		defer cancel()
		if last != nil && s.conf.Type() == plugin.TransportStdio {
			// Two processes of one server may not get on with each other.
			select {
			case <-last.shutDone:
			case <-ctx.Done():
			}
		}
		s.fly(ctx, f)
	})
}

func (s *server) fly(ctx context.Context, f *flight) {
	began := time.Now()
	s.host.log(slog.LevelDebug, "connecting to an MCP server", s.id, slog.String("type", string(s.conf.Type())))
	var list *toolList
	var listErr error
	sess, err := s.host.dialer.connect(ctx, s.p, s.conf, s.id, hooks{toolsChanged: s.changed, gone: s.gone, used: s.used})
	if err == nil {
		list, listErr = sess.listTools(ctx)
	}

	s.mu.Lock()
	if err == nil && s.closed {
		err = ErrClosed
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // everyone left
	}
	if err == nil {
		err = sess.Err() // it came and went
	}
	f.sess, f.err = sess, err
	s.flight = nil
	if err == nil {
		s.sess, s.born, s.retryAt, s.callErr = sess, time.Now(), time.Time{}, nil
		if list != nil {
			s.list = list
		}
		s.turn(StatusConnected, listErr)
		if s.stale && !s.relists { // it said so while they were listed
			s.relists = true
			s.work.Go(s.relist)
		}
	} else {
		s.fail(err, ctx.Err() != nil)
	}
	s.mu.Unlock()

	if err != nil {
		if sess != nil {
			s.closeSession(sess)
		}
		s.host.log(slog.LevelWarn, "an MCP server is not connected", s.id,
			slog.String("status", s.state().Status.String()), slog.String("error", err.Error()), slog.Duration("after", time.Since(began)))
	} else {
		s.host.log(slog.LevelInfo, "connected to an MCP server", s.id,
			slog.String("protocol", sess.Info().ProtocolVersion), slog.Duration("after", time.Since(began)))
		s.reportList(nil, list, listErr)
	}
	s.host.rebuild()
	s.tell()
	close(f.done)
}

// reportList logs what is wrong with a list and was not with the one before.
func (s *server) reportList(before, list *toolList, err error) {
	if err != nil {
		s.host.log(slog.LevelWarn, "the tools of an MCP server cannot be listed", s.id, slog.String("error", err.Error()))
		return
	}
	for _, d := range list.dropped {
		if before != nil && slices.Contains(before.dropped, d) {
			continue
		}
		s.host.log(slog.LevelWarn, "a tool of an MCP server is left out", s.id, slog.String("tool", d.Local), slog.String("reason", d.Reason))
	}
}

// turn changes the status. It is called with the lock held.
func (s *server) turn(status Status, err error) {
	s.status, s.err, s.since = status, err, time.Now()
}

// tell tells those who watch how the server is by now.
func (s *server) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host.tell(s.stateLocked())
}

// fail notes that there is no session. What the caller gave up is no failure
// of the server. It is called with the lock held.
func (s *server) fail(err error, abandoned bool) {
	switch {
	case abandoned:
		s.turn(StatusIdle, nil)
	case errors.Is(err, ErrUnsupported):
		s.turn(StatusUnsupported, err)
	case errors.Is(err, ErrNotAllowed) && !ledAstray(err):
		s.turn(StatusDisabled, err)
	default:
		s.failures++
		s.retryAt = time.Now().Add(s.host.opts.Retry.wait(s.failures))
		s.turn(StatusFailed, err)
	}
}

// lost looks whether the session has ended by itself, notes that, and has what
// is left of it ended beside. It is called with the lock held.
func (s *server) lost() {
	if s.sess == nil || s.sess.Err() == nil || s.closed {
		return
	}
	sess, err := s.sess, s.sess.Err()
	s.sess, s.last = nil, sess
	if time.Since(s.born) >= s.host.opts.Retry.Stable {
		s.failures, s.retryAt = 0, time.Time{}
		s.turn(StatusFailed, err)
	} else {
		s.fail(err, false)
		if s.failures == 1 && isRenewable(err) {
			s.retryAt = time.Time{}
		}
	}
	s.host.tell(s.stateLocked())
	s.work.Go(func() {
		s.host.log(slog.LevelWarn, "an MCP server is gone", s.id, slog.String("error", err.Error()))
		s.host.rebuild()
		s.closeSession(sess)
	})
}

// isRenewable reports whether a session ended in a way that another one is the
// remedy of: the server has no such session any more, or wants other credentials.
func isRenewable(err error) bool {
	u := (*UnauthorizedError)(nil)
	return errors.Is(err, mcp.ErrSessionMissing) || errors.As(err, &u)
}

// used hears what a call of a session came to. What the caller gave up, and an
// error that the server answered with, says nothing of the server.
func (s *server) used(sess *Session, ctx context.Context, err error) {
	var answered *answerError
	switch {
	case err == nil:
	case errors.As(err, &answered):
		err = nil
	case ctx.Err() != nil:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sess != sess || sess.Err() != nil || errText(err) == errText(s.callErr) {
		return
	}
	s.callErr = err
	s.host.tell(s.stateLocked())
}

// gone hears from a session that it ended by itself. Who uses it may have
// noticed that before.
func (s *server) gone(error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost()
}

// How often a server is listed again that keeps saying its tools changed.
const (
	relistMin = 100 * time.Millisecond
	relistMax = 5 * time.Second
)

// changed hears from a session that the server's tools changed. It only
// signals.
func (s *server) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = true
	if s.relists || s.closed || s.sess == nil {
		return
	}
	s.relists = true
	s.work.Go(s.relist)
}

// relist lists the tools until nothing has changed since, slower and slower
// while the server goes on.
func (s *server) relist() {
	for {
		s.mu.Lock()
		sess := s.sess
		if !s.stale || sess == nil || s.closed {
			s.relists = false
			s.mu.Unlock()
			return
		}
		s.stale = false
		gap := s.widen()
		s.mu.Unlock()
		_ = s.listNow(s.ctx, sess)
		pause := time.NewTimer(gap)
		select {
		case <-pause.C:
		case <-s.ctx.Done():
			pause.Stop()
		}
	}
}

// widen returns how long to wait after the next list. A server that has been
// quiet for a while begins anew. It is called with the lock held.
func (s *server) widen() time.Duration {
	if now := time.Now(); now.Sub(s.relisted) > 2*relistMax {
		s.gap, s.relisted = relistMin, now
	} else {
		s.gap, s.relisted = min(2*s.gap, relistMax), now
	}
	return s.gap
}

// listNow lists the tools of a session and puts them in place, unless a list
// that was asked for later is there already.
func (s *server) listNow(ctx context.Context, sess *Session) error {
	s.mu.Lock()
	s.asked++
	number := s.asked
	s.mu.Unlock()
	list, err := sess.listTools(ctx)
	s.mu.Lock()
	if s.sess != sess || s.closed || number < s.answered || err != nil && ctx.Err() != nil {
		s.mu.Unlock()
		return err
	}
	s.answered = number
	before, beforeErr := s.list, s.err
	if err == nil {
		s.list = list
	}
	s.err = err
	s.mu.Unlock()
	if err == nil || errText(err) != errText(beforeErr) {
		s.reportList(before, list, err)
	}
	s.host.rebuild()
	s.tell()
	return err
}

// forgive lets the next use try at once, and ask the host again where it
// refused, or where the server refused what the host gave.
func (s *server) forgive() {
	s.host.dialer.consents.forgetRefusals(s.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := (*UnauthorizedError)(nil); s.sess != nil && errors.As(cmp.Or(s.callErr, s.err), &u) {
		s.sess.finish(cmp.Or(s.callErr, s.err))
	}
	s.lost()
	s.failures, s.retryAt = 0, time.Time{}
	if s.status == StatusDisabled {
		s.turn(StatusIdle, nil)
	}
}

// closeSession closes a session and tells of what is left.
func (s *server) closeSession(sess *Session) {
	if err := sess.Close(); err != nil {
		s.host.log(slog.LevelWarn, "an MCP server is left", s.id, slog.String("error", err.Error()))
		s.mu.Lock()
		s.left = err
		s.mu.Unlock()
	}
}

// close ends the server for good and waits for what belongs to it. Its error
// says that something is left.
func (s *server) close() error {
	s.mu.Lock()
	s.closed = true
	sess := s.sess
	s.mu.Unlock()
	s.cancel(ErrClosed)
	if sess != nil {
		s.closeSession(sess)
	}
	s.work.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sess = nil
	if s.status != StatusClosed {
		s.turn(StatusClosed, ErrClosed)
		s.host.tell(s.stateLocked())
	}
	return s.left
}

func (s *server) state() ServerState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stateLocked()
}

func (s *server) stateLocked() ServerState {
	st := ServerState{ID: s.id, Type: s.conf.Type(), Origin: s.origin, Status: s.status, Err: s.err, Since: s.since, Findings: slices.Clone(s.findings)}
	if s.sess != nil {
		st.Info, st.CallErr = s.sess.Info(), s.callErr
	}
	if s.list != nil {
		st.Tools = len(s.exposed())
		st.Dropped = slices.Clone(s.list.dropped)
	}
	return st
}

// tools returns the last list, which stays while the server may come back.
func (s *server) tools() []Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exposed()
}

// has reports whether the tool is in the last list as it is here.
func (s *server) has(t Tool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.exposed()
	i, found := slices.BinarySearchFunc(list, t.Local, func(t Tool, local string) int { return strings.Compare(t.Local, local) })
	return found && list[i].Digest == t.Digest
}

// exposed needs the lock.
func (s *server) exposed() []Tool {
	if s.list == nil || s.closed || s.status == StatusDisabled || s.status == StatusUnsupported {
		return nil
	}
	return s.list.tools
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// LogValue returns the plugin's and the server's name and the instance, escaped.
func (id ServerID) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("plugin", printable.Escape(id.Plugin)),
		slog.String("server", printable.Escape(id.Server)),
		slog.String("instance", printable.Escape(id.Instance.ID)),
	)
}

// String returns the plugin's and the server's name, escaped.
func (id ServerID) String() string {
	return printable.Escape(id.Plugin) + "/" + printable.Escape(id.Server)
}
