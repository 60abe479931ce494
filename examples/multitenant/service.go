package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/plugin"
)

// service is what all tenants share: an address, a directory and the store of
// credentials.
type service struct {
	dir    string
	vault  vault
	origin string
	server *http.Server
	// nobody answers for tenants that do not exist. It has no grants, so it says
	// the same of every token as others do of a wrong one: who asks does not learn
	// which tenants there are.
	nobody *mcpserver.Registry

	mu      sync.RWMutex
	tenants map[string]*tenant
}

// serve makes a service that keeps everything in dir, and listens on this machine.
func serve(ctx context.Context, dir string) (*service, error) {
	s := &service{dir: dir, tenants: map[string]*tenant{}}
	var err error
	if s.nobody, err = mcpserver.New(mcpserver.Options{}); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.origin = "http://" + listener.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("/{tenant}/mcp", func(w http.ResponseWriter, r *http.Request) {
		s.registry(r.PathValue("tenant")).ServeHTTP(w, r)
	})
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go s.server.Serve(listener)
	return s, nil
}

// registry returns what serves the agents of a tenant. The name in the URL only
// says where to look a token up. It is the token that decides: it is known to one
// tenant's registry and to no other.
func (s *service) registry(tenant string) *mcpserver.Registry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if t := s.tenants[tenant]; t != nil {
		return t.registry
	}
	return s.nobody
}

// url is where the agents of a tenant connect to.
func (s *service) url(tenant string) string {
	return s.origin + "/" + url.PathEscape(tenant) + "/mcp"
}

// admit makes a tenant.
func (s *service) admit(name string) (*tenant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.tenants == nil:
		return nil, errors.New("the service is closed")
	case name == "" || s.tenants[name] != nil:
		return nil, fmt.Errorf("there cannot be another tenant %q", name)
	}
	t, err := newTenant(name, s.packages(), s.data(), &s.vault)
	if err != nil {
		return nil, err
	}
	s.tenants[name] = t
	return t, nil
}

// Where packages and the plugins' data are kept.
func (s *service) packages() string { return filepath.Join(s.dir, "packages") }
func (s *service) data() string     { return filepath.Join(s.dir, "data") }

// close ends everything. What tenants have installed stays in the directory.
func (s *service) close(ctx context.Context) error {
	// It takes a moment also when ctx has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	s.mu.Lock()
	tenants := slices.Collect(maps.Values(s.tenants))
	s.tenants = nil
	s.mu.Unlock()
	errs := make([]error, len(tenants))
	var closing sync.WaitGroup
	for i, t := range tenants {
		closing.Go(func() { errs[i] = t.close(ctx) })
	}
	closing.Wait()
	return errors.Join(append(errs, s.nobody.Shutdown(ctx), s.server.Close())...)
}

// vault is where a host keeps what tenants have entrusted to it. This one is in
// memory.
type vault struct {
	mu   sync.Mutex
	keys map[secret]mcpclient.Credentials
}

// secret names a credential: the installation and the server that get it, and the
// origin of a remote one, which is empty for a program. The names of plugins and
// servers alone would not do: a package chooses them itself.
type secret struct {
	instance       plugin.Instance
	server, origin string
}

func (v *vault) put(s secret, key mcpclient.Credentials) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys == nil {
		v.keys = map[secret]mcpclient.Credentials{}
	}
	v.keys[s] = key
}

// credentials gives a server its tenant's, none where there are none. The tenant
// is part of what names the server: there is no way to ask for another's. So is
// the origin: what was entrusted for one does not go to another.
func (v *vault) credentials(_ context.Context, req mcpclient.CredentialsRequest) (mcpclient.Credentials, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.keys[secret{req.ID.Instance, req.ID.Server, req.Origin}], nil
}

// forget drops what an installation was given: another package of its name would
// get it.
func (v *vault) forget(instance plugin.Instance) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.keys, func(s secret, _ mcpclient.Credentials) bool { return s.instance == instance })
}
