package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// fleet is many sessions, each of a server of its own, whose clients hear of
// changes and do not list.
type fleet struct {
	servers  []*mcp.Server
	clients  []*mcp.ClientSession
	notified atomic.Int64
}

func (f *fleet) connect(b testing.TB, s *mcp.Server) {
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := s.Connect(context.Background(), ours, nil)
	if err != nil {
		b.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { f.notified.Add(1) },
	})
	cs, err := client.Connect(context.Background(), theirs, &mcp.ClientSessionOptions{ProtocolVersion: stateful})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cs.Close(); ss.Close() })
	f.servers = append(f.servers, s)
	f.clients = append(f.clients, cs)
}

// heard waits until each client has heard of one more change.
func (f *fleet) heard(b testing.TB, before int64) {
	eventually(b, "all are notified", func() bool { return f.notified.Load() >= before+int64(len(f.clients)) })
}

// benchTools declares a number of tools, by as many plugins as it takes.
func benchTools(b testing.TB, c *catalog.Catalog, generation, tools int) *catalog.Snapshot {
	const most = 16 // of one plugin
	for at := 0; at < tools; at += most {
		var list []catalog.Tool
		for i := at; i < min(at+most, tools); i++ {
			tool := declared(fmt.Sprintf("tool_%03d", i), fmt.Sprint("generation ", generation))
			list = append(list, tool)
		}
		if err := c.Declare(fmt.Sprint("plugin", at), list...); err != nil {
			b.Fatal(err)
		}
	}
	return c.Snapshot()
}

// mixed lists without pause with some clients of a fleet, and returns a function
// that ends it and says how many lists there were and how many of them held more
// than one generation, or another number of tools than there are.
func (f *fleet) mixed(b testing.TB, tools int) func() (lists, mixed int64) {
	var all, bad atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for _, cs := range f.clients[:2] {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				l, err := cs.ListTools(context.Background(), nil)
				if err != nil {
					b.Error(err)
					return
				}
				all.Add(1)
				if len(l.Tools) != tools || slices.ContainsFunc(l.Tools, func(t *mcp.Tool) bool { return t.Description != l.Tools[0].Description }) {
					bad.Add(1)
				}
			}
		})
	}
	return func() (int64, int64) {
		close(stop)
		wg.Wait()
		return all.Load(), bad.Load()
	}
}

// BenchmarkSwap changes all tools of live sessions at once: through a registry,
// and by removing and adding on the SDK's servers, in the same run. store-us and
// tell-us are what a registry takes to have the snapshot and to tell all sessions,
// sdk-us what removing and adding takes; heard-ms is until the last client has the
// notification, which the SDK holds back for 10 ms. Clients do not list, apart from
// two in swaps that are not timed: mixed and sdk-mixed are how many of their lists,
// of 100, were none of before or after. The least of the rounds counts, since the
// clients that hear of the swap take part in it; the SDK is measured in one.
func BenchmarkSwap(b *testing.B) {
	for _, n := range []struct{ sessions, tools int }{{100, 100}, {1000, 10}, {1000, 100}} {
		b.Run(fmt.Sprintf("sessions=%d/tools=%d", n.sessions, n.tools), func(b *testing.B) {
			reg := benchRegistry(b)
			c := newCatalog(b)
			var ours, theirs fleet
			for i := range n.sessions {
				built := make(chan *mcp.Server, 1)
				m, err := reg.Mint(mcpserver.Grant{
					Identity:  mcpserver.Identity{Task: fmt.Sprint("task-", i), Surface: "chat"},
					Configure: func(s *mcp.Server) { built <- s },
				})
				if err != nil {
					b.Fatal(err)
				}
				unknownSession(b, reg, m.Token.Reveal())
				ours.connect(b, <-built)
				theirs.connect(b, mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, &mcp.ServerOptions{
					Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
				}))
			}
			handler := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }
			names := make([]string, n.tools)
			for i := range names {
				names[i] = fmt.Sprintf("tool_%03d", i)
			}
			swapSDK := func(generation int, servers []*mcp.Server) {
				for _, s := range servers {
					s.RemoveTools(names...)
					for _, name := range names {
						s.AddTool(&mcp.Tool{
							Name: name, Description: fmt.Sprint("generation ", generation),
							InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":100}},"additionalProperties":false}`),
						}, handler)
					}
				}
			}
			generation := 0
			next := func() *catalog.Snapshot {
				generation++
				return benchTools(b, c, generation, n.tools)
			}
			reg.SwapNow(next())
			swapSDK(generation, theirs.servers)
			ours.heard(b, 0)
			theirs.heard(b, 0)

			var store, tell, sdk, heard []float64
			us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
			for b.Loop() {
				s := next()
				runtime.GC() // of what making it left behind
				before, begun := ours.notified.Load(), time.Now()
				stored, told := reg.SwapNow(s)
				ours.heard(b, before)
				heard = append(heard, us(time.Since(begun))/1e3)
				store, tell = append(store, us(stored)), append(tell, us(told))

				if len(sdk) == 0 { // once: it takes seconds
					before, begun = theirs.notified.Load(), time.Now()
					swapSDK(generation, theirs.servers)
					sdk = append(sdk, us(time.Since(begun)))
					theirs.heard(b, before)
				}
			}

			report := func(name string, f *fleet, swap func()) {
				end := f.mixed(b, n.tools)
				for range 20 {
					swap()
				}
				if lists, mixed := end(); lists > 0 {
					b.ReportMetric(100*float64(mixed)/float64(lists), name)
				}
			}
			report("mixed", &ours, func() { reg.SwapNow(next()) })
			report("sdk-mixed", &theirs, func() { generation++; swapSDK(generation, theirs.servers[:2]) })
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(slices.Min(store), "store-us")
			b.ReportMetric(slices.Min(tell), "tell-us")
			b.ReportMetric(median(tell), "tell-median-us")
			b.ReportMetric(1e3*(slices.Min(store)+slices.Min(tell))/float64(n.sessions), "ns/session")
			b.ReportMetric(median(heard), "heard-ms")
			b.ReportMetric(sdk[0], "sdk-us")
			b.ReportMetric(1e3*sdk[0]/float64(n.sessions), "sdk-ns/session")
		})
	}
}

