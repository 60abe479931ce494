package channel_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/plugberth/plugberth/channel"
)

func TestValidate(t *testing.T) {
	percent := func(f float64) *float64 { return &f }
	title := func(s string) channel.SubtaskSpec { return channel.SubtaskSpec{Key: "k", Title: s, Prompt: "p"} }
	for _, tt := range []struct {
		name   string
		said   interface{ Validate() error }
		reason string // empty for valid
	}{
		{"a question", channel.Question{Text: "A?"}, ""},
		{"with choices", channel.Question{Text: "A?", Choices: []string{"a", "b", "A"}, OnlyChoices: true}, ""},
		{"only choices without any", channel.Question{Text: "A?", OnlyChoices: true}, ""},
		{"several lines", channel.Question{Text: "A?\n\tB?"}, ""},
		{"no question", channel.Question{}, "question is empty"},
		{"a blank question", channel.Question{Text: " \n\u00a0"}, "question is empty"},
		{"not UTF-8", channel.Question{Text: "A\xff"}, "UTF-8"},
		{"NUL", channel.Question{Text: "A\x00"}, "NUL"},
		{"an empty choice", channel.Question{Text: "A?", Choices: []string{"a", ""}}, "choice is empty"},
		{"a choice that is not UTF-8", channel.Question{Text: "A?", Choices: []string{"\xc0"}}, "UTF-8"},
		{"a choice twice", channel.Question{Text: "A?", Choices: []string{"a", "b", "a"}}, "stands twice"},
		{"a summary", channel.Summary{Text: "Done."}, ""},
		{"no summary", channel.Summary{}, "summary is empty"},
		{"a subtask", title("Tidy up"), ""},
		{"no key", channel.SubtaskSpec{Title: "t", Prompt: "p"}, "key is empty"},
		{"no title", title(""), "title is empty"},
		{"no prompt", channel.SubtaskSpec{Key: "k", Title: "t"}, "prompt is empty"},
		{"two lines of title", title("a\nb"), "more than one line"},
		{"a line separator", title("a\u2028b"), "more than one line"},
		{"NUL in a key", channel.SubtaskSpec{Key: "k\x00", Title: "t", Prompt: "p"}, "NUL"},
		{"a step", channel.Progress{Text: "x"}, ""},
		{"no step", channel.Progress{}, "text is empty"},
		{"0 percent", channel.Progress{Text: "x", Percent: percent(0)}, ""},
		{"100 percent", channel.Progress{Text: "x", Percent: percent(100)}, ""},
		{"101 percent", channel.Progress{Text: "x", Percent: percent(100.001)}, "between 0 and 100"},
		{"less than none", channel.Progress{Text: "x", Percent: percent(-0.1)}, "between 0 and 100"},
		{"not a number", channel.Progress{Text: "x", Percent: percent(math.NaN())}, "between 0 and 100"},
		{"infinite", channel.Progress{Text: "x", Percent: percent(math.Inf(1))}, "between 0 and 100"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.said.Validate()
			if tt.reason == "" {
				noError(t, err)
				return
			}
			wantIs(t, err, channel.ErrInvalid)
			if text, ok := channel.AgentText(err); !ok || !strings.Contains(text, tt.reason) {
				t.Fatalf("the agent reads %q, %v, want %q", text, ok, tt.reason)
			}
		})
	}
}

// Many choices are looked at once each.
func TestValidateManyChoices(t *testing.T) {
	q := channel.Question{Text: "A?"}
	for i := range 200_000 {
		q.Choices = append(q.Choices, string(rune('a'+i%26))+strings.Repeat("x", i%7)+time.Duration(i).String())
	}
	began := time.Now()
	noError(t, q.Validate())
	if d := time.Since(began); d > 10*time.Second {
		t.Fatalf("200,000 choices took %v", d)
	}
}

// FuzzLimit looks for a question that passes and is over a bound, or that is
// refused in a way that the agent cannot read.
func FuzzLimit(f *testing.F) {
	f.Add("A?", "yes", "no", true)
	f.Add("\xff", "", "\x00", false)
	f.Add("éééé", "日本語", "日本", false)
	limits := channel.Limits{QuestionText: 4, Choices: 2, Choice: 3}
	f.Fuzz(func(t *testing.T, text, a, b string, only bool) {
		ask := channel.Limit(channel.Of(channel.NewBuffered(new(channel.MemoryStore))), limits).Asker
		_, err := ask.Ask(t.Context(), channel.Question{Text: text, Choices: []string{a, b}, OnlyChoices: only})
		if errors.Is(err, channel.ErrBlocked) {
			for s, limit := range map[string]int{text: 4, a: 3, b: 3} {
				if !utf8.ValidString(s) || utf8.RuneCountInString(s) > 4 || s == a && utf8.RuneCountInString(s) > 3 || strings.TrimSpace(s) == "" {
					t.Fatalf("%q passed the limit of %d", s, limit)
				}
			}
			return
		}
		if reason, ok := channel.AgentText(err); !ok || reason == "" {
			t.Fatalf("Ask = %v, without a text for the agent", err)
		}
	})
}
