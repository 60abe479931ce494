package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// TestRecordAndResume is the story of a run that asks, is told to end its turn,
// and goes on once the user has answered. [H2] [T4] [T5]
func TestRecordAndResume(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := serve(t, mcpserver.Options{})
			ctx := t.Context()
			task := mcpserver.Identity{Task: "migrate the database"}
			// What the host keeps of the task, between runs.
			store := new(channel.MemoryStore)
			parts := channel.Of(channel.NewBuffered(store))

			// The first turn. The agent asks in the middle of its work.
			first := h.mint(t, mcpserver.Grant{Identity: task, Channel: parts})
			agent := h.connect(t, first.Token.Reveal(), era, nil)
			call(t, agent, "record_progress", args{"text": "Reading the schema."})
			call(t, agent, "spawn_subtask", args{"title": "Backup", "prompt": "Make a backup."})
			question := args{"question": "Drop the old table?", "choices": []string{"drop", "keep"}, "allow_free_text": false}
			res := call(t, agent, "ask_user", question)
			if res.IsError || structured(t, res)["status"] != "blocked" || structured(t, res)["question_id"] == "" {
				t.Fatalf("the question was not recorded: %+v", res)
			}
			for _, said := range []string{"recorded", "End your turn now"} {
				if !strings.Contains(text(res), said) {
					t.Errorf("the agent reads %q, without %q", text(res), said)
				}
			}
			if ev := h.event(t, mcpserver.EventCall); ev.Outcome != mcpserver.OutcomeOK {
				t.Errorf("%+v", ev)
			}
			h.event(t, mcpserver.EventCall)
			if ev := h.event(t, mcpserver.EventCall); ev.Outcome != mcpserver.OutcomeBlocked {
				t.Errorf("%+v", ev)
			}
			// A model that asks something else instead of stopping is told so, and
			// the question stands.
			res = call(t, agent, "ask_user", args{"question": "And the index?"})
			if !res.IsError || !strings.Contains(text(res), "End your turn now") {
				t.Errorf("a second question: %+v", res)
			}
			call(t, agent, "report_summary", args{"summary": "Waiting for a decision."})
			agent.Close()
			h.Revoke(first.ID) // the run has ended

			// The host reads what is left, and the user answers, some time.
			buffered := channel.NewBuffered(store)
			q, ok, err := buffered.PendingQuestion(ctx)
			if err != nil || !ok || q.Text != "Drop the old table?" || !q.OnlyChoices || fmt.Sprint(q.Choices) != "[drop keep]" {
				t.Fatalf("pending: %+v %v %v", q, ok, err)
			}
			if s, ok, err := buffered.ReportedSummary(ctx); err != nil || !ok || s.Text != "Waiting for a decision." {
				t.Errorf("summary: %+v %v %v", s, ok, err)
			}
			if err := buffered.Answer(ctx, q.ID, "perhaps"); !errors.Is(err, channel.ErrNotChoice) {
				t.Errorf("an answer that is no choice: %v", err)
			}
			if err := buffered.Answer(ctx, q.ID, "keep"); err != nil {
				t.Fatal(err)
			}

			// The second turn has a token of its own; the first one's is over.
			if got := (raw{url: h.url, token: first.Token.Reveal()}).do(t, "POST", initialize); got.status != 401 {
				t.Errorf("the first token: %+v", got)
			}
			second := h.mint(t, mcpserver.Grant{Identity: task, Channel: parts})
			agent = h.connect(t, second.Token.Reveal(), era, nil)
			res = call(t, agent, "ask_user", question)
			if res.IsError || text(res) != "keep" || structured(t, res)["status"] != "answered" {
				t.Errorf("the resumed agent got %+v", res)
			}
			// Asking for the same subtask again creates none.
			res = call(t, agent, "spawn_subtask", args{"title": "Backup", "prompt": "Make a backup."})
			if structured(t, res)["existing"] != true {
				t.Errorf("a second subtask: %+v", res)
			}
			call(t, agent, "report_summary", args{"summary": "Done, the table was kept."})
			if _, ok, _ := buffered.PendingQuestion(ctx); ok {
				t.Error("a question is pending after its answer was taken")
			}
			if s, _, _ := buffered.ReportedSummary(ctx); s.Text != "Done, the table was kept." {
				t.Errorf("summary %q", s.Text)
			}
			if n := len(store.Subtasks()); n != 1 {
				t.Errorf("%d subtasks", n)
			}
		})
	}
}

// TestLive: a question waits for the user, and falls back to being recorded
// when none answers in time. [H3] [T4]
func TestLive(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := serve(t, mcpserver.Options{})
			live := channel.NewLive(channel.LiveOptions{Deadline: 200 * time.Millisecond})
			m := h.mint(t, mcpserver.Grant{Channel: channel.Parts{Asker: live}})
			cs := h.connect(t, m.Token.Reveal(), era, nil)
			go func() {
				q, err := live.Next(context.Background())
				if err == nil {
					err = live.Answer(context.Background(), q.ID, "blue")
				}
				if err != nil {
					t.Error(err)
				}
			}()
			if res := call(t, cs, "ask_user", args{"question": "Which color?"}); res.IsError || text(res) != "blue" {
				t.Errorf("%+v", res)
			}
			if res := call(t, cs, "ask_user", args{"question": "Which size?"}); structured(t, res)["status"] != "blocked" {
				t.Errorf("%+v", res)
			}
		})
	}
}

