package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// oddMessages are what no client would send; %s is the _meta of the stateless
// protocol.
func oddMessages() []string {
	huge := strings.Repeat("9", 5000)
	long := strings.Repeat("x", 50_000)
	var out []string
	for _, id := range []string{`null`, `1.5`, `-1`, `{}`, `[]`, `true`, `""`, `"` + long + `"`, huge, `1e400`, `"\ud800"`, "\"\xff\""} {
		out = append(out, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"record_progress","arguments":{"text":"x"}%s}}`)
	}
	for _, token := range []string{`null`, `{}`, `[1]`, `1.5`, `true`, `"` + long + `"`} {
		out = append(out, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tell","arguments":{},"_meta":{"progressToken":`+token+`,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"f","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	}
	for _, name := range []string{`""`, `null`, `1`, `"plugberth.tools"`, `"../../x\u0000"`, `"plugin_p_do\u202e"`, `"Plugin_P_Do"`, `"` + long + `"`, `"\ud83d"`} {
		out = append(out, `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":`+name+`,"arguments":{}%s}}`)
	}
	for _, arguments := range []string{`null`, `[]`, `"x"`, `1`, `{"text":"a","text":"b"}`, `{"text":"a","\u0074ext":"b"}`, `{"TEXT":"b"}`, `{"text":"\ud800"}`, "{\"text\":\"\xff\"}", `{"text":1e999}`, strings.Repeat(`{"a":`, 900) + `1` + strings.Repeat(`}`, 900)} {
		out = append(out, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"plugin_p_do","arguments":`+arguments+`%s}}`)
	}
	for _, params := range []string{``, `,"params":null`, `,"params":[]`, `,"params":"x"`, `,"params":{"_meta":[]}`, `,"params":{"_meta":null}`} {
		for _, method := range []string{"tools/call", "tools/list", "prompts/get", "resources/read", "resources/subscribe", "completion/complete", "logging/setLevel", "initialize", "server/discover", "ping", "subscriptions/listen", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed", "no/such", ""} {
			out = append(out, `{"jsonrpc":"2.0","id":10,"method":"`+method+`"`+params+`}`, `{"jsonrpc":"2.0","method":"`+method+`"`+params+`}`)
		}
	}
	out = append(out,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"no-such","error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"tools/list"}`,
		`{"jsonrpc":"2.0","ID":1,"Method":"ping"}`,
		`[]`, `[[]]`, `[null]`, `[1,2]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		`[`+strings.Repeat(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"record_progress","arguments":{"text":"x"}}},`, 200)+`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}]`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1e30}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1e999}}`,
		`nul`, `"x"`, `1`, `{`, "\x00", strings.Repeat("[", 20_000), `{"jsonrpc":"2.0"`,
	)
	return out
}

// TestOddMessages: whatever an agent sends, at once and on every protocol, it has
// an answer, the process lives, other grants hear nothing of it, and a good call
// works afterwards. [Q1] [T2] [T6]
func TestOddMessages(t *testing.T) {
	r := &run{}
	tell := custom(t, "tell", func(ctx context.Context, c mcpserver.Call) (mcpserver.Result, error) {
		return mcpserver.Result{Text: "told"}, c.Progress(ctx, 1, 2, "half")
	})
	p := plug(t, mcpserver.Options{}, declared("do", "Does it."))
	grant := mcpserver.Grant{
		Identity: onChat, Channel: channel.Of(r), Tools: []*mcpserver.Tool{tell},
		Configure: func(s *mcp.Server) {
			s.AddPrompt(&mcp.Prompt{Name: "hello"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{}, nil
			})
		},
	}
	token := p.mint(t, grant).Token.Reveal()
	const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"f","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	for _, era := range []string{"2025-03-26", stateful, stateless} {
		t.Run("era "+era, func(t *testing.T) {
			who := raw{url: p.url, token: token, version: era}
			if era != stateless {
				who = who.begin(t)
				who.version = era
			}
			var all sync.WaitGroup
			slots := make(chan struct{}, 16)
			for i, m := range oddMessages() {
				slots <- struct{}{}
				all.Go(func() {
					defer func() { <-slots }()
					if strings.Contains(m, "%s") {
						fill := ""
						if era == stateless {
							fill = meta
						}
						m = strings.Replace(m, "%s", fill, 1)
					}
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
					defer cancel()
					resp, err := who.open(ctx, "POST", m)
					if err != nil && strings.Contains(err.Error(), "invalid header field value") {
						return // our own client cannot say it
					}
					if err != nil {
						t.Errorf("%d: %.80q: %v", i, m, err)
						return
					}
					defer resp.Body.Close()
					body, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
					if err != nil {
						t.Errorf("%d: %.120q: %v, after %d %.200q", i, m, err, resp.StatusCode, body)
					}
					if resp.StatusCode >= 500 {
						t.Errorf("%d: %.120q: %d %.200q", i, m, resp.StatusCode, body)
					}
				})
			}
			all.Wait()
			if strings.Contains(p.logged.String(), "panicked") {
				t.Errorf("something panicked: %s", p.logged.String())
			}
			cs := p.connect(t, token, stateful, nil)
			if res := call(t, cs, "plugin_p_do", args{}); text(res) != "done" {
				t.Errorf("%+v", res)
			}
		})
	}
}

// brittle is an error whose methods panic.
type brittle struct{}

func (brittle) Error() string     { panic("10.0.0.7") }
func (brittle) Is(error) bool     { panic("10.0.0.7") }
func (brittle) AgentText() string { panic("10.0.0.7") }

// TestAuthorizerErrorPanics: an error of an authorizer whose methods panic refuses
// the call, which is logged and observed as every other. [T6] [K5] [Q1]
func TestAuthorizerErrorPanics(t *testing.T) {
	p := plug(t, mcpserver.Options{Authorizer: authorizer(func(context.Context, mcpserver.Authorization) error { return brittle{} })}, declared("do", "Does it."))
	_, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, stateful, nil)
	res, err := tryCall(cs, "plugin_p_do", args{})
	if err != nil || !res.IsError || !strings.Contains(text(res), "failed on the host's side") {
		t.Errorf("%+v, %v", res, err)
	}
	if ev := p.event(t, mcpserver.EventCall); ev.Outcome != mcpserver.OutcomePanic || ev.Tool != "plugin_p_do" {
		t.Errorf("%+v", ev)
	}
	if rec := p.record(t); rec["outcome"] != "panic" {
		t.Errorf("%v", rec)
	}
	if n := p.plugin.asked.Load(); n != 0 {
		t.Errorf("the plugin was asked %d times", n)
	}
}

// TestAuthorizerEnded: an authorizer that gives up because the call has ended has
// not refused it: the agent and the log are told what ended it. [T5] [T6] [K5]
func TestAuthorizerEnded(t *testing.T) {
	asked := make(chan struct{}, 1)
	limits := fast
	limits.Invoke = 50 * time.Millisecond
	newPlug := func(t *testing.T, l mcpserver.Limits) *plugged {
		return plug(t, mcpserver.Options{Limits: l, Authorizer: authorizer(func(ctx context.Context, _ mcpserver.Authorization) error {
			asked <- struct{}{}
			<-ctx.Done()
			return fmt.Errorf("asking 10.0.0.7: %w", ctx.Err())
		})}, declared("do", "Does it."))
	}
	t.Run("deadline", func(t *testing.T) {
		p := newPlug(t, limits)
		_, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, stateful, nil)
		res := call(t, cs, "plugin_p_do", args{})
		<-asked
		if ev := p.event(t, mcpserver.EventCall); ev.Outcome != mcpserver.OutcomeTimeout || !strings.Contains(text(res), "in time") {
			t.Errorf("%q, %+v", text(res), ev)
		}
	})
	t.Run("revoked", func(t *testing.T) {
		p := newPlug(t, fast)
		m, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, stateful, nil)
		go func() {
			<-asked
			p.Revoke(m.ID)
		}()
		res := call(t, cs, "plugin_p_do", args{})
		if ev := p.event(t, mcpserver.EventCall); ev.Outcome != mcpserver.OutcomeRevoked || !strings.Contains(text(res), "revoked") {
			t.Errorf("%q, %+v", text(res), ev)
		}
	})
	t.Run("withdrawn", func(t *testing.T) { // then the plugin was not reached, and the agent is told no more
		p := newPlug(t, fast)
		_, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, stateful, nil)
		go func() {
			<-asked
			p.catalog.Withdraw("p")
		}()
		res, err := tryCall(cs, "plugin_p_do", args{})
		if ev := p.event(t, mcpserver.EventCall); ev.Outcome != mcpserver.OutcomeWithdrawn {
			t.Errorf("%+v, %v, %+v", res, err, ev)
		}
	})
}

// TestProgressAfterEnd: a plugin that goes on after its call was canceled reports
// to nobody. [K5]
func TestProgressAfterEnd(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			p := plug(t, mcpserver.Options{}, declared("do", "Does it."))
			told := make(chan string, 100)
			started, over := make(chan struct{}), make(chan error, 1)
			release := make(chan struct{})
			p.plugin.invoke = func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
				close(started)
				<-ctx.Done()
				<-release
				over <- inv.Progress(context.Background(), 1, 2, "still here")
				return mcpserver.Result{}, nil
			}
			_, _, cs := p.link(t, mcpserver.Grant{Identity: onChat}, era, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { told <- req.Params.Message },
			})
			go func() {
				<-started
				p.catalog.Withdraw("p")
			}()
			params := &mcp.CallToolParams{Name: "plugin_p_do"}
			params.SetProgressToken("t")
			res, err := cs.CallTool(t.Context(), params)
			if err != nil || !res.IsError {
				t.Errorf("%+v, %v", res, err)
			}
			close(release)
			if err := <-over; err == nil {
				t.Error("progress is taken after the end")
			}
			if _, err := cs.ListTools(t.Context(), nil); err != nil { // what was sent before it has arrived
				t.Error(err)
			}
			select {
			case m := <-told:
				t.Errorf("the agent was told %q", m)
			default:
			}
		})
	}
}

// TestTextsAreBounded: what an agent reads of a refusal, of an error for it, or of
// its own mistakes is within the limit of results, as valid UTF-8. [T4] [K5]
func TestTextsAreBounded(t *testing.T) {
	long := strings.Repeat("é", 100_000) + "\xff"
	limits := fast
	limits.Result = 4096
	refusal := func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
		return mcpserver.Result{}, &channel.Refusal{Text: long}
	}
	strict, err := mcpserver.NewTool(mcpserver.ToolDef{
		Name: "strict", Description: "A test.", InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`), Handler: refusal,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := plug(t, mcpserver.Options{Limits: limits}, declared("do", "Does it."))
	p.plugin.invoke = func(context.Context, mcpserver.Invocation) (mcpserver.Result, error) {
		return mcpserver.Result{}, &channel.Refusal{Text: long}
	}
	g := mcpserver.Grant{
		Identity: onChat, Tools: []*mcpserver.Tool{custom(t, "refuse", refusal), strict},
		Configure: func(s *mcp.Server) {
			s.AddPrompt(&mcp.Prompt{Name: "long"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return nil, &jsonrpc.Error{Code: 1, Message: long, Data: json.RawMessage(`"` + strings.Repeat("x", 100_000) + `"`)}
			})
			s.AddPrompt(&mcp.Prompt{Name: "broken"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return nil, &jsonrpc.Error{Code: 1, Message: "m", Data: json.RawMessage(`{`)}
			})
			s.AddTool(&mcp.Tool{Name: "sdk", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, &jsonrpc.Error{Code: 1, Message: long}
			})
		},
	}
	token := p.mint(t, g).Token.Reveal()
	who := raw{url: p.url, token: token}.begin(t)
	id := 100
	for name, m := range map[string]string{
		"refusal of a host's tool": toolCall(stateful, 5, "refuse", args{}),
		"refusal of a plugin":      toolCall(stateful, 5, "plugin_p_do", args{}),
		"members not known":        toolCall(stateful, 5, "strict", args{long: 1}),
		"a plugin's":               toolCall(stateful, 5, "plugin_p_do", args{long: 1}),
		"unknown tool":             toolCall(stateful, 5, strings.Repeat("\u202e", 50_000), args{}),
		"a tool's own error":       toolCall(stateful, 5, "sdk", args{}),
		"a prompt's own error":     `{"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{"name":"long"}}`,
		"a prompt's broken error":  `{"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{"name":"broken"}}`,
	} {
		id++
		got := who.do(t, "POST", strings.Replace(m, `"id":5`, fmt.Sprintf(`"id":%d`, id), 1))
		if got.status != 200 || len(got.body) > 5000 || !strings.Contains(got.body, fmt.Sprintf(`"id":%d`, id)) || !utf8.ValidString(got.body) {
			t.Errorf("%s: status %d, %d bytes, %.200q", name, got.status, len(got.body), got.body)
		}
		if ev := p.event(t, mcpserver.EventCall); len(ev.Tool) > 128 {
			t.Errorf("%s: the event names a tool of %d bytes", name, len(ev.Tool))
		}
	}
}

