package mcpclient

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/oauth2"

	"github.com/plugberth/plugberth/internal/printable"
)

// UnauthorizedError says that a remote server wants authorization, or more of
// it than it got. It matches [ErrServer]. After a 401 the session is over, and the
// next use connects again with what [Options].Credentials gives by then; after a
// 403 it lives on, and [Host.Refresh] connects again.
type UnauthorizedError struct {
	// Status is 401, or 403 with a WWW-Authenticate header. A 403 without one says
	// nothing of authorization and is an error like any other.
	Status int
	// Schemes are the authentication schemes that the server names, such as bearer
	// or basic, in lower case and in its order; nil where it names none.
	Schemes []string
	// ResourceMetadata is the URL that the server names for the discovery of
	// its authorization server (RFC 9728 §5.1), as it was sent; "" if none.
	ResourceMetadata string
	// Scope is what the server says that a token needs, as it was sent; "" if
	// it says nothing.
	Scope string
}

// Error says what the server wants, with the scope escaped.
func (e *UnauthorizedError) Error() string {
	text := "mcpclient: the server wants authorization (401)"
	if e.Status == http.StatusForbidden {
		text = "mcpclient: the server does not accept the authorization as sufficient (403)"
	}
	if e.Scope != "" {
		text += ", for the scope " + printable.Quote(e.Scope)
	}
	return text
}

// Is reports whether target is [ErrServer].
func (e *UnauthorizedError) Is(target error) bool { return target == ErrServer || isRejected(target) }

// remoteError is what the guard of a remote server refuses or ends a request
// with. Its text is safe to show.
type remoteError struct {
	kind  error // ErrNotAllowed, ErrLimit, ErrServer or ErrClosed
	text  string
	cause error // may be nil
	// fatal means that the SDK should give up the session, and not this request
	// only.
	fatal bool
	// unsent means that the request has certainly not reached the server.
	unsent bool
}

func (e *remoteError) Error() string { return "mcpclient: " + e.text }

