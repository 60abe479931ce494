package mcpclient

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// resultSize measures a result as JSON, roughly, and stops soon after the
// limit is passed. All that a server can fill counts, also what hardly anybody
// reads.
func resultSize(res *mcp.CallToolResult, limit int) int {
	n := contentSize(res.Content, 0, limit)
	n = jsonSize(res.StructuredContent, n, limit)
	return jsonSize(map[string]any(res.Meta), n, limit)
}

func contentSize(list []mcp.Content, n, limit int) int {
	for _, c := range list {
		if n > limit {
			return n
		}
		n += 32
		var meta mcp.Meta
		var notes *mcp.Annotations
		switch c := c.(type) {
		case *mcp.TextContent:
			n += len(c.Text)
			meta, notes = c.Meta, c.Annotations
		case *mcp.ImageContent:
			n += len(c.Data)/3*4 + len(c.MIMEType)
			meta, notes = c.Meta, c.Annotations
		case *mcp.AudioContent:
			n += len(c.Data)/3*4 + len(c.MIMEType)
			meta, notes = c.Meta, c.Annotations
		case *mcp.ResourceLink:
			n += len(c.URI) + len(c.Name) + len(c.Title) + len(c.Description) + len(c.MIMEType)
			for _, icon := range c.Icons {
				n += len(icon.Source) + len(icon.MIMEType) + len(icon.Theme) + 32
				for _, size := range icon.Sizes {
					n += len(size) + 4
				}
			}
			meta, notes = c.Meta, c.Annotations
		case *mcp.EmbeddedResource:
			if r := c.Resource; r != nil {
				n += len(r.URI) + len(r.Text) + len(r.Blob)/3*4 + len(r.MIMEType)
				n = jsonSize(map[string]any(r.Meta), n, limit)
			}
			meta, notes = c.Meta, c.Annotations
		case *mcp.ToolUseContent:
			n = jsonSize(c.Input, n+len(c.ID)+len(c.Name), limit)
			meta = c.Meta
		case *mcp.ToolResultContent:
			n = contentSize(c.Content, n+len(c.ToolUseID), limit)
			n = jsonSize(c.StructuredContent, n, limit)
			meta = c.Meta
		}
		n = jsonSize(map[string]any(meta), n, limit)
		if notes != nil {
			n += len(notes.LastModified)
			for _, role := range notes.Audience {
				n += len(role) + 4
			}
		}
	}
	return n
}

// jsonSize adds the size of decoded JSON to n.
func jsonSize(v any, n, limit int) int {
	if n > limit {
		return n
	}
	switch v := v.(type) {
	case nil:
	case string:
		n += len(v) + 2
	case json.RawMessage:
		n += len(v)
	case []any:
		for _, c := range v {
			n = jsonSize(c, n+1, limit)
		}
	case map[string]any:
		for k, c := range v {
			n = jsonSize(c, n+len(k)+4, limit)
		}
	default:
		n += 8
	}
	return n
}