// BenchmarkBadInvoker: how long the calls of one plugin take while the invoker of
// another one panics, hangs and floods, against how long they take without:
// median and 99th percentile in microseconds. The run of the bad one is another,
// and in a second round the same.
func BenchmarkBadInvoker(b *testing.B) {
	for _, same := range []bool{false, true} {
		b.Run(map[bool]string{false: "other run", true: "same run"}[same], func(b *testing.B) {
			c := newCatalog(b)
			for _, plugin := range []string{"good", "panics", "hangs", "floods"} {
				declare(b, c, plugin, declared("do", "Does it."))
			}
			var invokers mcpserver.Invokers
			release := make(chan struct{})
			invokers.Set("good", &invoker{})
			invokers.Set("panics", mcpserver.InvokerFunc(func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) { panic("x") }))
			invokers.Set("hangs", mcpserver.InvokerFunc(func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) {
				<-release
				return mcpserver.Result{}, nil
			}))
			big := string(make([]byte, 4<<20))
			invokers.Set("floods", mcpserver.InvokerFunc(func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
				for n := range 1000 {
					_ = inv.Progress(ctx, float64(n), 0, big)
				}
				return mcpserver.Result{Text: big}, nil
			}))
			reg, err := mcpserver.New(mcpserver.Options{Limits: unlimited, Catalog: c, Invokers: &invokers})
			if err != nil {
				b.Fatal(err)
			}
			url := served(b, reg)
			b.Cleanup(func() { close(release); reg.Shutdown(context.Background()) })
			agent := func(task string) *mcp.ClientSession {
				m, err := reg.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: task, Surface: "chat"}})
				if err != nil {
					b.Fatal(err)
				}
				h := &host{url: url}
				return h.connect(b, m.Token.Reveal(), stateless, nil)
			}
			good := agent("good")
			bad := good
			if !same {
				bad = agent("bad")
			}
			measure := func() (p50, p99 float64) {
				var took []float64
				for range 500 {
					begun := time.Now()
					if res, err := good.CallTool(context.Background(), &mcp.CallToolParams{Name: "plugin_good_do"}); err != nil || res.IsError {
						b.Fatal(res, err)
					}
					took = append(took, float64(time.Since(begun).Microseconds()))
					time.Sleep(time.Millisecond) // an agent's calls are not one after another
				}
				slices.Sort(took)
				return took[len(took)/2], took[len(took)*99/100]
			}
			var calm, calm99, storm, storm99 []float64
			for b.Loop() {
				p50, p99 := measure()
				calm, calm99 = append(calm, p50), append(calm99, p99)
				ctx, stop := context.WithCancel(context.Background())
				var wg sync.WaitGroup
				for _, plugin := range []string{"panics", "hangs", "floods"} {
					wg.Go(func() {
						for ctx.Err() == nil {
							call, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
							bad.CallTool(call, &mcp.CallToolParams{Name: "plugin_" + plugin + "_do"})
							cancel()
							time.Sleep(10 * time.Millisecond)
						}
					})
				}
				p50, p99 = measure()
				storm, storm99 = append(storm, p50), append(storm99, p99)
				stop()
				wg.Wait()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(calm), "calm-us")
			b.ReportMetric(median(calm99), "calm-p99-us")
			b.ReportMetric(median(storm), "beside-us")
			b.ReportMetric(median(storm99), "beside-p99-us")
		})
	}
}
