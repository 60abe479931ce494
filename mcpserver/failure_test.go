package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// TestHandlerFails: whatever a handler does, the agent gets a result that says
// no internals, the log says whose call it was, and the process goes on. [Q1]
// [T6]
func TestHandlerFails(t *testing.T) {
	const inside = "db-7.internal: password rejected"
	tests := []struct {
		name    string
		handler mcpserver.Handler
		outcome mcpserver.Outcome
		text    string // in what the agent reads
		log     string // in the log
	}{
		{"error", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Text: inside}, errors.New(inside)
		}, mcpserver.OutcomeError, "failed on the host's side", inside},
		{"error that quotes an argument", func(_ context.Context, c mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{}, fmt.Errorf("bad %s", c.Arguments)
		}, mcpserver.OutcomeError, "failed on the host's side", `bad {\"note\":[argument]}`},
		{"panic with a string", func(context.Context, mcpserver.Call) (mcpserver.Result, error) { panic(inside) },
			mcpserver.OutcomePanic, "failed on the host's side", "a value of type string"},
		{"panic with an argument", func(_ context.Context, c mcpserver.Call) (mcpserver.Result, error) { panic(string(c.Arguments)) },
			mcpserver.OutcomePanic, "failed on the host's side", "a value of type string"},
		{"panic of the runtime", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			var none []string
			return mcpserver.Result{Text: none[len(none)]}, nil
		}, mcpserver.OutcomePanic, "failed on the host's side", "index out of range [0] with length 0"},
		{"panic with nil", func(context.Context, mcpserver.Call) (mcpserver.Result, error) { panic(nil) },
			mcpserver.OutcomePanic, "failed on the host's side", "panic called with nil"},
		{"panic with an error that panics", func(context.Context, mcpserver.Call) (mcpserver.Result, error) { panic(runtimeBomb{}) },
			mcpserver.OutcomePanic, "failed on the host's side", "a value of type mcpserver_test.runtimeBomb"},
		{"goroutine ended", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			runtime.Goexit()
			return mcpserver.Result{}, nil
		}, mcpserver.OutcomePanic, "failed on the host's side", "runtime.Goexit"},
		{"error that is a nil pointer", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			var none *fs.PathError
			return mcpserver.Result{}, none
		}, mcpserver.OutcomePanic, "failed on the host's side", "nil pointer dereference"},
		{"error that panics when it is matched", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{}, errorBomb{"Is"}
		}, mcpserver.OutcomePanic, "failed on the host's side", "a value of type string"},
		{"error for the agent that panics", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{}, errorBomb{"AgentText"}
		}, mcpserver.OutcomePanic, "failed on the host's side", "a value of type string"},
		{"deadline", func(ctx context.Context, _ mcpserver.Call) (mcpserver.Result, error) {
			<-ctx.Done()
			return mcpserver.Result{}, ctx.Err()
		}, mcpserver.OutcomeTimeout, "did not finish in time", "timeout"},
		{"deadline that is ignored", func(ctx context.Context, _ mcpserver.Call) (mcpserver.Result, error) {
			<-ctx.Done()
			time.Sleep(400 * time.Millisecond)
			return mcpserver.Result{Text: "late"}, nil
		}, mcpserver.OutcomeTimeout, "did not finish in time", "timeout"},
		{"deadline with a word in the end", func(ctx context.Context, _ mcpserver.Call) (mcpserver.Result, error) {
			<-ctx.Done()
			return mcpserver.Result{Text: "halfway"}, nil
		}, mcpserver.OutcomeOK, "halfway", "ok"},
		{"no JSON", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Structured: map[string]any{"x": make(chan int)}}, nil
		}, mcpserver.OutcomeResult, "failed on the host's side", "no JSON object"},
		{"no object", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Structured: []int{1}}, nil
		}, mcpserver.OutcomeResult, "failed on the host's side", "no JSON object"},
		{"a value that panics when it is marshaled", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Structured: bomb{}}, nil
		}, mcpserver.OutcomePanic, "failed on the host's side", "a value of type string"},
		{"content that is nil", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Content: []mcp.Content{nil}}, nil
		}, mcpserver.OutcomeResult, "failed on the host's side", "cannot be marshaled"},
		{"content that is a nil pointer", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Content: []mcp.Content{(*mcp.ImageContent)(nil)}}, nil
		}, mcpserver.OutcomeResult, "failed on the host's side", "cannot be marshaled"},
		{"content with a bomb", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Content: []mcp.Content{&mcp.TextContent{Text: "x", Meta: mcp.Meta{"x": bomb{}}}}}, nil
		}, mcpserver.OutcomePanic, "failed on the host's side", "a value of type string"},
		{"too large", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Text: strings.Repeat("x", 1<<20+1)}, nil
		}, mcpserver.OutcomeResult, "1048577 bytes", "too large"},
		{"an error for the agent", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{}, &channel.Refusal{Text: "Not on Sundays.", Err: errors.New(inside)}
		}, mcpserver.OutcomeTool, "Not on Sundays.", inside},
		{"a result that is an error", func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
			return mcpserver.Result{Text: "There is no such branch.", IsError: true}, nil
		}, mcpserver.OutcomeTool, "There is no such branch.", "tool_error"},
		{"nothing", func(context.Context, mcpserver.Call) (mcpserver.Result, error) { return mcpserver.Result{}, nil },
			mcpserver.OutcomeOK, "", "ok"},
	}
	for _, era := range eras {
		for _, tt := range tests {
			t.Run(era+" "+tt.name, func(t *testing.T) {
				h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Call: 100 * time.Millisecond}})
				if tt.outcome != mcpserver.OutcomeTimeout && !strings.HasPrefix(tt.name, "deadline") {
					h = serve(t, mcpserver.Options{}) // 100 ms are short for a stack under the race detector
				}
				m := h.mint(t, mcpserver.Grant{
					Identity: mcpserver.Identity{Task: "task-77"}, Channel: channel.Of(&run{}),
					Tools: []*mcpserver.Tool{custom(t, "x", tt.handler)},
				})
				cs := h.connect(t, m.Token.Reveal(), era, nil)
				res := call(t, cs, "x", args{"note": "the quick brown fox"})
				wantError := tt.outcome != mcpserver.OutcomeOK
				if res.IsError != wantError || !strings.Contains(text(res), tt.text) || strings.Contains(text(res), inside) {
					t.Errorf("the agent got %v %q", res.IsError, text(res))
				}
				if ev := h.event(t, mcpserver.EventCall); ev.Outcome != tt.outcome || ev.Tool != "x" || ev.Run.Identity.Task != "task-77" || ev.RequestBytes == 0 {
					t.Errorf("event %+v", ev)
				}
				logged := h.logged.String()
				if !strings.Contains(logged, tt.log) || !strings.Contains(logged, `"task":"task-77"`) {
					t.Errorf("the log says %s", logged)
				}
				if strings.Contains(logged, "brown fox") {
					t.Errorf("the log quotes an argument: %s", logged)
				}
				// The same session goes on.
				if res := call(t, cs, "record_progress", args{"text": "still here"}); res.IsError {
					t.Error(text(res))
				}
			})
		}
	}
}

