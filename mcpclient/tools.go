package mcpclient

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/internal/modeltext"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/toolschema"
)

// Tool is one tool of one server, as a host shows it to a model. Its text is
// cleaned and bounded, and is still the server's: not to be trusted. A Tool is
// plain data that nobody else holds.
type Tool struct {
	// Name is the exposed name, which [ToolName] makes. It is empty in what
	// [Session.Tools] returns.
	Name string
	// Server is where the tool is, and Local the server's own name for it, any
	// text.
	Server ServerID
	Local  string

	// Title and Description are for people and for the model, both optional.
	Title        string
	Description  string
	InputSchema  json.RawMessage // an object schema
	OutputSchema json.RawMessage // nil where there is none
	// Annotations are hints of the server, nil where it gives none.
	Annotations *mcp.ToolAnnotations
	// Digest is "sha256:" and the hash over what the server said of the tool;
	// see [Pins].
	Digest string
	// Entry is the digest of the server's entry in mcp.json, which
	// [plugin.Server.Digest] makes; see [Pins].
	Entry string

	output *toolschema.Schema
}

// Dropped is a tool that a server has and the host does not get.
type Dropped struct {
	Local  string // the server's own name, escaped, and cut where it is long
	Reason string // why, safe to show
}

// toolList is the tools of one server.
type toolList struct {
	tools   []Tool // sorted by Local
	dropped []Dropped
}

// Tools lists the server's tools anew, all pages of them, within [Limits],
// sorted by the server's names for them. A tool whose name or schema cannot be
// used is left out and reported; with too many tools or pages, or a page that
// comes again, the list fails with [ErrLimit] or [ErrServer] and the session
// lives on. Names are not exposed ones here: that is [Host.Tools].
func (s *Session) Tools(ctx context.Context) ([]Tool, []Dropped, error) {
	list, err := s.listTools(ctx)
	if err != nil {
		return nil, nil, err
	}
	return list.tools, list.dropped, nil
}

// maxCursor bounds what a server gives to ask for the next page with.
const maxCursor = 16 << 10

func (s *Session) listTools(ctx context.Context) (*toolList, error) {
	if err := s.Err(); err != nil {
		return nil, err
	}
	call := s.begin(ctx, s.wait)
	defer call.end()
	list := &toolList{}
	if res := s.cs.InitializeResult(); res != nil && res.Capabilities != nil && res.Capabilities.Tools == nil {
		return list, nil // it offers none, and need not know the method
	}
	seen := map[string]bool{}
	names := map[string]bool{}
	total, size := 0, 0
	cursor := ""
	for page := 0; ; page++ {
		if page == s.limits.Pages {
			return nil, fmt.Errorf("%w: a list of more than %d pages", ErrLimit, s.limits.Pages)
		}
		res, err := s.cs.ListTools(call, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, s.callError(ctx, call, err)
		}
		total += len(res.Tools)
		if total > s.limits.Tools {
			return nil, fmt.Errorf("%w: more than %d tools", ErrLimit, s.limits.Tools)
		}
		for _, t := range res.Tools {
			if t == nil {
				continue
			}
			if names[t.Name] {
				list.drop(t.Name, "another tool of the server has this name")
				continue
			}
			if len(t.Name) <= s.limits.Name { // or it is dropped, and not kept here
				names[t.Name] = true
			}
			tool, err := makeTool(t, s.limits)
			if err != nil {
				list.drop(t.Name, err.Error())
				continue
			}
			size += len(tool.Local) + len(tool.Title) + len(tool.Description) + len(tool.InputSchema) + len(tool.OutputSchema)
			if size > s.limits.ToolBytes {
				return nil, fmt.Errorf("%w: tools of more than %d bytes together", ErrLimit, s.limits.ToolBytes)
			}
			tool.Server, tool.Entry = s.id, s.entry
			list.tools = append(list.tools, tool)
		}
		if cursor = res.NextCursor; cursor == "" {
			break
		}
		if len(cursor) > maxCursor {
			return nil, fmt.Errorf("%w: a cursor of more than %d bytes", ErrLimit, maxCursor)
		}
		if seen[cursor] {
			return nil, fmt.Errorf("%w: its list of tools leads back to a page that it gave before", ErrServer)
		}
		seen[cursor] = true
	}
	slices.SortFunc(list.tools, func(a, b Tool) int { return strings.Compare(a.Local, b.Local) })
	return list, nil
}

