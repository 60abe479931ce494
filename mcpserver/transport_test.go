package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// TestRevokeSlowReader: a write that hangs on a reader that takes nothing does
// not hold up the end of its grant, however long writes may take. [T5]
func TestRevokeSlowReader(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Write: time.Hour, Result: 64 << 20}})
	big := custom(t, "big", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
		return mcpserver.Result{Text: strings.Repeat("x", 8<<20)}, nil // more than the kernel takes
	})
	token := h.mint(t, mcpserver.Grant{Tools: []*mcpserver.Tool{big}}).Token.Reveal()
	for _, r := range []raw{raw{url: h.url, token: token}.begin(t), {url: h.url, token: token, version: stateless}} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.(*net.TCPConn).SetReadBuffer(4096)
		if err := r.request(t.Context(), "POST", toolCall(r.version, 1, "big", args{})).Write(conn); err != nil {
			t.Fatal(err)
		}
		h.event(t, mcpserver.EventCall)
	}
	begun := time.Now()
	h.RevokeTask(t.Name())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if d := time.Since(begun); d > 15*time.Second {
		t.Errorf("it took %v", d)
	}
}

// TestConnectionReuse: the end of a grant cuts off no other request that later
// uses the same connection.
func TestConnectionReuse(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Write: 50 * time.Millisecond, BodyTime: 50 * time.Millisecond}})
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	r := &run{}
	for i := range 5 {
		m := h.mint(t, mcpserver.Grant{Channel: channel.Of(r)})
		base := raw{url: h.url, token: m.Token.Reveal(), client: client}.begin(t)
		time.Sleep(60 * time.Millisecond) // longer than any deadline that could have stayed
		if got := base.do(t, "POST", toolCall(stateful, 1, "record_progress", args{"text": "x"})); got.status != 200 || !strings.Contains(got.body, "Recorded") {
			t.Errorf("%d: %+v", i, got)
		}
		h.Revoke(m.ID)
	}
}

// TestLongCall: a call and a standing stream may take longer than any deadline of
// reading and writing. In HTTP/2 a deadline counts also while nothing is written.
func TestLongCall(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Write: 50 * time.Millisecond, BodyTime: 50 * time.Millisecond}})
	tool := custom(t, "long", func(ctx context.Context, _ mcpserver.Call) (mcpserver.Result, error) {
		select {
		case <-time.After(300 * time.Millisecond):
			return mcpserver.Result{Text: "done"}, nil
		case <-ctx.Done():
			return mcpserver.Result{}, ctx.Err()
		}
	})
	token := h.mint(t, mcpserver.Grant{Tools: []*mcpserver.Tool{tool}}).Token.Reveal()
	srv := httptest.NewUnstartedServer(h.Registry)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	for _, base := range []raw{{url: h.url, token: token}, {url: srv.URL, token: token, client: srv.Client()}} {
		for _, era := range eras {
			r := base
			r.version = era
			if era == stateful {
				r = base.begin(t)
			}
			if got := r.do(t, "POST", toolCall(era, 3, "long", args{})); !strings.Contains(got.body, "done") {
				t.Errorf("%s, %s: %+v", base.url, era, got)
			}
			if era == stateless {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			resp, err := r.open(ctx, "GET", "")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.ReadAll(resp.Body); ctx.Err() == nil {
				t.Errorf("%s: the stream ended: %v", base.url, err)
			}
		}
	}
}

// TestHTTP2: the same over HTTP/2, where deadlines are those of a stream.
func TestHTTP2(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Comment: 20 * time.Millisecond}})
	srv := httptest.NewUnstartedServer(h.Registry)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			r, asked := waiting()
			m := h.mint(t, mcpserver.Grant{Channel: channel.Of(r)})
			base := raw{url: srv.URL, token: m.Token.Reveal(), client: srv.Client(), version: era}
			if era == stateful {
				base.version = ""
				base = base.begin(t)
			}
			if got := base.do(t, "POST", toolCall(era, 3, "record_progress", args{"text": "x"})); !strings.Contains(got.body, "Recorded") {
				t.Errorf("%+v", got)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			resp, err := base.open(ctx, "POST", toolCall(era, 4, "ask_user", args{"question": "?"}))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.ProtoMajor != 2 {
				t.Fatalf("%s", resp.Proto)
			}
			<-asked
			comments, result := 0, ""
			for ev := range sseStream(resp.Body) {
				if ev.id == "comment" {
					if comments++; comments == 2 {
						h.Revoke(m.ID)
					}
				} else if ev.data != "" {
					result = ev.data
				}
			}
			if comments < 2 || !strings.Contains(result, "revoked") {
				t.Errorf("%d comments, %q", comments, result)
			}
		})
	}
}

