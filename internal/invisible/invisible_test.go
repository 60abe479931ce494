package invisible_test

import (
	"testing"
	"unicode"

	"github.com/plugberth/plugberth/internal/invisible"
	"github.com/plugberth/plugberth/internal/modeltext"
	"github.com/plugberth/plugberth/internal/printable"
)

func TestKind(t *testing.T) {
	for r, want := range map[rune]string{
		'a': "", ' ': "", '\n': "", '\t': "", 'é': "", '\u0301': "", '日': "", '🧭': "", '\u3000': "", '\u00a0': "", '\ufffd': "", '\ufffc': "", '\ue000': "", '\U0010ffff': "",
		0: "control character", 0x1b: "control character", 0x7f: "control character", 0x9b: "control character",
		0x202e: "bidirectional control", 0x2066: "bidirectional control", 0x200f: "direction mark",
		0x200b: "zero-width character", 0x200d: "zero-width character", 0xfeff: "zero-width character",
		0xe0041: "tag character", 0xe007f: "tag character", 0xfe00: "variation selector", 0xe0100: "variation selector", 0x180b: "variation selector",
		0x3164: "blank letter", 0x2800: "blank letter", 0xad: "invisible character", 0x2065: "invisible character", 0xfff0: "invisible character",
	} {
		if got := invisible.Kind(r); got != want {
			t.Errorf("%U: %q, want %q", r, got, want)
		}
	}
}

// Whatever the table holds is in sight neither of people nor of models, and the
// default ignorable characters of Unicode are in it. [S11]
func TestAllUseTheTable(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r <= 0xdfff {
			continue
		}
		hidden := invisible.Kind(r) != ""
		emoji := r == 0xfe0e || r == 0xfe0f // these two choose how a symbol looks
		if hidden && !emoji && printable.Escape(string(r)) == string(r) {
			t.Errorf("%U is shown to people as it is", r)
		}
		if hidden && modeltext.Clean("a"+string(r)) != "a" {
			t.Errorf("%U is shown to models", r)
		}
		if !hidden && unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			t.Errorf("%U is ignored by default and not in the table", r)
		}
	}
}
