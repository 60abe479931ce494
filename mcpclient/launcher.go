package mcpclient

import (
	"context"
	"io"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

// Consent decides whether a stdio server may be started. A nil error allows
// it; any other refuses it, and the server is then disabled by policy. It is
// asked once for each digest of a server's plan, and again when the digest
// changes. It is called concurrently for different servers.
type Consent func(ctx context.Context, req ConsentRequest) error

// ConsentRequest is what a host decides on.
type ConsentRequest struct {
	ID     ServerID
	Plan   plugin.LaunchPlan // what would be started; credentials of the host are not in it
	Digest string            // of the plan
	// Findings are what the host should know of the plan, of layer policy:
	// variables that load code into the process.
	Findings finding.List
}

// Launcher starts the program of a plan. The default starts a local process; a
// host can use a container or a sandbox instead. It is called concurrently.
type Launcher interface {
	// Launch starts what l says and returns at once. ctx bounds the start
	// only, not the process.
	Launch(ctx context.Context, l Launch) (Process, error)
}

// Launch is what a [Launcher] starts.
type Launch struct {
	ID   ServerID
	Plan plugin.LaunchPlan
	// Environ is the whole environment, "NAME=value" each: the base, the
	// plan's over it, the host's credentials over that, and PLUGIN_ROOT and
	// PLUGIN_DATA last (AP §9.1).
	Environ []string
	// Path is the PATH of the base environment, over which a bare program is
	// looked up (AP §7.2.1).
	Path string
}

// Process is a server that a [Launcher] has started.
type Process interface {
	// Pipes returns the three ends that the client holds. They are the same
	// on each call.
	Pipes() (stdin io.WriteCloser, stdout, stderr io.ReadCloser)
	// Terminate asks the server and what it started to end, where the system
	// can ask.
	Terminate() error
	// Kill ends the server and what it started at once.
	Kill() error
	// Wait returns when the server has ended and nothing that it started is
	// left where the launcher can see it. Its error says how it ended. It may be
	// called more than once, concurrently.
	Wait() error
}
