package mcpclient

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// origin is scheme, host and effective port of a URL, in one form for each
// origin, so that two can be compared with ==. The zero value is no origin.
type origin struct {
	scheme string // http or https
	host   string // lower case; an IP address in its canonical form, without brackets
	port   string // never empty
}

// String returns the origin as it is written in a URL: the port is left out
// where it is the default of the scheme.
func (o origin) String() string {
	host := o.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if o.port != defaultPort(o.scheme) {
		host += ":" + o.port
	}
	return o.scheme + "://" + host
}

func defaultPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

// originOf returns the origin of an absolute http or https URL. It fails for
// what a request should not be sent to: user information, a zone, a host that
// is not ASCII. Spellings that only some systems take for the same host, a dot
// at the end or 127.1 for 127.0.0.1, are origins of their own. Errors do not
// quote the URL.
func originOf(u *url.URL) (origin, error) {
	o := origin{scheme: strings.ToLower(u.Scheme)}
	switch {
	case o.scheme != "http" && o.scheme != "https":
		return origin{}, errors.New("its scheme is neither http nor https")
	case u.User != nil:
		return origin{}, errors.New("it has user information")
	case u.Opaque != "":
		return origin{}, errors.New("it has no host")
	}
	host := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return origin{}, errors.New("its host is no plain IPv6 address")
		}
		host = addr.String()
	}
	if host == "" {
		return origin{}, errors.New("it has no host")
	}
	for i := range len(host) {
		if c := host[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"/<>?@[\]^`+"`{|}#%", c) >= 0 {
			return origin{}, errors.New("its host has a character that host names do not have")
		}
	}
	o.host = strings.ToLower(host)
	o.port = u.Port()
	if o.port == "" {
		o.port = defaultPort(o.scheme)
	} else if n, err := strconv.ParseUint(o.port, 10, 16); err != nil || n == 0 {
		return origin{}, errors.New("its port is not 1 to 65535")
	} else {
		o.port = strconv.FormatUint(n, 10)
	}
	return o, nil
}

// originText is the origin of a URL as a text, "" where it has none.
func originText(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	o, err := originOf(u)
	if err != nil {
		return ""
	}
	return o.String()
}

// allowedOrigins asks the host for the origins that a server may lead to. One
// that cannot be used, and a panic, refuse the server: what the host means is
// not known then.
func allowedOrigins(opts *Options, id ServerID) (allowed map[origin]bool, err error) {
	if opts.Origins == nil {
		return nil, nil
	}
	defer func() {
		if recover() != nil {
			allowed, err = nil, fmt.Errorf("%w: Options.Origins: %w", ErrNotAllowed, errPanicked)
		}
	}()
	allowed = map[origin]bool{}
	for i, text := range opts.Origins(id) {
		o, err := parseOrigin(text)
		if err != nil {
			return nil, fmt.Errorf("%w: Options.Origins: number %d is no origin, such as https://mcp.example.com: %w", ErrNotAllowed, i+1, err)
		}
		allowed[o] = true
	}
	return allowed, nil
}

// parseOrigin reads an origin that a person wrote. Its errors do not quote it.
func parseOrigin(text string) (origin, error) {
	u, err := url.Parse(text)
	if err != nil {
		return origin{}, errors.New("it is malformed")
	}
	o, err := originOf(u)
	switch {
	case err != nil:
		return origin{}, err
	case u.Path != "" && u.Path != "/":
		return origin{}, errors.New("it has a path")
	case u.RawQuery != "" || u.ForceQuery:
		return origin{}, errors.New("it has a query")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return origin{}, errors.New("it has a fragment")
	case o.scheme == "http" && !namesLoopback(o.host):
		return origin{}, errInsecure
	case strings.Contains(o.host, "*"):
		return origin{}, errors.New("its host is a pattern, and each origin has to be named")
	}
	return o, nil
}

// namesLoopback reports whether a URL's host says itself that it is this
// machine: exactly localhost, or an IP literal in 127.0.0.0/8 or ::1 (AP
// §7.2.1). Other spellings that some systems take for loopback do not count.
func namesLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && !addr.Is4In6() && addr.Zone() == "" && addr.IsLoopback()
}
