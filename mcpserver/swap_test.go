package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// generation is a set of tools that all carry its number.
func generation(t testing.TB, n, size int) []*mcpserver.Tool {
	t.Helper()
	tools := make([]*mcpserver.Tool, size)
	for i := range tools {
		tool, err := mcpserver.NewTool(mcpserver.ToolDef{
			Name:        fmt.Sprintf("tool_%02d", i),
			Description: fmt.Sprint("generation ", n),
			Handler: func(context.Context, mcpserver.Call) (mcpserver.Result, error) {
				return mcpserver.Result{Text: fmt.Sprint(n)}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		tools[i] = tool
	}
	return tools
}

// TestSwap: lists see one set of tools, whole, a call uses the set of its
// moment, and each swap is notified once. The tools of the channel stay. [K4]
func TestSwap(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Rate: 1 << 20, Burst: 1 << 20}})
			m := h.mint(t, mcpserver.Grant{Channel: channel.Parts{Recorder: &run{}}})
			var notified atomic.Int64
			listener := h.connect(t, m.Token.Reveal(), era, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { notified.Add(1) },
			})
			_ = listener
			if err := h.SwapTools(m.ID, 0, generation(t, 0, 20)...); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the first swap is notified", func() bool { return notified.Load() == 1 })

			const swaps = 10
			stop := make(chan struct{})
			var wg sync.WaitGroup
			for range 2 {
				cs := h.connect(t, m.Token.Reveal(), era, nil)
				wg.Go(func() {
					last := -1
					for lists := 0; ; lists++ {
						select {
						case <-stop:
							if lists == 0 {
								t.Error("nothing was listed")
							}
							return
						default:
						}
						list, err := cs.ListTools(context.Background(), nil)
						if err != nil {
							t.Error(err)
							return
						}
						revision, _ := list.Meta["revision"].(float64)
						if int(revision) < last {
							t.Errorf("revision %v after %d", revision, last)
						}
						last = int(revision)
						if len(list.Tools) != 21 {
							t.Errorf("%d tools", len(list.Tools))
						}
						for _, tool := range list.Tools {
							if tool.Name != "record_progress" && tool.Description != fmt.Sprint("generation ", last) {
								t.Errorf("%s of revision %d says %s", tool.Name, last, tool.Description)
							}
						}
					}
				})
			}
			for n := 1; n <= swaps; n++ {
				if err := h.SwapTools(m.ID, n, generation(t, n, 20)...); err != nil {
					t.Fatal(err)
				}
				eventually(t, "each swap is notified once", func() bool { return notified.Load() == int64(n+1) })
			}
			// In a row: at least one after the last, at most one each.
			before := notified.Load()
			for n := range 50 {
				h.SwapTools(m.ID, swaps+1+n, generation(t, swaps+1+n, 20)...)
			}
			eventually(t, "a burst is notified", func() bool { return notified.Load() > before })
			time.Sleep(50 * time.Millisecond) // for notifications that must not come
			if n := notified.Load() - before; n > 50 {
				t.Errorf("%d notifications for 50 swaps", n)
			}
			close(stop)
			wg.Wait()
			if res := call(t, listener, "tool_07", args{}); text(res) != fmt.Sprint(swaps+50) {
				t.Errorf("a call went to generation %s", text(res))
			}
			h.SwapTools(m.ID, 1000)
			if _, err := tryCall(listener, "tool_07", args{}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
				t.Errorf("a tool that was taken away: %v", err)
			}
			if res := call(t, listener, "record_progress", args{"text": "x"}); res.IsError {
				t.Error(text(res))
			}
		})
	}
}

// TestSwapBeforeUse: tools that were swapped before the grant is used are what
// its first list has, and a notification that nobody heard is heard by a client
// that listens later, once.
func TestSwapBeforeUse(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	m := h.mint(t, mcpserver.Grant{})
	h.SwapTools(m.ID, 1, generation(t, 1, 3)...)
	base := raw{url: h.url, token: m.Token.Reveal()}.begin(t)
	got := base.do(t, "POST", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	if n := strings.Count(got.body, "generation 1"); n != 3 {
		t.Errorf("%d tools: %+v", n, got)
	}
	for n := range 3 {
		h.SwapTools(m.ID, 2+n, generation(t, 2+n, 3)...)
		time.Sleep(20 * time.Millisecond) // apart, so that each is notified
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	resp, err := base.open(ctx, "GET", "")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	heard := 0
	for ev := range sseStream(resp.Body) {
		if strings.Contains(ev.data, "list_changed") {
			if heard++; heard == 1 {
				h.SwapTools(m.ID, 9)
			} else {
				cancel()
			}
		}
	}
	if heard != 2 {
		t.Errorf("heard %d notifications", heard)
	}
}

// TestDerivedKey: the key of a subtask depends on all of what is asked for, and
// on nothing else. [H4]
func TestDerivedKey(t *testing.T) {
	keys := []string{
		mcpserver.DerivedKey("a", "b"), mcpserver.DerivedKey("ab", ""), mcpserver.DerivedKey("", "ab"),
		mcpserver.DerivedKey("a", "c"), mcpserver.DerivedKey("b", "a"), mcpserver.DerivedKey("a\x00", "b"),
	}
	if mcpserver.DerivedKey("a", "b") != keys[0] {
		t.Error("the same gives another key")
	}
	slices.Sort(keys)
	if n := len(slices.Compact(keys)); n != 6 {
		t.Errorf("%d different keys", n)
	}
}

// TestSpawnTwice: an agent that repeats a request, in this grant or a later one
// of the task, gets the same subtask; with another key it gets another. [H4]
func TestSpawnTwice(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	r := &run{}
	id := func(cs *mcp.ClientSession, a args) string {
		data, _ := json.Marshal(structured(t, call(t, cs, "spawn_subtask", a)))
		return string(data)
	}
	work := args{"title": "Docs", "prompt": "Write."}
	keyed := args{"title": "Docs", "prompt": "Write.", "key": "again"}
	var cs *mcp.ClientSession
	for i, want := range []string{`{"existing":false,"subtask_id":"sub-0"}`, `{"existing":true,"subtask_id":"sub-0"}`} {
		cs = h.connect(t, h.mint(t, mcpserver.Grant{Channel: channel.Of(r)}).Token.Reveal(), eras[i], nil)
		if got := id(cs, work); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := id(cs, keyed); got != `{"existing":false,"subtask_id":"sub-1"}` {
		t.Error(got)
	}
	if got := id(cs, keyed); got != `{"existing":true,"subtask_id":"sub-1"}` {
		t.Error(got)
	}
}
