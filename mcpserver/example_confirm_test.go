package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// A tool of a plugin that a person confirms: the call waits for the answer, and what
// the answer allows is done once. The tool has more time than the question, so that
// one without an answer is recorded and the agent told to end its turn.
func Example_confirm() {
	ctx := context.Background()
	const deadline = 5 * time.Minute
	live := channel.NewLive(channel.LiveOptions{Deadline: deadline}) // of the run
	// The person, who is at hand.
	go live.Serve(ctx, func(context.Context, channel.Question) (string, error) { return "post it", nil })
	defer live.Close()

	var acted sync.Map // the questions whose answer was acted on; of a database, to outlive the process
	post := func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
		var in struct{ Text string }
		if err := json.Unmarshal(inv.Arguments, &in); err != nil {
			return mcpserver.Result{}, err
		}
		answer, err := live.Ask(ctx, channel.Question{
			Text:    "Post this comment?\n\n" + in.Text,
			Choices: []string{"post it", "do not"}, OnlyChoices: true,
		})
		switch {
		case err != nil:
			return mcpserver.Result{}, err // channel.ErrBlocked ends the turn
		case answer.Text != "post it":
			return mcpserver.Result{Text: "A person refused the comment.", IsError: true}, nil
		}
		// Two calls of the same text share one question.
		if _, done := acted.LoadOrStore(answer.QuestionID, true); done {
			return mcpserver.Result{Text: "This confirmation was acted on already."}, nil
		}
		return mcpserver.Result{Text: "Posted."}, nil
	}

	cat := new(catalog.Catalog)
	err := cat.Declare("helpdesk", catalog.Tool{
		Name:        "post_comment",
		Description: "Posts a comment that the customer reads. A person confirms it first, and the call waits.",
		InputSchema: json.RawMessage(`{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}`),
		Surfaces:    []string{"desk"},
		Timeout:     deadline + time.Minute,
	})
	if err != nil {
		log.Fatal(err)
	}
	var invokers mcpserver.Invokers
	invokers.Set("helpdesk", mcpserver.InvokerFunc(post))
	registry, err := mcpserver.New(mcpserver.Options{Catalog: cat, Invokers: &invokers})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(registry)
	defer server.Close()
	defer registry.Shutdown(ctx)
	minted, err := registry.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "task-17", Surface: "desk"}})
	if err != nil {
		log.Fatal(err)
	}
	config, err := minted.Config(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	session := agent(config)
	defer session.Close()
	say(session, "plugin_helpdesk_post_comment", map[string]any{"text": "Thanks!"})
	// Output: Posted.
}

// A host tests its invokers, handlers and authorizers with runs of its own.
func ExampleNewRun() {
	run := mcpserver.NewRun("grant-1", mcpserver.Identity{Task: "task-17"}, map[string]string{"customer": "blue"})

	handler := func(ctx context.Context, _ mcpserver.Call) (mcpserver.Result, error) {
		run, _ := mcpserver.RunFromContext(ctx)
		return mcpserver.Result{Text: "tickets of " + run.Label("customer")}, nil
	}
	res, err := handler(mcpserver.ContextWithRun(context.Background(), run), mcpserver.Call{})
	fmt.Println(res.Text, err)

	authorizer := mcpserver.AuthorizerFunc(func(_ context.Context, a mcpserver.Authorization) error {
		if a.Run.Label("customer") != "red" {
			return errors.New("not for this customer")
		}
		return nil
	})
	fmt.Println(authorizer.Authorize(context.Background(), mcpserver.Authorization{Run: run}))
	// Output:
	// tickets of blue <nil>
	// not for this customer
}
