package snippets_test

import (
	"context"
	"testing"

	"github.com/plugberth/plugberth/channel"
)

// atHand is the channel of a run whose user is at the screen.
func atHand(ctx context.Context, buffered *channel.Buffered, ask func(ctx context.Context, text string, choices []string) (string, error)) channel.Parts {
	live := channel.NewLive(channel.LiveOptions{Fallback: buffered})
	parts := channel.Of(buffered)
	parts.Asker = live
	go live.Serve(ctx, func(ctx context.Context, q channel.Question) (string, error) {
		return ask(ctx, q.Text, q.Choices)
	})
	return parts
}

// TestAtHand: a question waits for the user, and is recorded once the user is gone.
func TestAtHand(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	buffered := channel.NewBuffered(new(channel.MemoryStore))
	parts := atHand(ctx, buffered, func(ctx context.Context, text string, _ []string) (string, error) {
		if text == "Still there?" {
			leave()
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "yes", nil
	})
	if a, err := parts.Asker.Ask(t.Context(), channel.Question{Text: "Go on?"}); err != nil || a.Text != "yes" {
		t.Errorf("%+v %v", a, err)
	}
	if _, err := parts.Asker.Ask(t.Context(), channel.Question{Text: "Still there?"}); err == nil {
		t.Error("it has an answer")
	}
	if q, pending, err := buffered.PendingQuestion(t.Context()); err != nil || !pending || q.Text != "Still there?" {
		t.Errorf("%+v %v %v", q, pending, err)
	}
}