// TestLimitedCallsCostNothing: calls over the rate reach nothing of the host, not
// even the middleware that it added to the SDK's server. [T6]
func TestLimitedCallsCostNothing(t *testing.T) {
	var listed atomic.Int64
	p := plug(t, mcpserver.Options{Limits: mcpserver.Limits{Rate: 1, Burst: 20}}, declared("do", "Does it."))
	token := p.mint(t, mcpserver.Grant{Identity: onChat, Configure: func(s *mcp.Server) {
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/list" {
					listed.Add(1)
				}
				return next(ctx, method, req)
			}
		})
	}}).Token.Reveal()
	who := raw{url: p.url, token: token, version: "2025-03-26"}.begin(t)
	who.version = "2025-03-26"
	var batch []string
	for i := range 100 {
		batch = append(batch, toolCall("2025-03-26", 100+i, "plugin_p_do", args{}))
	}
	got := who.do(t, "POST", "["+strings.Join(batch, ",")+"]")
	if n := strings.Count(got.body, "too many calls in a short time"); n < 70 || n > 99 {
		t.Fatalf("%d calls were over the rate: %.300s", n, got.body)
	}
	if n, asked := listed.Load(), p.plugin.asked.Load(); n > 30 || asked > 30 {
		t.Errorf("listed %d times, asked %d times", n, asked)
	}
}

