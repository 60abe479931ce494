package channel_test

import (
	"context"
	"errors"
	"testing"

	"github.com/plugberth/plugberth/channel"
)

// The zero Live is one with the zero options, and the zero Buffered, or one that is
// nil, refuses everything with an error that says why.
func TestZeroValues(t *testing.T) {
	ctx := t.Context()
	for name, first := range map[string]func(*channel.Live){
		"Ask":      func(*channel.Live) {},
		"Answer":   func(l *channel.Live) { wantIs(t, l.Answer(ctx, "x", "y"), channel.ErrNoQuestion) },
		"Waiting":  func(l *channel.Live) { l.Waiting() },
		"Fallback": func(l *channel.Live) { l.Fallback().Exchange(ctx) },
		"Close":    func(l *channel.Live) { l.Close() },
		"Next": func(l *channel.Live) {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			_, err := l.Next(ended)
			wantIs(t, err, context.Canceled)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := new(channel.Live)
			first(l)
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				q, err := l.Next(ctx)
				if name == "Close" {
					if !errors.Is(err, channel.ErrClosed) {
						t.Errorf("got %v", err)
					}
				} else if err := errors.Join(err, l.Answer(ctx, q.ID, "yes")); err != nil {
					t.Error(err)
				}
			}()
			a, err := l.Ask(ctx, ask("Go on?"))
			if name == "Close" {
				wantIs(t, err, channel.ErrBlocked)
			} else if err != nil || a.Text != "yes" {
				t.Errorf("%+v, %v", a, err)
			}
			<-answered
		})
	}
	for name, b := range map[string]*channel.Buffered{"zero": {}, "nil": nil} {
		for method, call := range map[string]func() error{
			"Ask":             func() error { _, err := b.Ask(ctx, ask("x")); return err },
			"ReportSummary":   func() error { return b.ReportSummary(ctx, channel.Summary{Text: "x"}) },
			"SpawnSubtask":    func() error { _, err := b.SpawnSubtask(ctx, spec("x")); return err },
			"RecordProgress":  func() error { return b.RecordProgress(ctx, channel.Progress{Text: "x"}) },
			"PendingQuestion": func() error { _, _, err := b.PendingQuestion(ctx); return err },
			"ReportedSummary": func() error { _, _, err := b.ReportedSummary(ctx); return err },
			"Exchange":        func() error { _, err := b.Exchange(ctx); return err },
			"Answer":          func() error { return b.Answer(ctx, "x", "y") },
			"Withdraw":        func() error { return b.Withdraw(ctx, "x") },
			"Live": func() error {
				_, err := channel.NewLive(channel.LiveOptions{Fallback: b}).Ask(ctx, ask("x"))
				return err
			},
		} {
			if name == "nil" && method == "Live" {
				continue // then it makes its own
			}
			if err := call(); err == nil || err.Error() != "channel: a Buffered has no store: make one with NewBuffered" {
				t.Errorf("%s, %s: %v", name, method, err)
			}
		}
	}
}
