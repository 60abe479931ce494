package mcpserver

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/plugberth/plugberth/internal/printable"
)

// The header names of Streamable HTTP in canonical form.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

// firstStateless is the first protocol version without sessions.
const firstStateless = "2026-07-28"

// ServeHTTP serves an agent; see docs/mcpserver.md for the way of a request.
// The server that calls it needs a ReadHeaderTimeout and must not have a
// WriteTimeout: streams stay open as long as a grant lives, and each write has
// its own deadline.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.ready()
	control := http.NewResponseController(w)
	if req.Body != nil && req.Body != http.NoBody {
		// Also for a request that is refused: net/http waits for its body before
		// the answer leaves, and has no limit of its own.
		control.SetReadDeadline(time.Now().Add(r.opts.Limits.BodyTime)) // best effort
	}
	if !r.hostAllowed(req) {
		r.refusals.note(r.log, req, forHost, http.StatusForbidden)
		http.Error(w, "Forbidden: the Host header names no host of this server", http.StatusForbidden)
		return
	}
	if !r.originAllowed(w, req) {
		r.refusals.note(r.log, req, forOrigin, http.StatusForbidden)
		http.Error(w, "Forbidden: cross-origin request", http.StatusForbidden)
		return
	}
	if req.Method == http.MethodOptions && req.Header.Get("Access-Control-Request-Method") != "" && w.Header().Get("Access-Control-Allow-Origin") != "" {
		preflight(w, req)
		return
	}
	token, ok := bearer(req.Header)
	var g *grant
	if ok {
		g = r.find(token)
	}
	if g == nil {
		r.refusals.note(r.log, req, forToken, http.StatusUnauthorized)
		unauthorized(w)
		return
	}
	g.serve(w, req, control)
}

