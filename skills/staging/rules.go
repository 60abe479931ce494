package staging

import (
	"path"
	"strings"

	"github.com/plugberth/plugberth/internal/filename"
	"github.com/plugberth/plugberth/internal/program"
)

// LeftOut is a file or directory of a skill that was not staged, by rule.
type LeftOut struct {
	Path   string // relative to the skill's directory, slash-separated, raw
	Reason Reason
}

// Reason says which rule left something out.
type Reason string

// The reasons.
const (
	// ReasonNeedsScripts: it is the scripts directory, or a program outside of
	// references and assets, and the item does not allow scripts.
	ReasonNeedsScripts Reason = "scripts are not allowed"
	// ReasonVersionControl: it belongs to a version control system, which would act
	// on what it says.
	ReasonVersionControl Reason = "it belongs to a version control system"
	// ReasonHiddenFile: its name begins with a period, outside of references, assets
	// and scripts.
	ReasonHiddenFile Reason = "its name begins with a period"
)

// Directories of a skill that the specification gives a meaning (AS).
const (
	references = "references"
	assets     = "assets"
	scripts    = "scripts"
)

// byName judges what can be judged before an entry is looked at.
func byName(name string, allow bool) Reason {
	switch filename.Key(path.Base(name)) {
	case ".git", ".hg", ".svn", ".jj", ".bzr":
		return ReasonVersionControl
	}
	switch top := top(name); {
	case top == scripts && !allow:
		return ReasonNeedsScripts
	case top == references || top == assets || top == scripts:
		return ""
	}
	if strings.HasPrefix(path.Base(name), ".") {
		return ReasonHiddenFile
	}
	return ""
}

// byContent judges a file.
func byContent(name string, data []byte, executable, allow bool) Reason {
	if top := top(name); allow || name == skillFile || top == references || top == assets {
		return ""
	}
	// Archives and other systems give every file the bit: it says something only
	// of a file whose name does not say what it is.
	if executable && path.Ext(name) == "" || isProgram(name, data) {
		return ReasonNeedsScripts
	}
	return ""
}

// top returns the first component of a path as it would be compared.
func top(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return filename.Key(first)
}

// isProgram reports whether a system would run the file as it is, told by its
// name or its first bytes.
func isProgram(name string, data []byte) bool {
	byName, _ := program.ByName(name)
	return byName.System || program.IsScript(data) || program.Native(data) != ""
}
