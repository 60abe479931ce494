package textpos

import "testing"

func TestPosition(t *testing.T) {
	src := "\uFEFFab\r\ncdé記x\n\nz"
	at := func(s string) int {
		for i := range src {
			if src[i:i+len(s)] == s {
				return i
			}
		}
		t.Fatalf("no %q", s)
		return 0
	}
	m := New([]byte(src))
	for _, tc := range []struct {
		off, line, col int
	}{
		{0, 1, 1}, {3, 1, 1}, {4, 1, 2}, {at("\n"), 1, 4}, {at("c"), 2, 1}, {at("記"), 2, 4}, {at("x"), 2, 5},
		{len(src) - 1, 4, 1}, {len(src), 4, 2}, {len(src) + 9, 4, 2}, {at("記"), 2, 4}, {-3, 1, 1},
	} {
		if line, col := m.Position(tc.off); line != tc.line || col != tc.col {
			t.Errorf("Position(%d) = %d:%d, want %d:%d", tc.off, line, col, tc.line, tc.col)
		}
	}
}

func TestFirstInvalid(t *testing.T) {
	for in, want := range map[string]int{
		"": -1, "plain é記🧭\ufffd": -1, "\xff": 0, "é\x80": 2, "ab\xc3": 2, "\xed\xa0\x80": 0, "ok\xf0\x9f\x98": 2,
	} {
		if got := FirstInvalid([]byte(in)); got != want {
			t.Errorf("FirstInvalid(%q) = %d, want %d", in, got, want)
		}
	}
}
