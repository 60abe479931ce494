package snippets_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/bridge"
	"github.com/plugberth/plugberth/mcpserver/catalog"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/skills"
	"github.com/plugberth/plugberth/skills/staging"
)

// Package channel.
func Example_packageChannel() {
	var observers []channel.Observer

	store := new(channel.MemoryStore)
	buffered := channel.NewBuffered(store)
	parts := channel.Of(buffered)
	parts.Spawner = nil // this agent spawns nothing
	parts = channel.Limit(parts, channel.Limits{Questions: 3})
	parts = channel.Observe(parts, channel.ObserveOptions{Observers: observers})

	fmt.Println(parts.Asker != nil, parts.Spawner != nil)
	// Output: true false
}

// Package channel, a question that is recorded where nobody answers it.
func Example_packageChannelLive() {
	buffered := channel.NewBuffered(new(channel.MemoryStore))

	parts := channel.Of(buffered)
	parts.Asker = channel.NewLive(channel.LiveOptions{Fallback: buffered})

	fmt.Println(parts.Spawner != nil)
	// Output: true
}

// Package mcpclient.
func Example_packageMCPClient() {
	_ = func(ctx context.Context, opts mcpclient.Options, p *plugin.Plugin, arguments json.RawMessage) error {
		h, err := mcpclient.NewHost(mcpclient.HostOptions{Options: opts})
		if err != nil {
			return err
		}
		defer h.Close(ctx)
		err = h.Add(plugin.Instance{ID: "an installation"}, p)
		err = h.Ready(ctx)
		for _, tool := range h.Tools() {
			fmt.Println(tool.Name)
		}
		result, err := h.Call(ctx, "mcp__demo__files__read", arguments, mcpclient.CallOptions{})
		_ = result
		return err
	}
}

// Package mcpserver.
func Example_packageMCPServer() {
	_ = func(ctx context.Context, logger *slog.Logger, listener net.Listener, buffered *channel.Buffered, dir string) {
		registry, err := mcpserver.New(mcpserver.Options{Logger: logger})
		if err != nil {
			log.Fatal(err)
		}
		mux := http.NewServeMux()
		mux.Handle("/mcp", registry)
		server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
		go server.Serve(listener)

		minted, err := registry.Mint(mcpserver.Grant{
			Identity: mcpserver.Identity{Task: "task-17"},
			Channel:  channel.Of(buffered),
			TTL:      2 * time.Hour,
		})
		if err != nil {
			log.Fatal(err)
		}
		err = minted.WriteConfig(filepath.Join(dir, "mcp.json"), "http://127.0.0.1:8787/mcp")
		if err != nil {
			log.Fatal(err)
		}
		defer registry.Revoke(minted.ID)

		_, err = registry.Extend(minted.ID, 2*time.Hour) // a run that takes longer
		if err != nil {
			log.Fatal(err)
		}
		registry.Shutdown(ctx) // first: the streams of agents are requests to the server
		server.Shutdown(ctx)
	}
}

// Package mcpserver, the tools of plugins.
func Example_packageMCPServerCatalog() {
	_ = func(cat *catalog.Catalog, notes mcpserver.Invoker, tools []catalog.Tool) {
		var invokers mcpserver.Invokers
		invokers.Set("team-notes", notes)
		registry, err := mcpserver.New(mcpserver.Options{Catalog: cat, Invokers: &invokers})
		if err != nil {
			log.Fatal(err)
		}
		err = cat.Declare("team-notes", tools...)
		if err != nil {
			log.Fatal(err)
		}
		minted, err := registry.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "task-17", Surface: "chat"}})
		if err != nil {
			log.Fatal(err)
		}
		err = registry.SetSurface(minted.ID, "admin")
		if err != nil {
			log.Fatal(err)
		}
	}
}

// Package bridge.
func Example_packageBridge() {
	_ = func(clients *mcpclient.Host, cat *catalog.Catalog, invokers *mcpserver.Invokers) {
		mcp, err := bridge.NewMCP(clients, cat, bridge.MCPOptions{
			Surfaces: func(mcpclient.Tool) []string { return []string{"chat"} },
		})
		if err != nil {
			log.Fatal(err)
		}
		defer mcp.Close()
		invokers.SetSource(bridge.SourceMCP, mcp)
	}
}

// Package plugin.
func Example_packagePlugin() {
	ctx, dir := context.Background(), filepath.Join("..", "..", "examples", "inspect", "testdata", "demo")

	p, err := plugin.Load(ctx, dir, plugin.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Name())
	// Output: team-notes
}

// Package plugin, writing packages.
func Example_packagePluginDraft() {
	_ = func(ctx context.Context, list []skills.Draft, dir string) {
		draft := &plugin.Draft{Manifest: plugin.Manifest{Name: "reports"}, Skills: list}
		pkg, err := draft.Build(ctx, plugin.BuildOptions{})
		if err != nil {
			log.Fatal(err)
		}
		err = pkg.WriteDir(ctx, dir, plugin.WriteOptions{})
		if err != nil {
			log.Fatal(err)
		}
	}
}

// Package staging.
func Example_packageStaging() {
	_ = func(ctx context.Context, workspace string, review *skills.Skill) {
		target := staging.Target{Workspace: workspace, Dir: ".agents/skills"}
		results, err := target.Stage(ctx, staging.Item{Skill: review, Package: "reports"})
		if err != nil {
			log.Fatal(err)
		}
		for _, r := range results {
			fmt.Println(r.Name, r.Outcome)
		}
	}
}
