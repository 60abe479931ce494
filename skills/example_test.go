package skills_test

import (
	"context"
	"fmt"
	"io/fs"
	"testing/fstest"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/skills"
)

// pack is a package in memory; paths.Open gives the root of one on disk.
var pack = fstest.MapFS{
	"skills/review/SKILL.md": &fstest.MapFile{Data: []byte(`---
name: review
description: Reviews a change. Use before a merge.
allowed-tools: Bash(git diff:*) Read
---
Read references/rules.md first.
`)},
	"skills/review/references/rules.md": &fstest.MapFile{Data: []byte("Be kind.\n")},
	"skills/notes/SKILL.md": &fstest.MapFile{Data: []byte(`---
name: Notes
description: Writes release notes.
---
`)},
}

func ExampleLoad() {
	root, err := paths.New(pack)
	if err != nil {
		fmt.Println(err)
		return
	}
	listing, err := skills.Load(context.Background(), root, "skills", skills.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range listing.Skills {
		fmt.Println(s.Name(), "-", s.Description())
		fmt.Printf("%q\n", s.AllowedTools())
	}
	for _, f := range listing.Findings {
		fmt.Println(f)
	}
	// Output:
	// review - Reviews a change. Use before a merge.
	// ["Bash(git diff:*)" "Read"]
	// skills/notes/SKILL.md:2:7: error: "Notes" is no skill name, it has upper-case letters: use 1 to 64 of a-z, 0-9 and single hyphens between them [skill-name-invalid, AS]
}

func ExampleSkill_FS() {
	root, err := paths.New(pack)
	if err != nil {
		fmt.Println(err)
		return
	}
	listing, err := skills.Load(context.Background(), root, "skills", skills.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	review := listing.Skills[0]
	body, err := review.Body()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(body)
	resources, more, err := review.Resources(context.Background(), 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	files, err := review.FS()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range resources {
		text, err := fs.ReadFile(files, r.Path)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s: %s", r.Path, text)
	}
	fmt.Println("more:", more)
	// Output:
	// Read references/rules.md first.
	// references/rules.md: Be kind.
	// more: false
}

func ExampleParse() {
	file := []byte("---\nname: review\ndescription: Use when: a change is ready.\n---\n")
	skill, findings, err := skills.Parse("review", file, skills.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(skill == nil)
	for _, f := range findings {
		fmt.Println(f)
	}
	// Output:
	// true
	// SKILL.md:3:14: error: the value has a colon followed by a blank: put it in quotes [skill-invalid-yaml, AS]
}

func ExampleSkill_Decode() {
	s, _, err := skills.Parse("review", []byte(`---
name: review
description: Reviews a change.
user-invocable: true
---
`), skills.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.ExtraKeys())
	var invocable bool
	if err := s.Decode("user-invocable", &invocable); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(invocable)
	fmt.Println(s.Decode("model", &invocable))
	// Output:
	// [user-invocable]
	// true
	// skills: the frontmatter has no such key
}
