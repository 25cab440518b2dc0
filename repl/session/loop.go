package session

import (
	"go/ast"
	"go/token"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// loopBody hands a function to package rt that runs the statements n times.
func (v *env) loopBody(l *lower.Lowerer, list []ast.Stmt, result ast.Expr, value *world.Entity) ([]ast.Stmt, error) {
	name := ""
	if value != nil {
		name = value.Internal
	}
	body, err := l.Loop(list, result, "__n", name)
	if err != nil {
		return nil, err
	}
	pos := v.u.pos
	lit := &ast.FuncLit{Type: &ast.FuncType{Func: pos, Params: &ast.FieldList{List: []*ast.Field{{Names: []*ast.Ident{v.id("__n")}, Type: v.id("int")}}}},
		Body: &ast.BlockStmt{Lbrace: pos, List: body, Rbrace: pos}}
	bind := &ast.AssignStmt{Lhs: []ast.Expr{v.id("__f")}, TokPos: pos, Tok: token.DEFINE, Rhs: []ast.Expr{lit}}
	call := &ast.CallExpr{Fun: &ast.SelectorExpr{X: v.id(lower.RT), Sel: v.id("Loop")}, Lparen: pos, Args: []ast.Expr{v.id("__f")}, Rparen: pos}
	return []ast.Stmt{bind, &ast.ExprStmt{X: call}}, nil
}
