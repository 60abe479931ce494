// Package safelog keeps a host's log handler from ending the process: a panic in
// it loses the record, or the records that would have had the attributes, and
// nothing else.
package safelog

import (
	"context"
	"log/slog"
)

// New returns a logger that writes to what l writes to, and is silent where l is
// nil or its handler panics.
func New(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(guarded{l.Handler()})
}

// guarded is a handler whose panics end in it.
type guarded struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (g guarded) Enabled(ctx context.Context, level slog.Level) bool {
	defer func() { recover() }()
	return g.Handler.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (g guarded) Handle(ctx context.Context, r slog.Record) error {
	defer func() { recover() }()
	return g.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (g guarded) WithAttrs(attrs []slog.Attr) (h slog.Handler) {
	defer silentOnPanic(&h)
	return guarded{g.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (g guarded) WithGroup(name string) (h slog.Handler) {
	defer silentOnPanic(&h)
	return guarded{g.Handler.WithGroup(name)}
}

func silentOnPanic(h *slog.Handler) {
	if recover() != nil {
		*h = slog.DiscardHandler
	}
}
