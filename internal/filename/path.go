package filename

import (
	"fmt"
	"strings"
)

// What a path that travels may measure: what common systems hold.
const (
	maxPath      = 1024 // bytes
	maxDepth     = 100  // components
	maxComponent = 255  // bytes
)

// PathFlaw says why a slash-separated path should not name a file that travels
// between systems, in an archive for instance, or "". What leads elsewhere on
// some system, or cannot be held by it, is refused on every one.
func PathFlaw(path string) string {
	switch {
	case path == "":
		return "its name is empty"
	case len(path) > maxPath:
		return fmt.Sprintf("its path is longer than %d bytes", maxPath)
	case path[0] == '/':
		return "its path is absolute"
	case strings.Count(path, "/") >= maxDepth:
		return fmt.Sprintf("its path has more than %d components", maxDepth)
	}
	for c := range strings.SplitSeq(path, "/") {
		switch {
		case c == "":
			return "its path has an empty component"
		case c == "." || c == "..":
			return "its path has a component . or .."
		case len(c) > maxComponent:
			return fmt.Sprintf("its path has a component longer than %d bytes", maxComponent)
		}
		if flaw := Flaw(c, true); flaw != "" {
			return flaw
		}
	}
	return ""
}