// bomb panics when it is marshaled.
type bomb struct{}

func (bomb) MarshalJSON() ([]byte, error) { panic("db-7.internal: password rejected") }

// runtimeBomb panics when the panic with it is looked at.
type runtimeBomb struct{}

func (runtimeBomb) RuntimeError() {}
func (runtimeBomb) Error() string { panic("db-7.internal: password rejected") }

// errorBomb is an error one of whose methods panics.
type errorBomb struct{ method string }

func (e errorBomb) Error() string { return e.do("Error") }
func (e errorBomb) Is(error) bool { return e.do("Is") == "" }
func (e errorBomb) AgentText() string {
	return e.do("AgentText")
}

func (e errorBomb) do(method string) string {
	if method == e.method {
		panic("db-7.internal: password rejected")
	}
	return method
}

// TestChannelFails: the channel's errors are like those of any handler. [H4]
func TestChannelFails(t *testing.T) {
	boom := func(what string) error {
		switch what {
		case "error":
			return errors.New("disk full on node 9")
		case "refusal":
			return &channel.Refusal{Text: "Only one a day."}
		case "goexit":
			runtime.Goexit()
		}
		panic("boom")
	}
	for _, era := range eras {
		for _, what := range []string{"error", "refusal", "panic", "goexit"} {
			t.Run(era+" "+what, func(t *testing.T) {
				h := serve(t, mcpserver.Options{})
				m := h.mint(t, mcpserver.Grant{Channel: channel.Of(failing(func() error { return boom(what) }))})
				cs := h.connect(t, m.Token.Reveal(), era, nil)
				for _, tool := range []string{"ask_user", "report_summary", "spawn_subtask", "record_progress"} {
					res := call(t, cs, tool, args{"question": "?", "summary": "s", "title": "t", "prompt": "p", "text": "t"})
					want := "failed on the host's side"
					if what == "refusal" {
						want = "Only one a day."
					}
					if !res.IsError || !strings.Contains(text(res), want) || strings.Contains(text(res), "node 9") {
						t.Errorf("%s: %q", tool, text(res))
					}
					want = map[string]string{"error": "error", "refusal": "tool_error", "panic": "panic", "goexit": "panic"}[what]
					if ev := h.event(t, mcpserver.EventCall); string(ev.Outcome) != want {
						t.Errorf("%s: event %+v", tool, ev)
					}
				}
			})
		}
	}
}

