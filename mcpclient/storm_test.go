package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/plugin"
)

// stormTime is how long the storm lasts.
const stormTime = time.Second

// TestStorm: whatever is done to a host side by side, while its servers crash,
// nothing hangs, each answer is that of its call, and nothing is left.
func TestStorm(t *testing.T) { // [R3] [R4] [R5] [R11] [R15]
	duration := stormTime
	if s := os.Getenv("PLUGBERTH_STORM"); s != "" {
		var err error
		if duration, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	noLeaks(t)
	opts := testOptions(t)
	opts.GracePeriod = 200 * time.Millisecond
	opts.Egress = DesktopEgress()
	opts.CallTimeout = 5 * time.Second

	var m memory
	m.set("memory", func(context.Context) (*mcp.Server, error) {
		if rand.IntN(8) == 0 {
			return nil, errBroken
		}
		return newEcho("echo"), nil
	})
	var web atomic.Pointer[mcp.Server]
	web.Store(newEcho("echo"))
	streams := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return web.Load() }, nil)
	legacy := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return web.Load() }, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", streams)
	mux.Handle("/sse", legacy)
	ts := httptest.NewServer(mux)
	t.Cleanup(func() {
		for s := range web.Load().Sessions() {
			s.Close()
		}
		ts.CloseClientConnections()
		ts.Close()
	})

	instances := []plugin.Instance{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	real, fake := map[plugin.Instance]*plugin.Plugin{}, map[plugin.Instance]*plugin.Plugin{}
	var dirs []string
	for _, in := range instances {
		dir := writePlugin(t, map[string]serverEntry{
			"stdio": {"type": "stdio", "command": "testserver", "env": map[string]string{serverModeEnv: "normal"}},
			"http":  {"type": "streamable-http", "url": localhost(ts) + "/mcp"},
			"sse":   {"type": "sse", "url": localhost(ts) + "/sse"},
		}, map[string]string{"plugin.json": strings.Replace(testManifest, "demo", "real-"+in.ID, 1)})
		dirs = append(dirs, dir)
		real[in], fake[in] = loadPlugin(t, dir), memoryPlugin(t, "fake-"+in.ID, "memory")
	}

	h, err := NewHost(HostOptions{
		Options: *opts, Retry: Retry{Min: time.Millisecond, Max: 5 * time.Millisecond, Attempts: 1000},
		OnCall: func(CallRecord) {}, Pins: nil,
	})
	if err != nil {
		t.Fatal(err)
	}
	open := h.dialer.open
	h.dialer.open = func(ctx context.Context, p *plugin.Plugin, srv *plugin.Server, id ServerID, give giver) (link, error) {
		if srv.Name() == "memory" {
			return m.open(ctx, p, srv, id, give)
		}
		return open(ctx, p, srv, id, give)
	}
	pick := func() plugin.Instance { return instances[rand.IntN(len(instances))] }
	ctx, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	var results, failures atomic.Int64
	call := func(f func(context.Context, string, json.RawMessage, CallOptions) (*mcp.CallToolResult, error)) {
		tools := h.Tools()
		if len(tools) == 0 {
			return
		}
		tool := tools[rand.IntN(len(tools))]
		mark := fmt.Sprint(rand.Uint64())
		arguments, _ := json.Marshal(map[string]string{"text": mark})
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if rand.IntN(10) == 0 {
			time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, cancel)
		}
		res, err := f(ctx, tool.Name, arguments, CallOptions{Progress: func(Progress) {}})
		var wire *jsonrpc.Error
		switch {
		case err == nil:
			results.Add(1)
			if got := res.Content[0].(*mcp.TextContent).Text; !strings.Contains(got, mark) {
				t.Errorf("the answer of another call: %q", got)
			}
		case errors.Is(err, ErrServer), errors.Is(err, ErrClosed), errors.Is(err, ErrUnknownTool), ctx.Err() != nil, errors.Is(err, errBroken), errors.As(err, &wire):
			failures.Add(1)
		default:
			t.Errorf("an error of no kind: %v", err)
		}
	}
	actions := []func(){
		func() { call(h.Call) }, func() { call(h.Call) }, func() { call(h.Call) }, func() { call(h.Call) },
		func() {
			v := h.View(func(id ServerID) bool { return id.Server != "sse" })
			if rand.IntN(2) == 0 {
				time.AfterFunc(time.Millisecond, v.Close)
			}
			v.Tools()
			call(v.Call)
			v.Close()
		},
		func() {
			if rand.IntN(4) != 0 {
				return
			}
			in := pick()
			p := real[in]
			if rand.IntN(4) == 0 {
				p = fake[in]
			}
			if err := h.Add(in, p); err != nil {
				t.Error(err)
			}
		},
		func() {
			if rand.IntN(12) == 0 {
				h.Remove(pick())
			}
		},
		func() {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(200))*time.Millisecond)
			defer cancel()
			_ = h.Ready(ctx)
		},
		func() {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(200))*time.Millisecond)
			defer cancel()
			_ = h.Refresh(ctx)
		},
		func() {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			events := h.Watch(ctx)
			for range rand.IntN(5) { // and then it stops reading
				select {
				case <-events:
				case <-ctx.Done():
				}
			}
		},
		func() {
			for _, s := range h.Servers() {
				_ = s.Err
			}
		},
		func() { // a crash
			for _, s := range h.Servers() {
				if s.Status != StatusConnected || rand.IntN(4) != 0 {
					continue
				}
				ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				sess, err := h.Session(ctx, s.ID)
				cancel()
				if err != nil {
					continue
				}
				switch l := sess.link.(type) {
				case *stdioLink:
					_ = l.proc.Kill()
				case *memoryLink:
					l.end()
				case *remoteLink:
					l.guard.conns.mu.Lock()
					for c := range l.guard.conns.open {
						_ = c.Conn.Close()
					}
					l.guard.conns.mu.Unlock()
				}
				return
			}
		},
		func() { // new tools
			srv := web.Load()
			addEcho(srv, "more")
			srv.RemoveTools("more")
		},
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for ctx.Err() == nil {
				actions[rand.IntN(len(actions))]()
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		wg.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(duration + 60*time.Second):
		t.Fatal("something hangs")
	}
	within(t, "closing", func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if results.Load() == 0 {
		t.Error("no call had a result")
	}
	t.Logf("%d results, %d failures", results.Load(), failures.Load())
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range environs {
		env, err := os.ReadFile(f)
		if err == nil && slices.ContainsFunc(dirs, func(dir string) bool { return bytes.Contains(env, []byte("PLUGIN_ROOT="+dir+"\x00")) }) {
			t.Errorf("process %s is left", filepath.Base(filepath.Dir(f)))
		}
	}
	for _, s := range h.Servers() {
		if s.Status != StatusClosed && s.Status != StatusUnsupported {
			t.Errorf("%v is %v", s.ID, s.Status)
		}
	}
}
