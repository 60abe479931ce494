// Package filename judges the names of files that are written for others: which
// of them stand for one file somewhere, and which a system cannot hold.
package filename

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/plugberth/plugberth/internal/modeltext"
	"github.com/plugberth/plugberth/internal/windows"
)

// Key returns the same text for names, or slash-separated paths, that differ
// only in letter case or Unicode form: on many file systems they are one file.
func Key(name string) string {
	if isPlain(name) {
		return name
	}
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(name)))
}

func isPlain(name string) bool {
	for i := range len(name) {
		if c := name[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return true
}

// Flaw says why one component of a path should not be written on this system,
// or "": a name that is not UTF-8, or has characters that are not seen, and on
// Windows what it takes for something else, or cannot hold.
func Flaw(name string, onWindows bool) string {
	var prev rune
	for _, r := range name {
		if modeltext.Hidden(r, prev) || unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return "its name has a character that is not seen"
		}
		prev = r
	}
	switch {
	case !utf8.ValidString(name):
		return "its name is not UTF-8"
	case !onWindows:
		return ""
	case strings.ContainsAny(name, `<>:"|?*\`):
		return "its name has a character that Windows does not allow"
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return "its name ends in a period or blank, which Windows drops"
	case windows.IsDevice(name):
		return "its name is that of a device on Windows"
	}
	return ""
}
