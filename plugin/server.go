package plugin

import (
	"maps"
	"slices"
)

// mcpFile is the one place for MCP configuration (AP §7.2.1).
const mcpFile = "mcp.json"

// Transport is the type of a server entry (AP §7.2.1).
type Transport string

// The transports.
const (
	TransportStdio          Transport = "stdio"
	TransportStreamableHTTP Transport = "streamable-http"
	TransportSSE            Transport = "sse"
)

var transports = []Transport{TransportStdio, TransportStreamableHTTP, TransportSSE}

// ServerStatus says whether the host wants a valid server used.
type ServerStatus uint8

// The statuses.
const (
	ServerEnabled     ServerStatus = iota // may be used
	ServerUnsupported                     // the host does not support its transport (AP §7.2.2)
	ServerDisabled                        // the host's policy disables its transport
)

// String returns "enabled", "unsupported" or "disabled".
func (s ServerStatus) String() string {
	switch s {
	case ServerEnabled:
		return "enabled"
	case ServerUnsupported:
		return "unsupported"
	}
	return "disabled"
}

// MarshalText returns the text of String, so that JSON shows the word.
func (s ServerStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Server is one valid entry of mcp.json (AP §7.2.1). It is made by loading, is
// immutable and safe for concurrent use. The zero value is a server of no type.
type Server struct {
	name   string
	typ    Transport
	status ServerStatus
	stdio  Stdio
	remote Remote
}

// Stdio is the configuration of a stdio server, as it stands in mcp.json:
// nothing is expanded or resolved (AP §7.2.1).
type Stdio struct {
	Command string            // a bare name, or a path that begins with ./
	Args    []string          // may be empty
	Env     map[string]string // may be nil
	Cwd     string            // "" where it is left out
}

// Remote is the configuration of a streamable-http or sse server, as it stands
// in mcp.json (AP §7.2.1).
type Remote struct {
	URL     string            // absolute, https, or http where the host is loopback
	Headers map[string]string // may be nil
}

// Name returns the server's name, any string.
func (s *Server) Name() string { return s.name }

// Type returns the declared transport.
func (s *Server) Type() Transport { return s.typ }

// Status says whether the options of the load allow the transport.
func (s *Server) Status() ServerStatus { return s.status }

// Digest returns a stable digest of the entry as it stands in mcp.json, its name
// apart: "sha256:" and 64 hexadecimal digits, equal for equal entries on every
// machine and wherever the plugin is. A host can remember by it which server its
// user agreed to connect to: an update that leads to another url, or sends
// another header, changes it. For the program that a stdio server starts,
// [LaunchPlan.Digest] is the one to agree to.
//
// It is the SHA-256 of the text "plugberth server 1", the type, the command, the
// number of arguments and each of them, the number of variables and the name and
// value of each in the order of the names' bytes, cwd, url, and the headers as
// the variables; each text preceded by its length, lengths and numbers as 64-bit
// big-endian. What the type does not have is empty.
func (s *Server) Digest() string {
	d := newDigest("plugberth server 1")
	d.text(string(s.typ))
	d.text(s.stdio.Command)
	d.list(s.stdio.Args)
	d.members(s.stdio.Env)
	d.text(s.stdio.Cwd)
	d.text(s.remote.URL)
	d.members(s.remote.Headers)
	return d.sum()
}

// Stdio returns a copy of the configuration of a stdio server, or false for
// another type.
func (s *Server) Stdio() (Stdio, bool) {
	out := s.stdio
	out.Args, out.Env = slices.Clone(out.Args), maps.Clone(out.Env)
	return out, s.typ == TransportStdio
}

// Remote returns a copy of the configuration of a remote server, or false for
// a stdio server.
func (s *Server) Remote() (Remote, bool) {
	out := s.remote
	out.Headers = maps.Clone(out.Headers)
	return out, s.typ == TransportStreamableHTTP || s.typ == TransportSSE
}

// MCPState says what became of a plugin's MCP configuration.
type MCPState uint8

// The states.
const (
	MCPAbsent     MCPState = iota // there is no mcp.json, which is no error (AP §6.2), or it was not asked for
	MCPConfigured                 // it was read; some of its servers may have been skipped
	MCPDisabled                   // it cannot be used as a whole (AP §7.2.2)
)

// String returns "absent", "configured" or "disabled".
func (s MCPState) String() string {
	switch s {
	case MCPAbsent:
		return "absent"
	case MCPConfigured:
		return "configured"
	}
	return "disabled"
}

// MarshalText returns the text of String, so that JSON shows the word.
func (s MCPState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
