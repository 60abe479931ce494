package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

type badTokens struct{}

func (badTokens) Token() (*oauth2.Token, error) { panic("s3cret") }

type noTokens struct{}

func (noTokens) Token() (*oauth2.Token, error) { return nil, nil }

// oauthFunc is an OAuth handler that is two functions.
type oauthFunc struct {
	source    func() (oauth2.TokenSource, error)
	authorize func() error
}

func (h oauthFunc) TokenSource(context.Context) (oauth2.TokenSource, error) { return h.source() }
func (h oauthFunc) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	_ = resp.Body.Close()
	return h.authorize()
}

// TestAuthorizer: a handler that says no is asked once, whichever handshakes are
// tried, and one that panics fails the connection and nothing else.
func TestAuthorizer(t *testing.T) { // [R8] [Q1]
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer ts.Close()
	p := loadServers(t, map[string]any{"s": map[string]any{"type": "streamable-http", "url": localhost(ts)}})
	no := errors.New("the user said no")
	none := func() (oauth2.TokenSource, error) { return nil, nil }
	asked := 0
	for name, tt := range map[string]struct {
		handler auth.OAuthHandler
		want    error
		asked   int
	}{
		"it refuses": {oauthFunc{none, func() error { asked++; return no }}, no, 1},
		"it panics":  {oauthFunc{none, func() error { asked++; panic("s3cret") }}, errOAuthPanic, 1},
		"its source panics": {oauthFunc{func() (oauth2.TokenSource, error) { panic("s3cret") }, func() error { asked++; return nil }},
			errOAuthPanic, 0},
		"its tokens panic": {oauthFunc{func() (oauth2.TokenSource, error) { return badTokens{}, nil }, func() error { asked++; return nil }},
			errOAuthPanic, 0},
		"it has no token": {oauthFunc{func() (oauth2.TokenSource, error) { return noTokens{}, nil }, func() error { asked++; return nil }},
			ErrServer, 0},
	} {
		t.Run(name, func(t *testing.T) {
			asked = 0
			s, err := Connect(t.Context(), p, one, "s", Options{Egress: DesktopEgress(), ConnectTimeout: 5 * time.Second,
				Credentials: func(context.Context, CredentialsRequest) (Credentials, error) { return Credentials{OAuth: tt.handler}, nil }})
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, tt.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v", err)
			}
			if asked != tt.asked {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}
