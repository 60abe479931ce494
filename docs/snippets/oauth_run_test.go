package snippets_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin"
)

// remotePlugin is a plugin whose server is at a URL.
func remotePlugin(t *testing.T, at string) *plugin.Plugin {
	t.Helper()
	p, err := plugin.LoadFS(t.Context(), fstest.MapFS{
		"plugin.json": {Data: []byte(`{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"demo"}`)},
		"mcp.json": {Data: []byte(`{"$schema":"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
			"mcpServers":{"main":{"type":"streamable-http","url":"` + at + `"}}}`)},
	}, plugin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// protectedServer serves tools to who is allowed, and all else by other.
func protectedServer(t *testing.T, allowed func(*http.Request) bool, challenge func(base string) string, other http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "demo", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "now"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	var ts *httptest.Server
	ts = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/mcp":
			other(w, r)
		case !allowed(r):
			w.Header().Set("WWW-Authenticate", challenge(ts.URL))
			w.WriteHeader(http.StatusUnauthorized)
		default:
			tools.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return ts
}

// TestLogin: a user logs in once, the host starts again, the token is renewed, and
// once it cannot be the user logs in anew.
func TestLogin(t *testing.T) {
	var token, refresh atomic.Pointer[string]
	give := func(access, again string) { token.Store(&access); refresh.Store(&again) }
	give("none", "none")
	var grants []string
	var base string
	ts := protectedServer(t,
		func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+*token.Load() },
		func(base string) string { return `Bearer resource_metadata="` + base + `/metadata"` },
		func(w http.ResponseWriter, r *http.Request) {
			write := func(status int, v any) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_ = json.NewEncoder(w).Encode(v)
			}
			switch r.URL.Path {
			case "/metadata":
				write(200, map[string]any{"resource": base + "/mcp", "authorization_servers": []string{base}})
			case "/.well-known/oauth-authorization-server":
				write(200, map[string]any{"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
					"registration_endpoint": base + "/register", "code_challenge_methods_supported": []string{"S256"},
					"response_types_supported": []string{"code"}, "token_endpoint_auth_methods_supported": []string{"none"}})
			case "/register":
				write(201, map[string]any{"client_id": "c", "redirect_uris": []string{"http://127.0.0.1/back"}, "token_endpoint_auth_method": "none"})
			case "/token":
				kind := r.PostFormValue("grant_type")
				grants = append(grants, kind)
				if kind == "refresh_token" && r.PostFormValue("refresh_token") != *refresh.Load() {
					write(400, map[string]any{"error": "invalid_grant"})
					return
				}
				n := string(rune('0' + len(grants)))
				give("token"+n, "refresh"+n)
				// oauth2 renews 10 s before the end: at once.
				write(200, map[string]any{"access_token": *token.Load(), "refresh_token": *refresh.Load(), "token_type": "Bearer", "expires_in": 1})
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		})
	base = ts.URL

	stored := map[place]login{}
	windows := 0
	use := func() {
		t.Helper()
		options := mcpclient.Options{Egress: mcpclient.DesktopEgress()}
		l := &logins{
			opts:     options,
			redirect: "http://127.0.0.1/back",
			browser: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
				windows++
				u, err := url.Parse(args.URL)
				if err != nil {
					return nil, err
				}
				return &auth.AuthorizationResult{Code: "code", State: u.Query().Get("state")}, nil
			},
			load:     func(at place) (login, bool) { last, ok := stored[at]; return last, ok },
			save:     func(at place, last login) { stored[at] = last },
			handlers: map[place]auth.OAuthHandler{},
		}
		options.Credentials = l.credentials
		host, err := mcpclient.NewHost(mcpclient.HostOptions{Options: options})
		if err != nil {
			t.Fatal(err)
		}
		defer host.Close(context.Background())
		if err := host.Add(plugin.Instance{ID: "one"}, remotePlugin(t, base+"/mcp")); err != nil {
			t.Fatal(err)
		}
		if _, err := host.Session(t.Context(), host.Servers()[0].ID); err != nil {
			t.Fatal(err)
		}
		if _, err := host.Call(t.Context(), "mcp__demo__main__now", nil, mcpclient.CallOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	use()
	if windows != 1 || len(stored) != 1 {
		t.Fatalf("%d windows, %d logins", windows, len(stored))
	}
	use() // the program starts again
	if windows != 1 || grants[len(grants)-1] != "refresh_token" {
		t.Errorf("%d windows, grants %v", windows, grants)
	}
	for _, last := range stored {
		if last.Token.RefreshToken != *refresh.Load() {
			t.Error("the token that a refresh brought was not saved")
		}
	}
	give("revoked", "revoked")
	use()
	if windows != 2 {
		t.Errorf("%d windows after the refresh token was revoked, grants %v", windows, grants)
	}
}

// TestAskForKeys: a server that wants a key is connected to once the user has
// entered one, and the key does not follow it to another place.
func TestAskForKeys(t *testing.T) {
	var leaked atomic.Bool
	serve := func(key string) *httptest.Server {
		return protectedServer(t, func(r *http.Request) bool {
			leaked.Store(leaked.Load() || key == "" && r.Header.Get("X-Key") != "")
			return r.Header.Get("X-Key") == key && key != ""
		}, func(string) string { return "ApiKey" }, http.NotFound)
	}
	first, elsewhere := serve("k"), serve("")
	known := &keys{values: map[mcpclient.ServerID]map[string]http.Header{}}
	host, err := mcpclient.NewHost(mcpclient.HostOptions{Options: mcpclient.Options{Egress: mcpclient.DesktopEgress(), Credentials: known.credentials}})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close(context.Background())
	install := func(at string) mcpclient.ServerState {
		t.Helper()
		if err := host.Add(plugin.Instance{ID: "one"}, remotePlugin(t, at+"/mcp")); err != nil {
			t.Fatal(err)
		}
		if err := host.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		return host.Servers()[0]
	}
	if s := install(first.URL); s.Status != mcpclient.StatusFailed {
		t.Fatal(s.Status)
	}
	var asked []string
	ask := func(s mcpclient.ServerState, schemes []string) http.Header {
		asked = append(asked, s.Origin+" "+strings.Join(schemes, ","))
		return http.Header{"X-Key": {"k"}}
	}
	if err := askForKeys(t.Context(), host, known, ask); err != nil {
		t.Fatal(err)
	}
	if s := host.Servers()[0]; s.Status != mcpclient.StatusConnected || len(asked) != 1 || asked[0] != first.URL+" apikey" {
		t.Errorf("%v: %v; asked %q", s.Status, s.Err, asked)
	}
	if s := install(elsewhere.URL); s.Status != mcpclient.StatusFailed || leaked.Load() {
		t.Errorf("%v; the key went along: %t", s.Status, leaked.Load())
	}
}
