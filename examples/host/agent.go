package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agent stands in for an agent program with a model. It is a process of its own,
// uses the MCP SDK alone, and knows nothing of its host but a configuration file.
// What it does is in script.go.
type agent struct {
	session *mcp.ClientSession
	tools   map[string]*mcp.Tool
	in      *bufio.Reader
	out     io.Writer
	resumed bool // another turn came before this one
}

// work is one turn of the agent.
func work(ctx context.Context, in io.Reader, out io.Writer) error {
	a := &agent{in: bufio.NewReader(in), out: out, resumed: os.Getenv(envTurn) != "1"}
	if err := a.connect(ctx, os.Getenv(envConfig)); err != nil {
		return err
	}
	defer a.session.Close()
	err := a.say("reads that file, connects over HTTP, and finds %s", count(len(a.tools), "tool"))
	if err == nil {
		err = a.script(ctx)
	}
	if errors.Is(err, errBlocked) {
		return a.say("ends its turn")
	}
	return err
}

// connect reads the configuration, as agent programs do, and connects to the first
// server in it.
func (a *agent) connect(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var config struct {
		MCPServers map[string]struct {
			URL     string            `json:"url"`
			Headers map[string]string `json:"headers"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	for _, server := range config.MCPServers {
		client := mcp.NewClient(&mcp.Implementation{Name: "scripted-agent", Version: "1.0.0"}, nil)
		a.session, err = client.Connect(ctx, &mcp.StreamableClientTransport{
			Endpoint: server.URL, HTTPClient: &http.Client{Transport: headers(server.Headers)},
		}, nil)
		if err != nil {
			return err
		}
		a.tools = map[string]*mcp.Tool{}
		for tool, err := range a.session.Tools(ctx, nil) {
			if err != nil {
				return err
			}
			a.tools[tool.Name] = tool
		}
		return nil
	}
	return errors.New("the configuration has no server")
}

// headers adds what the configuration says to each request.
type headers map[string]string

func (h headers) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range h {
		req.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(req)
}

// say tells the host what the agent does. It waits until that is shown, so that
// lines of two processes stand in the order in which things happened, and fails
// when the host is gone.
func (a *agent) say(format string, args ...any) error {
	if _, err := fmt.Fprintln(a.out, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")); err != nil {
		return err
	}
	_, err := a.in.ReadString('\n')
	return err
}

// errBlocked says that a question was recorded and that the turn is over.
var errBlocked = errors.New("the turn is over")

// call calls a tool and tells of it. A tool that refuses is no error: the text says
// why.
func (a *agent) call(ctx context.Context, tool string, arguments any) (text string, structured any, err error) {
	shown, err := json.Marshal(arguments)
	if err != nil {
		return "", nil, err
	}
	if err := a.say("→ %s %s", tool, cut(string(shown), 88-len(tool))); err != nil {
		return "", nil, err
	}
	result, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return "", nil, err
	}
	for _, content := range result.Content {
		if part, ok := content.(*mcp.TextContent); ok {
			text += part.Text
		}
	}
	state, _ := result.StructuredContent.(map[string]any)
	if state["status"] != "recorded" { // which is no news
		if err := a.say("← %s", cut(gist(text), 88)); err != nil {
			return "", nil, err
		}
	}
	if state["status"] == "blocked" {
		return "", nil, errBlocked
	}
	return text, result.StructuredContent, nil
}

var tag = regexp.MustCompile(`(?m)^</?(skill|file)[^\n]*$`)

// gist is the first line of a text, without the frame that a host puts around a
// skill, and how many more there are.
func gist(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(tag.ReplaceAllString(text, "")), "\n")
	if n := len(strings.Fields(rest)); n > 0 {
		return fmt.Sprintf("%s … and %s more", cut(first, 60), count(n, "word"))
	}
	return first
}
