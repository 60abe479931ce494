package mcpclient

import (
	"context"
	"errors"

	"github.com/plugberth/plugberth/plugin"
)

type consents struct{}

func newConsents(Consent) *consents { return &consents{} }
func (*consents) forget()           {}

type UnauthorizedError struct{}

func (*UnauthorizedError) Error() string { return "" }

func openStdio(ctx context.Context, p *plugin.Plugin, id ServerID, opts *Options, c *consents, creds Credentials) (link, error) {
	return nil, errors.New("pending")
}
func openRemote(ctx context.Context, srv *plugin.Server, id ServerID, opts *Options, creds Credentials) (link, error) {
	return nil, errors.New("pending")
}