// desk is a user who answers when told to.
type desk struct {
	asked   chan channel.Question
	answers chan string
	left    chan bool // a question was withdrawn
}

func newDesk() *desk {
	return &desk{make(chan channel.Question, 10), make(chan string), make(chan bool, 10)}
}

func (d *desk) Ask(ctx context.Context, q channel.Question) (channel.Answer, error) {
	d.asked <- q
	select {
	case a := <-d.answers:
		return channel.Answer{Text: a}, nil
	case <-ctx.Done():
		d.left <- true
		return channel.Answer{}, ctx.Err()
	}
}

// TestBrokenConnection: a client whose connection breaks while its question
// waits gets the answer: by coming back for it, by asking again while it waits,
// or by asking again after it was given. The user is asked once.
func TestBrokenConnection(t *testing.T) {
	question := args{"question": "Are you there?"}
	type scene struct {
		h    *host
		desk *desk
		base raw
		cut  context.CancelFunc // ends the connection of the first request
		id   string             // of the last event on it
	}
	begin := func(t *testing.T, era string) *scene {
		s := &scene{h: serve(t, mcpserver.Options{}), desk: newDesk()}
		m := s.h.mint(t, mcpserver.Grant{Channel: channel.Parts{Asker: s.desk}})
		s.base = raw{url: s.h.url, token: m.Token.Reveal(), version: era, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
		if era == stateful {
			s.base.version = ""
			s.base = s.base.begin(t)
		}
		ctx, cut := context.WithCancel(context.Background())
		s.cut = cut
		events := make(chan sseEvent, 1)
		go func() {
			resp, err := s.base.open(ctx, "POST", toolCall(era, 5, "ask_user", question))
			if err != nil {
				return // cut before the response began
			}
			defer resp.Body.Close()
			for ev := range sseStream(resp.Body) {
				events <- ev
			}
		}()
		<-s.desk.asked
		if era == stateful {
			s.id = (<-events).id
		}
		return s
	}
	gone := func(t *testing.T, s *scene) {
		t.Helper()
		s.cut()
		eventually(t, "the connection is gone", func() bool { return s.h.Grants()[0].Requests == 0 })
	}
	answered := func(t *testing.T, got reply, want string) {
		t.Helper()
		messages := got.messages(t)
		if len(messages) == 0 {
			t.Fatalf("nothing came: %+v", got)
		}
		if last := fmt.Sprint(messages[len(messages)-1]["result"]); !strings.Contains(last, want) {
			t.Errorf("%s, want %q", last, want)
		}
	}
	once := func(t *testing.T, s *scene) {
		t.Helper()
		select {
		case q := <-s.desk.asked:
			t.Errorf("the user was asked again: %q", q.Text)
		case <-s.desk.left:
			t.Error("the question was withdrawn")
		default:
		}
	}

	t.Run("comes back after the answer", func(t *testing.T) {
		s := begin(t, stateful)
		gone(t, s)
		s.desk.answers <- "yes"
		s.h.event(t, mcpserver.EventCall)
		back := s.base
		back.header = http.Header{"Last-Event-Id": {s.id}}
		var got reply
		eventually(t, "the answer is kept", func() bool {
			got = back.do(t, "GET", "")
			return strings.Contains(got.body, "result")
		})
		answered(t, got, "yes")
		// It was delivered: asked again, it is a new question.
		go s.base.open(context.Background(), "POST", toolCall(stateful, 6, "ask_user", question))
		<-s.desk.asked
		s.desk.answers <- "no"
	})
	t.Run("comes back before the answer", func(t *testing.T) {
		s := begin(t, stateful)
		gone(t, s)
		back := s.base
		back.header = http.Header{"Last-Event-Id": {s.id}}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		resp, err := back.open(ctx, "GET", "")
		if err == nil && resp.StatusCode != 200 {
			t.Fatalf("%+v", resp)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		s.desk.answers <- "yes"
		for ev := range sseStream(resp.Body) {
			if strings.Contains(ev.data, "result") {
				if !strings.Contains(ev.data, "yes") {
					t.Error(ev.data)
				}
				break
			}
		}
		once(t, s)
	})
	for _, era := range eras {
		t.Run(era+" asks again while it waits", func(t *testing.T) {
			s := begin(t, era)
			gone(t, s)
			again := make(chan reply, 1)
			go func() { again <- s.base.do(t, "POST", toolCall(era, 6, "ask_user", question)) }()
			eventually(t, "it is asked again", func() bool { return s.h.Grants()[0].Requests == 1 })
			s.desk.answers <- "yes"
			answered(t, <-again, "yes")
			once(t, s)
		})
		t.Run(era+" asks again after the answer", func(t *testing.T) {
			s := begin(t, era)
			gone(t, s)
			s.desk.answers <- "yes"
			s.h.event(t, mcpserver.EventCall)
			fresh := s.base
			if era == stateful { // as a new program would
				fresh.session, fresh.version = "", ""
				fresh = fresh.begin(t)
			}
			var got reply
			eventually(t, "the answer is kept", func() bool {
				select {
				case <-s.desk.asked:
					t.Fatal("the user was asked again")
				default:
				}
				got = fresh.do(t, "POST", toolCall(era, 7, "ask_user", question))
				return true
			})
			answered(t, got, "yes")
			once(t, s)
			// Another question is another question, and so is the same one once
			// its answer was delivered.
			for i, q := range []args{{"question": "Are you there!"}, question} {
				go fresh.open(context.Background(), "POST", toolCall(era, 8+i, "ask_user", q))
				<-s.desk.asked
				s.desk.answers <- "no"
				s.h.event(t, mcpserver.EventCall)
			}
		})
		t.Run(era+" the end of the grant withdraws it", func(t *testing.T) {
			s := begin(t, era)
			gone(t, s)
			s.h.RevokeTask(s.h.Grants()[0].Identity.Task)
			<-s.desk.left
		})
	}
	t.Run("canceled by the client", func(t *testing.T) {
		s := begin(t, stateful)
		if got := s.base.do(t, "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`); got.status != 202 {
			t.Fatalf("%+v", got)
		}
		<-s.desk.left
		if ev := s.h.event(t, mcpserver.EventCall); ev.Outcome != mcpserver.OutcomeCanceled {
			t.Errorf("%+v", ev)
		}
		s.cut()
	})
	t.Run("the session is ended by the client", func(t *testing.T) {
		s := begin(t, stateful)
		if got := s.base.do(t, "DELETE", ""); got.status != 204 {
			t.Fatalf("%+v", got)
		}
		<-s.desk.left
		s.cut()
	})
}

// TestSDKClientResumes: the SDK's own client gets the answer over a connection
// that is cut while it waits.
func TestSDKClientResumes(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	d := newDesk()
	m := h.mint(t, mcpserver.Grant{Channel: channel.Parts{Asker: d}})
	cs := h.connect(t, m.Token.Reveal(), stateful, nil)
	done := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := tryCall(cs, "ask_user", args{"question": "?"})
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	<-d.asked
	h.server.CloseClientConnections()
	eventually(t, "the client is back", func() bool { return h.Grants()[0].Requests > 0 })
	d.answers <- "here I am"
	if res := <-done; res == nil || text(res) != "here I am" {
		t.Errorf("%+v", res)
	}
}

// TestComments: an idle stream is kept open with comments, whether anything was
// written to it before or not. An error that comes later still arrives.
func TestComments(t *testing.T) {
	h := serve(t, mcpserver.Options{Limits: mcpserver.Limits{Comment: 20 * time.Millisecond}})
	d := newDesk()
	m := h.mint(t, mcpserver.Grant{
		Channel: channel.Parts{Asker: d},
		Configure: func(s *mcp.Server) {
			s.AddTool(&mcp.Tool{Name: "late", InputSchema: map[string]any{"type": "object"}},
				func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					d.Ask(ctx, channel.Question{Text: "late"})
					return nil, mcp.ResourceNotFoundError("late")
				})
		},
	})
	base := raw{url: h.url, token: m.Token.Reveal()}
	session := base.begin(t)
	old := session
	old.version = "2025-06-18"
	recent := base
	recent.version = stateless
	for _, tt := range []struct {
		name   string
		r      raw
		method string
		body   string
		want   string
	}{
		{"stateful call", session, "POST", toolCall(stateful, 3, "ask_user", args{"question": "a"}), "yes"},
		{"call of an older protocol", old, "POST", toolCall(stateful, 4, "ask_user", args{"question": "b"}), "yes"},
		{"stateless call", recent, "POST", toolCall(stateless, 5, "ask_user", args{"question": "c"}), "yes"},
		{"stateless call that fails", recent, "POST", toolCall(stateless, 6, "late", args{}), "error"},
		{"listening", session, "GET", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			resp, err := tt.r.open(ctx, tt.method, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
				t.Fatalf("%+v", resp)
			}
			comments, result := 0, ""
			for ev := range sseStream(resp.Body) {
				switch {
				case ev.id == "comment":
					if comments++; comments == 3 && tt.want != "" {
						d.answers <- "yes"
					} else if comments == 3 {
						cancel()
					}
				case ev.data != "":
					result = ev.data
				}
			}
			if comments < 3 || !strings.Contains(result, tt.want) {
				t.Errorf("%d comments, result %q", comments, result)
			}
		})
	}
}
