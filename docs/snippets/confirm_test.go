package snippets_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// postComment is a tool of one run that a person confirms.
func postComment(live *channel.Live, deadline time.Duration, post func(ctx context.Context, text string) error) (*mcpserver.Tool, error) {
	var done sync.Map // the questions whose answer was acted on
	return mcpserver.NewTool(mcpserver.ToolDef{
		Name:        "post_comment",
		Description: "Posts a comment that the customer reads. A person confirms it first, and the call waits.",
		InputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {"text": {"type": "string", "minLength": 1, "maxLength": 4000}},
			"required": ["text"],
			"additionalProperties": false
		}`),
		Timeout: deadline + time.Minute, // longer than the Live waits: past its deadline the question is recorded
		Handler: func(ctx context.Context, call mcpserver.Call) (mcpserver.Result, error) {
			var in struct{ Text string }
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return mcpserver.Result{}, err
			}
			answer, err := live.Ask(ctx, channel.Question{
				Text:    "Post this comment?\n\n" + in.Text,
				Choices: []string{"post it", "do not"}, OnlyChoices: true,
			})
			if err != nil {
				return mcpserver.Result{}, err // channel.ErrBlocked tells the agent to end its turn
			}
			if answer.Text != "post it" {
				return mcpserver.Result{Text: "A person refused the comment. It was not posted.", IsError: true}, nil
			}
			// Two calls of the same text share one question: one yes is one comment.
			if _, acted := done.LoadOrStore(answer.QuestionID, true); acted {
				return mcpserver.Result{Text: "This confirmation was acted on already, and nothing was posted again."}, nil
			}
			if err := post(ctx, in.Text); err != nil {
				return mcpserver.Result{}, err
			}
			return mcpserver.Result{Text: "Posted."}, nil
		},
	})
}

// TestPostComment: what a person says yes to is done once, whatever the agent
// repeats; that nobody is there and a no are told to the agent, and nothing is done.
func TestPostComment(t *testing.T) {
	ctx := t.Context()
	registry, err := mcpserver.New(mcpserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry)
	defer server.Close()
	defer registry.Shutdown(context.WithoutCancel(ctx))

	var posts []string
	live := channel.NewLive(channel.LiveOptions{})
	tool, err := postComment(live, 5*time.Minute, func(_ context.Context, text string) error {
		posts = append(posts, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	minted, err := registry.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "task-17"}, Tools: []*mcpserver.Tool{tool}})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: server.URL, HTTPClient: &http.Client{Transport: withToken(minted.Token.Reveal())},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	check := func(text, says string, isError bool, posted int) {
		t.Helper()
		res, err := agent.CallTool(ctx, &mcp.CallToolParams{Name: "post_comment", Arguments: map[string]any{"text": text}})
		if err != nil {
			t.Fatal(err)
		}
		if said := res.Content[0].(*mcp.TextContent).Text; !strings.Contains(said, says) || res.IsError != isError || len(posts) != posted {
			t.Errorf("%q: %q, %v", text, said, posts)
		}
	}

	served := make(chan error, 1)
	go func() {
		served <- live.Serve(ctx, func(context.Context, channel.Question) (string, error) { return "do not", nil })
	}()
	check("No thanks.", "refused", true, 0)
	live.Close() // the person has left
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	check("Thanks!", "End your turn now", false, 0)
	q, _, err := live.Fallback().PendingQuestion(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Answer(ctx, q.ID, "post it"); err != nil { // and is back
		t.Fatal(err)
	}
	check("Thanks!", "Posted.", false, 1)
	check("Thanks!", "acted on already", false, 1)
}

type withToken string

func (token withToken) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(req)
}
