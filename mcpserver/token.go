package mcpserver

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
)

// tokenPrefix lets people and secret scanners recognize a token.
const tokenPrefix = "plugberth_"

// masked is what a token shows of itself.
const masked = tokenPrefix + "***"

var (
	tokenEncoding = base64.RawURLEncoding
	tokenLength   = len(tokenPrefix) + tokenEncoding.EncodedLen(32)
)

// Token is the bearer token of a grant: 256 random bits. The registry keeps
// only a hash of it, so the Token that [Registry.Mint] returns is the only
// place to read it from. Printed, logged or marshaled, in whatever it is
// contained, it shows "plugberth_***". The zero Token is no token.
type Token struct {
	// A pointer, because fmt prints the fields of a struct that it cannot call
	// methods on, but only the address of what a nested pointer points to.
	secret *string
}

// Reveal returns the token itself, or "" for the zero Token.
func (t Token) Reveal() string {
	if t.secret == nil {
		return ""
	}
	return *t.secret
}

// String returns a mask.
func (t Token) String() string { return masked }

// GoString returns a mask.
func (t Token) GoString() string { return masked }

// Format prints a mask, whatever the verb.
func (t Token) Format(f fmt.State, _ rune) { io.WriteString(f, masked) }

// LogValue returns a mask.
func (t Token) LogValue() slog.Value { return slog.StringValue(masked) }

// MarshalText returns a mask.
func (t Token) MarshalText() ([]byte, error) { return []byte(masked), nil }

// digest is what the registry keeps of a token.
type digest [sha256.Size]byte

// digestOf hashes a token as a client presents it.
func digestOf(token string) digest {
	var text [64]byte // as tokens are; on the stack
	if len(token) > len(text) {
		return sha256.Sum256([]byte(token))
	}
	return sha256.Sum256(text[:copy(text[:], token)])
}

// equal compares in constant time.
func (d *digest) equal(other *digest) bool {
	return subtle.ConstantTimeCompare(d[:], other[:]) == 1
}

// newSecrets returns a new token and a new grant id.
func newSecrets() (token, id string) {
	var random [32 + 10]byte
	rand.Read(random[:]) // never fails
	var text [len(tokenPrefix) + 43]byte
	copy(text[:], tokenPrefix)
	tokenEncoding.Encode(text[len(tokenPrefix):], random[:32])
	return string(text[:]), fmt.Sprintf("%x", random[32:])
}

// bearer returns the token of a request that carries exactly one, as RFC 6750
// section 2.1 has it. A token in the query or the body does not count.
func bearer(h http.Header) (string, bool) {
	values := h["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(values[0], " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	token = strings.Trim(token, " ")
	if len(token) != tokenLength || !strings.HasPrefix(token, tokenPrefix) {
		return "", false
	}
	return token, true
}
