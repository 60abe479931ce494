package channel_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/channel"
)

// [H4] Only errors written for the agent have a text for it.
func TestAgentText(t *testing.T) {
	limit := &channel.LimitError{Limit: "Subtasks", Max: 20}
	for _, tt := range []struct {
		name string
		err  error
		want string // a part of it; empty for none
	}{
		{"nil", nil, ""},
		{"a store's error", errStore, ""},
		{"a wrapped one", fmt.Errorf("channel: keeping the summary: %w", errStore), ""},
		{"blocked", &channel.BlockedError{}, ""},
		{"an answer refused to the host", channel.ErrNotChoice, ""},
		{"pending", &channel.PendingError{}, "End your turn"},
		{"limit", limit, "subtasks for this run, 20,"},
		{"a wrapped limit", fmt.Errorf("secret: %w", limit), "subtasks for this run, 20,"},
		{"a refusal", &channel.Refusal{Text: "Not today."}, "Not today."},
		{"a refusal with a cause", &channel.Refusal{Text: "Not today.", Err: errStore}, "Not today."},
		{"joined", errors.Join(errStore, &channel.Refusal{Text: "Not today."}), "Not today."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, ok := channel.AgentText(tt.err)
			if ok != (tt.want != "") || !strings.Contains(text, tt.want) {
				t.Fatalf("AgentText = %q, %v, want %q", text, ok, tt.want)
			}
			if strings.Contains(text, "10.0.0.7") || strings.Contains(text, "secret") {
				t.Fatalf("the agent reads %q", text)
			}
		})
	}
}

func TestErrorsMatch(t *testing.T) {
	question := channel.Question{Text: "a private question"}
	for _, tt := range []struct {
		err, is error
	}{
		{&channel.BlockedError{Question: question}, channel.ErrBlocked},
		{&channel.PendingError{Pending: question}, channel.ErrPending},
		{&channel.LimitError{Limit: "Steps", Max: 3}, channel.ErrLimit},
		{&channel.Refusal{Text: "No.", Err: errStore}, errStore},
		{question.Validate(), nil},
		{channel.Question{}.Validate(), channel.ErrInvalid},
	} {
		if !errors.Is(tt.err, tt.is) {
			t.Errorf("%v is no %v", tt.err, tt.is)
		}
		for _, other := range []error{channel.ErrBlocked, channel.ErrPending, channel.ErrLimit, channel.ErrInvalid} {
			if other != tt.is && errors.Is(tt.err, other) {
				t.Errorf("%v is a %v too", tt.err, other)
			}
		}
		if tt.err != nil && strings.Contains(tt.err.Error(), "private") {
			t.Errorf("the message quotes the question: %v", tt.err)
		}
	}
	if got := (&channel.Refusal{Text: "No."}).Error(); got != "channel: refused: No." {
		t.Errorf("Error = %q", got)
	}
}

// [H5] Each limit has a sentence of its own that names its value.
func TestLimitTexts(t *testing.T) {
	names := []string{"Waiting"}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[channel.Limits]()) {
		if f.Type.Kind() == reflect.Int && f.Name != "ProgressBurst" { // which is part of the rate
			names = append(names, f.Name)
		}
	}
	texts := map[string]string{}
	for _, name := range names {
		err := &channel.LimitError{Limit: name, Max: 12345}
		text := err.AgentText()
		if !strings.Contains(text, "12345") || strings.Contains(text, "over a limit of this run") {
			t.Errorf("%s: %q", name, text)
		}
		if texts[text] != "" {
			t.Errorf("%s has the text of %s: %q", name, texts[text], text)
		}
		texts[text] = name
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %q", name, err)
		}
	}
	if text := (&channel.LimitError{Limit: "A host's own", Max: 7}).AgentText(); !strings.Contains(text, "7") || strings.Contains(text, "own") {
		t.Errorf("another limit: %q", text)
	}
}
