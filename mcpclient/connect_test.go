package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/plugin"
)

// TestConnectOne: a host that wants one server gets the SDK's own session,
// which outlives the context that it was connected with.
func TestConnectOne(t *testing.T) { // [R12] [R3]
	srv := newEcho("t")
	srv.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "a prompt"}, nil
	})
	srv.AddResource(&mcp.Resource{Name: "r", URI: "test:r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test:r", Text: "a resource"}}}, nil
	})
	get := func(*http.Request) *mcp.Server { return srv }
	for kind, handler := range map[string]http.Handler{
		"streamable-http": mcp.NewStreamableHTTPHandler(get, nil),
		"sse":             mcp.NewSSEHandler(get, nil),
	} {
		t.Run(kind, func(t *testing.T) {
			ts := httptest.NewServer(handler)
			defer ts.Close()
			p := loadServers(t, map[string]any{"s": map[string]any{"type": kind, "url": localhost(ts)}})
			ctx, cancel := context.WithCancel(t.Context())
			s, err := Connect(ctx, p, one, "s", Options{Egress: DesktopEgress()})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			cancel()
			ctx = t.Context()
			if s.ID() != (ServerID{one, "p", "s"}) || s.Info().Name != "echo" || s.Info().ProtocolVersion == "" {
				t.Errorf("%v %+v", s.ID(), s.Info())
			}
			if res, err := s.MCP().GetPrompt(ctx, &mcp.GetPromptParams{Name: "p"}); err != nil || res.Description != "a prompt" {
				t.Errorf("prompt: %v", err)
			}
			if res, err := s.MCP().ReadResource(ctx, &mcp.ReadResourceParams{URI: "test:r"}); err != nil || res.Contents[0].Text != "a resource" {
				t.Errorf("resource: %v", err)
			}
			tools, dropped, err := s.Tools(ctx)
			if err != nil || len(tools) != 1 || len(dropped) != 0 || tools[0].Local != "t" || tools[0].Name != "" {
				t.Errorf("tools: %v %v %v", tools, dropped, err)
			}
			res, err := s.CallTool(ctx, "t", json.RawMessage(`{"a":1}`), CallOptions{})
			if got := textOf(t, res, err); got != `t {"a":1}` {
				t.Errorf("got %q", got)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := s.CallTool(ctx, "t", nil, CallOptions{}); !errors.Is(err, ErrClosed) || !errors.Is(err, ErrNotSent) {
				t.Errorf("after it closed: %v", err)
			}
			if _, _, err := s.Tools(ctx); !errors.Is(err, ErrClosed) {
				t.Errorf("after it closed: %v", err)
			}
		})
	}
}

func TestConnectRefuses(t *testing.T) { // [R12] [R2] [R7]
	p := memoryPlugin(t, "p", "s")
	remote := loadServers(t, map[string]any{"s": map[string]any{"type": "sse", "url": "https://example.com/"}})
	allow := func(context.Context, ConsentRequest) error { return nil }
	for name, tt := range map[string]struct {
		p      *plugin.Plugin
		server string
		opts   Options
		want   error
	}{
		"no such server":        {p, "other", Options{}, ErrNoServer},
		"no consent":            {p, "s", Options{DataRoot: t.TempDir()}, ErrNotAllowed},
		"no data root":          {p, "s", Options{Consent: allow}, ErrNotAllowed},
		"a plugin in memory":    {p, "s", Options{Consent: allow, DataRoot: t.TempDir()}, plugin.ErrNoDirectory},
		"no egress policy":      {remote, "s", Options{}, ErrNotAllowed},
		"an empty policy":       {remote, "s", Options{Egress: &Egress{}}, ErrNotAllowed},
		"credentials that fail": {remote, "s", Options{Egress: DesktopEgress(), Credentials: func(context.Context, CredentialsRequest) (Credentials, error) { return Credentials{}, errBroken }}, errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Connect(t.Context(), tt.p, one, tt.server, tt.opts)
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if s != nil {
				s.Close()
			}
		})
	}
	_, err := Connect(t.Context(), remote, one, "s", Options{Egress: DesktopEgress(), Credentials: func(context.Context, CredentialsRequest) (Credentials, error) { panic("secret") }})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a panic in the host's function: %v", err)
	}
}

