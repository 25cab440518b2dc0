package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

// An expression that the interpreter runs rightly as a whole stays whole. Of any other, the parts that act (a
// call, a slice, && and ||) are taken out, in the compiler's order: each becomes a statement before
// the one at hand, that stores its value in a temporary variable. Variables, elements and fields are read
// late, where the rest of the expression is, as the compiler does it.
//
// Temporary variables are declared at the start of the function, and belong to a statement until it ends;
// then others use them. Nothing but the statement sees them, so their declarations need not run: package
// yaegi makes no steps of them. A call and a sum store their values there directly. So a temporary variable
// costs what the interpreter's own place for the value would.

// IsTemporary says whether a name is that of a temporary variable.
func IsTemporary(name string) bool { return strings.HasPrefix(name, temporary) }

const temporary = "__tmp"

// temporaries are those of one function of lowered code.
type temporaries struct {
	list []tempVar
	busy []int // those in use, in the order of their use
}

type tempVar struct {
	name string
	t    types.Type
	used bool
}

// emit adds statements that run before the one at hand.
func (l *Lowerer) emit(list ...ast.Stmt) {
	if len(l.out) == 0 {
		l.out = slices.Clip(list)
		return
	}
	l.out = append(l.out, list...)
}

// collect returns the statements that f emits.
func (l *Lowerer) collect(f func()) (list []ast.Stmt) {
	outer := l.out
	l.out = nil
	f()
	list, l.out = l.out, outer
	return list
}

// scope returns the statements that f makes for the body of a function of lowered code, with declarations of
// the temporary variables in it.
func (l *Lowerer) scope(f func() []ast.Stmt) []ast.Stmt {
	outer, apart, out := l.temps, l.apart, l.out
	l.temps, l.apart, l.out = new(temporaries), false, nil
	l.emit(f()...)
	list := l.out
	var decls []ast.Stmt
	for _, v := range l.temps.list {
		decls = append(decls, l.declare(v.name, l.typ(v.t)))
	}
	l.temps, l.apart, l.out = outer, apart, out
	if len(decls) == 0 {
		return list
	}
	return append(decls, list...)
}

// release frees all variables but the first n that are in use.
func (t *temporaries) release(n int) {
	for _, i := range t.busy[n:] {
		t.list[i].used = false
	}
	t.busy = t.busy[:n]
}

// tempOf takes a temporary variable. A function gets a variable that no other value had or will have, because
// the interpreter replaces it.
func (l *Lowerer) tempOf(t types.Type) *ast.Ident {
	if isA[*types.Signature](t) {
		return l.id(l.variable(t))
	}
	i := slices.IndexFunc(l.temps.list, func(v tempVar) bool { return !v.used && types.Identical(v.t, t) })
	if i < 0 {
		i = len(l.temps.list)
		l.temps.list = append(l.temps.list, tempVar{name: l.fresh("tmp"), t: t})
	}
	l.temps.list[i].used = true
	l.temps.busy = append(l.temps.busy, i)
	return l.id(l.temps.list[i].name)
}

// temp stores a value of type t in a variable.
func (l *Lowerer) temp(x ast.Expr, t types.Type) ast.Expr {
	t = types.Default(t)
	if !nameable(t) {
		v := l.fresh("u")
		l.emit(l.define(v, x))
		return l.id(v)
	}
	v := l.tempOf(t)
	l.emit(l.assign(token.ASSIGN, v, x))
	return l.id(v.Name)
}

// kept is temp for a value that must not change when a variable does; constants and temporary variables need
// no other.
func (l *Lowerer) kept(x ast.Expr, t types.Type) ast.Expr {
	switch y := x.(type) {
	case *ast.BasicLit:
		return x
	case *ast.Ident:
		if strings.HasPrefix(y.Name, "__") || y.Name == "true" || y.Name == "false" || y.Name == "nil" {
			return x
		}
	}
	return l.temp(x, t)
}

// variable declares a variable of its own for a value that something may point to. It is zero.
func (l *Lowerer) variable(t types.Type) string {
	v := l.fresh("v")
	l.emit(l.declare(v, l.typ(t)))
	return v
}

