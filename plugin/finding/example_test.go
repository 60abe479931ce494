package finding_test

import (
	"fmt"

	"github.com/plugberth/plugberth/plugin/finding"
)

func ExampleLookup() {
	info, ok := finding.Lookup(finding.ManifestNameInvalid)
	fmt.Println(ok, info.Severity, info.Boundary, info.Section)
	fmt.Println(info.Advice)
	// Output:
	// true error plugin AP §5.5
	// Use 1 to 64 of a-z, 0-9, hyphen and period, alphanumeric at both ends, no -- and no ..
}

func ExampleFinding_String() {
	f := finding.New(finding.SkillNameMismatch,
		finding.Place{Subject: "pdf", File: "skills/pdf/SKILL.md", Pointer: "/name", Line: 2, Column: 7},
		`name is "PDF tools" but the directory is "pdf": rename one of the two`)
	fmt.Println(f)
	// Output:
	// skills/pdf/SKILL.md:2:7: error: name is "PDF tools" but the directory is "pdf": rename one of the two [skill-name-mismatch, AS]
}

func ExampleEscape() {
	fmt.Println(finding.Escape("invoice\u202efdp.exe\x1b[2J"))
	// Output:
	// invoice\u202efdp.exe\x1b[2J
}
