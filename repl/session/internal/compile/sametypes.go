package compile

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// A function or method that is declared again with the same type only gets new code. Its dependents are
// not declared again: types keep their identity, variables their storage, and values in interfaces their
// type.

// findSameTypes notes the user's functions and methods whose type is the same as before.
func (c *Compiler) findSameTypes(st *world.Stage, user []*declared) {
	declares := declaredTypes(user)
	before := map[*declared]*world.Decl{}
	for _, d := range user {
		if old := st.FunctionBefore(d.Decl); old != nil && !declares[d.Recv] {
			before[d] = old
		}
	}
	if len(before) == 0 {
		return
	}
	at := user[0].node.Pos()
	file := &ast.File{Package: at, Name: &ast.Ident{Name: world.PkgPath, NamePos: at}, FileStart: at, FileEnd: at}
	names := map[*declared][2]string{}
	for _, d := range user {
		f, ok := d.node.(*ast.FuncDecl)
		if !ok {
			file.Decls = append(file.Decls, d.node)
			continue
		}
		if d.Recv != "" {
			f = c.asFunction(st, d.Decl, f)
		}
		if f == nil || before[d] == nil {
			continue
		}
		was := c.oldHead(st, before[d])
		if was == nil {
			continue
		}
		head := *f
		head.Body = nil // bodies may be wrong, which is reported later
		names[d] = [2]string{f.Name.Name, was.Name.Name}
		file.Decls = append(file.Decls, &head, was)
	}
	facts := c.check(st, []*ast.File{file})
	for d, name := range names {
		now, was := facts.Pkg.Scope().Lookup(name[0]), facts.Pkg.Scope().Lookup(name[1])
		if e := st.Lookup(name[0]); d.Recv == "" {
			was = e.Obj
		}
		d.code = now != nil && was != nil && types.Identical(was.Type(), now.Type())
	}
}

// oldHead returns an earlier declaration of a function or method, as a function without a body, under
// another name.
func (c *Compiler) oldHead(st *world.Stage, d *world.Decl) *ast.FuncDecl {
	file, err := c.parse(d.Cell, d.Line, d.Col, "package "+world.PkgPath+";", d.Src, "\n")
	if err != nil {
		return nil
	}
	f := file.Decls[0].(*ast.FuncDecl)
	if d.Recv != "" {
		if f = c.asFunction(st, d, f); f == nil {
			return nil
		}
	}
	f.Body, f.Name = nil, &ast.Ident{Name: "·" + f.Name.Name, NamePos: f.Name.NamePos}
	return f
}

// declaredTypes returns the names of the types among declarations.
func declaredTypes(list []*declared) map[string]bool {
	names := map[string]bool{}
	for _, d := range list {
		if d.Tok == token.TYPE {
			names[d.Names[0]] = true
		}
	}
	return names
}

// placeMethod makes the checker see a method as a function if its type is not declared with it.
func (c *Compiler) placeMethod(st *world.Stage, d *declared, types map[string]bool) {
	if d.method != nil {
		d.node, d.method = d.method, nil
	}
	if d.Recv == "" || types[d.Recv] {
		return
	}
	method := d.node.(*ast.FuncDecl)
	if f := c.asFunction(st, d.Decl, method); f != nil {
		d.method, d.node = method, f
	}
}

// asFunction writes a method as a function whose first parameter is the receiver. Its name is not possible
// in cells. It returns nil if the method cannot be written so.
func (c *Compiler) asFunction(st *world.Stage, d *world.Decl, method *ast.FuncDecl) *ast.FuncDecl {
	nameBlanks(method)
	params, ok := c.typeParams(st, d, method)
	if !ok {
		return nil
	}
	ft := *method.Type
	list := *ft.Params
	list.List = append([]*ast.Field{method.Recv.List[0]}, list.List...)
	ft.Params, ft.TypeParams = &list, params
	f := *method
	f.Recv, f.Type = nil, &ft
	f.Name = &ast.Ident{Name: d.Recv + "·" + d.Name, NamePos: method.Name.NamePos}
	return &f
}

// typeParams declares the type parameters of a method's receiver with the constraints of its type. A
// constraint that mentions a parameter for which the method has another name is left out.
func (c *Compiler) typeParams(st *world.Stage, d *world.Decl, method *ast.FuncDecl) (list *ast.FieldList, ok bool) {
	names := world.ReceiverParams(method)
	if len(names) == 0 {
		return nil, true
	}
	e := st.Lookup(d.Recv)
	if e == nil || e.Decl == nil {
		return nil, false
	}
	file, err := c.parse(e.Decl.Cell, e.Decl.Line, e.Decl.Col, "package "+world.PkgPath+";", e.Decl.Src, "\n")
	if err != nil {
		return nil, false
	}
	spec := file.Decls[0].(*ast.GenDecl).Specs[0].(*ast.TypeSpec)
	if spec.TypeParams == nil {
		return nil, false
	}
	list = &ast.FieldList{Opening: method.Pos(), Closing: method.Pos()}
	i := 0
	for _, field := range spec.TypeParams.List {
		for _, name := range field.Names {
			if i == len(names) {
				return nil, false
			}
			if name.Name != names[i].Name && mentionsName(spec.TypeParams, name.Name) {
				return nil, false
			}
			list.List = append(list.List, &ast.Field{Names: []*ast.Ident{names[i]}, Type: field.Type})
			i++
		}
	}
	return list, i == len(names)
}

// mentionsName says whether the constraints of type parameters mention a name.
func mentionsName(list *ast.FieldList, name string) bool {
	return slices.ContainsFunc(list.List, func(field *ast.Field) bool {
		return walk.Any(field.Type, func(id *ast.Ident) bool { return id.Name == name })
	})
}
