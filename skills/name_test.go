package skills_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/skills"
)

// [S3]
func TestCheckName(t *testing.T) {
	good := []string{
		"a", "7", "a1", "1a", "pdf-processing", "a-b-c-d", "0-0",
		strings.Repeat("a", 64),
		strings.Repeat("a-", 31) + "aa",
	}
	for _, name := range good {
		if err := skills.CheckName(name); err != nil {
			t.Errorf("CheckName(%q) = %v, want nil", name, err)
		}
	}
	bad := []struct{ name, reason string }{
		{"", "empty"},
		{"-", "hyphen"},
		{"-a", "begins or ends"},
		{"a-", "begins or ends"},
		{"a--b", "two hyphens"},
		{"a---b", "two hyphens"},
		{strings.Repeat("a", 65), "longer than 64"},
		{strings.Repeat("a-", 32) + "a", "longer than 64"},
		{"PDF", "upper-case"},
		{"pDf", "upper-case"},
		{"a b", "other than"},
		{" a", "other than"},
		{"a\n", "other than"},
		{"a\x00", "other than"},
		{"a.b", "other than"},
		{"a_b", "other than"},
		{"a/b", "other than"},
		{`a\b`, "other than"},
		{"..", "other than"},
		{"über", "other than"},
		{"技能", "other than"},
		{"\u0430bc", "other than"},       // CYRILLIC SMALL LETTER A
		{"a\u2010b", "other than"},       // HYPHEN
		{"a\u2011b", "other than"},       // NON-BREAKING HYPHEN
		{"a\u00adb", "other than"},       // SOFT HYPHEN
		{"\uff41bc", "other than"},       // FULLWIDTH LATIN SMALL LETTER A
		{"\u0661", "other than"},         // ARABIC-INDIC DIGIT ONE
		{"\u212aey", "other than"},       // KELVIN SIGN
		{"e\u0301", "other than"},        // a combining mark
		{"a\u200bb", "other than"},       // ZERO WIDTH SPACE
		{"a\U000e0061b", "other than"},   // TAG LATIN SMALL LETTER A
		{"a\xffb", "other than"},         // not UTF-8
		{"A\xff", "upper-case"},          // the first fault counts
		{strings.Repeat("é", 33), "a-z"}, // not its 66 bytes
	}
	for _, tt := range bad {
		err := skills.CheckName(tt.name)
		if !errors.Is(err, skills.ErrName) {
			t.Errorf("CheckName(%q) = %v, want an ErrName", tt.name, err)
		} else if !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("CheckName(%q) = %q, want the reason %q", tt.name, err, tt.reason)
		}
	}
}
