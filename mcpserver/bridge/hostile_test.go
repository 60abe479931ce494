package bridge_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/bridge"
)

// brittleHandler is a log handler that panics.
type brittleHandler struct{}

func (brittleHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (brittleHandler) Handle(context.Context, slog.Record) error { panic("no disk") }
func (h brittleHandler) WithAttrs([]slog.Attr) slog.Handler      { return h }
func (h brittleHandler) WithGroup(string) slog.Handler           { return h }

// TestBadPlugIns: where the host's function for surfaces panics for a tool, that
// tool is left out and reported and the others stand, and a logger that panics
// costs nothing, also while the bridge follows by itself. [K8] [Q1]
func TestBadPlugIns(t *testing.T) {
	e := newEndpoint(t)
	srv := newServer(t)
	srv.tool(&mcp.Tool{Name: "good"}, nil)
	srv.tool(&mcp.Tool{Name: "bad"}, nil)
	clients := newClients(t, mcpclient.HostOptions{})
	add(t, clients, loadPlugin(t, "demo", map[string]*server{"x": srv}))
	var calm atomic.Bool
	m, err := bridge.NewMCP(clients, e.catalog, bridge.MCPOptions{
		Logger: slog.New(brittleHandler{}),
		Surfaces: func(tool mcpclient.Tool) []string {
			if !calm.Load() && strings.HasSuffix(tool.Name, "bad") {
				panic("no such tool")
			}
			return []string{"chat"}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	if got := e.names(t); got != "mcp__demo__x__good" {
		t.Errorf("offered: %s", got)
	}
	if p := m.Problems(); len(p) != 1 || p[0].Name != "mcp__demo__x__bad" || !strings.Contains(p[0].Reason, "panicked") || strings.Contains(p[0].Reason, "no such") {
		t.Errorf("%+v", p)
	}
	srv.tool(&mcp.Tool{Name: "later"}, nil)
	srv.tool(&mcp.Tool{Name: "titled", Title: strings.Repeat("x", 300)}, nil)
	eventually(t, "the bridge follows", func() bool { return strings.Contains(e.names(t), "later") && len(m.Problems()) == 2 })
	calm.Store(true)
	srv.tool(&mcp.Tool{Name: "last"}, nil)
	eventually(t, "what is mended is offered", func() bool { return strings.Contains(e.names(t), "bad") })
}

// TestBridgeZero: bridges that were not made by their functions, or of nothing,
// offer nothing and say so. [Q1]
func TestBridgeZero(t *testing.T) {
	e := newEndpoint(t)
	clients := newClients(t, mcpclient.HostOptions{})
	if _, err := bridge.NewMCP(nil, e.catalog, bridge.MCPOptions{Surfaces: onChat}); err == nil {
		t.Error("a bridge of no host")
	}
	if _, err := bridge.NewMCP(clients, nil, bridge.MCPOptions{Surfaces: onChat}); err == nil {
		t.Error("a bridge to no catalog")
	}
	var m bridge.MCP
	m.Sync()
	if len(m.Problems()) > 0 {
		t.Error(m.Problems())
	}
	if _, err := m.Invoke(t.Context(), mcpserver.Invocation{}); err == nil {
		t.Error("something was called")
	}
	m.Close()
	set := loadSkills(t, "tools", nil)
	for name, s := range map[string]*bridge.Skills{"zero": {}, "no catalog": bridge.NewSkills(nil, bridge.SkillsOptions{})} {
		if err := s.Set(set); err == nil {
			t.Errorf("%s: skills are offered nowhere", name)
		}
		if _, err := s.Invoke(t.Context(), mcpserver.Invocation{}); err == nil {
			t.Errorf("%s: something was called", name)
		}
		s.Close()
	}
}
