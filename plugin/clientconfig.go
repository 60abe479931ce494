package plugin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plugberth/plugberth/internal/printable"
)

// Errors of [Plugin.ClientConfig], to be matched with errors.Is.
var (
	// ErrNotAllowed: the host did not allow the program of a stdio server.
	ErrNotAllowed = errors.New("plugin: the host did not allow it")
	// ErrPlaceholder: a value has what agent programs replace, such as ${HOME}.
	ErrPlaceholder = errors.New("plugin: a value has a placeholder that the program would replace")
	// ErrClientName: a server has no usable name in the configuration, or one
	// that another server has.
	ErrClientName = errors.New("plugin: the name cannot be used in a client configuration")
)

// ClientConfigOptions choose what goes into a [ClientConfig]. The zero value
// takes remote servers alone.
type ClientConfigOptions struct {
	// DataDir is PLUGIN_DATA of the installed instance, as [DataDir] names it.
	// It is needed for stdio servers. The host makes it before the program runs.
	DataDir string
	// Allow is asked whether the agent program may start a stdio server, which
	// executes code; nil allows none. A host remembers consent by the plan's
	// [LaunchPlan.Digest].
	Allow func(server *Server, plan *LaunchPlan) bool
	// Name gives the name of a server in the configuration; nil means
	// [ClientName].
	Name func(plugin, server string) string
	// Literal says that the program takes all values as they are. Otherwise a
	// server is left out if a value has what programs are known to replace by
	// variables of their environment or the content of files: $ before a
	// letter, underscore, brace or parenthesis, {env: and {file:, and but for
	// URLs a name of three or more characters between %. The specification has
	// values stay as they are (AP §9.2), and a program that replaces them would
	// hand what they name to the server.
	Literal bool
}

