package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// TestHostTools: a host's own tools stand beside those of the channel, know the
// run, and say more than text. [T4]
func TestHostTools(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := serve(t, mcpserver.Options{})
			picture := custom(t, "picture", func(ctx context.Context, call mcpserver.Call) (mcpserver.Result, error) {
				if err := call.Progress(ctx, 1, 2, "half"); err != nil {
					t.Error(err)
				}
				return mcpserver.Result{
					Text:    "A dot.",
					Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte("dot")}},
				}, nil
			})
			m := h.mint(t, mcpserver.Grant{
				Identity: mcpserver.Identity{Task: "mine"}, Channel: channel.Parts{Recorder: &run{}},
				Tools: []*mcpserver.Tool{echo(t, "zz"), echo(t, "aa"), picture}, Instructions: "Be brief.",
			})
			progress := make(chan float64, 10)
			cs := h.connect(t, m.Token.Reveal(), era, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
					progress <- req.Params.Progress
				},
			})
			list, err := cs.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			if want := []string{"aa", "picture", "record_progress", "zz"}; !slices.Equal(names, want) {
				t.Errorf("tools %q, want %q", names, want)
			}
			if list.CacheScope == "public" {
				t.Error("what one token sees may be cached for all")
			}
			res := call(t, cs, "aa", args{"text": "hello", "task": "other"})
			if got := structured(t, res); got["text"] != "hello" || got["task"] != "mine" {
				t.Errorf("%v", got)
			}
			if text(res) != `{"task":"mine","text":"hello"}` {
				t.Errorf("text %q", text(res))
			}
			params := &mcp.CallToolParams{Name: "picture"}
			params.SetProgressToken("p1")
			res, err = cs.CallTool(t.Context(), params)
			if err != nil || len(res.Content) != 2 {
				t.Fatal(res, err)
			}
			if img, ok := res.Content[1].(*mcp.ImageContent); !ok || string(img.Data) != "dot" {
				t.Errorf("%+v", res.Content[1])
			}
			if p := <-progress; p != 1 {
				t.Errorf("progress %v", p)
			}
			if cs.InitializeResult().Instructions != "Be brief." {
				t.Errorf("instructions %q", cs.InitializeResult().Instructions)
			}
		})
	}
}

