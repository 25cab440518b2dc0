package session

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"

	"github.com/mcs-notebook/mcs/stdlib"
)

// An Info is what `name?` tells.
type Info struct {
	Name, Type, Kind string
	Doc              string // declaration and comment
	Source           string // of what a cell declared
	Cell             int    // where; 0 for what comes with mcs
	Value            any    // of a variable, now
	HasValue         bool
	Fields, Methods  []string // name and type, sorted
}

// Inspect tells about a name, a member (pkg.Name, Type.Method, x.Field) or any other expression, which it does not
// evaluate.
func (s *Session) Inspect(expr string) (Info, error) {
	expr = strings.TrimSpace(expr)
	x, err := parser.ParseExpr(expr)
	if err != nil {
		return Info{}, fmt.Errorf("inspect: %q is no expression", expr)
	}
	st := s.world.stage()
	switch x := x.(type) {
	case *ast.Ident:
		if e := st.lookup(x.Name); e != nil {
			return s.inspectEntity(st, e), nil
		}
		if path := s.packagePath(st, x.Name); path != "" {
			return s.inspectPackage(path)
		}
		if o := types.Universe.Lookup(x.Name); o != nil {
			return Info{Name: x.Name, Kind: kindOfObject(o), Type: detail(o), Doc: "predeclared"}, nil
		}
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok && st.lookup(id.Name) == nil {
			if path := s.packagePath(st, id.Name); path != "" {
				return s.inspectSymbol(path, x.Sel.Name)
			}
		}
		if info, ok := s.inspectMember(st, expr, x); ok {
			return info, nil
		}
	}
	t := s.exprType(st, expr)
	if t == nil {
		var candidates []string
		st.all(func(e *entity) { candidates = append(candidates, e.name) })
		msg := "inspect: undefined: " + expr
		if hint := didYouMean(expr, candidates); hint != "" {
			msg += "; " + hint
		}
		return Info{}, fmt.Errorf("%s", msg)
	}
	info := Info{Name: expr, Kind: "expression", Type: typeString(t)}
	info.describe(t)
	return info, nil
}

func (s *Session) packagePath(st *stage, name string) string {
	if p := st.importPath(name); p != "" {
		return p
	}
	p, _ := stdlib.ImportFor(name)
	return p
}

func (s *Session) inspectEntity(st *stage, e *entity) Info {
	info := Info{Name: e.name, Kind: e.kind.String(), Type: s.typeOf(e), Cell: e.cell}
	switch e.kind {
	case varKind:
		info.Value, info.HasValue = s.value(e)
		info.describe(e.obj.Type())
		info.Doc = s.typeDoc(e.obj.Type())
	case typeKind:
		info.describe(e.obj.Type())
		info.Source = e.decl.src
		for _, d := range st.decls() {
			if d.recv == e.name {
				info.Source += "\n\n" + d.src
			}
		}
	default:
		info.Source = e.decl.src
	}
	return info
}

// typeDoc is the documentation of a compiled type.
func (s *Session) typeDoc(t types.Type) string {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() != pkgPath {
		return s.doc(n.Obj().Pkg().Path(), n.Obj().Name())
	}
	return ""
}

func (s *Session) inspectPackage(path string) (Info, error) {
	pkg, err := s.importer.Import(path)
	if err != nil {
		return Info{}, err
	}
	info := Info{Name: pkg.Name(), Kind: "package", Type: s.packageTitle(path), Doc: s.doc(path, "")}
	for _, name := range pkg.Scope().Names() {
		o := pkg.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		if _, ok := o.(*types.Func); ok {
			info.Methods = append(info.Methods, name+detail(o))
		} else {
			info.Fields = append(info.Fields, name+" "+detail(o))
		}
	}
	return info, nil
}

