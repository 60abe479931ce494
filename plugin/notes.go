package plugin

import (
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/plugin/finding"
)

// maxFindingText bounds the subjects and pointers of one document's findings
// together. Every pointer repeats the names that lead to it, so without a
// bound a file of 1 MiB with one long name could ask for gigabytes.
const maxFindingText = 4 << 20

// notes takes down the faults of one document.
type notes struct {
	sheet *report.Sheet
	text  int // bytes of subjects and pointers so far
	count int
}

// take reports whether a fault is to be noted, given the size of its subject
// and pointer. Once the bound is reached, that is only the first error of an
// owner, which decides on it; failed says whether the owner has had one.
func (n *notes) take(code finding.Code, size int, failed *bool) bool {
	info, _ := finding.Lookup(code)
	first := info.Severity == finding.SeverityError && !*failed
	if first {
		*failed = true
	}
	if n.full() && !first {
		n.sheet.Cut = true
		return false
	}
	n.text += size
	n.count++
	return true
}

func (n *notes) full() bool { return n.text >= maxFindingText || n.count >= maxFaults }
