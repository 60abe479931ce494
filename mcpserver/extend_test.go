package mcpserver_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// TestExtend: a live grant lasts longer under the same token, with its sessions,
// never shorter; log and observer are told. [T5]
func TestExtend(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Lifetime: 3 * time.Hour}})
	m := h.mint(t, mcpserver.Grant{Identity: mcpserver.Identity{Task: "t1"}, Channel: channel.Of(&run{}), TTL: 2 * time.Second})
	other := h.mint(t, mcpserver.Grant{TTL: 2 * time.Second})
	cs := h.connect(t, m.Token.Reveal(), stateful, nil)
	ends, err := h.Extend(m.ID, 2*time.Hour)
	if left := time.Until(ends); err != nil || left > 2*time.Hour || left < 2*time.Hour-time.Minute {
		t.Fatalf("%v, %v", left, err)
	}
	if info, _ := h.Grant(m.ID); !info.ExpiresAt.Equal(ends) {
		t.Errorf("it expires at %v, not at %v", info.ExpiresAt, ends)
	}
	if ev := h.event(t, mcpserver.EventExtended); ev.Run.GrantID != m.ID || !ev.ExpiresAt.Equal(ends) {
		t.Errorf("%+v", ev)
	}
	if again, err := h.Extend(m.ID, time.Minute); err != nil || !again.Equal(ends) {
		t.Errorf("it was made shorter: %v, %v", again, err)
	}
	if ev := h.event(t, mcpserver.EventExpired); ev.Run.GrantID != other.ID {
		t.Errorf("%+v", ev)
	}
	if res := call(t, cs, "record_progress", args{"text": "x"}); res.IsError {
		t.Errorf("after the time that it was minted for: %+v", res)
	}
	for name, tt := range map[string]struct {
		id  string
		ttl time.Duration
	}{
		"beyond the lifetime": {m.ID, 3*time.Hour + time.Second},
		"nothing":             {m.ID, 0},
		"less than nothing":   {m.ID, -time.Hour},
		"an expired grant":    {other.ID, time.Minute},
		"an unknown grant":    {"x", time.Minute},
	} {
		if _, err := h.Extend(tt.id, tt.ttl); !errors.Is(err, mcpserver.ErrGrant) {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.Revoke(m.ID)
	if _, err := h.Extend(m.ID, time.Minute); !errors.Is(err, mcpserver.ErrGrant) {
		t.Errorf("a revoked grant: %v", err)
	}
	if _, err := h.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "t"}, TTL: 4 * time.Hour}); !errors.Is(err, mcpserver.ErrGrant) {
		t.Errorf("minted for longer than a grant may live: %v", err)
	}
	asleep := h.mint(t, mcpserver.Grant{})
	h.Sleep(asleep.ID)
	if _, err := h.Extend(asleep.ID, time.Minute); !errors.Is(err, mcpserver.ErrGrant) {
		t.Errorf("a grant whose time passed while timers stood still: %v", err)
	}
	if _, ok := h.Grant(asleep.ID); ok {
		t.Error("it is still there")
	}
}

// TestExpiredIsGone: a grant whose time passed while timers stood still is no live
// one, whatever it is asked for by. [T5]
func TestExpiredIsGone(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	for name, gone := range map[string]func(m mcpserver.Minted) bool{
		"Grant":       func(m mcpserver.Minted) bool { _, ok := h.Grant(m.ID); return !ok },
		"Grants":      func(m mcpserver.Minted) bool { return len(h.Grants()) == 0 },
		"LookupToken": func(m mcpserver.Minted) bool { _, ok := h.LookupToken(m.Token.Reveal()); return !ok },
		"SetSurface":  func(m mcpserver.Minted) bool { return errors.Is(h.SetSurface(m.ID, "chat"), mcpserver.ErrGrant) },
	} {
		m := h.mint(t, mcpserver.Grant{})
		h.Sleep(m.ID)
		if !gone(m) {
			t.Errorf("%s knows it", name)
		}
		h.Revoke(m.ID)
	}
}

// TestExtendStorm: extending, revoking, moving and expiring at once end each grant
// once and leave nothing. [T5]
func TestExtendStorm(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	var all sync.WaitGroup
	for i := range 300 {
		m := h.mint(t, mcpserver.Grant{TTL: time.Duration(i%20+1) * time.Millisecond})
		all.Go(func() {
			for range 5 {
				h.Extend(m.ID, time.Duration(i%30+1)*time.Millisecond)
			}
		})
		all.Go(func() { h.SetSurface(m.ID, "chat"); h.LookupToken(m.Token.Reveal()); h.Grants() })
		if i%3 == 0 {
			all.Go(func() { h.Revoke(m.ID) })
		}
	}
	all.Wait()
	eventually(t, "all have ended", func() bool { return h.Left() == 0 })
}

// TestZeroRegistry: the zero Registry is one with the zero Options, whatever is
// called first.
func TestZeroRegistry(t *testing.T) {
	for name, first := range map[string]func(r *mcpserver.Registry){
		"Mint":        func(r *mcpserver.Registry) {},
		"LookupToken": func(r *mcpserver.Registry) { r.LookupToken("x") },
		"Grant":       func(r *mcpserver.Registry) { r.Grant("x") },
		"Grants":      func(r *mcpserver.Registry) { r.Grants() },
		"Revoke":      func(r *mcpserver.Registry) { r.Revoke("x") },
		"RevokeTask":  func(r *mcpserver.Registry) { r.RevokeTask("x") },
		"Extend":      func(r *mcpserver.Registry) { r.Extend("x", 1) },
		"SetSurface":  func(r *mcpserver.Registry) { r.SetSurface("x", "y") },
		"Push":        func(r *mcpserver.Registry) { r.Push(t.Context(), newCatalog(t).Snapshot()) },
		"Snapshot":    func(r *mcpserver.Registry) { r.Snapshot() },
	} {
		t.Run(name, func(t *testing.T) {
			r := new(mcpserver.Registry)
			first(r)
			h := serveRegistry(t, r)
			m := h.mint(t, mcpserver.Grant{Channel: channel.Of(&run{})})
			cs := h.connect(t, m.Token.Reveal(), stateful, nil)
			if res := call(t, cs, "record_progress", args{"text": "x"}); res.IsError {
				t.Errorf("%+v", res)
			}
		})
	}
	t.Run("ServeHTTP", func(t *testing.T) {
		h := serveRegistry(t, new(mcpserver.Registry))
		if got := (raw{url: h.url}).do(t, "POST", initialize); got.status != 401 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("Shutdown", func(t *testing.T) {
		r := new(mcpserver.Registry)
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := r.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "t"}}); !errors.Is(err, mcpserver.ErrClosed) {
			t.Error(err)
		}
	})
	if name := new(mcpserver.Tool).Name(); name != "" {
		t.Errorf("the zero Tool is named %q", name)
	}
}
