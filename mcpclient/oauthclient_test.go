package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/plugberth/plugberth/plugin"
)

// TestOAuthClientFlow: the SDK's own handler finds the authorization server,
// registers and gets a token through the client, and the server is used with
// it. [R8]
func TestOAuthClientFlow(t *testing.T) {
	noLeaks(t)
	write := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	var base string
	var paths seen
	srv := streamable(t, nil, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/mcp" {
				paths.mu.Lock()
				paths.requests = append(paths.requests, r.Clone(context.Background()))
				paths.mu.Unlock()
			}
			switch r.URL.Path {
			case "/mcp":
				if r.Header.Get("Authorization") != "Bearer generated-token" {
					w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+base+`/metadata"`)
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				h.ServeHTTP(w, r)
			case "/metadata":
				write(w, map[string]any{"resource": base + "/mcp", "authorization_servers": []string{base}})
			case "/.well-known/oauth-authorization-server":
				write(w, map[string]any{"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
					"registration_endpoint": base + "/register", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"}})
			case "/register":
				w.WriteHeader(http.StatusCreated)
				write(w, map[string]any{"client_id": "c", "redirect_uris": []string{"http://localhost/callback"}, "token_endpoint_auth_method": "none"})
			case "/token":
				write(w, map[string]any{"access_token": "generated-token", "token_type": "Bearer", "expires_in": 3600})
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		})
	})
	base = srv.URL
	opts := remoteOptions()
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{RedirectURIs: []string{"http://localhost/callback"}}},
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			u, err := url.Parse(args.URL)
			if err != nil {
				return nil, err
			}
			return &auth.AuthorizationResult{Code: "code", State: u.Query().Get("state")}, nil
		},
		Client: OAuthClient(*opts, base+"/mcp"),
	})
	if err != nil {
		t.Fatal(err)
	}
	l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, base+"/mcp", map[string]string{"X-Package": "package-value-123"}), opts, Credentials{Headers: hostHeaders, OAuth: handler})
	cs := mustConnect(t, l, nil)
	if got, err := callEcho(t, l, cs, "x"); err != nil || got != "x" {
		t.Errorf("%q, %v", got, err)
	}
	asked := paths.all()
	if len(asked) < 4 {
		t.Errorf("%d requests of the handler", len(asked))
	}
	for _, r := range asked {
		noSecrets(t, "a request of the handler", fmt.Sprint(r.Header))
	}
}

// TestOAuthClientPolicy: what authorization leads to is judged as a server is,
// by address, scheme, redirects and sizes. [R7] [R9]
func TestOAuthClientPolicy(t *testing.T) {
	noLeaks(t)
	var there seen
	target := serve(t, &there)
	get := func(c *http.Client, url string) error {
		resp, err := c.Get(url)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
		return err
	}
	dns := &dnsServer{answer: func(name string) []netip.Addr {
		if strings.HasPrefix(name, "private") {
			return []netip.Addr{netip.MustParseAddr("10.0.0.1")}
		}
		return []netip.Addr{netip.MustParseAddr("169.254.169.254")}
	}}
	opts := *remoteOptions()
	opts.Egress.resolver = dns.resolver()
	local, remote := OAuthClient(opts, "http://localhost:1/mcp"), OAuthClient(opts, "https://server.example/mcp")

	if err := get(local, target.URL); err != nil {
		t.Error(err)
	}
	for _, refusedURL := range []string{
		target.URL, strings.Replace(target.URL, "127.0.0.1", "localhost", 1), "https://metadata.example/", "https://private.example/",
		"https://169.254.169.254/", "https://[::ffff:10.0.0.1]/", "http://server.example/", "https://user:pass@server.example/", "ftp://server.example/",
	} {
		if err := get(remote, refusedURL); !errors.Is(err, ErrNotAllowed) {
			t.Errorf("%s: %v", refusedURL, err)
		}
	}
	if err := get(OAuthClient(Options{}, "http://localhost:1/mcp"), target.URL); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("without a policy: %v", err)
	}
	if len(there.all()) != 1 {
		t.Errorf("%d requests arrived", len(there.all()))
	}

	t.Run("redirects", func(t *testing.T) {
		var loops atomic.Int32
		other := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/loop":
				loops.Add(1)
				http.Redirect(w, r, "/loop", http.StatusFound)
			case "/again":
				http.Redirect(w, r, "/end", http.StatusFound)
			default:
				there.ServeHTTP(w, r)
			}
		}))
		from := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}))
		before := len(there.all())
		// Two redirects abroad, on the same host: net/http would keep the header.
		req, _ := http.NewRequestWithContext(t.Context(), "GET", from.URL+"/again?query-secret", nil)
		req.Header.Set("Authorization", "Bearer generated-token")
		resp, err := local.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		hits := there.all()[before:]
		if len(hits) != 1 {
			t.Fatalf("%d requests arrived", len(hits))
		}
		noSecrets(t, "a redirect", fmt.Sprint(hits[0].Header))

		resp, err = local.Post(from.URL+"/token", "application/x-www-form-urlencoded", bytes.NewReader([]byte("code=secret")))
		if !errors.Is(err, ErrNotAllowed) || len(there.all()) != before+1 {
			t.Errorf("a POST is redirected: %v", err)
		}
		if resp != nil {
			_ = resp.Body.Close()
		}
		if err := get(local, other.URL+"/loop"); !errors.Is(err, ErrServer) || loops.Load() > maxRedirects+1 {
			t.Errorf("%v after %d", err, loops.Load())
		}
	})
	t.Run("down to http", func(t *testing.T) {
		down := httptest.NewTLSServer(http.RedirectHandler(target.URL, http.StatusFound))
		t.Cleanup(down.Close)
		opts := *remoteOptions()
		opts.TLS = down.Client().Transport.(*http.Transport).TLSClientConfig
		if err := get(OAuthClient(opts, "http://localhost:1/mcp"), down.URL); !errors.Is(err, ErrNotAllowed) {
			t.Error(err)
		}
	})
	t.Run("limits", func(t *testing.T) {
		opts := *remoteOptions()
		opts.Limits.Body, opts.ConnectTimeout = 1000, 200*time.Millisecond
		c := OAuthClient(opts, "http://localhost:1/mcp")
		for name, h := range map[string]http.HandlerFunc{
			"body":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1001)) },
			"headers": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 200<<10)) },
		} {
			if err := get(c, serve(t, h).URL); !errors.Is(err, ErrLimit) {
				t.Errorf("%s: %v", name, err)
			}
		}
		hangs := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		if err := get(c, hangs.URL); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
