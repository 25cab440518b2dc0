package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

// An assignment evaluates the operands of its places, then its values, then assigns from left to right. Those
// of the first place and the first value may wait until it assigns that: nothing has changed before.

func (l *Lowerer) assignStmt(s *ast.AssignStmt) []ast.Stmt {
	switch s.Tok {
	case token.ASSIGN:
		lhs, ts := make([]ast.Expr, len(s.Lhs)), make([]types.Type, len(s.Lhs))
		var operands []operand
		for i, e := range s.Lhs {
			l.pos = e.Pos()
			if lhs[i] = l.id("_"); !isBlank(e) {
				var of []operand
				lhs[i], of = l.place(e)
				if ts[i] = l.typeOf(e); i > 0 {
					operands = append(operands, of...)
				}
			}
		}
		return append(l.assignTo(lhs, ts, operands, s.Rhs), l.grown(s)...)
	case token.DEFINE:
		return append(l.defineStmt(s), l.grown(s)...)
	}
	x, _ := l.place(s.Lhs[0]) // x op= y stays: the left side must be evaluated once
	y := l.expr(s.Rhs[0])
	if s.Tok == token.SHL_ASSIGN || s.Tok == token.SHR_ASSIGN {
		y = l.shiftCount(y, s.Rhs[0])
	}
	return []ast.Stmt{&ast.AssignStmt{Lhs: []ast.Expr{x}, TokPos: s.TokPos, Tok: s.Tok, Rhs: []ast.Expr{y}}}
}

// defineStmt writes := with declarations of the new variables, which have the checker's types.
func (l *Lowerer) defineStmt(s *ast.AssignStmt) []ast.Stmt {
	var decls []ast.Stmt
	var lhs []ast.Expr
	var ts []types.Type
	var names []*ast.Ident
	for _, e := range s.Lhs {
		id := e.(*ast.Ident)
		l.pos = id.Pos()
		if id.Name == "_" {
			lhs, ts = append(lhs, l.id("_")), append(ts, nil)
			continue
		}
		o := l.object(id)
		x := l.renamed(o, id.Name)
		lhs, ts = append(lhs, x), append(ts, o.Type())
		if l.info.Defs[id] != nil && l.env.Name(o) == "" {
			names = append(names, id)
			decls = append(decls, l.declare(x.(*ast.Ident).Name, l.typ(o.Type())))
		}
	}
	l.pos = s.Pos()
	return l.declareAs(decls, names, lhs, ts, s.Rhs)
}

// declareAs declares variables and assigns values, which may use variables outside that have their names.
func (l *Lowerer) declareAs(decls []ast.Stmt, names []*ast.Ident, lhs []ast.Expr, ts []types.Type, rhs []ast.Expr) []ast.Stmt {
	if len(names) == 0 || !l.mentions(rhs, names) {
		if len(decls) == 1 && len(lhs) == 1 && len(rhs) == 1 {
			return append(decls, l.assignOne(lhs[0], ts[0], rhs[0], true)...)
		}
		return append(decls, l.assignTo(lhs, ts, nil, rhs)...)
	}
	temps := make([]ast.Expr, len(lhs))
	for i, t := range ts {
		if temps[i] = l.id("_"); t != nil {
			temps[i] = l.tempOf(t)
		}
	}
	l.emit(l.assignTo(temps, ts, nil, rhs)...)
	return append(decls, l.assignAll(lhs, temps)...)
}

// An operand of a place, which an assignment to another place may change.
type operand struct {
	x *ast.Expr
	t types.Type
}

// place rewrites an expression that is assigned to, and returns the operands that say which place it is.
func (l *Lowerer) place(e ast.Expr) (x ast.Expr, operands []operand) {
	switch e := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		out := &ast.IndexExpr{Lbrack: e.Lbrack, Rbrack: e.Rbrack}
		switch l.typeOf(e.X).Underlying().(type) {
		case *types.Array:
			out.X, operands = l.place(e.X)
		case *types.Pointer:
			star := &ast.StarExpr{Star: e.Pos(), X: l.expr(e.X)}
			out.X, operands = &ast.ParenExpr{X: star}, []operand{{&star.X, l.typeOf(e.X)}}
		default:
			out.X = l.expr(e.X)
			operands = []operand{{&out.X, l.typeOf(e.X)}}
		}
		key, t := l.key(e)
		if out.Index = key; l.info.Types[e.Index].Value == nil {
			operands = append(operands, operand{&out.Index, t})
		}
		return out, operands
	case *ast.StarExpr:
		out := &ast.StarExpr{Star: e.Star, X: l.expr(e.X)}
		return out, []operand{{&out.X, l.typeOf(e.X)}}
	case *ast.SelectorExpr:
		sel := l.info.Selections[e]
		if sel == nil {
			break
		}
		if !isPointer(l.typeOf(e.X)) {
			x, operands = l.place(e.X)
			return l.field(x, e, sel), operands
		}
		x = l.field(l.expr(e.X), e, sel)
		at := &x.(*ast.SelectorExpr).X
		for range len(sel.Index()) - 1 {
			at = &(*at).(*ast.SelectorExpr).X
		}
		return x, []operand{{at, l.typeOf(e.X)}}
	}
	return l.value(e), nil
}

// hold stores the operands of places.
func (l *Lowerer) hold(operands []operand) {
	for _, o := range operands {
		*o.x = l.kept(*o.x, o.t)
	}
}

