// Package report collects what is wrong with one file and turns it into
// findings: in document order, with lines and columns.
package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plugberth/plugberth/internal/textpos"
	"github.com/plugberth/plugberth/plugin/finding"
)

// Whole is the offset of a fault that is about the file as a whole.
const Whole = -1

// Sheet collects the faults of one file. Not safe for concurrent use.
type Sheet struct {
	File    string
	Subject string // of the file as a whole: the skill's directory, or nothing
	Source  []byte // the file's content; needed only for faults with an offset
	Limit   int    // how many findings to give at the most; 0 means all
	Cut     bool   // faults were left out before they came here
	faults  []fault
}

type fault struct {
	code    finding.Code
	subject string
	pointer string
	off     int
	message string
}

// Add notes a fault at a byte offset, or Whole. Subject and pointer may be empty.
func (s *Sheet) Add(code finding.Code, subject, pointer string, off int, format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	s.faults = append(s.faults, fault{code, subject, pointer, off, format})
}

// Len returns how many faults have been noted.
func (s *Sheet) Len() int { return len(s.faults) }

// Errors reports whether one of the faults noted from index start on is an error.
func (s *Sheet) Errors(start int) bool {
	for _, f := range s.faults[start:] {
		if info, _ := finding.Lookup(f.code); info.Severity == finding.SeverityError {
			return true
		}
	}
	return false
}

// cut keeps the first faults within the limit, and the first error in any case,
// which decides on its owner.
func (s *Sheet) cut() {
	if s.Limit <= 0 || len(s.faults) <= s.Limit {
		return
	}
	kept := s.faults[:s.Limit:s.Limit]
	if !(&Sheet{faults: kept}).Errors(0) {
		for _, f := range s.faults[s.Limit:] {
			if info, _ := finding.Lookup(f.code); info.Severity == finding.SeverityError {
				kept = append(kept, f)
				break
			}
		}
	}
	s.Cut = s.Cut || len(kept) < len(s.faults)
	s.faults = kept
}

// Findings returns the faults as findings, sorted by position; those about the
// file as a whole come first. Where some were left out, one more says so.
func (s *Sheet) Findings() finding.List {
	if len(s.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(s.faults, func(a, b fault) int { return cmp.Compare(a.off, b.off) })
	s.cut()
	at := textpos.New(s.Source)
	list := make(finding.List, len(s.faults), len(s.faults)+1)
	for i, f := range s.faults {
		place := finding.Place{Subject: f.subject, File: s.File, Pointer: f.pointer}
		if f.off != Whole {
			place.Line, place.Column = at.Position(f.off)
		}
		list[i] = finding.New(f.code, place, f.message)
	}
	if s.Cut {
		list = append(list, finding.New(finding.FindingsOmitted, finding.Place{Subject: s.Subject, File: s.File},
			"there are more faults than are listed: correct these and load again"))
	}
	return list
}
