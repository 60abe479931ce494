package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/plugin/finding"
)

// head begins each event.
type head struct {
	Task  string `json:"task"`
	Event string `json:"event"`
}

// question is the event of a question. Blocked says that the agent was told to
// end its turn.
type question struct {
	head
	ID          string   `json:"id"`
	Text        string   `json:"text"`
	Choices     []string `json:"choices,omitempty"`
	OnlyChoices bool     `json:"onlyChoices,omitempty"`
	Blocked     bool     `json:"blocked"`
}

func questionEvent(id string, q channel.Question, blocked bool) question {
	return question{head{id, "question"}, q.ID, q.Text, q.Choices, q.OnlyChoices, blocked}
}

// said shows what an agent said.
func (s *server) said(id string, ev channel.Event) {
	switch ev.Kind {
	case channel.EventBlocked:
		s.print(questionEvent(id, ev.Question, true))
	case channel.EventSummary:
		s.print(struct {
			head
			Text string `json:"text"`
		}{head{id, "summary"}, ev.Summary.Text})
	case channel.EventSubtask:
		s.print(struct {
			head
			ID       string `json:"id"`
			Existing bool   `json:"existing"`
			Title    string `json:"title"`
			Prompt   string `json:"prompt"`
		}{head{id, "subtask"}, ev.Subtask.ID, ev.Subtask.Existing, ev.Spec.Title, ev.Spec.Prompt})
	case channel.EventProgress:
		s.print(struct {
			head
			Text    string   `json:"text"`
			Percent *float64 `json:"percent,omitempty"`
		}{head{id, "progress"}, ev.Progress.Text, ev.Progress.Percent})
	}
}

// Observe implements [mcpserver.Observer].
func (s *server) Observe(ev mcpserver.Event) {
	task := ev.Run.Identity.Task
	if ev.Kind != mcpserver.EventCall {
		s.print(head{task, string(ev.Kind)})
		return
	}
	s.print(struct {
		head
		Tool     string  `json:"tool"`
		Outcome  string  `json:"outcome"`
		Duration float64 `json:"durationMs"`
	}{head{task, "call"}, ev.Tool, string(ev.Outcome), float64(ev.Duration.Microseconds()) / 1000})
}

// print prints one line.
func (s *server) print(v any) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		_, err = s.out.Write(visible(line.Bytes()))
	}
	if err != nil {
		fmt.Fprintln(s.stderr, "taskserver:", err)
	}
}

// visible returns a JSON text in which characters that do not print as
// themselves stand as escapes: it means the same and cannot act on a terminal.
func visible(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r == '\n' || r < utf8.RuneSelf || finding.Escape(string(r)) == string(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
