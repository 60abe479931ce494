package mcpserver_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
	for range 20 {
		who.begin(t)
	}
	if !p.Revoke(m.ID) {
		t.Error("not live")
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