// acts says whether the value of an expression has to be stored where parts are taken out, since the compiler
// does so, too.
func (l *Lowerer) acts(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		return l.effect(e) && len(Results(l.typeOf(e))) == 1
	case *ast.SliceExpr:
		return true
	case *ast.BinaryExpr:
		return e.Op == token.LAND || e.Op == token.LOR
	}
	return false
}

// effect says whether a node by itself may do something that other parts of its statement see.
func (l *Lowerer) effect(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if tv := l.info.Types[n.Fun]; tv.IsType() || l.info.Types[n].Value != nil {
			return false
		}
		switch l.builtin(n) {
		case "len", "cap", "real", "imag", "complex":
			return false
		}
		return true
	case *ast.UnaryExpr:
		return n.Op == token.ARROW
	case *ast.TypeAssertExpr:
		return true
	}
	return false
}

// effects says whether something in an expression has an effect, or panics otherwise than by an index or a
// nil pointer.
func (l *Lowerer) effects(e ast.Node) bool {
	return walk.AnyOwn(e, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		return l.effect(n) || ok && l.riskyOperation(b.Op, b.X, b.Y)
	})
}

// takesApart says whether the parts that act have to be taken out of a statement: unless there is none but
// one that is all of it.
func (l *Lowerer) takesApart(s ast.Stmt) bool {
	var root ast.Expr
	switch s := s.(type) {
	case *ast.ExprStmt:
		root = ast.Unparen(s.X)
	case *ast.AssignStmt:
		if len(s.Rhs) == 1 && allIdents(s.Lhs) {
			root = ast.Unparen(s.Rhs[0])
		}
	case *ast.ReturnStmt:
		if len(s.Results) == 1 {
			root = ast.Unparen(s.Results[0])
		}
	case *ast.IfStmt:
		if s.Init == nil {
			root = ast.Unparen(s.Cond)
		}
	case *ast.SelectStmt:
		return true
	}
	w := partWalker{l: l, root: root}
	for _, n := range header(s) {
		ast.Walk(&w, n)
	}
	return w.found
}

// A partWalker looks for a part with an effect besides the root.
type partWalker struct {
	l     *Lowerer
	root  ast.Expr
	found bool
}

func (w *partWalker) Visit(n ast.Node) ast.Visitor {
	if _, literal := n.(*ast.FuncLit); literal || n == nil || w.found {
		return nil
	}
	w.found = n != ast.Node(w.root) && w.l.effect(n)
	return w
}

// condition rewrites an expression whose value decides where to go on. The interpreter branches rightly on
// variables, comparisons, calls, and what is made of them by !, && and ||.
func (l *Lowerer) condition(e ast.Expr) ast.Expr {
	x := l.value(ast.Unparen(e))
	conv, ok := ast.Unparen(e).(*ast.CallExpr)
	if ok && l.info.Types[conv.Fun].IsType() && l.info.Types[e].Value == nil || !branches(x) {
		return l.temp(x, l.typeOf(e))
	}
	return x
}

// branches says whether the interpreter branches rightly on x. It takes the first part of x that runs for a
// condition, which it is not if x begins with a type, a key, or a parenthesis.
func branches(x ast.Expr) bool {
	right := true
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil, *ast.Ident, *ast.BasicLit, *ast.SelectorExpr, *ast.IndexExpr, *ast.StarExpr, *ast.BinaryExpr, *ast.SliceExpr:
		case *ast.UnaryExpr:
			right = right && n.Op != token.AND
		case *ast.CallExpr:
			switch n.Fun.(type) {
			case *ast.Ident, *ast.SelectorExpr:
			default:
				right = false
			}
		default:
			right = false
		}
		return right
	})
	return right
}

// both is x && y (LAND) or x || y (LOR), where statements have to run before y.
func (l *Lowerer) both(op token.Token, x ast.Expr, before []ast.Stmt, y ast.Expr, t types.Type) ast.Expr {
	if len(before) == 0 {
		return l.binary(x, op, y)
	}
	v := l.temp(x, t)
	cond := l.id(v.(*ast.Ident).Name)
	then := l.ifs(cond, append(before, l.assign(token.ASSIGN, l.id(cond.Name), y))...)
	if op == token.LOR {
		then.Cond = l.not(cond)
	}
	l.emit(then)
	return l.id(cond.Name)
}
