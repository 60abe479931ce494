package mcpclient

import (
	"context"
	"errors"

	"github.com/plugberth/plugberth/plugin"
)

type consents struct{}

func newConsents(Consent) *consents { return &consents{} }
func (*consents) forget()           {}

func openStdio(ctx context.Context, p *plugin.Plugin, id ServerID, opts *Options, c *consents, creds Credentials) (link, error) {
	return nil, errors.New("pending")
}
