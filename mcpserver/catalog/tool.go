package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plugberth/plugberth/internal/modeltext"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/toolschema"
	"github.com/plugberth/plugberth/plugin"
)

// The bounds of a declaration.
const (
	maxTools       = 16   // tools of one plugin
	maxDescription = 1024 // bytes of a description
	maxSurfaces    = 16   // surfaces of one tool
	maxSurface     = 64   // bytes of the name of a surface
	maxTitle       = 256  // bytes of a title
	maxTimeout     = 24 * time.Hour
)

// The bounds of what a bridge offers ([Catalog.Bridge]). That of a schema is the
// same for what a plugin declares.
const (
	MaxSchema             = 64 << 10 // bytes of one schema
	MaxBridged            = 1000     // tools of one source for one plugin
	MaxBridgedDescription = 16 << 10 // bytes of a description
)

// Errors of [Catalog.Declare], to be matched with errors.Is. Each comes in a
// [DeclarationError], which says which tool it is about.
var (
	// ErrDeclaration: the declaration breaks a rule.
	ErrDeclaration = errors.New("the declaration cannot be used")
	// ErrCollision: the exposed name of a tool is reserved or another tool's.
	ErrCollision = errors.New("its name is taken")
)

// DeclarationError says why a plugin's tools were refused. errors.Is matches it
// with [ErrDeclaration] or [ErrCollision].
type DeclarationError struct {
	Plugin string // as given
	Tool   string // the local name as given, "" where it is about the plugin
	Err    error  // why: [ErrDeclaration] or [ErrCollision], wrapped
}

// Error names the plugin and the tool, escaped.
func (e *DeclarationError) Error() string {
	if e.Tool == "" {
		return fmt.Sprintf("catalog: plugin %s: %v", printable.Quote(e.Plugin), e.Err)
	}
	return fmt.Sprintf("catalog: plugin %s: tool %s: %v", printable.Quote(e.Plugin), printable.Quote(e.Tool), e.Err)
}

// Unwrap returns the reason.
func (e *DeclarationError) Unwrap() error { return e.Err }

// Tool is what a plugin declares.
type Tool struct {
	// Name is the local name: a small letter or digit, then up to 31 of
	// those or _.
	Name string `json:"name"`
	// Title is what people read, on one line, at most 256 bytes; optional.
	Title string `json:"title,omitempty"`
	// Description tells a model what the tool does, 1 to 1,024 bytes of text
	// that shows, on any number of lines.
	Description string `json:"description"`
	// InputSchema is a JSON Schema whose type is "object", at most 64 KiB, with
	// no reference outside itself. It is required: {"type": "object"} takes any.
	InputSchema json.RawMessage `json:"inputSchema"`
	// OutputSchema is such a schema for structured results, or nil.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Surfaces are where the tool is seen, names that the host defines. A tool
	// without any is seen nowhere.
	Surfaces []string `json:"surfaces"`
	// Annotations say how careful a client has to be with the tool. What is
	// not said is taken for the worse.
	Annotations Annotations `json:"annotations"`
	// Timeout bounds one call, up to a day: for a tool that waits for a person or
	// a build. Zero is the limit of the endpoint that serves the tool. In JSON it
	// is in nanoseconds. No agent sees it.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Annotations are what a plugin says of the effects of a tool. The zero value
// is the careful side: the tool changes things, may destroy them, does more
// when called twice, and reaches the world.
type Annotations struct {
	ReadOnly       bool `json:"readOnly,omitempty"`       // it changes nothing
	NonDestructive bool `json:"nonDestructive,omitempty"` // what it changes it only adds to
	Idempotent     bool `json:"idempotent,omitempty"`     // calling it twice does no more than once
	ClosedWorld    bool `json:"closedWorld,omitempty"`    // it reaches nothing beyond the host
}

var (
	localName   = regexp.MustCompile(`^[a-z0-9][a-z0-9_]{0,31}$`)
	bridgedName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDeclaration, fmt.Sprintf(format, args...))
}

// check judges a declaration and returns its schemas.
func (t Tool) check() (in, out *toolschema.Schema, err error) {
	switch {
	case !localName.MatchString(t.Name):
		return nil, nil, invalid("its name is not a small letter or digit and up to 31 of those or _")
	case t.Description == "" || len(t.Description) > maxDescription:
		return nil, nil, invalid("its description has not 1 to %d bytes", maxDescription)
	case strings.TrimSpace(t.Description) == "":
		return nil, nil, invalid("its description is blank")
	}
	return t.checkRest()
}

// checkBridged is check for a tool of a bridge.
func (t Tool) checkBridged() (in, out *toolschema.Schema, err error) {
	switch {
	case !bridgedName.MatchString(t.Name):
		return nil, nil, invalid("its name is not 1 to %d letters, digits, _ and -", maxName)
	case len(t.Description) > MaxBridgedDescription:
		return nil, nil, invalid("its description has more than %d bytes", MaxBridgedDescription)
	}
	return t.checkRest()
}

