package toolschema

import (
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// numberWork is how many subschemas take as long as one comparison of
	// numbers: the validator makes exact ones of both, from text.
	numberWork = 25
	// maxPatterns bounds the instructions of all patterns of a schema. A
	// repetition counts for as many times as it repeats: .{1,500} has a thousand.
	maxPatterns = 20_000
	// bytesWork is how many instructions are tried on one byte in the time of
	// one subschema.
	bytesWork = 40
)

// workOf is what one subschema costs by itself.
func workOf(s map[string]any) int {
	work := 1
	for _, key := range []string{"enum", "const"} {
		if v, ok := s[key]; ok {
			work = addWork(work, comparing(v))
		}
	}
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if _, ok := s[key]; ok {
			work += numberWork
		}
	}
	switch t := s["type"].(type) {
	case string:
		if t == "integer" {
			work += numberWork
		}
	case []any:
		for _, t := range t {
			if t == "integer" {
				work += numberWork
			}
		}
	}
	return work
}

// comparing is what it costs to compare with a value of the schema.
func comparing(v any) int {
	work := 1
	switch v := v.(type) {
	case float64:
		return numberWork
	case []any:
		for _, c := range v {
			work = addWork(work, comparing(c))
		}
	case map[string]any:
		for _, c := range v {
			work = addWork(work, comparing(c))
		}
	}
	return work
}

// textOf is how many instructions the patterns of one subschema have.
func textOf(s map[string]any) (n int) {
	if p, ok := s["pattern"].(string); ok {
		n = addWork(n, instructions(p))
	}
	if properties, ok := s["patternProperties"].(map[string]any); ok {
		for p := range properties {
			n = addWork(n, instructions(p))
		}
	}
	return n
}

// instructions bounds the size of a regular expression's program. One that is none
// has none: the validator refuses it.
func instructions(pattern string) int {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return programSize(re)
}

func programSize(re *syntax.Regexp) int {
	size := 1
	switch re.Op {
	case syntax.OpLiteral:
		size = len(re.Rune)
	case syntax.OpCharClass:
		size = 1 + len(re.Rune)/16
	}
	for _, sub := range re.Sub {
		size = addWork(size, programSize(sub))
	}
	if re.Op == syntax.OpRepeat {
		times := max(re.Max, re.Min+1)
		if size > 1<<30/times {
			return 1 << 30
		}
		size *= times
	}
	return size
}

// compileRegexp is the validator's regular expressions within their bound, those
// of values too, of which a format says that they are some.
func compileRegexp(pattern string) (jsonschema.Regexp, error) {
	if instructions(pattern) > maxPatterns {
		return nil, ErrTooLarge
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return (*goRegexp)(re), nil
}

type goRegexp regexp.Regexp

// MatchString implements [jsonschema.Regexp].
func (re *goRegexp) MatchString(s string) bool { return (*regexp.Regexp)(re).MatchString(s) }

// String implements [jsonschema.Regexp].
func (re *goRegexp) String() string { return (*regexp.Regexp)(re).String() }
