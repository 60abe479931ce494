package mcpclient

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A link is the way to one server: a transport of the SDK with what belongs to
// it, a process or an HTTP client. It is used for one connection.
type link interface {
	// transport is what the SDK connects over.
	transport() mcp.Transport
	// explain makes an error of the SDK's session say what happened here: that
	// the process ended and the last of its stderr, that a redirect or an
	// address was refused, that a limit was passed. It returns err where
	// it has nothing to add, and nil for nil.
	explain(err error) error
	// done is closed when the server is known to be gone: its process ended or
	// its stream broke for good.
	done() <-chan struct{}
	// close ends the way, with all that belongs to it, within its own bounds of
	// time. sessionClosed is closed when the SDK's session has said its
	// goodbye; close waits for that no longer than the grace period. After it
	// nothing is left: no process of the group, no connection, no goroutine. It
	// may be called more than once.
	close(ctx context.Context, sessionClosed <-chan struct{}) error
}
