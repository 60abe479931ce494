package mcpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// TestBodyLimit: a body over the limit is refused, whether it says its length
// or not, and one that trickles in is cut off. [T6]
func TestBodyLimit(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Body: 10_000, BodyTime: 300 * time.Millisecond}})
	r := &run{}
	token := h.mint(t, mcpserver.Grant{Channel: channel.Of(r)}).Token.Reveal()
	for _, era := range eras {
		base := raw{url: h.url, token: token, version: era}
		if era == stateful {
			base = raw{url: h.url, token: token}.begin(t)
		}
		for _, sized := range []bool{true, false} {
			body := toolCall(era, 1, "report_summary", args{"summary": strings.Repeat("x", 11_000)})
			req := base.request(t.Context(), "POST", body)
			if !sized {
				req.Body, req.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(body))), -1
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 413 {
				t.Errorf("%s, sized %v: status %d", era, sized, resp.StatusCode)
			}
		}
		if got := base.do(t, "POST", toolCall(era, 2, "report_summary", args{"summary": "fits"})); got.status != 200 {
			t.Errorf("%s: a body that fits: %+v", era, got)
		}
		read, write := io.Pipe()
		req := base.request(t.Context(), "POST", "")
		req.Body, req.ContentLength = read, -1
		go func() { fmt.Fprint(write, `{"jsonrpc":`) }()
		begun := time.Now()
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != 400 {
				t.Errorf("%s: a body that does not end: status %d", era, resp.StatusCode)
			}
		}
		if d := time.Since(begun); d > 5*time.Second {
			t.Errorf("%s: it was waited for %v", era, d)
		}
		write.Close()
	}
	if len(r.summaries) != 2 {
		t.Errorf("%d summaries arrived", len(r.summaries))
	}
}

// TestBodyOfRefused: a request that is refused before its body is read, with or
// without a token, cannot hold its connection by never sending the body. [T6]
func TestBodyOfRefused(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{BodyTime: 100 * time.Millisecond}})
	token := "Authorization: Bearer " + h.mint(t, mcpserver.Grant{}).Token.Reveal() + "\r\n"
	for _, tt := range []struct {
		name, method, headers string
		want                  int
	}{
		{"no token", "POST", "Host: localhost\r\nContent-Length: 10\r\n", 401},
		{"no token, no length", "POST", "Host: localhost\r\nTransfer-Encoding: chunked\r\n", 401},
		{"another host", "POST", "Host: evil.example\r\nContent-Length: 10\r\n", 403},
		{"another site", "POST", "Host: localhost\r\nOrigin: https://evil.example\r\nContent-Length: 10\r\n", 403},
		{"another method", "PUT", "Host: localhost\r\nContent-Length: 10\r\n" + token, 405},
		{"another type", "POST", "Host: localhost\r\nContent-Length: 10\r\n" + token, 415},
		{"unknown session", "POST", "Host: localhost\r\nContent-Length: 10\r\nContent-Type: application/json\r\nAccept: */*\r\nMcp-Session-Id: x\r\n" + token, 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			fmt.Fprintf(conn, "%s / HTTP/1.1\r\n%s\r\n", tt.method, tt.headers)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tt.want || !resp.Close {
				t.Errorf("status %d, close %v", resp.StatusCode, resp.Close)
			}
			if _, err := io.Copy(io.Discard, conn); err != nil { // it ends
				t.Error(err)
			}
		})
	}
}

// TestCallLimit: more calls than allowed at once are refused, with a result that
// the model can act on; ended ones make room. [T6]
func TestCallLimit(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Calls: 3}})
			in, out := make(chan bool, 10), make(chan bool)
			tool := custom(t, "wait", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
				in <- true
				<-out
				return mcpserver.Result{Text: "done"}, nil
			})
			m := h.mint(t, mcpserver.Grant{Tools: []*mcpserver.Tool{tool}, Channel: channel.Of(&run{})})
			cs := h.connect(t, m.Token.Reveal(), era, nil)
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if res, err := tryCall(cs, "wait", args{}); err != nil || text(res) != "done" {
						t.Errorf("%v %v", res, err)
					}
				})
				<-in
			}
			res := call(t, cs, "record_progress", args{"text": "x"})
			if !res.IsError || !strings.Contains(text(res), "in flight") {
				t.Errorf("%+v", res)
			}
			if ev := h.event(t, mcpserver.EventCall); ev.Outcome != mcpserver.OutcomeLimited {
				t.Errorf("%+v", ev)
			}
			if n := h.Grants()[0].Calls; n != 3 {
				t.Errorf("%d calls", n)
			}
			close(out)
			wg.Wait()
			if res := call(t, cs, "record_progress", args{"text": "x"}); res.IsError {
				t.Error(text(res))
			}
		})
	}
}

