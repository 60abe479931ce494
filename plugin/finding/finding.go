package finding

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
)

// A Code names a kind of problem: stable, lower case, words joined by hyphens.
type Code string

// Severity says how much a finding costs. The zero value is invalid.
type Severity uint8

// The severities, in ascending order of cost.
const (
	SeverityInfo    Severity = iota + 1 // worth knowing, nothing is lost
	SeverityWarning                     // something was ignored or is likely a mistake
	SeverityError                       // something was left out or refused
)

// String returns "error", "warning" or "info".
func (s Severity) String() string {
	return name(uint8(s), "info", "warning", "error")
}

// MarshalText returns the same as String.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Boundary is what a fault is confined to: everything outside it is unaffected
// (AP §11.3). The zero value is invalid.
type Boundary uint8

// The boundaries, from the widest to the narrowest.
const (
	BoundaryPlugin    Boundary = iota + 1 // the whole plugin is rejected
	BoundaryComponent                     // skills, or MCP, as a whole
	BoundarySkill                         // one skill
	BoundaryServer                        // one server entry
	BoundaryField                         // one field or value
)

// String returns "plugin", "component", "skill", "server" or "field".
func (b Boundary) String() string {
	return name(uint8(b), "plugin", "component", "skill", "server", "field")
}

// MarshalText returns the same as String.
func (b Boundary) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// Layer says whose rule a finding comes from. The zero value is invalid.
type Layer uint8

// The layers.
const (
	LayerSpec   Layer = iota + 1 // the text of a specification demands it
	LayerSafety                  // plugberth refuses more than the text asks
	LayerPolicy                  // the host's configuration decided
)

// String returns "spec", "safety" or "policy".
func (l Layer) String() string {
	return name(uint8(l), "spec", "safety", "policy")
}

// MarshalText returns the same as String.
func (l Layer) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

func name(i uint8, names ...string) string {
	if i == 0 || int(i) > len(names) {
		return "invalid"
	}
	return names[i-1]
}

// Finding is one problem that was met. It is plain data, best made by [New].
type Finding struct {
	Code     Code
	Severity Severity
	Boundary Boundary
	Subject  string // the skill's directory name or the server's name, raw; empty where neither applies
	Layer    Layer
	Section  string // of the specification, such as "AP §5.2", or "AS" for Agent Skills; empty where only the host asks
	File     string // slash-separated, relative to the plugin root, raw; whoever shows it may put a path of their own here
	Pointer  string // JSON Pointer (RFC 6901) of the value; empty where there is none
	Line     int    // 1-based; 0 when the finding is about the file as a whole
	Column   int    // 1-based, in Unicode code points; 0 like Line
	Message  string // what to change, escaped for display
}

// Place is where a finding belongs: Subject, File, Pointer, Line and Column are
// those of a [Finding]. The zero Place is the plugin as a whole.
type Place struct {
	Subject      string
	File         string
	Pointer      string
	Line, Column int
}

// New makes a finding: what the code's table entry says, at that place, with
// that message. Text from a package must be quoted in the message by the
// caller so that it cannot act on a terminal. A code that is not in the table
// gives a finding of an invalid severity.
func New(code Code, at Place, message string) Finding {
	info, _ := Lookup(code)
	return Finding{
		Code: code, Severity: info.Severity, Boundary: info.Boundary, Layer: info.Layer, Section: info.Section,
		Subject: at.Subject, File: at.File, Pointer: at.Pointer, Line: at.Line, Column: at.Column, Message: message,
	}
}

// String returns the finding in one line, "plugin.json:3:11: error: …
// [manifest-name-invalid, AP §5.5]", safe to print on a terminal.
func (f Finding) String() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(printable.Escape(f.File))
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
		}
		b.WriteString(": ")
	}
	fmt.Fprintf(&b, "%s: %s [%s", f.Severity, f.Message, f.Code)
	if f.Section != "" {
		b.WriteString(", " + f.Section)
	}
	b.WriteByte(']')
	return b.String()
}

// MarshalJSON writes the finding's fields in lower camel case, in the order of
// the struct; subject, pointer, line and column are left out where they do not
// apply. Bytes that are not UTF-8 appear as \xNN. The form is for output: it
// cannot be read back.
func (f Finding) MarshalJSON() ([]byte, error) {
	out := struct {
		Code     Code     `json:"code"`
		Severity Severity `json:"severity"`
		Boundary Boundary `json:"boundary"`
		Subject  *string  `json:"subject,omitempty"`
		Layer    Layer    `json:"layer"`
		Section  string   `json:"section"`
		File     string   `json:"file"`
		Pointer  string   `json:"pointer,omitempty"`
		Line     int      `json:"line,omitempty"`
		Column   int      `json:"column,omitempty"`
		Message  string   `json:"message"`
	}{
		f.Code, f.Severity, f.Boundary, nil, f.Layer, f.Section,
		printable.UTF8(f.File), printable.UTF8(f.Pointer), f.Line, f.Column, f.Message,
	}
	if f.Subject != "" || f.Boundary == BoundarySkill || f.Boundary == BoundaryServer {
		s := printable.UTF8(f.Subject)
		out.Subject = &s
	}
	return json.Marshal(out)
}

// LogValue groups the finding's fields for log/slog, escaped.
func (f Finding) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("code", string(f.Code)),
		slog.String("severity", f.Severity.String()),
		slog.String("boundary", f.Boundary.String()),
		slog.String("layer", f.Layer.String()),
		slog.String("section", f.Section),
		slog.String("subject", printable.Escape(f.Subject)),
		slog.String("file", printable.Escape(f.File)),
		slog.String("pointer", printable.Escape(f.Pointer)),
		slog.Int("line", f.Line),
		slog.Int("column", f.Column),
		slog.String("message", f.Message),
	)
}

// Escape makes text from a package, a server or an agent safe to show: each
// character that does not print as itself (controls, bidirectional overrides,
// zero-width and tag characters, bytes that are not UTF-8) appears as a Go
// escape such as \n, \u202e or \xff. Findings are shown through it already;
// use it for the names and descriptions beside them.
func Escape(s string) string { return printable.Escape(s) }

// List is findings in document order. A nil List is empty and ready to use.
type List []Finding

// String returns the findings one a line, safe to print on a terminal.
func (l List) String() string {
	lines := make([]string, len(l))
	for i, f := range l {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// AtLeast returns the findings of that severity or a higher one.
func (l List) AtLeast(s Severity) List {
	var out List
	for _, f := range l {
		if f.Severity >= s {
			out = append(out, f)
		}
	}
	return out
}
