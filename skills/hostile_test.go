package skills_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// fillTo repeats unit between head and tail up to the frontmatter's limit.
func fillTo(head, unit, tail string) string {
	const limit = hostileSize - 16
	return head + strings.Repeat(unit, (limit-len(head)-len(tail))/len(unit)) + tail
}

// number repeats a unit with a running number in it.
func number(head, unit, tail string) string {
	const limit = hostileSize - 16
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < limit-len(unit)-len(tail)-8; i++ {
		fmt.Fprintf(&b, unit, i)
	}
	return b.String() + tail
}

// hostileFronts are shapes that cost much in one reader or another.
func hostileFronts() map[string]string {
	const spaced = 50
	return map[string]string{
		"flow list, open":             fillTo(plain+"k: [", "a,", ""),
		"flow list":                   fillTo(plain+"k: [", "a,", "]"),
		"flow list of mappings":       fillTo(plain+"k: [", "{},", "]"),
		"flow list of pairs":          fillTo(plain+"k: [", "a: b,", "]"),
		"flow list of quotes":         fillTo(plain+"k: [", "'a',", "]"),
		"flow list with comments":     fillTo(plain+"k: [\n", "a, #\n", "]"),
		"flow list over lines":        fillTo(plain+"k: [", "a\n,", "]"),
		"deep lists":                  fillTo(plain+"k: ", "[", ""),
		"deep lists, closed":          plain + "k: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"deep lists with items":       fillTo(plain+"k: ", "[a,", ""),
		"deep mappings":               fillTo(plain+"k: ", "{a: ", ""),
		"deep mappings of ?":          fillTo(plain+"k: ", "{? ", ""),
		"deep items":                  fillTo(plain+"k:\n ", "- ", ""),
		"deep ?":                      fillTo(plain+"k:\n ", "? ", ""),
		"deep lists side by side":     fillTo(plain+"k: [", strings.Repeat("[", 90)+strings.Repeat("]", 90)+",", "]"),
		"? keys":                      number(plain, "? %d\n", ""),
		"long key":                    fillTo(plain, "a", ": b"),
		"long quoted key":             fillTo(plain+"'", "a", "': b"),
		"long ? key":                  fillTo(plain+"? ", "a", "\n: b"),
		"long plain text":             fillTo(plain+"k: ", "abc ", ""),
		"long plain text of colons":   fillTo(plain+"k: ", "a: ", ""),
		"long plain text of lines":    fillTo(plain+"k: a\n", " a\n", ""),
		"long digits":                 fillTo(plain+"k: ", "1", ""),
		"long description":            fillTo("name: x\ndescription: ", "1_", ""),
		"long quoted text":            fillTo(plain+"k: \"", "a ", "\""),
		"long quoted text, open":      fillTo(plain+"k: \"", "a ", ""),
		"long escapes":                fillTo(plain+"k: \"", "\\n", "\""),
		"long block":                  fillTo(plain+"k: |\n", " a\n", ""),
		"long folded block":           fillTo(plain+"k: >\n", " a\n\n", ""),
		"long block of blank lines":   fillTo(plain+"k: |\n", "\n", " a"),
		"comments":                    fillTo(plain, "#\n", ""),
		"comments first":              fillTo("", "#\n", plain),
		"comments far in":             fillTo(plain+"k:\n", strings.Repeat(" ", spaced)+"#\n", "  a: b\n"),
		"comments between items":      fillTo(plain+"k:\n", " # b\n - a #c\n\n", ""),
		"blank lines":                 fillTo(plain+"k:\n", "\n", "  a: b\n"),
		"carriage returns":            fillTo(plain+"k:\n", "\r", "  a: b\n"),
		"line separators":             fillTo(plain+"k: a", "\u2028 b", ""),
		"anchors":                     number(plain+"k:\n", " - &a%d b\n", ""),
		"one anchor again and again":  fillTo(plain+"k:\n", " - &a b\n", ""),
		"aliases":                     fillTo(plain+"k: [&a b, ", "*a,", "]"),
		"unknown aliases":             fillTo(plain+"k: [", "'*a',", "*a]"),
		"alias bomb":                  plain + bomb(400),
		"keys":                        number(plain, "k%x:\n", ""),
		"keys on one line":            number("{name: x, description: d, ", "k%x: ,", "}"),
		"keys in one key":             number(plain+"k: {", "k%x: ,", "}"),
		"keys that are lists":         fillTo("{name: x, description: d, ", "[]: ,", "}"),
		"metadata of numbers":         number("{name: x, description: d, metadata: {", "%d: 1,", "}}"),
		"one key again and again":     fillTo(plain, "a:\n", ""),
		"tags":                        fillTo(plain+"k:\n", " - !!str a\n", ""),
		"long tag":                    fillTo(plain+"k: !", "a", " b\n"),
		"stray lines":                 fillTo(plain, "abc\n", ""),
		"directives":                  fillTo("", "%FOO a\n", plain),
		"small and broken at the end": plain + "k: [" + strings.Repeat("a,", 4000) + "]\nl: 'it's'",
	}
}

// [L5] [S8] No frontmatter within the limit costs much time or memory, to judge
// or to decode. Measured: 60 ms and 16 MiB for the worst, 300 ms to
// decode one; the bounds leave room for slow machines and the race detector.
func TestHostileFrontmatters(t *testing.T) {
	const bound, kept, allocated = 5 * time.Second, 12 << 20, 64 << 20
	for name, front := range hostileFronts() {
		t.Run(name, func(t *testing.T) {
			var before, after, later runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := time.Now()
			s, list, err := skills.Parse("x", []byte(md(front)), skills.Options{})
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if s != nil {
				var v any
				_ = s.Decode("k", &v) // whether it can be decoded is of no interest
			} else if len(list) == 0 {
				t.Error("skipped without a finding")
			}
			took := time.Since(start)
			runtime.GC()
			runtime.ReadMemStats(&later)
			if took > bound {
				t.Errorf("took %v", took)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > allocated {
				t.Errorf("%d bytes were allocated", n)
			}
			if n := int64(later.HeapAlloc) - int64(before.HeapAlloc); n > kept {
				t.Errorf("%d bytes are kept", n)
			}
			t.Logf("%v, %d KiB allocated, %d KiB kept, %d findings", took, (after.TotalAlloc-before.TotalAlloc)>>10,
				(int64(later.HeapAlloc)-int64(before.HeapAlloc))>>10, len(list))
			runtime.KeepAlive(s)
			runtime.KeepAlive(list)
		})
	}
}

// [L5] [S2] A file of garbage is refused as quickly.
func TestHostileFiles(t *testing.T) {
	const size = 1 << 20
	for name, file := range map[string]string{
		"NUL":             strings.Repeat("\x00", size),
		"not UTF-8":       "---\n" + strings.Repeat("\xff", size-4),
		"line ends":       strings.Repeat("\n", size),
		"unclosed":        "---\n" + strings.Repeat("--\n", (size-4)/3),
		"hyphens":         strings.Repeat("-", size),
		"blanks":          "---" + strings.Repeat(" ", size-3),
		"body not UTF-8":  md(plain) + strings.Repeat("\x80", size-len(md(plain))),
		"body of bounds":  md(plain) + strings.Repeat("---\n", (size-len(md(plain)))/4),
		"late byte":       md(plain) + strings.Repeat("é", (size-len(md(plain)))/2-1) + "\xff",
		"only separators": "---\n" + strings.Repeat("\u2028", (size-4)/3),
	} {
		start := time.Now()
		s, list, err := skills.Parse("x", []byte(file), skills.Options{})
		if want := strings.HasPrefix(file, md(plain)); err != nil || (s != nil) != want || len(list) > 1 || !want && len(list) == 0 {
			t.Errorf("%s: skill %v, findings %v, %v", name, s != nil, list, err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

// [L5] To find where each of many faults stands in one long line is quick, and
// not all of them are kept. Measured: 60 ms; looking for each from the line's
// start took 3 s.
func TestManyFindingsOnOneLine(t *testing.T) {
	front := number("{name: x, description: d, ", "k%x: ,", "}")
	start := time.Now()
	s, list, err := skills.Parse("x", []byte(md(front)), skills.Options{})
	if err != nil || s == nil || len(list) != 101 || list[100].Code != finding.FindingsOmitted {
		t.Fatal(s != nil, len(list), err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}
