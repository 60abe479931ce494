package mcpserver_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// TestForeignSession: a session id with another token is as unknown as one that
// was made up, for every method. [T2]
func TestForeignSession(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	ra, rb := &run{}, &run{}
	a := raw{url: h.url, token: h.mint(t, mcpserver.Grant{Channel: channel.Of(ra)}).Token.Reveal()}.begin(t)
	b := raw{url: h.url, token: h.mint(t, mcpserver.Grant{Channel: channel.Of(rb)}).Token.Reveal()}.begin(t)
	made := b
	made.session = "made-up"
	foreign := b
	foreign.session = a.session
	for _, method := range []string{"POST", "GET", "DELETE"} {
		body := ""
		if method == "POST" {
			body = toolCall(stateful, 7, "report_summary", args{"summary": "x"})
		}
		want, got := made.do(t, method, body), foreign.do(t, method, body)
		if got.status != 404 || got.body != want.body || got.status != want.status {
			t.Errorf("%s: %+v, and of a session that was made up %+v", method, got, want)
		}
	}
	// A's session lives, and nothing arrived anywhere.
	if got := a.do(t, "POST", toolCall(stateful, 8, "report_summary", args{"summary": "mine"})); got.status != 200 {
		t.Errorf("%+v", got)
	}
	if len(ra.summaries) != 1 || len(rb.summaries) != 0 {
		t.Errorf("%q %q", ra.summaries, rb.summaries)
	}
}

// TestChosenSession: a client cannot choose its session's id. [T2]
func TestChosenSession(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	r := raw{url: h.url, token: h.mint(t, mcpserver.Grant{}).Token.Reveal(), session: "chosen-by-the-client"}
	got := r.do(t, "POST", initialize)
	if got.status != 404 || got.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%+v", got)
	}
	for _, version := range []string{stateless, "2099-01-01"} {
		r.version = version
		if got := r.do(t, "POST", toolCall(stateless, 1, "x", nil)); got.status < 400 || strings.Contains(got.header.Get("Mcp-Session-Id"), "chosen") {
			t.Errorf("%s: %+v", version, got)
		}
	}
	if n := h.Grants()[0].Sessions; n != 0 {
		t.Errorf("%d sessions were opened", n)
	}
}

// TestSessionLimit: no more sessions than allowed are open; one that is idle
// makes room, one that is busy does not. [T6]
func TestSessionLimit(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Sessions: 3}})
	defer h.RevokeTask(t.Name())
	r, asked := waiting()
	m := h.mint(t, mcpserver.Grant{Channel: channel.Of(r)})
	base := raw{url: h.url, token: m.Token.Reveal()}
	sessions := func() int { return h.Grants()[0].Sessions }

	var open []raw
	for range 3 {
		open = append(open, base.begin(t))
	}
	// The oldest goes for the fourth.
	base.begin(t)
	eventually(t, "the idle session is gone", func() bool {
		return open[0].do(t, "POST", `{"jsonrpc":"2.0","id":5,"method":"ping"}`).status == 404
	})
	if n := sessions(); n != 3 {
		t.Errorf("%d sessions", n)
	}
	// Sessions with a call in flight or a stream open do not go.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	got := base
	for range 3 {
		got = base.begin(t)
		go got.open(ctx, "POST", toolCall(stateful, 9, "ask_user", args{"question": got.session}))
		<-asked
	}
	if got := base.do(t, "POST", initialize); got.status != 429 || got.header.Get("Retry-After") == "" {
		t.Errorf("%+v", got)
	}
	if n := sessions(); n != 3 {
		t.Errorf("%d sessions", n)
	}
	// A session that its client ends makes room at once, also with a call in
	// flight.
	if got := got.do(t, "DELETE", ""); got.status != 204 {
		t.Errorf("%+v", got)
	}
	base.begin(t)
}

// TestIdleSession: a session that nothing uses is closed, and one with a stream
// or a call is not.
func TestIdleSession(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Idle: 50 * time.Millisecond}})
	defer h.RevokeTask(t.Name())
	r, asked := waiting()
	base := raw{url: h.url, token: h.mint(t, mcpserver.Grant{Channel: channel.Of(r)}).Token.Reveal()}
	listening, calling, idle := base.begin(t), base.begin(t), base.begin(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	resp, err := listening.open(ctx, "GET", "")
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	defer resp.Body.Close()
	go calling.open(ctx, "POST", toolCall(stateful, 9, "ask_user", args{"question": "?"}))
	<-asked
	_ = idle
	eventually(t, "the idle session is closed", func() bool { return h.Grants()[0].Sessions == 2 })
	time.Sleep(200 * time.Millisecond) // several times as long as an idle session lives
	if n := h.Grants()[0].Sessions; n != 2 {
		t.Errorf("%d sessions", n)
	}
	cancel()
	eventually(t, "the stream's session is closed after it", func() bool { return h.Grants()[0].Sessions <= 1 })
}

// TestLastEventID: no number that a client makes up harms its session. [Q1]
func TestLastEventID(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	base := raw{url: h.url, token: h.mint(t, mcpserver.Grant{}).Token.Reveal()}.begin(t)
	for _, id := range []string{"_9223372036854775807", "_5", "_0", "_4611686018427387903", "_1", "_-1", "_", "x", "none_3", "_1_1"} {
		r := base
		r.header = http.Header{"Last-Event-Id": {id}}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		resp, err := r.open(ctx, "GET", "")
		if err != nil {
			t.Errorf("%s: %v", id, err)
		} else {
			cancel()
			resp.Body.Close()
		}
		cancel()
		eventually(t, "the stream is free again", func() bool { return h.Grants()[0].Requests == 0 })
	}
	if got := base.do(t, "POST", `{"jsonrpc":"2.0","id":5,"method":"ping"}`); got.status != 200 {
		t.Errorf("%+v", got)
	}
	if logged := h.logged.String(); strings.Contains(logged, "panic") {
		t.Error(logged)
	}
}

// TestEraOfRequest: each protocol finds its own handler by what the request
// says, and one token serves both at once. [T2]
func TestEraOfRequest(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	r := &run{}
	token := h.mint(t, mcpserver.Grant{Channel: channel.Of(r)}).Token.Reveal()
	old := h.connect(t, token, stateful, nil)
	recent := h.connect(t, token, stateless, nil)
	auto := h.connect(t, token, "", nil) // what the SDK does by itself
	for _, cs := range []*mcp.ClientSession{old, recent, auto} {
		if res := call(t, cs, "report_summary", args{"summary": "x"}); res.IsError {
			t.Error(text(res))
		}
	}
	if old.ID() == "" || recent.ID() != "" {
		t.Errorf("sessions %q %q", old.ID(), recent.ID())
	}
	if v := auto.InitializeResult().ProtocolVersion; v != stateless {
		t.Errorf("negotiated %s", v)
	}
	if got := (raw{url: h.url, token: token, version: stateless}).do(t, "GET", ""); got.status != 405 {
		t.Errorf("GET without a session: %+v", got)
	}
}
