package mcpclient

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestResultSize: whatever place of a result a server fills, it counts.
func TestResultSize(t *testing.T) { // [R9]
	const limit = 10_000
	fill := strings.Repeat("x", 2*limit)
	for name, text := range map[string]string{
		"text":              `{"content":[{"type":"text","text":"F"}]}`,
		"meta of text":      `{"content":[{"type":"text","text":"","_meta":{"a":"F"}}]}`,
		"name in meta":      `{"content":[{"type":"text","text":"","_meta":{"F":1}}]}`,
		"annotations":       `{"content":[{"type":"text","text":"","annotations":{"lastModified":"F"}}]}`,
		"audience":          `{"content":[{"type":"text","text":"","annotations":{"audience":["F"]}}]}`,
		"image":             `{"content":[{"type":"image","mimeType":"x","data":"F"}]}`,
		"type of image":     `{"content":[{"type":"image","mimeType":"F","data":""}]}`,
		"meta of audio":     `{"content":[{"type":"audio","mimeType":"x","data":"","_meta":{"a":["F"]}}]}`,
		"link":              `{"content":[{"type":"resource_link","uri":"x","name":"x","description":"F"}]}`,
		"icon of link":      `{"content":[{"type":"resource_link","uri":"x","name":"x","icons":[{"src":"F"}]}]}`,
		"sizes of icon":     `{"content":[{"type":"resource_link","uri":"x","name":"x","icons":[{"src":"","sizes":["F"]}]}]}`,
		"resource":          `{"content":[{"type":"resource","resource":{"uri":"x","text":"F"}}]}`,
		"meta of resource":  `{"content":[{"type":"resource","resource":{"uri":"x","text":"","_meta":{"a":{"b":"F"}}}}]}`,
		"meta of result":    `{"content":[],"_meta":{"a":"F"}}`,
		"structured":        `{"content":[],"structuredContent":{"a":["F"]}}`,
		"many empty parts":  `{"content":[` + strings.Repeat(`{"type":"text","text":""},`, 1000) + `{"type":"text","text":""}]}`,
		"many numbers":      `{"content":[],"structuredContent":{"a":[` + strings.Repeat("1,", 5000) + `1]}}`,
		"many empty values": `{"content":[],"structuredContent":{"a":[` + strings.Repeat("[],", 15000) + `[]]}}`,
	} {
		var res mcp.CallToolResult
		if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "F", fill)), &res); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := resultSize(&res, limit); n <= limit {
			t.Errorf("%s counts %d bytes", name, n)
		}
	}
	for name, c := range map[string]mcp.Content{
		"input of a use":       &mcp.ToolUseContent{Input: map[string]any{"a": fill}},
		"content of a result":  &mcp.ToolResultContent{Content: []mcp.Content{&mcp.TextContent{Text: fill}}},
		"structured of result": &mcp.ToolResultContent{StructuredContent: map[string]any{"a": fill}},
	} {
		if n := resultSize(&mcp.CallToolResult{Content: []mcp.Content{c}}, limit); n <= limit {
			t.Errorf("%s counts %d bytes", name, n)
		}
	}
	small := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", limit-100)}, nil}}
	if n := resultSize(small, limit); n > limit {
		t.Errorf("a small one counts %d bytes", n)
	}
}
