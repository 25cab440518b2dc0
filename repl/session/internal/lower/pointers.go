package lower

import (
	"go/ast"
	"go/types"
)

// Package unsafe, which the interpreter does not have, as calls of package rt.

// isUnsafe says whether values of a type are pointers of package unsafe.
func isUnsafe(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.UnsafePointer
}

var unsafePointer = types.Typ[types.UnsafePointer]

// unsafeConversion is the conversion of x from one type to another where one of them is unsafe.Pointer; nil
// for others.
func (l *Lowerer) unsafeConversion(x ast.Expr, from, to types.Type) ast.Expr {
	switch toUnsafe := isUnsafe(to); {
	case toUnsafe && isPointer(from):
		x = l.rt("PointerOf", x)
	case toUnsafe && !isUnsafe(from):
		x = l.rt("PointerAt", l.call(l.id("uintptr"), x))
	case !toUnsafe && !isUnsafe(from):
		return nil
	case isPointer(to):
		return l.filled(to, func(dst ast.Expr) ast.Expr { return l.rt("PointTo", x, dst) })
	case !toUnsafe:
		x, from = l.rt("Address", x), types.Typ[types.Uintptr]
		if types.Identical(from, to) {
			return x
		}
		return l.call(l.typ(to), x)
	}
	if types.Identical(to, unsafePointer) {
		return x
	}
	return l.call(l.typ(to), x)
}

// unsafeCall writes a call of a function of package unsafe that is not a constant.
func (l *Lowerer) unsafeCall(e *ast.CallExpr, name string) ast.Expr {
	arg := func(i int) ast.Expr { return l.expr(e.Args[i]) }
	length := func() ast.Expr { return l.call(l.id("int"), arg(1)) }
	t := l.typeOf(e)
	switch name {
	case "unsafe.Add":
		return l.rt("PointerAdd", arg(0), length())
	case "unsafe.String":
		return l.rt("StringAt", arg(0), length())
	case "unsafe.StringData":
		return l.rt("StringData", arg(0))
	case "unsafe.SliceData":
		x := arg(0)
		return l.filled(t, func(dst ast.Expr) ast.Expr { return l.rt("DataOf", x, dst) })
	case "unsafe.Slice":
		x, n := arg(0), length()
		return l.filled(t, func(dst ast.Expr) ast.Expr { return l.rt("SliceAt", x, n, dst) })
	}
	l.refuse(e.Pos(), "%s is not available in cells", name)
	return nil
}
