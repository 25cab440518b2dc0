package compile

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
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
	if !ok || loop.Value != nil || loop.Tok == token.ASSIGN || !YieldsErrors(facts.Info.Types[loop.X].Type) {
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

// YieldsErrors says whether a loop over a value of the type gets pairs whose second part is an error.
func YieldsErrors(t types.Type) bool {
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

// mentionsAdded says whether an error is about names that completeErrors has added.
func (ch *checked) mentionsAdded() bool {
	return slices.ContainsFunc(ch.Errs, func(e types.Error) bool { return strings.Contains(e.Msg, checkFunc.Name()) })
}

// addedValue matches the name of a variable that completeErrors has added.
var addedValue = lazy.Regexp(`(__val\d+) \(variable of ([^)]*)\)`)

// hideAdded rewords errors to mention calls instead of the names that completeErrors has added.
func (ch *checked) hideAdded(u *Unit) {
	for i, e := range ch.Errs {
		ch.Errs[i].Msg = addedValue().ReplaceAllStringFunc(e.Msg, func(text string) string {
			m := addedValue().FindStringSubmatch(text)
			call := u.added[m[1]]
			if call == nil {
				return text
			}
			return types.ExprString(call) + " (value of " + m[2] + ")"
		})
	}
}

// completeErrors gives assignments outside of functions a variable for the error that they leave out: `m :=
// f()` becomes
//
//	val, err := f(); __checkValue(err, val); m := val; __check(err)
//
// so that m keeps what it had where the call fails: __checkValue stops the cell unless the call was
// interrupted and has given a value nevertheless. It returns nil if there is nothing to complete. An
// assignment that is completed has as many places as its call has results, so that it is not completed again.
func (c *Compiler) completeErrors(facts *checked, u *Unit, list []ast.Stmt) []ast.Stmt {
	var out []ast.Stmt
	found := false
	for _, stmt := range list {
		if !facts.leavesErrorOut(stmt) {
			found = c.completeBlocks(facts, u, stmt) || found
			out = append(out, stmt)
			continue
		}
		found = true
		if u.added == nil {
			u.added = map[string]ast.Expr{}
		}
		switch stmt := stmt.(type) {
		case *ast.AssignStmt:
			again := *stmt
			out = append(out, u.complete(stmt.Rhs[0], len(stmt.Lhs), func(values []ast.Expr) ast.Stmt {
				again.Rhs = values
				return &again
			})...)
		case *ast.DeclStmt: // var x = f()
			g := *stmt.Decl.(*ast.GenDecl)
			spec := *g.Specs[0].(*ast.ValueSpec)
			out = append(out, u.complete(spec.Values[0], len(spec.Names), func(values []ast.Expr) ast.Stmt {
				spec.Values, g.Specs = values, []ast.Spec{&spec}
				return &ast.DeclStmt{Decl: &g}
			})...)
		}
	}
	if !found {
		return nil
	}
	return out
}

// completeBlocks completes the errors of the blocks in a statement, and says whether there were any.
func (c *Compiler) completeBlocks(facts *checked, u *Unit, stmt ast.Stmt) (found bool) {
	complete := func(list *[]ast.Stmt) {
		if again := c.completeErrors(facts, u, *list); again != nil {
			*list, found = again, true
		}
	}
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BlockStmt:
			complete(&n.List)
		case *ast.CaseClause:
			complete(&n.Body)
		case *ast.CommClause:
			complete(&n.Body)
		}
		return true
	})
	return found
}

// complete makes the statements for a call that returns n values and an error; assign makes the statement
// that assigns the values.
func (u *Unit) complete(call ast.Expr, n int, assign func(values []ast.Expr) ast.Stmt) []ast.Stmt {
	add := func(kind string) string {
		name := fmt.Sprintf("__%s%d", kind, len(u.added)+1)
		u.added[name] = call
		return name
	}
	id := func(name string) ast.Expr { return &ast.Ident{Name: name, NamePos: call.Pos()} }
	first := &ast.AssignStmt{TokPos: call.Pos(), Tok: token.DEFINE, Rhs: []ast.Expr{call}}
	values := make([]ast.Expr, n)
	for i := range values {
		name := add("val")
		first.Lhs, values[i] = append(first.Lhs, id(name)), id(name)
	}
	err := add("err")
	first.Lhs = append(first.Lhs, id(err))
	at := callPos(call)
	check := func(f *types.Func, args ...ast.Expr) ast.Stmt {
		return &ast.ExprStmt{X: &ast.CallExpr{Fun: &ast.Ident{Name: f.Name(), NamePos: at}, Lparen: at, Args: args, Rparen: at}}
	}
	return []ast.Stmt{first, check(checkValueFunc, id(err), id(values[0].(*ast.Ident).Name)), assign(values), check(checkFunc, id(err))}
}

// leavesErrorOut says whether a statement assigns all results of a call but a trailing error.
func (ch *checked) leavesErrorOut(stmt ast.Stmt) bool {
	places := 0
	var value ast.Expr
	switch stmt := stmt.(type) {
	case *ast.AssignStmt:
		if len(stmt.Rhs) == 1 && (stmt.Tok == token.ASSIGN || stmt.Tok == token.DEFINE) {
			places, value = len(stmt.Lhs), stmt.Rhs[0]
		}
	case *ast.DeclStmt:
		if g := stmt.Decl.(*ast.GenDecl); len(g.Specs) == 1 {
			if spec, ok := g.Specs[0].(*ast.ValueSpec); ok && len(spec.Values) == 1 && spec.Type == nil {
				places, value = len(spec.Names), spec.Values[0]
			}
		}
	}
	if value == nil {
		return false
	}
	results, ok := ch.Info.Types[value].Type.(*types.Tuple)
	return ok && results.Len() == places+1 && world.IsError(results.At(places).Type())
}

// callPos returns the place of the function's name in a call.
func callPos(e ast.Expr) token.Pos {
	if c, ok := ast.Unparen(e).(*ast.CallExpr); ok {
		if sel, ok := c.Fun.(*ast.SelectorExpr); ok {
			return sel.Sel.Pos()
		}
	}
	return e.Pos()
}
