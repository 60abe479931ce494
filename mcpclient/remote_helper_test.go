package mcpclient

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/plugin"
)

// remoteServer loads a package whose mcp.json has one remote server.
func remoteServer(t testing.TB, typ plugin.Transport, url string, headers map[string]string) *plugin.Server {
	t.Helper()
	entry := map[string]any{"type": string(typ), "url": url}
	if headers != nil {
		entry["headers"] = headers
	}
	text, err := json.Marshal(map[string]any{
		"$schema":    "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
		"mcpServers": map[string]any{"s": entry},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plugin.LoadFS(t.Context(), fstest.MapFS{
		"plugin.json": {Data: []byte(`{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"demo"}`)},
		"mcp.json":    {Data: text},
	}, plugin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Server("s") == nil {
		t.Fatalf("no server: %s", p.Findings())
	}
	return p.Server("s")
}

// remoteOptions are those of a desktop, with the defaults that a session sets.
func remoteOptions() *Options {
	return &Options{
		Egress: DesktopEgress(), Limits: Limits{}.withDefaults(),
		ConnectTimeout: 10 * time.Second, CallTimeout: 10 * time.Second, GracePeriod: 5 * time.Second,
	}
}

// linkTo opens a link and closes it with the test, after which nothing of it may
// be left.
func linkTo(t *testing.T, srv *plugin.Server, opts *Options, creds Credentials) *remoteLink {
	t.Helper()
	l, err := openRemote(t.Context(), srv, ServerID{Plugin: "demo", Server: "s"}, opts, given(creds))
	if err != nil {
		t.Fatal(err)
	}
	link := l.(*remoteLink)
	t.Cleanup(func() {
		closed := make(chan struct{})
		close(closed)
		if err := link.close(context.Background(), closed); err != nil {
			t.Error(err)
		}
	})
	return link
}

// remoteClient connects the SDK's client over a link. The context of the
// connection is that of a session: without a deadline.
func remoteClient(t *testing.T, l *remoteLink, opts *mcp.ClientOptions) (*mcp.ClientSession, error) {
	t.Helper()
	if opts == nil {
		opts = &mcp.ClientOptions{}
	}
	type result struct {
		cs  *mcp.ClientSession
		err error
	}
	done := make(chan result, 1)
	ctx, end := abortable(t.Context())
	t.Cleanup(end)
	go func() {
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts).
			Connect(ctx, l.transport(), &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		done <- result{cs, aborted(ctx, err)}
	}()
	select {
	case r := <-done:
		if r.err == nil {
			t.Cleanup(func() {
				closed := make(chan struct{})
				go func() {
					defer close(closed)
					_ = r.cs.Close()
				}()
				_ = l.close(context.Background(), closed)
				<-closed
			})
		}
		return r.cs, r.err
	case <-time.After(15 * time.Second):
		t.Fatal("connecting hangs")
		return nil, nil
	}
}

func mustConnect(t *testing.T, l *remoteLink, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	cs, err := remoteClient(t, l, opts)
	if err != nil {
		t.Fatal(l.explain(err))
	}
	return cs
}

// callEcho calls the tool echo as a session does.
func callEcho(t *testing.T, l *remoteLink, cs *mcp.ClientSession, text string) (string, error) {
	t.Helper()
	return callEchoFor(t, l, cs, text, 5*time.Second)
}

func callEchoFor(t *testing.T, l *remoteLink, cs *mcp.ClientSession, text string, wait time.Duration) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	ctx, end := abortable(ctx)
	defer end()
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": text}})
	if err != nil {
		return "", l.explain(aborted(ctx, err))
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}

// echoServer is a server of the SDK with one tool. Its sessions end with the
// test at the latest.
func echoServer(t *testing.T) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	t.Cleanup(func() {
		for ss := range s.Sessions() {
			_ = ss.Close()
		}
	})
	type args struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, a args) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
	})
	return s
}

// streamable serves an echo server behind wrap.
func streamable(t *testing.T, opts *mcp.StreamableHTTPOptions, wrap func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	s := echoServer(t)
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, opts)
	if wrap != nil {
		h = wrap(h)
	}
	return serve(t, h)
}

// serve runs a handler on 127.0.0.1 until the test has closed its links.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv
}

// bare answers the handshake by hand and leaves all else to other, so that a
// test decides over each byte.
func bare(t *testing.T, other http.HandlerFunc) *httptest.Server {
	t.Helper()
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if r.Method != http.MethodPost {
			other(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var msg struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal(body, &msg)
		switch {
		case msg.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "session-1234567890")
			answer(w, msg.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"1"}}`)
		case strings.HasPrefix(msg.Method, "notifications/"):
			w.WriteHeader(http.StatusAccepted)
		default:
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			other(w, r)
		}
	}))
}

func answer(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// echoAnswer answers a call of echo with its text.
func echoAnswer(w http.ResponseWriter, r *http.Request) {
	var msg struct {
		ID     json.RawMessage `json:"id"`
		Params struct {
			Arguments struct {
				Text string `json:"text"`
			} `json:"arguments"`
		} `json:"params"`
	}
	_ = json.NewDecoder(r.Body).Decode(&msg)
	answer(w, msg.ID, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, msg.Params.Arguments.Text))
}

// noStream answers the GET of a server without an event stream.
func noStream(w http.ResponseWriter) { w.WriteHeader(http.StatusMethodNotAllowed) }

// dnsServer answers questions for A with what answer returns, and has no
// address of any other kind.
type dnsServer struct {
	mu     sync.Mutex
	answer func(name string) []netip.Addr
	asked  int
}

// resolver returns a resolver that asks this server alone.
func (d *dnsServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go d.serve(server)
		return client, nil
	}}
}

// serve speaks DNS over a stream: two bytes of length before each message.
func (d *dnsServer) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil || len(query) < 17 {
			return
		}
		var labels []string
		at := 12
		for query[at] != 0 {
			n := int(query[at])
			labels = append(labels, string(query[at+1:at+1+n]))
			at += 1 + n
		}
		kind := binary.BigEndian.Uint16(query[at+1:])
		question := query[12 : at+5]
		var addrs []netip.Addr
		if kind == 1 {
			d.mu.Lock()
			d.asked++
			addrs = d.answer(strings.Join(labels, "."))
			d.mu.Unlock()
		}
		reply := append([]byte{}, query[:2]...)
		reply = append(reply, 0x81, 0x80, 0, 1, 0, byte(len(addrs)), 0, 0, 0, 0)
		reply = append(reply, question...)
		for _, a := range addrs {
			reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
			b := a.As4()
			reply = append(reply, b[:]...)
		}
		out := binary.BigEndian.AppendUint16(nil, uint16(len(reply)))
		if _, err := conn.Write(append(out, reply...)); err != nil {
			return
		}
	}
}

// logText is a logger that keeps what it writes.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logText) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// given is what a host gives whatever is asked.
func given(creds Credentials) giver {
	return func(context.Context, CredentialsRequest) (Credentials, error) { return creds, nil }
}
