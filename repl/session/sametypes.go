package session

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
)

// A function or method that is declared again with the type that it had only gets new code. So nothing that
// has its type from it is declared again: types keep their identity, variables their place, and values in
// interfaces their type.

// findSameTypes notes which functions and methods of the user's have the type that they had.
func (s *Session) findSameTypes(st *stage, user []*declared) {
	declares := declaredTypes(user)
	before := map[*declared]*decl{}
	for _, d := range user {
		if old := st.functionBefore(d.decl); old != nil && !declares[d.recv] {
			before[d] = old
		}
	}
	if len(before) == 0 {
		return
	}
	at := user[0].node.Pos()
	file := &ast.File{Package: at, Name: &ast.Ident{Name: pkgPath, NamePos: at}, FileStart: at, FileEnd: at}
	names := map[*declared][2]string{}
	for _, d := range user {
		f, ok := d.node.(*ast.FuncDecl)
		if !ok {
			file.Decls = append(file.Decls, d.node)
			continue
		}
		if d.recv != "" {
			f = s.asFunction(st, d.decl, f)
		}
		if f == nil || before[d] == nil {
			continue
		}
		was := s.oldHead(st, before[d])
		if was == nil {
			continue
		}
		head := *f
		head.Body = nil // bodies may be wrong, which is said later
		names[d] = [2]string{f.Name.Name, was.Name.Name}
		file.Decls = append(file.Decls, &head, was)
	}
	c := s.check(st, []*ast.File{file})
	for d, name := range names {
		now, was := c.pkg.Scope().Lookup(name[0]), c.pkg.Scope().Lookup(name[1])
		if e := st.lookup(name[0]); d.recv == "" {
			was = e.obj
		}
		d.code = now != nil && was != nil && types.Identical(was.Type(), now.Type())
	}
}

// oldHead is an earlier declaration of a function or method, as a function without its body, under a name of
// its own.
func (s *Session) oldHead(st *stage, d *decl) *ast.FuncDecl {
	file, err := s.parse(d.cell, d.line, d.col, "package "+pkgPath+";", d.src, "\n")
	if err != nil {
		return nil
	}
	f := file.Decls[0].(*ast.FuncDecl)
	if d.recv != "" {
		if f = s.asFunction(st, d, f); f == nil {
			return nil
		}
	}
	f.Body, f.Name = nil, &ast.Ident{Name: "·" + f.Name.Name, NamePos: f.Name.NamePos}
	return f
}

// declaredTypes are the types among declarations.
func declaredTypes(list []*declared) map[string]bool {
	names := map[string]bool{}
	for _, d := range list {
		if d.tok == token.TYPE {
			names[d.names[0]] = true
		}
	}
	return names
}

// placeMethod has a method checked as a function if its type is not declared with it.
func (s *Session) placeMethod(st *stage, d *declared, types map[string]bool) {
	if d.method != nil {
		d.node, d.method = d.method, nil
	}
	if d.recv == "" || types[d.recv] {
		return
	}
	method := d.node.(*ast.FuncDecl)
	if f := s.asFunction(st, d.decl, method); f != nil {
		d.method, d.node = method, f
	}
}

// asFunction is a method as a function whose first parameter is the receiver, under a name that no cell can
// have; nil where that cannot be written.
func (s *Session) asFunction(st *stage, d *decl, method *ast.FuncDecl) *ast.FuncDecl {
	nameBlanks(method)
	params, ok := s.typeParams(st, d, method)
	if !ok {
		return nil
	}
	ft := *method.Type
	list := *ft.Params
	list.List = append([]*ast.Field{method.Recv.List[0]}, list.List...)
	ft.Params, ft.TypeParams = &list, params
	f := *method
	f.Recv, f.Type = nil, &ft
	f.Name = &ast.Ident{Name: d.recv + "·" + d.name, NamePos: method.Name.NamePos}
	return &f
}

// typeParams declares the type parameters of a method's receiver as those of its type are declared.
// Constraints that mention parameters which the method calls otherwise are not written.
func (s *Session) typeParams(st *stage, d *decl, method *ast.FuncDecl) (list *ast.FieldList, ok bool) {
	names := receiverParams(method)
	if len(names) == 0 {
		return nil, true
	}
	e := st.lookup(d.recv)
	if e == nil || e.decl == nil {
		return nil, false
	}
	file, err := s.parse(e.decl.cell, e.decl.line, e.decl.col, "package "+pkgPath+";", e.decl.src, "\n")
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
func mentionsName(list *ast.FieldList, name string) (found bool) {
	for _, field := range list.List {
		ast.Inspect(field.Type, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && id.Name == name
			return !found
		})
	}
	return found
}

// signatureUses are the names of the session that a function's signature mentions.
func signatureUses(info *types.Info, f *ast.FuncDecl) map[string]bool {
	names, _ := uses(info, f.Type)
	if f.Recv != nil {
		more, _ := uses(info, f.Recv)
		maps.Copy(names, more)
	}
	return names
}
