package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing/fstest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin"
)

// exampleServer is an MCP server on this machine with one tool, and a plugin
// whose mcp.json names it.
func exampleServer() (*plugin.Plugin, func()) {
	type input struct {
		Name string `json:"name"`
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "greet", Description: "Greets somebody"},
		func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
		})
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil))
	p, err := plugin.LoadFS(context.Background(), fstest.MapFS{
		"plugin.json": {Data: []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "demo"}`)},
		"mcp.json": {Data: []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {
			"greeter": {"type": "streamable-http", "url": "` + strings.Replace(ts.URL, "127.0.0.1", "localhost", 1) + `"}}}`)},
	}, plugin.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return p, ts.Close
}

func Example() {
	p, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	h, err := mcpclient.NewHost(mcpclient.HostOptions{Options: mcpclient.Options{
		Egress: mcpclient.DesktopEgress(), // this machine, and public addresses
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)
	if err := h.Add(plugin.Instance{ID: "demo"}, p); err != nil {
		log.Fatal(err)
	}
	if err := h.Ready(ctx); err != nil {
		log.Fatal(err)
	}
	for _, s := range h.Servers() {
		fmt.Println(s.ID, s.Status)
	}
	for _, t := range h.Tools() {
		fmt.Println(t.Name, "-", t.Description)
	}
	res, err := h.Call(ctx, "mcp__demo__greeter__greet", json.RawMessage(`{"name": "Ada"}`), mcpclient.CallOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mcpclient.ResultText("mcp__demo__greeter__greet", res, 0))
	// Output:
	// demo/greeter connected
	// mcp__demo__greeter__greet - Greets somebody
	// <tool_result tool="mcp__demo__greeter__greet">
	// Hello, Ada
	// </tool_result>
}

// A host that wants one server only gets the SDK's own session.
func ExampleConnect() {
	p, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	s, err := mcpclient.Connect(ctx, p, plugin.Instance{ID: "demo"}, "greeter", mcpclient.Options{
		Egress: mcpclient.DesktopEgress(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	fmt.Println(s.Info().Name, s.Info().Version)
	_, err = s.MCP().GetPrompt(ctx, &mcp.GetPromptParams{Name: "none"})
	fmt.Println(s.Explain(err) != nil)
	// Output:
	// greeter 1
	// true
}

// Without a choice of the host, nothing is connected to.
func ExampleOptions() {
	p, stop := exampleServer()
	defer stop()
	_, err := mcpclient.Connect(context.Background(), p, plugin.Instance{ID: "demo"}, "greeter", mcpclient.Options{})
	fmt.Println(errors.Is(err, mcpclient.ErrNotAllowed))
	// Output: true
}

// A tool that nobody accepted cannot be called.
func ExamplePins() {
	p, stop := exampleServer()
	defer stop()
	ctx := context.Background()

	var pins mcpclient.Pins // a host reads them from where it keeps them
	h, err := mcpclient.NewHost(mcpclient.HostOptions{
		Options: mcpclient.Options{Egress: mcpclient.DesktopEgress()},
		Pins:    &pins,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)
	if err := h.Add(plugin.Instance{ID: "demo"}, p); err != nil {
		log.Fatal(err)
	}
	if err := h.Ready(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(h.Tools()), "tools,", len(h.Held()), "held back")
	for _, tool := range h.Held() {
		_, err := h.Call(ctx, tool.Name, nil, mcpclient.CallOptions{})
		fmt.Println("it waits:", errors.Is(err, mcpclient.ErrHeld), "and is not new:", pins.Known(tool))
	}
	h.Accept(h.Held()...) // once its user has seen them
	fmt.Println(len(h.Tools()), "tools,", len(h.Held()), "held back")
	// Output:
	// 0 tools, 1 held back
	// it waits: true and is not new: false
	// 1 tools, 0 held back
}

func ExampleToolName() {
	fmt.Println(mcpclient.ToolName("demo", "files", "read_file"))
	fmt.Println(mcpclient.ToolName("", "files", "read_file"))
	fmt.Println(mcpclient.ToolName("demo", "My Files", "read/file"))
	// Output:
	// mcp__demo__files__read_file
	// mcp__files__read_file
	// mcp__demo__My_Files__read_file_t6kgtsmdov
}
