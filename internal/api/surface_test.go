package api

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
)

// An identifier is one exported identifier.
type identifier struct {
	key        string // such as "channel.Limits.Rate"; a method ends in "()"
	decl       string // on one line
	obj        types.Object
	documented bool
	pos        token.Position
}

// surface returns the exported identifiers of the public packages, sorted by
// their keys.
func (m *module) surface() []identifier {
	var out []identifier
	for _, s := range m.list((*source).public) {
		c := collector{m: m, s: s}
		for _, f := range inOrder(s.files) {
			for _, d := range f.Decls {
				c.declaration(d)
			}
		}
		out = append(out, c.out...)
	}
	slices.SortFunc(out, func(a, b identifier) int { return strings.Compare(a.key, b.key) })
	return out
}

// A collector gathers the identifiers of one package.
type collector struct {
	m   *module
	s   *source
	out []identifier
}

func (c *collector) add(name string, id *ast.Ident, decl string, documented bool) {
	c.out = append(c.out, identifier{
		key: strings.TrimPrefix(c.s.rel+".", "/") + name, decl: decl, obj: c.s.info.Defs[id],
		documented: documented, pos: c.m.fset.Position(id.Pos()),
	})
}

func (c *collector) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		c.function(d)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				// The comment of a group is about each of its constants or variables.
				doc := has(d.Doc) || has(spec.Doc) || has(spec.Comment)
				for _, id := range spec.Names {
					if id.IsExported() {
						c.add(id.Name, id, c.value(c.s.info.Defs[id]), doc)
					}
				}
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					doc := spec.Doc
					if doc == nil && !d.Lparen.IsValid() {
						doc = d.Doc
					}
					c.typeSpec(spec, doc)
				}
			}
		}
	}
}

func (c *collector) function(d *ast.FuncDecl) {
	sig := c.s.info.Defs[d.Name].Type().(*types.Signature)
	switch {
	case !d.Name.IsExported():
	case d.Recv == nil:
		c.add(d.Name.Name, d.Name, c.typeString(sig), has(d.Doc))
	default:
		recv := sig.Recv().Type()
		if named := namedOf(recv); named.Obj().Exported() {
			c.add(named.Obj().Name()+"."+d.Name.Name+"()", d.Name, fmt.Sprintf("(%s) %s", c.typeString(recv), c.typeString(sig)), has(d.Doc))
		}
	}
}

func (c *collector) value(obj types.Object) string {
	if k, ok := obj.(*types.Const); ok {
		return fmt.Sprintf("const %s = %s", c.typeString(k.Type()), k.Val().ExactString())
	}
	return "var " + c.typeString(obj.Type())
}

func (c *collector) typeSpec(spec *ast.TypeSpec, doc *ast.CommentGroup) {
	name, documented := spec.Name.Name, has(doc)
	obj := c.s.info.Defs[spec.Name]
	if spec.Assign.IsValid() {
		c.add(name, spec.Name, "type = "+c.typeString(types.Unalias(obj.Type())), documented)
		return
	}
	decl := "type "
	if params := namedOf(obj.Type()).TypeParams(); params.Len() > 0 {
		var list []string
		for p := range params.TypeParams() {
			list = append(list, p.Obj().Name()+" "+c.typeString(p.Constraint()))
		}
		decl = "type[" + strings.Join(list, ", ") + "] "
	}
	switch expr := spec.Type.(type) {
	case *ast.StructType:
		hidden := slices.ContainsFunc(expr.Fields.List, func(f *ast.Field) bool {
			return slices.ContainsFunc(fieldNames(f), func(id *ast.Ident) bool { return !id.IsExported() })
		})
		decl += "struct"
		if hidden {
			decl += ", with unexported fields"
		}
		c.add(name, spec.Name, decl, documented)
		c.fields(name, expr, doc)
	case *ast.InterfaceType:
		decl += "interface"
		for embedded := range obj.Type().Underlying().(*types.Interface).EmbeddedTypes() {
			decl += ", with " + c.typeString(embedded)
		}
		c.add(name, spec.Name, decl, documented)
		c.methods(name, expr, documented)
	default:
		c.add(name, spec.Name, decl+c.typeString(obj.Type().Underlying()), documented)
	}
}

// fields adds the exported fields of a struct. A comment above a field is also
// about those on the lines right below, up to a blank line or the next such
// comment. A field may be documented by the struct, which then names it, or by
// its type, where that is called so, such as Kind of type ChangeKind.
func (c *collector) fields(of string, expr *ast.StructType, doc *ast.CommentGroup) {
	t := c.s.info.Types[expr].Type.(*types.Struct)
	at, above, last := 0, false, 0
	for _, f := range expr.Fields.List {
		above = has(f.Doc) || above && c.m.fset.Position(f.Pos()).Line == last+1
		last = c.m.fset.Position(f.End()).Line
		for _, id := range fieldNames(f) {
			v, tag := t.Field(at), t.Tag(at)
			at++
			if !id.IsExported() {
				continue
			}
			kind := "field "
			if v.Embedded() {
				kind = "embedded "
			}
			if tag != "" {
				tag = " `" + tag + "`"
			}
			c.add(of+"."+id.Name, id, kind+c.typeString(v.Type())+tag,
				above || has(f.Comment) || doc != nil && names(doc.Text(), id.Name) || c.namedAsType(v))
			c.out[len(c.out)-1].obj = v // an embedded field has no definition
		}
	}
}

// names reports whether a text has a word.
func names(text, word string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), word)
}

// namedAsType reports whether a field is called as its type, of this module.
func (c *collector) namedAsType(v *types.Var) bool {
	named := namedOf(v.Type())
	return named != nil && strings.HasSuffix(named.Obj().Name(), v.Name()) && named.Obj().Pkg() != nil && c.m.owns(named.Obj().Pkg().Path())
}

// methods adds those of an interface. That of an interface with a single one
// may be documented by the interface.
func (c *collector) methods(of string, expr *ast.InterfaceType, documented bool) {
	for _, f := range expr.Methods.List {
		for _, id := range f.Names {
			if id.IsExported() {
				c.add(of+"."+id.Name+"()", id, "method "+c.typeString(c.s.info.Defs[id].Type()),
					has(f.Doc) || has(f.Comment) || documented && len(expr.Methods.List) == 1)
			}
		}
	}
}

// typeString writes a type as the package itself would.
func (c *collector) typeString(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == c.s.types {
			return ""
		}
		return p.Name()
	})
}

func has(doc *ast.CommentGroup) bool { return doc != nil && strings.TrimSpace(doc.Text()) != "" }

// fieldNames returns the names of a field; that of an embedded one is its type's.
func fieldNames(f *ast.Field) []*ast.Ident {
	if len(f.Names) > 0 {
		return f.Names
	}
	for expr := f.Type; ; {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.SelectorExpr:
			return []*ast.Ident{e.Sel}
		case *ast.Ident:
			return []*ast.Ident{e}
		default:
			return nil
		}
	}
}

// namedOf returns the named type that t is or points to, or nil.
func namedOf(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, _ := t.(*types.Named)
	return named
}

// line is how api.txt has the identifier.
func (id identifier) line() string { return id.key + "  " + id.decl }

// changes returns the lines that were removed and added, in order, marked as in
// a diff. Both lists are sorted.
func changes(before, after []string) []string {
	var out []string
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0] < after[0]:
			out, before = append(out, "- "+before[0]), before[1:]
		case len(before) == 0 || after[0] < before[0]:
			out, after = append(out, "+ "+after[0]), after[1:]
		default:
			before, after = before[1:], after[1:]
		}
	}
	return out
}
