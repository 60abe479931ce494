package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

// An authorizer is the host's OAuth handler, of which it remembers that it
// failed: a user who was asked and said no is not asked a second time because
// the handshake is tried in another version. A panic in it is an error.
type authorizer struct {
	host   auth.OAuthHandler
	failed atomic.Bool
}

var errOAuthPanic = errors.New("mcpclient: the host's OAuth handler panicked")

func (a *authorizer) TokenSource(ctx context.Context) (ts oauth2.TokenSource, err error) {
	defer a.settle(&err)
	return a.host.TokenSource(ctx)
}

func (a *authorizer) Authorize(ctx context.Context, req *http.Request, resp *http.Response) (err error) {
	defer a.settle(&err)
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
