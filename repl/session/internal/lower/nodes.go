package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// Making nodes. All are placed at l.pos.
func (l *Lowerer) id(name string) *ast.Ident { return &ast.Ident{Name: name, NamePos: l.pos} }

func (l *Lowerer) ids(names []string) (list []ast.Expr) {
	for _, name := range names {
		list = append(list, l.id(name))
	}
	return list
}

func (l *Lowerer) fresh(prefix string) string {
	l.tmp++
	return fmt.Sprintf("__%s%d", prefix, l.tmp)
}

// another is a new name of a variable that a person named: code may assign to it, so it does not look like
// that of a temporary one.
func (l *Lowerer) another(o types.Object) string {
	return o.Name() + l.fresh("local")
}

func (l *Lowerer) int(n int) ast.Expr {
	return &ast.BasicLit{Kind: token.INT, Value: fmt.Sprint(n), ValuePos: l.pos}
}

func (l *Lowerer) string(s string) ast.Expr {
	return &ast.BasicLit{Kind: token.STRING, Value: fmt.Sprintf("%q", s), ValuePos: l.pos}
}

func (l *Lowerer) sel(x ast.Expr, name string) ast.Expr {
	return &ast.SelectorExpr{X: x, Sel: l.id(name)}
}

func (l *Lowerer) call(f ast.Expr, args ...ast.Expr) *ast.CallExpr {
	return &ast.CallExpr{Fun: f, Lparen: l.pos, Args: args, Rparen: l.pos}
}

// rt calls a function of package rt.
func (l *Lowerer) rt(name string, args ...ast.Expr) *ast.CallExpr {
	return l.call(l.sel(l.id(RT), name), args...)
}

func (l *Lowerer) do(x ast.Expr) ast.Stmt { return &ast.ExprStmt{X: x} }

func (l *Lowerer) assign(tok token.Token, lhs, rhs ast.Expr) *ast.AssignStmt {
	return &ast.AssignStmt{Lhs: []ast.Expr{lhs}, TokPos: l.pos, Tok: tok, Rhs: []ast.Expr{rhs}}
}

func (l *Lowerer) define(name string, x ast.Expr) ast.Stmt {
	return l.assign(token.DEFINE, l.id(name), x)
}

// declare is `var name T`.
func (l *Lowerer) declare(name string, t ast.Expr) ast.Stmt {
	spec := &ast.ValueSpec{Names: []*ast.Ident{l.id(name)}, Type: t}
	return &ast.DeclStmt{Decl: &ast.GenDecl{Tok: token.VAR, TokPos: l.pos, Specs: []ast.Spec{spec}}}
}

func (l *Lowerer) block(list ...ast.Stmt) *ast.BlockStmt {
	return &ast.BlockStmt{Lbrace: l.pos, List: list, Rbrace: l.pos}
}

func (l *Lowerer) ifs(cond ast.Expr, then ...ast.Stmt) *ast.IfStmt {
	return &ast.IfStmt{If: l.pos, Cond: cond, Body: l.block(then...)}
}

func (l *Lowerer) not(x ast.Expr) ast.Expr { return &ast.UnaryExpr{OpPos: l.pos, Op: token.NOT, X: x} }

func (l *Lowerer) addr(x ast.Expr) ast.Expr {
	return &ast.UnaryExpr{OpPos: l.pos, Op: token.AND, X: x}
}

func (l *Lowerer) binary(x ast.Expr, op token.Token, y ast.Expr) ast.Expr {
	return &ast.BinaryExpr{X: x, OpPos: l.pos, Op: op, Y: y}
}

// zero writes the zero value of a type as *new(T), which the interpreter does not take for nil if T is an
// interface.
func (l *Lowerer) zero(t types.Type) ast.Expr {
	if types.IsInterface(t) {
		return l.id(l.variable(t))
	}
	return &ast.StarExpr{Star: l.pos, X: l.call(l.id("new"), l.typ(t))}
}

// lit is a function literal without parameters and at most one result.
func (l *Lowerer) lit(result ast.Expr, body ...ast.Stmt) *ast.FuncLit {
	ft := &ast.FuncType{Func: l.pos, Params: &ast.FieldList{Opening: l.pos, Closing: l.pos}}
	if result != nil {
		ft.Results = &ast.FieldList{List: []*ast.Field{{Type: result}}}
	}
	return &ast.FuncLit{Type: ft, Body: l.block(body...)}
}

func (l *Lowerer) ret(results ...ast.Expr) ast.Stmt {
	return &ast.ReturnStmt{Return: l.pos, Results: results}
}