// TestRateLimit: requests above the rate get 429 and the session survives; many
// messages in one request of the oldest protocol do not get around it. Another
// grant is not held up. [T6]
func TestRateLimit(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Rate: 1, Burst: 12}})
	r, other := &run{}, &run{}
	base := raw{url: h.url, token: h.mint(t, mcpserver.Grant{Channel: channel.Of(r)}).Token.Reveal()}.begin(t)
	bystander := raw{url: h.url, token: h.mint(t, mcpserver.Grant{Channel: channel.Of(other)}).Token.Reveal()}.begin(t)
	// Two are spent. A batch of twenty counts as one request and as twenty
	// messages.
	var batch []string
	for i := range 20 {
		batch = append(batch, toolCall("", 100+i, "record_progress", args{"text": "x"}))
	}
	old := base
	old.version = "2025-03-26"
	got := old.do(t, "POST", "["+strings.Join(batch, ",")+"]")
	if n := strings.Count(got.body, "too many calls in a short time"); got.status != 200 || n < 9 || len(r.steps) > 11 {
		t.Errorf("%d of 20 were refused, %d came through: %+v", n, len(r.steps), got)
	}
	limited := 0
	for i := range 20 {
		if got := base.do(t, "POST", toolCall(stateful, i, "record_progress", args{"text": "x"})); got.status == 429 {
			limited++
			if got.header.Get("Retry-After") == "" {
				t.Errorf("%+v", got)
			}
		}
	}
	if limited < 8 {
		t.Errorf("%d were refused", limited)
	}
	if got := bystander.do(t, "POST", toolCall(stateful, 1, "record_progress", args{"text": "x"})); got.status != 200 || len(other.steps) != 1 {
		t.Errorf("another grant: %+v", got)
	}
	eventually(t, "the session survives", func() bool {
		return base.do(t, "POST", `{"jsonrpc":"2.0","id":77,"method":"ping"}`).status == 200
	})
}

// TestRequestLimit: a grant can hold only so many HTTP requests open. [T6]
func TestRequestLimit(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Requests: 4}})
	base := raw{url: h.url, token: h.mint(t, mcpserver.Grant{}).Token.Reveal()}
	ctx, cancel := context.WithCancel(context.Background())
	for range 4 {
		resp, err := base.begin(t).open(ctx, "GET", "")
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		defer resp.Body.Close()
	}
	if got := base.do(t, "POST", initialize); got.status != 429 {
		t.Errorf("%+v", got)
	}
	cancel()
	eventually(t, "there is room again", func() bool { return base.do(t, "POST", initialize).status == 200 })
}

// TestHosts: on a loopback address only loopback names are right, and others
// only where the host lists them. [T6]
func TestHosts(t *testing.T) {
	tests := []struct {
		hosts []string
		host  string
		want  int
	}{
		{nil, "", 200},
		{nil, "localhost", 200},
		{nil, "localhost:99", 200},
		{nil, "LocalHost:99", 200},
		{nil, "127.0.0.1", 200},
		{nil, "127.8.8.8:1", 200},
		{nil, "[::1]:80", 200},
		{nil, "evil.example", 403},
		{nil, "evil.example:80", 403},
		{nil, "localhost.evil.example", 403},
		{nil, "127.0.0.1.evil.example", 403},
		{nil, "10.0.0.1", 403},
		{nil, "0.0.0.0", 403},
		{nil, "[::1]evil.example", 403},
		{nil, "::1", 403},
		{nil, "[::ffff:10.0.0.1]", 403},
		{nil, "localhost:80:80", 403},
		{[]string{"agents.example"}, "agents.example", 200},
		{[]string{"agents.example"}, "AGENTS.example:8443", 200},
		{[]string{"agents.example"}, "127.0.0.1", 200},
		{[]string{"agents.example"}, "x.agents.example", 403},
		{[]string{"agents.example"}, "evil.example", 403},
		{[]string{"agents.example:8443"}, "agents.example:8443", 200},
		{[]string{"agents.example:8443"}, "agents.example", 403},
		{[]string{"agents.example:8443"}, "agents.example:80", 403},
		// A client leaves out the port that the scheme means, and behind a proxy the
		// scheme is not known.
		{[]string{"agents.example:443"}, "agents.example", 200},
		{[]string{"agents.example:443"}, "agents.example:443", 200},
		{[]string{"agents.example:443"}, "agents.example:80", 403},
		{[]string{"agents.example:80"}, "agents.example", 200},
		{[]string{"10.0.0.1", "[fd00::1]:80"}, "[fd00::1]", 200},
		{[]string{"10.0.0.1", "[fd00::1]:80"}, "10.0.0.1:99", 200},
		{[]string{"10.0.0.1", "[fd00::1]:80"}, "[fd00::1]:80", 200},
	}
	for _, tt := range tests {
		h := serve(t, mcpserver.Options{Hosts: tt.hosts})
		token := h.mint(t, mcpserver.Grant{}).Token.Reveal()
		for _, era := range append(eras, "") {
			req := raw{url: h.url, token: token, version: era}.request(t.Context(), "POST", initialize)
			req.Host = tt.host
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if era == stateless {
				if (resp.StatusCode == 403) != (tt.want == 403) {
					t.Errorf("%q %q %s: %d", tt.hosts, tt.host, era, resp.StatusCode)
				}
			} else if resp.StatusCode != tt.want {
				t.Errorf("%q %q %s: %d, want %d", tt.hosts, tt.host, era, resp.StatusCode, tt.want)
			}
		}
	}
}

