package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// TestCatalogStorm mints, calls, extends, moves, revokes, declares, suspends,
// withdraws and shuts down at once. Each invocation is of a tool on the surface of
// its run, observers hear of each grant's end once, and nothing is left. [K4] [K5] [T5] [H5]
func TestCatalogStorm(t *testing.T) {
	http.DefaultClient.CloseIdleConnections()
	before := runtime.NumGoroutine()
	c := newCatalog(t)
	var invokers mcpserver.Invokers
	var invoked, ended, canceled atomic.Int64
	for _, plugin := range []string{"a", "b"} {
		invokers.Set(plugin, mcpserver.InvokerFunc(func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
			invoked.Add(1)
			if inv.Tool.Plugin != plugin || !inv.Tool.On(inv.Run.Identity.Surface) || !strings.HasPrefix(inv.Run.Identity.Task, "task-") {
				t.Errorf("%+v for %s", inv, plugin)
			}
			if rand.IntN(3) == 0 {
				<-ctx.Done()
				canceled.Add(1)
				return mcpserver.Result{}, ctx.Err()
			}
			return mcpserver.Result{Text: "of " + plugin}, inv.Progress(ctx, 1, 2, "half")
		}))
	}
	var backlog channel.Backlog
	var mu sync.Mutex
	ends := map[string]int{}
	limits := fast
	limits.Invoke, limits.Revoke = 50*time.Millisecond, 100*time.Millisecond
	h := serve(t, mcpserver.Options{
		Catalog: c, Invokers: &invokers, Limits: limits, Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)),
		Observer: observing(func(ev mcpserver.Event) {
			if ev.Kind == mcpserver.EventRevoked || ev.Kind == mcpserver.EventExpired {
				mu.Lock()
				ends[ev.Run.GrantID]++
				mu.Unlock()
				ended.Add(1)
			}
		}),
	})
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	client := &http.Client{Transport: transport}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var all sync.WaitGroup
	for worker := range 2 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				tools := generation(n, 1+rand.IntN(3))
				for i := range tools {
					tools[i].Surfaces = []string{[]string{"chat", "batch"}[rand.IntN(2)]}
				}
				name := []string{"a", "b"}[worker]
				var err error
				switch rand.IntN(4) {
				case 0:
					c.Suspend(name)
				case 1:
					c.Withdraw(name)
				default:
					err = c.Declare(name, tools...)
					c.Resume(name)
				}
				if err != nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	for worker := range 8 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				var store channel.MemoryStore
				m, err := h.Mint(mcpserver.Grant{
					Identity: mcpserver.Identity{Task: fmt.Sprintf("task-%d-%d", worker, n), Surface: "chat"},
					Channel:  channel.Observe(channel.Of(channel.NewBuffered(&store)), channel.ObserveOptions{Backlog: &backlog, Observers: []channel.Observer{channel.ObserverFunc(func(channel.Event) {})}}),
					TTL:      time.Duration(20+rand.IntN(500)) * time.Millisecond,
				})
				if err != nil { // shut down
					return
				}
				who := raw{url: h.url, token: m.Token.Reveal(), version: stateless, client: client}
				var calls sync.WaitGroup
				for i := range 6 {
					calls.Go(func() {
						tool := []string{"plugin_a_tool_00", "plugin_b_tool_01", "record_progress"}[rand.IntN(3)]
						resp, err := who.open(ctx, "POST", toolCall(stateless, i, tool, args{"text": "x"}))
						if err == nil {
							io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						}
					})
				}
				calls.Go(func() {
					h.SetSurface(m.ID, []string{"chat", "batch", ""}[rand.IntN(3)])
					h.Extend(m.ID, time.Duration(20+rand.IntN(600))*time.Millisecond)
					h.Grants()
				})
				if rand.IntN(2) == 0 {
					calls.Go(func() { h.RevokeTask(fmt.Sprintf("task-%d-%d", worker, n)) })
				}
				calls.Wait()
			}
		})
	}
	time.Sleep(stormTime(t) / 4)
	eventually(t, "everything happens", func() bool { return invoked.Load() > 10 && ended.Load() > 10 && canceled.Load() > 0 })
	down, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := h.Shutdown(down); err != nil {
		t.Error(err)
	}
	stop()
	all.Wait()
	if err := backlog.Wait(down); err != nil {
		t.Error(err)
	}
	if n := h.Left(); n != 0 {
		t.Errorf("%d entries are left", n)
	}
	mu.Lock()
	for id, n := range ends {
		if n != 1 {
			t.Errorf("the end of %s was told %d times", id, n)
		}
	}
	mu.Unlock()
	transport.CloseIdleConnections()
	h.server.Close()
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}

// observing is a function that is an observer.
type observing func(mcpserver.Event)

func (f observing) Observe(ev mcpserver.Event) { f(ev) }
