package mcpserver

import (
	"testing"
	"time"

	"github.com/plugberth/plugberth/channel"
)

// TestKeptAnswer: an answer that was kept is not used up by a call whose
// connection is gone as well.
func TestKeptAnswer(t *testing.T) {
	q := channel.Question{Text: "?"}
	qs := &questions{kept: []keptAnswer{{question: q, answer: channel.Answer{Text: "yes"}, until: time.Now().Add(time.Hour)}}}
	gone := &call{ex: &exchange{Context: t.Context(), stateless: true, gone: true}}
	connected := &call{ex: &exchange{Context: t.Context(), stateless: true}}
	for i, c := range []*call{gone, {}, gone, connected} {
		if a, err := qs.ask(t.Context(), c, q); err != nil || a.Text != "yes" {
			t.Fatalf("%d: %+v, %v", i, a, err)
		}
	}
	if len(qs.kept) != 0 {
		t.Error("it is handed out twice")
	}
}
