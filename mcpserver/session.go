package mcpserver

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is one session of the stateful protocol. The SDK says through its
// event store when one opens and closes.
type session struct {
	id      string
	events  events
	resumed atomic.Bool // the client has come back for answers

	// Guarded by the grant's mu.
	sdk   *mcp.ServerSession // nil until it is initialized
	ended bool               // it is being closed: no call begins
	busy  int                // requests and calls
	since time.Time          // when busy became 0
	timer *time.Timer        // runs while busy is 0; nil once it must not
}

var errSessionLimit = errors.New("mcpserver: no session can be opened")

// openSession notes a session that the SDK has made for a request.
func (e *endpoint) openSession(id string) error {
	limits := &e.reg.opts.Limits
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended != nil || e.sessions[id] != nil || len(e.sessions) >= limits.Sessions {
		return errSessionLimit
	}
	s := &session{id: id, since: time.Now()}
	s.events.limit = limits.Replay
	s.timer = time.AfterFunc(limits.Idle, func() { e.closeIdle(s) })
	if e.sessions == nil {
		e.sessions = make(map[string]*session)
	}
	e.sessions[id] = s
	return nil
}

// initialized notes the SDK's session, so that it can be closed. It is called
// before the SDK answers initialize, and fails when the grant has ended.
func (e *endpoint) initialized(sdk *mcp.ServerSession) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended != nil {
		return e.ended
	}
	if s := e.sessions[sdk.ID()]; s != nil {
		s.sdk = sdk
	}
	return nil
}

// forget is told that the SDK has closed a session.
func (e *endpoint) forget(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.sessions[id]; s != nil {
		s.stopIdle()
		delete(e.sessions, id)
	}
}

func (e *endpoint) session(id string) *session {
	if id == "" {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sessions[id]
}

// roomForSession reports whether another session may be opened, and closes the
// one that has been idle longest where that makes the room: a program that was
// killed leaves its session behind. The caller holds mu.
func (e *endpoint) roomForSession(limit int) bool {
	if len(e.sessions)+e.opening < limit {
		return true
	}
	var oldest *session
	for _, s := range e.sessions {
		if s.busy == 0 && s.sdk != nil && (oldest == nil || s.since.Before(oldest.since)) {
			oldest = s
		}
	}
	if oldest == nil {
		return false
	}
	oldest.stopIdle()
	oldest.ended = true
	delete(e.sessions, oldest.id)
	go oldest.sdk.Close()
	return true
}

// endSession cancels the calls of a session that its client ends: the SDK waits
// for them.
func (e *endpoint) endSession(id string) {
	if id == "" {
		return
	}
	e.mu.Lock()
	if s := e.sessions[id]; s != nil {
		s.ended = true
	}
	var calls []*call
	for c := range e.calls {
		if c.session != nil && c.session.id == id {
			calls = append(calls, c)
		}
	}
	e.mu.Unlock()
	for _, c := range calls {
		c.cancel(endSession)
	}
}

// closeIdle closes a session whose client has been away too long.
func (e *endpoint) closeIdle(s *session) {
	e.mu.Lock()
	sdk := s.sdk
	if s.busy > 0 || s.timer == nil || sdk == nil {
		e.mu.Unlock()
		return
	}
	s.stopIdle()
	s.ended = true
	e.mu.Unlock()
	sdk.Close()
}

// begin counts what the session is busy with. The caller holds the grant's mu.
func (s *session) begin() {
	s.busy++
	if s.busy == 1 && s.timer != nil {
		s.timer.Stop()
	}
}

func (s *session) end(idle time.Duration) {
	s.busy--
	if s.busy == 0 {
		s.since = time.Now()
		if s.timer != nil {
			s.timer.Reset(idle)
		}
	}
}

func (s *session) stopIdle() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}
