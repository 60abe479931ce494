package mcpclient

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkIdle shows what a connected server costs its client while nothing is
// called: bytes that are in use, those of stacks, and goroutines, through a host
// and through bare sessions of the SDK. A remote server is in the same process,
// so the goroutines and bytes of its side are in both numbers.
func BenchmarkIdle(b *testing.B) {
	const remote, local = 50, 10
	server := func(b *testing.B) *httptest.Server {
		srv := benchServer()
		ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil))
		b.Cleanup(ts.Close)
		return ts
	}
	for _, bb := range []struct {
		name    string
		servers int
		connect func(b *testing.B)
	}{
		{"http/host", remote, func(b *testing.B) {
			ts := server(b)
			entries := map[string]any{}
			for i := range remote {
				entries[fmt.Sprintf("s%d", i)] = map[string]any{"type": "streamable-http", "url": localhost(ts)}
			}
			newHostWith(b, HostOptions{Options: Options{Egress: DesktopEgress()}}, entries)
		}},
		{"http/bare", remote, func(b *testing.B) {
			ts := server(b)
			for range remote {
				// Each has connections of its own, as each server of a host.
				own := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
				b.Cleanup(own.CloseIdleConnections)
				bareList(b, bareSession(b, &mcp.StreamableClientTransport{Endpoint: localhost(ts), HTTPClient: own}))
			}
		}},
		{"stdio/host", local, func(b *testing.B) { stdioHost(b, local) }},
		{"stdio/bare", local, func(b *testing.B) {
			for range local {
				bareList(b, bareSession(b, bareCommand(b)))
			}
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			var heap, stack, goroutines float64
			for b.Loop() {
				b.StopTimer()
				before, goBefore := inUse()
				b.StartTimer()
				bb.connect(b)
				b.StopTimer()
				after, goAfter := inUse()
				heap += float64(int64(after.HeapAlloc) - int64(before.HeapAlloc))
				stack += float64(int64(after.StackInuse) - int64(before.StackInuse))
				goroutines += float64(goAfter - goBefore)
				b.StartTimer()
			}
			n := float64(bb.servers * b.N)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(heap/n, "heap-B/server")
			b.ReportMetric(stack/n, "stack-B/server")
			b.ReportMetric(goroutines/n, "goroutines/server")
		})
	}
}

// inUse collects garbage and says what is left.
func inUse() (runtime.MemStats, int) {
	var m runtime.MemStats
	for range 3 { // what a finalizer kept goes with the next
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m, runtime.NumGoroutine()
}

// bareList lists the tools, as a host does.
func bareList(b *testing.B, cs *mcp.ClientSession) {
	b.Helper()
	if _, err := cs.ListTools(context.Background(), nil); err != nil {
		b.Fatal(err)
	}
}
