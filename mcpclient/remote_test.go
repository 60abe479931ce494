package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"github.com/plugberth/plugberth/plugin"
)

// TestRemoteSession: both transports, each by its declared type, list, call and
// hear of changes; configured headers and the protocol's own are on each
// request. [R1] [R6]
func TestRemoteSession(t *testing.T) {
	noLeaks(t)
	for _, typ := range []plugin.Transport{plugin.TransportStreamableHTTP, plugin.TransportSSE} {
		t.Run(string(typ), func(t *testing.T) {
			s := echoServer(t)
			var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
			if typ == plugin.TransportSSE {
				h = mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
			}
			var mu sync.Mutex
			methods := map[string]int{}
			srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				methods[r.Method]++
				if r.Header.Get("X-Package") != "p" || r.Header.Get("X-Host") != "h" {
					t.Errorf("%s without headers: %v", r.Method, r.Header)
				}
				if typ == plugin.TransportStreamableHTTP && methods["POST"] > 1 && (r.Header.Get("Mcp-Protocol-Version") != "2025-11-25" || r.Header.Get("Mcp-Session-Id") == "") {
					t.Errorf("%s without the protocol's headers: %v", r.Method, r.Header)
				}
				mu.Unlock()
				h.ServeHTTP(w, r)
			}))
			l := linkTo(t, remoteServer(t, typ, srv.URL, map[string]string{"X-Package": "p"}), remoteOptions(), Credentials{Headers: http.Header{"X-Host": {"h"}}})
			changed := make(chan struct{}, 10)
			cs := mustConnect(t, l, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }})
			tools, err := cs.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 1 {
				t.Fatal(err)
			}
			if got, err := callEcho(t, l, cs, "hello"); err != nil || got != "hello" {
				t.Fatalf("%q, %v", got, err)
			}
			mcp.AddTool(s, &mcp.Tool{Name: "second"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
			select {
			case <-changed:
			case <-time.After(5 * time.Second):
				t.Error("no change was heard of")
			}
			closed := make(chan struct{})
			go func() {
				defer close(closed)
				_ = cs.Close()
			}()
			if err := l.close(t.Context(), closed); err != nil {
				t.Error(err)
			}
			<-closed
			if typ == plugin.TransportStreamableHTTP {
				mu.Lock()
				defer mu.Unlock()
				if methods["GET"] != 1 || methods["DELETE"] != 1 {
					t.Errorf("%v", methods)
				}
			}
			if _, err := callEcho(t, l, cs, "late"); err == nil {
				t.Error("a closed link answers")
			}
		})
	}
}

// TestOpenRemoteRefuses: what cannot be opened, before anything is sent. [R7]
func TestOpenRemoteRefuses(t *testing.T) {
	srv := remoteServer(t, plugin.TransportStreamableHTTP, "https://server.example/mcp?key=query-secret", nil)
	opts := remoteOptions()
	opts.Egress = nil
	if _, err := openRemote(t.Context(), srv, ServerID{}, opts, given(Credentials{})); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("without a policy: %v", err)
	}
	if _, err := openRemote(t.Context(), &plugin.Server{}, ServerID{}, remoteOptions(), given(Credentials{})); !errors.Is(err, ErrServer) {
		t.Errorf("no remote server: %v", err)
	}
	opts.Egress = &Egress{}
	if _, err := openRemote(t.Context(), srv, ServerID{}, opts, given(Credentials{})); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("with a policy that allows nothing: %v", err)
	}
	opts.Egress = ServiceEgress()
	for _, address := range []string{"http://127.0.0.1:1/", "https://10.0.0.1/", "https://[fd00::1]/"} {
		srv := remoteServer(t, plugin.TransportStreamableHTTP, address, nil)
		if _, err := openRemote(t.Context(), srv, ServerID{}, opts, given(Credentials{})); !errors.Is(err, ErrNotAllowed) {
			t.Errorf("%s: %v", address, err)
		}
	}
	opts.Origins = origins("mcp.example.com")
	if _, err := openRemote(t.Context(), srv, ServerID{}, opts, given(Credentials{})); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("with an origin that is none: %v", err)
	}
}

// TestNameOfMetadata: connecting to a name that leads to a metadata service
// fails for that reason, over both transports. [R7]
func TestNameOfMetadata(t *testing.T) {
	noLeaks(t)
	for _, typ := range []plugin.Transport{plugin.TransportStreamableHTTP, plugin.TransportSSE} {
		dns := &dnsServer{answer: func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("169.254.169.254")} }}
		opts := remoteOptions()
		opts.Egress.resolver = dns.resolver()
		l := linkTo(t, remoteServer(t, typ, "https://metadata.example/?key=query-secret", packageHeaders), opts, Credentials{})
		_, err := remoteClient(t, l, nil)
		err = l.explain(err)
		if !errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), "169.254.169.254") || dns.asked == 0 {
			t.Errorf("%s: %v", typ, err)
		}
		noSecrets(t, "the error", err.Error())
	}
}

