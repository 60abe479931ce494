package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// eventStore is the endpoint as the SDK's store of events: it keeps, for each
// session, what was last sent on its streams, so that a client that lost its
// connection can come back for it.
type eventStore endpoint

var _ mcp.EventStore = (*eventStore)(nil)

// Open implements [mcp.EventStore]. The first stream of a session is its
// standing one, whose id is empty.
func (es *eventStore) Open(_ context.Context, sessionID, streamID string) error {
	if streamID == "" {
		return (*endpoint)(es).openSession(sessionID)
	}
	return nil // kept from its first event on
}

// Append implements [mcp.EventStore].
func (es *eventStore) Append(_ context.Context, sessionID, streamID string, data []byte) error {
	s := (*endpoint)(es).session(sessionID)
	if s == nil {
		return mcp.ErrSessionMissing
	}
	s.events.append(streamID, data)
	return nil
}

// After implements [mcp.EventStore].
func (es *eventStore) After(ctx context.Context, sessionID, streamID string, index int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		e := (*endpoint)(es)
		s := e.session(sessionID)
		if s == nil {
			yield(nil, mcp.ErrSessionMissing)
			return
		}
		events, err := s.events.after(streamID, index)
		if err != nil {
			yield(nil, err)
			return
		}
		if streamID != "" {
			s.resumed.Store(true)
			if ex := e.exchange(auth.TokenInfoFromContext(ctx)); ex != nil {
				ex.resume()
			}
			e.questions.forget(sessionID)
		}
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// SessionClosed implements [mcp.EventStore].
func (es *eventStore) SessionClosed(_ context.Context, sessionID string) error {
	(*endpoint)(es).forget(sessionID)
	return nil
}

// events are the events that a session keeps.
type events struct {
	limit int // bytes

	mu       sync.Mutex
	standing stream             // the stream that no request asked for
	answers  map[string]*stream // by id
	order    []string           // of answers, the oldest first
	size     int                // of answers
}

// stream is what is kept of one stream.
type stream struct {
	first  int // index of list[0]
	list   [][]byte
	weight int
	lost   int       // index after the last event that was dropped and has an id
	room   [2][]byte // for the usual answer: what the SDK primes it with, and it
}

func (s *stream) weigh() {
	s.weight = 0
	for _, data := range s.list {
		s.weight += len(data)
	}
}

// trim drops the oldest events of an answer's stream that is larger than limit, but
// never the newest: a call can report progress without end. It returns how much
// smaller the stream is.
func (s *stream) trim(limit int) (dropped int) {
	before := s.weight
	for len(s.list) > 1 && s.weight > limit {
		data := s.list[0]
		s.list[0] = nil // the array behind it stays for a while
		s.list = s.list[1:]
		s.first++
		s.weight -= len(data) + eventWeight
		if awaited(data) {
			s.lost = s.first
		}
	}
	return before - s.weight
}

// awaited reports whether a message is more than a notification: an answer, or a
// question.
func awaited(data []byte) bool {
	var message struct{ ID json.RawMessage }
	return json.Unmarshal(data, &message) == nil && message.ID != nil
}

// Bounds besides the limit in bytes.
const (
	maxStanding = 64  // events of the standing stream
	eventWeight = 128 // what an event costs besides its bytes
)

func (ev *events) append(id string, data []byte) {
	ev.mu.Lock()
	defer ev.mu.Unlock()
	if id == "" {
		s := &ev.standing
		s.list = append(s.list, data)
		s.weight += len(data)
		for len(s.list) > 1 && (len(s.list) > maxStanding || s.weight > ev.limit) {
			s.weight -= len(s.list[0])
			s.list = slices.Delete(s.list, 0, 1)
			s.first++
		}
		return
	}
	s := ev.answers[id]
	if s == nil {
		if ev.answers == nil {
			ev.answers = make(map[string]*stream)
		}
		s = new(stream)
		s.list = s.room[:0]
		ev.answers[id] = s
		ev.order = append(ev.order, id)
	}
	s.list = append(s.list, data)
	s.weight += len(data) + eventWeight
	ev.size += len(data) + eventWeight
	ev.size -= s.trim(ev.limit)
	// The oldest answers go first; the stream that just grew stays.
	for ev.size > ev.limit && len(ev.order) > 1 {
		oldest := ev.order[0]
		if oldest == id {
			ev.order = append(ev.order[1:], id)
			continue
		}
		ev.order = ev.order[1:]
		ev.size -= ev.answers[oldest].weight
		delete(ev.answers, oldest)
	}
}

func (ev *events) after(id string, index int) ([][]byte, error) {
	if index > math.MaxInt/2 { // of no event that was ever sent, and near to where numbers end
		return nil, mcp.ErrEventsPurged
	}
	ev.mu.Lock()
	defer ev.mu.Unlock()
	if id == "" {
		s := &ev.standing
		if index < 0 {
			// The client begins anew and the SDK counts from 0 again. One notice
			// that the tools changed is as good as many.
			s.list = slices.CompactFunc(s.list, bytes.Equal)
			s.first = 0
			s.weigh()
		}
		if index+1 < s.first {
			// Notices were dropped. The SDK counts on from index, and so do we: a
			// client that is refused its standing stream gives up the session,
			// and what was dropped said no more than what is left.
			s.first = index + 1
		}
		return slices.Clone(s.list[min(index+1-s.first, len(s.list)):]), nil
	}
	s := ev.answers[id]
	if s == nil || s.lost > index+1 {
		return nil, mcp.ErrEventsPurged
	}
	s.first = min(s.first, index+1) // the SDK counts on from index
	return slices.Clone(s.list[min(index+1-s.first, len(s.list)):]), nil
}
