package mcpclient

import (
	"errors"
	"strings"
	"testing"
)

func TestSearch(t *testing.T) {
	broken := errors.New("is broken")
	for _, c := range []struct {
		name    string
		windows bool
		path    string
		pathExt string
		files   string // separated by blanks; one that ends in ! cannot be started
		command string
		want    string
		err     string
	}{
		{name: "[E5] the first directory that has it", path: "/a:/b:/c", files: "/b/x /c/x", command: "x", want: "/b/x"},
		{name: "[E5] one that cannot be started is passed over", path: "/a:/b", files: "/a/x! /b/x", command: "x", want: "/b/x"},
		{name: "[E5] and named where it is the only one", path: "/a:/b", files: "/a/x!", command: "x", err: "is broken"},
		{name: "[E5] empty and relative entries are not searched", path: ":.:./bin:bin:../bin::/b", files: "x ./x ./bin/x bin/x ../bin/x /x /b/x", command: "x", want: "/b/x"},
		{name: "[E5] only empty and relative entries", path: ":.:", files: "x ./x /x", command: "x", err: "in no directory of PATH"},
		{name: "[E5] no PATH", files: "x /x", command: "x", err: "has no PATH"},
		{name: "not there", path: "/a", command: "x", err: "install it"},
		{name: "a slash at the end of an entry", path: "/a/:/", files: "/x", command: "x", want: "/x"},
		{name: "no program name", path: "/a", files: "/a/../x /a/a/b /a/.", command: "../x", err: "no program name"},
		{name: "a dot", path: "/a", files: "/a/.", command: ".", err: "no program name"},
		{name: "a backslash is a character of a name on Unix", path: "/a", files: `/a/x\y`, command: `x\y`, want: `/a/x\y`},
		{name: "extensions are nothing on Unix", path: "/a", pathExt: ".sh", files: "/a/x.sh", command: "x", err: "in no directory"},

		{name: "[E5] PATHEXT in its order", windows: true, path: `C:\a;C:\b`, pathExt: ".COM;.EXE;.BAT;.CMD;.VBS", files: `C:\a\x.cmd C:\a\x.exe`, command: "x", want: `C:\a\x.exe`},
		{name: "[E5] the directories' order counts more", windows: true, path: `C:\a;C:\b`, pathExt: ".EXE;.CMD", files: `C:\a\x.cmd C:\b\x.exe`, command: "x", want: `C:\a\x.cmd`},
		{name: "[E5] npx beside npx.cmd is no program", windows: true, path: `C:\n`, pathExt: ".EXE;.CMD", files: `C:\n\npx C:\n\npx.cmd C:\n\npx.ps1`, command: "npx", want: `C:\n\npx.cmd`},
		{name: "[E5] a name with its extension", windows: true, path: `C:\a`, pathExt: ".EXE;.CMD", files: `C:\a\x.exe C:\a\x.exe.exe`, command: "x.EXE", want: `C:\a\x.EXE`},
		{name: "documents are no programs", windows: true, path: `C:\a;C:\b`, pathExt: ".VBS;.JS;.EXE", files: `C:\a\x.vbs C:\a\x.js C:\b\x.exe`, command: "x", want: `C:\b\x.exe`},
		{name: "no PATHEXT", windows: true, path: `C:\a`, files: `C:\a\x.bat`, command: "x", want: `C:\a\x.bat`},
		{name: "[E5] relative entries on Windows", windows: true, path: `;.;bin;C:;C:bin;\bin;\\;"";C:\ok`, files: `\x.exe .\x.exe bin\x.exe C:\x.exe C:bin\x.exe \bin\x.exe C:\ok\x.exe`, command: "x", want: `C:\ok\x.exe`},
		{name: "quotes", windows: true, path: `"C:\a;b";"C:\c"`, files: `C:\a;b\x.exe C:\c\x.exe`, command: "x", want: `C:\a;b\x.exe`},
		{name: "a share", windows: true, path: `\\host\share`, files: `\\host\share\x.exe`, command: "x", want: `\\host\share\x.exe`},
		{name: "a slash at the end of an entry on Windows", windows: true, path: `C:/a/`, files: `C:/a\x.exe`, command: "x", want: `C:/a\x.exe`},
		{name: "no program name on Windows", windows: true, path: `C:\a`, command: `..\x`, err: "no program name"},
		{name: "a drive", windows: true, path: `C:\a`, command: `D:x`, err: "no program name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			there := map[string]error{}
			for f := range strings.FieldsSeq(c.files) {
				f, bad := strings.CutSuffix(f, "!")
				if there[f] = nil; bad {
					there[f] = broken
				}
			}
			s := search{c.windows, c.path, c.pathExt, func(p string) error {
				key := p
				if c.windows {
					for f := range there {
						if strings.EqualFold(f, p) {
							key = f
						}
					}
				}
				if err, ok := there[key]; ok {
					return err
				}
				return &missing{"not there"}
			}}
			got, err := s.find(c.command)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%q, %v, want the error %q", got, err, c.err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
}