// unauthorized is the one answer to all that is wrong with a token.
func unauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="mcp"`)
	http.Error(w, "Unauthorized", http.StatusUnauthorized)
}

func (g *grant) serve(w http.ResponseWriter, req *http.Request, control *http.ResponseController) {
	g.used.Store(time.Now().UnixNano())
	limits := &g.reg.opts.Limits

	e, err := g.use()
	if err != nil {
		http.Error(w, "Internal Server Error", http.StatusInternalServerError)
		return
	}
	if e == nil {
		g.reg.refusals.note(g.reg.log, req, forToken, http.StatusUnauthorized)
		unauthorized(w)
		return
	}
	if !e.requests.Allow() {
		e.refuseRequest(req, forRate, http.StatusTooManyRequests)
		tooMany(w, "Too Many Requests: slow down")
		return
	}
	ex := newExchange(e, w, req, control)
	switch e.enter(ex) {
	case refusedEnded:
		e.refuseRequest(req, forToken, http.StatusUnauthorized)
		unauthorized(w)
		return
	case refusedRequests:
		e.refuseRequest(req, forRequests, http.StatusTooManyRequests)
		tooMany(w, "Too Many Requests: too many are open")
		return
	case refusedSessions:
		e.refuseRequest(req, forSessions, http.StatusTooManyRequests)
		tooMany(w, "Too Many Requests: too many sessions are open and busy")
		return
	}
	defer e.leave(ex)
	defer ex.finish()

	// The SDK sees a copy of the request without the token.
	inner := req.WithContext(ex)
	header := make(http.Header, len(req.Header))
	for k, v := range req.Header {
		header[k] = v
	}
	header["Authorization"] = placeholder
	inner.Header = header
	if req.Body != nil && req.Body != http.NoBody {
		ex.body = body{
			reader: http.MaxBytesReader(w, req.Body, int64(limits.Body)), control: control,
			tooLarge: func() { e.refuseRequest(req, forBody, http.StatusRequestEntityTooLarge) },
		}
		inner.Body = &ex.body
	}
	handler := e.stateful
	if ex.stateless {
		handler = e.stateless
	}
	if req.Method == http.MethodDelete {
		e.endSession(ex.session)
	}
	handler.ServeHTTP(ex, inner)
}

// The SDK takes a token's info only from its own middleware, which wants to see
// a token. It sees this one.
var (
	placeholder = []string{"Bearer checked"}
	withInfo    = auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
)

// stripped takes the placeholder away before the SDK's handler.
type stripped struct{ http.Handler }

func (s stripped) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	delete(req.Header, "Authorization")
	s.Handler.ServeHTTP(w, req)
}

// refuseRequest notes a request that had a token.
func (e *endpoint) refuseRequest(req *http.Request, reason string, status int) {
	e.reg.refusals.note(e.log, req, reason, status)
}

func tooMany(w http.ResponseWriter, text string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, text, http.StatusTooManyRequests)
}

// hostAllowed protects against DNS rebinding.
func (r *Registry) hostAllowed(req *http.Request) bool {
	local, _ := req.Context().Value(http.LocalAddrContextKey).(net.Addr)
	onLoopback := false
	if tcp, ok := local.(*net.TCPAddr); ok {
		onLoopback = tcp.IP.IsLoopback()
	}
	if onLoopback && loopbackHost(req.Host) {
		return true
	}
	if len(r.hosts) == 0 {
		return !onLoopback
	}
	name, port, ok := splitHost(req.Host)
	switch {
	case !ok:
		return false
	case r.hosts[name] || r.hosts[net.JoinHostPort(name, port)]:
		return true
	case port != "":
		return false
	}
	// A client leaves out the port that the scheme means. Without TLS the scheme
	// may be that of a proxy.
	return r.hosts[net.JoinHostPort(name, "443")] || req.TLS == nil && r.hosts[net.JoinHostPort(name, "80")]
}

// splitHost returns the name of "name", "name:port", "[address]" or
// "[address]:port" in lower case and without brackets, and the port, which may
// be empty.
func splitHost(host string) (name, port string, ok bool) {
	if rest, v6 := strings.CutPrefix(host, "["); v6 {
		name, rest, ok = strings.Cut(rest, "]")
		addr, err := netip.ParseAddr(name)
		if !ok || err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", "", false
		}
		name = addr.String()
		if rest != "" {
			if port, ok = strings.CutPrefix(rest, ":"); !ok {
				return "", "", false
			}
		}
	} else {
		name, port, _ = strings.Cut(strings.ToLower(host), ":")
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return r <= ' ' || r == 0x7f || strings.ContainsRune("/\\@?#[]%", r)
		}) {
			return "", "", false
		}
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return "", "", false
		}
		port = strconv.FormatUint(n, 10)
	}
	return name, port, true
}

func loopbackHost(host string) bool {
	name, _, ok := splitHost(host)
	if !ok {
		return false
	}
	if name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}

// canonicalHost is how a host is listed: the name alone stands for any port.
func canonicalHost(host string) (string, error) {
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("mcpserver: Options.Hosts: %s %s", printable.Quote(host), why)
	}
	name, port, ok := splitHost(host)
	switch {
	case strings.Contains(host, "*"):
		return bad("has a wildcard: list each name")
	case !ok:
		return bad("is not a name or name:port")
	case strings.HasSuffix(host, ":"):
		return bad("ends with a colon and names no port")
	case strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f }):
		return bad("is not in the form in which clients send it, which begins with xn--")
	case port == "":
		return name, nil
	}
	return net.JoinHostPort(name, port), nil
}

// originAllowed refuses what a browser sends for another site, also for methods
// that net/http holds to be safe: a GET opens a stream here.
func (r *Registry) originAllowed(w http.ResponseWriter, req *http.Request) bool {
	origin := req.Header.Get("Origin")
	if origin == "" && req.Header.Get("Sec-Fetch-Site") == "" {
		return true
	}
	if r.origins[origin] {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", sessionHeader+", WWW-Authenticate, Retry-After")
		h.Add("Vary", "Origin")
		return true
	}
	probe := *req
	probe.Method = http.MethodPost
	return r.cross.Check(&probe) == nil
}

// preflight answers what a browser asks before a request from an allowed
// origin.
func preflight(w http.ResponseWriter, req *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	if names := req.Header.Get("Access-Control-Request-Headers"); names != "" {
		h.Set("Access-Control-Allow-Headers", names)
	}
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
