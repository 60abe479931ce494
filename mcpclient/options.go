package mcpclient

//lint:file-ignore SA1019 roots, sampling and logging work in the protocol until they are removed from it

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/plugin"
)

// ServerID names one server of one installed plugin.
type ServerID struct {
	Instance plugin.Instance // the installed copy
	Plugin   string          // its name in plugin.json
	Server   string          // the server's name in mcp.json, any string
}

// Options are a host's policy for the servers of plugins. The zero value
// refuses every server: what may be started and where may be connected to are
// choices of the host.
type Options struct {
	// Consent decides on each stdio server before it is started, because
	// starting one runs code of the package. nil refuses all.
	Consent Consent
	// DataRoot is the directory below which each instance gets its PLUGIN_DATA.
	// stdio servers are refused without one.
	DataRoot string
	// Launcher starts stdio servers. nil starts them as local processes, with
	// [Local].
	Launcher Launcher
	// Environ is the base environment of stdio servers, "NAME=value" each, to
	// which the package's env is added. nil is [BaseEnviron] of this process;
	// one that is empty but not nil is empty. Printed options show the names
	// only.
	Environ []string

	// Egress decides which addresses remote servers may be connected to. nil
	// refuses all: there is no default without a choice.
	Egress *Egress
	// TLS is used for https; it is cloned. Client certificates in it are offered
	// to every server that asks for one. nil is Go's default.
	TLS *tls.Config
	// Proxy chooses a proxy for a request, as http.Transport does. nil uses
	// none, whatever the environment says. A proxy resolves names itself, so
	// Egress then judges the proxy's address and not the server's.
	Proxy func(*http.Request) (*url.URL, error)
	// Origins names the origins other than its own that a server may redirect
	// to, or announce as the endpoint of a legacy SSE stream, each as
	// scheme://host with :port where it is not the scheme's own. Letter case and
	// a default port make no difference; one that is no origin refuses the
	// server. It is asked each time that a connection is made. nil names none.
	// What the package configures as headers and what the host gives as
	// credentials does not go there in any case.
	Origins func(id ServerID) []string

	// Credentials gives what the host has for a server at the place that the
	// request says. It is asked each time that a connection is made, for a stdio
	// server after Consent. An error fails the connection. nil gives none.
	Credentials func(ctx context.Context, req CredentialsRequest) (Credentials, error)

	// Handlers answer what servers ask of their client.
	Handlers Handlers

	// ConnectTimeout bounds starting, connecting and the handshake of one
	// server, default 30 s. It stands still while the host is asked: Consent,
	// Credentials and the Authorize of an OAuth handler may take a person's time.
	ConnectTimeout time.Duration
	// AskTimeout bounds each of these questions to the host, default 5 min. The
	// server then counts as failed. A decision of Consent that comes later holds
	// for the next try.
	AskTimeout time.Duration
	// CallTimeout bounds each call of a server, default 60 s. What a person takes
	// counts here, to answer what the server asks within the call or to log in
	// again: [CallOptions].Timeout gives such a call more.
	CallTimeout time.Duration
	// GracePeriod is how long a server has to end after its input was closed,
	// and again after it was asked to terminate, default 2 s.
	GracePeriod time.Duration

	Limits Limits

	// Client is how the host names itself to servers, default plugberth.
	Client mcp.Implementation
	// Logger gets a record of what happens to each server. nil is silent.
	Logger *slog.Logger
}

// Format prints the options as fmt does, but of Environ the names only.
func (o Options) Format(f fmt.State, verb rune) {
	type plain Options // without this method
	o.Environ = withoutValues(o.Environ)
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain(o))
}

func withoutValues(environ []string) []string {
	var out []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		out = append(out, printable.Escape(name)+"="+maskMark)
	}
	return out
}

// Handlers answer what servers ask of their client. Where one is nil, its
// requests get the protocol's refusal and the capability is not announced. They
// are called concurrently, for one session at most 64 times at once; more is
// refused. Their context ends with the session. A server that gets an error is told it only where it
// is a *jsonrpc.Error, and otherwise, as for a panic or a missing result, no
// more than that the client failed to answer.
type Handlers struct {
	// Elicit asks the user something for a server.
	Elicit func(ctx context.Context, id ServerID, req *mcp.ElicitParams) (*mcp.ElicitResult, error)
	// Sample calls a model for a server.
	Sample func(ctx context.Context, id ServerID, req *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error)
	// Roots names the directories that a server may work in.
	Roots func(ctx context.Context, id ServerID) ([]*mcp.Root, error)
	// Notification hears what a server announces of prompts, resources and its
	// own log, by the protocol's method. It must not block: a session has one
	// goroutine for its notifications. Text in it is the server's, as it came.
	Notification func(id ServerID, method string, params mcp.Params)
}

// Limits bound what a server may send. In each field 0 or less is the default.
type Limits struct {
	Line           int   // bytes of one line of a stdio server, default 8 MiB
	Event          int   // bytes of one event of a remote server, default 8 MiB
	Body           int64 // bytes of one response of a remote server after decompression, events apart, default 8 MiB
	Values         int   // values of one message: objects, arrays and what is in them, default 100,000
	Header         int64 // bytes of the headers of one response, default 64 KiB
	Rate           int64 // bytes a second of one server, beyond a first burst of as many; reading waits, default 32 MiB
	Stderr         int   // bytes kept of the end of a stdio server's stderr, default 8 KiB
	Tools          int   // tools of one server, default 1,000
	ToolBytes      int   // bytes of all tools of one server, their names, texts and schemas, default 4 MiB
	Pages          int   // pages of one list, default 100
	Name           int   // bytes of a tool's name, default 256
	Description    int   // bytes of a description or title, default 16 KiB; a longer one is cut
	Schema         int   // bytes of one schema, default 64 KiB
	SchemaExpanded int   // subschemas of one schema once its references are followed, default 10,000
	Result         int   // bytes of one result, default 1 MiB
	Instructions   int   // bytes of a server's instructions, default 16 KiB; longer ones are cut
}

func (l Limits) withDefaults() Limits {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set64 := func(field *int64, value int64) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&l.Line, 8<<20)
	set(&l.Event, 8<<20)
	set64(&l.Body, 8<<20)
	set(&l.Values, 100_000)
	set64(&l.Header, 64<<10)
	set64(&l.Rate, 32<<20)
	set(&l.Stderr, 8<<10)
	set(&l.Tools, 1000)
	set(&l.ToolBytes, 4<<20)
	set(&l.Pages, 100)
	set(&l.Name, 256)
	set(&l.Description, 16<<10)
	set(&l.Schema, 64<<10)
	set(&l.SchemaExpanded, 10_000)
	set(&l.Result, 1<<20)
	set(&l.Instructions, 16<<10)
	return l
}

// Errors that say why a server cannot be used, to be matched with errors.Is.
var (
	// ErrNotAllowed: the host's policy refuses the server, its address or an
	// origin that it leads to.
	ErrNotAllowed = errors.New("mcpclient: the host's policy does not allow it")
	// ErrLimit: the server sent more than [Limits] allow.
	ErrLimit = errors.New("mcpclient: the server sent too much")
	// ErrServer: the server failed: it did not start, ended, or broke the
	// protocol.
	ErrServer = errors.New("mcpclient: the server failed")
	// ErrClosed: the session or host is closed.
	ErrClosed = errors.New("mcpclient: closed")
)