// TestMiddlewareError: an error of middleware that the host added is not shown to
// the agent, whatever the method. [T4] [Q3]
func TestMiddlewareError(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	token := h.mint(t, mcpserver.Grant{Configure: func(s *mcp.Server) {
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				switch method {
				case "tools/list", "prompts/list", "ping":
					return nil, fmt.Errorf("dial db-7:5432 for %s", method)
				}
				return next(ctx, method, req)
			}
		})
	}}).Token.Reveal()
	who := raw{url: h.url, token: token}.begin(t)
	for _, method := range []string{"tools/list", "prompts/list", "ping"} {
		got := who.do(t, "POST", `{"jsonrpc":"2.0","id":"`+method+`","method":"`+method+`"}`)
		if !strings.Contains(got.body, "internal error") || strings.Contains(got.body, "db-7") {
			t.Errorf("%s: %s", method, got.body)
		}
	}
	if !strings.Contains(h.logged.String(), "db-7") {
		t.Error("it is not logged")
	}
}

// TestSDKPlugInsPanic: what a host gives the SDK's server and the SDK calls on
// goroutines of its own, middleware for what is sent and a logger, cannot end the
// process. [Q1]
func TestSDKPlugInsPanic(t *testing.T) {
	p := plug(t, mcpserver.Options{}, declared("do", "Does it."))
	changed := make(chan struct{}, 10)
	for name, g := range map[string]mcpserver.Grant{
		"sending middleware": {Configure: func(s *mcp.Server) {
			s.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					changed <- struct{}{}
					panic("db-7")
				}
			})
		}},
		"logger": {ServerOptions: func(o *mcp.ServerOptions) {
			o.Logger = slog.New(badHandler("Handle"))
			o.InitializedHandler = func(context.Context, *mcp.InitializedRequest) { panic("db-7") }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g.Identity = onChat
			_, _, cs := p.link(t, g, stateful, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
			})
			declare(t, p.catalog, "q", declared("a", "For "+name))
			<-changed
			if res := call(t, cs, "plugin_p_do", args{}); text(res) != "done" {
				t.Errorf("%+v", res)
			}
		})
	}
}

