package mcpclient

import (
	"errors"
	"fmt"
	"strings"
)

// Windows runs batch files through cmd.exe, which reads its command line by
// rules of its own: what the usual quoting of arguments lets through, it takes
// for commands (CVE-2024-24576, "BatBadBut"), and os/exec leaves that to its
// caller. So a batch file gets a command line made here, in which each argument
// stands in quotes, and an argument that quotes do not tame fails the launch
// (AP §7.2.1): one with a quote, which ends them, with a percent sign, which
// is replaced inside them too, or with a line end or another control character.

// maxBatchLine is the longest line that cmd.exe reads, in UTF-16 units; bytes
// of UTF-8 are at least as many.
const maxBatchLine = 8191

// isBatch reports whether Windows starts cmd.exe for a program. It drops
// trailing periods and blanks of a name first.
func isBatch(program string) bool {
	p := strings.ToLower(strings.TrimRight(program, ". "))
	return strings.HasSuffix(p, ".bat") || strings.HasSuffix(p, ".cmd")
}

// batchCommandLine returns the command line that runs a batch file through
// cmd.exe: no AutoRun commands of the registry, extensions on, no replacement
// of !name!, and with /s exactly the outermost quotes removed. Its errors do
// not quote an argument.
func batchCommandLine(cmdExe, program, dir string, args []string) (string, error) {
	if strings.HasPrefix(dir, `\\`) || strings.HasPrefix(dir, "//") {
		return "", errors.New("a batch file cannot be started in a directory on a network share, because cmd.exe then uses another one")
	}
	var b strings.Builder
	b.WriteString(`"` + cmdExe + `" /d /e:on /v:off /s /c "`)
	if c := untamed(program); c != "" {
		return "", fmt.Errorf("the path of the batch file has %s, which cmd.exe cannot be given safely", c)
	}
	b.WriteString(`"` + program + `"`)
	for i, arg := range args {
		if c := untamed(arg); c != "" {
			return "", fmt.Errorf("the program is a batch file, and argument %d has %s, which cmd.exe cannot be given safely", i+1, c)
		}
		b.WriteString(` "` + arg)
		// Programs that the batch file passes this on to take a backslash before
		// a quote for an escape.
		for j := len(arg); j > 0 && arg[j-1] == '\\'; j-- {
			b.WriteByte('\\')
		}
		b.WriteByte('"')
	}
	b.WriteByte('"')
	if b.Len() > maxBatchLine {
		return "", fmt.Errorf("the program is a batch file, and its arguments together are longer than the %d characters that cmd.exe reads", maxBatchLine)
	}
	return b.String(), nil
}

// untamed names the first character of an argument that quotes do not tame.
func untamed(arg string) string {
	for _, r := range arg {
		switch {
		case r == '"':
			return "a quotation mark"
		case r == '%':
			return "a percent sign"
		case r == '\n' || r == '\r':
			return "a line end"
		case r < ' ' || r == 0x7f:
			return "a control character"
		}
	}
	return ""
}
