package mcpserver

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plugberth/plugberth/channel"
)

// FuzzHeaders: no header can be taken for a token that is none, and host names
// have one form.
func FuzzHeaders(f *testing.F) {
	token, _ := newSecrets()
	for _, s := range []string{
		"", "Bearer", "Bearer ", "Bearer " + token, "bearer  " + token + " ", "Bearer " + token + "," + token,
		"localhost:80", "[::1]:80", "::1", "a.example:", ":80", "[", "]:", "127.0.0.1.evil.example",
	} {
		f.Add(s, s)
	}
	reg, err := New(Options{Hosts: []string{"a.example"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, authorization, host string) {
		if got, ok := bearer(http.Header{"Authorization": {authorization}}); ok {
			if len(got) != tokenLength || !strings.HasPrefix(got, tokenPrefix) || !strings.Contains(authorization, got) {
				t.Errorf("%q gives %q", authorization, got)
			}
			if reg.find(got) != nil {
				t.Error("it was never minted")
			}
		}
		if name, port, ok := splitHost(host); ok {
			again, portAgain, ok := splitHost(net.JoinHostPort(name, port))
			if !ok || again != name || portAgain != port {
				t.Errorf("%q gives %q %q and then %q %q", host, name, port, again, portAgain)
			}
		}
		req := httptest.NewRequest("POST", "/", nil)
		req.Host = host
		if reg.hostAllowed(req) && !strings.Contains(strings.ToLower(host), "a.example") {
			t.Errorf("%q is allowed", host)
		}
	})
}

// FuzzMessage: whatever an agent with a good token sends, it gets an answer, and
// neither a panic nor another identity. [Q1] [T3]
func FuzzMessage(f *testing.F) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"f","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	for _, version := range []string{"", "2025-03-26", "2025-11-25", "2026-07-28", "9999"} {
		for _, body := range []string{
			``, `null`, `[]`, `{}`, `{"jsonrpc":"2.0"}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"record_progress","arguments":{"text":"x","percent":1e400},` + meta + `}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plugberth.tools","arguments":[],` + meta + `}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x",` + meta + `}}`,
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},` + meta + `}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		} {
			f.Add(version, "", body)
			f.Add(version, "x", body)
		}
	}
	reg, err := New(Options{Limits: Limits{Rate: 1 << 30, Burst: 1 << 30, Sessions: 4, Idle: time.Minute}})
	if err != nil {
		f.Fatal(err)
	}
	r := recorder{f}
	minted, err := reg.Mint(Grant{Identity: Identity{Task: "mine"}, Channel: channel.Parts{Recorder: r}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, version, session, body string) {
		// A listener waits until its client goes.
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		req := httptest.NewRequestWithContext(ctx, "POST", "/", strings.NewReader(body))
		req.Header = http.Header{
			"Authorization": {"Bearer " + minted.Token.Reveal()}, "Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"}, versionHeader: {version}, sessionHeader: {session},
		}
		var msg struct {
			Method string
			Params struct{ Name string }
		}
		json.Unmarshal([]byte(body), &msg)
		req.Header.Set("Mcp-Method", msg.Method)
		req.Header.Set("Mcp-Name", msg.Params.Name)
		rec := httptest.NewRecorder()
		reg.ServeHTTP(rec, req)
		if rec.Code < 200 || rec.Code >= 500 && rec.Code != 500 {
			t.Errorf("status %d", rec.Code)
		}
		if strings.Contains(rec.Body.String(), minted.Token.Reveal()) {
			t.Error("the token is in the answer")
		}
	})
}

// recorder takes progress of one run only.
type recorder struct{ t testing.TB }

func (r recorder) RecordProgress(ctx context.Context, _ channel.Progress) error {
	if run, _ := RunFromContext(ctx); run.Identity.Task != "mine" {
		panic("another run's progress")
	}
	return nil
}
