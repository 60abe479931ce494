// Package snippets_test holds the Go code that the documentation shows.
package snippets_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/bridge"
	"github.com/plugberth/plugberth/mcpserver/catalog"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// What the host has and the documentation does not show.
var (
	secrets interface {
		For(ctx context.Context, instance plugin.Instance, server, origin string) (token string, ok bool)
	}
	approvals interface {
		Has(instance plugin.Instance, server, digest string) bool
	}
	currentTenants interface {
		Owns(tenant, task string) bool
	}
)

// install puts an archive into its place and loads it.
func install(ctx context.Context, file, dir, lastHash string) (*plugin.Plugin, error) {
	archive, err := plugin.OpenArchive(ctx, file, plugin.Bounds{})
	if err != nil {
		return nil, err // not an archive, over the bounds, or one that is abused for something
	}
	if _, err := archive.Load(ctx, plugin.Options{}); err != nil {
		return nil, err // not a plugin: nothing was written
	}
	if err := archive.Unpack(ctx, dir, plugin.WriteOptions{Replace: lastHash}); err != nil {
		return nil, err
	}
	return plugin.Load(ctx, dir, plugin.Options{})
}

func update(ctx context.Context, installed, next *plugin.Plugin) error {
	diff, err := plugin.Compare(ctx, installed, next, plugin.Bounds{})
	if err != nil {
		return err
	}
	for _, s := range diff.Servers {
		fmt.Println(s.Kind, finding.Escape(s.Name), s.Fields)
		if server := next.Server(s.Name); server != nil { // nil where it was removed
			if remote, ok := server.Remote(); ok {
				fmt.Println("  connects to", finding.Escape(remote.URL))
			}
		}
	}
	if !diff.Same() {
		fmt.Println(len(diff.Files), "files differ") // any of them may be code
	}
	return nil
}

func policy(dataRoot string, logger *slog.Logger) mcpclient.Options {
	return mcpclient.Options{
		Consent: func(ctx context.Context, req mcpclient.ConsentRequest) error {
			if approvals.Has(req.ID.Instance, req.ID.Server, req.Digest) {
				return nil
			}
			return errors.New("not approved by the workspace's owner")
		},
		DataRoot: dataRoot,
		Egress:   mcpclient.ServiceEgress(),
		Credentials: func(ctx context.Context, req mcpclient.CredentialsRequest) (mcpclient.Credentials, error) {
			token, ok := secrets.For(ctx, req.ID.Instance, req.ID.Server, req.Origin)
			if !ok {
				return mcpclient.Credentials{}, nil
			}
			return mcpclient.Credentials{
				Headers: http.Header{"Authorization": {"Bearer " + token}},
			}, nil
		},
		Logger: logger,
	}
}

func loadAndLog(ctx context.Context, dir string) error {
	p, err := plugin.Load(ctx, dir, plugin.Options{})
	if err != nil {
		return err // plugin: rejected: plugin.json:3:11: error: …
	}
	for _, f := range p.Findings() {
		log.Println(f)
	}
	return nil
}

func runServers(ctx context.Context, p *plugin.Plugin, options mcpclient.Options, arguments json.RawMessage) error {
	host, err := mcpclient.NewHost(mcpclient.HostOptions{Options: options})
	if err != nil {
		return err
	}
	defer host.Close(ctx)
	if err := host.Add(plugin.Instance{ID: "installation 1"}, p); err != nil {
		return err
	}
	if err := host.Ready(ctx); err != nil {
		return err
	}
	for _, s := range host.Servers() {
		log.Println(s.ID, s.Status, s.Err) // one that failed costs its own tools only
	}
	for _, tool := range host.Tools() {
		log.Println(tool.Name, tool.Description)
	}
	result, err := host.Call(ctx, "mcp__demo__files__read", arguments, mcpclient.CallOptions{})
	if err != nil {
		return err
	}
	log.Println(mcpclient.ResultText("mcp__demo__files__read", result, 0)) // for a prompt
	return nil
}

func pins(file string) (*mcpclient.Pins, error) {
	pins := new(mcpclient.Pins)
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, pins)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return pins, nil
}

func acceptAll(host *mcpclient.Host, approve func(mcpclient.Tool) bool) {
	for _, tool := range host.Held() {
		if approve(tool) {
			host.Accept(tool)
		}
	}
}

