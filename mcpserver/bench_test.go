package mcpserver_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/internal/toolschema"
	"github.com/plugberth/plugberth/mcpserver"
)

// served is a handler on a socket, without what a test wants to know of it.
func served(b testing.TB, h http.Handler) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go srv.Serve(l)
	b.Cleanup(func() { srv.Close() })
	return "http://" + l.Addr().String()
}

var unlimited = mcpserver.Limits{Rate: 1 << 30, Burst: 1 << 30, Requests: 1 << 20, Sessions: 1 << 20, Calls: 1 << 20}

const noteSchema = `{"type":"object","properties":{"text":{"type":"string","maxLength":1000}},"required":["text"]}`

// note is a tool of the registry.
func note(b testing.TB) *mcpserver.Tool {
	tool, err := mcpserver.NewTool(mcpserver.ToolDef{
		Name: "note", Description: "Notes it.", InputSchema: json.RawMessage(noteSchema),
		Handler: func(ctx context.Context, call mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Text: "noted"}, nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	return tool
}

// ours is a registry with one grant.
func ours(b testing.TB) (url, token string) {
	reg, err := mcpserver.New(mcpserver.Options{Limits: unlimited})
	if err != nil {
		b.Fatal(err)
	}
	m, err := reg.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "t"}, Tools: []*mcpserver.Tool{note(b)}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { reg.Shutdown(context.Background()) })
	return served(b, reg), m.Token.Reveal()
}

// bareServer is the SDK's server with the same tool as a raw handler and the
// same validation.
func bareServer(b testing.TB) *mcp.Server {
	schema, err := toolschema.Parse([]byte(noteSchema), toolschema.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "note", Description: "Notes it.", InputSchema: json.RawMessage(noteSchema)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := schema.ValidateJSON(req.Params.Arguments); err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "noted"}}}, nil
	})
	return s
}

// bare is the SDK's handler behind the SDK's bearer middleware.
func bare(b testing.TB, era string) (url, token string) {
	s := bareServer(b)
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: era == stateless})
	want := sha256.Sum256([]byte("secret"))
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		if sha256.Sum256([]byte(token)) != want {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: "u", Expiration: time.Now().Add(time.Hour)}, nil
	}
	return served(b, auth.RequireBearerToken(verify, nil)(h)), "secret"
}

// sdkCaller calls with the SDK's client.
func sdkCaller(b testing.TB, url, token, era string) func() {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	cs, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token, http.DefaultTransport}}, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cs.Close() })
	params := &mcp.CallToolParams{Name: "note", Arguments: args{"text": "the quick brown fox"}}
	return func() {
		res, err := cs.CallTool(context.Background(), params)
		if err != nil || res.IsError {
			b.Fatal(res, err)
		}
	}
}

// leanCaller calls with as little as a client can do, so that what is measured
// is the server.
func leanCaller(b testing.TB, url, token, era string) func() {
	base := raw{url: url, token: token, version: era}
	if era == stateful {
		base = raw{url: url, token: token}.begin(b)
	}
	n := 10
	buf := make([]byte, 64<<10)
	return func() {
		n++
		resp, err := base.open(context.Background(), "POST", toolCall(era, n, "note", args{"text": "the quick brown fox"}))
		if err != nil {
			b.Fatal(err)
		}
		size := 0
		for {
			m, err := resp.Body.Read(buf[size:])
			size += m
			if err != nil {
				break
			}
		}
		resp.Body.Close()
		if !strings.Contains(string(buf[:size]), "noted") {
			b.Fatalf("%d %s", resp.StatusCode, buf[:size])
		}
	}
}

