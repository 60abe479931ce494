package skills

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"path"
	"strings"

	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/plugin/finding"
)

// checkExecutable notes what a system would run: programs by their first bytes,
// scripts by their first line or their name, and executable bits.
func checkExecutable(s sheet, name string, mode fs.FileMode, head []byte) {
	if kind := program(head); kind != "" {
		s.add(finding.SkillProgram, report.Whole, "the file is a program (%s), which cannot be read before it is run", kind)
		return
	}
	const advice = ": read it before you let anything run it"
	bit := ""
	if mode&0o111 != 0 {
		bit = " and has an executable bit"
	}
	switch kind := scriptNames[strings.ToLower(path.Ext(name))]; {
	case bytes.HasPrefix(head, []byte("#!")), bytes.HasPrefix(head, []byte(bom+"#!")):
		s.add(finding.SkillScript, 0, "the file begins with #!%s, it is a script"+advice, bit)
	case kind != "":
		s.add(finding.SkillScript, report.Whole, "the file is a script by its name (%s)%s"+advice, kind, bit)
	case bit != "":
		s.add(finding.SkillScript, report.Whole, "the file has an executable bit"+advice)
	}
}

// scriptNames are the endings of names that a shell, an interpreter or a desktop
// takes for something to run.
var scriptNames = map[string]string{
	".sh": "shell", ".bash": "shell", ".zsh": "shell", ".fish": "shell", ".ksh": "shell", ".csh": "shell", ".command": "shell",
	".bat": "Windows batch", ".cmd": "Windows batch", ".ps1": "PowerShell", ".psm1": "PowerShell", ".vbs": "VBScript", ".wsf": "Windows script", ".hta": "HTML application",
	".py": "Python", ".pyw": "Python", ".rb": "Ruby", ".pl": "Perl", ".php": "PHP", ".lua": "Lua", ".tcl": "Tcl", ".r": "R", ".jl": "Julia", ".awk": "AWK",
	".js": "JavaScript", ".mjs": "JavaScript", ".cjs": "JavaScript", ".ts": "TypeScript", ".mts": "TypeScript", ".cts": "TypeScript",
	".applescript": "AppleScript", ".scpt": "AppleScript", ".desktop": "desktop entry", ".reg": "registry script", ".lnk": "Windows shortcut",
}

// program returns what kind of native program or library begins so, or "".
func program(head []byte) string {
	at := func(off int) (n uint32) {
		if len(head) >= off+4 {
			n = binary.BigEndian.Uint32(head[off:])
		}
		return n
	}
	switch at(0) {
	case 0x7f454c46:
		return "ELF"
	case 0xfeedface, 0xfeedfacf, 0xcefaedfe, 0xcffaedfe:
		return "Mach-O"
	case 0xcafebabe, 0xcafebabf: // a fat Mach-O has few architectures where a Java class has its version
		if n := at(4); n > 0 && n < 40 {
			return "Mach-O"
		}
		return "Java class"
	case 0x0061736d:
		return "WebAssembly"
	}
	if bytes.HasPrefix(head, []byte("MZ")) && len(head) >= 64 {
		if off := int64(binary.LittleEndian.Uint32(head[60:])); off+4 > int64(len(head)) || bytes.HasPrefix(head[off:], []byte("PE\x00\x00")) {
			return "PE"
		}
		return "DOS"
	}
	return ""
}
