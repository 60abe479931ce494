package mcpserver_test

import (
	"context"
	"math"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// waiting is a channel whose user never answers. asked gets each question.
func waiting() (*run, chan channel.Question) {
	asked := make(chan channel.Question, 100)
	r := &run{}
	r.answer = func(ctx context.Context, q channel.Question) (channel.Answer, error) {
		asked <- q
		<-ctx.Done()
		return channel.Answer{}, ctx.Err()
	}
	return r, asked
}

// TestRevokeWhileAsking: the agent hears at once that its access ended, by every
// way in which it can end; its streams and sessions end with it, and nothing is
// left. [T5]
func TestRevokeWhileAsking(t *testing.T) {
	ways := []struct {
		name string
		ttl  time.Duration
		end  func(h *host, m mcpserver.Minted)
		text string
		kind mcpserver.EventKind
		out  mcpserver.Outcome
	}{
		{"revoke", 0, func(h *host, m mcpserver.Minted) { h.Revoke(m.ID) }, "revoked", mcpserver.EventRevoked, mcpserver.OutcomeRevoked},
		{"revoke the task", 0, func(h *host, m mcpserver.Minted) { h.RevokeTask("t") }, "revoked", mcpserver.EventRevoked, mcpserver.OutcomeRevoked},
		{"expiry", 500 * time.Millisecond, func(*host, mcpserver.Minted) {}, "expired", mcpserver.EventExpired, mcpserver.OutcomeExpired},
		{"shutdown", 0, func(h *host, m mcpserver.Minted) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if err := h.Shutdown(ctx); err == nil {
				panic("a call was cut off without an error")
			}
		}, "shutting down", "", mcpserver.OutcomeShutdown},
	}
	for _, era := range eras {
		for _, way := range ways {
			t.Run(era+" "+way.name, func(t *testing.T) {
				before := runtime.NumGoroutine()
				h := serve(t, mcpserver.Options{})
				r, asked := waiting()
				m := h.mint(t, mcpserver.Grant{Identity: mcpserver.Identity{Task: "t"}, Channel: channel.Of(r), TTL: way.ttl})
				bystander := h.mint(t, mcpserver.Grant{Identity: mcpserver.Identity{Task: "u"}, Channel: channel.Of(&run{})})
				other := h.connect(t, bystander.Token.Reveal(), era, nil)
				// A client that listens, so that a stream hangs.
				cs := h.connect(t, m.Token.Reveal(), era, &mcp.ClientOptions{
					ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {},
				})
				type outcome struct {
					res *mcp.CallToolResult
					err error
				}
				done := make(chan outcome, 1)
				go func() {
					res, err := tryCall(cs, "ask_user", args{"question": "Are you there?"})
					done <- outcome{res, err}
				}()
				<-asked
				way.end(h, m)
				got := <-done
				if got.err != nil || !got.res.IsError || !strings.Contains(text(got.res), way.text) {
					t.Errorf("the agent got %+v %v", got.res, got.err)
				}
				if way.kind != "" {
					if ev := h.event(t, way.kind); ev.Run.GrantID != m.ID {
						t.Errorf("event %+v", ev)
					}
				}
				if got := (raw{url: h.url, token: m.Token.Reveal()}).do(t, "POST", initialize); got.status != 401 {
					t.Errorf("the token is still good: %+v", got)
				}
				if way.kind != "" {
					if res := call(t, other, "ask_user", args{"question": "?"}); res.IsError {
						t.Errorf("another run was disturbed: %s", text(res))
					}
					for _, info := range h.Grants() {
						if info.ID != bystander.ID {
							t.Errorf("left: %+v", info)
						}
					}
				}
				cs.Close()
				other.Close()
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				h.Shutdown(ctx)
				h.server.Close()
				http.DefaultClient.CloseIdleConnections()
				eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
			})
		}
	}
}

// TestRevokeFromHandler: a handler that revokes its own grant is answered, and
// nothing waits for itself. [T5]
func TestRevokeFromHandler(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := serve(t, mcpserver.Options{})
			tool := custom(t, "stop", func(ctx context.Context, _ mcpserver.Call) (mcpserver.Result, error) {
				who, _ := mcpserver.RunFromContext(ctx)
				if !h.Revoke(who.GrantID) {
					t.Error("it was not live")
				}
				<-ctx.Done()
				return mcpserver.Result{}, context.Cause(ctx)
			})
			m := h.mint(t, mcpserver.Grant{Tools: []*mcpserver.Tool{tool}})
			cs := h.connect(t, m.Token.Reveal(), era, nil)
			res := call(t, cs, "stop", args{})
			if !res.IsError || !strings.Contains(text(res), "revoked") {
				t.Errorf("%+v", res)
			}
		})
	}
}

// TestStuckHandler: a handler that does not end with its context delays neither
// the answer nor the end of its grant, and Shutdown does not wait for it longer
// than it is asked to. [T5]
func TestStuckHandler(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := serve(t, mcpserver.Options{})
			in, out := make(chan bool, 1), make(chan bool)
			tool := custom(t, "stuck", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
				in <- true
				<-out
				return mcpserver.Result{Text: "late"}, nil
			})
			m := h.mint(t, mcpserver.Grant{Tools: []*mcpserver.Tool{tool}})
			cs := h.connect(t, m.Token.Reveal(), era, nil)
			done := make(chan *mcp.CallToolResult, 1)
			go func() {
				res, _ := tryCall(cs, "stuck", args{})
				done <- res
			}()
			<-in
			h.Revoke(m.ID)
			if res := <-done; res == nil || !strings.Contains(text(res), "revoked") {
				t.Errorf("%+v", res)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			if err := h.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			close(out)
		})
	}
}