// ClientServer is one server as agent programs read it below "mcpServers". It is
// plain data: a host may change it, to add credentials or to write the type as a
// certain program wants it. Its String and log forms show no values.
type ClientServer struct {
	// Type is "stdio", "http" for streamable-http, or "sse".
	Type    string            `json:"type"`
	Command string            `json:"command,omitempty"` // a bare name or an absolute path
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"` // which some programs ignore
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// String returns the type alone.
func (s ClientServer) String() string { return printable.Escape(s.Type) + " server" }

// GoString returns the same as String.
func (s ClientServer) GoString() string { return s.String() }

// LogValue returns the same as String.
func (s ClientServer) LogValue() slog.Value { return slog.StringValue(s.String()) }

// ClientConfig is the configuration by which an agent program connects to the
// servers of a plugin, made by [Plugin.ClientConfig]. [ClientConfigFile.Write]
// puts it into a file.
type ClientConfig struct {
	Plugin  string                  // name of the plugin
	Servers map[string]ClientServer // by their names in the configuration
	// Skipped are the servers that are left out, in the order of mcp.json, each
	// with ErrNotEnabled, ErrNotAllowed, ErrPlaceholder, ErrClientName or an
	// error of [Plugin.LaunchPlan].
	Skipped []SkippedServer
}

// SkippedServer is a server that is not in a [ClientConfig].
type SkippedServer struct {
	Name string // in mcp.json
	Err  error  // one of those that [ClientConfig] names
}

// MarshalJSON returns an object with one member, mcpServers, sorted by name. It
// holds secrets where the servers do.
func (c *ClientConfig) MarshalJSON() ([]byte, error) {
	servers := c.Servers
	if servers == nil {
		servers = map[string]ClientServer{}
	}
	return json.Marshal(map[string]any{mcpServers: servers})
}

const mcpServers = "mcpServers"

// ClientConfig makes the configuration for the enabled servers: a stdio server
// from its launch plan, a remote one from its URL and headers. It starts and
// writes nothing. No error keeps the other servers from being there.
func (p *Plugin) ClientConfig(opts ClientConfigOptions) *ClientConfig {
	c := &ClientConfig{Plugin: p.Name(), Servers: map[string]ClientServer{}}
	if opts.Name == nil {
		opts.Name = ClientName
	}
	for _, s := range p.servers {
		name := opts.Name(c.Plugin, s.name)
		entry, err := p.clientServer(s, opts)
		if err == nil {
			err = c.checkName(name)
		}
		if err != nil {
			c.Skipped = append(c.Skipped, SkippedServer{s.name, err})
			continue
		}
		c.Servers[name] = entry
	}
	return c
}

func (c *ClientConfig) checkName(name string) error {
	_, taken := c.Servers[name]
	switch {
	case name == "" || !utf8.ValidString(name):
		return fmt.Errorf("%w: it is empty or not UTF-8", ErrClientName)
	case taken:
		return fmt.Errorf("%w: another server has it", ErrClientName)
	}
	return nil
}

func (p *Plugin) clientServer(s *Server, opts ClientConfigOptions) (ClientServer, error) {
	if s.status != ServerEnabled {
		return ClientServer{}, ErrNotEnabled
	}
	var out ClientServer
	switch s.typ {
	case TransportStdio:
		if p.Dir() == "" {
			return out, ErrNoDirectory
		}
		if opts.Allow == nil {
			return out, ErrNotAllowed
		}
		plan, err := p.LaunchPlan(s.name, opts.DataDir)
		if err != nil {
			return out, err
		}
		out = ClientServer{Type: "stdio", Command: plan.Program, Args: slices.Clone(plan.Args), Env: maps.Clone(plan.Env), Cwd: plan.Dir}
		if !opts.Allow(s, plan) {
			return out, ErrNotAllowed
		}
	case TransportStreamableHTTP, TransportSSE:
		out = ClientServer{Type: "sse", URL: s.remote.URL, Headers: maps.Clone(s.remote.Headers)}
		if s.typ == TransportStreamableHTTP {
			out.Type = "http"
		}
	}
	return out, out.check(opts.Literal)
}

// check judges whether a program reads the values as they are.
func (s ClientServer) check(literal bool) error {
	for _, m := range []struct {
		name   string
		values []string
	}{
		{"command", []string{s.Command}},
		{"args", s.Args},
		{"cwd", []string{s.Cwd}},
		{"url", []string{s.URL}},
		{"env", slices.AppendSeq(slices.Collect(maps.Keys(s.Env)), maps.Values(s.Env))},
		{"headers", slices.AppendSeq(slices.Collect(maps.Keys(s.Headers)), maps.Values(s.Headers))},
	} {
		for _, v := range m.values {
			switch {
			case !utf8.ValidString(v):
				return fmt.Errorf("%w: %s is not UTF-8, as JSON has to be", ErrPlan, m.name)
			case !literal && (hasPlaceholder(v) || m.name != "url" && windowsVariable.MatchString(v)):
				return fmt.Errorf("%w: in %s", ErrPlaceholder, m.name)
			}
		}
	}
	return nil
}

// windowsVariable is how a program that runs on Windows may find a variable. Two
// characters are rather a percent-encoded byte or a date's format.
var windowsVariable = regexp.MustCompile(`%[A-Za-z_]\w{2,}%`)

// hasPlaceholder reports whether some agent program replaces a part of s.
func hasPlaceholder(s string) bool {
	for i := range len(s) - 1 {
		if s[i] != '$' {
			continue
		}
		if c := s[i+1]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '{' || c == '(' {
			return true
		}
	}
	return strings.Contains(s, "{env:") || strings.Contains(s, "{file:")
}

// maxClientName is how long a name of [ClientName] may be.
const maxClientName = 64

// ClientName returns the name of a server in a client configuration: the names
// of the plugin and the server with an underscore between them, in letters,
// digits, underscores and hyphens, at most 64. Where something had to be
// replaced or cut, a hash of both ends it, so that different servers have
// different names.
func ClientName(plugin, server string) string {
	var b strings.Builder
	changed := server == ""
	put := func(s string, underscore bool) {
		for _, r := range s {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' && underscore {
				b.WriteRune(r)
			} else {
				b.WriteByte('-')
				changed = true
			}
		}
	}
	put(plugin, false)
	b.WriteByte('_')
	put(server, true)
	name := b.String()
	if !changed && len(name) <= maxClientName {
		return name
	}
	sum := sha256.Sum256([]byte(plugin + "\x00" + server))
	hash := "-" + hex.EncodeToString(sum[:])[:10]
	return name[:min(len(name), maxClientName-len(hash))] + hash
}

// canonical returns JSON that is equal for values that are, however they are
// written.
func canonical(value []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
