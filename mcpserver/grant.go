package mcpserver

import (
	"context"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
)

// defaultTTL is how long a grant lives that does not say.
const defaultTTL = time.Hour

// Identity is what a grant is bound to. It comes from the host alone: nothing
// that an agent sends changes it.
type Identity struct {
	// Task is the run's task. It is the only one that is required, and what
	// [Registry.RevokeTask] goes by.
	Task string
	// Session is the run's session within the task.
	Session string
	// Workspace is where the run works.
	Workspace string
	// Surface is the host's name for what the run sees of a tool catalog, and may
	// call (catalog.CheckSurface). Empty means nothing of it. It is the one part
	// that can change while the grant lives: [Registry.SetSurface].
	Surface string
}

// Grant says what a token is for. [Registry.Mint] keeps a copy.
type Grant struct {
	// Identity is the run the grant belongs to.
	Identity Identity
	// Channel is what the agent reaches its host through, for example
	// channel.Of(c). A tool whose part is nil is not offered.
	Channel channel.Parts
	// Omit names tools of the channel that are not offered although the channel
	// has them, such as [ToolSpawnSubtask]; one that it does not have may stand
	// there too.
	Omit []string
	// Tools are the host's own, beside those of the channel.
	Tools []*Tool
	// TTL is how long the token is valid, an hour where it is zero, and at most
	// [Limits.Lifetime]. [Registry.Extend] makes it longer.
	TTL time.Duration
	// Labels stand in the log beside the identity.
	Labels map[string]string
	// Instructions are given to the agent's client when it connects.
	Instructions string
	// ServerOptions, if set, may change the options of the grant's SDK server
	// before it is built: completion and subscription handlers, above all. The
	// session ids and the tools capability stay the registry's.
	ServerOptions func(*mcp.ServerOptions)
	// Configure, if set, is given the grant's SDK server once it is built, to
	// add prompts, resources, or tools that need the SDK's own handlers; a tool
	// of a name that is taken is not seen. Middleware that is added sees what
	// the SDK's server answers, which is not the calls of the tools above. Both
	// functions run when the grant is first used.
	Configure func(*mcp.Server)
}

// Run is the run that a call belongs to.
type Run struct {
	// GrantID names the grant. It is no secret.
	GrantID string
	// Identity is the identity that the grant was minted with, with the surface
	// that it had when the call came in.
	Identity Identity

	labels map[string]string
}

// NewRun returns a run as handlers, invokers and authorizers get it, for a host that
// tests its own. The labels are copied.
func NewRun(grantID string, id Identity, labels map[string]string) Run {
	return Run{GrantID: grantID, Identity: id, labels: maps.Clone(labels)}
}

// Label returns the label of that name, or "".
func (r Run) Label(name string) string { return r.labels[name] }

type runKey struct{}

// ContextWithRun returns a context in which [RunFromContext] finds the run, for a
// host that tests its own handlers. A registry makes such contexts itself.
func ContextWithRun(ctx context.Context, run Run) context.Context {
	return context.WithValue(ctx, runKey{}, &run)
}

// RunFromContext returns the run that a call belongs to. Every handler of a
// registry, the host's channel, its tools and what it adds to the SDK's server
// included, is called with a context that has one.
func RunFromContext(ctx context.Context) (Run, bool) {
	run, ok := ctx.Value(runKey{}).(*Run)
	if !ok {
		return Run{}, false
	}
	return *run, true
}

// GrantInfo is what can be known of a live grant. The token is not among it.
type GrantInfo struct {
	// ID is what [Registry.Revoke] goes by.
	ID string
	// Identity is the run's.
	Identity Identity
	// Labels are the grant's, a copy.
	Labels map[string]string
	// MintedAt, ExpiresAt and LastActivity say when the grant was made, when it
	// ends, and when a request with its token last came in; zero if none did.
	MintedAt, ExpiresAt, LastActivity time.Time
	// Sessions, Calls and Requests count the open sessions of the stateful
	// protocol, the handlers that run and the open HTTP requests, listening
	// streams included.
	Sessions, Calls, Requests int
}
