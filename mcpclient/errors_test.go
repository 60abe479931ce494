package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/plugberth/plugberth/plugin"
)

// TestErrorTexts: an error says once whose it is, then what happened, and
// nothing of the way that it took.
func TestErrorTexts(t *testing.T) { // [R3] [R4] [Q1]
	soonUp := func(o *Options) { o.ConnectTimeout, o.AskTimeout = 500*time.Millisecond, 500*time.Millisecond }
	for name, tt := range map[string]struct {
		mode  string
		tweak func(*Options)
		is    error
		text  string
	}{
		"it exits": {"exit", nil, ErrServer,
			`mcpclient: the server ended: exit status 3; its stderr ended: starting | \x1b[31mcannot find module \u202e'x'\x1b[0m with [hidden]`},
		"a limit": {"long line", func(o *Options) { o.Limits.Line = 1000 }, ErrLimit,
			"mcpclient: the server sent too much: a line of more than 1000 bytes"},
		"it says on stderr what it waits for": {"never answers", soonUp, ErrServer,
			"mcpclient: the server failed: it did not connect in time; the server has not sent a message yet; its stderr ended: waiting for a database"},
		"its output is no protocol": {"quiet noise", soonUp, ErrServer,
			`mcpclient: the server failed: it did not connect in time; the server has not sent a message yet; the first line of its output that is no message: "Usage: server [\x1b[1moptions\x1b[0m] [hidden]"`},
		"refused": {"normal", func(o *Options) {
			o.Consent = func(context.Context, ConsentRequest) error { return errors.New("not today") }
		}, ErrNotAllowed, "mcpclient: the host's policy does not allow it: the host did not consent to start it: not today"},
		"credentials": {"normal", func(o *Options) {
			o.Credentials = func(context.Context, CredentialsRequest) (Credentials, error) { return Credentials{}, errBroken }
		}, errBroken, "mcpclient: no credentials: broken"},
		"credentials that never come": {"normal", func(o *Options) {
			soonUp(o)
			o.Credentials = func(ctx context.Context, _ CredentialsRequest) (Credentials, error) {
				<-t.Context().Done()
				return Credentials{}, nil
			}
		}, context.DeadlineExceeded, "mcpclient: no credentials: the host's function did not answer in time: context deadline exceeded"},
		"a credential that no environment holds": {"normal", func(o *Options) {
			o.Credentials = func(context.Context, CredentialsRequest) (Credentials, error) {
				return Credentials{Env: map[string]string{"KEY": "s3cret\x00"}}, nil
			}
		}, ErrServer, `mcpclient: the server failed: its environment cannot be made: there is a NUL character in the value of "KEY", which stands in the credentials`},
		"the data root": {"normal", func(o *Options) {
			o.DataRoot = filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(o.DataRoot, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, plugin.ErrDataDir, "mcpclient: the server failed: unusable data directory: not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := testOptions(t)
			opts.GracePeriod = 100 * time.Millisecond
			opts.Credentials = func(context.Context, CredentialsRequest) (Credentials, error) {
				return Credentials{Env: map[string]string{"API_TOKEN": "s3cret-token"}}, nil
			}
			if tt.tweak != nil {
				tt.tweak(opts)
			}
			s, err := Connect(t.Context(), testPlugin(t, tt.mode), testID.Instance, "s", *opts)
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, tt.is) || err.Error() != tt.text {
				t.Errorf("got  %v\nwant %s", err, tt.text)
			}
		})
	}
	if _, err := Connect(t.Context(), testPlugin(t, "normal"), plugin.Instance{}, "s", *testOptions(t)); !errors.Is(err, plugin.ErrInstance) || errors.Is(err, ErrServer) {
		t.Errorf("an instance without an ID: %v", err)
	}
	if _, err := Connect(t.Context(), testPlugin(t, "normal"), testID.Instance, "x\x1b", Options{}); !errors.Is(err, ErrNoServer) || err.Error() != `mcpclient: no such server: "x\x1b"` {
		t.Errorf("no server: %v", err)
	}
}

