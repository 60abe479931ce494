package plugin

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/strictjson"
	"github.com/plugberth/plugberth/plugin/finding"
)

// judgeRemote judges the members of a streamable-http or sse entry (AP §7.2.1).
func (e *entry) judgeRemote() {
	r := &e.server.remote
	for m := range e.value.Members() {
		switch v := m.Value; m.Name {
		case "url":
			if v.Kind() == strictjson.String {
				r.URL = v.Text()
				if f := checkURL(r.URL); f != nil {
					e.add(f.code, "/url", v.Offset(), f.message)
				}
			}
		case "headers":
			r.Headers = texts(v)
			e.headers(v)
		}
	}
}

// checkURL judges the URL of a remote server: absolute, http or https, with a
// host, without user information and fragment, and http only for loopback
// (AP §7.2.1). Messages do not quote the URL, which may hold a secret.
func checkURL(raw string) *textFault {
	invalid := func(message string) *textFault { return &textFault{finding.ServerURLInvalid, message} }
	if raw == "" {
		return invalid("url is empty: write https://host/path")
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return invalid("url has a blank or control character: remove it")
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	plain := strings.EqualFold(scheme, "http")
	if !ok || !plain && !strings.EqualFold(scheme, "https") {
		return invalid("url is no absolute http or https URL: write https://host/path")
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	if strings.Contains(authority, "@") {
		return &textFault{finding.ServerURLUserinfo, "url has user information: remove what stands before @"}
	}
	if strings.Contains(rest, "#") {
		return &textFault{finding.ServerURLFragment, "url has a fragment: remove # and what follows"}
	}
	host, message := checkAuthority(authority)
	if message != "" {
		return invalid(message)
	}
	if u, err := url.Parse(raw); err != nil || u.Host != authority {
		return invalid("url is malformed: check its percent escapes")
	}
	if plain && !isLoopback(host) {
		return &textFault{finding.ServerURLInsecure,
			"http is allowed for localhost, 127.0.0.0/8 and [::1] only, written just so: use https"}
	}
	return nil
}

// checkAuthority splits host and port. It returns the host, an IP literal
// without brackets, or what is wrong.
func checkAuthority(authority string) (host, message string) {
	host, port, hasPort := authority, "", false
	if strings.HasPrefix(authority, "[") {
		end := strings.IndexByte(authority, ']')
		if end < 0 {
			return "", "url has a [ without ]: correct the host"
		}
		host = authority[1:end]
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", "url has no plain IPv6 address between [ and ]: correct the host"
		}
		switch after := authority[end+1:]; {
		case after == "":
		case after[0] == ':':
			port, hasPort = after[1:], true
		default:
			return "", "url has text between ] and the port: correct the host"
		}
	} else {
		host, port, hasPort = strings.Cut(authority, ":")
		if host == "" {
			return "", "url has no host: write https://host/path"
		}
		for _, r := range host {
			if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~!$&'()*+,;=", r)) {
				return "", "url has a character in its host that host names do not have: use the ASCII form of the name"
			}
		}
	}
	if hasPort && port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || port[0] == '+' {
			return "", "url has a port that is not 1 to 65535: correct it or leave it out"
		}
	}
	return host, ""
}

// isLoopback reports whether http may be used with host: exactly localhost, or
// an IP literal in 127.0.0.0/8 or ::1. Other spellings that some systems take
// for loopback are not.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && !addr.Is4In6() && addr.IsLoopback()
}

func (e *entry) headers(v strictjson.Value) {
	seen := map[string]bool{}
	for m := range v.Members() {
		at := "/headers" + strictjson.Pointer(m.Name)
		fold := strings.ToLower(m.Name)
		switch {
		case !isToken(m.Name):
			e.add(finding.ServerHeaderName, at, m.Offset, "this is no header name: use letters, digits and hyphens")
		case seen[fold]:
			e.add(finding.ServerHeaderDuplicate, at, m.Offset, "%s stands before in other letter case: remove one", printable.Quote(m.Name))
		}
		seen[fold] = true
		if m.Value.Kind() == strictjson.String && !isFieldValue(m.Value.Text()) {
			e.add(finding.ServerHeaderValue, at, m.Value.Offset(),
				"this header value has a control character, or a blank at an end: remove it")
		}
	}
}

// isToken reports whether s is a field name (RFC 9110 §5.1).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// isFieldValue reports whether s is a field value (RFC 9110 §5.5).
func isFieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return strings.Trim(s, " \t") == s
}
