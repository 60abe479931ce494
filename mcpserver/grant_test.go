package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// TestOwnTimeout: a tool of a catalog has the time that its declaration says, and
// any other that of the limits.
func TestOwnTimeout(t *testing.T) {
	quick, slow := declared("quick", "d"), declared("slow", "d")
	slow.Timeout = time.Hour
	p := plug(t, mcpserver.Options{Limits: mcpserver.Limits{Invoke: time.Minute}}, quick, slow)
	left := make(chan time.Duration, 1)
	p.plugin.invoke = func(ctx context.Context, _ mcpserver.Invocation) (mcpserver.Result, error) {
		deadline, _ := ctx.Deadline()
		left <- time.Until(deadline)
		return mcpserver.Result{Text: "done"}, nil
	}
	cs := p.connect(t, p.mint(t, mcpserver.Grant{Identity: mcpserver.Identity{Task: "t", Surface: "chat"}}).Token.Reveal(), stateless, nil)
	for name, most := range map[string]time.Duration{"plugin_p_quick": time.Minute, "plugin_p_slow": time.Hour} {
		call(t, cs, name, args{})
		if got := <-left; got > most || got < most/2 {
			t.Errorf("%s has %v", name, got)
		}
	}
}

// TestOmit: a name that is no tool of the channel is an error that says which, and
// a tool that the channel does not have may be left out.
func TestOmit(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	parts := channel.Parts{Summarizer: &run{}}
	if _, err := h.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "t"}, Channel: parts, Omit: []string{"spawn"}}); !errors.Is(err, mcpserver.ErrGrant) || !strings.Contains(err.Error(), `"spawn"`) {
		t.Error(err)
	}
	m := h.mint(t, mcpserver.Grant{Channel: parts, Omit: []string{mcpserver.ToolSpawnSubtask, mcpserver.ToolAskUser}})
	list, err := h.connect(t, m.Token.Reveal(), stateless, nil).ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != mcpserver.ToolReportSummary {
		t.Errorf("%+v %v", list, err)
	}
}

// TestSurfaceOfNothing: a grant for a surface that no tool lists leaves a record for
// whoever looks for the reason.
func TestSurfaceOfNothing(t *testing.T) {
	p := plug(t, mcpserver.Options{}, declared("do", "d"))
	const record = "no tool of the catalog is on the surface"
	p.mint(t, mcpserver.Grant{Identity: mcpserver.Identity{Task: "t", Surface: "chat"}})
	p.mint(t, mcpserver.Grant{Identity: mcpserver.Identity{Task: "t"}})
	if strings.Contains(p.logged.String(), record) {
		t.Error(p.logged.String())
	}
	p.mint(t, mcpserver.Grant{Identity: mcpserver.Identity{Task: "t", Surface: "chta"}})
	if !strings.Contains(p.logged.String(), record) || !strings.Contains(p.logged.String(), `"surface":"chta"`) {
		t.Error(p.logged.String())
	}
}

// TestServerName: the name of the options is that of the server in configurations
// and in the handshake, and has to be one that programs can put into the names of
// tools.
func TestServerName(t *testing.T) {
	for _, bad := range []string{"a b", "tools.example", "<x>", strings.Repeat("a", 65)} {
		if _, err := mcpserver.New(mcpserver.Options{Name: bad}); err == nil || !strings.Contains(err.Error(), "Options.Name") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	h := serve(t, mcpserver.Options{Name: "desk"})
	m := h.mint(t, mcpserver.Grant{})
	with, err := m.Config(h.url)
	if err != nil || !strings.HasPrefix(string(with), `{"mcpServers":{"desk":{`) {
		t.Errorf("%v", err)
	}
	without, err := h.ConfigFromEnvironment(h.url)
	if err != nil || !strings.HasPrefix(string(without), `{"mcpServers":{"desk":{`) {
		t.Errorf("%s %v", without, err)
	}
	if info := h.connect(t, m.Token.Reveal(), stateful, nil).InitializeResult().ServerInfo; info.Name != "desk" {
		t.Errorf("%+v", info)
	}
}

// TestNewRun: a host tests what it gives to a registry with runs of its own.
func TestNewRun(t *testing.T) {
	labels := map[string]string{"tenant": "blue"}
	made := mcpserver.NewRun("g1", mcpserver.Identity{Task: "t"}, labels)
	labels["tenant"] = "red"
	got, ok := mcpserver.RunFromContext(mcpserver.ContextWithRun(t.Context(), made))
	if !ok || got.GrantID != "g1" || got.Identity.Task != "t" || got.Label("tenant") != "blue" {
		t.Errorf("%+v %v", got, ok)
	}
	judge := mcpserver.CatalogAuthorizer{Belong: func(_ context.Context, run mcpserver.Run) error {
		if run.Label("tenant") != "blue" {
			return errors.New("no")
		}
		return nil
	}}
	if err := judge.Authorize(t.Context(), mcpserver.Authorization{Run: made, Tool: "x", Snapshot: new(catalog.Snapshot)}); !errors.Is(err, mcpserver.ErrNotDeclared) {
		t.Error(err)
	}
}

// TestFuncs: functions are observers and authorizers.
func TestFuncs(t *testing.T) {
	seen := make(chan mcpserver.Event, 10)
	var invokers mcpserver.Invokers
	invokers.Set("p", &invoker{})
	cat := newCatalog(t)
	declare(t, cat, "p", declared("do", "d"))
	h := serve(t, mcpserver.Options{
		Catalog: cat, Invokers: &invokers,
		Observer:   mcpserver.ObserverFunc(func(ev mcpserver.Event) { seen <- ev }),
		Authorizer: mcpserver.AuthorizerFunc(func(context.Context, mcpserver.Authorization) error { return errors.New("no") }),
	})
	cs := h.connect(t, h.mint(t, mcpserver.Grant{Identity: mcpserver.Identity{Task: "t", Surface: "chat"}}).Token.Reveal(), stateless, nil)
	call(t, cs, "plugin_p_do", args{})
	if ev := <-seen; ev.Outcome != mcpserver.OutcomeDenied || ev.At.IsZero() {
		t.Errorf("%+v", ev)
	}
}
