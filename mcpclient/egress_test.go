package mcpclient

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// specialAddresses has addresses of each block that is set aside: IANA's
// registries of special-purpose addresses, multicast, and what lies outside
// global unicast; first and last addresses where a block is small.
var specialAddresses = map[string][]string{
	"this network, RFC 791":             {"0.0.0.0", "0.0.0.1", "0.255.255.255"},
	"private, RFC 1918":                 {"10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255"},
	"shared (CGNAT), RFC 6598":          {"100.64.0.0", "100.100.100.200", "100.127.255.255"},
	"loopback, RFC 1122":                {"127.0.0.1", "127.255.255.255", "::1"},
	"link-local, RFC 3927, RFC 4291":    {"169.254.0.1", "169.254.169.254", "169.254.170.2", "fe80::1", "fe80::1%eth0", "febf:ffff::1"},
	"protocol assignments, RFC 6890":    {"192.0.0.0", "192.0.0.8", "192.0.0.170", "192.0.0.192", "192.0.0.255"},
	"documentation, RFC 5737":           {"192.0.2.1", "198.51.100.1", "203.0.113.255"},
	"AS112, RFC 7534, RFC 7535":         {"192.31.196.1", "192.175.48.1", "2620:4f:8000::1"},
	"AMT, RFC 7450":                     {"192.52.193.1", "2001:3::1"},
	"6to4 relay anycast, RFC 7526":      {"192.88.99.1"},
	"benchmarking, RFC 2544":            {"198.18.0.1", "198.19.255.255", "2001:2::1"},
	"multicast, RFC 1112, RFC 4291":     {"224.0.0.1", "239.255.255.255", "ff02::1", "ffff::1"},
	"reserved, RFC 1112":                {"240.0.0.1", "254.1.1.1"},
	"limited broadcast, RFC 8190":       {"255.255.255.255"},
	"metadata on a public address":      {"168.63.129.16", "::ffff:168.63.129.16", "64:ff9b::a83f:8110"},
	"unspecified, RFC 4291":             {"::"},
	"IPv4-mapped, RFC 4291":             {"::ffff:0.0.0.0", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:192.168.1.1", "::ffff:100.64.0.1"},
	"IPv4-compatible, RFC 4291":         {"::2", "::127.0.0.1", "::8.8.8.8", "::a9fe:a9fe"},
	"NAT64 of special ones, RFC 6052":   {"64:ff9b::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::a00:1", "64:ff9b::c0a8:101", "64:ff9b::e000:1"},
	"local NAT64, RFC 8215":             {"64:ff9b:1::1", "64:ff9b:1::808:808", "64:ff9b:1:fffe::a9fe:a9fe"},
	"beside NAT64":                      {"64:ff9b:0:1::808:808"},
	"discard, RFC 6666":                 {"100::1", "100:0:0:1::1"},
	"Teredo, RFC 4380":                  {"2001::1", "2001:0:53aa:64c::1"},
	"ORCHID, RFC 4843, RFC 7343":        {"2001:10::1", "2001:20::1", "2001:30::1"},
	"documentation, RFC 3849, RFC 9637": {"2001:db8::1", "3fff::1", "3fff:fff::1"},
	"6to4, RFC 3056":                    {"2002::1", "2002:a9fe:a9fe::1", "2002:808:808::1"},
	"ISATAP, RFC 5214":                  {"2a00:1450:4001::5efe:10.0.0.1", "2a00:1450:4001::200:5efe:8.8.8.8"},
	"segment routing, RFC 9602":         {"5f00::1"},
	"unique local, RFC 4193":            {"fc00::1", "fd00:ec2::254", "fd20:ce::254", "fdff::1"},
	"site-local, RFC 3879":              {"fec0::1", "feff::1"},
	"outside global unicast":            {"1000::1", "4000::1", "6000::1", "8000::1", "a000::1", "e000::1", "f000::1"},
	"no address":                        {""},
	"a public address on one interface": {"2a00:1450:4001::1%eth0"},
}

var publicAddresses = []string{
	"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
	"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.0.3.1", "192.167.255.255", "192.169.0.0",
	"198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.15", "::ffff:8.8.8.8",
	"2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "2001:200::1", "2001:4860:4860::8888", "64:ff9b::808:808", "2003::1",
}

func parseAddr(s string) netip.Addr {
	addr, _ := netip.ParseAddr(s)
	return addr
}

// TestEgressTable: every address that is set aside is refused by both presets,
// for a host that does not name loopback, and public ones are not. [R7]
func TestEgressTable(t *testing.T) {
	for preset, e := range map[string]*Egress{"desktop": DesktopEgress(), "service": ServiceEgress()} {
		for block, addrs := range specialAddresses {
			t.Run(preset+"/"+block, func(t *testing.T) {
				for _, a := range addrs {
					if err := e.judge("server.example", parseAddr(a)); !errors.Is(err, ErrNotAllowed) {
						t.Errorf("%s: %v", a, err)
					}
				}
			})
		}
		for _, a := range publicAddresses {
			if err := e.judge("server.example", parseAddr(a)); err != nil {
				t.Errorf("%s: %v", preset, err)
			}
		}
	}
}

// TestEgressPolicies: what each field allows and refuses. [R7]
func TestEgressPolicies(t *testing.T) {
	prefixes := func(list ...string) (out []netip.Prefix) {
		for _, p := range list {
			out = append(out, netip.MustParsePrefix(p))
		}
		return out
	}
	var none *Egress
	for _, tt := range []struct {
		name   string
		egress *Egress
		host   string
		addr   string
		ok     bool
	}{
		{"nil refuses", none, "server.example", "8.8.8.8", false},
		{"zero refuses public", &Egress{}, "server.example", "8.8.8.8", false},
		{"zero refuses loopback", &Egress{}, "localhost", "127.0.0.1", false},
		{"desktop, localhost", DesktopEgress(), "localhost", "127.0.0.1", true},
		{"desktop, localhost v6", DesktopEgress(), "localhost", "::1", true},
		{"desktop, literal", DesktopEgress(), "127.0.0.1", "127.0.0.1", true},
		{"desktop, other literal", DesktopEgress(), "127.9.8.7", "127.9.8.7", true},
		{"desktop, literal v6", DesktopEgress(), "::1", "::1", true},
		{"desktop, a name that leads to loopback", DesktopEgress(), "server.example", "127.0.0.1", false},
		{"desktop, LOCALHOST", DesktopEgress(), "LOCALHOST", "127.0.0.1", false},
		{"desktop, localhost.", DesktopEgress(), "localhost.", "127.0.0.1", false},
		{"desktop, sub.localhost", DesktopEgress(), "sub.localhost", "127.0.0.1", false},
		{"desktop, 127.1", DesktopEgress(), "127.1", "127.0.0.1", false},
		{"desktop, 0x7f000001", DesktopEgress(), "0x7f000001", "127.0.0.1", false},
		{"desktop, 0.0.0.0", DesktopEgress(), "0.0.0.0", "0.0.0.0", false},
		{"desktop, mapped literal", DesktopEgress(), "::ffff:127.0.0.1", "::ffff:127.0.0.1", false},
		{"desktop, NAT64 of loopback", DesktopEgress(), "localhost", "64:ff9b::7f00:1", false},
		{"desktop, localhost that leads into a private network", DesktopEgress(), "localhost", "10.0.0.1", false},
		{"desktop, localhost that leads to the Internet", DesktopEgress(), "localhost", "8.8.8.8", false},
		{"desktop, private", DesktopEgress(), "nas.example", "192.168.1.2", false},
		{"service, localhost", ServiceEgress(), "localhost", "127.0.0.1", false},
		{"service, literal", ServiceEgress(), "127.0.0.1", "127.0.0.1", false},
		{"service, literal v6", ServiceEgress(), "::1", "::1", false},
		{"allowed private", &Egress{Public: true, Allow: prefixes("10.1.0.0/16")}, "corp.example", "10.1.2.3", true},
		{"allowed private, mapped", &Egress{Allow: prefixes("10.1.0.0/16")}, "corp.example", "::ffff:10.1.2.3", true},
		{"allowed private, by a mapped range", &Egress{Allow: prefixes("::ffff:10.1.0.0/112")}, "corp.example", "10.1.2.3", true},
		{"allowed private, through NAT64", &Egress{Allow: prefixes("10.1.0.0/16")}, "corp.example", "64:ff9b::a01:203", true},
		{"beside the allowed", &Egress{Public: true, Allow: prefixes("10.1.0.0/16")}, "corp.example", "10.2.0.1", false},
		{"only the allowed", &Egress{Allow: prefixes("10.1.0.0/16")}, "corp.example", "8.8.8.8", false},
		{"allowed loopback for any name", &Egress{Allow: prefixes("127.0.0.0/8")}, "dev.example", "127.0.0.1", true},
		{"denied public", &Egress{Public: true, Deny: prefixes("8.8.8.0/24")}, "dns.example", "8.8.8.8", false},
		{"denied public, mapped", &Egress{Public: true, Deny: prefixes("8.8.8.0/24")}, "dns.example", "::ffff:8.8.8.8", false},
		{"denied public, through NAT64", &Egress{Public: true, Deny: prefixes("8.8.8.0/24")}, "dns.example", "64:ff9b::808:808", false},
		{"denied over allowed", &Egress{Allow: prefixes("10.0.0.0/8"), Deny: prefixes("10.0.0.1/32")}, "corp.example", "10.0.0.1", false},
		{"denied loopback", &Egress{Loopback: true, Deny: prefixes("127.0.0.0/8")}, "localhost", "127.0.0.1", false},
		{"denied, with a zone", &Egress{Allow: prefixes("::/0"), Deny: prefixes("fe80::/10")}, "x.example", "fe80::1%eth0", false},
		{"allowed, with a zone", &Egress{Allow: prefixes("fe80::/10")}, "x.example", "fe80::1%eth0", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.egress.judge(tt.host, parseAddr(tt.addr))
			if tt.ok && err != nil || !tt.ok && !errors.Is(err, ErrNotAllowed) {
				t.Errorf("%v", err)
			}
		})
	}
}

