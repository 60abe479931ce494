package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os/exec"
	"strings"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// A run takes longer than planned. Its token stays the same.
func ExampleRegistry_Extend() {
	registry, err := mcpserver.New(mcpserver.Options{Limits: mcpserver.Limits{Lifetime: 24 * time.Hour}})
	if err != nil {
		log.Fatal(err)
	}
	minted, err := registry.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "task-17"}, TTL: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	ends, err := registry.Extend(minted.ID, 3*time.Hour)
	fmt.Println(ends.After(minted.ExpiresAt), err)
	info, live := registry.Grant(minted.ID)
	fmt.Println(live, info.ExpiresAt.Equal(ends))
	_, err = registry.Extend(minted.ID, 48*time.Hour)
	fmt.Println(errors.Is(err, mcpserver.ErrGrant))
	// Output:
	// true <nil>
	// true true
	// true
}

// metrics count what agents do and hear what becomes of grants.
type metrics map[mcpserver.Outcome]int

func (m metrics) Observe(ev mcpserver.Event) { // a real one locks, or sends
	switch ev.Kind {
	case mcpserver.EventCall:
		m[ev.Outcome]++
	case mcpserver.EventRevoked, mcpserver.EventExpired:
		fmt.Println("the grant of", ev.Run.Identity.Task, "of team", ev.Run.Label("team"), "ended:", ev.Kind)
	case mcpserver.EventExtended:
		fmt.Println("it goes on until", ev.ExpiresAt)
	}
}

// An observer gets as data what the log says.
func ExampleObserver() {
	registry, err := mcpserver.New(mcpserver.Options{Observer: metrics{}})
	if err != nil {
		log.Fatal(err)
	}
	minted, err := registry.Mint(mcpserver.Grant{
		Identity: mcpserver.Identity{Task: "task-17"},
		Labels:   map[string]string{"team": "blue"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, info := range registry.Grants() {
		fmt.Println(info.Identity.Task, "has", info.Sessions, "sessions and", info.Calls, "calls")
	}
	registry.Revoke(minted.ID)
	// Output:
	// task-17 has 0 sessions and 0 calls
	// the grant of task-17 of team blue ended: revoked
}

// A program that takes its configuration with names of variables gets the token by
// its environment, which no argument list shows.
func ExampleRegistry_ConfigFromEnvironment() {
	registry, err := mcpserver.New(mcpserver.Options{})
	if err != nil {
		log.Fatal(err)
	}
	minted, err := registry.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "task-17"}})
	if err != nil {
		log.Fatal(err)
	}
	const endpoint = "http://127.0.0.1:8787/mcp"
	config, err := registry.ConfigFromEnvironment(endpoint)
	if err != nil {
		log.Fatal(err)
	}
	environment, err := minted.Environment(endpoint)
	if err != nil {
		log.Fatal(err)
	}
	program := exec.Command("agent", "--mcp-config", "mcp.json")
	program.Env = append(program.Environ(), environment...)

	fmt.Println(strings.Contains(string(config), "${"+mcpserver.EnvToken+"}"))
	fmt.Println(environment[0] == mcpserver.EnvURL+"="+endpoint)
	// Output:
	// true
	// true
}

// budget is an authorizer of a host: each run has so many calls.
type budget struct {
	mcpserver.CatalogAuthorizer
	left map[string]int // a real one locks
}

func (b budget) Authorize(ctx context.Context, a mcpserver.Authorization) error {
	if err := b.CatalogAuthorizer.Authorize(ctx, a); err != nil {
		return err
	}
	if b.left[a.Run.GrantID] == 0 {
		return &channel.Refusal{Text: "Not done: this run has used up its calls of plugins."}
	}
	b.left[a.Run.GrantID]--
	return nil
}

// A host's authorizer says in words for the agent why a call is not allowed.
func ExampleAuthorizer() {
	var cat catalog.Catalog
	err := cat.Declare("team-notes", catalog.Tool{
		Name: "search", Description: "Searches.", InputSchema: json.RawMessage(`{"type": "object"}`), Surfaces: []string{"chat"},
	})
	if err != nil {
		log.Fatal(err)
	}
	var authorizer mcpserver.Authorizer = budget{left: map[string]int{"g1": 1}} // for Options.Authorizer
	call := mcpserver.Authorization{
		Run:  mcpserver.Run{GrantID: "g1", Identity: mcpserver.Identity{Task: "task-17", Surface: "chat"}},
		Tool: "plugin_team_notes_search", Arguments: json.RawMessage(`{}`), Snapshot: cat.Snapshot(),
	}
	for range 2 {
		err := authorizer.Authorize(context.Background(), call)
		text, refused := channel.AgentText(err)
		fmt.Printf("%t %t %q\n", err == nil, refused, text)
	}
	call.Run.Identity.Surface = "batch"
	fmt.Println(errors.Is(authorizer.Authorize(context.Background(), call), mcpserver.ErrSurface))
	// Output:
	// true false ""
	// false true "Not done: this run has used up its calls of plugins."
	// true
}

// A registry in a worker process takes snapshots of the catalog that its backend
// owns, as they come over the wire.
func ExampleRegistry_Push() {
	var backend catalog.Catalog
	err := backend.Declare("team-notes", catalog.Tool{
		Name: "search", Description: "Searches.", InputSchema: json.RawMessage(`{"type": "object"}`), Surfaces: []string{"chat"},
	})
	if err != nil {
		log.Fatal(err)
	}
	wire, err := json.Marshal(backend.Snapshot())
	if err != nil {
		log.Fatal(err)
	}

	worker, err := mcpserver.New(mcpserver.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer worker.Shutdown(context.Background())
	snapshot := new(catalog.Snapshot)
	if err := json.Unmarshal(wire, snapshot); err != nil { // judges each tool again
		log.Fatal(err)
	}
	for range 2 { // a second time changes nothing
		if err := worker.Push(context.Background(), snapshot); err != nil {
			log.Fatal(err)
		}
	}
	current := worker.Snapshot()
	fmt.Println(current.Revision(), current.Generation() == backend.Snapshot().Generation(), current.Entries()[0].Plugin)
	// Output: 2 true team-notes
}

// A host leaves out a tool of the channel, and authenticates another request of
// its agent by the same token.
func ExampleRegistry_LookupToken() {
	registry, err := mcpserver.New(mcpserver.Options{})
	if err != nil {
		log.Fatal(err)
	}
	minted, err := registry.Mint(mcpserver.Grant{
		Identity: mcpserver.Identity{Task: "task-17", Workspace: "/srv/17"},
		Channel:  channel.Of(channel.NewBuffered(new(channel.MemoryStore))),
		Omit:     []string{mcpserver.ToolSpawnSubtask},
	})
	if err != nil {
		log.Fatal(err)
	}
	info, ok := registry.LookupToken(minted.Token.Reveal()) // as it came in a header
	fmt.Println(ok, info.ID == minted.ID, info.Identity.Workspace)
	registry.RevokeTask("task-17")
	_, ok = registry.LookupToken(minted.Token.Reveal())
	fmt.Println(ok)
	// Output:
	// true true /srv/17
	// false
}
