package api

import (
	"fmt"
	"go/types"
)

// unnameable returns the identifiers whose declaration needs a type that users
// cannot name: one that is not exported, or of an internal package.
func (m *module) unnameable(all []identifier) []string {
	var out []string
	for _, id := range all {
		t := id.obj.Type()
		if tn, ok := id.obj.(*types.TypeName); ok {
			t = tn.Type().Underlying()
			if s, ok := t.(*types.Struct); ok {
				if f := m.promotes(s); f != nil {
					out = append(out, fmt.Sprintf("%s: %s has exported members by way of %s, which users cannot name", id.pos, id.key, f.Name()))
				}
				continue // its exported fields are identifiers of their own
			}
			if _, ok := t.(*types.Interface); ok {
				continue // and so are its methods
			}
		}
		if hidden := m.hidden(t); hidden != nil {
			out = append(out, fmt.Sprintf("%s: %s needs %s, which users cannot name", id.pos, id.key, hidden.Obj().Name()))
		}
	}
	return out
}

// hidden returns a type that users cannot name in a type that they meet.
func (m *module) hidden(t types.Type) *types.Named {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if pkg := t.Obj().Pkg(); pkg != nil && m.owns(pkg.Path()) && (!t.Obj().Exported() || !m.pkgs[pkg.Path()].public()) {
			return t
		}
		for arg := range t.TypeArgs().Types() {
			if n := m.hidden(arg); n != nil {
				return n
			}
		}
	case *types.Map:
		if n := m.hidden(t.Key()); n != nil {
			return n
		}
		return m.hidden(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		return m.hidden(t.Elem())
	case *types.Signature:
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range tuple.Variables() {
				if n := m.hidden(v.Type()); n != nil {
					return n
				}
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			if n := m.hidden(f.Type()); n != nil && f.Exported() {
				return n
			}
		}
	case *types.Interface:
		for f := range t.ExplicitMethods() {
			if n := m.hidden(f.Type()); n != nil {
				return n
			}
		}
	}
	return nil
}

// promotes returns an embedded field whose type users cannot name, though it
// has exported methods or fields.
func (m *module) promotes(s *types.Struct) *types.Var {
	for f := range s.Fields() {
		if !f.Embedded() || m.hidden(f.Type()) == nil {
			continue
		}
		set := types.NewMethodSet(types.NewPointer(f.Type()))
		for sel := range set.Methods() {
			if sel.Obj().Exported() {
				return f
			}
		}
		if inner, ok := namedOf(f.Type()).Underlying().(*types.Struct); ok {
			for g := range inner.Fields() {
				if g.Exported() {
					return f
				}
			}
		}
	}
	return nil
}
