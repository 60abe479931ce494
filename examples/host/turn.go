package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// runner runs the agent, one turn after the other.
type runner struct {
	*host
	user      user
	program   string // of a real agent, "" for the scripted one
	workspace string // where it runs
	live      bool   // its questions wait for the answer
}

// turns runs the agent, and again as long as it was told to end its turn and there
// is an answer now.
func (r *runner) turns(ctx context.Context) error {
	for n := 1; ; n++ {
		if err := r.turn(ctx, n); err != nil || r.live {
			return err
		}
		answered, err := r.settle(ctx)
		if err != nil || !answered {
			return err
		}
	}
}

// turn runs the agent program once, with a token that lives no longer than it does.
func (r *runner) turn(ctx context.Context, n int) error {
	parts, stop := r.channel(ctx)
	defer stop()
	minted, err := r.registry.Mint(mcpserver.Grant{
		// Whatever the agent sends, it is this run that has sent it.
		Identity: mcpserver.Identity{Task: "task-1", Session: fmt.Sprint("turn-", n), Workspace: r.workspace, Surface: surface},
		Channel:  parts,
		TTL:      24 * time.Hour, // at the latest: it is revoked below
	})
	if err != nil {
		return err
	}
	defer r.registry.Revoke(minted.ID)
	// The workspace is this host's own. In a checkout this would replace the
	// repository's file, and could be committed: write it elsewhere then.
	config := filepath.Join(r.workspace, ".mcp.json")
	if err := minted.WriteConfig(config, r.url); err != nil {
		return err
	}
	r.story.say(theHost, "mints a token for turn %d, writes it to %s, and starts the agent's process", n, config)
	if err := r.runAgent(ctx, n, config); err != nil {
		return err
	}
	r.registry.Revoke(minted.ID) // whatever it has left open ends here
	status, err := r.try(ctx, minted.Token)
	if err != nil {
		return err
	}
	r.story.say(theHost, "revokes the token, as the agent has ended: one more request with it gets %s", status)
	return nil
}

// channel is what the agent reaches its host through. What it says is recorded; a
// question waits for the answer of a user at hand, or is recorded as well.
func (r *runner) channel(ctx context.Context) (parts channel.Parts, stop func()) {
	parts = channel.Of(r.buffered)
	stop = func() {}
	if r.live {
		live := channel.NewLive(channel.LiveOptions{Fallback: r.buffered})
		parts.Asker = live
		asking, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			live.Serve(asking, r.ask) // what nobody answers is recorded
		}()
		stop = func() { cancel(); <-done }
	}
	return channel.Limit(parts, channel.Limits{}), stop
}

var errNoAnswer = errors.New("there is nobody to answer")

// ask puts a question that waits to the user.
func (r *runner) ask(ctx context.Context, q channel.Question) (string, error) {
	r.story.say(theHost, "asks the user, while the call waits: %s", oneLine(q.Text, 200))
	text, ok := r.user.answer(ctx, q)
	if !ok {
		return "", errNoAnswer
	}
	return text, nil
}

// settle puts the question that was recorded to the user, if there is one, and
// reports whether the agent can go on with the answer.
func (r *runner) settle(ctx context.Context) (bool, error) {
	q, pending, err := r.buffered.PendingQuestion(ctx)
	if err != nil || !pending {
		return false, err
	}
	r.story.say(theHost, "asks the user, now or next week: %s", oneLine(q.Text, 200))
	text, ok := r.user.answer(ctx, q)
	if !ok {
		return false, nil
	}
	return true, r.buffered.Answer(ctx, q.ID, text)
}

// try makes a request with a token, and returns the status.
func (r *runner) try(ctx context.Context, token mcpserver.Token) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	return resp.Status, resp.Body.Close()
}

// report says what the host has of the run once the agent is gone.
func (r *runner) report(ctx context.Context) error {
	const most = 10 // lines of a kind
	steps := r.store.Progress()
	for _, step := range steps[max(0, len(steps)-most):] {
		done := ""
		if step.Percent != nil {
			done = fmt.Sprintf("%.0f %%, ", *step.Percent)
		}
		r.story.say(theHost, "progress: %s%s", done, oneLine(step.Text, 90))
	}
	for i, spec := range r.store.Subtasks() {
		if i == most {
			break
		}
		r.story.say(theHost, "subtask-%d, to be run: %s", i+1, oneLine(spec.Title, 90))
	}
	if summary, ok, err := r.buffered.ReportedSummary(ctx); err != nil {
		return err
	} else if ok {
		r.story.say(theHost, "summary: %s", oneLine(summary.Text, 500))
	}
	if q, ok, err := r.buffered.PendingQuestion(ctx); err != nil {
		return err
	} else if ok {
		r.story.say(theHost, "a question still waits for its answer: %s", oneLine(q.Text, 200))
	}
	return nil
}
