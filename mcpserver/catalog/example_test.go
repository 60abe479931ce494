package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/plugberth/plugberth/mcpserver/catalog"
)

func Example() {
	c, err := catalog.New(catalog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	search := catalog.Tool{
		Name:        "search",
		Description: "Searches the notes of the team.",
		InputSchema: json.RawMessage(`{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}`),
		Surfaces:    []string{"chat"},
		Annotations: catalog.Annotations{ReadOnly: true, ClosedWorld: true},
	}
	if err := c.Declare("team-notes", search); err != nil {
		log.Fatal(err)
	}
	s := c.Snapshot()
	for _, e := range s.Seen("chat") {
		fmt.Println(s.Revision(), e.Name)
		fmt.Println(e.CheckInput(json.RawMessage(`{}`)))
	}
	// A declaration that breaks a rule changes nothing.
	search.Name = "Search"
	err = c.Declare("team-notes", search)
	fmt.Println(errors.Is(err, catalog.ErrDeclaration), c.Snapshot() == s)
	c.Withdraw("team-notes")
	fmt.Println(c.Snapshot().Newer(s), c.Snapshot().Len())
	// Output:
	// 2 plugin_team_notes_search
	// the value lacks "text"
	// true true
	// true 0
}

// An endpoint in another process gets snapshots as JSON.
func ExampleRefresher() {
	c, err := catalog.New(catalog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	r := catalog.NewRefresher(c, catalog.RefresherOptions{})
	defer r.Close(context.Background())
	err = r.Add("worker 1", catalog.TargetFunc(func(_ context.Context, s *catalog.Snapshot) error {
		text, err := json.Marshal(s) // and send it
		if err == nil {
			fmt.Println("worker 1 gets", len(text) > 0)
		}
		return err
	}))
	if err != nil {
		log.Fatal(err)
	}
	failed, err := r.Flush(context.Background())
	fmt.Println(len(failed), err)
	// Output:
	// worker 1 gets true
	// 0 <nil>
}
