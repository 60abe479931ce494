package main

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// embedded holds the host's own skills. Without "all:" files whose names begin
// with a period or an underscore would be missing.
//
//go:embed all:skills
var embedded embed.FS

// own loads the skills in the binary. They are the host's, so one that does not
// conform is an error here and not a warning; a test finds it before a user does.
func own(ctx context.Context) (skills.Source, error) {
	root, err := paths.New(embedded)
	if err != nil {
		return skills.Source{}, err
	}
	list, err := skills.Load(ctx, root, "skills", skills.Options{})
	if err != nil {
		return skills.Source{}, err
	}
	if faults := list.Findings.AtLeast(finding.SeverityWarning); len(faults) > 0 {
		return skills.Source{}, errors.New(faults.String())
	}
	return skills.Source{
		Origin: skills.Origin{Kind: skills.KindEmbedded, Package: "embedskills"},
		Skills: list.Skills,
	}, nil
}

// load makes one set of the host's own skills and those of plugins. A plugin that
// is rejected costs its own skills only.
func (h *host) load(ctx context.Context, dirs []string) (*skills.Set, error) {
	mine, err := own(ctx)
	if err != nil {
		return nil, fmt.Errorf("the host's own skills: %w", err)
	}
	sources := []skills.Source{mine}
	for _, dir := range dirs {
		p, err := plugin.Load(ctx, dir, plugin.Options{Components: plugin.SkillsOnly})
		if errors.Is(err, plugin.ErrRejected) {
			h.leftOut = true
			h.warn("%s: %v", dir, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, f := range p.Findings().AtLeast(finding.SeverityWarning) {
			h.leftOut = h.leftOut || f.Severity == finding.SeverityError
			h.warn("%s: %v", dir, f)
		}
		sources = append(sources, p.SkillSource())
	}
	// A set has one skill of each name. No plugin takes the place of a skill of the
	// host, in whatever order they come; of two plugins the first goes before.
	set, err := skills.NewSet(skills.SetOptions{}, sources...)
	if err != nil {
		return nil, err
	}
	for _, f := range set.Findings() {
		h.leftOut = true
		h.warn("%s", f.Message)
	}
	return set, nil
}
