package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// agent stands for the program of an agent: it connects with the configuration
// that it was given.
func agent(config []byte) *mcp.ClientSession {
	var doc struct {
		MCPServers map[string]struct {
			URL     string
			Headers map[string]string
		}
	}
	if err := json.Unmarshal(config, &doc); err != nil {
		log.Fatal(err)
	}
	server := doc.MCPServers[mcpserver.DefaultServerName]
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{
		Endpoint:   server.URL,
		HTTPClient: &http.Client{Transport: headers(server.Headers)},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	return session
}

type headers map[string]string

func (h headers) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range h {
		req.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(req)
}

// say calls a tool and prints what the agent's model reads.
func say(session *mcp.ClientSession, tool string, arguments map[string]any) {
	res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
}

// A run asks, is told to end its turn, and is resumed with the answer.
func Example() {
	registry, err := mcpserver.New(mcpserver.Options{})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(registry) // a host uses its own http.Server
	defer server.Close()
	defer registry.Shutdown(context.Background())

	// What the host keeps of the task.
	buffered := channel.NewBuffered(new(channel.MemoryStore))
	turn := func(work func(*mcp.ClientSession)) {
		minted, err := registry.Mint(mcpserver.Grant{
			Identity: mcpserver.Identity{Task: "task-17"},
			Channel:  channel.Of(buffered),
		})
		if err != nil {
			log.Fatal(err)
		}
		defer registry.Revoke(minted.ID)
		config, err := minted.Config(server.URL)
		if err != nil {
			log.Fatal(err)
		}
		session := agent(config)
		defer session.Close()
		work(session)
	}

	question := map[string]any{"question": "Which database?", "choices": []string{"PostgreSQL", "SQLite"}}
	turn(func(session *mcp.ClientSession) {
		say(session, "ask_user", question)
	})

	ctx := context.Background()
	q, _, err := buffered.PendingQuestion(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("The user is asked:", q.Text)
	if err := buffered.Answer(ctx, q.ID, "SQLite"); err != nil {
		log.Fatal(err)
	}

	turn(func(session *mcp.ClientSession) {
		say(session, "ask_user", question)
		say(session, "report_summary", map[string]any{"summary": "Set up with SQLite."})
	})
	s, _, err := buffered.ReportedSummary(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("The summary is:", s.Text)

	// Output:
	// Your question has been recorded for the user. The answer will not come during this turn. End your turn now: do not ask again, do not wait, and do not go on by guessing the answer. You will be resumed with the answer.
	// The user is asked: Which database?
	// SQLite
	// The summary is recorded.
	// The summary is: Set up with SQLite.
}

// A host's own tool knows whose call it answers.
func ExampleNewTool() {
	branch, err := mcpserver.NewTool(mcpserver.ToolDef{
		Name:        "create_branch",
		Description: "Create a branch in the repository of this task. Use it before the first commit.",
		InputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {"name": {"type": "string", "pattern": "^[a-z0-9-]{1,50}$"}},
			"required": ["name"]
		}`),
		Handler: func(ctx context.Context, call mcpserver.Call) (mcpserver.Result, error) {
			var in struct{ Name string }
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return mcpserver.Result{}, err
			}
			run, _ := mcpserver.RunFromContext(ctx)
			return mcpserver.Result{Text: "Created " + run.Identity.Task + "/" + in.Name + "."}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	registry, err := mcpserver.New(mcpserver.Options{})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(registry)
	defer server.Close()
	defer registry.Shutdown(context.Background())
	minted, err := registry.Mint(mcpserver.Grant{
		Identity: mcpserver.Identity{Task: "task-17"},
		Tools:    []*mcpserver.Tool{branch},
	})
	if err != nil {
		log.Fatal(err)
	}
	config, err := minted.Config(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	session := agent(config)
	defer session.Close()
	say(session, "create_branch", map[string]any{"name": "fix-login", "task": "task-18"})
	say(session, "create_branch", map[string]any{"name": "Fix Login"})
	// Output:
	// Created task-17/fix-login.
	// Not done: the arguments do not fit the tool's input schema: "/name" does not match the pattern that is asked for. Correct them and call again.
}

// A token shows itself only when it is asked to.
func ExampleToken() {
	registry, err := mcpserver.New(mcpserver.Options{})
	if err != nil {
		log.Fatal(err)
	}
	minted, err := registry.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "task-17"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(minted.Token, len(minted.Token.Reveal()))
	// Output: plugberth_*** 53
}

// The configuration of an agent's program goes into a file that only its user
// can read.
func ExampleMinted_WriteConfig() {
	registry, err := mcpserver.New(mcpserver.Options{})
	if err != nil {
		log.Fatal(err)
	}
	minted, err := registry.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "task-17"}})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := minted.WriteConfig(dir+"/.mcp.json", "http://127.0.0.1:8787/mcp"); err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(dir + "/.mcp.json")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(json.Valid(data))
	// Output: true
}