// TestOrigins: what a browser sends for another site is refused, for every
// method and before the token, unless the host lists the origin; then it can be
// used from a page. [T6]
func TestOrigins(t *testing.T) {
	open := serve(t, mcpserver.Options{Origins: []string{"https://app.example"}})
	closed := serve(t, mcpserver.Options{})
	own := func(h *host) string { return h.url }
	tests := []struct {
		name   string
		header http.Header
		open   bool // with the list
		closed bool // without
	}{
		{"no browser", nil, true, true},
		{"another site", http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}}, false, false},
		{"another site, old browser", http.Header{"Origin": {"https://evil.example"}}, false, false},
		{"no origin", http.Header{"Sec-Fetch-Site": {"cross-site"}}, false, false},
		{"null origin", http.Header{"Origin": {"null"}}, false, false},
		{"listed", http.Header{"Origin": {"https://app.example"}, "Sec-Fetch-Site": {"cross-site"}}, true, false},
		{"listed with a port", http.Header{"Origin": {"https://app.example:8443"}}, false, false},
		{"listed without TLS", http.Header{"Origin": {"http://app.example"}}, false, false},
		{"typed by the user", http.Header{"Sec-Fetch-Site": {"none"}}, true, true},
		{"the same site", http.Header{"Origin": {"same"}, "Sec-Fetch-Site": {"same-origin"}}, true, true},
	}
	for _, tt := range tests {
		for _, h := range []*host{open, closed} {
			token := h.mint(t, mcpserver.Grant{}).Token.Reveal()
			header := tt.header.Clone()
			if header.Get("Origin") == "same" {
				header.Set("Origin", own(h))
			}
			allowed := tt.closed
			if h == open {
				allowed = tt.open
			}
			for _, method := range []string{"POST", "GET", "DELETE"} {
				got := raw{url: h.url, token: token, header: header}.do(t, method, initialize)
				if (got.status == 403) == allowed {
					t.Errorf("%s %s: %+v", tt.name, method, got)
				}
				if got.status == 403 && strings.Contains(got.body, "example") {
					t.Errorf("the refusal quotes the request: %q", got.body)
				}
				if tt.name == "listed" && allowed && (got.header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
					!strings.Contains(got.header.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id") || got.header.Get("Vary") != "Origin") {
					t.Errorf("a page cannot read the answer: %v", got.header)
				}
				// Before the token.
				if got := (raw{url: h.url, header: header}).do(t, method, initialize); (got.status == 403) == allowed {
					t.Errorf("%s %s without a token: %+v", tt.name, method, got)
				}
			}
		}
	}
	preflight := http.Header{
		"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"POST"},
		"Access-Control-Request-Headers": {"authorization,content-type,mcp-protocol-version"},
	}
	got := raw{url: open.url, header: preflight}.do(t, "OPTIONS", "")
	if got.status != 204 || !strings.Contains(got.header.Get("Access-Control-Allow-Headers"), "authorization") || !strings.Contains(got.header.Get("Access-Control-Allow-Methods"), "DELETE") {
		t.Errorf("preflight: %+v", got)
	}
	if got := (raw{url: closed.url, header: preflight}).do(t, "OPTIONS", ""); got.status != 403 {
		t.Errorf("preflight of a page that is not listed: %+v", got)
	}
}

// TestSlowReader: a client that does not read its stream holds up neither the
// other sessions of its grant nor the end of it. [T6]
func TestSlowReader(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Write: 300 * time.Millisecond, Result: 64 << 20}})
	big := custom(t, "big", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
		return mcpserver.Result{Text: strings.Repeat("x", 8<<20)}, nil // more than the kernel takes
	})
	token := h.mint(t, mcpserver.Grant{Tools: []*mcpserver.Tool{big}, Channel: channel.Of(&run{})}).Token.Reveal()

	// A connection that asks for megabytes and reads nothing.
	session := raw{url: h.url, token: token}.begin(t)
	addr := strings.TrimPrefix(h.url, "http://")
	var conns []net.Conn
	for i := range 2 {
		conn, err := (&net.Dialer{}).Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.(*net.TCPConn).SetReadBuffer(4096)
		req := session.request(t.Context(), "POST", toolCall(stateful, i+1, "big", args{}))
		if err := req.Write(conn); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for range conns {
		h.event(t, mcpserver.EventCall)
	}
	cs := h.connect(t, token, stateful, nil)
	begun := time.Now()
	if res := call(t, cs, "record_progress", args{"text": "x"}); res.IsError {
		t.Error(text(res))
	}
	if d := time.Since(begun); d > 5*time.Second {
		t.Errorf("another session waited %v", d)
	}
	eventually(t, "the slow connections are cut off", func() bool { return h.Grants()[0].Requests <= 1 })
	begun = time.Now()
	h.RevokeTask(t.Name())
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil || time.Since(begun) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
}
