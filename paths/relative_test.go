package paths

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// relativeTexts says of each text whether it is a plugin-relative path on
// Unix and on Windows [P1] [P3].
var relativeTexts = []struct {
	text          string
	unix, windows bool
}{
	// legal everywhere
	{"./", true, true},
	{"./a", true, true},
	{"./a/b", true, true},
	{"./a/../b", true, true},
	{"./../b", true, true}, // an escape, which Resolve finds
	{"./..data/x", true, true},
	{"./...data", true, true},
	{"./.hidden", true, true},
	{"./.", true, true},
	{"./..", true, true},
	{"././a", true, true},
	{".//a", true, true},
	{"./a/", true, true},
	{"./bin/my tool", true, true},
	{"./ leading", true, true},
	{"./a.b.c", true, true},
	{"./a\nb", true, true},
	{"./\u202e", true, true},
	{"./ü/日本", true, true},
	{"./~", true, true},
	{"./$HOME/${PLUGIN_ROOT}", true, true},

	// no plugin-relative path anywhere
	{"", false, false},
	{".", false, false},
	{"..", false, false},
	{"a", false, false},
	{"../a", false, false},
	{"/a", false, false},
	{"//a", false, false},
	{"~/a", false, false},
	{" ./a", false, false},
	{"\ufeff./a", false, false},
	{".\\a", false, false},
	{"C:\\a", false, false},
	{"C:a", false, false},
	{"\\\\server\\share", false, false},
	{"${PLUGIN_ROOT}/a", false, false},
	{"./\x00", false, false},
	{"./a\x00b", false, false},
	{"./a/\x00", false, false},

	// not UTF-8: a name like another on Unix
	{"./a\xffb", true, true},

	// a backslash is an ordinary character on Unix, a separator on Windows
	{"./a\\b", true, true},
	{"./..\\..\\b", true, true}, // an escape, which Resolve finds
	{"./a\\NUL", true, false},
	{"./a\\b.", true, false},
	{"./C:\\a", true, false},

	// streams and drive-relative names
	{"./a:stream", true, false},
	{"./a::$DATA", true, false},
	{"./C:a", true, false},
	{"./C:", true, false},
	{"./:", true, false},
	{"./dir:x/file", true, false},

	// what Windows drops
	{"./a.", true, false},
	{"./a..", true, false},
	{"./a ", true, false},
	{"./a. .", true, false},
	{"./a./b", true, false},
	{"./a /b", true, false},
	{"./...", true, false},
	{"./.. /x", true, false},
	{"./. ", true, false},
	{"./ ", true, false},

	// devices
	{"./CON", true, false},
	{"./con", true, false},
	{"./PrN", true, false},
	{"./AUX", true, false},
	{"./NUL", true, false},
	{"./nul.txt", true, false},
	{"./nul.tar.gz", true, false},
	{"./NUL .txt", true, false},
	{"./NUL  .a.b", true, false},
	{"./CONIN$", true, false},
	{"./conout$.log", true, false},
	{"./COM0", true, false},
	{"./COM1", true, false},
	{"./com9.x", true, false},
	{"./LPT1", true, false},
	{"./lpt0.x", true, false},
	{"./COM\u00b9", true, false},
	{"./COM\u00b2.txt", true, false},
	{"./lpt\u00b3", true, false},
	{"./a/aux/b", true, false},
	{"./AUX/b", true, false},
	{"./aux.d/b", true, false},

	// not devices
	{"./CON1", true, true},
	{"./CONSOLE", true, true},
	{"./COM", true, true},
	{"./COM10", true, true},
	{"./COMX", true, true},
	{"./COM\u2074", true, true},
	{"./LPT", true, true},
	{"./xNUL", true, true},
	{"./NULL", true, true},
	{"./x.NUL", true, true},
	{"./.NUL", true, true},
	{"./ NUL", true, true},
	{"./CONIN", true, true},
	{"./_aux", true, true},
}

// [P1] [P3] [Q2] The rules of Windows are judged on every system.
func TestCheckRelative(t *testing.T) {
	for _, tt := range relativeTexts {
		for _, windows := range []bool{false, true} {
			want := tt.unix
			if windows {
				want = tt.windows
			}
			err := checkRelative(tt.text, windows)
			if (err == nil) != want {
				t.Errorf("checkRelative(%q, windows=%t) = %v, want ok %t", tt.text, windows, err, want)
			}
			if err == nil {
				continue
			}
			if !errors.Is(err, ErrForm) {
				t.Errorf("checkRelative(%q, windows=%t) = %v, which is no ErrForm", tt.text, windows, err)
			}
			// The text may be a secret's neighbor: it is not quoted.
			if rest := strings.TrimPrefix(tt.text, "./"); len(rest) > 3 && strings.Contains(err.Error(), rest) {
				t.Errorf("checkRelative(%q) quotes the path: %v", tt.text, err)
			}
		}
		want := tt.unix
		if runtime.GOOS == "windows" {
			want = tt.windows
		}
		if err := CheckRelative(tt.text); (err == nil) != want {
			t.Errorf("CheckRelative(%q) = %v, want ok %t", tt.text, err, want)
		}
	}
}
