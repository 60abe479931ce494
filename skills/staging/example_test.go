package staging_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/skills"
	"github.com/plugberth/plugberth/skills/staging"
)

// exampleSkill loads a skill to stage.
func exampleSkill() *skills.Skill {
	root, err := paths.New(fstest.MapFS{
		"skills/review/SKILL.md":            &fstest.MapFile{Data: []byte("---\nname: review\ndescription: Reviews a change.\n---\n")},
		"skills/review/references/rules.md": &fstest.MapFile{Data: []byte("Be kind.\n")},
		"skills/review/scripts/run.sh":      &fstest.MapFile{Data: []byte("#!/bin/sh\n"), Mode: 0o755},
	})
	if err != nil {
		panic(err)
	}
	listing, err := skills.Load(context.Background(), root, "skills", skills.Options{})
	if err != nil {
		panic(err)
	}
	return listing.Skills[0]
}

func ExampleTarget_Stage() {
	workspace, err := os.MkdirTemp("", "workspace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(workspace)

	ctx := context.Background()
	target := staging.Target{Workspace: workspace, Dir: ".agents/skills"}
	item := staging.Item{Skill: exampleSkill(), Package: "reports"}
	stage := func() {
		results, err := target.Stage(ctx, item)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, r := range results {
			fmt.Println(r.Name, r.Outcome, r.Files, "files")
			for _, l := range r.LeftOut {
				fmt.Println("  left out", l.Path+":", l.Reason)
			}
			if errors.Is(r.Err, staging.ErrModified) {
				fmt.Println("  changed:", r.Kept)
			}
		}
	}
	stage()
	stage()
	item.Scripts = true // the user trusts the package
	stage()

	// Somebody edits a staged file.
	rules := filepath.Join(workspace, ".agents", "skills", "review", "references", "rules.md")
	if err := os.WriteFile(rules, []byte("Be kinder.\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	item.Scripts = false
	stage()
	// Output:
	// review staged 2 files
	//   left out scripts: scripts are not allowed
	// review unchanged 2 files
	//   left out scripts: scripts are not allowed
	// review updated 3 files
	// review refused 0 files
	//   left out scripts: scripts are not allowed
	//   changed: [review/references/rules.md]
}

// A set is staged as a whole, with programs of the packages that the user trusts
// alone.
func ExampleItems() {
	workspace, err := os.MkdirTemp("", "workspace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(workspace)
	set, err := skills.NewSet(skills.SetOptions{}, skills.Source{
		Origin: skills.Origin{Kind: skills.KindPackage, Package: "reports"},
		Skills: []*skills.Skill{exampleSkill()},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	trusted := map[string]bool{"reports": true}
	items := staging.Items(set, func(o skills.Origin) bool { return o.Kind != skills.KindPackage || trusted[o.Package] })
	target := staging.Target{Workspace: workspace, Dir: ".agents/skills"}
	results, err := target.Stage(context.Background(), items...)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		fmt.Println(r.Name, r.Outcome, r.Files, "files,", len(r.LeftOut), "left out")
	}
	// Output:
	// review staged 3 files, 0 left out
}

func ExampleTarget_UnstageAll() {
	workspace, err := os.MkdirTemp("", "workspace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(workspace)

	ctx := context.Background()
	target := staging.Target{Workspace: workspace, Dir: ".agents/skills"}
	if _, err := target.Stage(ctx, staging.Item{Skill: exampleSkill()}); err != nil {
		fmt.Println(err)
		return
	}
	status, err := target.Status(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range status {
		fmt.Println(s.Name, s.Files, "changed:", len(s.Changed))
	}
	results, err := target.UnstageAll(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		fmt.Println(r.Name, r.Outcome)
	}
	left, err := os.ReadDir(workspace)
	fmt.Println(len(left), err)
	// Output:
	// review [SKILL.md references/rules.md] changed: 0
	// review removed
	// 0 <nil>
}
