package mcpserver

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
)

const (
	maxDetail   = 1024 // bytes of the text of an error in the log
	maxToolName = 128  // bytes of a name that an agent chose, in logs and events
)

// bounded cuts a text for an agent at a limit in bytes, and makes UTF-8 of it.
func bounded(text string, limit int) string {
	const more = " […]"
	if len(text) > limit {
		text = cut(text, max(limit-len(more), 0)) + more
	}
	return strings.ToValidUTF8(text, "")
}

// errorText is the text of a handler's error for the log, with the arguments of
// the call taken out of it: an error often quotes what it is about.
func errorText(err error, args any) string {
	return printable.Escape(withoutArguments(cut(err.Error(), maxDetail), args))
}

// panicText says what a handler panicked with: the text of the runtime's own
// errors, and of everything else only its type, since it can hold anything.
func panicText(v any) (text string) {
	defer func() {
		if recover() != nil { // an Error method that panics as well
			text = fmt.Sprintf("a value of type %T", v)
		}
	}()
	switch v := v.(type) {
	case nil: // a panic with nil is none of nil
		return "runtime.Goexit"
	case runtime.Error:
		return printable.Escape(cut(v.Error(), maxDetail))
	}
	return fmt.Sprintf("a value of type %T", v)
}

// stack is the stack of a panic. It holds names and addresses, no values.
func stack() string { return cut(string(debug.Stack()), 8<<10) }