type failing func() error

func (f failing) Ask(context.Context, channel.Question) (channel.Answer, error) {
	return channel.Answer{}, f()
}
func (f failing) ReportSummary(context.Context, channel.Summary) error { return f() }
func (f failing) SpawnSubtask(context.Context, channel.SubtaskSpec) (channel.Subtask, error) {
	return channel.Subtask{}, f()
}
func (f failing) RecordProgress(context.Context, channel.Progress) error { return f() }

// TestBadArguments: what does not fit the schema never reaches a handler, and
// the model is told field by field what to change. [T4]
func TestBadArguments(t *testing.T) {
	tests := []struct {
		tool string
		args any
		want string
	}{
		{"ask_user", args{}, `lacks "question"`},
		{"ask_user", nil, `lacks "question"`},
		{"ask_user", args{"question": ""}, `"/question" `},
		{"ask_user", args{"question": " \n "}, `"/question" does not match`},
		{"ask_user", args{"question": 7}, `"/question" is a number and has to be a string`},
		{"ask_user", args{"Question": "?"}, `lacks "question"`},
		{"ask_user", args{"question": strings.Repeat("é", 4001)}, "has 4001 characters and may have 4000"},
		{"ask_user", args{"question": "?", "choices": "yes"}, `"/choices" is a string and has to be an array`},
		{"ask_user", args{"question": "?", "choices": []string{"a", "a"}}, `"/choices" has the same item`},
		{"ask_user", args{"question": "?", "choices": []string{"a", ""}}, `"/choices/1" `},
		{"ask_user", args{"question": "?", "choices": make([]string, 21)}, `"/choices" has 21 items`},
		{"ask_user", args{"question": "?", "allow_free_text": "no"}, `"/allow_free_text" is a string and has to be a boolean`},
		{"report_summary", args{"summary": strings.Repeat("x", 20001)}, "20000"},
		{"spawn_subtask", args{"title": "t"}, `lacks "prompt"`},
		{"spawn_subtask", args{"title": "two\nlines", "prompt": "p"}, `"/title" does not match`},
		{"spawn_subtask", args{"title": "t", "prompt": "p", "key": "sha256:1"}, `"/key" does not match`},
		{"record_progress", args{"text": "t", "percent": 100.5}, `"/percent" is too large`},
		{"record_progress", args{"text": "t", "percent": "50"}, `"/percent" is a string`},
		{"echo", args{"text": "more than ten"}, "may have 10"},
		{"ask_user", args{"question": "?", "choices": make([]int, 30_000)}, "more than 20000 values"},
		{"ask_user", args{"question": "?", "choices": make([]int, 15_000)}, "has 15000 items and may have 20"},
		{"echo", []int{1}, "is an array and has to be an object"},
		{"echo", "text", "is a string and has to be an object"},
	}
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Rate: 10_000, Burst: 10_000}})
	r := &run{}
	m := h.mint(t, mcpserver.Grant{Channel: channel.Of(r), Tools: []*mcpserver.Tool{echo(t, "echo")}})
	for _, era := range eras {
		base := raw{url: h.url, token: m.Token.Reveal(), version: era}
		if era == stateful {
			base = raw{url: h.url, token: m.Token.Reveal()}.begin(t)
		}
		for i, tt := range tests {
			name, _ := json.Marshal(tt.args)
			t.Run(era+" "+tt.tool+" "+string(name[:min(len(name), 60)]), func(t *testing.T) {
				got := base.do(t, "POST", toolCall(era, i, tt.tool, tt.args)).messages(t)
				var res mcp.CallToolResult
				last, _ := json.Marshal(got[len(got)-1]["result"])
				if err := json.Unmarshal(last, &res); err != nil {
					t.Fatalf("%v: %v", got, err)
				}
				if !res.IsError || !strings.Contains(text(&res), tt.want) {
					t.Errorf("%s, want %q", text(&res), tt.want)
				}
			})
		}
	}
	if len(r.runs) > 0 {
		t.Errorf("%d calls reached the channel", len(r.runs))
	}
	if logged := h.logged.String(); strings.Contains(logged, "more than ten") || strings.Contains(logged, "two") && strings.Contains(logged, "lines") {
		t.Error("the log quotes an argument")
	}
}

