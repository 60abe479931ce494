package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/bridge"
	"github.com/plugberth/plugberth/mcpserver/catalog"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
	"github.com/plugberth/plugberth/skills/staging"
)

// surface is where this host's agents see tools. A host that has several kinds of
// runs has a surface for each.
const surface = "chat"

// host is what runs plugins and serves agents.
type host struct {
	story    *story
	dataRoot string
	plugins  []*plugin.Plugin

	clients  *mcpclient.Host     // runs the servers of the plugins
	catalog  *catalog.Catalog    // the tools that agents may see
	mcp      *bridge.MCP         // puts those of the servers into it
	skills   *bridge.Skills      // puts two tools for all skills into it
	set      *skills.Set         // the skills
	registry *mcpserver.Registry // serves agents
	web      *http.Server
	url      string

	store    channel.MemoryStore // what the agent says; a real host has a database
	buffered *channel.Buffered
}

// newHost makes a host that serves on this machine. It has to be closed.
func newHost(ctx context.Context, s *story, p policy) (_ *host, err error) {
	h := &host{story: s, dataRoot: p.dataRoot}
	h.buffered = channel.NewBuffered(&h.store)
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	h.clients, err = mcpclient.NewHost(mcpclient.HostOptions{
		Options: mcpclient.Options{
			DataRoot:    p.dataRoot,
			Consent:     p.consent,
			Egress:      mcpclient.DesktopEgress(), // in a service ServiceEgress
			Credentials: p.credentials.of,
		},
		OnCall: func(r mcpclient.CallRecord) {
			s.say(thePlugin, "%s answers %s (%s, %d bytes)", r.Server, oneLine(r.Local, 40), r.Outcome, r.Bytes)
		},
	})
	if err != nil {
		return nil, err
	}
	if h.catalog, err = catalog.New(catalog.Options{}); err != nil {
		return nil, err
	}
	everywhere := []string{surface}
	h.mcp, err = bridge.NewMCP(h.clients, h.catalog, bridge.MCPOptions{
		Surfaces: func(mcpclient.Tool) []string { return everywhere },
	})
	if err != nil {
		return nil, err
	}
	h.skills = bridge.NewSkills(h.catalog, bridge.SkillsOptions{Surfaces: everywhere})

	invokers := new(mcpserver.Invokers)
	invokers.SetSource(bridge.SourceMCP, h.mcp)
	invokers.SetSource(bridge.SourceSkills, h.skills)
	h.registry, err = mcpserver.New(mcpserver.Options{Catalog: h.catalog, Invokers: invokers, Observer: p.observer})
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h.url = "http://" + listener.Addr().String() + "/mcp"
	// No WriteTimeout: agents hold streams open. The registry bounds each write.
	h.web = &http.Server{Handler: h.registry, ReadHeaderTimeout: 10 * time.Second}
	go h.web.Serve(listener)
	return h, nil
}

// load judges the packages in some directories, and says what they hold. One that is
// rejected is no error: the host goes on without it.
func (h *host) load(ctx context.Context, dirs []string) error {
	for _, dir := range dirs {
		p, err := plugin.Load(ctx, dir, plugin.Options{})
		if rejected := new(plugin.RejectedError); errors.As(err, &rejected) {
			why := rejected.Findings.AtLeast(finding.SeverityError)[0] // there always is one
			h.story.say(theHost, "rejects %s: %s", dir, oneLine(why.String(), 200))
			continue
		}
		if err != nil {
			return err
		}
		if slices.ContainsFunc(h.plugins, func(other *plugin.Plugin) bool { return other.Name() == p.Name() }) {
			h.story.say(theHost, "leaves out %s: another package has its name, %s", dir, p.Name())
			continue
		}
		h.plugins = append(h.plugins, p)
		h.describe(p)
	}
	if len(h.plugins) == 0 {
		return errors.New("there is no package to use")
	}
	return nil
}