// TestConfigure: a host adds prompts, resources, completion and tools to the
// SDK's server. Their handlers know the run, never see the Authorization
// header, and their errors and panics are as those of tools. [T1] [T4]
func TestConfigure(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := serve(t, mcpserver.Options{})
			var token string
			check := func(ctx context.Context, req mcp.Request) {
				who, ok := mcpserver.RunFromContext(ctx)
				if !ok || who.Identity.Task != "mine" {
					t.Errorf("%T: %+v", req, who)
				}
				if extra := req.GetExtra(); extra != nil {
					for name, values := range extra.Header {
						if name == "Authorization" || strings.Contains(fmt.Sprint(values), token[10:]) {
							t.Errorf("%T sees the header %s", req, name)
						}
					}
					if strings.Contains(fmt.Sprintf("%+v", extra.TokenInfo), token[10:]) {
						t.Errorf("%T sees the token", req)
					}
				}
			}
			var session string
			m := h.mint(t, mcpserver.Grant{
				Identity: mcpserver.Identity{Task: "mine"},
				Channel:  channel.Of(&run{}),
				ServerOptions: func(o *mcp.ServerOptions) {
					o.PageSize = 2
					o.GetSessionID = func() string { return "predictable" }
					o.CompletionHandler = func(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
						check(ctx, req)
						return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"done"}}}, nil
					}
				},
				Configure: func(s *mcp.Server) {
					s.AddPrompt(&mcp.Prompt{Name: "hello"}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
						check(ctx, req)
						return &mcp.GetPromptResult{Description: "hi"}, nil
					})
					s.AddPrompt(&mcp.Prompt{Name: "bad"}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
						return nil, fmt.Errorf("secret detail of %s", req.Params.Arguments["who"])
					})
					s.AddPrompt(&mcp.Prompt{Name: "bomb"}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
						return &mcp.GetPromptResult{Meta: mcp.Meta{"x": bomb{}}}, nil
					})
					s.AddResource(&mcp.Resource{URI: "x://a", Name: "a"}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
						check(ctx, req)
						return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "x://a", Text: "A"}}}, nil
					})
					s.AddResource(&mcp.Resource{URI: "x://b", Name: "b"}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
						panic("secret detail")
					})
					for _, name := range []string{"sdk_a", "sdk_b", "sdk_c", "sdk_d", "sdk_bad", "sdk_panic", "sdk_big", "sdk_bomb", "sdk_nil", "report_summary"} {
						s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
							check(ctx, req)
							switch name {
							case "sdk_bad":
								return nil, fmt.Errorf("secret detail of %s", req.Params.Arguments)
							case "sdk_bomb":
								return &mcp.CallToolResult{StructuredContent: bomb{}}, nil
							case "sdk_nil":
								return &mcp.CallToolResult{Content: []mcp.Content{(*mcp.TextContent)(nil)}}, nil
							case "sdk_panic":
								panic("secret detail")
							case "sdk_big":
								return &mcp.CallToolResult{StructuredContent: map[string]any{"x": strings.Repeat("y", 2<<20)}}, nil
							}
							session = req.Session.ID()
							return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "from " + name}}}, nil
						})
					}
				},
			})
			token = m.Token.Reveal()
			cs := h.connect(t, token, era, nil)
			ctx := t.Context()
			list, err := cs.ListTools(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			if want := "[ask_user record_progress report_summary sdk_a sdk_b sdk_bad sdk_big sdk_bomb sdk_c sdk_d sdk_nil sdk_panic spawn_subtask]"; fmt.Sprint(names) != want {
				t.Errorf("tools %v, want %v", names, want)
			}
			if res := call(t, cs, "sdk_c", args{}); text(res) != "from sdk_c" {
				t.Errorf("%q", text(res))
			}
			if session == "predictable" {
				t.Error("the host's session id was used")
			}
			if res := call(t, cs, "report_summary", args{"summary": "x"}); text(res) != "The summary is recorded." {
				t.Errorf("the channel's tool was replaced: %q", text(res))
			}
			for name, want := range map[string]string{"sdk_bad": "failed on the host's side", "sdk_panic": "failed on the host's side", "sdk_big": "can have 1048576", "sdk_bomb": "failed on the host's side"} {
				if res := call(t, cs, name, args{"who": "the periwinkle"}); !res.IsError || !strings.Contains(text(res), want) {
					t.Errorf("%s: %q", name, text(res))
				}
			}
			if p, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "hello"}); err != nil || p.Description != "hi" {
				t.Errorf("%v %v", p, err)
			}
			for _, tt := range []func() error{
				func() error {
					_, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "bad", Arguments: map[string]string{"who": "the periwinkle"}})
					return err
				},
				func() error { _, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "bomb"}); return err },
				func() error { _, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: "x://b"}); return err },
			} {
				var rpc *jsonrpc.Error
				if err := tt(); !errors.As(err, &rpc) || rpc.Message != "internal error" {
					t.Errorf("%v", err)
				}
			}
			if _, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "none"}); err == nil || !strings.Contains(err.Error(), "unknown prompt") {
				t.Errorf("%v", err)
			}
			if r, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: "x://a"}); err != nil || r.Contents[0].Text != "A" {
				t.Errorf("%v %v", r, err)
			}
			comp, err := cs.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "hello"}, Argument: mcp.CompleteParamsArgument{Name: "a", Value: "d"}})
			if err != nil || comp.Completion.Values[0] != "done" {
				t.Errorf("%v %v", comp, err)
			}
			logged := h.logged.String()
			if !strings.Contains(logged, "secret detail") || !strings.Contains(logged, "prompts/get") || !strings.Contains(logged, "handler panicked") {
				t.Errorf("the log lacks what went wrong: %s", logged)
			}
			if strings.Contains(logged, "periwinkle") {
				t.Errorf("the log quotes an argument: %s", logged)
			}
			// The SDK leaves a nil out; what counts is that the process is here.
			if _, err := tryCall(cs, "sdk_nil", args{}); err != nil {
				t.Log(err)
			}
			if res := call(t, cs, "sdk_a", args{}); text(res) != "from sdk_a" {
				t.Errorf("%q", text(res))
			}
		})
	}
}

