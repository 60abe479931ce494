package mcpclient

//lint:file-ignore SA1019 roots, sampling and logging work in the protocol until they are removed from it

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestHandlersThatFail: whatever the host's handlers do, the client lives on and
// the server learns nothing of it.
func TestHandlersThatFail(t *testing.T) { // [R14] [Q1]
	type elicit = func(context.Context, ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error)
	for name, handler := range map[string]elicit{
		"nothing": func(context.Context, ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, nil },
		"an error": func(context.Context, ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return nil, errors.New("s3cret")
		},
		"a panic": func(context.Context, ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error) { panic("s3cret") },
	} {
		t.Run(name, func(t *testing.T) {
			srv := newEcho()
			heard := make(chan error, 3)
			srv.AddTool(&mcp.Tool{Name: "ask", InputSchema: anyObject}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?"})
				heard <- err
				_, err = req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
				heard <- err
				_, err = req.Session.ListRoots(ctx, nil)
				heard <- err
				return &mcp.CallToolResult{}, nil
			})
			var m memory
			m.set("s", func(context.Context) (*mcp.Server, error) { return srv, nil })
			h := newMemoryHost(t, &m, HostOptions{Options: Options{Handlers: Handlers{
				Elicit: handler,
				Sample: func(ctx context.Context, id ServerID, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
					_, err := handler(ctx, id, nil)
					return nil, err
				},
				Roots: func(ctx context.Context, id ServerID) ([]*mcp.Root, error) {
					if _, err := handler(ctx, id, nil); err != nil {
						return nil, err
					}
					return nil, errors.New("s3cret")
				},
			}}})
			if err := h.Add(one, memoryPlugin(t, "p", "s")); err != nil {
				t.Fatal(err)
			}
			if err := h.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Call(t.Context(), "mcp__p__s__ask", nil, CallOptions{}); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := <-heard; err == nil || !strings.HasSuffix(err.Error(), "the client failed to answer") {
					t.Errorf("the server heard: %v", err)
				}
			}
		})
	}
}

