package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// release is what is in changes.json, and what merged_changes returns.
type release struct {
	Version string   `json:"version"`
	Changes []change `json:"changes"`
}

type change struct {
	Number   int    `json:"number"`
	Title    string `json:"title"`
	Breaking bool   `json:"breaking,omitempty"`
}

// notes are the arguments of save_notes.
type notes struct {
	Version string `json:"version" jsonschema:"the version, such as 1.2.3"`
	Text    string `json:"text" jsonschema:"the notes, in Markdown"`
}

var version = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// serve is the MCP server of the demo package, the program bin/changes. It is
// written with the SDK alone, as any server is: it knows nothing of its host but
// what mcp.json puts into its arguments and its environment.
func serve(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var merged release
	if err := json.Unmarshal(text, &merged); err != nil {
		return err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "changes", Version: "1.2.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name: "merged_changes", Description: "Lists the changes that were merged for the next release.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, release, error) {
		return say("%d changes for %s", len(merged.Changes), merged.Version), merged, nil
	})
	mcp.AddTool(server, &mcp.Tool{
		Name: "save_notes", Description: "Saves the notes of a release.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool), IdempotentHint: true},
	}, func(_ context.Context, _ *mcp.CallToolRequest, in notes) (*mcp.CallToolResult, any, error) {
		if !version.MatchString(in.Version) {
			return nil, nil, fmt.Errorf("a version is three numbers, such as %s", merged.Version)
		}
		// Below PLUGIN_DATA, which belongs to this installation and survives
		// updates of the package.
		name := filepath.Join(os.Getenv("NOTES"), in.Version+".md")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, nil, err
		}
		if err := os.WriteFile(name, []byte(in.Text), 0o644); err != nil {
			return nil, nil, err
		}
		return say("Saved as %s, %d lines.", filepath.Base(name), strings.Count(in.Text, "\n")), nil, nil
	})
	return server.Run(ctx, &mcp.StdioTransport{})
}

func say(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}
