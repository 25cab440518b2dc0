package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// What is added to itself doubles, and takes all the memory that there is before a guard beside it gets to
// run. So code that may double something asks behind that whether memory is left, if the result is large.

// large is how many bytes a string or slice has to have before the question is asked.
const large = 16 << 20

// grown asks behind an assignment of a slice that was appended to another, or of what a call has made. Behind
// sums of strings the interpreter asks.
func (l *Lowerer) grown(s *ast.AssignStmt) (list []ast.Stmt) {
	if len(s.Lhs) != len(s.Rhs) {
		return nil
	}
	for i, x := range s.Lhs {
		if isBlank(x) || calls(x) || !l.grows(s.Rhs[i]) {
			continue
		}
		l.pos = s.Pos()
		switch t := l.typeOf(x).Underlying().(type) {
		case *types.Basic:
			if t.Info()&types.IsString != 0 {
				list = append(list, l.askMemory(l.call(l.id("len"), l.expr(x)), large))
			}
		case *types.Slice:
			list = append(list, l.askMemory(l.call(l.id("len"), l.expr(x)), large/max(1, l.size(t.Elem()))))
		}
	}
	return list
}

// askMemory is `if n > limit { __rt.Grown() }`.
func (l *Lowerer) askMemory(n ast.Expr, limit int) ast.Stmt {
	return l.ifs(l.binary(n, token.GTR, l.int(limit)), l.do(l.rt("Grown")))
}

// grows says whether the value of an expression may be several times as large as what it is made of.
// Appending single elements makes a slice grow slowly enough for the guard, and is too frequent to ask behind
// it.
func (l *Lowerer) grows(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	switch {
	case !ok:
		return false
	case l.info.Types[call.Fun].IsType():
		return len(call.Args) == 1 && l.grows(call.Args[0])
	case l.builtin(call) != "":
		return l.builtin(call) == "append" && call.Ellipsis.IsValid()
	}
	return slices.ContainsFunc(call.Args, func(a ast.Expr) bool { return mayBeLong(l.typeOf(a)) })
}

// mayBeLong says whether a type is one of strings or slices.
func mayBeLong(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&types.IsString != 0
	case *types.Slice:
		return true
	}
	return false
}

// grownBuffer asks behind a call that writes to a buffer something of itself.
func (l *Lowerer) grownBuffer(e *ast.CallExpr) []ast.Stmt {
	f, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	id, ok := ast.Unparen(f.X).(*ast.Ident)
	if !ok || l.info.Selections[f] == nil {
		return nil
	}
	switch types.TypeString(deref(l.typeOf(id)), nil) {
	case "bytes.Buffer", "strings.Builder":
	default:
		return nil
	}
	again := false
	for _, a := range e.Args {
		ast.Inspect(a, func(n ast.Node) bool {
			x, ok := n.(*ast.Ident)
			again = again || ok && l.info.Uses[x] == l.info.Uses[id]
			return true
		})
	}
	if !again {
		return nil
	}
	l.pos = e.Pos()
	return []ast.Stmt{l.askMemory(l.call(l.sel(l.expr(id), "Len")), large)}
}