func (s *Session) inspectSymbol(path, name string) (Info, error) {
	pkg, err := s.importer.Import(path)
	if err != nil {
		return Info{}, err
	}
	o := pkg.Scope().Lookup(name)
	if o == nil || !o.Exported() {
		msg := fmt.Sprintf("inspect: undefined: %s.%s", pkg.Name(), name)
		if hint := didYouMean(name, pkg.Scope().Names()); hint != "" {
			msg += "; " + hint
		}
		return Info{}, fmt.Errorf("%s", msg)
	}
	info := Info{Name: pkg.Name() + "." + name, Kind: kindOfObject(o), Type: types.TypeString(o.Type(), qualifier), Doc: s.doc(path, name)}
	if p := s.locals.byPath[path]; p != nil {
		info.Source = p.symbol(name).source
	}
	if _, ok := o.(*types.TypeName); ok {
		info.describe(o.Type())
	}
	return info, nil
}

// inspectMember tells about a field or method of an operand, or of a type that a cell declared.
func (s *Session) inspectMember(st *stage, expr string, x *ast.SelectorExpr) (Info, bool) {
	operand := strings.TrimSuffix(strings.TrimSpace(expr), "."+x.Sel.Name)
	var t types.Type
	if e := st.lookup(operand); e != nil && e.kind == typeKind {
		t = e.obj.Type()
	} else if sel, ok := x.X.(*ast.SelectorExpr); ok {
		t = s.qualifiedType(st, sel)
	}
	if t == nil {
		t = s.exprType(st, operand)
	}
	if t == nil {
		return Info{}, false
	}
	for _, o := range members(t) {
		if o.Name() != x.Sel.Name {
			continue
		}
		info := Info{Name: expr, Kind: kindOfObject(o), Type: types.TypeString(o.Type(), qualifier)}
		owner := ownerName(t, o)
		if o.Pkg() != nil && o.Pkg().Path() != pkgPath {
			info.Doc = s.doc(o.Pkg().Path(), owner+"."+o.Name())
		} else if d := st.methodsOf(owner)[o.Name()]; d != nil {
			info.Source, info.Cell = d.src, d.cell
		}
		if _, ok := o.(*types.Var); ok {
			info.describe(o.Type())
		}
		return info, true
	}
	return Info{}, false
}

// qualifiedType is the type that pkg.Name names.
func (s *Session) qualifiedType(st *stage, sel *ast.SelectorExpr) types.Type {
	id, ok := sel.X.(*ast.Ident)
	if !ok || st.lookup(id.Name) != nil {
		return nil
	}
	pkg, err := s.importer.Import(s.packagePath(st, id.Name))
	if err != nil {
		return nil
	}
	if o, ok := pkg.Scope().Lookup(sel.Sel.Name).(*types.TypeName); ok {
		return o.Type()
	}
	return nil
}

// describe lists the members of a type.
func (i *Info) describe(t types.Type) {
	for _, o := range members(t) {
		if _, ok := o.(*types.Func); ok {
			i.Methods = append(i.Methods, o.Name()+detail(o))
		} else {
			i.Fields = append(i.Fields, o.Name()+" "+detail(o))
		}
	}
}

// exprType is the type of an expression that the session could evaluate, or nil.
func (s *Session) exprType(st *stage, expr string) types.Type {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", "package "+pkgPath+"\nfunc cell__() { _ = "+expr+"\n}", parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	body := file.Decls[0].(*ast.FuncDecl).Body.List
	extra := s.outObjects(body)
	c := s.checkIn(fset, st, []*ast.File{file}, extra...)
	if t := c.info.Types[body[0].(*ast.AssignStmt).Rhs[0]].Type; known(t) {
		return t
	}
	return nil
}

// outObjects replaces Out[n] and _ in statements, and returns the variables that stand for them.
func (s *Session) outObjects(list []ast.Stmt) (extra []types.Object) {
	for _, o := range s.outRefs(list) {
		extra = append(extra, types.NewVar(token.NoPos, nil, o.name, o.typ))
	}
	return extra
}