// TestBehindProxy: a reverse proxy on the same machine passes the name that
// agents use; it is right once the host says so. [T6]
func TestBehindProxy(t *testing.T) {
	h := serve(t, mcpserver.Options{Hosts: []string{"agents.example"}, Limits: mcpserver.Limits{Comment: 20 * time.Millisecond}})
	target, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}})
	defer proxy.Close()
	d := newDesk()
	token := h.mint(t, mcpserver.Grant{Channel: channel.Parts{Asker: d}}).Token.Reveal()
	for _, era := range eras {
		base := raw{url: proxy.URL, token: token, version: era}
		if era == stateful {
			base = raw{url: proxy.URL, token: token}.begin(t) // by its address
		}
		req := base.request(t.Context(), "POST", toolCall(era, 3, "ask_user", args{"question": era}))
		req.Host = "agents.example"
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		<-d.asked
		d.answers <- "through the proxy"
		data, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 200 || !strings.Contains(string(data), "through the proxy") {
			t.Errorf("%s: %d %s %v", era, resp.StatusCode, data, err)
		}
		req = base.request(t.Context(), "POST", toolCall(era, 4, "ask_user", args{"question": era}))
		req.Host = "other.example"
		if resp, err = http.DefaultClient.Do(req); err != nil || resp.StatusCode != 403 {
			t.Errorf("another name: %v %v", resp, err)
		}
		resp.Body.Close()
	}
}

// TestMounted: the registry can be mounted anywhere, and two of them side by
// side know nothing of each other.
func TestMounted(t *testing.T) {
	var regs [2]*mcpserver.Registry
	mux := http.NewServeMux()
	for i := range regs {
		reg, err := mcpserver.New(mcpserver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer reg.Shutdown(context.Background())
		regs[i] = reg
		mux.Handle(fmt.Sprintf("/agents/%d/mcp", i), reg)
	}
	srv := httptest.NewServer(mux)
	defer srv.Close()
	m, err := regs[0].Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "t"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{200, 401} {
		got := raw{url: fmt.Sprintf("%s/agents/%d/mcp?x=y", srv.URL, i), token: m.Token.Reveal()}.do(t, "POST", initialize)
		if got.status != want {
			t.Errorf("%d: %+v", i, got)
		}
	}
}

// TestAskDeadline: a question is withdrawn when its time is up, and a channel
// that ignores that holds up nobody; only so many can.
func TestAskDeadline(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Ask: 50 * time.Millisecond, Calls: 2}})
			r, asked := waiting()
			cs := h.connect(t, h.mint(t, mcpserver.Grant{Channel: channel.Of(r)}).Token.Reveal(), era, nil)
			if res := call(t, cs, "ask_user", args{"question": "?"}); !res.IsError || !strings.Contains(text(res), "did not finish in time") {
				t.Errorf("%+v", res)
			}
			<-asked
			if ev := h.event(t, mcpserver.EventCall); ev.Outcome != mcpserver.OutcomeTimeout {
				t.Errorf("%+v", ev)
			}
			// One that never ends.
			release := make(chan bool)
			stuck := &run{answer: func(context.Context, channel.Question) (channel.Answer, error) {
				<-release
				return channel.Answer{Text: "late"}, nil
			}}
			defer close(release)
			cs = h.connect(t, h.mint(t, mcpserver.Grant{Channel: channel.Of(stuck)}).Token.Reveal(), era, nil)
			for i, want := range []string{"in time", "in time", "Not asked"} {
				if res := call(t, cs, "ask_user", args{"question": fmt.Sprint(i)}); !res.IsError || !strings.Contains(text(res), want) {
					t.Errorf("%d: %s", i, text(res))
				}
			}
		})
	}
}
