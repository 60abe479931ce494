package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// TestUnauthorized: whatever is wrong with a token, the answer is the same, for
// every method and in both protocols, and nothing is reached. [T2]
func TestUnauthorized(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	r := &run{}
	good := h.mint(t, mcpserver.Grant{Channel: channel.Of(r)}).Token.Reveal()
	revoked := h.mint(t, mcpserver.Grant{Channel: channel.Of(r)})
	h.Revoke(revoked.ID)
	expired := h.mint(t, mcpserver.Grant{Channel: channel.Of(r), TTL: time.Nanosecond})
	for h.event(t, mcpserver.EventExpired).Run.GrantID != expired.ID {
	}
	near := good[:len(good)-1] + string(good[len(good)-1]^1)

	one := func(v string) http.Header { return http.Header{"Authorization": {v}} }
	tests := []struct {
		name   string
		header http.Header
		query  string
	}{
		{name: "missing"},
		{name: "empty", header: one("")},
		{name: "no scheme", header: one(good)},
		{name: "another scheme", header: one("Basic " + good)},
		{name: "no token", header: one("Bearer ")},
		{name: "two tokens in one header", header: one("Bearer " + good + " " + good)},
		{name: "a list", header: one("Bearer " + good + ", Bearer " + good)},
		{name: "two headers", header: http.Header{"Authorization": {"Bearer " + good, "Bearer " + good}}},
		{name: "a good and a bad header", header: http.Header{"Authorization": {"Bearer " + good, "Bearer x"}}},
		{name: "in the query", query: "?access_token=" + good + "&token=" + good},
		{name: "in another header", header: http.Header{"X-Authorization": {"Bearer " + good}, "Proxy-Authorization": {"Bearer " + good}}},
		{name: "in a cookie", header: http.Header{"Cookie": {"token=" + good}}},
		{name: "tab for a space", header: one("Bearer\t" + good)},
		{name: "without the prefix", header: one("Bearer " + strings.TrimPrefix(good, "plugberth_"))},
		{name: "too short", header: one("Bearer " + good[:len(good)-1])},
		{name: "too long", header: one("Bearer " + good + "A")},
		{name: "another letter case", header: one("Bearer " + strings.ToUpper(good))},
		{name: "one bit off", header: one("Bearer " + near)},
		{name: "unknown", header: one("Bearer plugberth_" + strings.Repeat("A", 43))},
		{name: "huge", header: one("Bearer " + strings.Repeat("A", 100_000))},
		{name: "revoked", header: one("Bearer " + revoked.Token.Reveal())},
		{name: "expired", header: one("Bearer " + expired.Token.Reveal())},
		{name: "the placeholder of the SDK", header: one("Bearer checked")},
	}
	var first *reply
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, method := range []string{"POST", "GET", "DELETE", "PUT", "OPTIONS"} {
				for _, version := range append(eras, "") {
					got := raw{url: h.url + tt.query, version: version, header: tt.header}.do(t, method, toolCall(version, 1, "ask_user", args{"question": "?"}))
					got.header.Del("Date")
					if first == nil {
						first = &got
						if got.status != 401 || !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer") {
							t.Fatalf("%+v", got)
						}
					}
					if fmt.Sprint(got) != fmt.Sprint(*first) {
						t.Errorf("%s %s: %+v, want %+v", method, version, got, *first)
					}
				}
			}
		})
	}
	if len(r.questions) > 0 {
		t.Error("a question came through")
	}
	// And the good one is good, with any case of the scheme.
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER  "} {
		got := raw{url: h.url, header: one(scheme + good)}.do(t, "POST", initialize)
		if got.status != 200 {
			t.Errorf("%q: %+v", scheme, got)
		}
	}
}

