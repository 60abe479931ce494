package mcpclient

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/plugberth/plugberth/plugin"
)

func consentRequest(server, digest string) ConsentRequest {
	return ConsentRequest{ID: ServerID{Instance: plugin.Instance{ID: "i"}, Plugin: "p", Server: server}, Digest: digest,
		Plan: plugin.LaunchPlan{Args: []string{"a"}, Env: map[string]string{"A": "1"}}}
}

func TestConsentIsAskedOnce(t *testing.T) {
	no := errors.New("no")
	var asked []string
	consent := func(_ context.Context, req ConsentRequest) error {
		asked = append(asked, req.ID.Server+req.Digest)
		req.Plan.Args[0], req.Plan.Env["A"] = "changed", "changed"
		if req.Digest == "2" {
			return no
		}
		return nil
	}
	var c consents
	for _, step := range []struct {
		name, server, digest string
		times                int // that the host has been asked by then
		refused              bool
	}{
		{"[R2] the first time", "s", "1", 1, false},
		{"[R2] not again for the same digest", "s", "1", 1, false},
		{"[R2] again when the digest changes", "s", "2", 2, true},
		{"[R2] a refusal is remembered too", "s", "2", 2, true},
		{"[R2] a digest that was allowed before", "s", "1", 2, false},
		{"[R2] another server with the same plan", "t", "1", 3, false},
	} {
		t.Run(step.name, func(t *testing.T) {
			req := consentRequest(step.server, step.digest)
			err := c.ask(t.Context(), consent, req)
			if step.refused != (err != nil) || step.refused && (!errors.Is(err, ErrNotAllowed) || !errors.Is(err, no)) {
				t.Errorf("error %v", err)
			}
			if len(asked) != step.times {
				t.Errorf("asked %q", asked)
			}
			if req.Plan.Args[0] != "a" || req.Plan.Env["A"] != "1" {
				t.Error("the host's function changed the plan")
			}
		})
	}
	c.forget(plugin.Instance{ID: "other"})
	if err := c.ask(t.Context(), consent, consentRequest("s", "1")); err != nil || len(asked) != 3 {
		t.Errorf("%v, asked %q", err, asked)
	}
	c.forget(plugin.Instance{ID: "i"})
	if err := c.ask(t.Context(), consent, consentRequest("s", "1")); err != nil || len(asked) != 4 {
		t.Errorf("an instance that was forgotten: %v, asked %q", err, asked)
	}
}

// [R2] Those who ask for the same at the same time share one question.
func TestConsentIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c consents
		var asked atomic.Int32
		answer := make(chan error)
		consent := func(context.Context, ConsentRequest) error { asked.Add(1); return <-answer }
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := c.ask(t.Context(), consent, consentRequest("s", "1")); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
		answer <- nil
		wg.Wait()
	})
}

// [R2] [R3] A context that ends does so at once; a function that heeds it is
// asked anew for the next, and the answer of one that does not is kept.
func TestConsentAndContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c consents
		asked := 0
		heeds := func(ctx context.Context, _ ConsentRequest) error {
			if asked++; asked > 1 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		ctx, cancel := context.WithCancel(t.Context())
		second := make(chan error)
		first := make(chan error)
		go func() { first <- c.ask(ctx, heeds, consentRequest("s", "1")) }()
		synctest.Wait()
		go func() { second <- c.ask(t.Context(), heeds, consentRequest("s", "1")) }()
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) || errors.Is(err, ErrNotAllowed) {
			t.Errorf("error %v", err)
		}
		if err := <-second; err != nil || asked != 2 {
			t.Errorf("the one that waited: %v, asked %d times", err, asked)
		}
		if err := c.ask(ctx, heeds, consentRequest("s", "1")); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}

		answer := make(chan error)
		deaf := func(context.Context, ConsentRequest) error { asked++; return <-answer }
		ctx, cancel = context.WithCancel(t.Context())
		go func() { first <- c.ask(ctx, deaf, consentRequest("s", "2")) }()
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		answer <- errors.New("no")
		synctest.Wait()
		if err := c.ask(t.Context(), deaf, consentRequest("s", "2")); !errors.Is(err, ErrNotAllowed) || asked != 3 {
			t.Errorf("a late answer: %v, asked %d times", err, asked)
		}
	})
}
