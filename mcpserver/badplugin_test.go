package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

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
