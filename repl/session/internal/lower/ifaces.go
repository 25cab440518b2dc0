package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

// How values become values of interfaces. Package rt says how interfaces hold them.

// ownType says whether only the interpreter has a named type: a cell has declared it, or it is an instance
// of a generic type.
func (l *Lowerer) ownType(n *types.Named) bool {
	o := n.Origin().Obj()
	if o.Pkg() == nil {
		return false
	}
	if n.TypeArgs().Len() > 0 {
		if _, ok := n.Underlying().(*types.Signature); !ok {
			return true
		}
	}
	return l.own(o)
}

// own says whether a type was declared in a cell.
func (l *Lowerer) own(o *types.TypeName) bool {
	return o.Parent() == nil || o.Parent() != o.Pkg().Scope() || l.env.Name(o) != ""
}

// ownInterface says whether an interface type was declared in cells, or has no name.
func (l *Lowerer) ownInterface(t types.Type) bool {
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return l.ownType(n)
	}
	return true
}

// inAny says whether values of an interface type are kept in an any.
func (l *Lowerer) inAny(t types.Type) bool {
	return types.IsInterface(t) && (isAny(t) || l.ownInterface(t))
}

// boxed says whether values of a type need a box in an interface, because reflection would report another
// type.
func (l *Lowerer) boxed(t types.Type) bool {
	t = types.Unalias(t)
	if known, ok := l.boxes[t]; ok {
		return known
	}
	l.boxes[t] = false // for a type that contains itself, the other parts decide
	yes := l.needsBox(t)
	l.boxes[t] = yes
	return yes
}

func (l *Lowerer) needsBox(t types.Type) bool {
	switch t := t.(type) {
	case *types.Named:
		return l.ownType(t) || t.TypeArgs().Len() > 0
	case *types.Struct:
		return t.NumFields() > 0 // the names of fields are the interpreter's
	case *types.Interface:
		return t.NumMethods() > 0
	}
	return slices.ContainsFunc(walk.Parts(t), l.boxed)
}

// boxKey returns the number of a type whose values need boxes, and 0 for another type.
func (l *Lowerer) boxKey(t types.Type) int {
	if !l.boxed(t) {
		return 0
	}
	return l.env.TypeKey(types.Unalias(t))
}

// converts says whether a value of one type has to be rewritten to become one of the other.
func (l *Lowerer) converts(from, to types.Type) bool {
	switch {
	case structConversion(from, to):
		return true
	case from == nil || to == nil || !types.IsInterface(to) || isNil(from):
		return false
	case types.IsInterface(from):
		return l.inAny(from) != l.inAny(to)
	}
	return true
}

// structConversion says whether one of the types is a struct type with a name and the other the same
// struct without one: the interpreter takes them for different types.
func structConversion(from, to types.Type) bool {
	if from == nil || to == nil || types.Identical(from, to) {
		return false
	}
	_, a := from.Underlying().(*types.Struct)
	_, b := to.Underlying().(*types.Struct)
	return a && b
}

// convert makes an implicit conversion of x explicit: to an interface type, or between a struct type with
// a name and one without.
func (l *Lowerer) convert(x ast.Expr, from, to types.Type) ast.Expr {
	if structConversion(from, to) {
		return l.call(l.typ(to), x)
	}
	l.refuseEnd(x.Pos(), from, to)
	if from == nil || to == nil || !types.IsInterface(to) {
		return x
	}
	if n, ok := types.Unalias(to).(*types.Named); ok && n.Obj().Pkg() != nil && !l.inAny(to) {
		l.env.Package(n.Obj().Pkg().Path()) // the interpreter looks for the interface's wrapper there, also for a nil
	}
	if isNil(from) {
		return x
	}
	if types.IsInterface(from) {
		return l.reinterface(x, from, to)
	}
	if untyped(x) { // the interpreter would store a constant as if the interface were of its type
		x = l.temp(x, from)
	}
	switch {
	case !l.boxed(from):
		return x
	case l.inAny(to):
		return l.rt("Box", l.int(l.boxKey(from)), x)
	}
	return l.filled(to, func(dst ast.Expr) ast.Expr { return l.rt("Wrap", l.int(l.boxKey(from)), x, dst) })
}

// reinterface converts an interface to another.
func (l *Lowerer) reinterface(x ast.Expr, from, to types.Type) ast.Expr {
	switch in, into := l.inAny(from), l.inAny(to); {
	case in == into:
		return x
	case into:
		return l.rt("Open", x)
	}
	return l.filled(to, func(dst ast.Expr) ast.Expr { return l.rt("Become", x, dst) })
}

// filled is a variable of type t that a call sets through a pointer.
func (l *Lowerer) filled(t types.Type, set func(dst ast.Expr) ast.Expr) ast.Expr {
	v := l.variable(t)
	l.emit(l.do(set(l.addr(l.id(v)))))
	return l.id(v)
}

// untyped says whether the interpreter takes the type of x from where it is stored: x is a comparison, a
// logical operation, a remainder, or a shift.
func untyped(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.BinaryExpr:
		switch x.Op {
		case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ, token.LAND, token.LOR,
			token.REM, token.SHL, token.SHR:
			return true
		}
	case *ast.UnaryExpr:
		_, constant := x.X.(*ast.BasicLit)
		return x.Op == token.NOT || (x.Op == token.SUB || x.Op == token.XOR) && !constant
	}
	return false
}
