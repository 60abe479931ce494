package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/plugin"
)

// benchArguments are of the size that calls of coding agents have.
var benchArguments = json.RawMessage(`{"path": "src/main.go", "content": "` + strings.Repeat("line of code; ", 70) + `"}`)

// benchServer answers with a text of 2 KiB.
func benchServer() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	text := strings.Repeat("0123456789abcde\n", 128)
	srv.AddTool(&mcp.Tool{Name: "t", InputSchema: anyObject}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	})
	return srv
}

// loadServers loads a package with these entries in mcp.json.
func loadServers(tb testing.TB, entries map[string]any) *plugin.Plugin {
	tb.Helper()
	config, err := json.Marshal(map[string]any{
		"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": entries,
	})
	if err != nil {
		tb.Fatal(err)
	}
	p, err := plugin.LoadFS(context.Background(), fstest.MapFS{
		"plugin.json": {Data: []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "p"}`)},
		"mcp.json":    {Data: config},
	}, plugin.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if len(p.Servers()) != len(entries) {
		tb.Fatalf("servers: %v", p.Findings())
	}
	return p
}

// localhost is the URL of a test server by a name, which Egress asks for.
func localhost(ts *httptest.Server) string {
	return strings.Replace(ts.URL, "127.0.0.1", "localhost", 1)
}

// pair is one server, called through a host and through a bare session of the
// SDK.
type pair struct {
	host, bare func(context.Context) error
}

func httpPair(b *testing.B, sse bool) pair {
	b.Helper()
	srv := benchServer()
	get := func(*http.Request) *mcp.Server { return srv }
	var handler http.Handler = mcp.NewStreamableHTTPHandler(get, nil)
	kind := "streamable-http"
	if sse {
		handler, kind = mcp.NewSSEHandler(get, nil), "sse"
	}
	ts := httptest.NewServer(handler)
	b.Cleanup(ts.Close)
	h := newHostWith(b, HostOptions{Options: Options{Egress: DesktopEgress()}}, map[string]any{
		"s": map[string]any{"type": kind, "url": localhost(ts)},
	})
	var bare mcp.Transport = &mcp.StreamableClientTransport{Endpoint: localhost(ts)}
	if sse {
		bare = &mcp.SSEClientTransport{Endpoint: localhost(ts)}
	}
	return pair{hostCall(h, "mcp__p__s__t"), bareCall(b, bare)}
}

// benchServerEnv makes the test's program the stdio server of benchmarks.
const benchServerEnv = "PLUGBERTH_TEST_BENCH"

func init() {
	if os.Getenv(benchServerEnv) != "" {
		_ = benchServer().Run(context.Background(), &mcp.StdioTransport{})
		os.Exit(0)
	}
}

// stdioHost is a host of as many stdio servers, each of its own plugin entry.
func stdioHost(b *testing.B, servers int) *Host {
	b.Helper()
	entries := map[string]serverEntry{}
	for i := range servers {
		entries[fmt.Sprintf("s%d", i)] = serverEntry{"type": "stdio", "command": "testserver", "env": map[string]string{benchServerEnv: "1"}}
	}
	h, err := NewHost(HostOptions{Options: *testOptions(b)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close(context.Background()) })
	startAll(b, h, loadPlugin(b, writePlugin(b, entries, nil)))
	return h
}

// bareCommand is the SDK's own transport to the server of benchmarks.
func bareCommand(b *testing.B) mcp.Transport {
	b.Helper()
	cmd := exec.Command(filepath.Join(selfDir(b), "testserver"))
	cmd.Env = []string{benchServerEnv + "=1"}
	// As Local does: Linux shares the processor among sessions, which decides on
	// the time of a call where others use it too.
	leaveGroup(cmd)
	return &mcp.CommandTransport{Command: cmd}
}

// stdioPair compares what the client's side costs: the server is a process.
func stdioPair(b *testing.B) pair {
	b.Helper()
	return pair{hostCall(stdioHost(b, 1), "mcp__demo__s0__t"), bareCall(b, bareCommand(b))}
}

func newHostWith(tb testing.TB, opts HostOptions, entries map[string]any) *Host {
	tb.Helper()
	h, err := NewHost(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = h.Close(context.Background()) })
	startAll(tb, h, loadServers(tb, entries))
	return h
}

// startAll adds a plugin to a host, all of whose servers must connect.
func startAll(tb testing.TB, h *Host, p *plugin.Plugin) {
	tb.Helper()
	if err := h.Add(one, p); err != nil {
		tb.Fatal(err)
	}
	if err := h.Ready(context.Background()); err != nil {
		tb.Fatal(err)
	}
	for _, s := range h.Servers() {
		if s.Status != StatusConnected {
			tb.Fatalf("%v: %v", s.ID, s.Err)
		}
	}
}

func hostCall(h *Host, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := h.Call(ctx, name, benchArguments, CallOptions{})
		return err
	}
}

func bareSession(b *testing.B, t mcp.Transport) *mcp.ClientSession {
	b.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	// The version that the host ends up with on each transport: a newer one says
	// more in each request.
	cs, err := client.Connect(context.Background(), t, &mcp.ClientSessionOptions{ProtocolVersion: legacyVersion})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cs.Close() })
	return cs
}

func bareCall(b *testing.B, t mcp.Transport) func(context.Context) error {
	b.Helper()
	cs := bareSession(b, t)
	return func(ctx context.Context) error {
		_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "t", Arguments: benchArguments})
		return err
	}
}

// BenchmarkCall compares a call through a host with one through a bare session
// of the SDK on the same server, by turns. It reports the medians of 20 turns
// and what the host costs in units of the bare session.
func BenchmarkCall(b *testing.B) {
	for name, make := range map[string]func(*testing.B) pair{
		"http":  func(b *testing.B) pair { return httpPair(b, false) },
		"sse":   func(b *testing.B) pair { return httpPair(b, true) },
		"stdio": stdioPair,
	} {
		b.Run(name, func(b *testing.B) { compare(b, make(b)) })
	}
}

func compare(b *testing.B, p pair) {
	const turns = 20
	ctx := context.Background()
	type cost struct{ ns, bytes, allocs []float64 }
	measure := func(c *cost, call func(context.Context) error, n int) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		for range n {
			if err := call(ctx); err != nil {
				b.Fatal(err)
			}
		}
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		c.ns = append(c.ns, float64(took)/float64(n))
		c.bytes = append(c.bytes, float64(after.TotalAlloc-before.TotalAlloc)/float64(n))
		c.allocs = append(c.allocs, float64(after.Mallocs-before.Mallocs)/float64(n))
	}
	var host, bare cost
	n := max(b.N/turns, 20)
	measure(&cost{}, p.host, 20) // warm up
	measure(&cost{}, p.bare, 20)
	b.ResetTimer()
	for turn := range turns {
		if turn%2 == 0 {
			measure(&host, p.host, n)
			measure(&bare, p.bare, n)
		} else {
			measure(&bare, p.bare, n)
			measure(&host, p.host, n)
		}
	}
	median := func(v []float64) float64 {
		v = slices.Sorted(slices.Values(v))
		return v[len(v)/2]
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(host.ns)/1000, "µs/call")
	b.ReportMetric(median(host.ns)/median(bare.ns), "time/bare")
	b.ReportMetric(median(host.bytes)/median(bare.bytes), "bytes/bare")
	b.ReportMetric(median(host.allocs)/median(bare.allocs), "allocs/bare")
}

// BenchmarkConnect connects to 50 servers, of which each waits 300 ms before it
// answers what it is first asked.
func BenchmarkConnect(b *testing.B) {
	srv := benchServer()
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil)
	var asked sync.Map
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, again := asked.LoadOrStore(r.URL.Path, true); !again {
			time.Sleep(300 * time.Millisecond)
		}
		inner.ServeHTTP(w, r)
	}))
	b.Cleanup(ts.Close)
	round := 0
	for b.Loop() {
		b.StopTimer()
		round++
		entries := map[string]any{}
		for i := range 50 {
			entries[fmt.Sprintf("s%d", i)] = map[string]any{"type": "streamable-http", "url": fmt.Sprintf("%s/%d/%d", localhost(ts), round, i)}
		}
		b.StartTimer()
		h := newHostWith(b, HostOptions{Options: Options{Egress: DesktopEgress()}}, entries)
		b.StopTimer()
		_ = h.Close(context.Background())
		b.StartTimer()
	}
}
