package plugin

import (
	"iter"
	"strconv"

	"github.com/plugberth/plugberth/internal/strictjson"
)

// flaw is a member that stands twice, or text with an unpaired surrogate,
// inside a value.
type flaw struct {
	duplicate bool
	offset    int
	path      []string // below the value; changes with the next flaw
}

// flaws yields the flaws inside v, itself included, in document order. It
// makes no pointers: below long names they would cost far more than the walk.
func flaws(v strictjson.Value) iter.Seq[flaw] {
	return func(yield func(flaw) bool) {
		w := flawWalker{yield: yield}
		w.walk(v)
	}
}

type flawWalker struct {
	path  []string
	yield func(flaw) bool
}

// walk reports whether to go on.
func (w *flawWalker) walk(v strictjson.Value) bool {
	switch v.Kind() {
	case strictjson.String:
		return !v.Unpaired() || w.yield(flaw{false, v.Offset(), w.path})
	case strictjson.Object:
		for m := range v.Members() {
			if !w.below(m.Name, m) {
				return false
			}
		}
	case strictjson.Array:
		for i, e := range v.Elements() {
			if k := e.Kind(); k != strictjson.Object && k != strictjson.Array && k != strictjson.String {
				continue
			}
			if !w.below(strconv.Itoa(i), strictjson.Member{Value: e}) {
				return false
			}
		}
	}
	return true
}

func (w *flawWalker) below(token string, m strictjson.Member) bool {
	w.path = append(w.path, token)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	return (!m.Duplicate || w.yield(flaw{true, m.Offset, w.path})) &&
		(!m.Unpaired || w.yield(flaw{false, m.Offset, w.path})) &&
		w.walk(m.Value)
}