// TestOddRequests: nothing that a server asks or announces ends the client.
func TestOddRequests(t *testing.T) { // [Q1] [R14]
	params := []string{``, `,"params":null`, `,"params":{}`, `,"params":[]`, `,"params":7`, `,"params":"x"`,
		`,"params":{"_meta":null}`, `,"params":{"_meta":7}`, `,"params":{"progressToken":null,"progress":"x"}`,
		`,"params":{"progressToken":"plugberth-1","progress":1e308,"message":"\u001b"}`,
		`,"params":{"message":null,"requestedSchema":7}`, `,"params":{"message":"?","requestedSchema":{"type":"object","properties":null}}`,
		`,"params":{"message":"?","requestedSchema":{"type":"object","properties":{"a":null}}}`,
		`,"params":{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}}`,
		`,"params":{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string","default":7}}}}`,
		`,"params":{"mode":"url"}`, `,"params":{"mode":"url","url":"x","elicitationId":""}`, `,"params":{"mode":"x"}`,
		`,"params":{"messages":null}`, `,"params":{"messages":[null]}`, `,"params":{"messages":[{}]}`, `,"params":{"messages":[{"role":"user","content":null}]}`,
		`,"params":{"messages":[{"role":"user","content":[null]}],"maxTokens":1}`, `,"params":{"messages":[{"role":"user","content":{"type":"x"}}],"tools":[null]}`,
		`,"params":{"requestId":null}`, `,"params":{"requestId":{}}`, `,"params":{"uri":7}`, `,"params":{"uri":null}`, `,"params":{"level":7,"data":null}`, `,"params":{"elicitationId":null}`,
	}
	methods := []string{"elicitation/create", "sampling/createMessage", "roots/list", "ping", "tools/list", "x", "",
		"notifications/cancelled", "notifications/progress", "notifications/message", "notifications/tools/list_changed",
		"notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/resources/updated",
		"notifications/elicitation/complete", "notifications/subscriptions/acknowledged", "notifications/initialized", "initialize"}
	opts := testOptions(t)
	opts.Launcher = launcherFunc(func(context.Context, Launch) (Process, error) {
		return newMemoryProcess(func(p *memoryProcess) {
			in := bufio.NewScanner(p.inR)
			in.Buffer(nil, 1<<20)
			for in.Scan() {
				var msg struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
				}
				_ = json.Unmarshal(in.Bytes(), &msg)
				switch msg.Method {
				case "initialize":
					fmt.Fprintf(p.outW, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}}`+"\n", msg.ID)
				case "tools/call":
					go func() {
						for _, m := range methods {
							for i, ps := range params {
								if strings.HasPrefix(m, "notifications/") {
									fmt.Fprintf(p.outW, `{"jsonrpc":"2.0","method":%q%s}`+"\n", m, ps)
								} else {
									fmt.Fprintf(p.outW, `{"jsonrpc":"2.0","id":"q-%s-%d","method":%q%s}`+"\n", m, i, m, ps)
								}
							}
						}
						fmt.Fprintf(p.outW, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", msg.ID)
					}()
				}
			}
		}), nil
	})
	opts.Handlers = Handlers{
		Elicit: func(context.Context, ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"a": 1}}, nil
		},
		Sample: func(context.Context, ServerID, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{}, nil
		},
		Roots:        func(context.Context, ServerID) ([]*mcp.Root, error) { return []*mcp.Root{nil}, nil },
		Notification: func(ServerID, string, mcp.Params) { panic("the host's") },
	}
	s, err := Connect(t.Context(), testPlugin(t, "normal"), testID.Instance, "s", *opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.CallTool(t.Context(), "t", nil, CallOptions{Progress: func(Progress) { panic("the host's") }}); err != nil {
		t.Error(err)
	}
}

// rawServer is a stdio server that answers each method with a text.
func rawServer(t *testing.T, answer func(method string) string) Launcher {
	return launcherFunc(func(context.Context, Launch) (Process, error) {
		return newMemoryProcess(func(p *memoryProcess) {
			in := bufio.NewScanner(p.inR)
			in.Buffer(nil, 1<<20)
			for in.Scan() {
				var msg struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
				}
				_ = json.Unmarshal(in.Bytes(), &msg)
				if msg.ID != nil && msg.Method != "" {
					fmt.Fprintf(p.outW, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", msg.ID, answer(msg.Method))
				}
			}
		}), nil
	})
}

const rawInitialize = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"odd","version":"1"}}`

// TestOddResults: nothing that a server answers ends the client.
func TestOddResults(t *testing.T) { // [Q1] [R9]
	odd := []string{`null`, `{}`, `[]`, `7`, `"x"`,
		`{"inputRequests":{"a":null}}`, `{"inputRequests":{"a":{}}}`, `{"inputRequests":{"a":{"method":"elicitation/create"}}}`,
		`{"inputRequests":{"a":{"method":"elicitation/create","params":null}}}`, `{"inputRequests":{"a":{"method":"sampling/createMessage","params":{"messages":[null]}}}}`,
		`{"inputRequests":{"a":{"method":"roots/list","params":null}}}`, `{"inputRequests":{}}`, `{"inputRequests":null}`, `{"inputRequests":[]}`,
		`{"content":null}`, `{"content":[null]}`, `{"content":[{}]}`, `{"content":[{"type":"text"}]}`, `{"content":{"type":"text","text":"x"}}`,
		`{"content":[{"type":"resource"}]}`, `{"content":[{"type":"resource","resource":null}]}`, `{"content":[{"type":"image","data":null,"mimeType":null}]}`,
		`{"content":[{"type":"image","data":"%"}]}`, `{"content":[{"type":"resource_link","uri":null,"icons":[null]}]}`, `{"content":[{"type":"tool_use"},{"type":"tool_result","content":[null]}]}`,
		`{"content":[{"type":"text","text":"x","annotations":{"audience":[null]},"_meta":null}]}`,
		`{"structuredContent":null,"isError":null,"_meta":null}`, `{"structuredContent":[1],"isError":"x"}`, `{"resultType":"input_required"}`, `{"resultType":7}`,
		`{"tools":null}`, `{"tools":[null]}`, `{"tools":[{}]}`, `{"tools":[{"name":null}]}`, `{"tools":[{"name":"x","inputSchema":null,"outputSchema":7,"annotations":null,"icons":[null],"execution":null}]}`,
		`{"tools":[{"name":"x","inputSchema":{"type":"object","properties":{"a":{"x-mcp-header":7}}}}]}`, `{"tools":[{"name":"x","inputSchema":{"type":"object","properties":{"a":null}}}]}`,
		`{"tools":[],"nextCursor":7}`, `{"tools":[],"ttlMs":-1}`, `{"messages":[null]}`, `{"messages":[{"content":null}]}`, `{"contents":[null]}`, `{"contents":[{"uri":null}]}`,
		`{"protocolVersion":null}`, `{"protocolVersion":"2025-11-25","capabilities":null,"serverInfo":null}`, `{"protocolVersion":"2025-11-25"}`,
		`{"protocolVersion":"2025-11-25","capabilities":{"tools":null,"experimental":{"a":null}},"serverInfo":{"icons":[null]}}`,
	}
	opts := testOptions(t)
	opts.GracePeriod, opts.CallTimeout = time.Second, 5*time.Second
	opts.Handlers = Handlers{
		Elicit: func(context.Context, ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, nil },
		Sample: func(context.Context, ServerID, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return nil, nil
		},
		Roots: func(context.Context, ServerID) ([]*mcp.Root, error) { return nil, nil },
	}
	p := testPlugin(t, "normal")
	now := ""
	opts.Launcher = rawServer(t, func(method string) string {
		if method == "initialize" {
			return rawInitialize
		}
		return now
	})
	s, err := Connect(t.Context(), p, testID.Instance, "s", *opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, now = range odd {
		if res, err := s.CallTool(t.Context(), "t", nil, CallOptions{}); err == nil {
			ResultText("t", res, 0)
		}
		_, _, _ = s.Tools(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, _ = s.MCP().GetPrompt(ctx, &mcp.GetPromptParams{Name: "x"})
		_, _ = s.MCP().ReadResource(ctx, &mcp.ReadResourceParams{URI: "x"})
		_, _ = s.MCP().ListPrompts(ctx, nil)
		cancel()
		if s.Err() != nil {
			t.Fatalf("%s ended the session: %v", now, s.Err())
		}
	}
	for _, o := range odd {
		opts.Launcher = rawServer(t, func(method string) string {
			if method == "tools/list" {
				return `{"tools":[]}`
			}
			return o
		})
		if s, err := Connect(t.Context(), p, testID.Instance, "s", *opts); err == nil {
			s.Close()
		}
	}
}

// TestServerWithoutTools: a server that announces no tools is not asked for any:
// it need not know the method.
func TestServerWithoutTools(t *testing.T) { // [R11]
	opts := testOptions(t)
	opts.Launcher = rawServer(t, func(method string) string {
		if method == "tools/list" {
			t.Error("it was asked")
		}
		return `{"protocolVersion":"2025-11-25","capabilities":{"prompts":{}},"serverInfo":{"name":"x","version":"1"}}`
	})
	s, err := Connect(t.Context(), testPlugin(t, "normal"), testID.Instance, "s", *opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if tools, dropped, err := s.Tools(t.Context()); err != nil || len(tools)+len(dropped) != 0 {
		t.Errorf("%v %v %v", tools, dropped, err)
	}
}

// TestDuplicateTools: of tools with one name a session gives the first.
func TestDuplicateTools(t *testing.T) { // [R9]
	opts := testOptions(t)
	opts.Launcher = rawServer(t, func(method string) string {
		if method == "tools/list" {
			return `{"tools":[{"name":"a","description":"first","inputSchema":{"type":"object"}},{"name":"a","description":"second","inputSchema":{"type":"object"}}]}`
		}
		return rawInitialize
	})
	s, err := Connect(t.Context(), testPlugin(t, "normal"), testID.Instance, "s", *opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tools, dropped, err := s.Tools(t.Context())
	if err != nil || len(tools) != 1 || tools[0].Description != "first" || len(dropped) != 1 || dropped[0].Local != "a" {
		t.Errorf("%+v %v %v", tools, dropped, err)
	}
}
