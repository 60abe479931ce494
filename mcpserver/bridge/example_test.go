package bridge_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/bridge"
	"github.com/plugberth/plugberth/mcpserver/catalog"
	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/skills"
)

// A host that connects to the servers of its plugins offers their tools to agents.
func ExampleNewMCP() {
	ctx := context.Background()
	clients, err := mcpclient.NewHost(mcpclient.HostOptions{Options: mcpclient.Options{Egress: mcpclient.DesktopEgress()}})
	if err != nil {
		log.Fatal(err)
	}
	defer clients.Close(ctx)
	// clients.Add(instance, plugin) …
	if err := clients.Ready(ctx); err != nil { // else tools come as servers do
		log.Fatal(err)
	}

	cat, err := catalog.New(catalog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := bridge.NewMCP(clients, cat, bridge.MCPOptions{
		Surfaces: func(t mcpclient.Tool) []string {
			if t.Annotations != nil && t.Annotations.ReadOnlyHint {
				return []string{"chat", "batch"}
			}
			return []string{"chat"}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	var invokers mcpserver.Invokers
	invokers.SetSource(bridge.SourceMCP, m)
	registry, err := mcpserver.New(mcpserver.Options{Catalog: cat, Invokers: &invokers})
	if err != nil {
		log.Fatal(err)
	}
	defer registry.Shutdown(ctx)
	fmt.Println(cat.Snapshot().Len(), "tools,", len(m.Problems()), "left out")
	// Output: 0 tools, 0 left out
}

func ExampleSkills() {
	root, err := paths.New(fstest.MapFS{
		"review/SKILL.md": {Data: []byte("---\nname: review\ndescription: Reviews a change.\n---\nBe kind.\n")},
	})
	if err != nil {
		log.Fatal(err)
	}
	listing, err := skills.Load(context.Background(), root, ".", skills.Options{})
	if err != nil {
		log.Fatal(err)
	}
	set, err := skills.NewSet(skills.SetOptions{}, skills.Source{Skills: listing.Skills})
	if err != nil {
		log.Fatal(err)
	}
	cat, err := catalog.New(catalog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	s := bridge.NewSkills(cat, bridge.SkillsOptions{Surfaces: []string{"chat"}})
	defer s.Close()
	if err := s.Set(set); err != nil { // and again after each reload
		log.Fatal(err)
	}
	var invokers mcpserver.Invokers
	invokers.SetSource(bridge.SourceSkills, s)

	tool, _ := cat.Snapshot().Lookup(bridge.ToolLoadSkill)
	fmt.Println(string(tool.InputSchema))
	res, err := s.Invoke(context.Background(), mcpserver.Invocation{Tool: tool, Arguments: []byte(`{"name": "review"}`)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text)
	// Output:
	// {"additionalProperties":false,"properties":{"name":{"enum":["review"],"type":"string"}},"required":["name"],"type":"object"}
	// <skill_content name="review" directory="review">
	// Be kind.
	// </skill_content>
}
