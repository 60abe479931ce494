package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

// An authorizer is the host's OAuth handler on the way to one session. A user
// who was asked and said no is not asked a second time because the handshake is
// tried in another version, which the SDK does by itself too. A panic in it is an
// error.
type authorizer struct {
	host      auth.OAuthHandler
	failed    atomic.Bool
	refused   atomic.Pointer[error] // what Authorize failed with
	connected atomic.Bool           // a session has come about: from now on each failure counts for itself
}

var errOAuthPanic = errors.New("mcpclient: the host's OAuth handler panicked")

func (a *authorizer) TokenSource(ctx context.Context) (ts oauth2.TokenSource, err error) {
	defer a.settle(&err)
	if ts, err = a.host.TokenSource(ctx); ts == nil || err != nil {
		return nil, err
	}
	return tokens{ts}, nil
}

// tokens is the host's source of them. A panic in it is an error. Where the
// authorization server does not renew the token, it says so as the SDK knows it:
// then the request goes without one, the server answers 401, and the handler is
// asked to authorize anew.
type tokens struct{ host oauth2.TokenSource }

func (t tokens) Token() (token *oauth2.Token, err error) {
	defer func() {
		if recover() != nil {
			token, err = nil, errOAuthPanic
		}
	}()
	if token, err = t.host.Token(); token == nil && err == nil {
		err = errors.New("mcpclient: the host's OAuth handler gave no token")
	}
	if isSpent(err) {
		err = &oauth2.RetrieveError{ErrorCode: "invalid_grant"}
	}
	return token, err
}

// isSpent reports whether a token source has failed for good: the authorization
// server refused the refresh token (RFC 6749 §5.2: with 400 or 401, and some with
// 403), in whatever form, or there is none.
func isSpent(err error) bool {
	if err == nil {
		return false
	}
	if r := (*oauth2.RetrieveError)(nil); errors.As(err, &r) {
		if r.ErrorCode == "invalid_grant" {
			return true
		}
		if r.Response == nil {
			return false
		}
		switch r.Response.StatusCode {
		case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
			return true
		}
		return false
	}
	return strings.Contains(err.Error(), "token expired and refresh token is not set") // oauth2 has no type for it
}

// An authorizeError is what the host's OAuth handler failed with, and what the
// server wants.
type authorizeError struct {
	server *UnauthorizedError
	host   error
}

func (e *authorizeError) Error() string {
	return e.server.Error() + ", and the host's OAuth handler failed: " + strings.TrimPrefix(plainText(e.host), ownText)
}

func (e *authorizeError) Unwrap() []error { return []error{e.server, e.host} }

func (a *authorizer) Authorize(ctx context.Context, req *http.Request, resp *http.Response) (err error) {
	if refused := a.refused.Load(); refused != nil && !a.connected.Load() {
		_ = resp.Body.Close()
		return *refused
	}
	server := unauthorized(resp)
	defer func() {
		if err != nil {
			err = &authorizeError{server, err}
			a.refused.Store(&err)
		}
	}()
	defer a.settle(&err)
	defer asking(ctx)()
	if err = a.host.Authorize(ctx, req, resp); err == nil {
		turnedAway(ctx, nil) // the SDK sends it again
	}
	return err
}

func (a *authorizer) settle(err *error) {
	if recover() != nil {
		*err = errOAuthPanic
	}
	if *err != nil {
		a.failed.Store(true)
	}
}
