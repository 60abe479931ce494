package mcpclient

import (
	"context"
	"errors"
	"net/http"
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

// tokens is the host's source of them. A panic in it is an error.
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
	return token, err
}

func (a *authorizer) Authorize(ctx context.Context, req *http.Request, resp *http.Response) (err error) {
	if refused := a.refused.Load(); refused != nil && !a.connected.Load() {
		_ = resp.Body.Close()
		return *refused
	}
	defer func() {
		if err != nil {
			a.refused.Store(&err)
		}
	}()
	defer a.settle(&err)
	defer asking(ctx)()
	return a.host.Authorize(ctx, req, resp)
}

func (a *authorizer) settle(err *error) {
	if recover() != nil {
		*err = errOAuthPanic
	}
	if *err != nil {
		a.failed.Store(true)
	}
}
