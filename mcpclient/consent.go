package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

// Consent decides whether a stdio server may be started. A nil error allows
// it; any other refuses it, and the server is then disabled by policy. It is
// asked once for each digest of a server's plan while the host lives, and again
// when the digest changes; a decision that its context cut short is asked for
// anew. It is called concurrently for different servers. A panic refuses.
type Consent func(ctx context.Context, req ConsentRequest) error

// ConsentRequest is what a host decides on: whether the server ID may be started.
type ConsentRequest struct {
	ID     ServerID
	Plan   plugin.LaunchPlan // what would be started; credentials of the host are not in it
	Digest string            // of the plan
	// Findings are what the host should know of the plan, of layer policy:
	// variables that load code into the process.
	Findings finding.List
}

// consents remembers what a host decided. The zero value is ready.
type consents struct {
	mu        sync.Mutex
	decisions map[consentKey]*decision
}

type consentKey struct {
	id     ServerID
	digest string
}

// decision is one question to the host. err and final are set before done is
// closed.
type decision struct {
	done  chan struct{}
	err   error
	final bool // false: the asker's context ended before the host decided
}

// ask returns the host's decision on a plan, as an [ErrNotAllowed] where it is
// a refusal. Those who ask for the same at the same time share one question.
// It returns the context's error as soon as that ends, whatever the host's
// function does; a decision that comes later is remembered.
func (c *consents) ask(ctx context.Context, consent Consent, req ConsentRequest) error {
	key := consentKey{req.ID, req.Digest}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.mu.Lock()
		d := c.decisions[key]
		if d == nil {
			d = &decision{done: make(chan struct{})}
			if c.decisions == nil {
				c.decisions = map[consentKey]*decision{}
			}
			c.decisions[key] = d
			go c.decide(ctx, consent, req, d)
		}
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.done:
		}
		switch {
		case !d.final: // whoever asked went away: ask ourselves
		case d.err != nil:
			return fmt.Errorf("%w: the host did not consent to start it: %w", ErrNotAllowed, d.err)
		default:
			return nil
		}
	}
}

// decide calls the host's function and publishes what it says.
func (c *consents) decide(ctx context.Context, consent Consent, req ConsentRequest, d *decision) {
	key := consentKey{req.ID, req.Digest}
	err := errors.New("its function did not return")
	defer func() {
		if recover() != nil {
			err = errors.New("its function panicked") // with what may hold a value of the plan
		}
		d.err = err
		d.final = err == nil || ctx.Err() == nil ||
			!errors.Is(err, ctx.Err()) && !errors.Is(err, context.Cause(ctx)) && !errors.Is(err, context.DeadlineExceeded)
		c.mu.Lock()
		if !d.final && c.decisions[key] == d {
			delete(c.decisions, key)
		}
		c.mu.Unlock()
		close(d.done)
	}()
	// The function gets a copy: what it does to it must not change what starts.
	req.Plan.Args, req.Plan.Env = slices.Clone(req.Plan.Args), maps.Clone(req.Plan.Env)
	err = consent(ctx, req)
}

// forget drops what was decided for an instance, so that one that is installed
// again is asked for again.
func (c *consents) forget(instance plugin.Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.decisions, func(k consentKey, _ *decision) bool { return k.id.Instance == instance })
}

// forgetRefusals drops what the host refused for a server, so that it is asked
// again.
func (c *consents) forgetRefusals(id ServerID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.decisions, func(k consentKey, d *decision) bool {
		select {
		case <-d.done:
			return k.id == id && d.err != nil
		default:
			return false
		}
	})
}
