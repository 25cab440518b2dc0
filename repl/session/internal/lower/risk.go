package lower

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

// risky says whether a node may panic, without its parts: a mark is worth its cost only before code that
// may panic.
func (l *Lowerer) risky(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return l.riskyCall(n)
	case *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr, *ast.SendStmt:
		return true
	case *ast.IndexExpr:
		return l.riskyIndex(n)
	case *ast.CompositeLit:
		m, ok := l.typeOf(n).Underlying().(*types.Map)
		return ok && holdsInterface(m.Key())
	case *ast.SelectorExpr:
		sel := l.info.Selections[n]
		return sel != nil && (sel.Kind() != types.FieldVal || sel.Indirect())
	case *ast.UnaryExpr:
		return n.Op == token.ARROW
	case *ast.BinaryExpr:
		switch n.Op {
		case token.EQL, token.NEQ:
			return holdsInterface(l.typeOf(n.X)) || holdsInterface(l.typeOf(n.Y))
		}
		return l.riskyOperation(n.Op, n.X, n.Y)
	case *ast.IncDecStmt:
		return l.mapElement(n.X)
	case *ast.AssignStmt:
		if slices.ContainsFunc(n.Lhs, l.mapElement) {
			return true
		}
		switch n.Tok {
		case token.QUO_ASSIGN:
			return l.riskyOperation(token.QUO, n.Lhs[0], n.Rhs[0])
		case token.REM_ASSIGN:
			return l.riskyOperation(token.REM, n.Lhs[0], n.Rhs[0])
		case token.SHL_ASSIGN, token.SHR_ASSIGN:
			return l.riskyOperation(token.SHL, n.Lhs[0], n.Rhs[0])
		}
	}
	return false
}

// riskySwitch says whether a statement is a switch that compares interfaces.
func (l *Lowerer) riskySwitch(s ast.Stmt) bool {
	sw, ok := s.(*ast.SwitchStmt)
	if !ok || sw.Tag == nil {
		return false
	}
	risky := holdsInterface(l.typeOf(sw.Tag))
	for _, c := range sw.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			risky = risky || holdsInterface(l.typeOf(e))
		}
	}
	return risky
}

func (l *Lowerer) riskyCall(e *ast.CallExpr) bool {
	if l.info.Types[e.Fun].IsType() {
		_, slice := l.typeOf(e.Args[0]).Underlying().(*types.Slice)
		_, array := walk.Deref(l.typeOf(e)).Underlying().(*types.Array)
		return slice && array
	}
	switch l.builtin(e) {
	case "append", "cap", "complex", "copy", "imag", "len", "max", "min", "new", "real":
		return false
	}
	return true
}

func (l *Lowerer) riskyIndex(e *ast.IndexExpr) bool {
	switch t := l.typeOf(e.X).Underlying().(type) {
	case *types.Map:
		return holdsInterface(t.Key())
	case *types.Array:
		return l.info.Types[e.Index].Value == nil
	case *types.Signature:
		return false
	}
	return true
}

// riskyOperation says whether an integer division or a shift may panic.
func (l *Lowerer) riskyOperation(op token.Token, x, y ast.Expr) bool {
	switch op {
	case token.QUO, token.REM:
		b, ok := l.typeOf(x).Underlying().(*types.Basic)
		v := l.info.Types[y].Value
		return !ok || b.Info()&types.IsInteger != 0 && (v == nil || constant.Sign(v) == 0)
	case token.SHL, token.SHR:
		b, ok := l.typeOf(y).Underlying().(*types.Basic)
		return !ok || b.Info()&types.IsUnsigned == 0 && !l.nonNegative(y)
	}
	return false
}

// mapElement says whether an expression is an element of a map: setting it panics if the map is nil.
func (l *Lowerer) mapElement(e ast.Expr) bool {
	x, ok := ast.Unparen(e).(*ast.IndexExpr)
	return ok && isA[*types.Map](l.typeOf(x.X))
}

// holdsInterface says whether comparing two values of a type compares interfaces, whose values may not be
// comparable.
func holdsInterface(t types.Type) bool { return t == nil || contains(t, types.IsInterface) }
