package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

// scene shows what two tenants of a service do, and what they cannot.
func scene(ctx context.Context, out io.Writer, service *service) error {
	s := &script{ctx: ctx, out: out, service: service}
	v10, v11 := s.release("1.0.0"), s.release("1.1.0")

	s.say("Acme and Borealis install the plugin notes, each for itself.")
	acme, borealis := s.tenant("acme"), s.tenant("borealis")
	s.install(acme, v10)
	s.install(borealis, v10)

	s.say("Each has an agent at work.")
	s.agent(acme)
	defer acme.leave()
	s.agent(borealis)
	defer borealis.leave()
	s.call(acme, "add", `{"text": "ship on Friday"}`)
	s.call(borealis, "list", `{}`)
	s.call(acme, "list", `{}`)

	s.say("The agent of Borealis tries to reach what is Acme's.")
	s.attempt(borealis, "its token and Acme's session, at Acme's address", "acme", acme)
	s.attempt(borealis, "its token and Acme's session, at its own address", "borealis", acme)
	s.attempt(borealis, "its token and session, at an address of nobody", "nobody", borealis)
	s.call(borealis, "list", `{"tenant": "acme"}`)

	s.say("Acme updates the plugin. Its data stays, and Borealis has what it had.")
	s.compare(v10, v11)
	s.install(acme, v11)
	s.look(acme)
	s.call(acme, "last", `{}`)
	s.look(borealis)

	s.say("Borealis has not paid. Its agent still sees the tools, and that is all.")
	s.suspend(borealis, true)
	s.call(borealis, "list", `{}`)
	s.say("Now it has.")
	s.suspend(borealis, false)
	s.call(borealis, "add", `{"text": "pay"}`)

	s.say("Borealis removes the plugin, and all that it has kept. Acme's notes are there.")
	s.uninstall(borealis)
	s.look(borealis)
	s.call(acme, "list", `{}`)

	s.say("Acme removes it too.")
	s.uninstall(acme)
	s.look(acme)
	return s.err
}

// party is a tenant with its agent.
type party struct {
	name   string
	tenant *tenant
	agent  *agent
}

func (p *party) leave() {
	if p.agent != nil {
		p.agent.close()
	}
}

// script plays and prints. After an error it does nothing more.
type script struct {
	ctx     context.Context
	out     io.Writer
	service *service
	err     error
}

func (s *script) say(text string) { s.printf("%s\n", text) }

// tell prints what happens to a tenant. Some of it was written by servers.
func (s *script) tell(p *party, format string, args ...any) {
	s.printf("  %-9s %s\n", p.name, finding.Escape(fmt.Sprintf(format, args...)))
}

func (s *script) printf(format string, args ...any) {
	s.try(func() error {
		_, err := fmt.Fprintf(s.out, format, args...)
		return err
	})
}

func (s *script) try(step func() error) {
	if s.err == nil {
		s.err = step()
	}
}

func (s *script) release(version string) (pkg *plugin.Package) {
	s.try(func() (err error) {
		pkg, err = release(s.ctx, version)
		return err
	})
	return pkg
}

// tenant makes a tenant that has entrusted a key to the service.
func (s *script) tenant(name string) *party {
	p := &party{name: name}
	s.try(func() (err error) {
		p.tenant, err = s.service.admit(name)
		s.service.vault.put(secret{plugin.Instance{Tenant: name, ID: "notes"}, "notes", ""}, mcpclient.Credentials{Env: map[string]string{"NOTES_KEY": rand.Text()}})
		return err
	})
	return p
}

func (s *script) install(p *party, pkg *plugin.Package) {
	s.try(func() error { return p.tenant.install(s.ctx, pkg) })
	s.try(func() error {
		for _, server := range p.tenant.clients.Servers() {
			s.tell(p, "installs notes %s: its server is %s", pkg.Version(), server.Status)
		}
		return nil
	})
}

func (s *script) uninstall(p *party) {
	s.try(func() error { return p.tenant.uninstall("notes") })
	s.try(func() error {
		kept, err := os.ReadDir(s.service.data())
		s.tell(p, "uninstalls notes: the service keeps data of %d installations", len(kept))
		return err
	})
}

// agent starts the tenant's agent, on a task that each tenant calls the same.
func (s *script) agent(p *party) {
	s.try(func() error {
		minted, err := p.tenant.mint("task-1")
		if err != nil {
			return err
		}
		p.agent, err = connect(s.ctx, s.service.url(p.name), minted.Token.Reveal())
		return err
	})
	s.look(p)
}

// tool is the name of a tool of the plugin, the same for each tenant.
func tool(local string) string { return "mcp__notes__notes__" + local }

func (s *script) look(p *party) {
	s.try(func() error {
		names, err := p.agent.tools(s.ctx)
		if len(names) == 0 {
			names = []string{"no tools"}
		}
		s.tell(p, "sees %s", strings.Join(names, ", "))
		return err
	})
}

func (s *script) call(p *party, local, arguments string) {
	s.try(func() error {
		s.tell(p, "> %s %s", tool(local), arguments)
		answer, err := p.agent.call(s.ctx, tool(local), arguments)
		s.tell(p, "< %s", answer)
		return err
	})
}

// attempt has an agent use its token at somebody's address, with somebody's
// session.
func (s *script) attempt(p *party, what, at string, session *party) {
	s.try(func() error {
		status, err := p.agent.attempt(s.ctx, s.service.url(at), session.agent.session.ID())
		s.tell(p, "%s: %d %s", what, status, http.StatusText(status))
		return err
	})
}

func (s *script) compare(from, to *plugin.Package) {
	s.try(func() error {
		changes, err := plugin.Compare(s.ctx, from.Plugin(), to.Plugin(), plugin.Bounds{})
		if err != nil {
			return err
		}
		for _, c := range changes.Servers {
			s.printf("  from %s to %s: server %s is %s: %s\n", changes.From.Version, changes.To.Version, finding.Escape(c.Name), c.Kind, strings.Join(c.Fields, ", "))
		}
		return nil
	})
}

func (s *script) suspend(p *party, suspended bool) {
	s.try(func() error {
		p.tenant.suspend(suspended)
		return nil
	})
}