// BenchmarkCall compares one tool call through a registry with one on the SDK's
// own handler behind its bearer middleware, with the same tool and the same
// validation. Both run in turn, 20 times each, and the medians are compared: each
// ratio is ours divided by theirs. cpu-ns is the processor time of client and
// server together, which says more on a machine that is busy with other things.
// With the lean client nearly all that is measured is the server.
func BenchmarkCall(b *testing.B) {
	callers := map[string]func(b testing.TB, url, token, era string) func(){"sdk": sdkCaller, "lean": leanCaller}
	for _, era := range eras {
		for _, client := range []string{"sdk", "lean"} {
			b.Run(era+"/"+client, func(b *testing.B) {
				url, token := ours(b)
				mine := callers[client](b, url, token, era)
				url, token = bare(b, era)
				theirs := callers[client](b, url, token, era)
				type figures struct{ ns, cpu, bytes, allocs []float64 }
				measure := func(f *figures, call func()) {
					const calls = 200
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					begun, used := time.Now(), cpuTime()
					for range calls {
						call()
					}
					d, cpu := time.Since(begun), cpuTime()-used
					runtime.ReadMemStats(&after)
					f.ns = append(f.ns, float64(d.Nanoseconds())/calls)
					f.cpu = append(f.cpu, float64(cpu.Nanoseconds())/calls)
					f.bytes = append(f.bytes, float64(after.TotalAlloc-before.TotalAlloc)/calls)
					f.allocs = append(f.allocs, float64(after.Mallocs-before.Mallocs)/calls)
				}
				var warm, m, t figures
				measure(&warm, mine)
				measure(&warm, theirs)
				b.ResetTimer()
				for b.Loop() {
					for range 20 {
						measure(&m, mine)
						measure(&t, theirs)
					}
				}
				report := func(unit string, mine, theirs []float64) {
					b.ReportMetric(median(mine), "our-"+unit)
					b.ReportMetric(median(theirs), "sdk-"+unit)
					b.ReportMetric(median(mine)/median(theirs), unit+"-ratio")
				}
				b.ReportMetric(0, "ns/op")
				report("ns", m.ns, t.ns)
				if cpuTime() > 0 {
					report("cpu-ns", m.cpu, t.cpu)
				}
				report("B", m.bytes, t.bytes)
				report("allocs", m.allocs, t.allocs)
			})
		}
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// heap is what lives after a collection, and stacks what goroutines stand on.
func heap() (bytes, stacks uint64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.StackInuse
}

func benchRegistry(b testing.TB) *mcpserver.Registry {
	reg, err := mcpserver.New(mcpserver.Options{Limits: unlimited})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { reg.Shutdown(context.Background()) })
	return reg
}

// grantFor is a grant with the four tools.
func grantFor(n int) mcpserver.Grant {
	return mcpserver.Grant{
		Identity: mcpserver.Identity{Task: fmt.Sprint("task-", n), Session: "s", Workspace: "w", Surface: "f"},
		Channel:  channel.Of(quiet{}),
	}
}

type quiet struct{}

func (quiet) Ask(context.Context, channel.Question) (channel.Answer, error) {
	return channel.Answer{Text: "yes"}, nil
}
func (quiet) ReportSummary(context.Context, channel.Summary) error { return nil }
func (quiet) SpawnSubtask(context.Context, channel.SubtaskSpec) (channel.Subtask, error) {
	return channel.Subtask{ID: "1"}, nil
}
func (quiet) RecordProgress(context.Context, channel.Progress) error { return nil }

// BenchmarkMint: the time to mint, and what a grant that is not used keeps.
func BenchmarkMint(b *testing.B) {
	reg := benchRegistry(b)
	reg.Mint(grantFor(0)) // what is made once
	before, _ := heap()
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		if _, err := reg.Mint(grantFor(n)); err != nil {
			b.Fatal(err)
		}
	}
	after, _ := heap()
	b.ReportMetric(float64(after-before)/float64(n), "retained-B/grant")
	runtime.KeepAlive(reg)
}

