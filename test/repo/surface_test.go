package repo_test

import (
	"go/ast"
	"go/token"
	"strings"
)

// exported is an exported identifier of the program and what is written of it.
type exported struct {
	source
	node   ast.Node
	name   string // of a field with its type in front: Usage.Input
	text   string // its comment, or that of its group or struct
	shared bool   // the comment is about others too
	field  bool
	enum   bool          // one of the values of a type
	fun    *ast.FuncDecl // of functions and methods
	typ    ast.Expr      // of the others: the type, or the value where none is written
}

// surface lists the exported functions, methods of exported types, types with
// their fields, constants and variables of the program.
func surface(in []source) []exported {
	var all []exported
	for _, s := range in {
		if s.test || isTool(s.pkg) {
			continue
		}
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedRecv(d) && !wellKnown(d) {
					all = append(all, exported{source: s, node: d, name: d.Name.Name, text: d.Doc.Text(), fun: d})
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						all = append(all, surfaceOfType(s, d, spec)...)
					case *ast.ValueSpec:
						all = append(all, surfaceOfValues(s, d, spec)...)
					}
				}
			}
		}
	}
	return all
}

func surfaceOfType(s source, d *ast.GenDecl, spec *ast.TypeSpec) []exported {
	if !spec.Name.IsExported() {
		return nil
	}
	text := spec.Doc.Text()
	if text == "" {
		text = d.Doc.Text()
	}
	all := []exported{{source: s, node: spec, name: spec.Name.Name, text: text, typ: spec.Type}}
	if it, ok := spec.Type.(*ast.InterfaceType); ok {
		return append(all, surfaceOfMethods(s, it)...)
	}
	st, ok := spec.Type.(*ast.StructType)
	if !ok {
		return all
	}
	for _, f := range st.Fields.List {
		own := f.Doc.Text() + f.Comment.Text()
		if f.Tag != nil && strings.Contains(f.Tag.Value, ` doc:"`) {
			own = f.Tag.Value // what the user reads, and the bounds
		}
		e := exported{source: s, text: own, field: true, typ: f.Type}
		if own == "" {
			e.text, e.shared = text, true
		}
		for _, n := range f.Names {
			if n.IsExported() {
				e.node, e.name = n, spec.Name.Name+"."+n.Name
				all = append(all, e)
			}
		}
	}
	return all
}

// surfaceOfMethods are what an interface asks of those who carry it out.
func surfaceOfMethods(s source, it *ast.InterfaceType) []exported {
	var all []exported
	for _, f := range it.Methods.List {
		typ, ok := f.Type.(*ast.FuncType)
		if !ok || !f.Names[0].IsExported() {
			continue
		}
		d := &ast.FuncDecl{Recv: &ast.FieldList{}, Name: f.Names[0], Type: typ}
		if !wellKnown(d) {
			all = append(all, exported{source: s, node: f.Names[0], name: d.Name.Name, text: f.Doc.Text(), fun: d})
		}
	}
	return all
}

// surfaceOfValues are the names of one line. A comment above stands for one name,
// one behind it or above its group for any.
func surfaceOfValues(s source, d *ast.GenDecl, spec *ast.ValueSpec) []exported {
	e := exported{source: s, text: spec.Doc.Text() + spec.Comment.Text(), typ: spec.Type, enum: enumerates(d)}
	if e.text == "" {
		e.text = d.Doc.Text()
	}
	e.shared = d.Lparen != token.NoPos && spec.Doc == nil
	var all []exported
	for i, n := range spec.Names {
		if !n.IsExported() {
			continue
		}
		if e.node, e.name = n, n.Name; spec.Type == nil && i < len(spec.Values) {
			e.typ = spec.Values[i]
		}
		all = append(all, e)
	}
	return all
}

// enumerates reports whether d is a group of constants of a type of its own.
func enumerates(d *ast.GenDecl) bool {
	first, ok := d.Specs[0].(*ast.ValueSpec)
	return ok && d.Tok == token.CONST && d.Lparen != token.NoPos && first.Type != nil
}

// exportedRecv reports whether d is a function or a method of an exported type.
func exportedRecv(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	id := rootOf(d.Recv.List[0].Type)
	return id != nil && id.IsExported()
}

// wellKnown methods carry out an interface whose documentation is theirs.
func wellKnown(d *ast.FuncDecl) bool {
	switch d.Name.Name {
	case "Error", "Unwrap", "Is", "As", "String", "MarshalJSON", "UnmarshalJSON", "UnmarshalYAML", "UnmarshalText",
		"ServeHTTP", "RoundTrip", "Len", "Less", "Swap", "LogValue":
		return d.Recv != nil
	}
	return false
}
