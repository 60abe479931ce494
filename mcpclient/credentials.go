package mcpclient

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/plugin"
)

// Credentials are what a host gives for one server. Printed, logged or encoded
// they show the names of what is in them and no value, and they are never part
// of an error. (Package fmt cannot ask them in an unexported field of another
// value, whose contents it prints as they are.)
type Credentials struct {
	// Headers go with each request to the server's configured origin, over the
	// package's own, and to no other origin. Those that HTTP, MCP or an OAuth
	// handler generate win over them.
	Headers http.Header
	// Env is added to the environment of a stdio server, over the package's
	// own. PLUGIN_ROOT and PLUGIN_DATA are ignored.
	Env map[string]string
	// OAuth obtains and refreshes a token for a streamable-http server. Its own
	// requests should go through the client that [OAuthClient] returns, which
	// the same Egress judges.
	OAuth auth.OAuthHandler
}

// CredentialsRequest is what a host decides on when it gives credentials: which
// server asks for them, over which transport, and where they would go. What was
// stored for a server belongs to the place that it was stored for: an update of
// the plugin can lead the same server elsewhere, or start another program.
type CredentialsRequest struct {
	ID   ServerID         // which server asks
	Type plugin.Transport // over which transport
	// Origin is where a remote server's credentials go: scheme://host, and :port
	// where it is not the scheme's own, in lower case and one form for each
	// origin. Empty for stdio.
	Origin string
	// URL is the url of a remote server as it is configured, for an OAuth handler
	// or where several servers have one origin. Empty for stdio.
	URL string
	// Digest is that of what would get them: the [plugin.LaunchPlan] that Consent
	// has allowed, or [plugin.Server.Digest] of a remote server.
	Digest string
}

// credentialNames is what may be shown of Credentials.
type credentialNames struct {
	Headers []string `json:"headers"`
	Env     []string `json:"env"`
	OAuth   bool     `json:"oauth"`
}

func (c Credentials) names() credentialNames {
	names := credentialNames{Headers: []string{}, Env: []string{}, OAuth: c.OAuth != nil}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		names.Headers = append(names.Headers, printable.Escape(name))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		names.Env = append(names.Env, printable.Escape(name))
	}
	return names
}

// String names what is there, without values.
func (c Credentials) String() string {
	n := c.names()
	return fmt.Sprintf("credentials(headers: %s; env: %s; oauth: %t)",
		strings.Join(n.Headers, ", "), strings.Join(n.Env, ", "), n.OAuth)
}

// Format writes what [Credentials.String] returns, whatever the verb.
func (c Credentials) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// LogValue implements slog.LogValuer, without values.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON writes names and no values: credentials are not stored this way.
func (c Credentials) MarshalJSON() ([]byte, error) { return json.Marshal(c.names()) }
