package skills_test

import (
	"fmt"

	"github.com/plugberth/plugberth/skills"
)

// A host compares what a skill asks for with the tools that it lets it use.
func ExampleToolbox() {
	s, _, err := skills.Parse("release", []byte(`---
name: release
description: Cuts a release.
allowed-tools: Bash(git tag:*), Read, mcp__tracker__*, WebFetch
---
`), skills.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	box := skills.Toolbox{
		Tools:   []string{"run_command", "read_file", "mcp__tracker__list_issues"},
		Aliases: map[string][]string{"Bash": {"run_command"}, "Read": {"read_file"}},
	}
	use := box.Use(s)
	fmt.Println(use.Tools)
	fmt.Println("refused:", use.Refused)
	for _, command := range []string{"git tag v1.2.0", "git tags", "git tag v1.2.0; git push"} {
		fmt.Println(command, "-", box.Covers(s, "run_command", command))
	}
	for _, f := range (skills.Toolbox{Tools: []string{"search"}}).Refused([]*skills.Skill{s}) {
		fmt.Println(f.Message)
	}
	// Output:
	// [run_command read_file mcp__tracker__list_issues]
	// refused: [WebFetch]
	// git tag v1.2.0 - true
	// git tags - false
	// git tag v1.2.0; git push - false
	// none of the tools that this skill asks for is allowed here: "Bash", "Read", "mcp__tracker__*", "WebFetch"
}

func ExampleToolPattern_MatchName() {
	p, err := skills.ParseToolPattern("mcp__tracker__*")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.MatchName("mcp__tracker__list_issues"), p.MatchName("mcp__wiki__search"))
	// Output:
	// true false
}
