package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

// The interpreter gets no methods and no interfaces with methods from cells: it would find methods late,
// slowly, and by names that several types share. A method is lowered to a function whose first parameter
// is the receiver. An interface that a cell declares is lowered to any. A call through an interface is
// lowered to a call of package rt, which finds the method by the value's type.

// MethodName returns the interpreter's name of a method. It contains a middle dot, which no name of a cell
// does.
func (l *Lowerer) MethodName(m *types.Func) string {
	return l.typ(walk.Deref(types.Unalias(m.Signature().Recv().Type()))).(*ast.Ident).Name + "·" + m.Name()
}

// invoke writes x.Method(args), where x has type t.
func (l *Lowerer) invoke(x ast.Expr, t types.Type, sel *types.Selection, args ...ast.Expr) *ast.CallExpr {
	x, t = l.walk(x, t, sel)
	return l.invokeOn(x, t, sel.Obj().(*types.Func), args...)
}

// invokeOn writes the call of a method that is declared for type t, or for a pointer to it.
func (l *Lowerer) invokeOn(x ast.Expr, t types.Type, m *types.Func, args ...ast.Expr) *ast.CallExpr {
	if types.IsInterface(t) {
		if l.inAny(t) {
			return l.call(l.id(l.dispatcher(m)), append([]ast.Expr{x}, args...)...)
		}
		if name, ok := guarded(m); ok {
			return l.call(l.sel(l.id(l.env.Package(m.Pkg().Path())), name), append([]ast.Expr{x}, args...)...)
		}
		return l.call(l.sel(x, m.Name()), args...)
	}
	recv := m.Signature().Recv().Type()
	if name, ok := guarded(m); ok {
		return l.call(l.sel(l.id(l.env.Package(m.Pkg().Path())), name), append([]ast.Expr{l.receiver(x, t, recv)}, args...)...)
	}
	if n, ok := types.Unalias(walk.Deref(types.Unalias(recv))).(*types.Named); ok && l.ownType(n) {
		return l.call(l.id(l.MethodName(m)), append([]ast.Expr{l.receiver(x, t, recv)}, args...)...)
	}
	return l.call(l.sel(x, m.Name()), args...)
}

// receiver makes a receiver of type recv from x, which is a recv or a pointer to one.
func (l *Lowerer) receiver(x ast.Expr, t, recv types.Type) ast.Expr {
	switch {
	case isPointer(recv) && !isPointer(t):
		return l.addr(x)
	case !isPointer(recv) && isPointer(t) && types.Identical(t.Underlying().(*types.Pointer).Elem(), recv):
		return &ast.StarExpr{Star: l.pos, X: x}
	}
	return x
}

// walk writes the embedded fields on the way to a selected member, without the last step, and returns the
// type that it reaches.
func (l *Lowerer) walk(x ast.Expr, t types.Type, sel *types.Selection) (ast.Expr, types.Type) {
	for _, i := range sel.Index()[:len(sel.Index())-1] {
		f := walk.Deref(t).Underlying().(*types.Struct).Field(i)
		x, t = l.sel(x, l.fieldName(f)), f.Type()
	}
	return x, t
}

// dispatcher returns the variable with the function that calls an interface's method.
func (l *Lowerer) dispatcher(m *types.Func) string {
	sig := m.Signature()
	plain := types.NewSignatureType(nil, nil, nil, sig.Params(), sig.Results(), sig.Variadic())
	return l.env.Dispatcher(m.Id(), plain, func() ast.Expr {
		ft := l.signature(plain, nil)
		ft.Params.List = append([]*ast.Field{{Type: l.id("any")}}, ft.Params.List...)
		return ft
	})
}

// MethodFunc writes a method of t, or of a pointer to it, as a function whose first parameter is the
// receiver, or a pointer to it.
func (l *Lowerer) MethodFunc(t types.Type, sel *types.Selection, pos token.Pos) (x ast.Expr, err error) {
	err = guard(func() {
		l.pos = pos
		m := sel.Obj().(*types.Func)
		sig := m.Signature()
		if n, ok := types.Unalias(t).(*types.Named); ok && len(sel.Index()) == 1 && l.ownType(n) { // it is such a function already
			x = l.id(l.MethodName(m))
			return
		}
		p, pt := l.fresh("p"), types.Type(types.NewPointer(t))
		if len(sel.Index()) == 1 && !isPointer(sig.Recv().Type()) {
			pt = t
		}
		lit := l.passing(sig, func(args []ast.Expr) *ast.CallExpr { return l.invoke(l.id(p), pt, sel, args...) })
		lit.Type.Params.List = append([]*ast.Field{{Names: []*ast.Ident{l.id(p)}, Type: l.typ(pt)}}, lit.Type.Params.List...)
		x = lit
	})
	return x, err
}
