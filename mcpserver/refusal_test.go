package mcpserver_test

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/mcpserver"
)

// TestRefusalsAreLogged: a request that is refused is a warning with the reason,
// one a minute and reason, and each is a record for whoever looks closer. What
// anyone can send stands in it escaped, and no token does. [T6]
func TestRefusalsAreLogged(t *testing.T) {
	for _, tt := range []struct {
		reason string
		status int
		limits mcpserver.Limits
		change func(*http.Request)
	}{
		{"host", 403, fast, func(r *http.Request) { r.Host = "evil.example" }},
		{"origin", 403, fast, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }},
		{"token", 401, fast, func(r *http.Request) { r.Header.Set("Authorization", "Bearer nobody") }},
		{"body", 413, mcpserver.Limits{Body: 1, Rate: fast.Rate, Burst: fast.Burst}, func(*http.Request) {}},
		{"rate", 429, mcpserver.Limits{Rate: 1, Burst: 1}, func(*http.Request) {}},
	} {
		h := serve(t, mcpserver.Options{Limits: tt.limits})
		token := h.mint(t, mcpserver.Grant{}).Token.Reveal()
		refused := 0
		for range 13 {
			req := raw{url: h.url, token: token, version: stateless}.request(t.Context(), "POST", `{}`)
			tt.change(req)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode == tt.status {
				refused++
			}
		}
		loud, quiet := 0, 0
		for line := range strings.Lines(h.logged.String()) {
			var rec map[string]any
			if json.Unmarshal([]byte(line), &rec) != nil || rec["msg"] != "request refused" || rec["reason"] != tt.reason {
				continue
			}
			if rec["level"] == "WARN" {
				loud++
			} else {
				quiet++
			}
			if host := rec["host"]; rec["status"] != float64(tt.status) || tt.reason == "host" && host != "evil.example" {
				t.Errorf("%s: %s", tt.reason, line)
			}
		}
		if refused < 10 || loud != 1 || quiet != refused-1 {
			t.Errorf("%s: %d refused, %d warnings and %d others in %s", tt.reason, refused, loud, quiet, h.logged.String())
		}
	}
}

// TestHostsThatNeverMatch: an entry that no Host header can match is an error that
// shows it.
func TestHostsThatNeverMatch(t *testing.T) {
	for _, bad := range []string{"", "*.example.com", "*", "agents.example.com:", "agents.example.com:x", "https://agents.example.com", "agents.example.com/mcp", "a b", "agénts.example", "[::1", "[::1]:", "a:1:2"} {
		if _, err := mcpserver.New(mcpserver.Options{Hosts: []string{"good.example", bad}}); err == nil || !strings.Contains(err.Error(), `"`+strings.ReplaceAll(bad, "é", `\u00e9`)+`"`) && !strings.Contains(err.Error(), `"`+bad+`"`) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestHostOfScheme: a Host without a port means that of the scheme, where that is
// known.
func TestHostOfScheme(t *testing.T) {
	for _, tt := range []struct {
		listed string
		tls    bool
		want   int
	}{
		{"agents.example:443", true, 401}, {"agents.example:80", true, 403}, {"agents.example:8443", true, 403},
		{"agents.example:443", false, 401}, {"agents.example:80", false, 401}, {"agents.example:8443", false, 403},
	} {
		reg, err := mcpserver.New(mcpserver.Options{Hosts: []string{tt.listed}})
		if err != nil {
			t.Fatal(err)
		}
		req := httptest.NewRequest("POST", "http://agents.example/mcp", nil)
		if tt.tls {
			req.TLS = &tls.ConnectionState{}
		}
		w := httptest.NewRecorder()
		reg.ServeHTTP(w, req)
		if w.Code != tt.want { // 401: the host is right, and there is no token
			t.Errorf("%s, TLS %t: %d", tt.listed, tt.tls, w.Code)
		}
	}
}
