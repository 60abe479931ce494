package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/plugberth/plugberth/mcpclient"
)

// A desktop application whose users also have servers in their company's
// network, but only under the company's name.
func ExampleDesktopEgress() {
	egress := mcpclient.DesktopEgress()
	egress.Allow = []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16")}
	egress.Check = func(_ context.Context, host string, addr netip.AddrPort) error {
		if addr.Addr().IsPrivate() && !strings.HasSuffix(host, ".corp.example") {
			return errors.New("only our own names lead into our network")
		}
		return nil
	}
	opts := mcpclient.Options{Egress: egress}
	fmt.Println(opts.Egress.Public, opts.Egress.Loopback)
	// Output: true true
}

// A service refuses all but public addresses, loopback too. The client of an
// OAuth handler gets the same policy.
func ExampleOAuthClient() {
	opts := mcpclient.Options{Egress: mcpclient.ServiceEgress()}
	client := mcpclient.OAuthClient(opts, "https://mcp.example.com/mcp")
	_, err := client.Get("https://169.254.169.254/latest/meta-data")
	fmt.Println(errors.Is(err, mcpclient.ErrNotAllowed))
	// Output: true
}
