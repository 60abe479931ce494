package mcpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/mcpserver"
)

// TestShutdownIsTold: shutting down tells of the end of each grant, with the
// reason, as revoking does.
func TestShutdownIsTold(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	ids := map[string]bool{}
	for range 3 {
		ids[h.mint(t, mcpserver.Grant{}).ID] = true
	}
	gone := h.mint(t, mcpserver.Grant{})
	h.Revoke(gone.ID)
	if ev := h.event(t, mcpserver.EventRevoked); ev.Run.GrantID != gone.ID || ev.Outcome != mcpserver.OutcomeRevoked {
		t.Errorf("%+v", ev)
	}
	if err := h.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ev := h.event(t, mcpserver.EventRevoked)
		if !ids[ev.Run.GrantID] || ev.Outcome != mcpserver.OutcomeShutdown {
			t.Errorf("%+v", ev)
		}
		delete(ids, ev.Run.GrantID)
	}
	if n := strings.Count(h.logged.String(), `"msg":"grant revoked"`); n != 4 || !strings.Contains(h.logged.String(), `"reason":"shutdown"`) {
		t.Errorf("%d records: %s", n, h.logged.String())
	}
}

// TestCallsOfEnd: the calls that the record of a grant's end counts are calls, and
// a client that listens makes none.
func TestCallsOfEnd(t *testing.T) {
	for _, era := range eras {
		h := serve(t, mcpserver.Options{})
		began := make(chan struct{})
		tool, err := mcpserver.NewTool(mcpserver.ToolDef{Name: "wait", Description: "d",
			Handler: func(ctx context.Context, _ mcpserver.Call) (mcpserver.Result, error) {
				close(began)
				<-ctx.Done()
				return mcpserver.Result{}, ctx.Err()
			}})
		if err != nil {
			t.Fatal(err)
		}
		m := h.mint(t, mcpserver.Grant{Tools: []*mcpserver.Tool{tool}})
		cs := h.connect(t, m.Token.Reveal(), era, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {}})
		eventually(t, "the client listens", func() bool { g, _ := h.Grant(m.ID); return g.Requests > 0 })
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			tryCall(cs, "wait", args{})
		}()
		<-began
		h.Revoke(m.ID)
		<-answered
		if !strings.Contains(h.logged.String(), `"calls":1`) {
			t.Errorf("%s: %s", era, h.logged.String())
		}
	}
}

// TestErrIsSet: an observer hears of each failure what it was, and not what the
// agent sent. [T6]
func TestErrIsSet(t *testing.T) {
	const secret = "what-the-agent-said"
	tests := map[string]struct {
		handler mcpserver.Handler
		outcome mcpserver.Outcome
		err     string
	}{
		"panic": {func(_ context.Context, c mcpserver.Call) (mcpserver.Result, error) { panic(string(c.Arguments)) },
			mcpserver.OutcomePanic, "panicked: a value of type string"},
		"panic of the runtime": {func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			var none []string
			return mcpserver.Result{Text: none[len(none)]}, nil
		}, mcpserver.OutcomePanic, "panicked: runtime error: index out of range"},
		"no object": {func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Structured: []string{secret}}, nil
		}, mcpserver.OutcomeResult, "no JSON object"},
		"misfit": {func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Structured: args{"posted": secret}}, nil
		}, mcpserver.OutcomeResult, `"/posted"`},
		"too large": {func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Structured: args{"posted": true}, Text: strings.Repeat("x", 2000)}, nil
		}, mcpserver.OutcomeResult, "2015 bytes and may have 1000"},
	}
	for name, tt := range tests {
		h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Result: 1000}})
		tool, err := mcpserver.NewTool(mcpserver.ToolDef{Name: "do", Description: "d", OutputSchema: json.RawMessage(posted), Handler: tt.handler})
		if err != nil {
			t.Fatal(err)
		}
		cs := h.connect(t, h.mint(t, mcpserver.Grant{Tools: []*mcpserver.Tool{tool}}).Token.Reveal(), stateless, nil)
		res := call(t, cs, "do", args{"text": secret})
		ev := h.event(t, mcpserver.EventCall)
		if !res.IsError || ev.Outcome != tt.outcome || ev.Err == nil || !strings.Contains(ev.Err.Error(), tt.err) || strings.Contains(ev.Err.Error(), secret) {
			t.Errorf("%s: %q %s %v", name, text(res), ev.Outcome, ev.Err)
		}
		if strings.Contains(h.logged.String(), secret) || name != "panic" && !strings.Contains(h.logged.String(), strings.ReplaceAll(tt.err, `"`, `\"`)[len("panicked: "):]) && tt.outcome == mcpserver.OutcomePanic {
			t.Errorf("%s: %s", name, h.logged.String())
		}
	}
}

// TestMisfitIsLogged: the log says where arguments and results do not fit their
// schemas, and quotes nothing of them.
func TestMisfitIsLogged(t *testing.T) {
	const secret = "what-the-agent-said"
	schema := json.RawMessage(`{"type":"object","properties":{"list":{"type":"array","items":{"type":"integer"}}},"additionalProperties":false}`)
	tool, err := mcpserver.NewTool(mcpserver.ToolDef{Name: "own", Description: "d", InputSchema: schema, OutputSchema: schema,
		Handler: func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Structured: args{"list": []any{1, secret}}}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	d := declared("do", "d")
	d.InputSchema = schema
	p := plug(t, mcpserver.Options{}, d)
	cs := p.connect(t, p.mint(t, mcpserver.Grant{
		Identity: mcpserver.Identity{Task: t.Name(), Surface: "chat"}, Tools: []*mcpserver.Tool{tool},
	}).Token.Reveal(), stateless, nil)
	for _, name := range []string{"own", "plugin_p_do"} {
		for _, bad := range []args{{"list": []any{1, secret}}, {secret: 1}} {
			call(t, cs, name, bad)
			detail, _ := p.record(t)["detail"].(string)
			if want := map[bool]string{true: `"/list/1"`, false: "members that are not known"}[bad["list"] != nil]; !strings.Contains(detail, want) || strings.Contains(detail, secret) {
				t.Errorf("%s %v: %q", name, bad, detail)
			}
		}
	}
	call(t, cs, "own", args{})
	if detail, _ := p.record(t)["detail"].(string); !strings.Contains(detail, `"/list/1"`) || strings.Contains(detail, secret) {
		t.Errorf("the result: %q", detail)
	}
}
