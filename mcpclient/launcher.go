package mcpclient

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/plugberth/plugberth/plugin"
)

// Launcher starts the program of a plan. The default, [Local], starts a local
// process; a host can use a container or a sandbox instead, which also holds
// what a process group cannot: a server that leaves its group. It is called
// concurrently.
type Launcher interface {
	// Launch starts what l says and returns at once. ctx bounds the start
	// only, not the process. Of a process that it returns the client always
	// calls Wait; one that it cannot use any more is killed.
	Launch(ctx context.Context, l Launch) (Process, error)
}

// Launch is what a [Launcher] starts: the Plan of the server ID. Printed or
// logged it shows neither arguments nor values of variables; Environ holds the
// host's credentials.
type Launch struct {
	ID   ServerID
	Plan plugin.LaunchPlan
	// Environ is the whole environment, "NAME=value" each, one for a name, in
	// the order of the names: the base, the plan's over it, the host's
	// credentials over that, and PLUGIN_ROOT and PLUGIN_DATA last (AP §9.1).
	Environ []string
	// Path is the PATH of the base environment, over which a bare program is
	// looked up (AP §7.2.1). The PATH of Environ is the server's own.
	Path string
	// PathExt is the PATHEXT of the base environment, which lists the
	// extensions of programs on Windows.
	PathExt string
}

// Process is a server that a [Launcher] has started. Its methods may be called
// concurrently.
type Process interface {
	// Pipes returns the three ends that the client holds. They are the same
	// on each call. Ends that have deadlines, as os.File and net.Conn do, spare
	// the client a goroutine each.
	Pipes() (stdin io.WriteCloser, stdout, stderr io.ReadCloser)
	// Terminate asks the server and what it started to end, where the system
	// can ask. It does nothing once the server has ended.
	Terminate() error
	// Kill ends the server and what it started at once. It does nothing once
	// the server has ended.
	Kill() error
	// Wait returns when the server has ended and nothing that it started is
	// left where the launcher can see it. Its error says how it ended: nil for
	// success, an *exec.ExitError from [Local]. It may be called more than once,
	// concurrently.
	Wait() error
}

// String names the server and what is started, without arguments and values.
func (l Launch) String() string {
	return fmt.Sprintf("launch of %q of plugin %q: %q with %d arguments and %d variables",
		l.ID.Server, l.ID.Plugin, l.Plan.Program, len(l.Plan.Args), len(l.Environ))
}

// Format prints the same as String for each verb.
func (l Launch) Format(f fmt.State, _ rune) { io.WriteString(f, l.String()) }

// LogValue logs the same as String.
func (l Launch) LogValue() slog.Value { return slog.StringValue(l.String()) }
