package mcpclient

import (
	"strings"
	"testing"
)

func TestIsBatch(t *testing.T) {
	for program, want := range map[string]bool{
		`C:\n\npx.cmd`: true, `C:\n\x.BAT`: true, `C:\n\x.bat.`: true, `C:\n\x.cmd. . `: true, // CVE-2024-43402
		`C:\n\x.exe`: false, `C:\n\bat`: false, `C:\n.bat\x.com`: false, `C:\n\x.batch`: false, "": false,
	} {
		if isBatch(program) != want {
			t.Errorf("[E6] isBatch(%q) is not %v", program, want)
		}
	}
}

func TestBatchCommandLine(t *testing.T) {
	const start = `"C:\W\cmd.exe" /d /e:on /v:off /s /c "`
	for _, c := range []struct {
		name    string
		program string
		dir     string
		args    []string
		want    string
		err     string
	}{
		{name: "[E6] each argument in quotes", args: []string{"-y", "@scope/pkg", "C:\\a b", ""}, want: ` "-y" "@scope/pkg" "C:\a b" ""`},
		{name: "[E6] what quotes tame", args: []string{`a&calc`, `a|b<c>d^e(f)`, "a,b;c=d\u00a0e", "!x!", "'`~*?"},
			want: ` "a&calc" "a|b<c>d^e(f)" "a,b;c=d` + "\u00a0" + `e" "!x!" "'` + "`" + `~*?"`},
		{name: "[E6] backslashes at the end", args: []string{`C:\a\`, `\\`}, want: ` "C:\a\\" "\\\\"`},
		{name: "[E6] a quote", args: []string{"ok", `"&calc.exe`}, err: "argument 2 has a quotation mark"},
		{name: "[E6] a percent sign", args: []string{`%CMDCMDLINE:~-1%&calc`}, err: "argument 1 has a percent sign"},
		{name: "[E6] a line feed", args: []string{"SECRET\ncalc"}, err: "a line end"},
		{name: "[E6] a carriage return", args: []string{"SECRET\rcalc"}, err: "a line end"},
		{name: "[E6] a control character", args: []string{"SECRET\x1a"}, err: "a control character"},
		{name: "[E6] NUL", args: []string{"SECRET\x00"}, err: "a control character"},
		{name: "[E6] the program's own path", program: `C:\100%\x.cmd`, err: "path of the batch file has a percent sign"},
		{name: "[E6] a network share as directory", dir: `\\host\share`, err: "network share"},
		{name: "[E6] the longest line", args: []string{strings.Repeat("SECRET", 2000)}, err: "longer than the 8191"},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := c.program
			if program == "" {
				program = `C:\n\npx.cmd`
			}
			got, err := batchCommandLine(`C:\W\cmd.exe`, program, c.dir, c.args)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "calc") {
					t.Errorf("%q, %v, want the error %q without the argument", got, err, c.err)
				}
				return
			}
			if want := start + `"` + program + `"` + c.want + `"`; err != nil || got != want {
				t.Errorf("got  %s, %v\nwant %s", got, err, want)
			}
		})
	}
}
