package program

import (
	"strings"
	"testing"
)

func TestNative(t *testing.T) {
	for head, want := range map[string]string{
		"": "", "MZ": "", "#!/bin/sh": "", "\x7fEL": "", "\x89PNG\r\n\x1a\n": "", "PK\x03\x04": "",
		"\x7fELF": "ELF", "\xcf\xfa\xed\xfe": "Mach-O", "\xfe\xed\xfa\xce\x00": "Mach-O", "\xca\xfe\xba\xbf\x00\x00\x00\x02": "Mach-O",
		"\xca\xfe\xba\xbe\x00\x00\x00\x02": "Mach-O", "\xca\xfe\xba\xbe\x00\x00\x00\x3d": "Java class", "\x00asm\x01": "WebAssembly",
		"MZ" + strings.Repeat("\x00", 58) + "\x40\x00\x00\x00PE\x00\x00": "PE",
		"MZ" + strings.Repeat("\x00", 58) + "\x40\x00\x00\x00NE\x00\x00": "DOS",
		"MZ" + strings.Repeat("\xff", 70):                                "PE", // its header is further on
	} {
		if got := Native([]byte(head)); got != want {
			t.Errorf("%q: %q, want %q", head, got, want)
		}
	}
}

func TestIsScript(t *testing.T) {
	for head, want := range map[string]bool{"#!/bin/sh": true, "\ufeff#!x": true, "#!": true, "#": false, "": false, " #!x": false, "\n#!x": false} {
		if got := IsScript([]byte(head)); got != want {
			t.Errorf("%q: %v", head, got)
		}
	}
}

func TestByName(t *testing.T) {
	for name, want := range map[string]Name{
		"a.sh": {"shell script", true}, "x/A.EXE": {"Windows program", true}, "a.b.Jse": {"Windows script", true}, "a.py": {"Python script", false},
		"a.md": {}, "sh": {}, "": {}, "a.sh/b": {}, "a.": {},
	} {
		if got, ok := ByName(name); got != want || ok != (want != Name{}) {
			t.Errorf("%q: %v, %v", name, got, ok)
		}
	}
}
