package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
)

// maxDetail bounds the text of an error in the log.
const maxDetail = 1024

// errorText is the text of a handler's error for the log, with the arguments of
// the call taken out of it: an error often quotes what it is about.
func errorText(err error, args any) string {
	text := err.Error()
	var values []string
	collectStrings(args, &values)
	// Longest first, so that no part of a value is left when another one is
	// contained in it.
	sort.Slice(values, func(i, j int) bool { return len(values[i]) > len(values[j]) })
	for _, v := range values {
		text = strings.ReplaceAll(text, v, "[argument]")
	}
	return printable.Escape(cut(text, maxDetail))
}

// collectStrings gathers the strings of a value that are long enough to be
// told from words by chance.
func collectStrings(v any, out *[]string) {
	switch v := v.(type) {
	case string:
		if len(v) >= 3 {
			*out = append(*out, v, fmt.Sprintf("%q", v))
		}
	case []any:
		for _, c := range v {
			collectStrings(c, out)
		}
	case map[string]any:
		for _, c := range v {
			collectStrings(c, out)
		}
	}
}

// panicText says what a handler panicked with: the text of the runtime's own
// errors, and of everything else only its type, since it can hold anything.
func panicText(v any) string {
	if err, ok := v.(runtime.Error); ok {
		return printable.Escape(cut(err.Error(), maxDetail))
	}
	return fmt.Sprintf("a value of type %T", v)
}

// stack is the stack of a panic. It holds names and addresses, no values.
func stack() string { return cut(string(debug.Stack()), 8<<10) }

// guarded is the host's log handler, which cannot end the process: a panic in
// it loses the record.
type guarded struct{ slog.Handler }

// Handle implements [slog.Handler].
func (g guarded) Handle(ctx context.Context, r slog.Record) error {
	defer func() { recover() }()
	return g.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (g guarded) WithAttrs(attrs []slog.Attr) slog.Handler {
	return guarded{g.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (g guarded) WithGroup(name string) slog.Handler { return guarded{g.Handler.WithGroup(name)} }
