package mcpserver_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// TestFourTools: an agent finds and uses the tools of the channel, in both
// protocols, and what it says arrives as its run's. [T2] [T3] [T4]
func TestFourTools(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := serve(t, mcpserver.Options{})
			r := &run{}
			who := mcpserver.Identity{Task: "task-1", Session: "session-1", Workspace: "ws", Surface: "cli"}
			m := h.mint(t, mcpserver.Grant{Identity: who, Channel: channel.Of(r), Labels: map[string]string{"team": "blue"}})
			cs := h.connect(t, m.Token.Reveal(), era, nil)

			list, err := cs.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
				if len(tool.Description) < 100 || tool.InputSchema == nil || tool.OutputSchema == nil {
					t.Errorf("%s tells a model too little", tool.Name)
				}
			}
			want := []string{"ask_user", "record_progress", "report_summary", "spawn_subtask"}
			if !slices.Equal(names, want) {
				t.Fatalf("tools %q, want %q", names, want)
			}

			// What an agent claims to be changes nothing. [T3]
			claims := func(a args) args {
				a["task_id"], a["taskId"], a["session"], a["identity"] = "task-2", "task-2", "session-2", args{"task": "task-2"}
				return a
			}
			res := call(t, cs, "ask_user", claims(args{"question": "Deploy now?", "choices": []string{"yes", "no"}, "allow_free_text": false}))
			if res.IsError || text(res) != "yes" || structured(t, res)["answer"] != "yes" || structured(t, res)["status"] != "answered" {
				t.Errorf("ask_user: %+v", res)
			}
			res = call(t, cs, "report_summary", claims(args{"summary": "All done."}))
			if res.IsError || structured(t, res)["status"] != "recorded" {
				t.Errorf("report_summary: %+v", res)
			}
			res = call(t, cs, "spawn_subtask", claims(args{"title": "Docs", "prompt": "Write the docs."}))
			if res.IsError || structured(t, res)["subtask_id"] != "sub-0" || structured(t, res)["existing"] != false {
				t.Errorf("spawn_subtask: %+v", res)
			}
			res = call(t, cs, "record_progress", claims(args{"text": "Reading.", "percent": 12.5}))
			if res.IsError || structured(t, res)["status"] != "recorded" {
				t.Errorf("record_progress: %+v", res)
			}

			r.mu.Lock()
			defer r.mu.Unlock()
			q := r.questions[0]
			if q.Text != "Deploy now?" || !q.OnlyChoices || !slices.Equal(q.Choices, []string{"yes", "no"}) {
				t.Errorf("question %+v", q)
			}
			if r.summaries[0] != "All done." || r.subtasks[0].Title != "Docs" || r.steps[0].Text != "Reading." || *r.steps[0].Percent != 12.5 {
				t.Errorf("summary %q, subtask %+v, step %+v", r.summaries, r.subtasks, r.steps)
			}
			if len(r.runs) != 4 {
				t.Fatalf("%d calls", len(r.runs))
			}
			for _, got := range r.runs {
				if got.Identity != who || got.GrantID != m.ID || got.Label("team") != "blue" {
					t.Errorf("a call came as %+v", got)
				}
			}
		})
	}
}

// TestFewerTools: what the channel lacks, and what the host leaves out, is not
// offered and cannot be called. [H1] [T4]
func TestFewerTools(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := serve(t, mcpserver.Options{})
			r := &run{}
			m := h.mint(t, mcpserver.Grant{
				Channel: channel.Parts{Summarizer: r, Recorder: r},
				Omit:    []string{mcpserver.ToolRecordProgress},
			})
			cs := h.connect(t, m.Token.Reveal(), era, nil)
			list, err := cs.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Tools) != 1 || list.Tools[0].Name != "report_summary" {
				t.Errorf("tools %v", list.Tools)
			}
			for _, name := range []string{"ask_user", "record_progress", "plugberth.tools", "nothing"} {
				_, err := tryCall(cs, name, args{"question": "?", "text": "x"})
				if err == nil || !strings.Contains(err.Error(), "unknown tool") {
					t.Errorf("%s: %v", name, err)
				}
				if ev := h.event(t, mcpserver.EventCall); ev.Outcome != mcpserver.OutcomeUnknown || ev.Tool != name {
					t.Errorf("event %+v", ev)
				}
			}
			if len(r.steps) > 0 {
				t.Error("a tool that was left out was called")
			}
			// The session goes on.
			if res := call(t, cs, "report_summary", args{"summary": "x"}); res.IsError {
				t.Error(text(res))
			}
		})
	}
}

// TestNothingOffered: a grant without a channel is a server with no tools, not
// one without the capability.
func TestNothingOffered(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	m := h.mint(t, mcpserver.Grant{})
	cs := h.connect(t, m.Token.Reveal(), stateful, nil)
	list, err := cs.ListTools(t.Context(), &mcp.ListToolsParams{})
	if err != nil || len(list.Tools) != 0 {
		t.Errorf("%v %v", list, err)
	}
	if c := cs.InitializeResult().Capabilities.Tools; c == nil || !c.ListChanged {
		t.Errorf("capabilities %+v", c)
	}
}
