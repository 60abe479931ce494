package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// A host offers the tools of its plugins, and carries out their calls.
func ExampleInvoker() {
	cat, err := catalog.New(catalog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var invokers mcpserver.Invokers
	registry, err := mcpserver.New(mcpserver.Options{Catalog: cat, Invokers: &invokers})
	if err != nil {
		log.Fatal(err)
	}
	defer registry.Shutdown(context.Background())

	invokers.Set("team-notes", mcpserver.InvokerFunc(func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
		// Ask the plugin, for the run that the token is bound to.
		return mcpserver.Result{Text: inv.Tool.Tool.Name + " for " + inv.Run.Identity.Task}, nil
	}))
	err = cat.Declare("team-notes", catalog.Tool{
		Name:        "search",
		Description: "Searches the notes of the team.",
		InputSchema: json.RawMessage(`{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}`),
		Surfaces:    []string{"chat"},
	})
	if err != nil {
		log.Fatal(err)
	}
	minted, err := registry.Mint(mcpserver.Grant{
		Identity: mcpserver.Identity{Task: "task-17", Surface: "chat"},
	})
	if err != nil {
		log.Fatal(err)
	}
	// The agent of this grant sees plugin_team_notes_search. Moved to another
	// surface, it does not.
	fmt.Println(registry.SetSurface(minted.ID, "batch"))
	fmt.Println(len(registry.Snapshot().Seen("chat")), len(registry.Snapshot().Seen("batch")))
	// Output:
	// <nil>
	// 1 0
}

// A host that knows which task a session belongs to has each call judged by that
// too.
func ExampleCatalogAuthorizer() {
	taskOf := map[string]string{"session-1": "task-17"}
	authorizer := mcpserver.CatalogAuthorizer{
		Belong: func(_ context.Context, run mcpserver.Run) error {
			if taskOf[run.Identity.Session] != run.Identity.Task {
				return errors.New("the session is not of the task")
			}
			return nil
		},
	}
	err := authorizer.Authorize(context.Background(), mcpserver.Authorization{
		Run:  mcpserver.Run{Identity: mcpserver.Identity{Task: "task-18", Session: "session-1"}},
		Tool: "plugin_team_notes_search",
	})
	fmt.Println(errors.Is(err, mcpserver.ErrIdentity))
	// Output: true
}
