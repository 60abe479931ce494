package channel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plugberth/plugberth/channel"
)

// serving runs Serve, and returns where its error comes.
func serving(ctx context.Context, l *channel.Live, answer func(context.Context, channel.Question) (string, error)) <-chan error {
	done := make(chan error, 1)
	go func() { done <- l.Serve(ctx, answer) }()
	return done
}

// TestServe: questions are put to the user one after the other, and each call gets
// its own answer, until the host is gone. What waits then is recorded. [H3]
func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := channel.NewLive(channel.LiveOptions{})
		asked, next := make(chan string), make(chan string)
		done := serving(t.Context(), l, func(_ context.Context, q channel.Question) (string, error) {
			asked <- q.Text
			return <-next, nil
		})
		a, b, c := start(t.Context(), l, ask("A?")), start(t.Context(), l, ask("B?")), start(t.Context(), l, ask("C?"))
		for i, ch := range []<-chan outcome{a, b} {
			text := <-asked
			next <- "to " + text
			if o := <-ch; o.err != nil || o.answer.Text != "to "+text || text != []string{"A?", "B?"}[i] {
				t.Errorf("%q: %+v", text, o)
			}
		}
		<-asked
		l.Close()
		if o := <-c; !errors.Is(o.err, channel.ErrBlocked) {
			t.Errorf("%+v", o)
		}
		next <- "late" // which the fallback takes
		if err := <-done; err != nil {
			t.Error(err)
		}
		if o := <-start(t.Context(), l, ask("C?")); o.answer.Text != "late" {
			t.Errorf("%+v", o)
		}
	})
}

// TestServeEnds: it ends with its context and with the first error, and closes the
// Live.
func TestServeEnds(t *testing.T) {
	broken := errors.New("the terminal is gone")
	choice := ask("A?")
	choice.Choices, choice.OnlyChoices = []string{"yes", "no"}, true
	for name, tt := range map[string]struct {
		answer func(ctx context.Context, cancel func()) (string, error)
		want   error
	}{
		"context":        {func(ctx context.Context, cancel func()) (string, error) { cancel(); <-ctx.Done(); return "", ctx.Err() }, context.Canceled},
		"error":          {func(context.Context, func()) (string, error) { return "", broken }, broken},
		"none of choice": {func(context.Context, func()) (string, error) { return "maybe", nil }, channel.ErrNotChoice},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := channel.NewLive(channel.LiveOptions{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := serving(ctx, l, func(ctx context.Context, _ channel.Question) (string, error) { return tt.answer(ctx, cancel) })
				o := <-start(t.Context(), l, choice)
				if err := <-done; !errors.Is(err, tt.want) || !errors.Is(o.err, channel.ErrBlocked) {
					t.Errorf("%v, and the call got %v", err, o.err)
				}
				if _, err := l.Next(t.Context()); !errors.Is(err, channel.ErrClosed) {
					t.Errorf("it is open: %v", err)
				}
			})
		})
	}
}

// TestServeUnwanted: a question that nobody waits for is taken from the user, and
// the next one asked; one whose deadline has passed is not.
func TestServeUnwanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := channel.NewLive(channel.LiveOptions{Deadline: time.Minute})
		asked := make(chan string, 10)
		done := serving(t.Context(), l, func(ctx context.Context, q channel.Question) (string, error) {
			asked <- q.Text
			switch q.Text {
			case "slow?":
				time.Sleep(time.Hour)
				return "at last", ctx.Err()
			case "quick?":
				return "yes", nil
			}
			<-ctx.Done()
			return "", fmt.Errorf("asking: %w", ctx.Err())
		})
		ctx, cancel := context.WithCancel(t.Context())
		gone := start(ctx, l, ask("gone?"))
		cancel()
		if o := <-gone; !errors.Is(o.err, context.Canceled) {
			t.Errorf("%+v", o)
		}
		elsewhere := start(t.Context(), l, ask("elsewhere?"))
		if err := l.Answer(t.Context(), l.Waiting()[0].ID, "by another"); err != nil {
			t.Fatal(err)
		}
		if o := <-elsewhere; o.answer.Text != "by another" {
			t.Errorf("%+v", o)
		}
		if o := <-start(t.Context(), l, ask("slow?")); !errors.Is(o.err, channel.ErrBlocked) {
			t.Errorf("%+v", o)
		}
		time.Sleep(time.Hour)
		if o := <-start(t.Context(), l, ask("slow?")); o.answer.Text != "at last" {
			t.Errorf("%+v", o)
		}
		if o := <-start(t.Context(), l, ask("quick?")); o.answer.Text != "yes" {
			t.Errorf("%+v", o)
		}
		l.Close()
		if err := <-done; err != nil || len(asked) != 4 {
			t.Errorf("%v, %d questions", err, len(asked))
		}
	})
}
