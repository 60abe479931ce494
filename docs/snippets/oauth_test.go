package snippets_test

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/plugberth/plugberth/mcpclient"
)

// place is what a login or a key is for: a server of an installation, where it is.
type place struct {
	ID  mcpclient.ServerID
	URL string
}

// A login is what a user's login at one place leaves. As JSON it can be stored.
type login struct {
	Config oauth2.Config
	Token  *oauth2.Token
}

// logins keeps one handler for each place: Credentials is asked for each
// connection, and a new handler knows no token.
type logins struct {
	opts     mcpclient.Options // the host's own, for Egress, TLS and Limits
	redirect string            // where the browser comes back
	browser  auth.AuthorizationCodeFetcher
	load     func(place) (login, bool)
	save     func(place, login)

	mu       sync.Mutex
	handlers map[place]auth.OAuthHandler
}

func (l *logins) credentials(_ context.Context, req mcpclient.CredentialsRequest) (mcpclient.Credentials, error) {
	at := place{req.ID, req.URL}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handlers[at] == nil {
		h, err := l.handler(at)
		if err != nil {
			return mcpclient.Credentials{}, err
		}
		l.handlers[at] = h
	}
	return mcpclient.Credentials{OAuth: l.handlers[at]}, nil
}

func (l *logins) handler(at place) (auth.OAuthHandler, error) {
	client := mcpclient.OAuthClient(l.opts, at.URL)
	config := &auth.AuthorizationCodeHandlerConfig{
		Client:                   client,
		RedirectURL:              l.redirect,
		RequestRefreshToken:      true,
		AuthorizationCodeFetcher: l.browser,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "Our host", RedirectURIs: []string{l.redirect}},
		},
		NewTokenSource: func(ctx context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			return l.tokens(ctx, at, login{*c, t}), nil // after a login
		},
	}
	if last, ok := l.load(at); ok { // the login of an earlier run
		ctx := context.WithValue(context.Background(), oauth2.HTTPClient, client)
		config.InitialTokenSource = l.tokens(ctx, at, last)
	}
	return auth.NewAuthorizationCodeHandler(config)
}

func (l *logins) tokens(ctx context.Context, at place, last login) oauth2.TokenSource {
	l.save(at, last)
	return &savingTokens{inner: last.Config.TokenSource(ctx, last.Token), last: last, save: func(next login) { l.save(at, next) }}
}

// savingTokens saves each token that a refresh brings: the old refresh token may
// be good for nothing by then.
type savingTokens struct {
	inner oauth2.TokenSource
	save  func(login)

	mu   sync.Mutex
	last login
}

func (s *savingTokens) Token() (*oauth2.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, err := s.inner.Token()
	if err == nil && token.AccessToken != s.last.Token.AccessToken {
		s.last.Token = token
		s.save(s.last)
	}
	return token, err
}

// keys holds API keys by origin: what was entered for one place goes to no other.
type keys struct {
	mu     sync.Mutex
	values map[mcpclient.ServerID]map[string]http.Header // by server and origin
}

func (k *keys) credentials(_ context.Context, req mcpclient.CredentialsRequest) (mcpclient.Credentials, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return mcpclient.Credentials{Headers: k.values[req.ID][req.Origin]}, nil
}

func (k *keys) put(id mcpclient.ServerID, origin string, header http.Header) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.values[id] == nil {
		k.values[id] = map[string]http.Header{}
	}
	k.values[id][origin] = header
}

func askForKeys(ctx context.Context, host *mcpclient.Host, keys *keys, ask func(server mcpclient.ServerState, schemes []string) http.Header) error {
	for _, server := range host.Servers() {
		var want *mcpclient.UnauthorizedError
		if !errors.As(errors.Join(server.Err, server.CallErr), &want) {
			continue
		}
		// The user sees server.Origin, and says which header the key goes into.
		if header := ask(server, want.Schemes); header != nil {
			keys.put(server.ID, server.Origin, header)
			if err := host.Refresh(ctx, server.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