// TestVersions: a server is connected to whichever versions of the protocol it
// knows, also one that says nothing to what it does not know.
func TestVersions(t *testing.T) { // [R1] [R3]
	srv := newEcho("t")
	get := func(*http.Request) *mcp.Server { return srv }
	stateful := mcp.NewStreamableHTTPHandler(get, nil)
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})
	method := func(r *http.Request) string {
		text, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(text))
		var msg struct {
			Method string `json:"method"`
		}
		_ = json.Unmarshal(text, &msg)
		return msg.Method
	}
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		version string
	}{
		"older":  {stateful.ServeHTTP, "2025-11-25"},
		"newest": {stateless.ServeHTTP, "2026-07-28"},
		"refuses what it does not know": {func(w http.ResponseWriter, r *http.Request) {
			if method(r) == "server/discover" {
				http.Error(w, "what?", http.StatusBadRequest)
				return
			}
			stateful.ServeHTTP(w, r)
		}, "2025-11-25"},
		"is silent to what it does not know": {func(w http.ResponseWriter, r *http.Request) {
			if method(r) == "server/discover" {
				<-r.Context().Done()
				return
			}
			stateful.ServeHTTP(w, r)
		}, "2025-11-25"},
	} {
		t.Run(name, func(t *testing.T) {
			ts := httptest.NewServer(tt.handler)
			defer ts.Close()
			p := loadServers(t, map[string]any{"s": map[string]any{"type": "streamable-http", "url": localhost(ts)}})
			s, err := Connect(t.Context(), p, one, "s", Options{Egress: DesktopEgress(), ConnectTimeout: 4 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got := s.Info().ProtocolVersion; got != tt.version {
				t.Errorf("version %s, want %s", got, tt.version)
			}
			res, err := s.CallTool(t.Context(), "t", nil, CallOptions{})
			textOf(t, res, err)
		})
	}
}

// TestCanceledHandshake: of a handshake that its caller gave up nothing is left,
// wherever the SDK waits.
func TestCanceledHandshake(t *testing.T) { // [R3] [R4]
	noLeaks(t)
	asked := make(chan struct{})
	ts := bare(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		close(asked)
		<-r.Context().Done()
	})
	p := loadServers(t, map[string]any{"s": map[string]any{"type": "streamable-http", "url": localhost(ts)}})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		s, err := Connect(ctx, p, one, "s", Options{Egress: DesktopEgress(), ConnectTimeout: 10 * time.Second})
		if err == nil {
			s.Close()
		}
		failed <- err
	}()
	select {
	case <-asked:
	case err := <-failed:
		t.Fatal(err)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestPolicyEndsConnecting: what the host's policy refuses, a limit or a wish for
// authorization is not tried again in another version.
func TestPolicyEndsConnecting(t *testing.T) { // [R3] [R7]
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://other.example/", http.StatusTemporaryRedirect)
		}, ErrNotAllowed},
		"limit":         {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "99999999") }, ErrLimit},
		"authorization": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, ErrServer},
	} {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int32
			ts := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				tries.Add(1)
				tt.answer(w, r)
			}))
			p := loadServers(t, map[string]any{"s": map[string]any{"type": "streamable-http", "url": localhost(ts)}})
			s, err := Connect(t.Context(), p, one, "s", Options{Egress: DesktopEgress()})
			if err == nil {
				s.Close()
			}
			// The SDK asks for the newest version and then for an older one.
			if n := tries.Load(); !errors.Is(err, tt.want) || n > 2 {
				t.Errorf("%v after %d requests", err, n)
			}
		})
	}
}

// TestConnectUnsupported: what the host loaded as unsupported or disabled is
// not opened by Connect either.
func TestConnectUnsupported(t *testing.T) { // [C9] [R12]
	allow := Options{Consent: func(context.Context, ConsentRequest) error { return nil }, DataRoot: t.TempDir()}
	for _, tt := range []struct {
		load plugin.Options
		want error
	}{
		{plugin.Options{Unsupported: []plugin.Transport{plugin.TransportStdio}}, ErrUnsupported},
		{plugin.Options{Disabled: []plugin.Transport{plugin.TransportStdio}}, ErrNotAllowed},
	} {
		p := loadPluginWith(t, tt.load, "p", "s")
		if _, err := Connect(t.Context(), p, one, "s", allow); !errors.Is(err, tt.want) {
			t.Errorf("got %v, want %v", err, tt.want)
		}
	}
}
