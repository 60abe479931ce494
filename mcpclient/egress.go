package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/plugberth/plugberth/internal/printable"
)

// Egress decides which addresses remote servers may be connected to. It judges
// at the time of dialing, the address that a name resolved to, so that neither
// a name that leads into a private network nor one that changes its answer,
// nor a redirect, gets around it.
//
// The zero value refuses every address. [DesktopEgress] and [ServiceEgress] are
// the usual policies; each field of theirs can be changed. An Egress must not be
// changed once a server uses it.
//
// A request that goes through a proxy is dialed to the proxy, which resolves
// the server's name itself: then the proxy's address is judged, and of the
// server's only what its URL spells out as an IP address.
type Egress struct {
	// Public allows the addresses of the public Internet. All that are set
	// aside for something else stay refused: private, link-local and shared
	// (CGNAT) networks, the addresses under which clouds serve metadata,
	// loopback, multicast, unspecified, reserved, documentation and benchmarking
	// ones, site-local and unique local ones, and tunnels into IPv4 (6to4,
	// Teredo, ISATAP, local NAT64). An IPv4 address that is mapped into IPv6,
	// also by the well-known prefix of NAT64, is judged as what it is.
	Public bool
	// Loopback allows 127.0.0.0/8 and ::1 where the URL's own host names
	// loopback: it is localhost, or such an address. A host that names it is
	// connected to nothing else.
	Loopback bool
	// Allow are addresses that may be connected to whatever they are, such as
	// a company's own network. A range of IPv4 is meant for mapped ones as well.
	Allow []netip.Prefix
	// Deny are addresses that may not be connected to, also where Allow has
	// them.
	Deny []netip.Prefix
	// Check is asked last, about what the other fields allow, and refuses with
	// an error, whose text is shown. host is that of the URL, or the proxy's,
	// as it is written there. It is called concurrently. nil refuses nothing.
	Check func(ctx context.Context, host string, addr netip.AddrPort) error

	resolver *net.Resolver // nil is the system's
}

// DesktopEgress is the policy for an application that runs on its user's own
// machine: public addresses, and loopback where the server's URL names it.
// Private networks are refused until Allow names them.
func DesktopEgress() *Egress { return &Egress{Public: true, Loopback: true} }

// ServiceEgress is the policy for a service that runs packages of others:
// public addresses only.
func ServiceEgress() *Egress { return &Egress{Public: true} }

// dialTimeout bounds one dial; a request's context can end it sooner.
const dialTimeout = 30 * time.Second

// wireServer is where Azure serves its virtual machines, metadata included. It
// is a public address, so that no registry lists it.
var wireServer = netip.MustParseAddr("168.63.129.16")

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052 §2.1
	public = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())
)

// special reports whether an address is set aside for something else than
// hosts on the public Internet, by IANA's registries of special-purpose
// addresses, multicast and what is not global unicast.
func special(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	switch {
	case !addr.IsValid(), addr == wireServer:
		return true
	case nat64.Contains(addr):
		return special(embedded(addr))
	case isISATAP(addr):
		return true
	}
	return public.SafeAddr(addr) != nil
}

// embedded returns the IPv4 address in the last four bytes of an IPv6 one.
func embedded(addr netip.Addr) netip.Addr {
	b := addr.As16()
	return netip.AddrFrom4([4]byte(b[12:]))
}

// isISATAP reports whether the interface identifier says that packets are
// tunneled to an IPv4 address (RFC 5214 §6.1).
func isISATAP(addr netip.Addr) bool {
	if !addr.Is6() {
		return false
	}
	b := addr.As16()
	return b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// judge says whether an address may be connected to for a URL with that host,
// without Check. Its errors are ErrNotAllowed.
func (e *Egress) judge(host string, addr netip.Addr) error {
	refuse := func(why string) error {
		return refused("egress policy: %s of host %s %s", addr, printable.Quote(host), why)
	}
	if e == nil {
		return refused("egress policy: the host has chosen none")
	}
	zoned := addr.Zone() != ""
	addr = addr.Unmap().WithZone("")
	is := []netip.Addr{addr}
	if nat64.Contains(addr) {
		is = append(is, embedded(addr))
	}
	in := func(list []netip.Prefix) bool {
		return slices.ContainsFunc(list, func(p netip.Prefix) bool {
			if p.Addr().Is4In6() && p.Bits() >= 96 {
				p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
			}
			return slices.ContainsFunc(is, p.Contains)
		})
	}
	loopback := namesLoopback(host)
	switch {
	case !addr.IsValid():
		return refuse("is no address")
	case in(e.Deny):
		return refuse("is denied by the host")
	case in(e.Allow):
		return nil
	case zoned:
		return refuse("belongs to one network interface")
	case addr.IsLoopback() && !loopback:
		return refuse("is loopback, which the URL does not name")
	case addr.IsLoopback() && !e.Loopback:
		return refuse("is loopback")
	case addr.IsLoopback():
		return nil
	case loopback:
		return refuse("is not loopback, which the URL names")
	case special(addr):
		return refuse("is no public address")
	case !e.Public:
		return refuse("is not among those that are allowed")
	}
	return nil
}

// judgeUndialed judges what a URL's host says by itself, for a request that a
// proxy will dial: an IP address, or localhost, which would be the proxy's.
func (e *Egress) judgeUndialed(host string) error {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		if host != "localhost" {
			return nil
		}
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return e.judge(host, addr)
}

// dial connects to a TCP address whose host is that of a URL or of a proxy.
func (e *Egress) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, e.judge(host, netip.Addr{})
	}
	d := net.Dialer{
		Timeout:  dialTimeout,
		Resolver: e.resolver,
		// The system is about to connect to this very address.
		ControlContext: func(ctx context.Context, _, resolved string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return refused("egress policy: host %s leads to no IP address", printable.Quote(host))
			}
			if err := e.judge(host, ap.Addr()); err != nil {
				return err
			}
			if err := e.check(ctx, host, ap); err != nil {
				return &remoteError{kind: ErrNotAllowed, text: fmt.Sprintf("egress policy: %s of host %s is refused: %s",
					ap, printable.Quote(host), printable.Escape(err.Error())), cause: err}
			}
			return nil
		},
	}
	return d.DialContext(ctx, network, address)
}

// check asks the host. One that panics refuses.
func (e *Egress) check(ctx context.Context, host string, addr netip.AddrPort) (err error) {
	if e.Check == nil {
		return nil
	}
	defer func() {
		if recover() != nil {
			err = errPanicked
		}
	}()
	return e.Check(ctx, host, addr)
}

var errPanicked = errors.New("the host's function panicked")
