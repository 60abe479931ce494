package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// The two protocols that a registry speaks.
const (
	stateful  = "2025-11-25"
	stateless = "2026-07-28"
)

var eras = []string{stateful, stateless}

// everything is what the suite logs, and tokens what it mints; TestMain looks
// for the one in the other.
var (
	everything safeBuffer
	tokensMu   sync.Mutex
	tokens     []string
)

// TestMain greps all output of the suite, that of the registries' loggers, the
// HTTP servers and the tests themselves, for the tokens that were minted. [T1]
// [T6]
func TestMain(m *testing.M) {
	out, errOut := os.Stdout, os.Stderr
	read, write, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	os.Stdout, os.Stderr = write, write
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(io.MultiWriter(out, &everything), read)
	}()
	code := m.Run()
	os.Stdout, os.Stderr = out, errOut
	write.Close()
	<-copied
	text := everything.String()
	if !strings.Contains(text, "agent call") && code == 0 && len(tokens) > 100 {
		fmt.Fprintln(os.Stderr, "the suite logged no call: the search for tokens says nothing")
		code = 1
	}
	for _, token := range tokens {
		if strings.Contains(text, token) || strings.Contains(text, token[len(token)-43:]) {
			fmt.Fprintln(os.Stderr, "a token stands in the suite's output")
			code = 1
		}
	}
	os.Exit(code)
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// host is a registry on a real socket.
type host struct {
	*mcpserver.Registry
	url    string
	server *httptest.Server
	logged *safeBuffer
	events chan mcpserver.Event
}

type observer chan mcpserver.Event

func (o observer) Observe(ev mcpserver.Event) {
	select {
	case o <- ev:
	default: // a test that floods does not read
	}
}

func serve(t testing.TB, o mcpserver.Options) *host {
	t.Helper()
	h := &host{logged: new(safeBuffer), events: make(observer, 1000)}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewJSONHandler(io.MultiWriter(h.logged, &everything), &slog.HandlerOptions{Level: slog.LevelDebug - 10}))
	}
	if o.Observer == nil {
		o.Observer = observer(h.events)
	}
	reg, err := mcpserver.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h.start(t, reg, slog.NewLogLogger(o.Logger.Handler(), slog.LevelError))
	return h
}

// serveRegistry is serve for a registry that is made already.
func serveRegistry(t testing.TB, reg *mcpserver.Registry) *host {
	t.Helper()
	h := new(host)
	h.start(t, reg, nil)
	return h
}

func (h *host) start(t testing.TB, reg *mcpserver.Registry, errorLog *log.Logger) {
	h.Registry = reg
	h.server = httptest.NewUnstartedServer(reg)
	h.server.Config.ErrorLog = errorLog
	h.server.Config.ReadHeaderTimeout = 10 * time.Second
	h.server.Start()
	h.url = h.server.URL
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := reg.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		h.server.Close()
	})
}

func (h *host) mint(t testing.TB, g mcpserver.Grant) mcpserver.Minted {
	t.Helper()
	if g.Identity.Task == "" {
		g.Identity.Task = t.Name()
	}
	m, err := h.Mint(g)
	if err != nil {
		t.Fatal(err)
	}
	tokensMu.Lock()
	tokens = append(tokens, m.Token.Reveal())
	tokensMu.Unlock()
	return m
}

// event returns the next event of that kind.
func (h *host) event(t testing.TB, kind mcpserver.EventKind) mcpserver.Event {
	t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		select {
		case ev := <-h.events:
			if ev.Kind == kind {
				return ev
			}
		case <-timeout:
			t.Fatalf("no event %q", kind)
		}
	}
}

// bearer adds a token to each request.
type bearer struct {
	token string
	base  http.RoundTripper
}

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+b.token)
	return b.base.RoundTrip(req)
}

// connect opens a client of the SDK's own kind.
func (h *host) connect(t testing.TB, token, version string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	cs, err := h.tryConnect(t, token, version, opts)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func (h *host) tryConnect(t testing.TB, token, version string, opts *mcp.ClientOptions) (*mcp.ClientSession, error) {
	t.Helper()
	base := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cs, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:     h.url,
		HTTPClient:   &http.Client{Transport: bearer{token, base}},
		MaxRetries:   1,
		MaxEventSize: 16 << 20,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		t.Cleanup(func() { cs.Close() })
	}
	return cs, err
}

func call(t testing.TB, cs *mcp.ClientSession, tool string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := tryCall(cs, tool, args)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return res
}

func tryCall(cs *mcp.ClientSession, tool string, args any) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
}

func text(res *mcp.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		if tc, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, tc.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func structured(t testing.TB, res *mcp.CallToolResult) map[string]any {
	t.Helper()
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// args is shorthand for arguments.
type args = map[string]any

// run is a channel that remembers what its agent said, and whose run said it.
type run struct {
	mu        sync.Mutex
	questions []channel.Question
	summaries []string
	subtasks  []channel.SubtaskSpec
	steps     []channel.Progress
	runs      []mcpserver.Run

	answer func(ctx context.Context, q channel.Question) (channel.Answer, error)
}

func (r *run) note(ctx context.Context) {
	who, _ := mcpserver.RunFromContext(ctx)
	r.runs = append(r.runs, who)
}

func (r *run) Ask(ctx context.Context, q channel.Question) (channel.Answer, error) {
	r.mu.Lock()
	r.questions = append(r.questions, q)
	r.note(ctx)
	answer := r.answer
	r.mu.Unlock()
	if answer == nil {
		return channel.Answer{Text: "yes"}, nil
	}
	return answer(ctx, q)
}

func (r *run) ReportSummary(ctx context.Context, s channel.Summary) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summaries = append(r.summaries, s.Text)
	r.note(ctx)
	return nil
}

func (r *run) SpawnSubtask(ctx context.Context, spec channel.SubtaskSpec) (channel.Subtask, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(ctx)
	for i, s := range r.subtasks {
		if s.Key == spec.Key {
			return channel.Subtask{ID: fmt.Sprint("sub-", i), Key: spec.Key, Existing: true}, nil
		}
	}
	r.subtasks = append(r.subtasks, spec)
	return channel.Subtask{ID: fmt.Sprint("sub-", len(r.subtasks)-1), Key: spec.Key}, nil
}

func (r *run) RecordProgress(ctx context.Context, p channel.Progress) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, p)
	r.note(ctx)
	return nil
}

// eventually waits for what happens beside the test and gives no signal.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%s did not come true; goroutines:\n%s", what, buf[:runtime.Stack(buf, true)])
		}
		time.Sleep(time.Millisecond)
	}
}
