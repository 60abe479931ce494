package plugin

import (
	"strings"

	"github.com/plugberth/plugberth/skills"
)

// NearestName returns the valid plugin name that is nearest to a text, for a
// person or program that chose one that [CheckName] refuses: as
// [skills.NearestName] does, with periods kept where they can stand. It returns
// "" where nothing of the text can be kept, and a valid name unchanged.
func NearestName(text string) string {
	if CheckName(text) == nil {
		return text
	}
	if len(text) > 4096 {
		text = text[:4096] // it is cut anyway
	}
	var parts []string
	for part := range strings.SplitSeq(text, ".") {
		if part = skills.NearestName(part); part != "" {
			parts = append(parts, part)
		}
	}
	name := strings.Join(parts, ".")
	return strings.TrimRight(name[:min(len(name), maxName)], "-.")
}