// TestDialEndsWithLink: a dial that hangs, in the resolver or in the handshake
// of TLS, ends with the link. [R4]
func TestDialEndsWithLink(t *testing.T) {
	noLeaks(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, prepare := range map[string]func(*Options) (url string){
		"resolver": func(o *Options) string {
			o.Egress.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}
			return "https://silent.example/"
		},
		"TLS": func(*Options) string { return "https://" + silent.Addr().String() },
	} {
		t.Run(name, func(t *testing.T) {
			opts := remoteOptions()
			url := prepare(opts)
			l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, url, nil), opts, Credentials{})
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			req, _ := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader("{}"))
			if _, err := l.guard.client().Do(req); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	}
}

// TestLegacyOutlivesConnect: the stream of a legacy server lives with the link
// and not with the context that bounds connecting, which ends a connect that
// hangs. [R3]
func TestLegacyOutlivesConnect(t *testing.T) {
	noLeaks(t)
	s := echoServer(t)
	srv := serve(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil))
	l := linkTo(t, remoteServer(t, plugin.TransportSSE, srv.URL, nil), remoteOptions(), Credentials{})
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := l.transport().Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := conn.Write(t.Context(), &jsonrpc.Request{Method: "initialize", ID: mustID(t, 1), Params: json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`)}); err != nil {
		t.Fatal(err)
	}
	read, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	if _, err := conn.Read(read); err != nil {
		t.Error(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	<-l.done()

	for name, h := range map[string]http.HandlerFunc{
		"no headers": func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"no endpoint": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, h)
			l := linkTo(t, remoteServer(t, plugin.TransportSSE, srv.URL, nil), remoteOptions(), Credentials{})
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := l.transport().Connect(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	}
}

func mustID(t *testing.T, n float64) jsonrpc.ID {
	id, err := jsonrpc.MakeID(n)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestEndpoints: the endpoint of a legacy stream is used on the configured
// origin, and on another only where the host authorizes it; then without what is
// configured. [R6]
func TestEndpoints(t *testing.T) {
	noLeaks(t)
	var other seen
	foreign := serve(t, &other)
	var foreignTLS seen
	secure := httptest.NewTLSServer(&foreignTLS)
	t.Cleanup(secure.Close)
	var own seen
	var endpoint atomic.Pointer[string]
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			own.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", *endpoint.Load())
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	host := strings.TrimPrefix(srv.URL, "http://")
	_, foreignPort, _ := net.SplitHostPort(strings.TrimPrefix(foreign.URL, "http://"))
	const (
		works = iota
		isRefused
		isBroken
	)
	for _, tt := range []struct {
		endpoint   string
		authorized bool
		want       int
	}{
		{"/messages?session=s", false, works},
		{"messages", false, works},
		{"?session=s", false, works},
		{srv.URL + "/messages", false, works},
		{"//" + host + "/messages", false, works},
		{"HTTP://" + host + "/messages", false, works},
		{foreign.URL + "/messages?query-secret", false, isRefused},
		{"http://localhost:" + foreignPort + "/messages", false, isRefused},
		{secure.URL + "/messages", false, isRefused},
		{"//" + strings.TrimPrefix(foreign.URL, "http://") + "/messages", false, isRefused},
		{`/\\` + strings.TrimPrefix(foreign.URL, "http://") + "/messages", false, works}, // a path
		{"https://169.254.169.254/latest", false, isRefused},
		{"http://server.example/", true, isRefused},
		{"https://169.254.169.254/latest", true, isRefused},
		{"https://10.0.0.1/", true, isRefused},
		{"http://user:pass@" + host + "/messages", false, isRefused},
		{"http://@" + host + "/messages", false, isRefused},
		{"javascript:alert(1)", true, isRefused},
		{"file:///etc/passwd", true, isRefused},
		{"/a\rInjected: yes", false, isBroken},
		{"/a\x00b", false, isBroken},
		{"/a\ndata: Injected: yes", false, isBroken},
		{"http://[::1", false, isBroken},
		{foreign.URL + "/messages", true, works},
		{"http://localhost:" + foreignPort + "/messages", true, works},
	} {
		t.Run(fmt.Sprintf("%q/authorized=%v", tt.endpoint, tt.authorized), func(t *testing.T) {
			endpoint.Store(&tt.endpoint)
			opts := remoteOptions()
			if tt.authorized {
				opts.Origins = origins(foreign.URL, "http://localhost:"+foreignPort, "https://169.254.169.254", "https://10.0.0.1")
			}
			l := linkTo(t, remoteServer(t, plugin.TransportSSE, srv.URL, packageHeaders), opts, Credentials{Headers: hostHeaders})
			before, otherBefore := len(own.all()), len(other.all())+len(foreignTLS.all())
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			conn, err := l.transport().Connect(ctx)
			if err == nil {
				defer conn.Close()
				err = conn.Write(ctx, &jsonrpc.Request{Method: "notifications/x"})
			}
			err = l.explain(err)
			arrived, elsewhere := own.all()[before:], other.all()
			switch tt.want {
			case works:
				if err != nil {
					t.Error(err)
				}
				if tt.authorized {
					if len(elsewhere) != otherBefore+1 {
						t.Fatal("nothing arrived")
					}
					noSecrets(t, "a foreign origin", fmt.Sprint(elsewhere[len(elsewhere)-1].Header))
				} else if len(arrived) != 1 || arrived[0].Header.Get("X-Package") == "" || arrived[0].Header.Get("X-Host") == "" {
					t.Errorf("%v", arrived)
				}
				return
			case isRefused:
				if !errors.Is(err, ErrNotAllowed) {
					t.Error(err)
				}
			case isBroken:
				if err == nil {
					t.Error("it is used")
				}
			}
			if err != nil && (strings.ContainsAny(err.Error(), "\r\n\x00") || strings.Contains(err.Error(), "pass@")) {
				t.Errorf("%q", err)
			}
			if err != nil {
				noSecrets(t, "the error", err.Error())
			}
			if len(arrived) != 0 || len(other.all())+len(foreignTLS.all()) != otherBefore {
				t.Error("a request arrived")
			}
		})
	}
}

// TestStreamHeaders: a server whose event stream gets no headers, fails, or is
// none, is connected to all the same; headers that come late are waited for.
// [R3] [R9]
func TestStreamHeaders(t *testing.T) {
	noLeaks(t)
	event := "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"
	for name, get := range map[string]func(w http.ResponseWriter, r *http.Request, release chan struct{}){
		"never": func(w http.ResponseWriter, r *http.Request, _ chan struct{}) { <-r.Context().Done() },
		"late": func(w http.ResponseWriter, r *http.Request, release chan struct{}) {
			select {
			case <-release:
			case <-r.Context().Done():
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, event)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"late, and none": func(w http.ResponseWriter, r *http.Request, release chan struct{}) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			w.WriteHeader(http.StatusInternalServerError)
		},
		"late, and a redirect": func(w http.ResponseWriter, r *http.Request, release chan struct{}) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"reset": func(http.ResponseWriter, *http.Request, chan struct{}) { panic(http.ErrAbortHandler) },
		"not found, with the session": func(w http.ResponseWriter, _ *http.Request, _ chan struct{}) {
			w.WriteHeader(http.StatusNotFound)
		},
		"unauthorized": func(w http.ResponseWriter, _ *http.Request, _ chan struct{}) { w.WriteHeader(http.StatusUnauthorized) },
		"unavailable, as a stream": func(w http.ResponseWriter, _ *http.Request, _ chan struct{}) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"a page": func(w http.ResponseWriter, _ *http.Request, _ chan struct{}) { _, _ = io.WriteString(w, "<html>") },
		"redirected, never": func(w http.ResponseWriter, r *http.Request, _ chan struct{}) {
			if r.URL.Path == "/hang" {
				<-r.Context().Done()
				return
			}
			http.Redirect(w, r, "/hang", http.StatusTemporaryRedirect)
		},
		"redirected abroad": func(w http.ResponseWriter, r *http.Request, _ chan struct{}) {
			http.Redirect(w, r, "http://localhost:1/", http.StatusTemporaryRedirect)
		},
		"huge headers": func(w http.ResponseWriter, _ *http.Request, _ chan struct{}) {
			w.Header().Set("X", strings.Repeat("x", 200<<10))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			srv := bare(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == "GET" {
					get(w, r, release)
				} else {
					echoAnswer(w, r)
				}
			})
			l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, srv.URL, nil), remoteOptions(), Credentials{})
			l.guard.wait = 200 * time.Millisecond
			changed := make(chan struct{}, 1)
			start := time.Now()
			cs := mustConnect(t, l, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }})
			if took := time.Since(start); took > 8*time.Second {
				t.Errorf("connecting took %v", took)
			}
			close(release)
			if name == "late" {
				select {
				case <-changed:
				case <-time.After(5 * time.Second):
					t.Error("no change was heard of")
				}
			}
			if got, err := callEcho(t, l, cs, "x"); err != nil || got != "x" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestReconnectStorm: a server that ends its stream at once, with a new number
// and no wait each time, is not asked more often than the guard allows. [R9]
func TestReconnectStorm(t *testing.T) {
	noLeaks(t)
	var gets atomic.Int32
	srv := bare(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "GET" {
			echoAnswer(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "id: %d\nretry: 1\n\n", gets.Add(1))
	})
	l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, srv.URL, nil), remoteOptions(), Credentials{})
	cs := mustConnect(t, l, nil)
	deadline := time.Now().Add(1500 * time.Millisecond)
	for time.Now().Before(deadline) {
		if got, err := callEcho(t, l, cs, "x"); err != nil || got != "x" {
			t.Fatalf("%q, %v", got, err)
		}
		time.Sleep(50 * time.Millisecond) // the storm rages meanwhile
	}
	if n := gets.Load(); n < 2 || n > streamsAtOnce+2 {
		t.Errorf("%d streams were opened", n)
	}
}

// TestBreachEndsTheCall: what breaks a limit, or the protocol, in the response to
// one call fails that call soon and clearly; the session goes on. [R9]
func TestBreachEndsTheCall(t *testing.T) {
	noLeaks(t)
	stream := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(200)
	}
	flood := func(w io.Writer, piece string) {
		for {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	}
	long := strings.Repeat("x", 10_000)
	for _, tt := range []struct {
		name string
		post http.HandlerFunc
		want error
	}{
		{"huge body", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			flood(w, long)
		}, ErrLimit},
		{"huge event", func(w http.ResponseWriter, r *http.Request) {
			stream(w)
			_, _ = io.WriteString(w, "data: ")
			flood(w, long)
		}, ErrLimit},
		{"huge event of many lines", func(w http.ResponseWriter, r *http.Request) { stream(w); flood(w, "data: x\n") }, ErrLimit},
		{"huge event after one with a number", func(w http.ResponseWriter, r *http.Request) {
			stream(w)
			_, _ = io.WriteString(w, "id: 1\nretry: 1\ndata:\n\ndata: ")
			flood(w, long)
		}, ErrLimit},
		{"comments without end", func(w http.ResponseWriter, r *http.Request) { stream(w); flood(w, ": "+long+"\n") }, ErrLimit},
		{"a number that no header can hold", func(w http.ResponseWriter, r *http.Request) {
			stream(w)
			_, _ = io.WriteString(w, "id: 1\rX-Injected: yes\nretry: 1\ndata:\n\n")
		}, ErrServer},
		{"a stream that cannot be resumed", func(w http.ResponseWriter, r *http.Request) {
			stream(w)
			_, _ = io.WriteString(w, "id: 1\nretry: 1\ndata:\n\n")
		}, ErrServer},
		{"broken off", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
			panic(http.ErrAbortHandler)
		}, ErrServer},
		{"no headers", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, context.DeadlineExceeded},
		{"dripping body", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		}, context.DeadlineExceeded},
		{"dripping stream", func(w http.ResponseWriter, r *http.Request) {
			stream(w)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, ": x\n\n")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		}, context.DeadlineExceeded},
		{"400", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusBadRequest) }, ErrServer},
		{"401", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusUnauthorized) }, ErrServer},
		{"403", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) }, ErrServer},
		{"409", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusConflict) }, ErrServer},
		{"413", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusRequestEntityTooLarge) }, ErrServer},
		{"429", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusTooManyRequests) }, ErrServer},
		{"503", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }, ErrServer},
		{"redirect abroad", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://server.example/", http.StatusTemporaryRedirect)
		}, ErrNotAllowed},
		{"connection reset", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, ErrServer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := bare(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == "GET" {
					if r.Header.Get("X-Injected") != "" {
						t.Error("a header was injected")
					}
					noStream(w)
					return
				}
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				if strings.Contains(string(body), "attack") {
					tt.post(w, r)
				} else {
					echoAnswer(w, r)
				}
			})
			opts := remoteOptions()
			opts.Limits.Body, opts.Limits.Event = 1<<20, 1<<20
			l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, srv.URL+"/?key=query-secret", packageHeaders), opts, Credentials{Headers: hostHeaders})
			cs := mustConnect(t, l, nil)
			wait := 5 * time.Second
			if tt.want == context.DeadlineExceeded {
				wait = 300 * time.Millisecond
			}
			_, err := callEchoFor(t, l, cs, "attack", wait)
			if !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			noSecrets(t, "the error", fmt.Sprint(err))
			if got, err := callEcho(t, l, cs, "after"); err != nil || got != "after" {
				t.Errorf("afterwards: %q, %v", got, err)
			}
			srv.CloseClientConnections()
		})
	}
}

// TestBreachOfStream: a limit that the server's own event stream breaks ends the
// stream and not the session, and the stream is not opened again. [R9]
func TestBreachOfStream(t *testing.T) {
	noLeaks(t)
	var gets atomic.Int32
	flooded := make(chan struct{})
	srv := bare(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "GET" {
			echoAnswer(w, r)
			return
		}
		if gets.Add(1) == 1 {
			defer close(flooded)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 1\nretry: 1\n\ndata: ")
		for {
			if _, err := w.Write(make([]byte, 10_000)); err != nil {
				return
			}
		}
	})
	opts := remoteOptions()
	opts.Limits.Event = 1 << 20
	var logged logText
	opts.Logger = logged.logger()
	l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, srv.URL, packageHeaders), opts, Credentials{Headers: hostHeaders})
	cs := mustConnect(t, l, nil)
	<-flooded
	deadline := time.Now().Add(300 * time.Millisecond)
	for time.Now().Before(deadline) {
		if got, err := callEcho(t, l, cs, "x"); err != nil || got != "x" {
			t.Fatalf("%q, %v", got, err)
		}
		time.Sleep(20 * time.Millisecond) // a stream could be opened again meanwhile
	}
	if gets.Load() != 1 || !strings.Contains(logged.String(), "more than 1048576 bytes") {
		t.Errorf("%d streams, logged:\n%s", gets.Load(), logged.String())
	}
	noSecrets(t, "the log", logged.String())
}

// TestStreamGone: an event stream that cannot be opened again is given up, and
// the session is not. [R5]
func TestStreamGone(t *testing.T) {
	noLeaks(t)
	var status atomic.Int32
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(int(status.Load()))
	}))
	for _, code := range []int{405, 503, 429, 200} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			status.Store(int32(code))
			l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, srv.URL, nil), remoteOptions(), Credentials{})
			l.guard.streamed.Store(true) // there was a stream
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for i := range streamFailures {
				req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL, nil)
				resp, err := l.guard.client().Do(req)
				if i < streamFailures-1 {
					if !errors.Is(err, ErrServer) {
						t.Fatal(err)
					}
					continue
				}
				if err != nil || !isEventStream(resp) {
					t.Fatal(err)
				}
				read := make(chan error, 1)
				go func() {
					_, err := resp.Body.Read(make([]byte, 1))
					read <- err
				}()
				cancel()
				if err := <-read; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				_ = resp.Body.Close()
			}
		})
	}
	t.Run("a number that no header can hold", func(t *testing.T) {
		srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(r.Header["Last-Event-Id"]) != 0 || len(r.Header["X-Injected"]) != 0 {
				t.Errorf("%v", r.Header)
			}
			w.Header().Set("Content-Type", "text/event-stream")
		}))
		l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, srv.URL, nil), remoteOptions(), Credentials{})
		req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL, nil)
		req.Header.Set("Last-Event-ID", "1\rX-Injected: yes")
		resp, err := l.guard.client().Do(req)
		if err != nil || !isEventStream(resp) {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	})
	t.Run("404", func(t *testing.T) {
		status.Store(404)
		l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, srv.URL, nil), remoteOptions(), Credentials{})
		l.guard.streamed.Store(true)
		req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL, nil)
		req.Header.Set("Mcp-Session-Id", "x")
		resp, err := l.guard.client().Do(req)
		if err != nil || resp.StatusCode != 404 {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		<-l.done() // the session is gone
	})
}

// TestSessionLost: a session that the server has forgotten is an error that says
// so, also where the body of the 404 is an answer in the protocol's form, and
// the link says that it is of no use any more. [R5]
func TestSessionLost(t *testing.T) {
	noLeaks(t)
	for name, body := range map[string]string{
		"empty": "", "text": "Not Found", "answer": `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			srv := bare(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == "GET" {
					noStream(w)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, body)
			})
			l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, srv.URL, nil), remoteOptions(), Credentials{})
			cs := mustConnect(t, l, nil)
			_, err := callEcho(t, l, cs, "x")
			if !errors.Is(err, mcp.ErrSessionMissing) {
				t.Error(err)
			}
			noSecrets(t, "the error", err.Error())
			<-l.done()
			if err := l.explain(errors.New("the server is gone")); !errors.Is(err, mcp.ErrSessionMissing) {
				t.Error(err)
			}
			_, err = callEcho(t, l, cs, "x")
			if !errors.Is(err, mcp.ErrSessionMissing) || !errors.Is(err, ErrServer) {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// TestLegacyBreach: the stream of a legacy server is its session, so a breach
// ends it, and the error of a call says why. [R9]
func TestLegacyBreach(t *testing.T) {
	noLeaks(t)
	s := echoServer(t)
	h := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
	srv := serve(t, h)
	opts := remoteOptions()
	opts.Limits.Event = 4 << 10
	l := linkTo(t, remoteServer(t, plugin.TransportSSE, srv.URL, nil), opts, Credentials{})
	cs := mustConnect(t, l, nil)
	_, err := callEcho(t, l, cs, strings.Repeat("x", 5<<10))
	if !errors.Is(err, ErrLimit) {
		t.Error(err)
	}
	<-l.done()
	if err := l.explain(errors.New("the server is gone")); !errors.Is(err, ErrLimit) {
		t.Error(err)
	}

	t.Run("a refused POST", func(t *testing.T) {
		var refuse atomic.Bool
		srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "POST" && refuse.Load() {
				http.Error(w, "too many", http.StatusTooManyRequests)
				return
			}
			h.ServeHTTP(w, r)
		}))
		l := linkTo(t, remoteServer(t, plugin.TransportSSE, srv.URL, nil), remoteOptions(), Credentials{})
		cs := mustConnect(t, l, nil)
		refuse.Store(true)
		if _, err := callEcho(t, l, cs, "x"); !errors.Is(err, ErrServer) {
			t.Error(err)
		}
		refuse.Store(false)
		if got, err := callEcho(t, l, cs, "x"); err != nil || got != "x" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	})
	t.Run("the server ends", func(t *testing.T) {
		srv := httptest.NewServer(h)
		l := linkTo(t, remoteServer(t, plugin.TransportSSE, srv.URL, nil), remoteOptions(), Credentials{})
		cs := mustConnect(t, l, nil)
		srv.CloseClientConnections()
		<-l.done()
		_ = cs.Wait()
		srv.Close()
	})
	t.Run("no stream", func(t *testing.T) {
		srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "{}") }))
		l := linkTo(t, remoteServer(t, plugin.TransportSSE, srv.URL, nil), remoteOptions(), Credentials{})
		if _, err := remoteClient(t, l, nil); !errors.Is(l.explain(err), ErrServer) {
			t.Error(err)
		}
	})
	t.Run("401", func(t *testing.T) {
		srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(401) }))
		l := linkTo(t, remoteServer(t, plugin.TransportSSE, srv.URL, nil), remoteOptions(), Credentials{})
		_, err := remoteClient(t, l, nil)
		var u *UnauthorizedError
		if !errors.As(l.explain(err), &u) || u.Status != 401 {
			t.Error(err)
		}
	})
}