// TestConfig: the configuration an agent's program reads can be made from what
// minting returned, and an agent connects with it. [T7]
func TestConfig(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	m := h.mint(t, mcpserver.Grant{Channel: channel.Of(&run{})})
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	// What was there is replaced, also a link, and its target stays.
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, []byte("keep"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, path); err != nil {
		t.Log("no links here:", err)
	}
	if err := m.WriteConfig(path, h.url); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(precious); string(data) != "keep" {
		t.Error("a link was followed")
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left over: %v %v", entries, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		McpServers map[string]struct {
			Type, URL string
			Headers   map[string]string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	server := doc.McpServers["host"]
	if server.Type != "http" || server.URL != h.url || len(server.Headers) != 1 {
		t.Fatalf("%+v", doc)
	}
	got := raw{url: server.URL, header: http.Header{"Authorization": {server.Headers["Authorization"]}}}.do(t, "POST", initialize)
	if got.status != 200 {
		t.Errorf("%+v", got)
	}
	env, err := m.Environment(h.url)
	if err != nil || len(env) != 2 || env[0] != "PLUGBERTH_MCP_URL="+h.url || env[1] != "PLUGBERTH_MCP_TOKEN="+m.Token.Reveal() {
		t.Errorf("%d variables, %v", len(env), err)
	}
	without, err := h.ConfigFromEnvironment(h.url)
	if err != nil || strings.Contains(string(without), m.Token.Reveal()[10:]) || !strings.Contains(string(without), "Bearer ${PLUGBERTH_MCP_TOKEN}") {
		t.Errorf("%s %v", without, err)
	}
	for _, bad := range []string{"", "localhost:80", "ftp://x", "http://", "http://user:pw@x/", "http://x\n", "/mcp", "http://x/${PLUGBERTH_MCP_TOKEN}", "http://x/?a=${B:-c}", "http://x/#f", "http://x/#", "http://@x/", "127.0.0.1:8787/mcp", "agents.example/mcp"} {
		if _, err := m.Config(bad); !errors.Is(err, mcpserver.ErrURL) {
			t.Errorf("%q: %v", bad, err)
		}
		if _, err := h.ConfigFromEnvironment(bad); !errors.Is(err, mcpserver.ErrURL) {
			t.Errorf("%q: %v", bad, err)
		}
		if err := m.WriteConfig(filepath.Join(dir, "never"), bad); err == nil {
			t.Errorf("%q is written", bad)
		}
	}
	for _, bad := range []string{"127.0.0.1:8787/mcp", "localhost:8787/mcp", "agents.example/mcp"} {
		if _, err := m.Config(bad); err == nil || !strings.Contains(err.Error(), "scheme") || strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := (mcpserver.Minted{}).Config(h.url); err == nil {
		t.Error("there is a configuration without a token")
	}
	if err := m.WriteConfig(filepath.Join(dir, "no", "such", "dir"), h.url); err == nil {
		t.Error("a directory was made")
	}
}

// TestLog: each call is one record with identity, labels, tool, duration and
// outcome, and nothing of what was said. [T6]
func TestLog(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	m := h.mint(t, mcpserver.Grant{
		Identity: mcpserver.Identity{Task: "task\n\u202e1", Session: "s1", Workspace: "w1", Surface: "f1"},
		Labels:   map[string]string{"team": "blue", "host": "h7"},
		Channel: channel.Of(&run{answer: func(context.Context, channel.Question) (channel.Answer, error) {
			return channel.Answer{Text: "wintergreen"}, nil
		}}),
	})
	cs := h.connect(t, m.Token.Reveal(), stateful, nil)
	call(t, cs, "ask_user", args{"question": "periwinkle"})
	h.Revoke(m.ID)
	h.event(t, mcpserver.EventRevoked)
	var records []map[string]any
	for line := range strings.Lines(h.logged.String()) {
		var rec map[string]any
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatal(err)
		}
		records = append(records, rec)
	}
	if len(records) != 2 {
		t.Fatalf("%d records: %v", len(records), records)
	}
	for i, msg := range []string{"agent call", "grant revoked"} {
		rec := records[i]
		if rec["msg"] != msg || rec["grant"] != m.ID || rec["task"] != `task\n\u202e1` || rec["session"] != "s1" || rec["workspace"] != "w1" || rec["surface"] != "f1" {
			t.Errorf("%v", rec)
		}
		if labels, _ := rec["labels"].(map[string]any); labels["team"] != "blue" || labels["host"] != "h7" {
			t.Errorf("labels %v", rec["labels"])
		}
	}
	if rec := records[0]; rec["tool"] != "ask_user" || rec["outcome"] != "ok" || rec["duration"].(float64) <= 0 {
		t.Errorf("%v", rec)
	}
	for _, said := range []string{"periwinkle", "wintergreen"} {
		if strings.Contains(h.logged.String(), said) {
			t.Errorf("the log holds %q", said)
		}
	}
}

// TestSilent: without a logger nothing is written anywhere. [Q3]
func TestSilent(t *testing.T) {
	reg, err := mcpserver.New(mcpserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := everything.String()
	m, err := reg.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "t"}})
	if err != nil {
		t.Fatal(err)
	}
	reg.Revoke(m.ID)
	if err := reg.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if after := everything.String(); after != before {
		t.Errorf("written: %q", after[len(before):])
	}
}

// TestElicitation: a tool that the host added to the SDK's server can ask the
// client itself, in the way of each protocol.
func TestElicitation(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	params := func() *mcp.ElicitParams {
		return &mcp.ElicitParams{Message: "Name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}
	}
	m := h.mint(t, mcpserver.Grant{Configure: func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{Name: "direct", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res, err := req.Session.Elicit(ctx, params())
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("hello ", res.Content["name"])}}}, nil
		})
		s.AddTool(&mcp.Tool{Name: "rounds", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(req.Params.InputResponses) == 0 {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": params()}}, nil
			}
			res := req.Params.InputResponses["name"].(*mcp.ElicitResult)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("hello ", res.Content["name"])}}}, nil
		})
	}})
	for era, tools := range map[string][]string{stateful: {"direct", "rounds"}, stateless: {"rounds"}} {
		cs := h.connect(t, m.Token.Reveal(), era, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
			},
		})
		for _, tool := range tools {
			if res := call(t, cs, tool, args{}); text(res) != "hello Ada" {
				t.Errorf("%s %s: %+v", era, tool, res)
			}
		}
	}
}
