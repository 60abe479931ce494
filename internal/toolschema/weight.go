package toolschema

import "regexp/syntax"

// What a subschema costs is not always the same: a list of values is gone
// through for each value that is judged, and a regular expression of a few
// characters, (a?){1000}, can be thousands of steps for each byte of a text and
// megabytes once it is compiled.

const (
	// maxRegexpSteps bounds the steps of all regular expressions of a schema.
	maxRegexpSteps = 20_000
	// scanBudget bounds the steps that are applied to the bytes of one value.
	scanBudget = 100_000_000

	// What one value of a list costs, measured in applied subschemas.
	enumWeight = 4
	nameWeight = 4
)

// weightOf returns how many subschemas' worth of work a subschema's own lists
// are, and how many steps its regular expressions.
func weightOf(schema map[string]any) (work, steps int) {
	for key, v := range schema {
		switch key {
		case "enum", "const":
			n, _ := size(v, 0)
			work += enumWeight * n
		case "required":
			n, _ := size(v, 0)
			work += nameWeight * n
		case "dependentRequired", "dependencies":
			members, _ := v.(map[string]any)
			for _, m := range members {
				if list, ok := m.([]any); ok {
					work += nameWeight * len(list)
				}
			}
		case "pattern":
			if s, ok := v.(string); ok {
				steps = min(steps+stepsOf(s), maxRegexpSteps+1)
			}
		case "patternProperties":
			members, _ := v.(map[string]any)
			for s := range members {
				steps = min(steps+stepsOf(s), maxRegexpSteps+1)
			}
		}
	}
	return work, steps
}

// stepsOf counts the instructions that a regular expression has once its
// repetitions are written out, about and at most maxRegexpSteps+1. One that Go does
// not have counts nothing: it is never compiled.
func stepsOf(pattern string) int {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return steps(re)
}

func steps(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		n = min(n+steps(sub), maxRegexpSteps+1)
	}
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpRepeat:
		n = (n + 1) * max(re.Min, re.Max, 1)
	}
	return min(max(n, 1), maxRegexpSteps+1)
}

// textBytes counts the bytes of all texts in a value, names included.
func textBytes(v any) int {
	n := 0
	switch v := v.(type) {
	case string:
		n = len(v)
	case []any:
		for _, c := range v {
			n += textBytes(c)
		}
	case map[string]any:
		for name, c := range v {
			n += len(name) + textBytes(c)
		}
	}
	return n
}
