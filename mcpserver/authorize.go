package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// Authorizer decides on each call of a catalog's tool, before the plugin is
// asked: that a tool was listed gives no right to call it. [CatalogAuthorizer] is
// the ready one.
//
// It is called concurrently and within the deadline of the call, with a context
// that has the run. An error refuses the call, and so does a panic. What the
// error matches decides what the agent hears: with [ErrNotDeclared] and
// [ErrSurface] that there is no such tool, with [ErrArguments] what is wrong with
// the arguments, and otherwise that the call is not allowed, or the text of a
// [channel.AgentError]. All else of it goes to the log. An error that comes because
// the call has ended, by its deadline for example, is no refusal.
//
// Whatever the authorizer says, the registry calls no tool that is not in its own
// newest snapshot on the run's surface, and none whose input schema the arguments
// do not fit.
type Authorizer interface {
	Authorize(ctx context.Context, a Authorization) error
}

// AuthorizerFunc is a function that is an [Authorizer].
type AuthorizerFunc func(ctx context.Context, a Authorization) error

// Authorize calls f.
func (f AuthorizerFunc) Authorize(ctx context.Context, a Authorization) error { return f(ctx, a) }

// Authorization is a call that is to be judged.
type Authorization struct {
	// Run is the run that calls, with its surface as it is now. It is what the
	// token is bound to, and nothing of it comes from the agent. A call whose run
	// is moved off the tool's surface meanwhile is refused.
	Run Run
	// Tool is the exposed name that the agent used.
	Tool string
	// Arguments is what the agent sent, valid JSON.
	Arguments json.RawMessage
	// Snapshot is the newest that the registry has.
	Snapshot *catalog.Snapshot
}

// Errors of authorizers, to be matched with errors.Is.
var (
	// ErrNotDeclared: no active plugin declares a tool of that name.
	ErrNotDeclared = errors.New("mcpserver: no active plugin declares the tool")
	// ErrSurface: the tool is not on the surface of the run.
	ErrSurface = errors.New("mcpserver: the tool is not on the run's surface")
	// ErrIdentity: the task and the session of the run do not belong together.
	ErrIdentity = errors.New("mcpserver: the task and the session of the run do not belong together")
	// ErrArguments: the arguments do not fit the input schema.
	ErrArguments = errors.New("mcpserver: the arguments do not fit the input schema")
)

// argumentsError is ErrArguments with what is wrong, in words for the agent.
type argumentsError struct{ err error }

func (e *argumentsError) Error() string { return fmt.Sprintf("%v: %v", ErrArguments, e.err) }

func (e *argumentsError) Is(target error) bool { return target == ErrArguments }

func (e *argumentsError) Unwrap() error { return e.err }

// CatalogAuthorizer judges a call by what the grant is bound to and by a catalog
// as it is now. It asks, in this order, whether the run's task and session belong
// together, whether an active plugin declares the tool, whether it is on the
// run's surface, and whether the arguments fit its input schema, and fails with
// [ErrIdentity], [ErrNotDeclared], [ErrSurface] or [ErrArguments]. The zero value
// is what a registry uses that has no other.
type CatalogAuthorizer struct {
	// Snapshot returns the catalog as it is now, such as
	// [catalog.Catalog.Snapshot] of the one that the host owns. The default is
	// the registry's newest.
	Snapshot func() *catalog.Snapshot
	// Belong returns nil while the task and the session of a run belong together,
	// and otherwise why not. By default they do: the host minted the grant with
	// both.
	Belong func(ctx context.Context, run Run) error
}

// Authorize implements [Authorizer].
func (c CatalogAuthorizer) Authorize(ctx context.Context, a Authorization) error {
	if c.Belong != nil {
		if err := c.Belong(ctx, a.Run); err != nil {
			return fmt.Errorf("%w: %w", ErrIdentity, err)
		}
	}
	s := a.Snapshot
	if c.Snapshot != nil {
		s = c.Snapshot()
	}
	if s == nil {
		return ErrNotDeclared
	}
	entry, ok := s.Lookup(a.Tool)
	switch {
	case !ok:
		return ErrNotDeclared
	case !entry.On(a.Run.Identity.Surface):
		return ErrSurface
	}
	if err := entry.CheckInput(a.Arguments); err != nil {
		return &argumentsError{err}
	}
	return nil
}