// CheckBridged returns nil if [Catalog.Bridge] takes the tool as far as it can
// be judged by itself, and an error that matches [ErrDeclaration] otherwise. A
// bridge asks it, because one tool that cannot be used would keep back the
// others.
func (t Tool) CheckBridged() error {
	_, _, err := t.checkBridged()
	return err
}

func checkBridgedPlugin(name string) error {
	if name == "" {
		return nil
	}
	return plugin.CheckName(name)
}

// checkRest judges what is the same for all tools.
func (t Tool) checkRest() (in, out *toolschema.Schema, err error) {
	fail := func(format string, args ...any) (*toolschema.Schema, *toolschema.Schema, error) {
		return nil, nil, invalid(format, args...)
	}
	switch {
	case len(t.Title) > maxTitle || !utf8.ValidString(t.Title) || modeltext.Line(t.Title) != t.Title:
		return fail("its title is not at most %d bytes of text that shows, on one line", maxTitle)
	case !utf8.ValidString(t.Description) || modeltext.Clean(t.Description) != t.Description:
		return fail("its description has characters that do not show")
	case t.Timeout < 0 || t.Timeout > maxTimeout:
		return fail("its timeout is not from 0 to %v", maxTimeout)
	case len(t.Surfaces) > maxSurfaces:
		return fail("it has more than %d surfaces", maxSurfaces)
	}
	for i, s := range t.Surfaces {
		if CheckSurface(s) != nil {
			return fail("a surface is not 1 to %d bytes of text that shows, on one line", maxSurface)
		}
		if slices.Contains(t.Surfaces[:i], s) {
			return fail("a surface stands twice")
		}
	}
	if len(t.InputSchema) == 0 {
		return fail(`its input schema is missing; {"type": "object"} takes any arguments`)
	}
	if in, err = compile(t.InputSchema); err != nil {
		return fail("its input schema: %v", err)
	}
	if len(t.OutputSchema) > 0 {
		if out, err = compile(t.OutputSchema); err != nil {
			return fail("its output schema: %v", err)
		}
	}
	return in, out, nil
}

// compile bounds a schema in the form that is kept, too, in which numbers are
// written out.
func compile(text json.RawMessage) (*toolschema.Schema, error) {
	s, err := toolschema.Parse(text, toolschema.Limits{Bytes: MaxSchema})
	if err != nil {
		return nil, err
	}
	if len(schemaText(s)) > MaxSchema {
		return nil, fmt.Errorf("%w: it has more than %d bytes once its numbers are written out", toolschema.ErrTooLarge, MaxSchema)
	}
	return s, s.Compile()
}

var errSurface = errors.New("catalog: not the name of a surface")

// CheckSurface returns nil if name can be the name of a surface: 1 to 64 bytes
// of UTF-8 that show, on one line, without a blank at either end.
func CheckSurface(name string) error {
	if name == "" || len(name) > maxSurface || !utf8.ValidString(name) || modeltext.Line(name) != name {
		return errSurface
	}
	return nil
}

// normal returns the declaration in the one form that is compared and kept:
// compact schemas with sorted members, sorted surfaces.
func (t Tool) normal(in, out *toolschema.Schema) Tool {
	t.InputSchema = schemaText(in)
	t.OutputSchema = nil
	if out != nil {
		t.OutputSchema = schemaText(out)
	}
	t.Surfaces = slices.Sorted(slices.Values(t.Surfaces))
	if t.Surfaces == nil {
		t.Surfaces = []string{}
	}
	return t
}

// schemaText cannot fail: the schema was read from JSON.
func schemaText(s *toolschema.Schema) json.RawMessage { return plainJSON(s.Doc()) }

// plainJSON is v as JSON without the escapes of HTML.
func plainJSON(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// unescaped is the text of a schema that was kept and came by way of
// encoding/json, which writes three characters as six each.
func unescaped(text json.RawMessage) json.RawMessage {
	if len(text) <= MaxSchema || len(text) > 6*MaxSchema {
		return text
	}
	var v any
	if json.Unmarshal(text, &v) != nil {
		return text
	}
	return plainJSON(v)
}

func (t Tool) equal(o Tool) bool {
	return t.Name == o.Name && t.Title == o.Title && t.Description == o.Description && t.Annotations == o.Annotations && t.Timeout == o.Timeout &&
		string(t.InputSchema) == string(o.InputSchema) && string(t.OutputSchema) == string(o.OutputSchema) &&
		slices.Equal(t.Surfaces, o.Surfaces)
}

func (t Tool) clone() Tool {
	t.InputSchema, t.OutputSchema, t.Surfaces = slices.Clone(t.InputSchema), slices.Clone(t.OutputSchema), slices.Clone(t.Surfaces)
	return t
}
