package mcpclient

import (
	"context"
	"sync"
)

// Event is something that changed in a host.
type Event struct {
	// Server is the state that a server turned to, nil where the list of tools
	// changed.
	Server *ServerState
	// Tools says that what [Host.Tools] or [Host.Held] returns has changed.
	Tools bool
}

// A watcher keeps what its reader has not seen: the last state of each server,
// and whether tools changed. It grows with the servers, not with the events.
type watcher struct {
	mu     sync.Mutex
	order  []ServerID
	states map[ServerID]ServerState
	tools  bool
	signal chan struct{}
	done   chan struct{}
	once   sync.Once
}

// Watch returns the events of the host, until ctx ends or the host is closed,
// which closes the channel. It begins with the state of each server. A reader
// that is slow holds up nobody and misses what has been overtaken: it always
// gets the last state of each server.
func (h *Host) Watch(ctx context.Context) <-chan Event {
	w := &watcher{
		states: map[ServerID]ServerState{},
		signal: make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
	out := make(chan Event)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		close(out)
		return out
	}
	h.watchers[w] = struct{}{}
	list := h.serversLocked()
	h.mu.Unlock()
	for _, s := range list {
		s.mu.Lock() // so that no older state comes after a newer one
		w.server(h.shown(s.stateLocked()))
		s.mu.Unlock()
	}
	w.changed()
	go func() {
		defer close(out)
		defer func() {
			h.mu.Lock()
			delete(h.watchers, w)
			h.mu.Unlock()
		}()
		for {
			e, ok := w.next()
			if !ok {
				select {
				case <-w.signal:
					continue
				case <-w.done:
					return
				case <-ctx.Done():
					return
				}
			}
			select {
			case out <- e:
			case <-w.done:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func (w *watcher) stop() { w.once.Do(func() { close(w.done) }) }

func (w *watcher) server(s ServerState) {
	w.mu.Lock()
	if _, waiting := w.states[s.ID]; !waiting {
		w.order = append(w.order, s.ID)
	}
	w.states[s.ID] = s
	w.mu.Unlock()
	w.wake()
}

func (w *watcher) changed() {
	w.mu.Lock()
	w.tools = true
	w.mu.Unlock()
	w.wake()
}

func (w *watcher) wake() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// next takes the oldest event that is waiting.
func (w *watcher) next() (Event, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.order) > 0 {
		id := w.order[0]
		w.order = w.order[1:]
		s := w.states[id]
		delete(w.states, id)
		return Event{Server: &s}, true
	}
	if w.tools {
		w.tools = false
		return Event{Tools: true}, true
	}
	return Event{}, false
}

// tell is called with the server's lock held, which keeps its states in order.
func (h *Host) tell(s ServerState) {
	s = h.shown(s)
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		w.server(s)
	}
}

func (h *Host) tellTools() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		w.changed()
	}
}