// BenchmarkToken: the check of a token, for a good one, one that differs in the
// last character, and one that differs in all of them.
func BenchmarkToken(b *testing.B) {
	reg := benchRegistry(b)
	var good string
	for n := range 10_000 {
		m, err := reg.Mint(grantFor(n))
		if err != nil {
			b.Fatal(err)
		}
		good = m.Token.Reveal()
	}
	near := good[:len(good)-2] + string(good[len(good)-2]^1) + good[len(good)-1:]
	far := good[:10] + strings.Repeat("A", 43)
	for _, tt := range []struct {
		name, token string
		want        bool
	}{{"hit", good, true}, {"near miss", near, false}, {"far miss", far, false}} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if reg.Find(tt.token) != tt.want {
					b.Fatal("wrong")
				}
			}
		})
	}
}

// unknownSession is a request that builds the endpoint of a grant and does
// nothing else.
func unknownSession(b testing.TB, h http.Handler, token string) {
	r := raw{url: "http://127.0.0.1/", token: token, version: stateful, session: "none"}
	rec := &discard{header: make(http.Header)}
	h.ServeHTTP(rec, r.request(context.Background(), "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if rec.status != 404 {
		b.Fatal(rec.status)
	}
}

// BenchmarkFirstRequest: what the first request of a grant costs more than the
// second, in the median, because an endpoint is built for it.
func BenchmarkFirstRequest(b *testing.B) {
	reg := benchRegistry(b)
	var first, second []float64
	timed := func(token string) float64 {
		begun := time.Now()
		unknownSession(b, reg, token)
		return float64(time.Since(begun).Nanoseconds())
	}
	var all uint64
	n := 0
	for b.Loop() {
		n++
		m, err := reg.Mint(grantFor(n))
		if err != nil {
			b.Fatal(err)
		}
		var before, between, after runtime.MemStats
		if n%100 == 0 {
			runtime.ReadMemStats(&before)
		}
		first = append(first, timed(m.Token.Reveal()))
		if n%100 == 0 {
			runtime.ReadMemStats(&between)
		}
		second = append(second, timed(m.Token.Reveal()))
		if n%100 == 0 {
			runtime.ReadMemStats(&after)
			all += between.TotalAlloc - before.TotalAlloc - (after.TotalAlloc - between.TotalAlloc)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(first)-median(second), "more-ns")
	if n >= 100 {
		b.ReportMetric(float64(all)/float64(n/100), "more-B")
	}
}

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { d.WriteHeader(200); return len(p), nil }
func (d *discard) WriteHeader(status int) {
	if d.status == 0 {
		d.status = status
	}
}

// BenchmarkIdle: what 10,000 idle grants keep, what 1,000 of them keep once
// they were used, and then an open session of each, against the SDK's own server
// and handler with one tool for each. The connections are closed.
func BenchmarkIdle(b *testing.B) {
	const grants, used = 10_000, 1_000
	open := func(h http.Handler, token string) {
		r := raw{url: "http://127.0.0.1/", token: token}
		rec := &discard{header: make(http.Header)}
		h.ServeHTTP(rec, r.request(context.Background(), "POST", initialize))
		if rec.status != 200 || rec.header.Get("Mcp-Session-Id") == "" {
			b.Fatalf("%+v", rec)
		}
	}
	type state struct {
		heap, stacks uint64
		goroutines   int
	}
	now := func() state {
		h, s := heap()
		return state{h, s, runtime.NumGoroutine()}
	}
	report := func(b *testing.B, unit string, from, to state, n float64) {
		b.ReportMetric(float64(int64(to.heap)-int64(from.heap))/n, "heap-B/"+unit)
		b.ReportMetric(float64(int64(to.stacks)-int64(from.stacks))/n, "stack-B/"+unit)
		b.ReportMetric(float64(to.goroutines-from.goroutines)/n, "goroutines/"+unit)
	}
	b.Run("registry", func(b *testing.B) {
		for b.Loop() {
			reg := benchRegistry(b)
			tokens := make([]string, grants)
			reg.Mint(grantFor(-1)) // what is made once
			unknownSession(b, reg, func() string { m, _ := reg.Mint(grantFor(-2)); return m.Token.Reveal() }())
			empty := now()
			for n := range grants {
				m, err := reg.Mint(grantFor(n))
				if err != nil {
					b.Fatal(err)
				}
				tokens[n] = m.Token.Reveal()
			}
			minted := now()
			for _, token := range tokens[:used] {
				unknownSession(b, reg, token)
			}
			built := now()
			for _, token := range tokens[:used] {
				open(reg, token)
			}
			report(b, "grant", empty, minted, grants)
			report(b, "used", minted, built, used)
			report(b, "session", built, now(), used)
			runtime.KeepAlive(reg)
		}
		b.ReportMetric(0, "ns/op")
	})
	b.Run("sdk", func(b *testing.B) {
		for b.Loop() {
			handlers := make([]http.Handler, used)
			empty := now()
			for n := range handlers {
				s := bareServer(b)
				handlers[n] = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
			}
			built := now()
			for _, h := range handlers {
				open(h, "")
			}
			report(b, "used", empty, built, used)
			report(b, "session", built, now(), used)
			runtime.KeepAlive(handlers)
		}
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkRevoke: ending 10,000 grants of one task, none used, or 1,000 of
// them with an open session, until nothing is left.
func BenchmarkRevoke(b *testing.B) {
	for _, open := range []int{0, 1000} {
		b.Run(fmt.Sprintf("10000 grants, %d sessions", open), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				reg := benchRegistry(b)
				for n := range 10_000 {
					g := grantFor(n)
					g.Identity.Task = "t"
					m, err := reg.Mint(g)
					if err != nil {
						b.Fatal(err)
					}
					if n < open {
						r := raw{url: "http://127.0.0.1/", token: m.Token.Reveal()}
						rec := &discard{header: make(http.Header)}
						reg.ServeHTTP(rec, r.request(context.Background(), "POST", initialize))
					}
				}
				b.StartTimer()
				begun := time.Now()
				if n := reg.RevokeTask("t"); n != 10_000 {
					b.Fatal(n)
				}
				b.ReportMetric(float64(time.Since(begun).Microseconds())/1000, "ms-until-refused")
				if err := reg.Shutdown(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRevokeWhileAsking: how long the agent waits for the news that its
// access was revoked, from the call of Revoke until the answer is read, over
// HTTP: the median and the 99th percentile.
func BenchmarkRevokeWhileAsking(b *testing.B) {
	for _, era := range eras {
		b.Run(era, func(b *testing.B) {
			reg := benchRegistry(b)
			url := served(b, reg)
			var waits []float64
			for b.Loop() {
				r, asked := waiting()
				m, err := reg.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "t"}, Channel: channel.Of(r)})
				if err != nil {
					b.Fatal(err)
				}
				base := raw{url: url, token: m.Token.Reveal(), version: era}
				if era == stateful {
					base = raw{url: url, token: m.Token.Reveal()}.begin(b)
				}
				heard := make(chan time.Time, 1)
				go func() {
					resp, err := base.open(context.Background(), "POST", toolCall(era, 5, "ask_user", args{"question": "?"}))
					if err != nil {
						b.Error(err)
						heard <- time.Time{}
						return
					}
					data, _ := io.ReadAll(resp.Body)
					resp.Body.Close()
					if !strings.Contains(string(data), "revoked") {
						b.Errorf("%s", data)
					}
					heard <- time.Now()
				}()
				<-asked
				begun := time.Now()
				reg.Revoke(m.ID)
				waits = append(waits, float64((<-heard).Sub(begun).Microseconds())/1000)
			}
			slices.Sort(waits)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(waits[len(waits)/2], "ms-p50")
			b.ReportMetric(waits[len(waits)*99/100], "ms-p99")
		})
	}
}
