package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/plugin"
)

// A keyed server wants a key that can change, and can forget its sessions.
type keyed struct {
	*httptest.Server
	key     atomic.Pointer[string]
	forget  atomic.Bool  // answer 404 to the next call of a tool
	status  atomic.Int32 // answer this to each call of a tool
	calls   atomic.Int32 // calls of tools that came
	ran     atomic.Int32 // calls of tools that were carried out
	started chan struct{}
}

func newKeyed(t *testing.T, key string) *keyed {
	g := &keyed{started: make(chan struct{}, 8)}
	g.key.Store(&key)
	srv := mcp.NewServer(&mcp.Implementation{Name: "keyed", Version: "1"}, nil)
	t.Cleanup(func() {
		for ss := range srv.Sessions() {
			_ = ss.Close()
		}
	})
	srv.AddTool(&mcp.Tool{Name: "echo", InputSchema: anyObject}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		g.ran.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	srv.AddTool(&mcp.Tool{Name: "wait", InputSchema: anyObject}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		g.started <- struct{}{}
		select {
		case <-ctx.Done():
		case <-t.Context().Done():
		}
		return nil, errors.New("ended")
	})
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil)
	g.Server = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("X-Key") != *g.key.Load() {
			w.Header().Set("WWW-Authenticate", `ApiKey realm="r"`)
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		body, err := readAgain(r)
		if err != nil {
			return
		}
		if strings.Contains(body, `"tools/call"`) {
			g.calls.Add(1)
			if g.forget.CompareAndSwap(true, false) {
				http.NotFound(w, r)
				return
			}
			if s := g.status.Load(); s != 0 {
				w.Header().Set("WWW-Authenticate", `Bearer scope="more"`)
				w.WriteHeader(int(s))
				return
			}
		}
		inner.ServeHTTP(w, r)
	}))
	return g
}

// readAgain reads a request's body and leaves it there to be read again.
func readAgain(r *http.Request) (string, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return string(body), err
}

// keyRing gives the current key, and remembers what it was asked.
type keyRing struct {
	mu    sync.Mutex
	key   string
	asked []CredentialsRequest
}

func (k *keyRing) set(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.key = key
}

func (k *keyRing) give(_ context.Context, req CredentialsRequest) (Credentials, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append(k.asked, req)
	return Credentials{Headers: http.Header{"X-Key": {k.key}}}, nil
}

func (k *keyRing) times() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.asked)
}

