package world

import "go/ast"

// DeclaredBy returns the names that a declaration adds to the package scope.
func DeclaredBy(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

// Receiver returns the name of a method's type.
func Receiver(f *ast.FuncDecl) string {
	t := ast.Unparen(f.Recv.List[0].Type)
	if p, ok := t.(*ast.StarExpr); ok {
		t = ast.Unparen(p.X)
	}
	switch x := t.(type) {
	case *ast.IndexExpr:
		t = x.X
	case *ast.IndexListExpr:
		t = x.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// SetReceiver replaces an alias in a method's receiver by the name of its type; pointer says that the
// alias is of a pointer to the type.
func SetReceiver(f *ast.FuncDecl, name string, pointer bool) {
	if Receiver(f) == name {
		return
	}
	field := f.Recv.List[0]
	t := ast.Unparen(field.Type)
	star, written := t.(*ast.StarExpr)
	if written {
		t = ast.Unparen(star.X)
	}
	if id, ok := t.(*ast.Ident); ok {
		var own ast.Expr = &ast.Ident{Name: name, NamePos: id.NamePos}
		if pointer || written {
			own = &ast.StarExpr{Star: id.NamePos, X: own}
		}
		field.Type = own
	}
}

// ReceiverParams returns a method's names for the parameters of its type.
func ReceiverParams(f *ast.FuncDecl) (ids []*ast.Ident) {
	t := ast.Unparen(f.Recv.List[0].Type)
	if p, ok := t.(*ast.StarExpr); ok {
		t = ast.Unparen(p.X)
	}
	var list []ast.Expr
	switch x := t.(type) {
	case *ast.IndexExpr:
		list = []ast.Expr{x.Index}
	case *ast.IndexListExpr:
		list = x.Indices
	}
	for _, e := range list {
		if id, ok := e.(*ast.Ident); ok {
			ids = append(ids, id)
		}
	}
	return ids
}
