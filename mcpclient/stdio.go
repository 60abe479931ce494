package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/plugin"
)

// planAttempts is how often a package may change while its host is asked.
const planAttempts = 3

// openStdio starts a stdio server of a plugin (AP §7.2.1, §9.1): it makes the
// plan, has the host decide on it, makes the directories that the server needs,
// asks for credentials and launches it. opts have their defaults. The plan is
// made once more after the host was asked, so that what is started is what was
// allowed, resolved just before. It fails with [ErrNotAllowed] where the host's policy refuses,
// with the context's error where that ended, and with [ErrServer].
func openStdio(ctx context.Context, p *plugin.Plugin, id ServerID, opts *Options, asked *consents, give giver) (link, error) {
	if opts.Consent == nil {
		return nil, fmt.Errorf("%w: starting a server runs code of the package, and Options.Consent is not set", ErrNotAllowed)
	}
	if opts.DataRoot == "" {
		return nil, fmt.Errorf("%w: a stdio server needs a data directory, and Options.DataRoot is not set", ErrNotAllowed)
	}
	plan, creds, err := consentedPlan(ctx, p, id, opts, asked, give)
	if err != nil {
		return nil, err
	}
	base := opts.Environ
	if base == nil {
		base = BaseEnviron()
	}
	environ, err := mergeEnviron(base, plan.Env, creds.Env, onWindows)
	if err != nil {
		return nil, fmt.Errorf("%w: its environment cannot be made: %w", ErrServer, err)
	}
	launcher := opts.Launcher
	if launcher == nil {
		launcher = Local{}
	}
	mask := newMasker(injected(plan, creds, opts.Environ))
	proc, err := launch(ctx, launcher, Launch{
		ID:      id,
		Plan:    *plan,
		Environ: environ,
		Path:    lookupEnv(base, "PATH", onWindows),
		PathExt: lookupEnv(base, "PATHEXT", onWindows),
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// A launcher may show what it runs.
		return nil, &explained{ErrServer.Error() + ": it did not start: " + printable.Escape(mask.text(err.Error())), []error{ErrServer, err}}
	}
	return newStdioLink(proc, opts, mask, stdioLogger(opts.Logger, id)), nil
}

// consentedPlan returns the plan that the host has allowed, with its directories
// made, and what the host gives for it.
func consentedPlan(ctx context.Context, p *plugin.Plugin, id ServerID, opts *Options, asked *consents, give giver) (*plugin.LaunchPlan, Credentials, error) {
	var creds Credentials
	dataDir, err := plugin.DataDir(opts.DataRoot, id.Instance)
	if err != nil {
		if errors.Is(err, plugin.ErrInstance) {
			return nil, creds, err // which is the host's
		}
		return nil, creds, unplanned(err)
	}
	plan, err := p.LaunchPlan(id.Server, dataDir)
	for range planAttempts {
		if err != nil {
			return nil, creds, unplanned(err)
		}
		digest := plan.Digest()
		answered := asking(ctx)
		err = asked.ask(ctx, opts.Consent, ConsentRequest{
			ID:       id,
			Plan:     *plan,
			Digest:   digest,
			Findings: loaderFindings(id.Server, plan.Env, onWindows),
		})
		answered()
		if err != nil {
			return nil, creds, err
		}
		if err := ensureDataDir(opts.DataRoot, id.Instance, plan.Dir); err != nil {
			return nil, creds, unplanned(err)
		}
		if creds, err = give(ctx, CredentialsRequest{ID: id, Type: plugin.TransportStdio, Digest: digest}); err != nil {
			return nil, creds, err
		}
		if plan, err = p.LaunchPlan(id.Server, dataDir); err == nil && plan.Digest() == digest {
			return plan, creds, nil
		}
	}
	if err != nil {
		return nil, creds, unplanned(err)
	}
	return nil, creds, fmt.Errorf("%w: what would be started changed each time that the host had allowed it", ErrServer)
}

// unplanned is an [ErrServer] for an error of package plugin, which begins as
// ours do.
func unplanned(err error) error {
	return &explained{ErrServer.Error() + ": " + strings.TrimPrefix(err.Error(), "plugin: "), []error{ErrServer, err}}
}

// launch calls a launcher that may not keep to its context. A process that
// comes too late is ended.
func launch(ctx context.Context, launcher Launcher, l Launch) (Process, error) {
	type result struct {
		proc *heldProcess
		err  error
	}
	started := make(chan result, 1)
	go func() {
		r := result{err: errors.New("the launcher did not return")}
		defer func() {
			if recover() != nil {
				r = result{err: errors.New("the launcher panicked")} // with what may hold a secret
			}
			started <- r
		}()
		proc, err := launcher.Launch(ctx, l)
		switch {
		case err != nil:
			r = result{err: err}
		case proc == nil:
			r = result{err: errors.New("the launcher returned no process")}
		default:
			held, err := hold(proc)
			r = result{held, err}
		}
	}()
	select {
	case r := <-started:
		if r.err != nil {
			return nil, r.err
		}
		return r.proc, nil
	case <-ctx.Done():
		go func() {
			if r := <-started; r.err == nil {
				r.proc.abandon()
			}
		}()
		return nil, ctx.Err()
	}
}

// injected returns the values that must not show in what a server says: those
// of the host, and the package's own but for short ones and paths of the
// plugin, without which a message says nothing. Of the base environment these are
// the variables that a host has added to the usual ones, short ones apart.
func injected(plan *plugin.LaunchPlan, creds Credentials, environ []string) []string {
	var values []string
	usual := baseEnviron(environ, onWindows)
	for _, e := range environ {
		if _, v, _ := strings.Cut(e, "="); len(v) >= shortestPart && !slices.Contains(usual, e) {
			values = append(values, v)
		}
	}
	for name, v := range creds.Env {
		if key := envKey(name, onWindows); key != envRoot && key != envData {
			values = append(values, v)
		}
	}
	for _, vs := range creds.Headers {
		for _, v := range vs {
			values = append(values, v)
			if _, token, ok := strings.Cut(v, " "); ok && len(token) >= shortestPart {
				values = append(values, token) // behind the scheme
			}
		}
	}
	for _, v := range plan.Env {
		if len(v) >= shortestPart && !strings.Contains(v, plan.Env[envRoot]) && !strings.Contains(v, plan.Env[envData]) {
			values = append(values, v)
		}
	}
	return values
}

// stdioLogger names the server in each record; a nil logger stays nil.
func stdioLogger(l *slog.Logger, id ServerID) *slog.Logger {
	if l == nil {
		return nil
	}
	return l.With("mcp", id)
}
