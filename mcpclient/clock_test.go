package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"github.com/plugberth/plugberth/plugin"
)

// TestClock: the time of connecting ends, stands still while the host is asked,
// and then goes on with what was left. [R3]
func TestClock(t *testing.T) {
	const connect, ask = 10 * time.Second, time.Minute
	begin := func(t *testing.T) (ctx context.Context, passed func() time.Duration) {
		began := time.Now()
		ctx, end := withClock(t.Context(), connect, ask)
		t.Cleanup(end)
		return ctx, func() time.Duration {
			<-ctx.Done()
			return time.Since(began)
		}
	}
	for name, f := range map[string]func(t *testing.T){
		"nobody is asked": func(t *testing.T) {
			ctx, passed := begin(t)
			if d := passed(); d != connect || context.Cause(ctx) != errConnectTimeout {
				t.Errorf("%v: %v", d, context.Cause(ctx))
			}
		},
		"two questions": func(t *testing.T) {
			ctx, passed := begin(t)
			for range 2 {
				time.Sleep(4 * time.Second)
				answered := asking(ctx)
				time.Sleep(50 * time.Second)
				answered()
			}
			if d := passed(); d != connect+100*time.Second || context.Cause(ctx) != errConnectTimeout {
				t.Errorf("%v: %v", d, context.Cause(ctx))
			}
		},
		"side by side": func(t *testing.T) {
			ctx, passed := begin(t)
			first := asking(ctx)
			time.Sleep(20 * time.Second)
			second := asking(ctx)
			time.Sleep(20 * time.Second)
			first()
			time.Sleep(15 * time.Second)
			second()
			if d := passed(); d != connect+55*time.Second {
				t.Errorf("%v: %v", d, context.Cause(ctx))
			}
		},
		"no answer": func(t *testing.T) {
			ctx, passed := begin(t)
			defer asking(ctx)()
			if d := passed(); d != ask || context.Cause(ctx) != errAskTimeout {
				t.Errorf("%v: %v", d, context.Cause(ctx))
			}
		},
		"one within another": func(t *testing.T) {
			outer, passed := begin(t)
			inner, end := withClock(outer, 5*time.Second, ask)
			defer end()
			answered := asking(inner)
			time.Sleep(ask - 1)
			answered()
			if inner.Err() != nil || outer.Err() != nil {
				t.Error("a question counted")
			}
			<-inner.Done()
			if context.Cause(inner) != errConnectTimeout || outer.Err() != nil {
				t.Errorf("%v, %v", context.Cause(inner), outer.Err())
			}
			asking(inner)() // which has ended
			if d := passed(); d != connect+ask-1 {
				t.Errorf("the outer one after %v", d)
			}
		},
		"ended": func(t *testing.T) {
			ctx, end := withClock(t.Context(), connect, ask)
			end()
			answered := asking(ctx)
			time.Sleep(2 * ask)
			answered()
			time.Sleep(2 * connect)
			if cause := context.Cause(ctx); cause != context.Canceled {
				t.Error(cause)
			}
			asking(t.Context())() // a context without one
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
}

// TestPersonsTimeDoesNotCount: who is asked for consent or credentials, or has
// to log in, may take longer than a server may, and not for ever. [R2] [R3] [R8]
func TestPersonsTimeDoesNotCount(t *testing.T) {
	const connect, ask = 30 * time.Second, 5 * time.Minute // the defaults
	type settings struct {
		consent, credentials time.Duration // how long the answers take
		why                  error         // nil: it connects
	}
	for name, tt := range map[string]settings{
		"an answer in time":            {40 * time.Second, 50 * time.Second, nil},
		"no answer about consent":      {time.Hour, 0, errAskTimeout},
		"no answer about credentials":  {0, time.Hour, context.DeadlineExceeded},
		"one that a deaf asker awaits": {ask - time.Second, ask - time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			opts := testOptions(t)
			p := testPlugin(t, "normal")
			synctest.Test(t, func(t *testing.T) {
				opts.ConnectTimeout, opts.AskTimeout = 0, 0
				opts.Consent = func(context.Context, ConsentRequest) error { time.Sleep(tt.consent); return nil }
				opts.Credentials = func(context.Context, CredentialsRequest) (Credentials, error) {
					time.Sleep(tt.credentials)
					return Credentials{}, nil
				}
				opts.Launcher = launcherFunc(func(context.Context, Launch) (Process, error) {
					return newMemoryProcess(func(p *memoryProcess) {
						_ = newEcho("t").Run(context.Background(), &mcp.IOTransport{Reader: p.inR, Writer: p.outW})
					}), nil
				})
				s, err := Connect(t.Context(), p, one, "s", *opts)
				if !errors.Is(err, tt.why) || (err != nil) != (tt.why != nil) {
					t.Errorf("got %v", err)
				}
				if err == nil {
					s.Close()
				} else if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNotAllowed) {
					t.Errorf("kind of error: %v", err)
				}
				time.Sleep(2 * time.Hour) // who was asked goes home
			})
		})
	}
}

// slowLogin is an OAuth handler whose user takes a while.
type slowLogin struct {
	takes time.Duration
	token oauth2.TokenSource
}

func (h *slowLogin) TokenSource(context.Context) (oauth2.TokenSource, error) { return h.token, nil }
func (h *slowLogin) Authorize(ctx context.Context, _ *http.Request, resp *http.Response) error {
	_ = resp.Body.Close()
	select {
	case <-time.After(h.takes):
	case <-ctx.Done():
		return ctx.Err()
	}
	h.token = oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "t"})
	return nil
}

// TestLoginDoesNotCount: a login may take longer than connecting, within its
// own bound. [R3] [R8]
func TestLoginDoesNotCount(t *testing.T) {
	mcpHandler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newEcho("t") }, nil)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mcpHandler.ServeHTTP(w, r)
	}))
	t.Cleanup(ts.Close)
	for name, tt := range map[string]struct {
		connect, ask time.Duration
		why          error
	}{
		"longer than connecting": {2 * time.Second, time.Minute, nil},
		"longer than the bound":  {time.Minute, 50 * time.Millisecond, errAskTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := Options{Egress: DesktopEgress(), ConnectTimeout: tt.connect, AskTimeout: tt.ask}
			opts.Credentials = func(context.Context, CredentialsRequest) (Credentials, error) {
				return Credentials{OAuth: &slowLogin{takes: 2500 * time.Millisecond}}, nil
			}
			p := loadServers(t, map[string]any{"s": map[string]any{"type": string(plugin.TransportStreamableHTTP), "url": localhost(ts)}})
			s, err := Connect(t.Context(), p, one, "s", opts)
			if !errors.Is(err, tt.why) || (err != nil) != (tt.why != nil) {
				t.Errorf("got %v", err)
			}
			if err == nil {
				s.Close()
			}
		})
	}
}