// TestArgumentsReadOneWay: a handler that decodes the arguments into a struct
// gets no value that the schema has not judged, as encoding/json takes names in
// any case and merges objects that stand twice. [T4]
func TestArgumentsReadOneWay(t *testing.T) {
	type in struct {
		Name string
		Deep struct{ Path string }
	}
	var got in
	tool, err := mcpserver.NewTool(mcpserver.ToolDef{
		Name: "x", Description: "d",
		InputSchema: json.RawMessage(`{"type": "object", "required": ["name"], "properties": {
			"name": {"type": "string", "pattern": "^[a-z]+$"},
			"deep": {"type": "object", "properties": {"path": {"type": "string", "pattern": "^[a-z]+$"}}}}}`),
		Handler: func(_ context.Context, c mcpserver.Call) (mcpserver.Result, error) {
			got = in{}
			return mcpserver.Result{Text: "done"}, json.Unmarshal(c.Arguments, &got)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := serve(t, mcpserver.Options{})
	r := raw{url: h.url, token: h.mint(t, mcpserver.Grant{Tools: []*mcpserver.Tool{tool}}).Token.Reveal()}.begin(t)
	for arguments, want := range map[string]string{
		`{"name":"ok","deep":{"path":"in"},"other":1}`:     "done",
		`{"name":"ok","Name":"../out"}`:                    "differs in the case",
		`{"name":"ok","DEEP":{"path":"../out"}}`:           "differs in the case",
		`{"name":"ok","deep":{"path":"../out"},"deep":{}}`: "stands twice",
		`{"name":"../out","name":"ok"}`:                    "stands twice",
	} {
		reply := r.do(t, "POST", `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"x","arguments":`+arguments+`}}`)
		if !strings.Contains(reply.body, want) || strings.Contains(fmt.Sprint(got), "out") {
			t.Errorf("%s: %s, and the handler got %+v", arguments, reply.body, got)
		}
	}
}

// TestObserverPanics: a bad observer costs nobody a call.
func TestObserverPanics(t *testing.T) {
	h := serve(t, mcpserver.Options{Observer: badObserver{}})
	m := h.mint(t, mcpserver.Grant{Channel: channel.Of(&run{})})
	cs := h.connect(t, m.Token.Reveal(), stateful, nil)
	if res := call(t, cs, "record_progress", args{"text": "x"}); res.IsError {
		t.Error(text(res))
	}
	h.Revoke(m.ID)
	if !strings.Contains(h.logged.String(), "observer panicked") {
		t.Error("it is not logged")
	}
}

type badObserver struct{}

func (badObserver) Observe(mcpserver.Event) { panic("no") }

// badHandler is a log handler one of whose methods panics.
type badHandler string

func (b badHandler) Handle(context.Context, slog.Record) error { b.do("Handle"); return nil }
func (b badHandler) WithAttrs([]slog.Attr) slog.Handler        { b.do("WithAttrs"); return b }
func (b badHandler) WithGroup(string) slog.Handler             { b.do("WithGroup"); return b }
func (b badHandler) Enabled(context.Context, slog.Level) bool  { b.do("Enabled"); return true }

func (b badHandler) do(method string) {
	if method == string(b) {
		panic("no disk")
	}
}

// TestLoggerPanics: a bad logger costs nobody a call, and the process nothing.
func TestLoggerPanics(t *testing.T) {
	boom := custom(t, "boom", func(context.Context, mcpserver.Call) (mcpserver.Result, error) { panic("boom") })
	for _, method := range []string{"Handle", "WithAttrs", "WithGroup", "Enabled"} {
		t.Run(method, func(t *testing.T) {
			h := serve(t, mcpserver.Options{Logger: slog.New(badHandler(method))})
			m := h.mint(t, mcpserver.Grant{Channel: channel.Of(&run{}), Tools: []*mcpserver.Tool{boom}, Labels: map[string]string{"a": "b"}})
			cs := h.connect(t, m.Token.Reveal(), stateful, nil)
			if res := call(t, cs, "boom", args{}); !res.IsError {
				t.Error("no error")
			}
			if res := call(t, cs, "record_progress", args{"text": "x"}); res.IsError {
				t.Error(text(res))
			}
			h.mint(t, mcpserver.Grant{TTL: time.Nanosecond})
			h.event(t, mcpserver.EventExpired)
		})
	}
}

// TestDescriptionPanics: what the host described its own prompts, resources and
// tools with costs nobody but the one who asks for it. [Q1]
func TestDescriptionPanics(t *testing.T) {
	bad := mcp.Meta{"x": bomb{}}
	for name, g := range map[string]mcpserver.Grant{
		"prompts/list": {Configure: func(s *mcp.Server) { s.AddPrompt(&mcp.Prompt{Name: "p", Meta: bad}, nil) }},
		"resources/list": {Configure: func(s *mcp.Server) {
			s.AddResource(&mcp.Resource{URI: "a://b", Name: "r", Meta: bad}, nil)
		}},
		"resources/templates/list": {Configure: func(s *mcp.Server) {
			s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "a://{b}", Name: "r", Meta: bad}, nil)
		}},
		"tools/list": {Configure: func(s *mcp.Server) {
			s.AddTool(&mcp.Tool{Name: "t", Meta: bad, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, nil
			})
		}},
		"initialize": {ServerOptions: func(o *mcp.ServerOptions) {
			o.Capabilities.Experimental = map[string]any{"x": bomb{}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, mcpserver.Options{})
			r := raw{url: h.url, token: h.mint(t, g).Token.Reveal()}
			message := initialize
			if name != "initialize" {
				r = r.begin(t)
				message = `{"jsonrpc":"2.0","id":2,"method":"` + name + `"}`
			}
			got := r.do(t, "POST", message)
			if !strings.Contains(got.body, "internal error") || strings.Contains(got.body, "db-7") {
				t.Errorf("%+v", got)
			}
			if logged := h.logged.String(); !strings.Contains(logged, "handler panicked") || !strings.Contains(logged, name) {
				t.Errorf("the log says %s", logged)
			}
		})
	}
}

// TestConfigurePanics: a host's function that panics costs its grant the
// request, not the process; one that asks the registry gets an answer.
func TestConfigurePanics(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	tries := 0
	var id string
	m := h.mint(t, mcpserver.Grant{Configure: func(*mcp.Server) {
		if _, ok := h.Grant(id); !ok {
			t.Error("the grant is not known")
		}
		if tries++; tries < 3 {
			panic("not yet")
		}
	}})
	id = m.ID
	r := raw{url: h.url, token: m.Token.Reveal()}
	for i, want := range []int{500, 500, 200, 200} {
		if got := r.do(t, "POST", initialize); got.status != want || strings.Contains(got.body, "not yet") {
			t.Errorf("%d: %+v", i, got)
		}
	}
	if tries != 3 {
		t.Errorf("it was called %d times", tries)
	}
}
