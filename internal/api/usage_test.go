package api

import (
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/token"
	"go/types"
	"slices"
)

// A usage is what the examples use.
type usage struct {
	named map[types.Object]bool // in the text of an example
	met   map[types.Object]bool // not named: the type of a value that an example has, or a method that it implements
}

func (u usage) has(obj types.Object) bool { return u.named[obj] || u.met[obj] }

// used returns what the examples use: the programs below examples without their
// tests, and the Example functions with what they call of their test package.
func (m *module) used() (usage, error) {
	u := usage{named: map[types.Object]bool{}, met: map[types.Object]bool{}}
	for _, s := range m.list((*source).example) {
		pkg, err := m.Import(s.path)
		if err != nil {
			return u, err
		}
		m.record(u, pkg, s.info)
	}
	for _, s := range m.list((*source).public) {
		if len(exampleNames(s.inner)) > 0 {
			return u, fmt.Errorf("%s: an Example function stands outside of the package %s_test, where a reader sees no import", s.rel, s.name)
		}
		pkg, info, err := m.examples(s)
		if err != nil {
			return u, err
		}
		m.record(u, pkg, info)
	}
	return u, nil
}

// exampleNames returns the names of the Example functions in test files.
func exampleNames(files map[string]*ast.File) []string {
	var out []string
	for _, ex := range doc.Examples(inOrder(files)...) {
		out = append(out, "Example"+ex.Name)
	}
	return out
}

// examples checks the Example functions of a package, and what they need of the
// other declarations beside them. The rest of the tests is left out: it imports
// more, and takes longer than all else here.
func (m *module) examples(s *source) (*types.Package, *types.Info, error) {
	declares := map[string][]ast.Decl{} // by name; the methods of a type among them
	for _, f := range s.tests {
		for _, d := range f.Decls {
			for _, name := range declared(d) {
				declares[name] = append(declares[name], d)
			}
		}
	}
	wanted := map[ast.Decl]bool{}
	seen := map[string]bool{}
	names := exampleNames(s.tests)
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, d := range declares[name] {
			wanted[d] = true
			ast.Inspect(d, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && declares[id.Name] != nil {
					names = append(names, id.Name)
				}
				return true
			})
		}
	}
	var files []*ast.File
	for _, f := range inOrder(s.tests) {
		part := *f
		part.Decls = slices.DeleteFunc(slices.Clone(f.Decls), func(d ast.Decl) bool {
			g, ok := d.(*ast.GenDecl)
			return !wanted[d] && !(ok && g.Tok == token.IMPORT)
		})
		if slices.ContainsFunc(part.Decls, func(d ast.Decl) bool { return wanted[d] }) {
			files = append(files, &part)
		}
	}
	var errs []error
	conf := types.Config{Importer: m, Error: func(err error) {
		// Soft ones are imports that only the rest of the file uses.
		if e := (types.Error{}); !errors.As(err, &e) || !e.Soft {
			errs = append(errs, err)
		}
	}}
	info := newInfo()
	pkg, _ := conf.Check(s.path+"_test", m.fset, files, info)
	return pkg, info, errors.Join(errs...)
}

// declared returns the names by which a declaration is reached.
func declared(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		for _, id := range fieldNames(&ast.Field{Type: d.Recv.List[0].Type}) {
			return []string{id.Name}
		}
	case *ast.GenDecl:
		var out []string
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				out = append(out, spec.Name.Name)
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					out = append(out, id.Name)
				}
			}
		}
		return out
	}
	return nil
}

// record adds what a checked package uses.
func (m *module) record(u usage, pkg *types.Package, info *types.Info) {
	for _, obj := range info.Uses {
		u.named[origin(obj)] = true
		m.meet(u, obj.Type())
	}
	for _, sel := range info.Selections {
		// The embedded fields on the way are used too.
		t := sel.Recv()
		for _, i := range sel.Index()[:len(sel.Index())-1] {
			named := namedOf(t)
			if named == nil {
				break
			}
			f := named.Underlying().(*types.Struct).Field(i)
			u.named[f.Origin()] = true
			t = f.Type()
		}
	}
	for _, tv := range info.Types {
		m.meet(u, tv.Type)
	}
	for _, obj := range info.Defs {
		if obj == nil {
			continue
		}
		m.meet(u, obj.Type())
		if tn, ok := obj.(*types.TypeName); ok && obj.Pkg() == pkg {
			m.implement(u, tn)
		}
	}
}

// meet adds the type of a value.
func (m *module) meet(u usage, t types.Type) {
	if t == nil {
		return
	}
	if named := namedOf(t); named != nil {
		u.met[named.Obj()] = true
	}
}

// implement adds the methods of the module's interfaces that a type of an
// example has.
func (m *module) implement(u usage, tn *types.TypeName) {
	if _, ok := tn.Type().Underlying().(*types.Interface); ok {
		return
	}
	for _, s := range m.list((*source).public) {
		for _, name := range s.types.Scope().Names() {
			iface, ok := s.types.Scope().Lookup(name).Type().Underlying().(*types.Interface)
			if !ok || iface.NumMethods() == 0 || !types.Implements(types.NewPointer(tn.Type()), iface) {
				continue
			}
			u.met[s.types.Scope().Lookup(name)] = true
			for method := range iface.Methods() {
				u.met[method] = true
			}
		}
	}
}

// origin returns the declared object of one that may be instantiated.
func origin(obj types.Object) types.Object {
	switch obj := obj.(type) {
	case *types.Func:
		return obj.Origin()
	case *types.Var:
		return obj.Origin()
	}
	return obj
}

// wellKnown are methods that are called through an interface of the standard
// library, and that no example has to call.
var wellKnown = []string{
	"Error", "Is", "As", "Unwrap", "String", "GoString", "Format", "LogValue",
	"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "ServeHTTP", "Len", "Less", "Swap",
}

// obvious returns the methods whose use goes without saying: the well known
// ones, and that of an interface and of the function type that implements it.
func (m *module) obvious(all []identifier) map[types.Object]bool {
	out := map[types.Object]bool{}
	for _, id := range all {
		f, ok := id.obj.(*types.Func)
		if !ok || f.Signature().Recv() == nil {
			continue
		}
		if slices.Contains(wellKnown, f.Name()) {
			out[f] = true
			continue
		}
		named := namedOf(f.Signature().Recv().Type())
		if _, ok := named.Underlying().(*types.Signature); !ok {
			continue
		}
		scope := f.Pkg().Scope()
		for _, name := range scope.Names() {
			iface, ok := scope.Lookup(name).Type().Underlying().(*types.Interface)
			if !ok || !types.Implements(named, iface) {
				continue
			}
			for method := range iface.Methods() {
				if method.Name() == f.Name() {
					out[f], out[method] = true, true
				}
			}
		}
	}
	return out
}