// keyedHost is a host with the keyed server of plugin p.
func keyedHost(t *testing.T, g *keyed, keys *keyRing, change func(*HostOptions)) *Host {
	t.Helper()
	opts := HostOptions{Options: Options{Egress: DesktopEgress(), Credentials: keys.give}}
	if change != nil {
		change(&opts)
	}
	h, err := NewHost(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := h.Add(one, loadServers(t, map[string]any{"s": remoteEntry(g.URL)})); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := h.Servers()[0]; s.Status != StatusConnected {
		t.Fatalf("%v: %v", s.Status, s.Err)
	}
	return h
}

func remoteEntry(url string) map[string]any {
	return map[string]any{"type": string(plugin.TransportStreamableHTTP), "url": url}
}

func call(t *testing.T, h *Host, tool string) error {
	t.Helper()
	for _, tl := range h.Tools() {
		if tl.Local == tool {
			_, err := h.Call(t.Context(), tl.Name, nil, CallOptions{})
			return err
		}
	}
	t.Fatalf("no tool %s", tool)
	return nil
}

// TestKeyRotation: a 401 ends the session. The call fails as one that was not
// carried out, and the next one connects with the key that the host has by then.
func TestKeyRotation(t *testing.T) { // [R5] [R8]
	noLeaks(t)
	g, keys := newKeyed(t, "old"), &keyRing{key: "old"}
	h := keyedHost(t, g, keys, nil)
	fresh := "new"
	g.key.Store(&fresh)
	keys.set(fresh)
	var want *UnauthorizedError
	if err := call(t, h, "echo"); !errors.As(err, &want) || want.Status != 401 || !slices.Equal(want.Schemes, []string{"apikey"}) || !errors.Is(err, ErrNotSent) {
		t.Errorf("with the old key: %v", err)
	}
	if err := call(t, h, "echo"); err != nil {
		t.Errorf("with the new key: %v", err)
	}
	if n := keys.times(); n != 2 || g.ran.Load() != 1 {
		t.Errorf("asked for the key %d times, ran %d times", n, g.ran.Load())
	}
}

// TestRefreshAfterRefusal: Refresh connects again to a server that refused the
// last call for lack of authorization, and asks for credentials again.
func TestRefreshAfterRefusal(t *testing.T) { // [R5] [R8] [R15]
	noLeaks(t)
	g, keys := newKeyed(t, "k"), &keyRing{key: "k"}
	h := keyedHost(t, g, keys, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := h.Watch(ctx)
	g.status.Store(http.StatusForbidden)
	var want *UnauthorizedError
	if err := call(t, h, "echo"); !errors.As(err, &want) || want.Status != 403 || errors.Is(err, ErrNotSent) {
		t.Errorf("got %v", err)
	}
	for e := range events {
		if s := e.Server; s != nil && s.CallErr != nil {
			if s.Status != StatusConnected || !errors.As(s.CallErr, &want) {
				t.Errorf("%v, %v", s.Status, s.CallErr)
			}
			break
		}
	}
	g.status.Store(0)
	if err := h.Refresh(t.Context(), h.Servers()[0].ID); err != nil {
		t.Fatal(err)
	}
	if s := h.Servers()[0]; s.Status != StatusConnected || s.CallErr != nil || keys.times() != 2 {
		t.Errorf("%+v, asked %d times", s, keys.times())
	}
	if err := call(t, h, "echo"); err != nil {
		t.Error(err)
	}
	// One that is answered takes a failure back.
	g.status.Store(http.StatusInternalServerError)
	if err := call(t, h, "echo"); err == nil || h.Servers()[0].CallErr == nil {
		t.Errorf("%v, %v", err, h.Servers()[0].CallErr)
	}
	g.status.Store(0)
	if err := call(t, h, "echo"); err != nil || h.Servers()[0].CallErr != nil || keys.times() != 2 {
		t.Errorf("%v, %v, asked %d times", err, h.Servers()[0].CallErr, keys.times())
	}
}

// TestTurnedAway: a call that gets 404 for the session was not carried
// out, and the next one has a new session at once. One that was under way is
// another matter.
func TestTurnedAway(t *testing.T) { // [R5]
	noLeaks(t)
	g, keys := newKeyed(t, "k"), &keyRing{key: "k"}
	h := keyedHost(t, g, keys, func(o *HostOptions) { o.Retry.Min = time.Hour })
	under := make(chan error, 1)
	go func() { under <- call(t, h, "wait") }()
	<-g.started
	g.forget.Store(true)
	if err := call(t, h, "echo"); !errors.Is(err, ErrNotSent) || !errors.Is(err, mcp.ErrSessionMissing) {
		t.Errorf("got %v", err)
	}
	if err := <-under; err == nil || errors.Is(err, ErrNotSent) {
		t.Errorf("the call under way: %v", err)
	}
	if err := call(t, h, "echo"); err != nil {
		t.Error(err)
	}
	// A server that goes on so is left alone for a while.
	g.forget.Store(true)
	if err := call(t, h, "echo"); !errors.Is(err, ErrNotSent) {
		t.Error(err)
	}
	if err := call(t, h, "echo"); !errors.Is(err, mcp.ErrSessionMissing) {
		t.Errorf("got %v", err)
	}
	if n := g.ran.Load(); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// TestRemoveInCall: a server is removed at once with a call in flight.
func TestRemoveInCall(t *testing.T) { // [R4]
	noLeaks(t)
	g, keys := newKeyed(t, "k"), &keyRing{key: "k"}
	h := keyedHost(t, g, keys, func(o *HostOptions) { o.GracePeriod = 10 * time.Second })
	under := make(chan error, 1)
	go func() { under <- call(t, h, "wait") }()
	<-g.started
	began := time.Now()
	if err := h.Remove(one); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if err := <-under; !errors.Is(err, ErrClosed) {
		t.Errorf("the call: %v", err)
	}
}

// TestCredentialsRequest: the host hears where what it gives would go, each time
// that a server is connected to.
func TestCredentialsRequest(t *testing.T) { // [R8]
	noLeaks(t)
	g, keys := newKeyed(t, "k"), &keyRing{key: "k"}
	h := keyedHost(t, g, keys, nil)
	p := loadServers(t, map[string]any{"s": remoteEntry(strings.Replace(g.URL, "http", "HTTP", 1) + "/other?a=b")})
	if err := errors.Join(h.Add(one, p), h.Ready(t.Context())); err != nil {
		t.Fatal(err)
	}
	if len(keys.asked) != 2 {
		t.Fatalf("asked %d times", len(keys.asked))
	}
	for i, url := range []string{g.URL, strings.Replace(g.URL, "http", "HTTP", 1) + "/other?a=b"} {
		srv := loadServers(t, map[string]any{"s": remoteEntry(url)}).Server("s")
		want := CredentialsRequest{
			ID:   h.Servers()[0].ID,
			Type: plugin.TransportStreamableHTTP, Origin: g.URL, URL: url, Digest: srv.Digest(),
		}
		if keys.asked[i] != want {
			t.Errorf("asked\n%+v, want\n%+v", keys.asked[i], want)
		}
	}

	t.Run("stdio", func(t *testing.T) {
		opts := testOptions(t)
		var allowed string
		opts.Consent = func(_ context.Context, req ConsentRequest) error { allowed = req.Digest; return nil }
		var asked []CredentialsRequest
		opts.Credentials = func(_ context.Context, req CredentialsRequest) (Credentials, error) {
			if allowed == "" {
				t.Error("credentials were asked for before consent")
			}
			asked = append(asked, req)
			return Credentials{}, errBroken
		}
		p := testPlugin(t, "normal")
		if _, err := Connect(t.Context(), p, one, testID.Server, *opts); !errors.Is(err, errBroken) {
			t.Error(err)
		}
		want := CredentialsRequest{ID: ServerID{one, p.Name(), testID.Server}, Type: plugin.TransportStdio, Digest: allowed}
		if len(asked) != 1 || asked[0] != want {
			t.Errorf("asked %+v, want %+v", asked, want)
		}
	})
}

// TestTurnedAwayLater: a call whose answers a server turns away has been begun
// there, and is not one that was not carried out.
func TestTurnedAwayLater(t *testing.T) { // [R5] [R14]
	noLeaks(t)
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return asks(once(mcp.InputRequestMap{"e": &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}}}))
	}, &mcp.StreamableHTTPOptions{Stateless: true})
	var calls atomic.Int32
	ts := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := readAgain(r)
		if err != nil {
			return
		}
		if strings.Contains(body, `"method":"tools/call"`) && calls.Add(1) > 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	s, err := Connect(t.Context(), loadServers(t, map[string]any{"s": remoteEntry(ts.URL)}), one, "s", Options{
		Egress: DesktopEgress(),
		Handlers: Handlers{Elicit: func(context.Context, ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.CallTool(t.Context(), "ask", nil, CallOptions{})
	if u := (*UnauthorizedError)(nil); !errors.As(err, &u) || errors.Is(err, ErrNotSent) || calls.Load() != 2 {
		t.Errorf("after %d requests: %v", calls.Load(), err)
	}
}
