package compile

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// loopBody gives package rt a function that runs the statements n times, or that asks before each run.
func (v *env) loopBody(l *lower.Lowerer, list []ast.Stmt, result ast.Expr, asks bool, values []*world.Entity) ([]ast.Stmt, error) {
	var names []string
	for _, e := range values {
		names = append(names, e.Internal)
	}
	body, err := l.Loop(list, result, "__n", asks, names)
	if err != nil {
		return nil, err
	}
	pos := v.u.pos
	give, param := "Loop", ast.Expr(v.id("int"))
	if asks {
		results := &ast.FieldList{List: []*ast.Field{{Type: v.id("bool")}}}
		give, param = "LoopAsking", &ast.FuncType{Func: pos, Params: &ast.FieldList{}, Results: results}
	}
	lit := &ast.FuncLit{Type: &ast.FuncType{Func: pos, Params: &ast.FieldList{List: []*ast.Field{{Names: []*ast.Ident{v.id("__n")}, Type: param}}}},
		Body: &ast.BlockStmt{Lbrace: pos, List: body, Rbrace: pos}}
	bind := &ast.AssignStmt{Lhs: []ast.Expr{v.id("__f")}, TokPos: pos, Tok: token.DEFINE, Rhs: []ast.Expr{lit}}
	call := &ast.CallExpr{Fun: &ast.SelectorExpr{X: v.id(lower.RT), Sel: v.id(give)}, Lparen: pos, Args: []ast.Expr{v.id("__f")}, Rparen: pos}
	return []ast.Stmt{bind, &ast.ExprStmt{X: call}}, nil
}

// Loop compiles statements alone that run often, for %timeit and %bench. With asks, the loop asks before
// each run whether to continue. N is the negative number that stands for the text. Values are the variables
// for the values of the expression at the end of the statements, of the types in u.ShownTypes.
func (c *Compiler) Loop(n int, stmts string, asks bool) (u *Unit, values []*world.Entity, err error) {
	file, err := c.parse(n, 1, 1, "package "+world.PkgPath+";func cell(){", stmts, "\n}")
	if err != nil {
		return nil, nil, err
	}
	cell, ok := file.Decls[0].(*ast.FuncDecl)
	if !ok || len(file.Decls) != 1 {
		return nil, nil, errors.New("only statements can be compiled on their own")
	}
	st := c.World.Stage()
	u = &Unit{cell: n, pos: file.Package, Runs: true}
	list := cell.Body.List
	u.Outs = c.OutRefs(list)
	var extra []types.Object
	for _, o := range u.Outs {
		extra = append(extra, types.NewVar(token.NoPos, nil, o.Var, o.Type))
	}
	var calls notation.Calls
	facts := c.checkAgain(&calls, st, []*ast.File{file}, extra...)
	facts.dropUnused(list, &calls)
	if len(facts.Errs) > 0 {
		return nil, nil, c.complaints(st, facts)
	}
	u.checked, u.body = facts, list
	var result ast.Expr
	if n := len(list); n > 0 {
		if es, ok := list[n-1].(*ast.ExprStmt); ok {
			if ts := lower.Results(facts.Info.Types[es.X].Type); len(ts) > 0 && !isPrinting(facts, es.X) {
				result, u.ShownTypes = es.X, ts
				for _, t := range ts {
					values = append(values, &world.Entity{Name: "__value", Internal: c.World.Fresh("__value"), Kind: world.Var, Obj: types.NewVar(es.Pos(), facts.Pkg, "__value", t)})
				}
				u.slots = append(u.slots, values...)
			}
		}
	}
	u.loop = func(v *env, l *lower.Lowerer) ([]ast.Stmt, error) { return v.loopBody(l, list, result, asks, values) }
	return u, values, c.Build(st, u)
}
