package skills_test

import (
	"context"
	"fmt"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/skills"
)

// Lenient mode keeps what some hosts forgive, and says so each time.
func ExampleOptions_lenient() {
	root, err := paths.New(pack) // of which skills/notes/SKILL.md declares the name "Notes"
	if err != nil {
		fmt.Println(err)
		return
	}
	listing, err := skills.Load(context.Background(), root, "skills", skills.Options{Mode: skills.Lenient})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range listing.Skills {
		fmt.Printf("%s, declared as %q\n", s.Name(), s.Declared())
	}
	for _, f := range listing.Findings {
		fmt.Println(f)
	}
	// Output:
	// notes, declared as "Notes"
	// review, declared as "review"
	// skills/notes/SKILL.md:2:7: warning: "Notes" is no skill name, it has upper-case letters: use 1 to 64 of a-z, 0-9 and single hyphens between them; it is offered as "notes"; strict mode skips the skill [skill-name-invalid-lenient, AS]
}
