package mcpserver

import (
	"context"
	"log/slog"
	"sort"
	"time"

	"github.com/plugberth/plugberth/internal/printable"
)

// Observer hears what happens to grants. Observe is called on the way of the
// call and concurrently: it returns soon. A panic in it is logged and goes no
// further.
type Observer interface {
	Observe(Event)
}

// ObserverFunc is a function that is an [Observer].
type ObserverFunc func(Event)

// Observe calls f.
func (f ObserverFunc) Observe(ev Event) { f(ev) }

// EventKind says what an [Event] is about.
type EventKind string

// The kinds of events.
const (
	EventCall     EventKind = "call"     // a call was answered
	EventRevoked  EventKind = "revoked"  // a grant was revoked, by shutting down too, one event for each
	EventExpired  EventKind = "expired"  // a grant expired
	EventExtended EventKind = "extended" // a grant lasts longer: ExpiresAt
)

// Outcome says how a call ended.
type Outcome string

// The outcomes of calls.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeBlocked   Outcome = "blocked"        // a question was recorded, the agent is to end its turn
	OutcomeTool      Outcome = "tool_error"     // the tool answered with an error for the agent
	OutcomeUnknown   Outcome = "unknown_tool"   // the agent named a tool that is not offered
	OutcomeInvalid   Outcome = "invalid_args"   // the arguments do not fit the input schema
	OutcomeResult    Outcome = "invalid_result" // the result is too large or does not fit the output schema
	OutcomeError     Outcome = "error"          // the handler failed
	OutcomePanic     Outcome = "panic"          // the handler panicked
	OutcomeTimeout   Outcome = "timeout"        // the handler took too long
	OutcomeCanceled  Outcome = "canceled"       // the client canceled or disconnected
	OutcomeRevoked   Outcome = "revoked"        // the grant was revoked meanwhile
	OutcomeExpired   Outcome = "expired"        // the grant expired meanwhile
	OutcomeShutdown  Outcome = "shutdown"       // the registry was shut down meanwhile
	OutcomeLimited   Outcome = "limited"        // too many calls, or too fast
	OutcomeDenied    Outcome = "denied"         // the call of a plugin's tool was not authorized
	OutcomeWithdrawn Outcome = "withdrawn"      // the plugin's tool was withdrawn meanwhile
)

// Event is something that happened to a grant.
type Event struct {
	// Kind says what happened, At when, and Run to whose grant.
	Kind EventKind
	At   time.Time
	Run  Run
	// ExpiresAt is when a grant ends that was extended.
	ExpiresAt time.Time
	// Tool and the fields below are those of a call. Tool is the name the agent
	// used, or the method for prompts, resources and completion, its first 128
	// bytes.
	Tool string
	// Plugin is the name of the plugin whose tool it is, for tools of a catalog.
	Plugin   string
	Duration time.Duration
	// Outcome says how the call ended. Of a grant that ended it is the reason:
	// [OutcomeRevoked], [OutcomeExpired] or [OutcomeShutdown].
	Outcome Outcome
	// Err is the handler's error, if any, which may hold what the agent sent. Of a
	// panic it says what the log does, of a result that cannot be sent why not.
	// The agent sees none of it.
	Err error
	// RequestBytes and ResultBytes are the sizes of arguments and result.
	RequestBytes, ResultBytes int
}

func (r *Registry) observe(ev Event) {
	if r.opts.Observer == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("observer panicked", "panic", panicText(v))
		}
	}()
	r.opts.Observer.Observe(ev)
}

// runAttrs are the attributes that say whose record it is.
func runAttrs(run *Run) []any {
	attrs := grantAttrs(run)
	if s := run.Identity.Surface; s != "" {
		attrs = append(attrs, slog.String("surface", printable.Escape(s)))
	}
	return attrs
}

// grantAttrs are those that stay the same for as long as the grant lives.
func grantAttrs(run *Run) []any {
	attrs := []any{slog.String("grant", run.GrantID), slog.String("task", printable.Escape(run.Identity.Task))}
	for _, a := range []struct{ key, value string }{
		{"session", run.Identity.Session},
		{"workspace", run.Identity.Workspace},
	} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.key, printable.Escape(a.value)))
		}
	}
	if len(run.labels) > 0 {
		names := make([]string, 0, len(run.labels))
		for name := range run.labels {
			names = append(names, name)
		}
		sort.Strings(names)
		labels := make([]any, len(names))
		for i, name := range names {
			labels[i] = slog.String(name, printable.Escape(run.labels[name]))
		}
		attrs = append(attrs, slog.Group("labels", labels...))
	}
	return attrs
}

// level is how loud a call is logged.
func (o Outcome) level() slog.Level {
	switch o {
	case OutcomeOK, OutcomeBlocked:
		return slog.LevelInfo
	case OutcomePanic, OutcomeError, OutcomeResult:
		return slog.LevelError
	}
	return slog.LevelWarn
}

// logCall writes the record of a call. detail is safe to show.
func (e *endpoint) logCall(ev Event, detail string) {
	ctx := context.Background()
	level := ev.Outcome.level()
	if e.log.Enabled(ctx, level) {
		attrs := make([]slog.Attr, 0, 6)
		if s := ev.Run.Identity.Surface; s != "" {
			attrs = append(attrs, slog.String("surface", printable.Escape(s)))
		}
		if ev.Plugin != "" {
			attrs = append(attrs, slog.String("plugin", printable.Escape(ev.Plugin)))
		}
		attrs = append(attrs,
			slog.String("tool", printable.Escape(ev.Tool)),
			slog.Duration("duration", ev.Duration),
			slog.String("outcome", string(ev.Outcome)),
		)
		if detail != "" {
			attrs = append(attrs, slog.String("detail", detail))
		}
		e.log.LogAttrs(ctx, level, "agent call", attrs...)
	}
	e.reg.observe(ev)
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