// TestShutdownDrains: calls in flight are finished, new ones and new sessions
// are refused, and so is minting. [T5]
func TestShutdownDrains(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := serve(t, mcpserver.Options{})
			in, out := make(chan bool, 1), make(chan bool)
			slow := custom(t, "slow", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
				in <- true
				<-out
				return mcpserver.Result{Text: "finished"}, nil
			})
			m := h.mint(t, mcpserver.Grant{Tools: []*mcpserver.Tool{slow}, Channel: channel.Of(&run{})})
			cs := h.connect(t, m.Token.Reveal(), era, nil)
			done := make(chan *mcp.CallToolResult, 1)
			go func() {
				res, _ := tryCall(cs, "slow", args{})
				done <- res
			}()
			<-in
			down := make(chan error, 1)
			go func() { down <- h.Shutdown(context.Background()) }()
			eventually(t, "minting is refused", func() bool {
				_, err := h.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "x"}})
				return err == mcpserver.ErrClosed
			})
			res := call(t, cs, "ask_user", args{"question": "?"})
			if !res.IsError || !strings.Contains(text(res), "shutting down") {
				t.Errorf("a new call: %+v", res)
			}
			got := raw{url: h.url, token: m.Token.Reveal()}.do(t, "POST", initialize)
			if got.header.Get("Mcp-Session-Id") != "" && !strings.Contains(got.body, "error") {
				t.Errorf("a new session: %+v", got)
			}
			select {
			case err := <-down:
				t.Fatalf("it did not wait: %v", err)
			default:
			}
			close(out)
			if res := <-done; res == nil || text(res) != "finished" {
				t.Errorf("the call in flight got %+v", res)
			}
			if err := <-down; err != nil {
				t.Error(err)
			}
			if n := len(h.Grants()); n != 0 {
				t.Errorf("%d grants are left", n)
			}
		})
	}
}

// TestExpiryOrder: grants expire each at its time, whatever the order in which
// they were minted and revoked. [T5]
func TestExpiryOrder(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	ttls := []int{90, 30, 60, 120, 10, 150, 45}
	ids := map[string]int{}
	var revoke []string
	for i, ms := range ttls {
		ids[h.mint(t, mcpserver.Grant{TTL: time.Duration(ms) * time.Millisecond}).ID] = i
		revoke = append(revoke, h.mint(t, mcpserver.Grant{TTL: time.Duration(ms+5) * time.Millisecond}).ID)
	}
	for _, id := range revoke {
		if !h.Revoke(id) {
			t.Log("expired before it was revoked")
		}
	}
	for i := 0; i < len(ttls); {
		ev := h.event(t, mcpserver.EventExpired)
		n, ok := ids[ev.Run.GrantID]
		if !ok {
			continue
		}
		i++
		delete(ids, ev.Run.GrantID)
		for _, left := range ids {
			if ttls[left] < ttls[n] {
				t.Errorf("%d ms expired before %d ms", ttls[n], ttls[left])
			}
		}
	}
	if n := len(h.Grants()); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// TestRevokeTask ends the grants of one task, however many, and no other. [T5]
func TestRevokeTask(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	a := mcpserver.Grant{Identity: mcpserver.Identity{Task: "a"}}
	b := mcpserver.Grant{Identity: mcpserver.Identity{Task: "b"}}
	var first, last mcpserver.Minted
	for i := range 10 {
		last = h.mint(t, a)
		if i == 0 {
			first = last
		}
		h.mint(t, b)
	}
	middle := h.mint(t, a)
	h.mint(t, a)
	for _, m := range []mcpserver.Minted{middle, first} {
		if !h.Revoke(m.ID) {
			t.Error("not live")
		}
	}
	if n := h.RevokeTask("a"); n != 10 {
		t.Errorf("%d were revoked", n)
	}
	if n := h.RevokeTask("a"); n != 0 {
		t.Errorf("%d were revoked twice", n)
	}
	if _, ok := h.LookupToken(last.Token.Reveal()); ok {
		t.Error("a token of the task is good")
	}
	if n := len(h.Grants()); n != 10 {
		t.Errorf("%d grants of the other task are left", n)
	}
}

// TestExpiryClockSetBack: a wall clock that is set back lets no token live
// longer. [T5]
func TestExpiryClockSetBack(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Lifetime: math.MaxInt64}})
	m := h.mint(t, mcpserver.Grant{TTL: 300 * time.Millisecond})
	last := h.mint(t, mcpserver.Grant{TTL: math.MaxInt64})
	h.SetBack(24 * time.Hour)
	h.mint(t, mcpserver.Grant{TTL: time.Millisecond}) // sets the timer anew
	for h.event(t, mcpserver.EventExpired).Run.GrantID != m.ID {
	}
	eventually(t, "one is left", func() bool { return len(h.Grants()) == 1 })
	if got := h.Grants(); got[0].ID != last.ID {
		t.Errorf("left: %+v", got)
	}
}

// TestExpiryAfterSleep: a token whose time passed while timers stood still is
// refused at once, and its grant ends. [T5]
func TestExpiryAfterSleep(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	m := h.mint(t, mcpserver.Grant{})
	h.mint(t, mcpserver.Grant{})
	h.Sleep(m.ID)
	if got := (raw{url: h.url, token: m.Token.Reveal()}).do(t, "POST", initialize); got.status != 401 {
		t.Errorf("%+v", got)
	}
	if ev := h.event(t, mcpserver.EventExpired); ev.Run.GrantID != m.ID {
		t.Errorf("%+v", ev)
	}
	if n := len(h.Grants()); n != 1 {
		t.Errorf("%d grants are left", n)
	}
}
