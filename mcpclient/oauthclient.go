package mcpclient

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/plugberth/plugberth/internal/printable"
)

// OAuthClient returns the HTTP client for the requests of an OAuth handler: the
// discovery of an authorization server, registration, tokens. Give it to the
// handler, such as the Client of the SDK's auth.AuthorizationCodeHandlerConfig.
// serverURL is the url of the server that wants authorization.
//
// A server says itself where its authorization server is, so these requests pass
// the same Egress, TLS, Proxy and Limits as its own; of opts nothing else is
// used. They carry nothing that a package configures and no credentials but what
// the handler puts in. Loopback can be reached only where serverURL names
// loopback too. Redirects are followed by GET only, over https, and without
// Authorization where the origin changes. A request ends after ConnectTimeout,
// by default 30 s.
//
// The client keeps no connection open. It is safe for concurrent use.
func OAuthClient(opts Options, serverURL string) *http.Client {
	opts.Limits = opts.Limits.withDefaults()
	if opts.ConnectTimeout <= 0 {
		opts.ConnectTimeout = 30 * time.Second
	}
	a := &authorizationGuard{}
	if u, err := url.Parse(serverURL); err == nil {
		a.loopback = namesLoopback(u.Hostname())
	}
	a.guard = newGuard(origin{}, &opts)
	a.guard.base.DisableKeepAlives = true
	return &http.Client{Transport: a, CheckRedirect: a.checkRedirect, Timeout: opts.ConnectTimeout}
}

// authorizationGuard is the http.RoundTripper of [OAuthClient].
type authorizationGuard struct {
	guard    *guard
	loopback bool // the server that wants authorization is on loopback
}

// RoundTrip implements http.RoundTripper.
func (a *authorizationGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	to, err := a.usable(req.URL)
	if err == nil && a.guard.proxied {
		err = a.guard.egress.judgeUndialed(to.host)
	}
	if err != nil {
		closeBody(req)
		return nil, err
	}
	ctx, release := a.guard.bound(req.Context())
	out := req.Clone(ctx)
	out.Header.Del("Referer")
	if from, err := originOf(first(req).URL); err != nil || from != to {
		out.Header.Del("Authorization")
		out.Header.Del("Cookie")
	}
	x := &exchange{g: a.guard, req: req, out: out, to: to, release: release}
	resp, err := x.send()
	if err == nil {
		if err = x.wrap(resp); err != nil {
			_ = resp.Body.Close()
		}
	}
	if err != nil {
		release()
		return nil, err
	}
	return resp, nil
}

// first returns the request at the beginning of a chain of redirects.
func first(req *http.Request) *http.Request {
	for req.Response != nil && req.Response.Request != nil {
		req = req.Response.Request
	}
	return req
}

// usable returns the origin of a URL that may be asked.
func (a *authorizationGuard) usable(u *url.URL) (origin, error) {
	o, err := originOf(u)
	if err != nil {
		return o, refused("authorization leads to a URL that cannot be used: %v", err)
	}
	switch {
	case namesLoopback(o.host) && !a.loopback:
		return o, refused("authorization of a server that is not on loopback leads to %s", printable.Quote(o.String()))
	case o.scheme == "http" && !namesLoopback(o.host):
		return o, refused("authorization leads to %s: %v", printable.Quote(o.String()), errInsecure)
	}
	return o, nil
}

func (a *authorizationGuard) checkRedirect(req *http.Request, via []*http.Request) error {
	to, err := a.usable(req.URL)
	if err != nil {
		return err
	}
	last := via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return broken("authorization redirects more than %d times", maxRedirects)
	case via[0].Method != http.MethodGet:
		// Its body holds a code or a secret of the client.
		return refused("authorization redirects a %s request to %s", via[0].Method, printable.Quote(to.String()))
	case to.scheme == "http" && strings.EqualFold(last.URL.Scheme, "https"):
		return refused("authorization redirects from https to %s", printable.Quote(to.String()))
	}
	return nil
}
