package plugin

import "github.com/plugberth/plugberth/internal/strictjson"

// maxFaults bounds how many values are shown to a schema that can only find
// fault with them, and how many findings a document gives.
const maxFaults = 5_000

// budget counts such values. Where an allowed document has text, anything else
// is at fault; texts cost nothing. One budget serves values whose faults cost
// the same: then the first that is shown decides, and what is over the budget
// makes no difference to the verdict.
type budget struct {
	left int
	cut  *bool // something was kept from the schema
}

func (b *budget) take() bool {
	if b.left <= 0 {
		*b.cut = true
		return false
	}
	b.left--
	return true
}

// instance returns a value as the schema validator takes it, with no more
// members and elements that are no text than the budget allows. Of duplicate
// members the first counts.
func (b *budget) instance(v strictjson.Value) any {
	switch v.Kind() {
	case strictjson.Object:
		m := map[string]any{}
		for e := range v.Members() {
			if !e.Duplicate && (e.Value.Kind() == strictjson.String || b.take()) {
				m[e.Name] = b.instance(e.Value)
			}
		}
		return m
	case strictjson.Array:
		// Elements keep their places, so the first that is left out ends them.
		n, others := 0, 0
		for _, e := range v.Elements() {
			if e.Kind() != strictjson.String {
				if others++; others > b.left {
					break
				}
			}
			n++
		}
		a := make([]any, 0, n)
		for _, e := range v.Elements() {
			if e.Kind() != strictjson.String && !b.take() {
				break
			}
			a = append(a, b.instance(e))
		}
		return a
	}
	return v.Any()
}

// entry is instance for a server entry: with the budget spent, it still shows
// enough to find the entry's first fault.
func (b *budget) entry(v strictjson.Value) any {
	own := budget{left: max(b.left, fewFaults), cut: b.cut}
	before := own.left
	out := own.instance(v)
	b.left -= before - own.left
	return out
}

// fewFaults is what an entry may show in any case: its valid members that are no
// text, args and env, and a fault in each.
const fewFaults = 8
