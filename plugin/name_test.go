package plugin_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin"
)

// [M3]
func TestCheckName(t *testing.T) {
	for _, name := range []string{
		"a", "0", "my-plugin", "acme.tools", "lint3r", "1.0.0", "a-b-c", "a.b.c", "a-.b", "a.-b", "a.-.b", "0-0", strings.Repeat("a", 63), strings.Repeat("a", 64), "a" + strings.Repeat("-b", 31) + "c", "con", "nul",
	} {
		if err := plugin.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, c := range []struct{ name, why string }{
		{"", "empty"}, {strings.Repeat("a", 65), "64"}, {strings.Repeat("a", 100_000), "64"},
		{"My Plugin-", "it has upper-case letters; it has characters other than a-z, 0-9, hyphen and period; it begins or ends with a hyphen or period"},
		{"A--b..c" + strings.Repeat("d", 64), "upper-case letters; it is longer than 64 characters; it has two hyphens in a row; it has two periods in a row"}, {"My-Plugin", "upper-case"}, {"A", "upper-case"}, {"aB", "upper-case"},
		{"-start", "begins or ends"}, {"end-", "begins or ends"}, {".start", "begins or ends"}, {"end.", "begins or ends"}, {"-", "begins or ends"}, {".", "begins or ends"}, {"..", "begins or ends"}, {"--", "begins or ends"},
		{"has--double", "hyphens"}, {"a---b", "hyphens"}, {"too.many..dots", "periods"}, {"a...b", "periods"},
		{"a b", "other than"}, {" a", "other than"}, {"a ", "other than"}, {"a_b", "other than"}, {"a/b", "other than"}, {`a\b`, "other than"}, {"a:b", "other than"}, {"@a/b", "other than"}, {"a+b", "other than"}, {"a\n", "other than"}, {"a\x00", "other than"}, {"../x", "other than"},
		{"é", "other than"}, {"日本", "other than"}, {"а", "other than"} /* Cyrillic */, {"ａ", "other than"}, {"\u212a", "other than"}, {"a\u200bb", "other than"}, {"a\u2010b", "other than"}, {"a\u2024b", "other than"}, {"a\u0301", "other than"},
		{"١", "other than"}, {"²", "other than"}, {"ß", "other than"}, {"\u202ea", "other than"}, {"\uFEFFa", "other than"}, {"a\xff", "other than"}, {"\xff", "other than"}, {"😀", "other than"}, {strings.Repeat("é", 64), "other than"},
	} {
		err := plugin.CheckName(c.name)
		if !errors.Is(err, plugin.ErrName) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%.80q: %v, want %q", c.name, err, c.why)
		}
	}
}