func (e *remoteError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

func (e *remoteError) Is(target error) bool { return !e.fatal && isRejected(target) }

// isRejected reports whether target is what the SDK's connection asks a failed
// write for before it gives up the session. It does so for the legacy
// transport, which does not mark its errors itself.
func isRejected(target error) bool {
	const rejected = -32005
	t, ok := target.(*jsonrpc.Error)
	return ok && t.Code == rejected
}

// unsent marks an error of ours as one of a request that was not sent. One that
// was redirected has reached who redirected it.
func unsent(req *http.Request, err error) error {
	if r, ok := err.(*remoteError); ok {
		r.unsent = req.Response == nil
	}
	return err
}

// isUnsent reports whether a request has certainly not reached the server.
func isUnsent(err error) bool {
	r := (*remoteError)(nil)
	return errors.As(err, &r) && r.unsent
}

// ledAstray reports whether a refusal is of where a server, or the name in its
// URL, led this time. Another time it may lead elsewhere, as a name does once a
// network lets it.
func ledAstray(err error) bool {
	r := (*remoteError)(nil)
	return errors.As(err, &r) && r.kind == ErrNotAllowed
}

func refused(format string, args ...any) error {
	return &remoteError{kind: ErrNotAllowed, text: fmt.Sprintf(format, args...)}
}

func exceeded(format string, args ...any) error {
	return &remoteError{kind: ErrLimit, text: fmt.Sprintf(format, args...)}
}

func broken(format string, args ...any) error {
	return &remoteError{kind: ErrServer, text: fmt.Sprintf(format, args...)}
}

// known returns the error of ours in a chain, or nil.
func known(err error) error {
	if a := (*authorizeError)(nil); errors.As(err, &a) {
		return a
	}
	if u := (*UnauthorizedError)(nil); errors.As(err, &u) {
		return u
	}
	if r := (*remoteError)(nil); errors.As(err, &r) {
		return r
	}
	return nil
}

// shownError is an error whose text has been made safe to show, over one whose
// text may quote a URL or what the server sent.
type shownError struct {
	text    string
	err     error
	reason  error // what is known beside err; may be nil
	secrets *secrets
}

func (e *shownError) Error() string { return e.text }

func (e *shownError) Is(target error) bool {
	return errors.Is(e.err, target) || errors.Is(e.reason, target)
}

// As finds what errors.As finds in the error below, with its texts made safe.
func (e *shownError) As(target any) bool {
	if e.reason != nil && errors.As(e.reason, target) {
		return true
	}
	if !errors.As(e.err, target) {
		return false
	}
	switch t := target.(type) {
	case *(*url.Error):
		*t = &url.Error{Op: (*t).Op, URL: cleanURLs((*t).URL), Err: errors.New(e.text)}
	case *(*jsonrpc.Error):
		if isRejected(*t) {
			*t = nil
			return false // the SDK's own mark, and no answer of the server
		}
		wire := **t
		wire.Message = e.secrets.hide(wire.Message)
		wire.Data = []byte(e.secrets.hide(string(wire.Data)))
		*t = &wire
	case *(*oauth2.RetrieveError):
		*t = &oauth2.RetrieveError{ErrorCode: (*t).ErrorCode}
	case *net.Error: // which *url.Error is
		if u, ok := (*t).(*url.Error); ok {
			*t = &url.Error{Op: u.Op, URL: cleanURLs(u.URL), Err: u.Err}
		}
	}
	return true
}

// maxShown is how many bytes of an error's text are shown.
const maxShown = 2 << 10

// urls finds URLs in a text: what may stand in front of a query.
var urls = regexp.MustCompile(`(?i)(https?://)([^\s"'/?#@]*@)?([^\s"'?#]*)([?#][^\s"']*)?`)

// cleanURLs cuts user information, queries and fragments off the URLs in a
// text: they may hold secrets.
func cleanURLs(s string) string { return urls.ReplaceAllString(s, "$1$3") }

// secrets are values that are never shown.
type secrets struct{ values []string }

// minSecret is the length below which a value is too common to be looked for.
const minSecret = 4

// add takes a header's value, and of one that has a scheme in front also the
// part behind it, in the forms that JSON and URLs give them as well.
func (s *secrets) add(value string) {
	parts := []string{value}
	if _, rest, ok := strings.Cut(value, " "); ok {
		parts = append(parts, strings.TrimSpace(rest))
	}
	for _, p := range parts {
		for _, f := range append(forms(p), p) {
			if len(p) >= minSecret && !slices.Contains(s.values, f) {
				s.values = append(s.values, f)
			}
		}
	}
	// A value that contains another goes first, so that no part of it stays.
	slices.SortFunc(s.values, func(a, b string) int { return len(b) - len(a) })
}

// with returns the secrets and some more.
func (s *secrets) with(values ...string) *secrets {
	out := &secrets{slices.Clone(s.values)}
	for _, v := range values {
		out.add(v)
	}
	return out
}

// in reports whether a text has one of them.
func (s *secrets) in(text string) bool {
	return slices.ContainsFunc(s.values, func(v string) bool { return strings.Contains(text, v) })
}

func (s *secrets) hide(text string) string {
	for _, v := range s.values {
		text = strings.ReplaceAll(text, v, "[hidden]")
	}
	return text
}

// show makes an error safe to show, with what is known beside it.
func (s *secrets) show(err, reason error) error {
	text := plainText(err)
	if reason != nil && known(err) == nil {
		text = reason.Error()
	}
	if text = s.hide(cleanURLs(text)); len(text) > maxShown {
		text = text[:maxShown] + "…"
	}
	return &shownError{text: printable.Escape(text), err: err, reason: reason, secrets: s}
}

// plainText is the text of an error without the way that it took through the SDK,
// and without what an authorization server sent.
func plainText(err error) string {
	if k := known(err); k != nil {
		return k.Error()
	}
	if r := (*oauth2.RetrieveError)(nil); errors.As(err, &r) {
		// Its text is the whole response of the authorization server.
		text := "mcpclient: the authorization server gave no token"
		if r.ErrorCode != "" {
			text += ": " + r.ErrorCode
		}
		return text
	}
	return err.Error()
}
