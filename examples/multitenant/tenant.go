package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/bridge"
	"github.com/plugberth/plugberth/mcpserver/catalog"
	"github.com/plugberth/plugberth/plugin"
)

// tenant is one of the users of the service, with everything that is its own.
//
// Each has its own client host, because tools go by the plugin's name: of two
// installations of one plugin, a host exposes the tools of the first alone. It has
// its own catalog for the same reason, and so its own registry, which follows one
// catalog. What a tenant does not hold it cannot show to an agent, and a token of
// another tenant is no token here.
type tenant struct {
	name     string
	packages string // the directory of all packages
	data     string // the data root of all plugins

	secrets  *vault
	clients  *mcpclient.Host
	catalog  *catalog.Catalog
	bridge   *bridge.MCP
	invokers mcpserver.Invokers
	registry *mcpserver.Registry

	changing sync.Mutex // what is installed changes once at a time

	mu        sync.Mutex
	installed map[string]*plugin.Plugin // by the plugin's name
	tasks     map[string]bool
	suspended bool
}

const (
	// surface is the one surface there is.
	surface = "agents"
	// labelTenant is the label of a grant that says whose it is.
	labelTenant = "tenant"
)

func newTenant(name, packages, data string, secrets *vault) (*tenant, error) {
	t := &tenant{name: name, packages: packages, data: data, secrets: secrets, installed: map[string]*plugin.Plugin{}, tasks: map[string]bool{}}
	var err error
	t.clients, err = mcpclient.NewHost(mcpclient.HostOptions{Options: mcpclient.Options{
		Consent:     t.consent,
		Credentials: secrets.credentials,
		DataRoot:    data,
		Egress:      mcpclient.ServiceEgress(), // nothing in the service's own network
		// Programs of all tenants run as the user of the service, who may read
		// every data directory. Where tenants do not trust each other's plugins,
		// a Launcher starts each in a container that has its own directory alone.
		Launcher: nil,
	}})
	if err != nil {
		return nil, err
	}
	if t.catalog, err = catalog.New(catalog.Options{}); err != nil {
		return nil, err
	}
	t.bridge, err = bridge.NewMCP(t.clients, t.catalog, bridge.MCPOptions{
		Surfaces: func(mcpclient.Tool) []string { return []string{surface} },
	})
	if err != nil {
		return nil, err
	}
	t.invokers.SetSource(bridge.SourceMCP, t.bridge)
	t.registry, err = mcpserver.New(mcpserver.Options{Catalog: t.catalog, Invokers: &t.invokers, Authorizer: t})
	if err != nil {
		t.bridge.Close()
		return nil, err
	}
	return t, nil
}

// close ends the tenant's agents first, whose calls get a moment to end, and then
// its servers.
func (t *tenant) close(ctx context.Context) error {
	err := t.registry.Shutdown(ctx)
	t.bridge.Close()
	return errors.Join(err, t.clients.Close(ctx))
}

// instance identifies the installation of a plugin. It is what the data directory
// goes by, and the same for all versions.
func (t *tenant) instance(name string) plugin.Instance {
	return plugin.Instance{Tenant: t.name, ID: name}
}

// consent decides whether a program may be started. That its tenant has installed
// it is what counts here; a host would also show the plan to somebody who decides.
func (t *tenant) consent(_ context.Context, req mcpclient.ConsentRequest) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case req.ID.Instance != t.instance(req.ID.Plugin) || t.installed[req.ID.Plugin] == nil:
		return errors.New("it is not installed")
	case len(req.Findings) > 0:
		return errors.New(req.Findings.String())
	}
	return nil
}

// install installs a package for the tenant, or updates to it, and returns when
// its servers run.
func (t *tenant) install(ctx context.Context, pkg *plugin.Package) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	name := pkg.Plugin().Name()
	home, err := t.home(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	// A version has a directory of its own: the servers of the old one may still
	// run in theirs. A version is any text, and a hash is good for a file name.
	dir := filepath.Join(home, strings.TrimPrefix(pkg.Hash(), "sha256:"))
	if err := pkg.WriteDir(ctx, dir, plugin.WriteOptions{}); err != nil {
		return err
	}
	p, err := plugin.Load(ctx, dir, plugin.Options{})
	if err != nil {
		return err
	}
	t.mu.Lock()
	old := t.installed[name]
	t.installed[name] = p
	t.mu.Unlock()

	// The servers of an old version end before those of the new one begin.
	if err := t.clients.Add(t.instance(name), p); err != nil {
		return err
	}
	if old != nil && old.Dir() != p.Dir() {
		if err := os.RemoveAll(old.Dir()); err != nil {
			return err
		}
	}
	if err := t.clients.Ready(ctx); err != nil {
		return err
	}
	t.bridge.Sync()
	for _, s := range t.clients.Servers() {
		if s.ID.Plugin == name && s.Err != nil {
			return fmt.Errorf("%s: %w", s.ID, s.Err)
		}
	}
	return nil
}

// uninstall takes a plugin from the tenant, with all that it has kept.
func (t *tenant) uninstall(name string) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	t.mu.Lock()
	delete(t.installed, name)
	t.mu.Unlock()
	if err := t.clients.Remove(t.instance(name)); err != nil {
		return err // a process that is still there uses the data
	}
	t.bridge.Sync()
	t.secrets.forget(t.instance(name))
	home, err := t.home(name)
	if err != nil {
		return err
	}
	return errors.Join(mcpclient.RemoveData(t.data, t.instance(name)), os.RemoveAll(home))
}

// home is the directory of the versions of a plugin. Its name is the key of the
// instance, in which no name of a tenant can be taken for another's, or for a path.
func (t *tenant) home(name string) (string, error) {
	key, err := t.instance(name).Key()
	return filepath.Join(t.packages, key), err
}

// mint makes a grant for an agent that works on a task of the tenant.
func (t *tenant) mint(task string) (mcpserver.Minted, error) {
	t.mu.Lock()
	t.tasks[task] = true
	t.mu.Unlock()
	return t.registry.Mint(mcpserver.Grant{
		Identity: mcpserver.Identity{Task: task, Surface: surface},
		Labels:   map[string]string{labelTenant: t.name}, // in each record of the log, too
	})
}

// end ends a task, and with it the access of its agents.
func (t *tenant) end(task string) {
	t.mu.Lock()
	delete(t.tasks, task)
	t.mu.Unlock()
	t.registry.RevokeTask(task)
}

// suspend says whether the tenant may use anything for now.
func (t *tenant) suspend(suspended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.suspended = suspended
}

// Authorize judges each call of a tool, by what holds now. That the token is known
// here says that it was minted here; that the run is the tenant's, its task still
// one of the tenant's, and the tenant in good standing, is asked again each time,
// because hosts have mistakes, and tenants change while agents work.
func (t *tenant) Authorize(ctx context.Context, a mcpserver.Authorization) error {
	t.mu.Lock()
	suspended, known := t.suspended, t.tasks[a.Run.Identity.Task]
	t.mu.Unlock()
	switch {
	case a.Run.Label(labelTenant) != t.name || !known:
		return fmt.Errorf("the run is not one of the tenant's: %w", mcpserver.ErrIdentity)
	case suspended:
		return &channel.Refusal{Text: "The account is suspended. End your turn."}
	}
	return mcpserver.CatalogAuthorizer{}.Authorize(ctx, a)
}
