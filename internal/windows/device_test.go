package windows

import "testing"

func TestIsDevice(t *testing.T) {
	for name, want := range map[string]bool{
		"con": true, "Con.md": true, "aux.tar.gz": true, "NUL .txt": true, "nul  ": true, "prn": true, "com1": true, "LPT\u00b2.x": true, "com0": true, "conin$": true, "CONOUT$.a": true,
		"": false, "console": false, "com": false, "com10": false, "com\u2074": false, "company.md": false, "auxiliary": false, "a.con": false, "lpt": false, " con": false, ".con": false,
	} {
		if got := IsDevice(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
