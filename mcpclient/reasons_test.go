package mcpclient

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestReasons: an error says what kept a remote server from being used, and whose
// affair that is.
func TestReasons(t *testing.T) { // [R3] [Q1]
	noLeaks(t)
	encrypted := httptest.NewUnstartedServer(http.HandlerFunc(noContent))
	encrypted.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes
	encrypted.StartTLS()
	defer encrypted.Close()
	plain := httptest.NewServer(http.HandlerFunc(noContent))
	defer plain.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	defer proxy.Close()
	proxied, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	header := func(name, value string) func(*Options) {
		return func(o *Options) {
			o.Credentials = func(context.Context, CredentialsRequest) (Credentials, error) {
				return Credentials{Headers: http.Header{name: {value}}}, nil
			}
		}
	}
	for name, tt := range map[string]struct {
		url    string
		change func(*Options)
		says   string
	}{
		"an unknown certificate": {encrypted.URL, nil, "mcpclient: no TLS connection to " + encrypted.URL + " came about: "},
		"no TLS at all":          {strings.Replace(plain.URL, "http", "https", 1), nil, "mcpclient: no TLS connection to https://"},
		"a proxy wants a login": {"https://server.example", func(o *Options) {
			o.Proxy = http.ProxyURL(proxied)
			o.Egress = &Egress{Public: true, Loopback: true}
		}, "mcpclient: the proxy that the host chose wants authorization (407), so https://server.example was not reached"},
		"a line end":    {plain.URL, header("X-Key", "s3cret\n"), `mcpclient: the credentials' header "X-Key" has a value with a line end or another control character`},
		"no field name": {plain.URL, header("X Key:", "s3cret"), `mcpclient: the credentials have a header "X Key:", which is no name of one`},
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{Egress: DesktopEgress()}
			if tt.change != nil {
				tt.change(&opts)
			}
			s, err := Connect(t.Context(), loadServers(t, map[string]any{"s": remoteEntry(tt.url)}), one, "s", opts)
			if err == nil {
				s.Close()
				t.Fatal("it connected")
			}
			if !strings.HasPrefix(err.Error(), tt.says) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got  %v\nwant %s", err, tt.says)
			}
		})
	}
}

func noContent(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

// TestSchemes: an error names the schemes that a server names, and nothing else
// that it sent with them.
func TestSchemes(t *testing.T) { // [R8] [Q1]
	for _, tt := range []struct {
		values []string
		want   []string
	}{
		{nil, nil},
		{[]string{`Bearer realm="x"`}, []string{"bearer"}},
		{[]string{`Basic realm="x"`, `bearer scope="a"`, "Bearer"}, []string{"basic", "bearer"}},
	} {
		u := unauthorized(&http.Response{StatusCode: 401, Header: http.Header{"Www-Authenticate": tt.values}})
		if !slices.Equal(u.Schemes, tt.want) {
			t.Errorf("%q: %q, want %q", tt.values, u.Schemes, tt.want)
		}
	}
	many := unauthorized(&http.Response{StatusCode: 401, Header: http.Header{"Www-Authenticate": {strings.Repeat("x", 100), "a", "b", "c", "d", "e", "f", "g", "h", "i"}}})
	if len(many.Schemes) > maxSchemes || slices.ContainsFunc(many.Schemes, func(s string) bool { return len(s) > 64 }) {
		t.Errorf("%q", many.Schemes)
	}
}

// TestWords: what is stored or sent as JSON is words.
func TestWords(t *testing.T) { // [R15]
	text, err := json.Marshal(map[string]any{"status": StatusDisabled, "outcome": OutcomeToolError})
	if want := `{"outcome":"tool error","status":"disabled"}`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}
