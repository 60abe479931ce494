package skills

import (
	"io/fs"

	"github.com/plugberth/plugberth/internal/program"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/plugin/finding"
)

// checkExecutable notes what a system would run: programs by their first bytes,
// scripts by their first line or their name, and executable bits.
func checkExecutable(s sheet, name string, mode fs.FileMode, head []byte) {
	if kind := program.Native(head); kind != "" {
		s.add(finding.SkillProgram, report.Whole, "the file is a program (%s), which cannot be read before it is run", kind)
		return
	}
	const advice = ": read it before you let anything run it"
	bit := ""
	if mode&0o111 != 0 {
		bit = " and has an executable bit"
	}
	switch byName, named := program.ByName(name); {
	case program.IsScript(head):
		s.add(finding.SkillScript, 0, "the file begins with #!%s, it is a script"+advice, bit)
	case named:
		s.add(finding.SkillScript, report.Whole, "the file can be run by its name (%s)%s"+advice, byName.Kind, bit)
	case bit != "":
		s.add(finding.SkillScript, report.Whole, "the file has an executable bit"+advice)
	}
}
