package report

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/plugberth/plugberth/plugin/finding"
)

func TestFindingsStandInOrder(t *testing.T) {
	s := &Sheet{File: "f", Source: []byte("ab\ncd")}
	s.Add(finding.SkillUnknownKey, "x", "/c", 3, "third")
	s.Add(finding.SkillUnknownKey, "x", "/b", 1, "second %d", 2)
	s.Add(finding.SkillUnreadable, "x", "", Whole, "first")
	got := s.Findings()
	if len(got) != 3 {
		t.Fatal(got)
	}
	for i, want := range []finding.Finding{
		finding.New(finding.SkillUnreadable, finding.Place{Subject: "x", File: "f"}, "first"),
		finding.New(finding.SkillUnknownKey, finding.Place{Subject: "x", File: "f", Pointer: "/b", Line: 1, Column: 2}, "second 2"),
		finding.New(finding.SkillUnknownKey, finding.Place{Subject: "x", File: "f", Pointer: "/c", Line: 2, Column: 1}, "third"),
	} {
		if got[i] != want {
			t.Errorf("finding %d = %+v, want %+v", i, got[i], want)
		}
	}
}

func TestLimitKeepsTheErrorAndSaysSo(t *testing.T) {
	for _, limit := range []int{0, 3, 10, 11} {
		s := &Sheet{File: "f", Source: []byte("0123456789x"), Limit: limit}
		for i := range 10 {
			s.Add(finding.SkillUnknownKey, "x", "", i, fmt.Sprint(i))
		}
		s.Add(finding.SkillNameMissing, "x", "", 10, "the error")
		got := s.Findings()
		errs, notes := 0, 0
		for _, f := range got {
			if f.Code == finding.SkillNameMissing {
				errs++
			}
			if f.Code == finding.FindingsOmitted {
				notes++
			}
		}
		wantLen, wantNotes := 11, 0
		if limit == 3 {
			wantLen, wantNotes = 5, 1
		}
		if errs != 1 || notes != wantNotes || len(got) != wantLen {
			t.Errorf("limit %d: %d findings, %d errors, %d notes:\n%v", limit, len(got), errs, notes, got)
		}
	}
}

func TestCauseHasNoPath(t *testing.T) {
	err := fmt.Errorf("wrapped: %w", &fs.PathError{Op: "open", Path: "secret", Err: errors.New("bad\u202e luck")})
	if got := Cause(err); got != `bad\u202e luck` {
		t.Errorf("Cause = %q", got)
	}
}
