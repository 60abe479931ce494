package strictjson

import (
	"iter"
	"strconv"
)

// Flaw is something inside a value that makes its owner unfit for use: a member
// that stands twice, or text with an unpaired surrogate.
type Flaw struct {
	Duplicate bool // a name that stands twice; otherwise an unpaired surrogate
	Offset    int
	Path      []string // below the value; valid until the next flaw
}

// Flaws yields the flaws inside the value, itself included, in document order.
// It makes no pointers: below long names they would cost far more than the walk.
func (v Value) Flaws() iter.Seq[Flaw] {
	return func(yield func(Flaw) bool) {
		if v.flawless() {
			return
		}
		w := flawWalker{yield: yield}
		w.walk(v)
	}
}

// flawless looks at all of the subtree at once: most documents have no flaw.
func (v Value) flawless() bool {
	if v.d == nil {
		return true
	}
	var all uint8
	for _, n := range v.d.nodes[v.i:v.node().next] {
		all |= n.flags
	}
	return all&(flagSurrogate|flagDuplicate) == 0
}

type flawWalker struct {
	path  []string
	yield func(Flaw) bool
}

// walk reports whether to go on.
func (w *flawWalker) walk(v Value) bool {
	switch v.Kind() {
	case String:
		return !v.Unpaired() || w.yield(Flaw{Offset: v.Offset(), Path: w.path})
	case Object:
		for m := range v.Members() {
			if !w.below(m.Name, m) {
				return false
			}
		}
	case Array:
		for i, e := range v.Elements() {
			if k := e.Kind(); k != Object && k != Array && k != String {
				continue
			}
			if !w.below(strconv.Itoa(i), Member{Value: e}) {
				return false
			}
		}
	}
	return true
}

func (w *flawWalker) below(token string, m Member) bool {
	w.path = append(w.path, token)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	return (!m.Duplicate || w.yield(Flaw{Duplicate: true, Offset: m.Offset, Path: w.path})) &&
		(!m.Unpaired || w.yield(Flaw{Offset: m.Offset, Path: w.path})) &&
		w.walk(m.Value)
}
