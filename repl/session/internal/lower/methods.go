package lower

import (
	"go/ast"
	"go/token"
	"go/types"
)

// The interpreter sees neither methods nor interfaces with methods of its own: it finds methods late, slowly
// and by names that several types share. A method is lowered to a function that takes the receiver first; an
// interface that a cell declares, to any; a call through one, to a call of package rt that finds the method
// by the value's type.

// MethodName is the interpreter's name of a method. The dot in the middle of the line is in no name of a
// cell.
func (l *Lowerer) MethodName(m *types.Func) string {
	return l.typ(deref(types.Unalias(m.Signature().Recv().Type()))).(*ast.Ident).Name + "·" + m.Name()
}

// invoke writes x.Method(args), where x has type t.
func (l *Lowerer) invoke(x ast.Expr, t types.Type, sel *types.Selection, args ...ast.Expr) *ast.CallExpr {
	x, t = l.walk(x, t, sel)
	return l.invokeOn(x, t, sel.Obj().(*types.Func), args...)
}

// invokeOn writes the call of a method that a value of type t, or a pointer to it, has by itself.
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
	if n, ok := types.Unalias(deref(types.Unalias(recv))).(*types.Named); ok && l.ownType(n) {
		return l.call(l.id(l.MethodName(m)), append([]ast.Expr{l.receiver(x, t, recv)}, args...)...)
	}
	return l.call(l.sel(x, m.Name()), args...)
}

// receiver makes a receiver of type recv of x, which is one or a pointer to one.
func (l *Lowerer) receiver(x ast.Expr, t, recv types.Type) ast.Expr {
	switch {
	case isPointer(recv) && !isPointer(t):
		return l.addr(x)
	case !isPointer(recv) && isPointer(t) && types.Identical(t.Underlying().(*types.Pointer).Elem(), recv):
		return &ast.StarExpr{Star: l.pos, X: x}
	}
	return x
}

// walk applies the embedded fields that a selection goes through, all but the last step, and says of what
// type the result is.
func (l *Lowerer) walk(x ast.Expr, t types.Type, sel *types.Selection) (ast.Expr, types.Type) {
	for _, i := range sel.Index()[:len(sel.Index())-1] {
		f := deref(t).Underlying().(*types.Struct).Field(i)
		x, t = l.sel(x, l.fieldName(f)), f.Type()
	}
	return x, t
}

// dispatcher is the variable with the function that calls an interface's method.
func (l *Lowerer) dispatcher(m *types.Func) string {
	sig := m.Signature()
	plain := types.NewSignatureType(nil, nil, nil, sig.Params(), sig.Results(), sig.Variadic())
	return l.env.Dispatcher(m.Id(), plain, func() ast.Expr {
		ft := l.signature(plain, nil)
		ft.Params.List = append([]*ast.Field{{Type: l.id("any")}}, ft.Params.List...)
		return ft
	})
}

func deref(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// MethodFunc is a method of t, or of a pointer to it, as a function that takes the receiver, or a pointer to
// it, first.
func (l *Lowerer) MethodFunc(t types.Type, sel *types.Selection, pos token.Pos) (x ast.Expr, err error) {
	err = guard(func() {
		l.pos = pos
		m := sel.Obj().(*types.Func)
		sig := m.Signature()
		if n, ok := types.Unalias(t).(*types.Named); ok && len(sel.Index()) == 1 && l.ownType(n) { // it is one already
			x = l.id(l.MethodName(m))
			return
		}
		names := make([]string, sig.Params().Len())
		var args []ast.Expr
		for i := range names {
			names[i] = l.fresh("a")
			args = append(args, l.id(names[i]))
		}
		ft := l.signature(sig, names)
		p, pt := l.fresh("p"), types.Type(types.NewPointer(t))
		if len(sel.Index()) == 1 && !isPointer(sig.Recv().Type()) {
			pt = t
		}
		ft.Params.List = append([]*ast.Field{{Names: []*ast.Ident{l.id(p)}, Type: l.typ(pt)}}, ft.Params.List...)
		call := l.invoke(l.id(p), pt, sel, args...)
		if sig.Variadic() {
			call.Ellipsis = pos
		}
		body := l.do(call)
		if sig.Results().Len() > 0 {
			body = l.ret(call)
		}
		x = &ast.FuncLit{Type: ft, Body: l.block(body)}
	})
	return x, err
}