// assignTo assigns the values of source expressions to rewritten places of the given types (nil: the blank).
func (l *Lowerer) assignTo(lhs []ast.Expr, ts []types.Type, operands []operand, rhs []ast.Expr) []ast.Stmt {
	if len(lhs) == 1 {
		return l.assignOne(lhs[0], ts[0], rhs[0], false)
	}
	if len(rhs) != len(lhs) {
		return l.assignResults(lhs, ts, operands, rhs[0])
	}
	values := make([]ast.Expr, len(lhs))
	for i, e := range rhs {
		if t := ts[i]; t != nil {
			values[i] = l.convert(l.expr(e), l.typeOf(e), t)
		} else if !isNil(l.typeOf(e)) {
			l.drop(e)
		}
	}
	l.hold(operands)
	for i, t := range ts {
		if t != nil && (i > 0 || replaces(values[i])) {
			values[i] = l.kept(values[i], t)
		}
	}
	return l.assignAll(lhs, values)
}

// assignResults assigns the values of one expression: of a call, or a value and whether it is there.
func (l *Lowerer) assignResults(lhs []ast.Expr, ts []types.Type, operands []operand, e ast.Expr) []ast.Stmt {
	e = ast.Unparen(e)
	from := Results(l.typeOf(e))
	values := make([]ast.Expr, len(lhs))
	switch e := e.(type) {
	case *ast.TypeAssertExpr:
		_, values[0], values[1] = l.asserted(e)
	case *ast.UnaryExpr:
		values[0], values[1] = l.receiveOK(e)
	default:
		x := l.value(e)
		l.pos = e.Pos()
		call, _ := e.(*ast.CallExpr)
		temps := make([]ast.Expr, len(lhs))
		for i, t := range ts {
			switch {
			case call == nil: // an element that is not there leaves the variable as it is
				temps[i] = l.id(l.variable(from[i]))
			case t == nil:
				temps[i] = l.id("_")
				continue
			default:
				temps[i] = l.tempOf(from[i])
			}
			values[i] = l.id(temps[i].(*ast.Ident).Name)
		}
		l.emit(&ast.AssignStmt{Lhs: temps, TokPos: l.pos, Tok: token.ASSIGN, Rhs: []ast.Expr{x}})
	}
	l.hold(operands)
	for i, t := range ts {
		if t != nil {
			values[i] = l.convert(values[i], from[i], t)
		}
	}
	return l.assignAll(lhs, values)
}

// assignAll assigns values that are known, from left to right.
func (l *Lowerer) assignAll(places, values []ast.Expr) (list []ast.Stmt) {
	for i, x := range places {
		if !isBlank(x) && values[i] != nil {
			list = append(list, l.assign(token.ASSIGN, x, values[i]))
		}
	}
	return list
}

// assignPlaces assigns variables of the given types to places that are source expressions.
func (l *Lowerer) assignPlaces(to []ast.Expr, from []string, ts []types.Type) []ast.Stmt {
	return l.collect(func() {
		places, values := make([]ast.Expr, len(to)), make([]ast.Expr, len(to))
		var operands []operand
		for i, e := range to {
			var of []operand
			if places[i], of = l.place(e); i > 0 {
				operands = append(operands, of...)
			}
			values[i] = l.convert(l.id(from[i]), ts[i], l.typeOf(e))
		}
		l.hold(operands)
		l.emit(l.assignAll(places, values)...)
	})
}

// assignOne assigns one value. Fresh says that the place is a variable that was declared just before.
func (l *Lowerer) assignOne(place ast.Expr, t types.Type, e ast.Expr, fresh bool) []ast.Stmt {
	if t == nil {
		if !isNil(l.typeOf(e)) {
			l.drop(e)
		}
		return nil
	}
	pos := l.pos
	x := l.convert(l.value(e), l.typeOf(e), t)
	l.pos = pos
	_, variable := place.(*ast.Ident)
	switch {
	case isA[*types.Signature](t) && replaces(x): // a function from compiled code cannot be replaced by another later
		x = l.temp(x, t)
	case fresh:
	case variable && l.shared(place) && replaces(x), !variable && l.effects(e):
		x = l.temp(x, t)
	}
	return []ast.Stmt{l.assign(token.ASSIGN, place, x)}
}

// drop evaluates an expression whose value is not used. The interpreter does not evaluate each of them.
func (l *Lowerer) drop(e ast.Expr) {
	if _, ok := l.typeOf(e).(*types.Tuple); ok {
		l.emit(l.do(l.value(e)))
		return
	}
	l.temp(l.value(e), l.typeOf(e))
}

func allIdents(list []ast.Expr) bool {
	return !slices.ContainsFunc(list, func(e ast.Expr) bool { _, ok := e.(*ast.Ident); return !ok })
}

// replaces says whether the interpreter may replace the variable when it assigns such a value to it, or
// may let a function use the variable as its result before the function returns. A pointer to the variable
// or a closure over it would see that.
func replaces(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr, *ast.CompositeLit:
		return true
	case *ast.UnaryExpr:
		return x.Op == token.AND
	}
	return false
}

// shared says whether other code may see a variable: the session's variables, results of a function with
// deferred calls, and variables that a closure or pointer in this function has.
func (l *Lowerer) shared(x ast.Expr) bool {
	name := x.(*ast.Ident).Name
	return !IsTemporary(name) && (l.fn.shared == nil || l.fn.shared[name])
}

// calls says whether an expression calls something.
func calls(e ast.Expr) bool { return walk.Has[*ast.CallExpr](e) }
