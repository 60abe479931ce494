package skills_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/skills"
)

// loadSource loads the skills of one file system; paths.Open gives the root of a
// directory such as .agents/skills, and a loaded plugin has a SkillSource.
func loadSource(origin skills.Origin, files fstest.MapFS) skills.Source {
	root, err := paths.New(files)
	if err != nil {
		panic(err)
	}
	listing, err := skills.Load(context.Background(), root, ".", skills.Options{})
	if err != nil {
		panic(err)
	}
	return skills.Source{Origin: origin, Skills: listing.Skills}
}

func skillFile(name, description string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: " + description + "\n---\n")}
}

func ExampleNewSet() {
	tools := loadSource(skills.Origin{Kind: skills.KindPackage, Package: "tools", Version: "1.2.0"}, fstest.MapFS{
		"commit/SKILL.md": skillFile("commit", "Commits as the package would."),
		"deploy/SKILL.md": skillFile("deploy", "Deploys a service."),
		"secret/SKILL.md": skillFile("secret", "Is not for everybody."),
	})
	own := loadSource(skills.Origin{Kind: skills.KindEmbedded, Package: "host"}, fstest.MapFS{
		"commit/SKILL.md": skillFile("commit", "Commits as the host does."),
	})
	set, err := skills.NewSet(skills.SetOptions{
		Filter: func(e skills.Entry) bool { return e.Name() != "secret" },
	}, tools, own)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range set.Entries() {
		fmt.Println(e.Name(), "from", e.Origin)
	}
	for _, f := range set.Findings() {
		fmt.Println(f.Message)
	}
	// Output:
	// commit from the embedded "host"
	// deploy from the package "tools" 1.2.0
	// "commit" of the package "tools" 1.2.0 is not offered: the embedded "host" has one of that name and comes first
}

// A reload makes another set; the snapshots of both tell what it changes.
func ExampleSnapshot_Compare() {
	files := fstest.MapFS{
		"commit/SKILL.md": skillFile("commit", "Commits."),
		"deploy/SKILL.md": skillFile("deploy", "Deploys."),
	}
	snapshot := func() skills.Snapshot {
		origin := skills.Origin{Kind: skills.KindDirectory, Package: ".agents/skills"}
		set, err := skills.NewSet(skills.SetOptions{}, loadSource(origin, files))
		if err != nil {
			panic(err)
		}
		snap, err := set.Snapshot(context.Background(), skills.Bounds{})
		if err != nil {
			panic(err)
		}
		return snap
	}
	before := snapshot()
	files["commit/references/style.md"] = &fstest.MapFile{Data: []byte("Be brief.\n")}
	files["review/SKILL.md"] = skillFile("review", "Reviews.")
	delete(files, "deploy/SKILL.md")

	changes := snapshot().Compare(before)
	for _, s := range changes.Added {
		fmt.Println("added", s.Name)
	}
	for _, s := range changes.Removed {
		fmt.Println("removed", s.Name)
	}
	for _, c := range changes.Changed {
		fmt.Println("changed", c.New.Name)
	}
	// Output:
	// added review
	// removed deploy
	// changed commit
}