func (l *toolList) drop(local, reason string) {
	const most = 80
	short := local
	if len(short) > most {
		short = strings.ToValidUTF8(short[:most], "") + "…"
	}
	l.dropped = append(l.dropped, Dropped{Local: printable.Escape(short), Reason: reason})
}

// makeTool judges, cleans and digests one tool of a server.
func makeTool(t *mcp.Tool, limits Limits) (Tool, error) {
	switch {
	case t.Name == "":
		return Tool{}, errors.New("its name is empty")
	case len(t.Name) > limits.Name:
		return Tool{}, fmt.Errorf("its name is longer than %d bytes", limits.Name)
	}
	tool := Tool{
		Local:       t.Name,
		Title:       cut(modeltext.Line(t.Title), limits.Description),
		Description: cut(modeltext.Clean(t.Description), limits.Description),
	}
	if t.Annotations != nil {
		a := *t.Annotations
		a.Title = cut(modeltext.Line(a.Title), limits.Description)
		a.DestructiveHint = clonePointer(a.DestructiveHint)
		a.OpenWorldHint = clonePointer(a.OpenWorldHint)
		tool.Annotations = &a
	}
	rawIn, err := schemaText(t.InputSchema)
	if err != nil {
		return Tool{}, fmt.Errorf("its input schema: %w", err)
	}
	rawOut, err := schemaText(t.OutputSchema)
	if err != nil {
		return Tool{}, fmt.Errorf("its output schema: %w", err)
	}
	if tool.Digest, err = toolDigest(t, rawIn, rawOut); err != nil {
		return Tool{}, err
	}
	if tool.InputSchema, _, err = cleanSchema(rawIn, limits); err != nil {
		return Tool{}, fmt.Errorf("its input schema: %w", err)
	}
	if rawOut != nil {
		if tool.OutputSchema, tool.output, err = cleanSchema(rawOut, limits); err != nil {
			return Tool{}, fmt.Errorf("its output schema: %w", err)
		}
	}
	return tool, nil
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// schemaText is a schema as JSON with sorted members, nil for none.
func schemaText(schema any) ([]byte, error) {
	if schema == nil {
		return nil, nil
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, errors.New("it is no JSON")
	}
	if bytes.Equal(text, []byte("null")) {
		return nil, nil
	}
	return text, nil
}

// toolDigest hashes what a server says of a tool, as [Pins] defines it.
func toolDigest(t *mcp.Tool, in, out []byte) (string, error) {
	text, err := json.Marshal(struct {
		Name         string               `json:"name"`
		Title        string               `json:"title"`
		Description  string               `json:"description"`
		InputSchema  json.RawMessage      `json:"inputSchema"`
		OutputSchema json.RawMessage      `json:"outputSchema"`
		Annotations  *mcp.ToolAnnotations `json:"annotations"`
	}{t.Name, t.Title, t.Description, orNull(in), orNull(out), t.Annotations})
	if err != nil {
		return "", errors.New("it cannot be written as JSON")
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func orNull(text []byte) json.RawMessage {
	if text == nil {
		return json.RawMessage("null")
	}
	return text
}

// errHidden refuses a schema that hides text where it cannot be taken away
// without changing what the schema means.
var errHidden = errors.New("a name or value in it has characters that do not show")

// cleanSchema measures a schema and takes hidden characters out of its texts.
// One that says no type is taken for an object's, and a missing one for any
// object's.
func cleanSchema(raw []byte, limits Limits) (json.RawMessage, *toolschema.Schema, error) {
	if raw == nil {
		raw = []byte(`{"type":"object"}`)
	}
	bounds := toolschema.Limits{Bytes: limits.Schema, Expanded: limits.SchemaExpanded}
	if len(raw) <= limits.Schema {
		var root map[string]json.RawMessage
		if json.Unmarshal(raw, &root) == nil && root != nil && root["type"] == nil {
			root["type"] = json.RawMessage(`"object"`)
			raw, _ = json.Marshal(root)
		}
	}
	schema, err := toolschema.Parse(raw, bounds)
	if err != nil {
		return nil, nil, err
	}
	dirty, err := dirtySchema(schema.Doc())
	if err != nil {
		return nil, nil, err
	}
	if !dirty {
		return raw, schema, nil
	}
	text, err := json.Marshal(cleanedSchema(schema.Doc()))
	if err != nil {
		return nil, nil, toolschema.ErrSchema
	}
	schema, err = toolschema.Parse(text, bounds)
	return text, schema, err
}

// schemaTexts are the keywords whose value only a reader sees.
var schemaTexts = map[string]bool{
	"title": true, "description": true, "$comment": true, "default": true, "examples": true,
}

// namedSchemas are the keywords whose members are schemas with names.
var namedSchemas = map[string]bool{
	"properties": true, "patternProperties": true, "$defs": true, "definitions": true,
	"dependentSchemas": true, "dependencies": true,
}

func dirtyText(s string) bool { return modeltext.Clean(s) != s }

// dirtySchema reports whether a text in the schema has to be cleaned. It fails
// with errHidden where cleaning would change the schema.
func dirtySchema(schema map[string]any) (dirty bool, err error) {
	for key, v := range schema {
		if dirtyText(key) {
			return false, errHidden
		}
		switch {
		case schemaTexts[key]:
			dirty = dirty || dirtyData(v)
			continue
		case namedSchemas[key]:
			members, ok := v.(map[string]any)
			if !ok {
				break
			}
			for name, member := range members {
				if dirtyText(name) {
					return false, errHidden
				}
				if sub, ok := member.(map[string]any); ok {
					d, err := dirtySchema(sub)
					if err != nil {
						return false, err
					}
					dirty = dirty || d
				} else if dirtyData(member) {
					return false, errHidden
				}
			}
			continue
		case key == "enum", key == "const", key == "required":
			if dirtyData(v) {
				return false, errHidden
			}
			continue
		}
		switch v := v.(type) {
		case string:
			if dirtyText(v) {
				return false, errHidden
			}
		case map[string]any:
			d, err := dirtySchema(v)
			if err != nil {
				return false, err
			}
			dirty = dirty || d
		case []any:
			for _, item := range v {
				if sub, ok := item.(map[string]any); ok {
					d, err := dirtySchema(sub)
					if err != nil {
						return false, err
					}
					dirty = dirty || d
				} else if dirtyData(item) {
					return false, errHidden
				}
			}
		}
	}
	return dirty, nil
}

// dirtyData reports whether any text in a value has hidden characters.
func dirtyData(v any) bool {
	switch v := v.(type) {
	case string:
		return dirtyText(v)
	case []any:
		return slices.ContainsFunc(v, dirtyData)
	case map[string]any:
		for key, c := range v {
			if dirtyText(key) || dirtyData(c) {
				return true
			}
		}
	}
	return false
}

// cleanedSchema is a copy of a schema with its texts cleaned.
func cleanedSchema(schema map[string]any) map[string]any {
	out := maps.Clone(schema)
	for key, v := range out {
		switch {
		case schemaTexts[key]:
			out[key] = cleanedData(v)
			continue
		case namedSchemas[key]:
			if members, ok := v.(map[string]any); ok {
				members = maps.Clone(members)
				for name, member := range members {
					if sub, ok := member.(map[string]any); ok {
						members[name] = cleanedSchema(sub)
					}
				}
				out[key] = members
			}
			continue
		case key == "enum", key == "const", key == "required":
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			out[key] = cleanedSchema(v)
		case []any:
			items := slices.Clone(v)
			for i, item := range items {
				if sub, ok := item.(map[string]any); ok {
					items[i] = cleanedSchema(sub)
				}
			}
			out[key] = items
		}
	}
	return out
}

func cleanedData(v any) any {
	switch v := v.(type) {
	case string:
		return modeltext.Clean(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cleanedData(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, c := range v {
			out[modeltext.Clean(key)] = cleanedData(c)
		}
		return out
	}
	return v
}
