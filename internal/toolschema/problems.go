package toolschema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/plugberth/plugberth/internal/printable"
)

// maxProblems bounds how many problems an error names.
const maxProblems = 10

// Problem is one fault of a value. It never quotes the value.
type Problem struct {
	Pointer string // JSON pointer of the value at fault, "" for the whole
	Message string // what is wrong with it, to follow the pointer

	place, rule string // both without names that whoever wrote the value chose; rule is "" where Message has none
}

// InvalidError says why a value does not fit its schema.
type InvalidError struct {
	Problems []Problem // never empty, in the order of their pointers
	More     int       // how many were left off
}

// Error lists the problems.
func (e *InvalidError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		if p.Pointer == "" {
			b.WriteString("the value")
		} else {
			b.WriteString(printable.Quote(p.Pointer))
		}
		b.WriteByte(' ')
		b.WriteString(p.Message)
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

// ForLog is what Error says without the names that whoever wrote the value chose:
// of members, only those that the schema declares are named, and "*" stands for
// others.
func (e *InvalidError) ForLog() string {
	out := InvalidError{Problems: slices.Clone(e.Problems), More: e.More}
	for i, p := range out.Problems {
		if p.rule != "" {
			out.Problems[i] = Problem{Pointer: p.place, Message: p.rule}
		}
	}
	return out.Error()
}

// invalid is the error for what the validator says of v, of whose members declared
// names those that the schema knows.
func invalid(err error, v any, declared map[string]bool) error {
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return ErrNoValidator
	}
	var problems []Problem
	collect(ve, &problems, v, declared)
	// The validator goes through objects in no order.
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Message, b.Message))
	})
	problems = slices.Compact(problems)
	out := &InvalidError{Problems: problems}
	if n := len(problems); n > maxProblems {
		out.Problems, out.More = problems[:maxProblems], n-maxProblems
	}
	return out
}

// collect keeps the faults that an author can act on: the leaves, and of a
// choice only that none of it fits.
func collect(ve *jsonschema.ValidationError, out *[]Problem, v any, declared map[string]bool) {
	if len(*out) >= 1000 {
		return
	}
	switch ve.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains, *kind.PropertyNames:
	default:
		if len(ve.Causes) > 0 {
			for _, c := range ve.Causes {
				collect(c, out, v, declared)
			}
			return
		}
	}
	var p strings.Builder
	for _, token := range ve.InstanceLocation {
		p.WriteByte('/')
		p.WriteString(escapePointer(token))
	}
	*out = append(*out, Problem{
		Pointer: p.String(), Message: describe(ve.ErrorKind),
		place: place(ve.InstanceLocation, v, declared), rule: rule(ve.ErrorKind),
	})
}

// place is a pointer into v in which only declared names stand.
func place(tokens []string, v any, declared map[string]bool) string {
	var p strings.Builder
	for _, token := range tokens {
		var next any
		shown := declared[token]
		switch v := v.(type) {
		case []any:
			shown = true
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v) {
				next = v[i]
			}
		case map[string]any:
			next = v[token]
		}
		v = next
		if !shown {
			token = "*"
		}
		p.WriteByte('/')
		p.WriteString(escapePointer(token))
	}
	return p.String()
}

// rule is describe without names of the value.
func rule(k jsonschema.ErrorKind) string {
	switch k.(type) {
	case *kind.AdditionalProperties:
		return "has members that are not known"
	case *kind.PropertyNames:
		return "has a member whose name is not allowed"
	}
	return describe(k)
}

// describe says what is wrong in words that do not hold the value.
func describe(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		want := slices.Sorted(slices.Values(k.Want))
		for i := range want {
			want[i] = article(want[i])
		}
		return "is " + article(k.Got) + " and has to be " + strings.Join(want, " or ")
	case *kind.Required:
		return "lacks " + names(k.Missing)
	case *kind.DependentRequired:
		return "lacks " + names(k.Missing)
	case *kind.Dependency:
		return "lacks " + names(k.Missing)
	case *kind.AdditionalProperties:
		return "has members that are not known: " + names(k.Properties)
	case *kind.Enum:
		return "is none of the values that are allowed"
	case *kind.Const:
		return "is not the value that is asked for"
	case *kind.MinLength:
		return fmt.Sprintf("has %d characters and needs %d or more", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %d characters and may have %d", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %d items and needs %d or more", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d items and may have %d", k.Got, k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("has %d members and needs %d or more", k.Got, k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d members and may have %d", k.Got, k.Want)
	case *kind.Minimum:
		return "is too small"
	case *kind.ExclusiveMinimum:
		return "is too small"
	case *kind.Maximum:
		return "is too large"
	case *kind.ExclusiveMaximum:
		return "is too large"
	case *kind.MultipleOf:
		return "is not a multiple of what is asked for"
	case *kind.Pattern:
		return "does not match the pattern that is asked for"
	case *kind.UniqueItems:
		return fmt.Sprintf("has the same item at %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.PropertyNames:
		return "has a member whose name is not allowed: " + names([]string{k.Property})
	case *kind.AnyOf:
		return "fits none of the forms that are allowed"
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return "fits more than one of the forms of which it has to fit one"
		}
		return "fits none of the forms that are allowed"
	case *kind.Format:
		if k.Want == "regex" {
			return "is no regular expression that can be used"
		}
		return "is not of the format " + printable.Quote(k.Want)
	case *kind.FalseSchema:
		return "is not allowed"
	}
	return "does not fit the schema"
}

func article(s string) string {
	switch {
	case s == "null":
		return s
	case strings.HasPrefix(s, "a"), strings.HasPrefix(s, "o"), strings.HasPrefix(s, "i"):
		return "an " + s
	}
	return "a " + s
}

func names(list []string) string {
	list = slices.Sorted(slices.Values(list))
	more := ""
	if len(list) > maxProblems {
		more = fmt.Sprintf(" and %d more", len(list)-maxProblems)
		list = list[:maxProblems]
	}
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = printable.Quote(s)
	}
	return strings.Join(quoted, ", ") + more
}
