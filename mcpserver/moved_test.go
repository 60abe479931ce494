package mcpserver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// TestPushBesideCatalog: a registry that follows a catalog in its process takes no
// snapshot of another one, which would hide what its own declares from then on.
// [K4]
func TestPushBesideCatalog(t *testing.T) {
	p := plug(t, mcpserver.Options{}, declared("do", "Does it."))
	_, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, stateful, nil)
	later := newCatalog(t)
	declare(t, later, "evil", declared("do", "Does it."))
	if err := p.Push(t.Context(), later.Snapshot()); err == nil {
		t.Error("it was taken")
	}
	if err := p.Push(t.Context(), p.catalog.Snapshot()); err != nil {
		t.Errorf("the catalog's own: %v", err)
	}
	declare(t, p.catalog, "q", declared("do", "Does it."))
	if l := list(t, cs); len(l.Tools) != 2 || l.Tools[0].Name != "plugin_p_do" || l.Tools[1].Name != "plugin_q_do" {
		t.Errorf("%s", shown(l.Tools))
	}
}

// TestMovedWhileJudged: a run and a tool that both move to another surface while the
// host judges the call do not carry it along: it was judged for the surface before.
// [K5] [K4]
func TestMovedWhileJudged(t *testing.T) {
	var judge authorizer
	p := plug(t, mcpserver.Options{Authorizer: authorizer(func(ctx context.Context, a mcpserver.Authorization) error { return judge(ctx, a) })}, declared("do", "Does it."))
	m, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, stateful, nil)
	judged := make(chan struct{})
	judge = func(context.Context, mcpserver.Authorization) error {
		defer close(judged)
		moved := declared("do", "Does it.")
		moved.Surfaces = []string{"batch"}
		declare(t, p.catalog, "p", moved)
		return p.SetSurface(m.ID, "batch")
	}
	if res, err := tryCall(cs, "plugin_p_do", args{}); err == nil && !res.IsError || p.plugin.asked.Load() > 0 {
		t.Errorf("%+v, asked %d times", res, p.plugin.asked.Load())
	}
	<-judged // the call is over once its tool is gone, and the run moves after that
	judge = func(context.Context, mcpserver.Authorization) error { return nil }
	if res := call(t, cs, "plugin_p_do", args{}); text(res) != "done" {
		t.Errorf("%+v", res)
	}
}

// TestMovedWhileChanged: where a change of the catalog and one of the surface come so
// close that neither by itself changes what the run sees, the agent is told that both
// together did. [K4]
func TestMovedWhileChanged(t *testing.T) {
	c := newCatalog(t)
	on := func(name, surface string) catalog.Tool {
		tool := declared(name, "Does it.")
		tool.Surfaces = strings.Fields(surface)
		return tool
	}
	h := serve(t, mcpserver.Options{Limits: fast})
	push := func(tools ...catalog.Tool) {
		declare(t, c, "p", tools...)
		if err := h.Push(t.Context(), c.Snapshot()); err != nil {
			t.Fatal(err)
		}
	}
	push(on("a", "chat"))
	told := make(chan struct{}, 100)
	m, _, cs := h.link(t, mcpserver.Grant{Identity: onChat}, stateful, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} },
	})
	for round := range 5 {
		push(on("a", "chat"), on("b", "batch chat"), on(fmt.Sprint("c", round), "chat"))
		<-told // and the next telling is not due yet
		if l := list(t, cs); !strings.Contains(shown(l.Tools), "plugin_p_a") {
			t.Fatalf("%s", shown(l.Tools))
		}
		for len(told) > 0 {
			<-told
		}
		push(on("b", "batch chat"))
		if err := h.SetSurface(m.ID, "batch"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-told:
		case <-time.After(10 * time.Second):
			t.Fatalf("round %d: the agent is not told, and would see %s", round, shown(list(t, cs).Tools))
		}
		if err := h.SetSurface(m.ID, "chat"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Millisecond) // what this causes comes now, and not in the next round
		for len(told) > 0 {
			<-told
		}
	}
}
