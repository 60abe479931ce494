package main

import (
	"context"
	"fmt"

	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
	"github.com/plugberth/plugberth/skills/staging"
)

// target is where agent programs look for the skills of a workspace.
func target(workspace string) staging.Target {
	return staging.Target{Workspace: workspace, Dir: ".agents/skills"}
}

// stage makes a workspace have the skills of the set, and none of before.
func (h *host) stage(ctx context.Context, workspace string, set *skills.Set, trust map[string]bool) error {
	t := target(workspace)
	staged, err := t.Status(ctx)
	if err != nil {
		return err
	}
	var gone []string
	for _, s := range staged {
		if _, offered := set.Lookup(s.Name); !offered {
			gone = append(gone, s.Name)
		}
	}
	results, err := t.Unstage(ctx, gone...)
	h.show(results)
	if err != nil {
		return err
	}
	// What is copied there may be run there, with no question asked: the host
	// lets in its own programs and those of plugins that somebody trusts.
	results, err = t.Stage(ctx, staging.Items(set, func(from skills.Origin) bool {
		return from.Kind == skills.KindEmbedded || trust[from.Package]
	})...)
	h.show(results)
	return err
}

// unstage takes all skills out of a workspace.
func (h *host) unstage(ctx context.Context, workspace string) error {
	results, err := target(workspace).UnstageAll(ctx)
	h.show(results)
	return err
}

// show prints what became of skills in a workspace.
func (h *host) show(results []staging.Result) {
	for _, r := range results {
		fmt.Fprintf(h.out, "%-9s  %s\n", r.Outcome, r.Name)
		for _, l := range r.LeftOut {
			fmt.Fprintf(h.out, "           without %s: %s\n", finding.Escape(l.Path), l.Reason)
		}
		for _, path := range r.Kept {
			fmt.Fprintf(h.out, "           kept %s: it is not as it was staged\n", finding.Escape(path))
		}
		if r.Outcome == staging.OutcomeRefused {
			h.leftOut = true
			h.warn("%s: %v", r.Name, r.Err)
		}
	}
}
