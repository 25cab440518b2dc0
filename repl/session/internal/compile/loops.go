package compile

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// completeLoops gives top-level loops over an iterator of values and errors a variable for the error that
// they leave out: `for x := range f() {` becomes
//
//	for x, err := range f() { __check(err)
//
// It returns nil if there is no such loop.
func (c *Compiler) completeLoops(facts *checked, u *Unit, list []ast.Stmt) []ast.Stmt {
	var out []ast.Stmt
	for i, stmt := range list {
		again := u.completeLoop(facts, stmt)
		if again == nil {
			continue
		}
		if out == nil {
			out = append(out, list...)
		}
		out[i] = again
	}
	return out
}

// completeLoop returns the complete loop, nil for a statement that leaves out no error.
func (u *Unit) completeLoop(facts *checked, stmt ast.Stmt) ast.Stmt {
	if l, ok := stmt.(*ast.LabeledStmt); ok {
		inner := u.completeLoop(facts, l.Stmt)
		if inner == nil {
			return nil
		}
		again := *l
		again.Stmt = inner
		return &again
	}
	loop, ok := stmt.(*ast.RangeStmt)
	if !ok || loop.Value != nil || loop.Tok == token.ASSIGN || !yieldsErrors(facts.Info.Types[loop.X].Type) {
		return nil
	}
	if u.added == nil {
		u.added = map[string]ast.Expr{}
	}
	name := fmt.Sprintf("__err%d", len(u.added)+1)
	u.added[name] = loop.X
	at := callPos(loop.X)
	id := func(name string, at token.Pos) *ast.Ident { return &ast.Ident{Name: name, NamePos: at} }
	again, body := *loop, *loop.Body
	if again.Key == nil {
		again.Key = id("_", loop.X.Pos())
	}
	again.Tok, again.Value = token.DEFINE, id(name, loop.X.Pos())
	check := &ast.ExprStmt{X: &ast.CallExpr{Fun: id(checkFunc.Name(), at), Lparen: at, Args: []ast.Expr{id(name, at)}, Rparen: at}}
	body.List = append([]ast.Stmt{check}, body.List...)
	again.Body = &body
	return &again
}

// yieldsErrors says whether a loop over a value of the type gets pairs whose second part is an error.
func yieldsErrors(t types.Type) bool {
	if t == nil {
		return false
	}
	f, ok := t.Underlying().(*types.Signature)
	if !ok || f.Params().Len() != 1 {
		return false
	}
	yield, ok := f.Params().At(0).Type().Underlying().(*types.Signature)
	return ok && yield.Params().Len() == 2 && world.IsError(yield.Params().At(1).Type())
}