// TestLinkClose: closing ends calls in flight and streams within its bounds,
// also where the server hangs on DELETE. [R4]
func TestLinkClose(t *testing.T) {
	noLeaks(t)
	called := make(chan struct{}, 1)
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), `"initialize"`):
			var msg struct{ ID json.RawMessage }
			_ = json.Unmarshal(body, &msg)
			w.Header().Set("Mcp-Session-Id", "s")
			answer(w, msg.ID, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`)
		case strings.Contains(string(body), `"notifications/initialized"`):
			w.WriteHeader(202)
		case r.Method == "GET":
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			select {
			case called <- struct{}{}:
			default:
			}
			<-r.Context().Done()
		}
	}))
	opts := remoteOptions()
	opts.GracePeriod = 100 * time.Millisecond
	l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, srv.URL, nil), opts, Credentials{})
	cs := mustConnect(t, l, nil)
	result := make(chan error, 1)
	go func() {
		_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "x"})
		result <- err
	}()
	<-called
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = cs.Close()
	}()
	start := time.Now()
	for range 2 {
		if err := l.close(context.Background(), closed); err != nil {
			t.Error(err)
		}
	}
	if err := l.explain(<-result); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	<-closed
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("closing took %v", took)
	}
}

// oauthHandler gives tokens, a new one each time that it is asked to authorize.
type oauthHandler struct {
	mu        sync.Mutex
	token     string
	asked     int
	saw       []string // what of a request it was shown
	authorize func() (string, error)
}

func (h *oauthHandler) TokenSource(context.Context) (oauth2.TokenSource, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.token == "" {
		return nil, nil
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: h.token}), nil
}

func (h *oauthHandler) Authorize(_ context.Context, req *http.Request, resp *http.Response) error {
	defer resp.Body.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	h.saw = append(h.saw, fmt.Sprint(req.Header, resp.Request.Header, req.URL))
	token, err := h.authorize()
	h.token = token
	return err
}

// TestOAuth: the host's handler is asked where a server wants authorization, its
// token wins over a configured header and goes to no other origin, and what
// fails says so without a secret. [R6] [R8]
func TestOAuth(t *testing.T) {
	noLeaks(t)
	var accept atomic.Pointer[string]
	var redirect atomic.Bool
	var abroad seen
	foreign := serve(t, &abroad)
	srv := streamable(t, nil, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if redirect.Load() {
				http.Redirect(w, r, foreign.URL, http.StatusPermanentRedirect)
				return
			}
			if r.Header.Get("Authorization") != "Bearer "+*accept.Load() {
				w.Header().Set("WWW-Authenticate", `Bearer scope="tools"`)
				http.Error(w, "who are you, "+r.Header.Get("Authorization"), http.StatusUnauthorized)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	good, bad := "generated-token-good", "generated-token-bad"
	open := func(h *oauthHandler, typ plugin.Transport) *remoteLink {
		opts := remoteOptions()
		opts.Origins = origins(foreign.URL)
		creds := Credentials{Headers: hostHeaders}
		if h != nil {
			creds.OAuth = h
		}
		return linkTo(t, remoteServer(t, typ, srv.URL, packageHeaders), opts, creds)
	}
	accept.Store(&good)

	t.Run("authorized", func(t *testing.T) {
		h := &oauthHandler{authorize: func() (string, error) { return good, nil }}
		l := open(h, plugin.TransportStreamableHTTP)
		cs := mustConnect(t, l, nil)
		if got, err := callEcho(t, l, cs, "x"); err != nil || got != "x" || h.asked != 1 {
			t.Errorf("%q, %v, asked %d times", got, err, h.asked)
		}
		noSecrets(t, "what the handler is shown", strings.Join(h.saw, "\n"))

		redirect.Store(true)
		defer redirect.Store(false)
		before := len(abroad.all())
		_, _ = callEcho(t, l, cs, "x")
		hits := abroad.all()[before:]
		if len(hits) == 0 {
			t.Fatal("the authorized origin was not asked")
		}
		for _, r := range hits {
			noSecrets(t, "a foreign origin", fmt.Sprint(r.Header))
		}
	})
	t.Run("a token that is not accepted", func(t *testing.T) {
		h := &oauthHandler{authorize: func() (string, error) { return bad, nil }}
		l := open(h, plugin.TransportStreamableHTTP)
		_, err := remoteClient(t, l, nil)
		err = l.explain(err)
		var u *UnauthorizedError
		if !errors.As(err, &u) || u.Status != 401 || u.Scope != "tools" || !errors.Is(err, ErrServer) {
			t.Errorf("%v", err)
		}
		noSecrets(t, "the error", err.Error())
	})
	t.Run("a handler that fails", func(t *testing.T) {
		mine := errors.New("the user said no")
		h := &oauthHandler{authorize: func() (string, error) {
			return "", errors.Join(mine, &oauth2.RetrieveError{Response: &http.Response{Status: "400"}, Body: []byte(good), ErrorCode: "invalid_client"})
		}}
		l := open(h, plugin.TransportStreamableHTTP)
		_, err := remoteClient(t, l, nil)
		err = l.explain(err)
		var r *oauth2.RetrieveError
		if !errors.Is(err, mine) || !errors.As(err, &r) || r.ErrorCode != "invalid_client" || r.Body != nil {
			t.Errorf("%v", err)
		}
		noSecrets(t, "the error", err.Error())
	})
	t.Run("none", func(t *testing.T) {
		for _, typ := range []plugin.Transport{plugin.TransportStreamableHTTP, plugin.TransportSSE} {
			h := (*oauthHandler)(nil)
			if typ == plugin.TransportSSE {
				h = &oauthHandler{} // it has no place in the SDK's transport
			}
			l := open(h, typ)
			_, err := remoteClient(t, l, nil)
			err = l.explain(err)
			var u *UnauthorizedError
			if !errors.As(err, &u) || u.Status != 401 || u.Scope != "tools" {
				t.Errorf("%s: %v", typ, err)
			}
			noSecrets(t, "the error", err.Error())
		}
	})
}

// TestExplain: errors keep what can be matched, and lose what may not be shown.
// [R8]
func TestExplain(t *testing.T) {
	opts := remoteOptions()
	opts.Egress = ServiceEgress()
	headers := hostHeaders.Clone()
	headers.Set("X-Odd", `odd+val/ue="1`)
	l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, "https://server.example/mcp?key=query-secret", packageHeaders), opts,
		Credentials{Headers: headers})
	l.guard.session = "session-1234567890"
	if l.explain(nil) != nil {
		t.Error("nil has an explanation")
	}
	answered := fmt.Errorf("calling: %w", &jsonrpc.Error{Code: -32602, Message: "no such tool"})
	if got := l.explain(answered); got != answered {
		t.Errorf("%v", got)
	}
	echo := l.explain(fmt.Errorf("calling: %w", &jsonrpc.Error{Code: -32602, Message: "bad key package-token-123", Data: json.RawMessage(`{"h":"host-value-123"}`)}))
	var wire *jsonrpc.Error
	if !errors.As(echo, &wire) || wire.Code != -32602 {
		t.Fatal(echo)
	}
	noSecrets(t, "an answer", echo.Error()+wire.Message+string(wire.Data))

	_, _ = ask(t, l, "POST", "https://server.example/mcp?key=query-secret", "", map[string]string{"Authorization": "Bearer generated-token"})
	for _, form := range []string{`odd+val/ue="1`, `odd%2Bval%2Fue%3D%221`, `odd+val/ue=\"1`, "query-secret"} {
		if got := l.explain(fmt.Errorf("calling: %w", &jsonrpc.Error{Code: 1, Message: "no: " + form})); !strings.Contains(got.Error(), "[hidden]") || strings.Contains(got.Error(), "val") {
			t.Errorf("%s shows as %v", form, got)
		}
	}
	token := l.explain(fmt.Errorf("calling: %w", &jsonrpc.Error{Code: 1, Message: "generated-token is no good"}))
	noSecrets(t, "an answer", token.Error())

	for _, err := range []error{
		fmt.Errorf("standalone SSE request failed (session ID: session-1234567890): %w", io.EOF),
		fmt.Errorf(`Post "https://user:query-secret@server.example/mcp?key=query-secret#query-secret": %w`, context.DeadlineExceeded),
		errors.New("\x1b[31mserver says package-value-123\x1b[0m \u202e"),
		fmt.Errorf("%s: %w", strings.Repeat("x", 10_000), mcp.ErrConnectionClosed),
	} {
		got := l.explain(err)
		noSecrets(t, "an error", got.Error())
		if strings.ContainsAny(got.Error(), "\x1b\u202e") || len(got.Error()) > maxShown+10 {
			t.Errorf("%q", got)
		}
		for _, target := range []error{io.EOF, context.DeadlineExceeded, mcp.ErrConnectionClosed} {
			if errors.Is(got, target) != errors.Is(err, target) {
				t.Errorf("%v: Is(%v) is %v", got, target, errors.Is(got, target))
			}
		}
	}

	// The SDK's own mark is not an answer of the server.
	_, err := ask(t, l, "POST", "https://169.254.169.254/mcp?key=query-secret", "{}", nil)
	marked := l.explain(fmt.Errorf("%w: %w", &jsonrpc.Error{Code: -32005, Message: "rejected by transport"}, err))
	if errors.As(marked, &wire) || !errors.Is(marked, ErrNotAllowed) {
		t.Errorf("%v", marked)
	}
	if !isUnsent(err) {
		t.Error("it does not say that nothing was sent")
	}
}

// TestHostPanics: a function of the host that panics refuses, and nothing else
// happens. [R7]
func TestHostPanics(t *testing.T) {
	srv := serve(t, http.RedirectHandler("http://localhost:1/", http.StatusTemporaryRedirect))
	for name, set := range map[string]struct {
		set  func(*Options)
		want error
	}{
		"Check": {func(o *Options) { o.Egress.Check = func(context.Context, string, netip.AddrPort) error { panic("x") } }, ErrNotAllowed},
		"Proxy": {func(o *Options) { o.Proxy = func(*http.Request) (*url.URL, error) { panic("x") } }, ErrServer},
	} {
		t.Run(name, func(t *testing.T) {
			opts := remoteOptions()
			set.set(opts)
			l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, srv.URL, nil), opts, Credentials{})
			if _, err := ask(t, l, "POST", srv.URL, "{}", nil); !errors.Is(err, set.want) {
				t.Error(err)
			}
		})
	}
}