// endpoint serves runs of agents on one URL.
func endpoint(cat *catalog.Catalog, invokers *mcpserver.Invokers, logger *slog.Logger) (*mcpserver.Registry, *http.Server, error) {
	registry, err := mcpserver.New(mcpserver.Options{
		Logger:   logger,
		Catalog:  cat,
		Invokers: invokers,
		Hosts:    []string{"agents.example.com"}, // behind a proxy that passes Host on
	})
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", registry)
	server := &http.Server{
		Addr:              "127.0.0.1:8787",
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second, // no ReadTimeout and no WriteTimeout: they would end every stream
	}
	return registry, server, nil
}

func startRun(registry *mcpserver.Registry, store channel.Store, private string) error {
	buffered := channel.NewBuffered(store)
	minted, err := registry.Mint(mcpserver.Grant{
		Identity: mcpserver.Identity{Task: "task-17", Session: "1", Surface: "chat"},
		Channel:  channel.Limit(channel.Of(buffered), channel.Limits{}),
		Labels:   map[string]string{"customer": "c-7"}, // for your tools and logs
		TTL:      2 * time.Hour,
	})
	if err != nil {
		return err
	}
	defer registry.Revoke(minted.ID)
	file := filepath.Join(private, "mcp.json") // not in a checkout: it holds the token
	defer os.Remove(file)
	err = minted.WriteConfig(file, "http://127.0.0.1:8787/mcp")
	return err
}

func afterRun(ctx context.Context, buffered *channel.Buffered) error {
	question, ok, err := buffered.PendingQuestion(ctx)
	if err != nil {
		return err
	}
	if ok {
		// Show it. When somebody has answered, today or next week:
		err = buffered.Answer(ctx, question.ID, "yes")
	}
	// Then start the agent again, with a new grant on the same store.
	return err
}

func ownTool() (*mcpserver.Tool, error) {
	return mcpserver.NewTool(mcpserver.ToolDef{
		Name:        "open_ticket",
		Description: "Opens a ticket in the tracker. Use when something has to be done by a person.",
		InputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {"title": {"type": "string", "maxLength": 200}},
			"required": ["title"],
			"additionalProperties": false
		}`),
		Handler: func(ctx context.Context, call mcpserver.Call) (mcpserver.Result, error) {
			run, _ := mcpserver.RunFromContext(ctx) // whose call it is: from the token, not from the agent
			var in struct{ Title string }
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return mcpserver.Result{}, err
			}
			return mcpserver.Result{Text: "opened for " + run.Label("customer") + ": " + in.Title}, nil
		},
	})
}

func bridges(host *mcpclient.Host, set *skills.Set, invokers *mcpserver.Invokers) (*catalog.Catalog, func(), error) {
	cat, err := catalog.New(catalog.Options{})
	if err != nil {
		return nil, nil, err
	}
	servers, err := bridge.NewMCP(host, cat, bridge.MCPOptions{
		Surfaces: func(mcpclient.Tool) []string { return []string{"chat"} },
	})
	if err != nil {
		return nil, nil, err
	}
	invokers.SetSource(bridge.SourceMCP, servers)
	skillTools := bridge.NewSkills(cat, bridge.SkillsOptions{Surfaces: []string{"chat"}})
	if err := skillTools.Set(set); err != nil {
		return nil, nil, err
	}
	invokers.SetSource(bridge.SourceSkills, skillTools)
	return cat, func() { skillTools.Close(); servers.Close() }, nil
}

func prompt(p *plugin.Plugin) (string, error) {
	set, err := skills.NewSet(skills.SetOptions{}, p.SkillSource())
	if err != nil {
		return "", err
	}
	rendered, err := skills.CatalogXML(set.Offers(), skills.CatalogOptions{})
	if err != nil {
		return "", err
	}
	return rendered.Text, nil
}

func authorizer() mcpserver.Authorizer {
	return mcpserver.CatalogAuthorizer{
		Belong: func(ctx context.Context, run mcpserver.Run) error {
			if !currentTenants.Owns(run.Identity.Workspace, run.Identity.Task) {
				return errors.New("the task has moved to another workspace")
			}
			return nil
		},
	}
}

func stop(ctx context.Context, registry *mcpserver.Registry, backlog *channel.Backlog, server *http.Server, host *mcpclient.Host) error {
	return errors.Join(
		registry.Shutdown(ctx), // first: the streams of agents are requests to the server
		backlog.Wait(ctx),      // observers of channels hear the rest
		server.Shutdown(ctx),
		host.Close(ctx),
	)
}

func uninstall(host *mcpclient.Host, pins *mcpclient.Pins, dataRoot string, instance plugin.Instance) error {
	if err := host.Remove(instance); err != nil {
		return err // a process that is still there uses the data
	}
	pins.Forget(instance)
	return mcpclient.RemoveData(dataRoot, instance)
}
