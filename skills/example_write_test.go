package skills_test

import (
	"fmt"

	"github.com/plugberth/plugberth/skills"
)

func ExampleDraft_Encode() {
	file, err := skills.Draft{
		Name:         "release-notes",
		Description:  "Write release notes: use when a release is cut.",
		Metadata:     map[string]string{"version": "1.10", "author": "example-org"},
		AllowedTools: []string{"Bash(git log:*)", "Read"},
		Extra:        []skills.ExtraKey{{Key: "argument-hint", Value: "[version]"}},
		Body:         "\n# Release notes\n",
	}.Encode()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(file))
	// Output:
	// ---
	// name: release-notes
	// description: "Write release notes: use when a release is cut."
	// metadata:
	//   author: example-org
	//   version: "1.10"
	// allowed-tools: Bash(git log:*) Read
	// argument-hint: "[version]"
	// ---
	//
	// # Release notes
}

func ExampleNearestName() {
	fmt.Println(skills.NearestName("Prüf-Bericht (Entwurf)"))
	// Output:
	// pruf-bericht-entwurf
}
