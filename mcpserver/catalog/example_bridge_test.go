package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// A host offers tools from a source of its own, under the names that they have
// there.
func ExampleCatalog_Bridge() {
	c, err := catalog.New(catalog.Options{Reserved: []string{"deploy"}})
	if err != nil {
		log.Fatal(err)
	}
	tool := func(name, schema string) catalog.Tool {
		return catalog.Tool{Name: name, InputSchema: json.RawMessage(schema), Surfaces: []string{"chat"}}
	}
	var good []catalog.Tool
	for _, t := range []catalog.Tool{tool("Search-Wiki", `{"type": "object"}`), tool("broken", `[]`)} {
		if err := t.CheckBridged(); err != nil { // or it would keep back the others
			fmt.Println("left out:", t.Name, errors.Is(err, catalog.ErrDeclaration))
			continue
		}
		good = append(good, t)
	}
	if err := c.Bridge("wiki", "", good...); err != nil {
		log.Fatal(err)
	}
	for _, e := range c.Snapshot().Entries() {
		fmt.Println(e.Name, e.Source, e.On("chat"), e.On("batch"))
	}
	err = c.Bridge("ops", "", tool("deploy", `{"type": "object"}`))
	var refused *catalog.DeclarationError
	fmt.Println(errors.As(err, &refused) && refused.Tool == "deploy", errors.Is(err, catalog.ErrCollision))
	// Output:
	// left out: broken true
	// Search-Wiki wiki true false
	// true true
}

// A plugin's author sees under which name agents will see a tool.
func ExampleExposedName() {
	fmt.Println(catalog.ExposedName("plugin", "team-notes", "search"))
	// Output: plugin_team_notes_search
}

// What follows a catalog takes a snapshot for each signal, and misses none.
func ExampleCatalog_Watch() {
	var c catalog.Catalog
	changed, stop := c.Watch()
	defer stop()
	<-changed // one is there from the beginning
	seen := c.Snapshot()
	if err := c.Declare("team-notes", catalog.Tool{Name: "search", Description: "Searches.", InputSchema: json.RawMessage(`{"type": "object"}`)}); err != nil {
		log.Fatal(err)
	}
	<-changed
	fmt.Println(c.Snapshot().Newer(seen), c.Snapshot().Len())
	// Output: true 1
}
