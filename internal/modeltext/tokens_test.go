package modeltext

import (
	"strings"
	"testing"
)

func TestTokens(t *testing.T) { // [S11]
	for in, want := range map[string]int{
		"":                        0,
		"a":                       1,
		"aaaa":                    1,
		strings.Repeat("a", 60):   14,
		strings.Repeat("7", 60):   24,
		strings.Repeat("{", 60):   36,
		strings.Repeat(" ", 60):   3,
		strings.Repeat("\n", 60):  30,
		strings.Repeat("é", 60):   40,
		strings.Repeat("ж", 60):   24,
		strings.Repeat("技", 60):   60,
		strings.Repeat("ก", 60):   40,
		strings.Repeat("🚀", 60):   75,
		"Reviews a change.":       4,
		strings.Repeat("\xff", 4): 5,
	} {
		if got := Tokens(in); got != want {
			t.Errorf("Tokens(%.10q, %d bytes) = %d, want %d", in, len(in), got, want)
		}
	}
}
