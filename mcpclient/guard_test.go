package mcpclient

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

// seen records what a server was asked.
type seen struct {
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func (s *seen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests, s.bodies = append(s.requests, r.Clone(context.Background())), append(s.bodies, string(body))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{}`)
}

func (s *seen) all() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ask sends one request through a link as the SDK would.
func ask(t *testing.T, l *remoteLink, method, url, body string, headers map[string]string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var r io.Reader
	if body != "" {
		r = bytes.NewReader([]byte(body))
	}
	req, err := http.NewRequestWithContext(ctx, method, url, r)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	resp, err := l.guard.client().Do(req)
	if err != nil {
		return "", l.explain(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), l.explain(err)
}

// secretHeaders are what a package and a host give, and must not be seen
// anywhere but at the configured origin.
var (
	packageHeaders = map[string]string{"X-Package": "package-value-123", "Authorization": "Bearer package-token-123", "Cookie": "c=package-cookie"}
	hostHeaders    = http.Header{"X-Host": {"host-value-123"}}
)

func noSecrets(t *testing.T, where, text string) {
	t.Helper()
	for _, secret := range []string{"package-value-123", "package-token-123", "package-cookie", "host-value-123", "generated-token", "query-secret", "session-1234567890"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s has %s: %s", where, secret, text)
		}
	}
}

// TestRedirects: all codes, to another host, port and scheme: refused with an
// error that says where, nothing arrives; the same for an origin that the host
// authorizes, where the message arrives and nothing else. [R6] [R8]
func TestRedirects(t *testing.T) {
	noLeaks(t)
	var other, secure seen
	target := serve(t, &other)
	tlsTarget := httptest.NewTLSServer(&secure)
	t.Cleanup(tlsTarget.Close)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(target.URL, "http://"))
	var status atomic.Int32
	var location atomic.Pointer[string]
	var own seen
	source := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/here" {
			own.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Location", *location.Load())
		w.WriteHeader(int(status.Load()))
	}))
	_, sourcePort, _ := net.SplitHostPort(strings.TrimPrefix(source.URL, "http://"))
	sent := map[string]string{"Content-Type": "application/json", "Mcp-Session-Id": "session-1234567890", "Authorization": "Bearer generated-token"}

	targets := map[string]struct {
		url    string
		origin string
		at     *seen
	}{
		"port":   {target.URL + "/there", target.URL, &other},
		"host":   {"http://localhost:" + port + "/there", "http://localhost:" + port, &other},
		"scheme": {tlsTarget.URL + "/there", tlsTarget.URL, &secure},
	}
	for _, typ := range []plugin.Transport{plugin.TransportStreamableHTTP, plugin.TransportSSE} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			for _, method := range []string{"GET", "POST"} {
				for name, to := range targets {
					for _, authorized := range []bool{false, true} {
						t.Run(fmt.Sprintf("%s/%d/%s/%s/authorized=%v", typ, code, method, name, authorized), func(t *testing.T) {
							status.Store(int32(code))
							location.Store(&to.url)
							opts := remoteOptions()
							opts.TLS = &tls.Config{RootCAs: tlsTarget.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
							opts.Origins = func(id ServerID) []string {
								if id.Server != "s" {
									t.Errorf("asked for %v", id)
								}
								if authorized {
									return []string{to.origin}
								}
								return []string{"https://other.example"}
							}
							l := linkTo(t, remoteServer(t, typ, source.URL+"/mcp?key=query-secret", packageHeaders), opts, Credentials{Headers: hostHeaders})
							body := ""
							if method == "POST" {
								body = `{"jsonrpc":"2.0"}`
							}
							before := len(to.at.all())
							_, err := ask(t, l, method, source.URL+"/mcp?key=query-secret", body, sent)
							hits := to.at.all()[before:]

							loses := method == "POST" && code < 307
							if !authorized || loses {
								if len(hits) != 0 {
									t.Errorf("%d requests arrived", len(hits))
								}
							}
							switch {
							case loses:
								if !errors.Is(err, ErrServer) || !strings.Contains(err.Error(), "loses the message") {
									t.Error(err)
								}
							case !authorized:
								if !(method == "GET" && typ == plugin.TransportStreamableHTTP) || err != nil {
									if !errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), to.origin) {
										t.Error(err)
									}
								}
							default:
								// Neither is an event stream, which a GET should get.
								if len(hits) != 1 {
									t.Fatalf("%d requests arrived: %v", len(hits), err)
								}
								h := hits[0].Header
								noSecrets(t, "a foreign origin", fmt.Sprint(h, hits[0].URL))
								if h.Get("Referer") != "" || method == "POST" && (h.Get("Content-Type") != "application/json" || to.at.bodies[len(to.at.bodies)-1] != body) {
									t.Errorf("headers %v", h)
								}
							}
							if err != nil {
								noSecrets(t, "the error", err.Error())
							}
						})
					}
				}
			}
		}
	}

	t.Run("same origin", func(t *testing.T) {
		l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, source.URL+"/mcp", packageHeaders), remoteOptions(), Credentials{Headers: hostHeaders})
		for _, code := range []int{307, 308} {
			for _, where := range []string{"/here", source.URL + "/here", strings.ToUpper(source.URL[:4]) + source.URL[4:] + "/here"} {
				status.Store(int32(code))
				location.Store(&where)
				before := len(own.all())
				if _, err := ask(t, l, "POST", source.URL+"/mcp", "{}", sent); err != nil {
					t.Fatal(err)
				}
				hits := own.all()[before:]
				if len(hits) != 1 || hits[0].Header.Get("X-Package") == "" || hits[0].Header.Get("X-Host") == "" || hits[0].Header.Get("Referer") != "" ||
					hits[0].Header.Get("Authorization") != "Bearer generated-token" || hits[0].Header.Get("Mcp-Session-Id") == "" {
					t.Errorf("%d %s: %v", code, where, hits)
				}
			}
		}
	})
	t.Run("unusable targets", func(t *testing.T) {
		opts := remoteOptions()
		opts.Origins = origins("https://169.254.169.254", "https://10.0.0.1", "https://[::ffff:169.254.169.254]")
		l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, source.URL+"/mcp", packageHeaders), opts, Credentials{Headers: hostHeaders})
		before := len(other.all()) + len(own.all())
		for _, where := range []string{
			"http://user:pass@127.0.0.1:" + sourcePort + "/here", "http://@127.0.0.1:" + sourcePort + "/here", "ftp://127.0.0.1/", "file:///etc/passwd",
			"http://server.example/", "http://169.254.169.254/latest", "https://169.254.169.254/latest", "https://10.0.0.1/", "https://[::ffff:169.254.169.254]/", "http://127.1:" + port + "/there",
		} {
			status.Store(307)
			location.Store(&where)
			_, err := ask(t, l, "POST", source.URL+"/mcp", "{}", sent)
			if !errors.Is(err, ErrNotAllowed) || strings.Contains(err.Error(), "pass") {
				t.Errorf("%s: %v", where, err)
			}
		}
		if len(other.all())+len(own.all()) != before {
			t.Error("a request arrived")
		}
	})
	t.Run("down to http", func(t *testing.T) {
		var there seen
		plain := serve(t, &there)
		down := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusTemporaryRedirect))
		t.Cleanup(down.Close)
		opts := remoteOptions()
		opts.TLS = down.Client().Transport.(*http.Transport).TLSClientConfig
		opts.Origins = origins(plain.URL)
		l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, down.URL, nil), opts, Credentials{})
		if _, err := ask(t, l, "POST", down.URL, "{}", nil); !errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), "from https") || len(there.all()) != 0 {
			t.Error(err)
		}
	})
	t.Run("for ever", func(t *testing.T) {
		var n atomic.Int32
		loop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
		}))
		l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, loop.URL, nil), remoteOptions(), Credentials{})
		if _, err := ask(t, l, "POST", loop.URL, "{}", nil); !errors.Is(err, ErrServer) || n.Load() > maxRedirects+1 {
			t.Errorf("%v after %d", err, n.Load())
		}
	})
	t.Run("the session of an authorized origin", func(t *testing.T) {
		var got []string
		b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = append(got, r.Header.Get("Mcp-Session-Id"))
			w.Header().Set("Mcp-Session-Id", "session-of-b")
			w.WriteHeader(http.StatusAccepted)
		}))
		a := serve(t, http.RedirectHandler(b.URL, http.StatusPermanentRedirect))
		opts := remoteOptions()
		opts.Origins = origins(b.URL)
		l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, a.URL, nil), opts, Credentials{})
		for _, id := range []string{"", "session-of-b"} {
			headers := map[string]string{}
			if id != "" {
				headers["Mcp-Session-Id"] = id
			}
			if _, err := ask(t, l, "POST", a.URL, "{}", headers); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, []string{"", "session-of-b"}) {
			t.Errorf("%q", got)
		}
	})
}

// TestHeaders: configured headers and credentials go with each request to the
// configured origin, the host's over the package's, and neither over what HTTP,
// MCP and authorization generate, in any letter case. [R6] [C7]
func TestHeaders(t *testing.T) {
	var got seen
	srv := serve(t, &got)
	configured := map[string]string{
		"x-own": "package", "X-Shared": "package", "X-High": "café ÿ", "user-agent": "custom/1", "Empty": "",
		"AUTHORIZATION": "Bearer package", "cOOKIE": "a=b", "Idempotency-Key": "same",
		// Ignored:
		"HOST": "evil.example", "content-LENGTH": "1", "connection": "close", "Keep-Alive": "1", "Proxy-Authorization": "Basic x",
		"te": "trailers", "Trailer": "X", "Transfer-Encoding": "gzip", "upgrade": "h2c", "Proxy-Connection": "x", "HTTP2-Settings": "x",
		"ACCEPT": "text/html", "content-type": "text/html", "accept-encoding": "br", "Content-Encoding": "br", "expect": "100-continue",
		"mcp-session-id": "forged", "MCP-PROTOCOL-VERSION": "1999", "Mcp-Method": "x", "mcp-name": "x", "Mcp-Param-X": "x", "last-event-id": "9",
	}
	ignored := 22
	server := remoteServer(t, plugin.TransportStreamableHTTP, srv.URL, configured)
	var logged logText
	opts := remoteOptions()
	opts.Logger = logged.logger()
	l := linkTo(t, server, opts, Credentials{Headers: http.Header{
		"x-shared": {"host-1", "host-2"}, "mcp-session-id": {"forged-by-host"}, "Host": {"evil.example"},
	}})
	generated := map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-11-25"}
	if _, err := ask(t, l, "POST", srv.URL, "{}", generated); err != nil {
		t.Fatal(err)
	}
	withToken := maps.Clone(generated)
	withToken["Authorization"] = "Bearer generated"
	if _, err := ask(t, l, "POST", srv.URL, "{}", withToken); err != nil {
		t.Fatal(err)
	}
	all := got.all()
	if len(all) != 2 {
		t.Fatal(len(all))
	}
	want := http.Header{
		"X-Own": {"package"}, "X-Shared": {"host-1", "host-2"}, "X-High": {"café ÿ"}, "User-Agent": {"custom/1"}, "Empty": {""},
		"Authorization": {"Bearer package"}, "Cookie": {"a=b"}, "Idempotency-Key": {"same"},
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"},
		"Accept-Encoding": {"gzip"}, "Content-Length": {"2"},
	}
	for i, r := range all {
		if i == 1 {
			want["Authorization"] = []string{"Bearer generated"}
		}
		if !maps.EqualFunc(r.Header, want, slices.Equal) {
			t.Errorf("request %d:\n%v, want\n%v", i, r.Header, want)
		}
		if r.Host != strings.TrimPrefix(srv.URL, "http://") {
			t.Errorf("Host %s", r.Host)
		}
	}

	// What is ignored is said, by name, and the entry is valid.
	found := remoteFindings(server)
	if len(found) != ignored {
		t.Errorf("%d findings:\n%s", len(found), found)
	}
	for _, f := range found {
		if f.Code != finding.ConnectHeaderIgnored || f.Severity != finding.SeverityWarning || f.Subject != "s" || strings.Contains(f.Message, "evil") {
			t.Errorf("%s", f)
		}
	}
	if text := logged.String(); strings.Count(text, "a configured header is ignored") != ignored || strings.Count(text, "header of the credentials is ignored") != 2 ||
		strings.Contains(text, "evil.example") || strings.Contains(text, "forged") {
		t.Errorf("logged:\n%s", text)
	}
	if found := remoteFindings(remoteServer(t, plugin.TransportSSE, srv.URL, map[string]string{"X-A": "b"})); found != nil {
		t.Errorf("%s", found)
	}
}

// TestNoSecondDelivery: a header that net/http takes for permission to repeat a
// request does not make it do so. [R5]
func TestNoSecondDelivery(t *testing.T) {
	noLeaks(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var delivered atomic.Int32
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buf := make([]byte, 4096)
				for i := 0; ; i++ {
					n, err := conn.Read(buf)
					if err != nil {
						return
					}
					if !bytes.Contains(buf[:n], []byte("{}")) {
						i--
						continue
					}
					delivered.Add(1)
					if i == 1 {
						return // the second request on a connection gets no answer
					}
					_, _ = io.WriteString(conn, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
				}
			}()
		}
	}()
	at := "http://" + listener.Addr().String()
	for _, header := range []string{"Idempotency-Key", "x-idempotency-key", "X-Other"} {
		t.Run(header, func(t *testing.T) {
			delivered.Store(0)
			l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, at, map[string]string{header: "k"}), remoteOptions(), Credentials{})
			if _, err := ask(t, l, "POST", at, "{}", nil); err != nil {
				t.Fatal(err)
			}
			_, err := ask(t, l, "POST", at, "{}", nil)
			if !errors.Is(err, ErrServer) || isUnsent(err) || delivered.Load() != 2 {
				t.Errorf("%v, %d delivered", err, delivered.Load())
			}
		})
	}
}

// TestBodies: what a server sends is bounded after decompression, and a breach
// is a clear error before memory is used for it. [R9]
func TestBodies(t *testing.T) {
	noLeaks(t)
	const limit = 64 << 10
	bomb := func(size int) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		chunk := make([]byte, 1<<16)
		for range size >> 16 {
			_, _ = z.Write(chunk)
		}
		_ = z.Close()
		return b.Bytes()
	}
	zipped := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text)
		_ = z.Close()
		return b.Bytes()
	}
	big := bomb(64 << 20)
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		want    error
		text    string
	}{
		{"small", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, `{"a":1}`) }, nil, `{"a":1}`},
		{"exactly the limit", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(bytes.Repeat([]byte(" "), limit)) }, nil, strings.Repeat(" ", limit)},
		{"one more", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(bytes.Repeat([]byte(" "), limit+1)) }, ErrLimit, ""},
		{"one more, in chunks", func(w http.ResponseWriter, r *http.Request) {
			for range limit + 1 {
				_, _ = w.Write([]byte(" "))
			}
			w.(http.Flusher).Flush()
		}, ErrLimit, ""},
		{"announced", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000000000000")
			w.WriteHeader(200)
		}, ErrLimit, ""},
		{"endless", func(w http.ResponseWriter, r *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, ErrLimit, ""},
		{"endless error", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, ErrLimit, ""},
		{"gzip", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Errorf("Accept-Encoding %q", r.Header.Get("Accept-Encoding"))
			}
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped(`{"b":2}`))
		}, nil, `{"b":2}`},
		{"gzip bomb", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "GZIP")
			_, _ = w.Write(big)
		}, ErrLimit, ""},
		{"gzip of nothing, for ever", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			empty := zipped("")
			for {
				if _, err := w.Write(empty); err != nil {
					return
				}
			}
		}, ErrLimit, ""},
		{"no gzip", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "not gzip at all")
		}, ErrServer, ""},
		{"another encoding", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "x")
		}, ErrServer, ""},
		{"gzip in gzip", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip, gzip")
			_, _ = w.Write(zipped(string(zipped("x"))))
		}, ErrServer, ""},
		{"broken off", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "x")
			panic(http.ErrAbortHandler)
		}, ErrServer, ""},
		{"headers a little too large", func(w http.ResponseWriter, r *http.Request) {
			for range 10 {
				w.Header().Add("X-Large", strings.Repeat("h", 7<<10))
			}
		}, ErrLimit, ""},
		{"huge header", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Huge", strings.Repeat("h", 128<<10))
		}, ErrLimit, ""},
		{"many headers", func(w http.ResponseWriter, r *http.Request) {
			for i := range 5000 {
				w.Header().Add("X-Many", fmt.Sprint("value number ", i))
			}
		}, ErrLimit, ""},
	} {
		for _, version := range []int{1, 2} {
			t.Run(fmt.Sprintf("HTTP %d/%s", version, tt.name), func(t *testing.T) {
				srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.ProtoMajor != version {
						t.Errorf("HTTP/%d", r.ProtoMajor)
					}
					w.Header().Set("Content-Type", "application/json; charset=utf-8")
					tt.handler(w, r)
				}))
				srv.EnableHTTP2 = version == 2
				srv.StartTLS()
				defer srv.Close()
				opts := remoteOptions()
				opts.TLS = &tls.Config{RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
				opts.Limits.Body = limit
				l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, srv.URL, nil), opts, Credentials{})
				text, err := ask(t, l, "POST", srv.URL, "{}", nil)
				if tt.want == ErrLimit && version == 2 && strings.Contains(fmt.Sprint(err), "broke HTTP/2, or its response has more than") {
					return // net/http gives the connection up and does not say why
				}
				if !errors.Is(err, tt.want) || text != tt.text {
					t.Errorf("%v, %d bytes, want %v", err, len(text), tt.want)
				}
				srv.CloseClientConnections()
			})
		}
	}
}

// TestRate: a server is read no faster than the limit, beyond a first burst. [R9]
func TestRate(t *testing.T) {
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			if _, err := fmt.Fprintf(w, "data: %s\n\n", strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	}))
	opts := remoteOptions()
	opts.Limits.Rate = 100 << 10
	l := linkTo(t, remoteServer(t, plugin.TransportSSE, srv.URL, nil), opts, Credentials{})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL, nil)
	resp, err := l.guard.client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil || n < 90<<10 || n > 200<<10 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestStatuses: what each status makes of a request of the SDK's two
// transports, and that the session is given up only where it is gone. [R5] [R9]
func TestStatuses(t *testing.T) {
	var status atomic.Int32
	var body, contentType atomic.Pointer[string]
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", *contentType.Load())
		if status.Load() == 401 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="x", resource_metadata="https://server.example/.well-known/x?secret", scope="a b"`)
		}
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, *body.Load())
	}))
	plain, text, jsonType, rpc := "text/plain", "no \x1b[31mway", "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"mine"}}`
	for _, typ := range []plugin.Transport{plugin.TransportStreamableHTTP, plugin.TransportSSE} {
		for code := 300; code < 600; code++ {
			if http.StatusText(code) == "" {
				continue
			}
			t.Run(fmt.Sprint(typ, "/", code), func(t *testing.T) {
				status.Store(int32(code))
				body.Store(&text)
				contentType.Store(&plain)
				l := linkTo(t, remoteServer(t, typ, srv.URL, nil), remoteOptions(), Credentials{})
				_, err := ask(t, l, "POST", srv.URL, "{}", nil)
				if err == nil || !errors.Is(err, ErrServer) || isUnsent(err) || strings.Contains(err.Error(), "\x1b") {
					t.Fatal(err)
				}
				var u *UnauthorizedError
				if errors.As(err, &u) != (code == 401) || code == 401 && (u.Status != 401 || u.Scope != "a b" || u.ResourceMetadata != "https://server.example/.well-known/x?secret") {
					t.Errorf("%#v", u)
				}
				gone := code == 401 || code == 404 && typ == plugin.TransportSSE
				select {
				case <-l.done():
					if !gone {
						t.Error("the link says that the server is gone")
					}
				default:
					if gone {
						t.Error("the link does not say that the server is gone")
					}
				}
			})
		}
	}
	// An answer in the protocol's form is the SDK's to read.
	status.Store(400)
	body.Store(&rpc)
	contentType.Store(&jsonType)
	l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, srv.URL, nil), remoteOptions(), Credentials{})
	if got, err := ask(t, l, "POST", srv.URL, "{}", nil); err != nil || got != rpc {
		t.Errorf("%v: %s", err, got)
	}
	// A session that is gone is, whatever the body says.
	status.Store(404)
	if got, err := ask(t, l, "POST", srv.URL, "{}", map[string]string{"Mcp-Session-Id": "x"}); err != nil || got != "" {
		t.Errorf("%v: %s", err, got)
	}
	<-l.done()
}

