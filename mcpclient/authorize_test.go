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
				Credentials: func(context.Context, CredentialsRequest) (Credentials, error) {
					return Credentials{OAuth: tt.handler}, nil
				}})
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

// denied is what an authorization server answers to a refresh token that is no
// longer good, with or without saying so in the form of RFC 6749.
func denied(status int, code string) error {
	return &oauth2.RetrieveError{Response: &http.Response{StatusCode: status}, ErrorCode: code, Body: []byte("s3cret")}
}

// TestSpentToken: a refresh token that is no longer good leads to a new login, and
// one that cannot be had to an error that a host knows for that. One that cannot
// be renewed just now leads to neither.
func TestSpentToken(t *testing.T) { // [R8]
	expired := oauth2.ReuseTokenSource(nil, (&oauth2.Config{}).TokenSource(context.Background(), &oauth2.Token{AccessToken: "old", Expiry: time.Now().Add(-time.Hour)}))
	_, noRefresh := expired.Token()
	no := errors.New("log in first")
	for name, tt := range map[string]struct {
		failure error
		login   error
		asked   int
		says    string
	}{
		"invalid_grant":         {denied(400, "invalid_grant"), nil, 1, ""},
		"without a code":        {denied(400, ""), nil, 1, ""},
		"the client is unknown": {denied(401, "invalid_client"), nil, 1, ""},
		"no refresh token":      {noRefresh, nil, 1, ""},
		"nobody logs in":        {denied(400, "invalid_grant"), no, 1, "mcpclient: the server wants authorization (401), for the scope \"a\", and the host's OAuth handler failed: log in first"},
		"not available":         {denied(503, ""), nil, 0, "mcpclient: the server failed: the authorization server gave no token"},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			srv := streamable(t, nil, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Authorization") != "Bearer new" {
						w.Header().Set("WWW-Authenticate", `Bearer scope="a"`)
						w.WriteHeader(http.StatusUnauthorized)
						return
					}
					h.ServeHTTP(w, r)
				})
			})
			asked := 0
			source := func() (oauth2.TokenSource, error) { return failing{tt.failure}, nil }
			handler := &oauthFunc{}
			handler.source = func() (oauth2.TokenSource, error) { return source() }
			handler.authorize = func() error {
				asked++
				if tt.login == nil {
					source = func() (oauth2.TokenSource, error) {
						return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "new"}), nil
					}
				}
				return tt.login
			}
			p := loadServers(t, map[string]any{"s": remoteEntry(srv.URL)})
			s, err := Connect(t.Context(), p, one, "s", Options{Egress: DesktopEgress(),
				Credentials: func(context.Context, CredentialsRequest) (Credentials, error) {
					return Credentials{OAuth: handler}, nil
				}})
			if err == nil {
				s.Close()
			}
			if asked != tt.asked || (err == nil) != (tt.says == "") {
				t.Fatalf("asked %d times: %v", asked, err)
			}
			if err == nil {
				return
			}
			var want *UnauthorizedError
			if got := errors.As(err, &want); got != (tt.login != nil) || err.Error() != tt.says {
				t.Errorf("%t: %v", got, err)
			}
			if tt.login != nil && (!errors.Is(err, no) || want.Scope != "a") {
				t.Errorf("%v, %+v", err, want)
			}
		})
	}
}

type failing struct{ err error }

func (f failing) Token() (*oauth2.Token, error) { return nil, f.err }
