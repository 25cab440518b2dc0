package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

// A value that is appended to itself doubles, and can take all memory before the memory guard runs. So
// code that may double a value checks the memory afterwards, if the result is large.

// large is the least size in bytes of a string or slice for which the memory is checked.
const large = 16 << 20

// grown checks the memory after an assignment of a slice that was appended to another, or of a call's
// result. For sums of strings the interpreter does so itself.
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

// grows says whether the value of an expression may be several times as large as its operands. Appending
// single elements makes a slice grow slowly enough for the guard, and is too frequent for a check.
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

// mayBeLong says whether a type's values are strings or slices.
func mayBeLong(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&types.IsString != 0
	case *types.Slice:
		return true
	}
	return false
}

// grownBuffer checks the memory after a call that writes a buffer's own contents to it.
func (l *Lowerer) grownBuffer(e *ast.CallExpr) []ast.Stmt {
	f, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	id, ok := ast.Unparen(f.X).(*ast.Ident)
	if !ok || l.info.Selections[f] == nil {
		return nil
	}
	switch types.TypeString(walk.Deref(l.typeOf(id)), nil) {
	case "bytes.Buffer", "strings.Builder":
	default:
		return nil
	}
	again := slices.ContainsFunc(e.Args, func(a ast.Expr) bool { return walk.Uses(l.info, a, l.info.Uses[id]) })
	if !again {
		return nil
	}
	l.pos = e.Pos()
	return []ast.Stmt{l.askMemory(l.call(l.sel(l.expr(id), "Len")), large)}
}
