package mcpclient

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/internal/modeltext"
)

// ResultText returns a result as text for a prompt, between tags that nothing
// in it can close or imitate:
//
//	<tool_result tool="mcp__demo__files__read">
//	text
//	</tool_result>
//
// Text parts follow each other; structured content stands as JSON where there
// is no text; images, audio and binary resources are named with their media
// type and size. Hidden characters are removed. The text is the server's, and
// a model that reads it has to be told so. limit bounds the text in bytes, 0 or
// less is 64 KiB; a cut is announced in the opening tag.
func ResultText(tool string, res *mcp.CallToolResult, limit int) string {
	if limit <= 0 {
		limit = 64 << 10
	}
	attrs := []modeltext.Attr{{Name: "tool", Value: tool}}
	var b strings.Builder
	if res != nil {
		hasText := false
		for i, c := range res.Content {
			if b.Len() > limit {
				break
			}
			if i > 0 {
				b.WriteByte('\n')
			}
			text, plain := contentText(c)
			hasText = hasText || plain
			b.WriteString(head(text, limit+1))
		}
		if !hasText && res.StructuredContent != nil && b.Len() <= limit {
			if text, err := json.Marshal(res.StructuredContent); err == nil {
				if len(res.Content) > 0 {
					b.WriteByte('\n')
				}
				b.Write(text)
			}
		}
		if res.IsError {
			attrs = append(attrs, modeltext.Attr{Name: "error", Value: "true"})
		}
	}
	text := b.String()
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
		attrs = append(attrs, modeltext.Attr{Name: "cut", Value: fmt.Sprintf("after %d bytes", limit)})
	}
	return modeltext.Fence(modeltext.Result, attrs, text)
}

func head(s string, n int) string { return s[:min(n, len(s))] }

// contentText says one part of a result in text, and whether it is text itself.
func contentText(c mcp.Content) (text string, plain bool) {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text, true
	case *mcp.ImageContent:
		return fmt.Sprintf("[image %s, %d bytes]", modeltext.Line(c.MIMEType), len(c.Data)), false
	case *mcp.AudioContent:
		return fmt.Sprintf("[audio %s, %d bytes]", modeltext.Line(c.MIMEType), len(c.Data)), false
	case *mcp.ResourceLink:
		return fmt.Sprintf("[link to %s]", modeltext.Line(c.URI)), false
	case *mcp.EmbeddedResource:
		if r := c.Resource; r != nil {
			if r.Text != "" {
				return r.Text, true
			}
			return fmt.Sprintf("[resource %s %s, %d bytes]", modeltext.Line(r.URI), modeltext.Line(r.MIMEType), len(r.Blob)), false
		}
	}
	return "[content of an unknown kind]", false
}