// TestRemoteErrorTexts: what the handshake that all servers know failed with is
// shown, and not how the newest one was not understood.
func TestRemoteErrorTexts(t *testing.T) { // [R3] [R8]
	silent := func(then http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var msg struct{ Method string }
			_ = json.NewDecoder(r.Body).Decode(&msg)
			if msg.Method == "server/discover" {
				<-r.Context().Done()
				return
			}
			then(w, r)
		}
	}
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		text    string
	}{
		"it wants authorization": {silent(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }),
			"mcpclient: the server wants authorization (401)"},
		"a website": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html>"))
		}, `mcpclient: the server failed: unsupported content type "text/html"`},
		"nothing at all": {silent(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
			"mcpclient: the server failed: it did not connect in time"},
	} {
		t.Run(name, func(t *testing.T) {
			ts := httptest.NewServer(tt.handler)
			defer ts.Close()
			p := loadServers(t, map[string]any{"s": map[string]any{"type": "streamable-http", "url": localhost(ts) + "/?key=s3cret"}})
			s, err := Connect(t.Context(), p, one, "s", Options{Egress: DesktopEgress(), ConnectTimeout: 2 * time.Second})
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, ErrServer) || err.Error() != tt.text {
				t.Errorf("got  %v\nwant %s", err, tt.text)
			}
		})
	}
}

// TestAnsweredErrorIsMasked: what the host gave a server does not come back in
// its errors.
func TestAnsweredErrorIsMasked(t *testing.T) { // [R4] [R8]
	for name, give := range map[string]func(*Options){
		"a credential": func(o *Options) {
			o.Credentials = func(context.Context, CredentialsRequest) (Credentials, error) {
				return Credentials{Env: map[string]string{"API_TOKEN": "s3cret-token"}}, nil
			}
		},
		"a variable that the host added": func(o *Options) {
			o.Environ = append(slices.Clip(o.Environ), "API_TOKEN=s3cret-token")
		},
	} {
		t.Run(name, func(t *testing.T) {
			opts := testOptions(t)
			give(opts)
			s, err := Connect(t.Context(), testPlugin(t, "normal"), testID.Instance, "s", *opts)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			_, err = s.CallTool(t.Context(), "refuse", nil, CallOptions{})
			var wire *jsonrpc.Error
			if !errors.As(err, &wire) || wire.Code != -32000 || wire.Message != "the key [hidden] is not valid" || string(wire.Data) != `{"key":"[hidden]"}` {
				t.Errorf("got %+v", wire)
			}
			if want := "mcpclient: the server failed: it answered with error -32000: the key [hidden] is not valid"; err.Error() != want {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestArguments: what is no JSON object is the caller's mistake, is not sent,
// and is not quoted.
func TestArguments(t *testing.T) { // [R5] [Q1]
	var m memory
	m.set("s", echo("t"))
	h := newMemoryHost(t, &m, HostOptions{})
	if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{`[1]`, `{"s3cret"`, `"s3cret"`, `null`, `{} {}`, ` `} {
		_, err := h.Call(t.Context(), "mcp__p__s__t", json.RawMessage(arguments), CallOptions{})
		if !errors.Is(err, ErrArguments) || !errors.Is(err, ErrNotSent) || errors.Is(err, ErrServer) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", arguments, err)
		}
	}
	for _, arguments := range []string{``, `{}`, " {\"a\": 1}\n"} {
		if _, err := h.Call(t.Context(), "mcp__p__s__t", json.RawMessage(arguments), CallOptions{}); err != nil {
			t.Errorf("%q: %v", arguments, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Call(ctx, "mcp__p__s__t", nil, CallOptions{}); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrNotSent) {
		t.Errorf("a call whose context had ended: %v", err)
	}
	if _, err := h.Session(t.Context(), ServerID{Server: "x"}); !errors.Is(err, ErrNoServer) {
		t.Errorf("no server: %v", err)
	}
}
