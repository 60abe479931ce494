package mcpclient

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// TestOrigin: one form for each origin, and only for what can be asked. [R6]
func TestOrigin(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"https://example.com", "https://example.com"},
		{"HTTPS://EXAMPLE.com/Path?q=1", "https://example.com"},
		{"https://example.com:443/", "https://example.com"},
		{"https://example.com:/", "https://example.com"},
		{"https://example.com:0443/", "https://example.com"},
		{"https://example.com:8443/", "https://example.com:8443"},
		{"https://example.com:80/", "https://example.com:80"},
		{"http://localhost", "http://localhost"},
		{"http://localhost:80", "http://localhost"},
		{"http://localhost:443", "http://localhost:443"},
		{"http://LOCALHOST:8080", "http://localhost:8080"},
		{"https://[2001:DB8:0:0::1]/", "https://[2001:db8::1]"},
		{"https://[2001:db8::1]:443/", "https://[2001:db8::1]"},
		{"http://[0:0:0:0:0:0:0:1]:9/", "http://[::1]:9"},
		{"https://[::ffff:8.8.8.8]/", "https://[::ffff:8.8.8.8]"},
		// Not the same host everywhere: origins of their own.
		{"https://example.com./", "https://example.com."},
		{"https://127.1/", "https://127.1"},
		{"https://0x7f000001/", "https://0x7f000001"},
		{"https://under_score.example/", "https://under_score.example"},
		{"https://xn--bcher-kva.example/", "https://xn--bcher-kva.example"},

		{"https://bücher.example/", ""},
		{"https://b%C3%BCcher.example/", ""},
		{"https://user@example.com/", ""},
		{"https://user:secret@example.com/", ""},
		{"https://@example.com/", ""},
		{"https://[fe80::1%25eth0]/", ""},
		{"https://[::1]x/", ""},
		{"https:///path", ""},
		{"https://:443/", ""},
		{"https:example.com", ""},
		{"https://example.com:0/", ""},
		{"https://example.com:65536/", ""},
		{"ftp://example.com/", ""},
		{"file:///etc/passwd", ""},
		{"javascript:alert(1)", ""},
		{"/relative", ""},
		{"", ""},
	} {
		u, err := url.Parse(tt.url)
		if err != nil {
			if tt.want != "" {
				t.Errorf("%s: %v", tt.url, err)
			}
			continue
		}
		o, err := originOf(u)
		switch {
		case tt.want == "" && err == nil:
			t.Errorf("%s is %s, and should be none", tt.url, o)
		case tt.want == "" && (o != origin{} || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %v, %v", tt.url, o, err)
		case tt.want != "" && (err != nil || o.String() != tt.want):
			t.Errorf("%s is %s, %v, want %s", tt.url, o, err, tt.want)
		}
	}
}

// FuzzOrigin: no URL panics, an origin is that of its own text, and host and
// scheme are what the URL says, but for letter case and the form of addresses.
// [R6]
func FuzzOrigin(f *testing.F) {
	for _, s := range []string{"https://example.com", "http://[::1]:80/", "https://EXAMPLE.com:0443", "https://a@b/", "https://[fe80::1%25a]/", "https://b%C3%BC/", "//x", "https://127.1:1/?q#f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.Parse(raw)
		if err != nil {
			return
		}
		o, err := originOf(u)
		if err != nil {
			if o != (origin{}) {
				t.Fatalf("%q: an origin beside an error", raw)
			}
			return
		}
		if u.User != nil || !strings.EqualFold(u.Scheme, o.scheme) {
			t.Fatalf("%q is %s", raw, o)
		}
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil && strings.HasPrefix(u.Host, "[") {
			if addr.String() != o.host {
				t.Fatalf("%q is %s", raw, o)
			}
		} else if !strings.EqualFold(u.Hostname(), o.host) {
			t.Fatalf("%q is %s", raw, o)
		}
		again, err := url.Parse(o.String())
		if err != nil {
			t.Fatalf("%q is %s: %v", raw, o, err)
		}
		if o2, err := originOf(again); err != nil || o2 != o {
			t.Fatalf("%q is %s, which is %s, %v", raw, o, o2, err)
		}
	})
}

// origins names origins for every server.
func origins(list ...string) func(ServerID) []string {
	return func(ServerID) []string { return list }
}

// TestAllowedOrigins: what the host writes is compared as origins, and one that
// is none refuses the server with an error that says which and why. [R6]
func TestAllowedOrigins(t *testing.T) {
	own := origin{"https", "mcp.example.com", "443"}
	for _, tt := range []struct {
		named   []string
		reaches bool
		why     string // in the error
	}{
		{nil, false, ""},
		{[]string{"https://other.example"}, false, ""},
		{[]string{"https://other.example", "https://mcp.example.com"}, true, ""},
		{[]string{"HTTPS://MCP.Example.com:443"}, true, ""},
		{[]string{"https://mcp.example.com:443/"}, true, ""},
		{[]string{"https://mcp.example.com:8443"}, false, ""},
		{[]string{"https://other.example", "mcp.example.com"}, false, "number 2 is no origin"},
		{[]string{""}, false, "neither http nor https"},
		{[]string{"https://*.example.com"}, false, "is a pattern"},
		{[]string{"https://mcp.example.com/mcp"}, false, "has a path"},
		{[]string{"https://mcp.example.com?key=query-secret"}, false, "has a query"},
		{[]string{"https://mcp.example.com#"}, false, "has a fragment"},
		{[]string{"https://user:user-secret@mcp.example.com"}, false, "user information"},
		{[]string{"http://mcp.example.com"}, false, "http is for localhost"},
		{[]string{"https://mcp.example.com:0"}, false, "port"},
		{[]string{"https://mcp.example.com:%zz"}, false, "malformed"},
	} {
		allowed, err := allowedOrigins(&Options{Origins: origins(tt.named...)}, ServerID{})
		if allowed[own] != tt.reaches {
			t.Errorf("%q: reaches %v", tt.named, allowed[own])
		}
		switch {
		case tt.why == "":
			if err != nil {
				t.Errorf("%q: %v", tt.named, err)
			}
		case !errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), tt.why) || strings.Contains(err.Error(), "secret"):
			t.Errorf("%q: %v", tt.named, err)
		}
	}
	panics := &Options{Origins: func(ServerID) []string { panic("user-secret") }}
	if _, err := allowedOrigins(panics, ServerID{}); !errors.Is(err, ErrNotAllowed) || strings.Contains(err.Error(), "secret") {
		t.Errorf("a function that panics: %v", err)
	}
}
