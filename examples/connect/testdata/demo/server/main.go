// Server is the program of the demo package: an MCP server on standard input
// and output with one tool.
package main

import (
	"context"
	"log"
	"time"
	_ "time/tzdata" // zones are known also where the system has none

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type zone struct {
	Zone string `json:"zone,omitempty" jsonschema:"such as Europe/Oslo, UTC where it is left out"`
}

func now(_ context.Context, _ *mcp.CallToolRequest, in zone) (*mcp.CallToolResult, any, error) {
	location, err := time.LoadLocation(in.Zone)
	if err != nil {
		return nil, nil, err
	}
	text := time.Now().In(location).Format(time.RFC1123)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "clock", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "now", Description: "Tells the time in a zone."}, now)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
