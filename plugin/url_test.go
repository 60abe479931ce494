package plugin

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/plugberth/plugberth/plugin/finding"
)

// urlCases are URLs and the code each gets, "" where it is accepted.
var urlCases = []struct {
	url  string
	code finding.Code
}{
	// accepted
	{"https://h", ""},
	{"https://h/", ""},
	{"https://example.com/mcp?x=1&y=%20", ""},
	{"HTTPS://EXAMPLE.COM/", ""},
	{"hTTp://localhost/", ""},
	{"https://example.com:443/", ""},
	{"https://example.com:/", ""}, // an empty port is the default
	{"https://example.com:1", ""},
	{"https://example.com:65535?q", ""},
	{"https://example.com:0443/", ""},
	{"https://example.com./", ""},
	{"https://h?q", ""},
	{"https://h/%23", ""}, // an escaped # is no fragment
	{"https://h/a%40b", ""},
	{"https://h/@x", ""}, // not in the authority
	{"https://h/?u=a@b:c", ""},
	{"https://h?a@b", ""},
	{"https://h/a:b//c/../d;e=f,g'(h)*!$&+", ""},
	{"https://h/${PLUGIN_ROOT}/{x}|^`\"<>\\", ""}, // outside RFC 3986, in the path
	{"https://h/?q={x}|^`\"<>\\[]%zz%", ""},       // and in the query
	{"https://h/é/日本?ü", ""},
	{"https://xn--bcher-kva.example/", ""},
	{"https://a_b.example/", ""},
	{"https://1.2.3.4/", ""},
	{"https://127.0.0.1/", ""},
	{"https://[2001:db8::1]:8443/x", ""},
	{"https://[::ffff:127.0.0.1]/", ""},
	{"https://0.0.0.0/", ""},
	{"https://h/" + strings.Repeat("x", 100_000), ""},
	{"http://localhost", ""},
	{"http://localhost:8080/mcp", ""},
	{"http://localhost:/", ""},
	{"http://127.0.0.1/", ""},
	{"http://127.0.0.0/", ""},
	{"http://127.255.255.254:1/", ""},
	{"http://127.255.255.255/", ""},
	{"http://[::1]/", ""},
	{"http://[::1]:65535/", ""},
	{"http://[0:0:0:0:0:0:0:1]/", ""},
	{"http://[::0001]/", ""},

	// not absolute, not http, no host
	{"", finding.ServerURLInvalid},
	{"h", finding.ServerURLInvalid},
	{"example.com/mcp", finding.ServerURLInvalid},
	{"/mcp", finding.ServerURLInvalid},
	{"//h/", finding.ServerURLInvalid},
	{"://h/", finding.ServerURLInvalid},
	{"https:", finding.ServerURLInvalid},
	{"https:/", finding.ServerURLInvalid},
	{"https:h", finding.ServerURLInvalid},
	{"https:/h", finding.ServerURLInvalid},
	{"https:///", finding.ServerURLInvalid},
	{"https:///h", finding.ServerURLInvalid},
	{"https://", finding.ServerURLInvalid},
	{"https://?q", finding.ServerURLInvalid},
	{"https://:443/", finding.ServerURLInvalid},
	{"https://:/", finding.ServerURLInvalid},
	{"ftp://h/", finding.ServerURLInvalid},
	{"file:///etc/passwd", finding.ServerURLInvalid},
	{"ws://localhost/", finding.ServerURLInvalid},
	{"unix:///x", finding.ServerURLInvalid},
	{"httpss://h/", finding.ServerURLInvalid},
	{"https+unix://h/", finding.ServerURLInvalid},
	{"javascript://h/", finding.ServerURLInvalid},
	{"${PLUGIN_ROOT}://h/", finding.ServerURLInvalid},
	{"url:https://h/", finding.ServerURLInvalid},
	{`https:\\h\`, finding.ServerURLInvalid},
	{`https://h\`, finding.ServerURLInvalid},
	{`https://h\x/`, finding.ServerURLInvalid},
	{`https:/\h/`, finding.ServerURLInvalid},

	// blanks and control characters
	{" https://h/", finding.ServerURLInvalid},
	{"https://h/ ", finding.ServerURLInvalid},
	{"https://h/a b", finding.ServerURLInvalid},
	{"https://h/?a b", finding.ServerURLInvalid},
	{"https://h h/", finding.ServerURLInvalid},
	{"https://h/\t", finding.ServerURLInvalid},
	{"https://h/\n", finding.ServerURLInvalid},
	{"https\n://h/", finding.ServerURLInvalid},
	{"https://h/\r\nX: y", finding.ServerURLInvalid},
	{"https://h/\x00", finding.ServerURLInvalid},
	{"https://h/\x7f", finding.ServerURLInvalid},
	{"https://h/\u0085", finding.ServerURLInvalid},
	{"https://h/\u0090", finding.ServerURLInvalid},
	{"https://h/\u00a0", finding.ServerURLInvalid},
	{"https://h/\u2028", finding.ServerURLInvalid},
	{"https://h/\u3000", finding.ServerURLInvalid},

	// user information, also empty
	{"https://u@h/", finding.ServerURLUserinfo},
	{"https://u:p@h/", finding.ServerURLUserinfo},
	{"https://@h/", finding.ServerURLUserinfo},
	{"https://:@h/", finding.ServerURLUserinfo},
	{"https://@", finding.ServerURLUserinfo},
	{"https://h:443@evil.example/", finding.ServerURLUserinfo},
	{"https://a@b@h/", finding.ServerURLUserinfo},
	{"http://localhost@evil.example/", finding.ServerURLUserinfo},
	{"http://[::1]@evil.example/", finding.ServerURLUserinfo},
	{`https://h\@evil.example/`, finding.ServerURLUserinfo},

	// fragments, also empty
	{"https://h/#x", finding.ServerURLFragment},
	{"https://h/#", finding.ServerURLFragment},
	{"https://h#", finding.ServerURLFragment},
	{"https://h#@x", finding.ServerURLFragment},
	{"https://h/?q#", finding.ServerURLFragment},
	{"https://h/?q#f@x", finding.ServerURLFragment},
	{"http://evil.example#.localhost", finding.ServerURLFragment},

	// ports
	{"https://h:0/", finding.ServerURLInvalid},
	{"https://h:00000/", finding.ServerURLInvalid},
	{"https://h:65536/", finding.ServerURLInvalid},
	{"https://h:99999/", finding.ServerURLInvalid},
	{"https://h:184467440737095516160/", finding.ServerURLInvalid},
	{"https://h:+1/", finding.ServerURLInvalid},
	{"https://h:-1/", finding.ServerURLInvalid},
	{"https://h:1_0/", finding.ServerURLInvalid},
	{"https://h:0x50/", finding.ServerURLInvalid},
	{"https://h:80x/", finding.ServerURLInvalid},
	{"https://h:http/", finding.ServerURLInvalid},
	{"https://h:80:90/", finding.ServerURLInvalid},
	{"https://h:٤٤٣/", finding.ServerURLInvalid},
	{"https://[::1]:0/", finding.ServerURLInvalid},
	{"https://[::1]:x/", finding.ServerURLInvalid},

	// hosts
	{"https://bücher.example/", finding.ServerURLInvalid},
	{"https://\uff4c\uff4f\uff43alhost/", finding.ServerURLInvalid},
	{"https://h\u3002example/", finding.ServerURLInvalid},
	{"https://h\u200b/", finding.ServerURLInvalid},
	{"https://%68/", finding.ServerURLInvalid},
	{"https://h%2Fevil/", finding.ServerURLInvalid},
	{"https://h%00/", finding.ServerURLInvalid},
	{"https://a|b/", finding.ServerURLInvalid},
	{"https://<h>/", finding.ServerURLInvalid},
	{"https://${PLUGIN_ROOT}/", finding.ServerURLInvalid},
	{"https://2001:db8::1/", finding.ServerURLInvalid},
	{"https://[/", finding.ServerURLInvalid},
	{"https://[]/", finding.ServerURLInvalid},
	{"https://[::1/", finding.ServerURLInvalid},
	{"https://::1]/", finding.ServerURLInvalid},
	{"https://[::1]x/", finding.ServerURLInvalid},
	{"https://[::1].example/", finding.ServerURLInvalid},
	{"https://x[::1]/", finding.ServerURLInvalid},
	{"https://[127.0.0.1]/", finding.ServerURLInvalid},
	{"https://[localhost]/", finding.ServerURLInvalid},
	{"https://[v1.x]/", finding.ServerURLInvalid},
	{"https://[fe80::1%25eth0]/", finding.ServerURLInvalid},
	{"https://[fe80::1%eth0]/", finding.ServerURLInvalid},
	{"http://[::1%25lo]/", finding.ServerURLInvalid},
	{"http://[::1%lo]/", finding.ServerURLInvalid},
	{"https://[::1]]/", finding.ServerURLInvalid},
	{"https://h/%zz", finding.ServerURLInvalid},
	{"https://h/%", finding.ServerURLInvalid},

	// http beyond loopback
	{"http://example.com/", finding.ServerURLInsecure},
	{"http://LOCALHOST/", finding.ServerURLInsecure},
	{"http://Localhost/", finding.ServerURLInsecure},
	{"http://localhost./", finding.ServerURLInsecure},
	{"http://localhost.localdomain/", finding.ServerURLInsecure},
	{"http://localhost.evil.example/", finding.ServerURLInsecure},
	{"http://x.localhost/", finding.ServerURLInsecure},
	{"http://localhost0/", finding.ServerURLInsecure},
	{"http://127.1/", finding.ServerURLInsecure},
	{"http://127/", finding.ServerURLInsecure},
	{"http://127.0.1/", finding.ServerURLInsecure},
	{"http://127.0.0.1./", finding.ServerURLInsecure},
	{"http://127.0.0.01/", finding.ServerURLInsecure},
	{"http://127.000.000.001/", finding.ServerURLInsecure},
	{"http://0177.0.0.1/", finding.ServerURLInsecure},
	{"http://0x7f000001/", finding.ServerURLInsecure},
	{"http://0x7f.0.0.1/", finding.ServerURLInsecure},
	{"http://2130706433/", finding.ServerURLInsecure},
	{"http://127.0.0.1.example.com/", finding.ServerURLInsecure},
	{"http://127.0.0.1.nip.io/", finding.ServerURLInsecure},
	{"http://127.0.0.256/", finding.ServerURLInsecure},
	{"http://127.0.0.1.1/", finding.ServerURLInsecure},
	{"http://128.0.0.1/", finding.ServerURLInsecure},
	{"http://126.255.255.255/", finding.ServerURLInsecure},
	{"http://0.0.0.0/", finding.ServerURLInsecure},
	{"http://0.0.0.0:43187/", finding.ServerURLInsecure},
	{"http://0/", finding.ServerURLInsecure},
	{"http://10.0.0.1/", finding.ServerURLInsecure},
	{"http://169.254.169.254/", finding.ServerURLInsecure},
	{"http://[::]/", finding.ServerURLInsecure},
	{"http://[::2]/", finding.ServerURLInsecure},
	{"http://[::ffff:127.0.0.1]/", finding.ServerURLInsecure},
	{"http://[::ffff:7f00:1]/", finding.ServerURLInsecure},
	{"http://[::127.0.0.1]/", finding.ServerURLInsecure},
	{"http://[fe80::1]/", finding.ServerURLInsecure},
}

// [C6]
func TestCheckURL(t *testing.T) {
	for _, c := range urlCases {
		f := checkURL(c.url)
		switch {
		case f == nil && c.code != "":
			t.Errorf("%.80q is accepted, want %s", c.url, c.code)
		case f != nil && f.code != c.code:
			t.Errorf("%.80q gives %s (%s), want %q", c.url, f.code, f.message, c.code)
		case f == nil:
			if why := independentURL(c.url); why != "" {
				t.Errorf("%.80q is accepted, but %s", c.url, why)
			}
		}
		if f != nil && len(c.url) > 12 && strings.Contains(f.message, strings.TrimSpace(c.url)) {
			t.Errorf("the message for %q quotes it", c.url)
		}
	}
}

// independentURL judges an accepted URL by net/url alone and says what is
// wrong with it.
func independentURL(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "net/url refuses it: " + err.Error()
	case !u.IsAbs() || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "":
		return "it is not absolute http or https"
	case u.Hostname() == "":
		return "it has no host"
	case u.User != nil:
		return "it has user information"
	case u.Fragment != "" || u.RawFragment != "" || strings.Contains(raw, "#"):
		return "it has a fragment"
	case strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || unicode.IsControl(r) || unicode.IsSpace(r) }):
		return "it has blanks or controls"
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r > 0x7e || strings.ContainsRune("%\\\"<>^`{|}@", r) }):
		return "its host has odd characters"
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "its port is out of range"
		}
	}
	if u.Scheme == "http" && u.Hostname() != "localhost" {
		ip, err := netip.ParseAddr(u.Hostname())
		four, six := netip.MustParsePrefix("127.0.0.0/8"), netip.MustParseAddr("::1")
		if err != nil || ip != six && !four.Contains(ip) {
			return "it is http to another host than loopback"
		}
	}
	return ""
}