// listen accepts connections on an address and closes them.
func listen(t *testing.T, address string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// TestEgressDial: names are judged by what they resolve to, at each dial, so
// that an answer that changes does not help. [R7]
func TestEgressDial(t *testing.T) {
	noLeaks(t)
	port := listen(t, "127.0.0.1:0")
	dns := &dnsServer{}
	resolve := func(addrs ...string) {
		dns.mu.Lock()
		defer dns.mu.Unlock()
		dns.answer = func(string) (out []netip.Addr) {
			for _, a := range addrs {
				out = append(out, netip.MustParseAddr(a))
			}
			return out
		}
	}
	dial := func(e *Egress, host string) error {
		t.Helper()
		e.resolver = dns.resolver()
		conn, err := e.dial(t.Context(), "tcp", net.JoinHostPort(host, port))
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	allowed := func() *Egress {
		return &Egress{Public: true, Loopback: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	}

	t.Run("a name of metadata", func(t *testing.T) {
		resolve("169.254.169.254")
		err := dial(DesktopEgress(), "metadata.example")
		if !errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), "169.254.169.254") {
			t.Error(err)
		}
	})
	t.Run("a name of loopback", func(t *testing.T) {
		resolve("127.0.0.1")
		if err := dial(DesktopEgress(), "rebind.example"); !errors.Is(err, ErrNotAllowed) {
			t.Error(err)
		}
	})
	t.Run("rebinding", func(t *testing.T) {
		e := allowed()
		resolve("127.0.0.1")
		if err := dial(e, "rebind.example"); err != nil {
			t.Fatal(err)
		}
		resolve("169.254.169.254")
		if err := dial(e, "rebind.example"); !errors.Is(err, ErrNotAllowed) {
			t.Error(err)
		}
		resolve("127.0.0.1")
		if err := dial(e, "rebind.example"); err != nil {
			t.Error(err)
		}
	})
	t.Run("several answers, one allowed", func(t *testing.T) {
		resolve("169.254.169.254", "10.0.0.1", "127.0.0.1")
		var dialed []netip.AddrPort
		e := allowed()
		e.Check = func(_ context.Context, host string, ap netip.AddrPort) error {
			if host != "rebind.example" {
				t.Errorf("host %q", host)
			}
			dialed = append(dialed, ap)
			return nil
		}
		if err := dial(e, "rebind.example"); err != nil || len(dialed) != 1 || dialed[0].String() != "127.0.0.1:"+port {
			t.Errorf("%v, dialed %v", err, dialed)
		}
	})
	t.Run("localhost that resolves elsewhere", func(t *testing.T) {
		// The name is in the system's own file, so the address is judged directly.
		if err := DesktopEgress().judge("localhost", netip.MustParseAddr("93.184.216.34")); !errors.Is(err, ErrNotAllowed) {
			t.Error(err)
		}
	})
	t.Run("literals", func(t *testing.T) {
		resolve()
		if err := dial(DesktopEgress(), "127.0.0.1"); err != nil {
			t.Error(err)
		}
		for _, host := range []string{"169.254.169.254", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "10.0.0.1", "0.0.0.0", "64:ff9b::a9fe:a9fe"} {
			if err := dial(DesktopEgress(), host); !errors.Is(err, ErrNotAllowed) {
				t.Errorf("%s: %v", host, err)
			}
		}
		if err := dial(ServiceEgress(), "127.0.0.1"); !errors.Is(err, ErrNotAllowed) {
			t.Error(err)
		}
	})
	t.Run("the host's function refuses", func(t *testing.T) {
		secretive := errors.New("not \x1b[31mthere")
		e := &Egress{Loopback: true, Check: func(context.Context, string, netip.AddrPort) error { return secretive }}
		err := dial(e, "127.0.0.1")
		if !errors.Is(err, ErrNotAllowed) || !errors.Is(err, secretive) || strings.Contains(err.Error(), "\x1b") {
			t.Error(err)
		}
	})
	t.Run("nil and zero", func(t *testing.T) {
		var none *Egress
		if _, err := none.dial(t.Context(), "tcp", "127.0.0.1:"+port); !errors.Is(err, ErrNotAllowed) {
			t.Error(err)
		}
		if err := dial(&Egress{}, "127.0.0.1"); !errors.Is(err, ErrNotAllowed) {
			t.Error(err)
		}
	})
}

// FuzzEgress: no address makes a preset panic, none that net/netip itself knows
// to be special passes, and an IPv4 address is judged alike in each form. [R7]
func FuzzEgress(f *testing.F) {
	for _, addrs := range specialAddresses {
		for _, a := range addrs {
			f.Add(parseAddr(a).AsSlice(), "host.example")
		}
	}
	for _, a := range publicAddresses {
		f.Add(parseAddr(a).AsSlice(), "localhost")
	}
	f.Fuzz(func(t *testing.T, raw []byte, host string) {
		addr, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		desktop, service := DesktopEgress().judge(host, addr), ServiceEgress().judge(host, addr)
		u := addr.Unmap()
		outside := u.IsPrivate() || u.IsLinkLocalUnicast() || u.IsMulticast() || u.IsUnspecified() || u.IsInterfaceLocalMulticast() || !u.IsGlobalUnicast()
		if service == nil && (outside || u.IsLoopback()) {
			t.Fatalf("%s passes for services", addr)
		}
		if desktop == nil && outside && !(u.IsLoopback() && namesLoopback(host)) {
			t.Fatalf("%s passes for desktops", addr)
		}
		if u.Is4() {
			b := u.As4()
			mapped := netip.AddrFrom16([16]byte{10: 0xff, 11: 0xff, 12: b[0], 13: b[1], 14: b[2], 15: b[3]})
			if (ServiceEgress().judge(host, mapped) == nil) != (service == nil) {
				t.Fatalf("%s and its mapped form are judged differently", u)
			}
			translated := netip.AddrFrom16([16]byte{1: 0x64, 2: 0xff, 3: 0x9b, 12: b[0], 13: b[1], 14: b[2], 15: b[3]})
			if service != nil && ServiceEgress().judge(host, translated) == nil {
				t.Fatalf("%s passes in its NAT64 form", u)
			}
		}
	})
}