// TestSessionsOfNothing: requests without a session that open none leave none
// behind, whatever they are. [T6]
func TestSessionsOfNothing(t *testing.T) {
	p := plug(t, mcpserver.Options{}, declared("do", "Does it."))
	m := p.mint(t, mcpserver.Grant{Identity: onChat, Channel: channel.Of(&run{})})
	who := raw{url: p.url, token: m.Token.Reveal()}
	for range 20 {
		for _, message := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{}`, `[`, ``,
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		} {
			if got := who.do(t, "POST", message); got.status >= 500 {
				t.Errorf("%s: %+v", message, got)
			}
		}
	}
	info, _ := p.Grant(m.ID)
	if info.Sessions > 16 || info.Requests > 0 || info.Calls > 0 {
		t.Errorf("%+v", info)
	}
	if !p.Revoke(m.ID) {
		t.Error("not live")
	}
}

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
	judge = func(context.Context, mcpserver.Authorization) error {
		moved := declared("do", "Does it.")
		moved.Surfaces = []string{"batch"}
		declare(t, p.catalog, "p", moved)
		return p.SetSurface(m.ID, "batch")
	}
	if res, err := tryCall(cs, "plugin_p_do", args{}); err == nil && !res.IsError || p.plugin.asked.Load() > 0 {
		t.Errorf("%+v, asked %d times", res, p.plugin.asked.Load())
	}
	judge = func(context.Context, mcpserver.Authorization) error { return nil }
	if res := call(t, cs, "plugin_p_do", args{}); text(res) != "done" {
		t.Errorf("%+v", res)
	}
}

// TestObserverHangs: an observer that hangs on the end of one grant keeps no other
// one alive: their calls are canceled and their clients told. [T5] [T6]
func TestObserverHangs(t *testing.T) {
	for _, name := range []string{"revoked", "expired"} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			hung := make(chan struct{}, 10)
			h := serve(t, mcpserver.Options{Observer: observing(func(ev mcpserver.Event) {
				if ev.Kind != mcpserver.EventCall {
					hung <- struct{}{}
					<-release
				}
			})})
			t.Cleanup(func() { close(release) }) // before the registry is shut down
			asked := make(chan struct{}, 10)
			g := mcpserver.Grant{Identity: mcpserver.Identity{Task: "t"}, Channel: channel.Of(&run{answer: func(ctx context.Context, _ channel.Question) (channel.Answer, error) {
				asked <- struct{}{}
				<-ctx.Done()
				return channel.Answer{}, ctx.Err()
			}})}
			told := make(chan string, 10)
			var ids []string
			for range 3 {
				m := h.mint(t, g)
				ids = append(ids, m.ID)
				cs := h.connect(t, m.Token.Reveal(), stateful, nil)
				go func() {
					res, err := tryCall(cs, "ask_user", args{"question": "Go on?"})
					if err != nil {
						told <- err.Error()
						return
					}
					told <- text(res)
				}()
				<-asked
			}
			if name == "expired" { // due at once, as after a machine slept
				for _, id := range ids {
					h.Sleep(id)
				}
				h.mint(t, mcpserver.Grant{TTL: time.Nanosecond})
			} else {
				go h.RevokeTask("t")
			}
			<-hung
			for range ids {
				if said := <-told; !strings.Contains(said, "Stop working") {
					t.Errorf("the agent is told %q", said)
				}
			}
		})
	}
}

// TestOddResults: what a handler gives that JSON has no form for does not reach the
// wire, and does not keep the answer from the agent. [T4] [K5] [Q1]
func TestOddResults(t *testing.T) {
	odd := map[string]func(progress func(done, total float64, message string) error) (mcpserver.Result, error){
		"text that is no UTF-8": func(func(float64, float64, string) error) (mcpserver.Result, error) {
			return mcpserver.Result{Text: "a\xffb\x00\u2028", Structured: map[string]any{"x\xff": "\xff"}}, nil
		},
		"content that is no UTF-8": func(func(float64, float64, string) error) (mcpserver.Result, error) {
			return mcpserver.Result{Content: []mcp.Content{&mcp.TextContent{Text: "\xff"}, &mcp.ImageContent{MIMEType: "\xff"}, &mcp.ResourceLink{URI: "\xff", Name: "\xff"}}}, nil
		},
		"no content": func(func(float64, float64, string) error) (mcpserver.Result, error) {
			return mcpserver.Result{Content: []mcp.Content{nil, (*mcp.TextContent)(nil)}}, nil
		},
		"embedded nothing": func(func(float64, float64, string) error) (mcpserver.Result, error) {
			return mcpserver.Result{Content: []mcp.Content{&mcp.EmbeddedResource{}}}, nil
		},
		"nothing": func(func(float64, float64, string) error) (mcpserver.Result, error) { return mcpserver.Result{}, nil },
		"a number that is none": func(func(float64, float64, string) error) (mcpserver.Result, error) {
			return mcpserver.Result{Structured: map[string]any{"x": math.NaN()}}, nil
		},
		"a nil map": func(func(float64, float64, string) error) (mcpserver.Result, error) {
			return mcpserver.Result{Structured: map[string]any(nil)}, nil
		},
		"an array": func(func(float64, float64, string) error) (mcpserver.Result, error) {
			return mcpserver.Result{Structured: []int{1}}, nil
		},
		"broken JSON": func(func(float64, float64, string) error) (mcpserver.Result, error) {
			return mcpserver.Result{Structured: json.RawMessage(`{"x":`)}, nil
		},
		"a nil error in an interface": func(func(float64, float64, string) error) (mcpserver.Result, error) {
			return mcpserver.Result{}, (*channel.Refusal)(nil)
		},
		"progress that is no number": func(progress func(float64, float64, string) error) (mcpserver.Result, error) {
			for _, n := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -1} {
				_ = progress(n, n, "\xff")
			}
			return mcpserver.Result{Text: "x"}, nil
		},
	}
	var tools []*mcpserver.Tool
	i := 0
	names := map[string]string{}
	p := plug(t, mcpserver.Options{}, declared("do", "Does it."))
	var next func(progress func(float64, float64, string) error) (mcpserver.Result, error)
	p.plugin.invoke = func(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
		return next(func(done, total float64, message string) error { return inv.Progress(ctx, done, total, message) })
	}
	for name, give := range odd {
		names[name] = fmt.Sprint("odd", i)
		tools = append(tools, custom(t, names[name], func(ctx context.Context, c mcpserver.Call) (mcpserver.Result, error) {
			return give(func(done, total float64, message string) error { return c.Progress(ctx, done, total, message) })
		}))
		i++
	}
	token := p.mint(t, mcpserver.Grant{Identity: onChat, Tools: tools}).Token.Reveal()
	for _, era := range eras {
		who := raw{url: p.url, token: token, version: era}
		if era == stateful {
			who = who.begin(t)
		}
		id := 100
		for name, give := range odd {
			next = give
			for _, tool := range []string{names[name], "plugin_p_do"} {
				id++
				message := strings.Replace(toolCall(era, id, tool, args{}), `"arguments":{}`, `"arguments":{},"_meta":{"progressToken":"t"}`, 1)
				if era == stateless {
					message = strings.Replace(toolCall(era, id, tool, args{}), `"_meta":{`, `"_meta":{"progressToken":"t",`, 1)
				}
				got := who.do(t, "POST", message)
				if got.status != 200 || !utf8.ValidString(got.body) || !strings.Contains(got.body, fmt.Sprintf(`"id":%d`, id)) {
					t.Errorf("%s, %s, %s: %d %q", era, name, tool, got.status, got.body)
				}
				got.messages(t) // are JSON
			}
		}
	}
}

// TestForeignCancel: an agent cancels its own calls only, not one of the same number
// in another session or of another run. [T2] [T3]
func TestForeignCancel(t *testing.T) {
	p := plug(t, mcpserver.Options{}, declared("do", "Does it."))
	started, release := make(chan struct{}, 10), make(chan struct{})
	p.plugin.invoke = func(ctx context.Context, _ mcpserver.Invocation) (mcpserver.Result, error) {
		started <- struct{}{}
		select {
		case <-ctx.Done():
			return mcpserver.Result{}, ctx.Err()
		case <-release:
			return mcpserver.Result{Text: "done"}, nil
		}
	}
	grant := mcpserver.Grant{Identity: onChat}
	mine, other := p.mint(t, grant).Token.Reveal(), p.mint(t, grant).Token.Reveal()
	victim := raw{url: p.url, token: mine}.begin(t)
	answer := make(chan reply, 1)
	go func() { answer <- victim.do(t, "POST", toolCall(stateful, 7, "plugin_p_do", args{})) }()
	<-started
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	stolen := raw{url: p.url, token: other, version: stateful, session: victim.session}
	for name, tt := range map[string]struct {
		who    raw
		method string
		want   int
	}{
		"another session of the run":      {raw{url: p.url, token: mine}.begin(t), "POST", 202},
		"another run":                     {raw{url: p.url, token: other}.begin(t), "POST", 202},
		"the stateless protocol":          {raw{url: p.url, token: mine, version: stateless}, "POST", 0},
		"the session with a wrong token":  {stolen, "POST", 404},
		"its stream with a wrong token":   {stolen, "GET", 404},
		"its end with a wrong token":      {stolen, "DELETE", 404},
		"an end without a session's name": {raw{url: p.url, token: other, version: stateful}, "DELETE", 400},
	} {
		if got := tt.who.do(t, tt.method, cancel); tt.want != 0 && got.status != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	close(release)
	if got := <-answer; !strings.Contains(got.body, `"done"`) {
		t.Errorf("%+v", got)
	}
}