func (h *host) describe(p *plugin.Plugin) {
	m := p.Manifest()
	h.story.say(theHost, "loads %s: %s", strings.TrimSpace(m.Name+" "+oneLine(m.Version, 40)), oneLine(cmp.Or(m.Description, "without a description"), 90))
	var parts []string
	for _, s := range p.Skills() {
		parts = append(parts, "skill "+s.Name())
	}
	for _, s := range p.Servers() {
		parts = append(parts, string(s.Type())+" server "+oneLine(s.Name(), 40))
	}
	if len(parts) == 0 {
		parts = []string{"nothing to use"}
	}
	h.story.say(theHost, "  %s; %s", some(parts), count(len(p.Findings()), "finding"))
	for _, severity := range []finding.Severity{finding.SeverityError, finding.SeverityWarning, finding.SeverityInfo} {
		if worst := p.Findings().AtLeast(severity); len(worst) > 0 {
			h.story.say(theHost, "  such as %s", oneLine(worst[0].String(), 160))
			break
		}
	}
}

// instance is this host's one installation of a plugin. It stays the same, and the
// plugin keeps its data, when the package is updated. A name is the package's choice:
// a host that takes packages from anywhere gives each installation an id of its own.
func instance(p *plugin.Plugin) plugin.Instance { return plugin.Instance{ID: p.Name()} }

// run starts and connects to the servers of the plugins, and offers their tools and
// skills.
func (h *host) run(ctx context.Context) error {
	var sources []skills.Source
	for _, p := range h.plugins {
		if err := h.clients.Add(instance(p), p); err != nil {
			return err
		}
		sources = append(sources, p.SkillSource())
	}
	if err := h.clients.Ready(ctx); err != nil {
		return err
	}
	for _, s := range h.clients.Servers() {
		if s.Status != mcpclient.StatusConnected {
			h.story.say(thePlugin, "%s is not connected (%s): %s", s.ID, s.Status, oneLine(fmt.Sprint(s.Err), 200))
			continue
		}
		var tools []string
		for _, t := range h.clients.Tools() {
			if t.Server == s.ID {
				tools = append(tools, oneLine(t.Local, 40))
			}
		}
		h.story.say(thePlugin, "%s is connected (MCP %s), with %s: %s", s.ID, s.Info.ProtocolVersion, count(len(tools), "tool"), some(tools))
	}
	var err error
	if h.set, err = skills.NewSet(skills.SetOptions{}, sources...); err != nil {
		return err
	}
	if err := h.skills.Set(h.set); err != nil {
		return err
	}
	h.mcp.Sync() // now, and not soon
	for _, p := range slices.Concat(h.mcp.Problems(), h.skills.Problems()) {
		h.story.say(theHost, "does not offer %s as it is: %s", oneLine(p.Name, 64), oneLine(p.Reason, 100))
	}
	return nil
}

// stage copies the skills to where agent programs look for them. Programs in them
// stay behind.
func (h *host) stage(ctx context.Context, workspace string) error {
	target := staging.Target{Workspace: workspace, Dir: ".agents/skills"}
	results, err := target.Stage(ctx, staging.Items(h.set, nil)...)
	for _, r := range results {
		if r.Err != nil {
			h.story.say(theHost, "cannot stage the skill %s: %v", r.Name, r.Err)
		}
	}
	return err
}

// offered is how many tools of plugins agents see.
func (h *host) offered() int { return len(h.catalog.Snapshot().Seen(surface)) }

// kept says what is in the data directories of the plugins, as far as it can be read.
func (h *host) kept() error {
	const most = 100
	for _, p := range h.plugins {
		dir, err := plugin.DataDir(h.dataRoot, instance(p))
		if err != nil {
			return err
		}
		var files []string
		_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				files = append(files, strings.TrimPrefix(name, dir+string(filepath.Separator)))
			}
			if len(files) == most {
				return fs.SkipAll
			}
			return nil
		})
		if len(files) > 0 {
			h.story.say(theHost, "data of %s: %s", p.Name(), some(files))
		}
	}
	return nil
}

// uninstall removes what the plugins have written. A host that only stops, or updates
// a plugin, keeps it.
func (h *host) uninstall() error {
	for _, p := range h.plugins {
		if err := mcpclient.RemoveData(h.dataRoot, instance(p)); err != nil {
			return err
		}
	}
	return nil
}

// close ends the agents first, then the plugins, and returns when nothing is left.
func (h *host) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if h.registry != nil {
		_ = h.registry.Shutdown(ctx)
	}
	if h.web != nil {
		_ = h.web.Close()
	}
	if h.skills != nil {
		h.skills.Close()
	}
	if h.mcp != nil {
		h.mcp.Close()
	}
	if h.clients != nil {
		_ = h.clients.Close(ctx)
	}
}