// TestTokenShowsItself: only when it is asked to. [T1] [T7]
func TestTokenShowsItself(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	m := h.mint(t, mcpserver.Grant{})
	other := h.mint(t, mcpserver.Grant{})
	secret := m.Token.Reveal()
	if len(secret) != len("plugberth_")+43 || secret == other.Token.Reveal() || m.ID == other.ID {
		t.Fatal("tokens do not look as they should")
	}
	type box struct{ hidden mcpserver.Token }
	var out bytes.Buffer
	for _, v := range []any{m, &m, m.Token, &m.Token, box{m.Token}, &box{m.Token}, []box{{m.Token}}, map[string]any{"x": m}} {
		fmt.Fprintf(&out, "%v %+v %#v %s %q %x %d\n", v, v, v, v, v, v, v)
		if err := json.NewEncoder(&out).Encode(v); err != nil {
			t.Fatal(err)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
	}
	if strings.Contains(out.String(), secret[10:]) || strings.Contains(out.String(), fmt.Sprintf("%x", secret[10:])) {
		t.Errorf("the token shows: %s", out.String())
	}
	if !strings.Contains(out.String(), "plugberth_***") {
		t.Error("nothing was shown at all")
	}
	if (mcpserver.Token{}).Reveal() != "" {
		t.Error("the zero token is one")
	}
}

// TestLookup: by the token, by the id, and in the list, until the grant ends.
// The token itself is in none of them. [T1] [T5]
func TestLookup(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	a := h.mint(t, mcpserver.Grant{Identity: mcpserver.Identity{Task: "a"}, Labels: map[string]string{"x": "y"}})
	b := h.mint(t, mcpserver.Grant{Identity: mcpserver.Identity{Task: "b"}})
	info, ok := h.LookupToken(a.Token.Reveal())
	if !ok || info.ID != a.ID || info.Identity.Task != "a" || info.Labels["x"] != "y" || !info.ExpiresAt.Equal(a.ExpiresAt) || !info.LastActivity.IsZero() {
		t.Errorf("%+v %v", info, ok)
	}
	if info, ok := h.Grant(b.ID); !ok || info.Identity.Task != "b" {
		t.Errorf("%+v %v", info, ok)
	}
	cs := h.connect(t, a.Token.Reveal(), stateful, nil)
	all := h.Grants()
	if len(all) != 2 || all[0].ID != a.ID || all[1].ID != b.ID {
		t.Fatalf("%+v", all)
	}
	if all[0].LastActivity.IsZero() || all[0].Sessions != 1 || !all[1].LastActivity.IsZero() {
		t.Errorf("%+v", all)
	}
	cs.Close()
	for _, token := range []string{"", "x", a.ID, "plugberth_***", a.Token.String()} {
		if _, ok := h.LookupToken(token); ok {
			t.Errorf("%q is a token", token)
		}
	}
	if !h.Revoke(a.ID) || h.Revoke(a.ID) || h.Revoke("x") {
		t.Error("revoke does not report what it did")
	}
	if _, ok := h.LookupToken(a.Token.Reveal()); ok {
		t.Error("a revoked token is found")
	}
	if _, ok := h.Grant(a.ID); ok || len(h.Grants()) != 1 {
		t.Error("a revoked grant is found")
	}
}

// TestMintRefuses what cannot be meant.
func TestMintRefuses(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	task := mcpserver.Identity{Task: "t"}
	tool := echo(t, "echo")
	for name, g := range map[string]mcpserver.Grant{
		"no task":           {},
		"negative TTL":      {Identity: task, TTL: -1},
		"unknown omission":  {Identity: task, Omit: []string{"ask"}},
		"two of one name":   {Identity: task, Tools: []*mcpserver.Tool{tool, tool}},
		"no tool":           {Identity: task, Tools: []*mcpserver.Tool{nil}},
		"not made by us":    {Identity: task, Tools: []*mcpserver.Tool{{}}},
		"endless but equal": {Identity: mcpserver.Identity{Session: "s"}},
	} {
		if _, err := h.Mint(g); err == nil {
			t.Errorf("%s is minted", name)
		}
	}
	for name, o := range map[string]mcpserver.Options{
		"a negative limit":     {Limits: mcpserver.Limits{Calls: -1}},
		"a negative time":      {Limits: mcpserver.Limits{Call: -1}},
		"an origin with path":  {Origins: []string{"https://a.example/x"}},
		"a host with a scheme": {Hosts: []string{"https://a.example"}},
		"a port too large":     {Hosts: []string{"a.example:99999"}},
	} {
		if _, err := mcpserver.New(o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