// TestNoEnvironmentProxy: proxies of the environment are not used, one of the
// host is, and the policy judges it and what URLs spell out. [R7]
func TestNoEnvironmentProxy(t *testing.T) {
	var proxied seen
	proxy := serve(t, &proxied)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	var direct seen
	srv := serve(t, &direct)
	l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, srv.URL, nil), remoteOptions(), Credentials{})
	if _, err := ask(t, l, "POST", srv.URL, "{}", nil); err != nil || len(direct.all()) != 1 || len(proxied.all()) != 0 {
		t.Errorf("%v, %d direct, %d proxied", err, len(direct.all()), len(proxied.all()))
	}
	// net/http reads the environment once and never uses a proxy for loopback, so
	// what is there says more.
	if l.guard.base.Proxy != nil {
		t.Error("the transport has a proxy")
	}

	through := func(e *Egress, to string) error {
		opts := remoteOptions()
		opts.Egress = e
		opts.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
		opts.Origins = origins(strings.TrimSuffix(to, "/"))
		own := to
		if e.judgeUndialed(hostOf(t, to)) != nil {
			own = "https://other.example/" // which leads there
		}
		l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, own, nil), opts, Credentials{})
		_, err := ask(t, l, "POST", to, "{}", nil)
		return err
	}
	if err := through(DesktopEgress(), srv.URL); err != nil || len(proxied.all()) != 1 {
		t.Errorf("%v, %d proxied", err, len(proxied.all()))
	}
	if err := through(ServiceEgress(), "https://server.example/"); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("a proxy on loopback: %v", err)
	}
	e := ServiceEgress()
	e.Allow = append(e.Allow, mustPrefix("127.0.0.1/32"))
	for _, to := range []string{"https://169.254.169.254/", "https://10.0.0.1/", "https://[::ffff:10.0.0.1]/"} {
		if err := through(e, to); !errors.Is(err, ErrNotAllowed) {
			t.Errorf("%s: %v", to, err)
		}
	}
	if len(proxied.all()) != 1 {
		t.Errorf("%d proxied", len(proxied.all()))
	}
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Hostname()
}

func mustPrefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// TestUnsent: an error says that a request has certainly not reached the server
// where that is so. [R5]
func TestUnsent(t *testing.T) {
	l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, "http://127.0.0.1:1/mcp?key=query-secret", nil), remoteOptions(), Credentials{})
	_, err := ask(t, l, "POST", "http://127.0.0.1:1/mcp?key=query-secret", "{}", nil)
	if !errors.Is(err, ErrServer) || !isUnsent(err) || !strings.Contains(err.Error(), "cannot be reached") {
		t.Error(err)
	}
	noSecrets(t, "the error", err.Error())
	_, err = ask(t, l, "POST", "https://169.254.169.254/", "{}", nil)
	if !errors.Is(err, ErrNotAllowed) || !isUnsent(err) {
		t.Error(err)
	}
	closed := make(chan struct{})
	close(closed)
	_ = l.close(t.Context(), closed)
	_, err = ask(t, l, "POST", "http://127.0.0.1:1/", "{}", nil)
	if !errors.Is(err, ErrClosed) || !isUnsent(err) {
		t.Error(err)
	}
}
