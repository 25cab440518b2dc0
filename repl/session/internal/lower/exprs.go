package lower

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

func (l *Lowerer) exprs(list []ast.Expr) []ast.Expr {
	out := make([]ast.Expr, len(list))
	for i, e := range list {
		out[i] = l.expr(e)
	}
	return out
}

// expr rewrites an operand.
func (l *Lowerer) expr(e ast.Expr) ast.Expr {
	x := l.value(e)
	if e = ast.Unparen(e); l.apart && e != nil && l.acts(e) && l.info.Types[e].Value == nil {
		if _, name := x.(*ast.Ident); !name {
			return l.temp(x, l.typeOf(e))
		}
	}
	return x
}

// value rewrites an expression. What acts in its operands is taken out, if it is of a statement that is taken
// apart. Types and constants are written out from the checker's facts.
func (l *Lowerer) value(e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	l.pos = e.Pos()
	if tv, ok := l.info.Types[e]; ok {
		switch {
		case tv.IsType():
			return l.typ(tv.Type)
		case tv.Value != nil:
			return l.constant(tv.Value, tv.Type)
		}
	}
	if id := l.declaredFunc(e); id != nil { // the interpreter would pass its own description of it
		return l.temp(l.ident(id), l.typeOf(e))
	}
	switch e := e.(type) {
	case *ast.Ident:
		return l.ident(e)
	case *ast.BasicLit:
		return e
	case *ast.ParenExpr:
		return l.value(e.X)
	case *ast.FuncLit:
		return l.funcLit(e)
	case *ast.CompositeLit:
		return l.composite(e, l.typeOf(e))
	case *ast.SelectorExpr:
		return l.selector(e)
	case *ast.IndexExpr:
		return l.index(e)
	case *ast.IndexListExpr:
		return l.instantiation(e.X)
	case *ast.SliceExpr:
		return &ast.SliceExpr{X: l.expr(e.X), Lbrack: e.Lbrack, Low: l.expr(e.Low), High: l.expr(e.High), Max: l.expr(e.Max), Slice3: e.Slice3, Rbrack: e.Rbrack}
	case *ast.StarExpr:
		return &ast.StarExpr{Star: e.Star, X: l.expr(e.X)}
	case *ast.UnaryExpr:
		return l.unary(e)
	case *ast.BinaryExpr:
		return l.binaryExpr(e)
	case *ast.CallExpr:
		return l.callExpr(e)
	case *ast.TypeAssertExpr:
		return l.assertion(e)
	}
	l.refuse(e.Pos(), "%T is not available in cells", e)
	return nil
}

func (l *Lowerer) ident(e *ast.Ident) ast.Expr {
	o := l.object(e)
	if inst, ok := l.info.Instances[e]; ok {
		return l.instanceOf(o, inst)
	}
	return l.renamed(o, e.Name)
}

func (l *Lowerer) renamed(o types.Object, name string) ast.Expr {
	if o == nil || name == "_" {
		return l.id(name)
	}
	if n := l.locals[o]; n != "" {
		return l.id(n)
	}
	if n := l.env.Name(o); n != "" {
		return l.id(n)
	}
	if p := o.Pkg(); p != nil && !Interpreted(p) && o.Parent() == p.Scope() { // imported with a dot
		return l.sel(l.id(l.env.Package(p.Path())), name)
	}
	return l.id(name)
}

func (l *Lowerer) instanceOf(o types.Object, inst types.Instance) ast.Expr {
	args := make([]types.Type, inst.TypeArgs.Len())
	for i := range args {
		args[i] = inst.TypeArgs.At(i)
	}
	return l.instance(o, args)
}

// instantiation is f[T] for a generic function f.
func (l *Lowerer) instantiation(x ast.Expr) ast.Expr {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		return l.instanceOf(l.info.Uses[x], l.info.Instances[x])
	case *ast.SelectorExpr:
		return l.instanceOf(l.info.Uses[x.Sel], l.info.Instances[x.Sel])
	}
	l.refuse(x.Pos(), "this instantiation is not available in cells")
	return nil
}

func (l *Lowerer) index(e *ast.IndexExpr) ast.Expr {
	if _, ok := l.typeOf(e.X).(*types.Signature); ok {
		return l.instantiation(e.X)
	}
	x := l.expr(e.X)
	if isPointer(l.typeOf(e.X)) { // the interpreter takes no address of an element of *p if p is written for it
		x = &ast.ParenExpr{X: &ast.StarExpr{Star: e.Pos(), X: x}}
	}
	key, _ := l.key(e)
	return &ast.IndexExpr{X: x, Lbrack: e.Lbrack, Index: key, Rbrack: e.Rbrack}
}

// key rewrites an index or a key, and returns its type.
func (l *Lowerer) key(e *ast.IndexExpr) (ast.Expr, types.Type) {
	key, t := l.expr(e.Index), l.typeOf(e.Index)
	if m, ok := l.typeOf(e.X).Underlying().(*types.Map); ok {
		return l.mapKey(key, t, m), m.Key()
	}
	return key, t
}

// mapKey converts a key to the map's key type; the interpreter finds no type for nil.
func (l *Lowerer) mapKey(x ast.Expr, t types.Type, m *types.Map) ast.Expr {
	if isNil(t) {
		return l.zero(m.Key())
	}
	return l.convert(x, t, m.Key())
}

// selector writes promoted fields and methods with their path: the interpreter finds an embedded one only
// sometimes.
func (l *Lowerer) selector(e *ast.SelectorExpr) ast.Expr {
	if id, ok := e.X.(*ast.Ident); ok {
		if p, ok := l.info.Uses[id].(*types.PkgName); ok {
			return l.qualified(p.Imported(), e)
		}
	}
	sel := l.info.Selections[e]
	if sel == nil {
		return l.sel(l.expr(e.X), e.Sel.Name)
	}
	switch sel.Kind() {
	case types.MethodExpr:
		// T.Method becomes a function literal: the interpreter panics on it.
		return l.passing(sel.Type().(*types.Signature), func(args []ast.Expr) *ast.CallExpr {
			return l.invoke(args[0], sel.Recv(), sel, args[1:]...)
		})
	case types.MethodVal:
		return l.methodValue(e, sel)
	}
	from := e.X
	if star, ok := ast.Unparen(e.X).(*ast.StarExpr); ok && !isPointer(l.typeOf(star)) {
		from = star.X // among the elements of a literal the interpreter takes *x for a type
	}
	return l.field(l.expr(from), e, sel)
}

// field is a field or method of x, with the embedded fields on the way to it.
func (l *Lowerer) field(x ast.Expr, e *ast.SelectorExpr, sel *types.Selection) ast.Expr {
	x, _ = l.walk(x, sel.Recv(), sel)
	l.pos = e.Sel.Pos()
	if v, ok := sel.Obj().(*types.Var); ok {
		return l.sel(x, l.fieldName(v))
	}
	return l.sel(x, e.Sel.Name)
}

func (l *Lowerer) qualified(p *types.Package, e *ast.SelectorExpr) ast.Expr {
	o := l.info.Uses[e.Sel]
	if inst, ok := l.info.Instances[e.Sel]; ok {
		return l.instanceOf(o, inst)
	}
	if name := l.env.Name(o); name != "" {
		return l.id(name)
	}
	x := l.id(l.env.Package(p.Path()))
	l.pos = e.Sel.Pos()
	if _, ok := o.(*types.Var); ok { // the interpreter keeps the value that it has when the code is compiled
		return &ast.ParenExpr{X: &ast.StarExpr{Star: l.pos, X: l.sel(x, e.Sel.Name+PlaceOf)}}
	}
	return l.sel(x, e.Sel.Name)
}

// PlaceOf ends the name of a pointer to a variable of a compiled package.
const PlaceOf = "__place"

// methodValue writes x.Method as a function literal with x bound, if the method is not called: the
// interpreter takes the receiver for a parameter.
func (l *Lowerer) methodValue(e *ast.SelectorExpr, sel *types.Selection) ast.Expr {
	f := sel.Obj().(*types.Func)
	recv := f.Signature().Recv().Type()
	x, t := l.walk(l.expr(e.X), l.typeOf(e.X), sel)
	l.pos = e.Pos()
	if isPointer(recv) && !isPointer(t) && !types.IsInterface(t) {
		x, t = l.addr(x), types.NewPointer(t)
	}
	if isPointer(t) && !isPointer(recv) && !types.IsInterface(recv) { // the target of the pointer is copied now
		x, t = &ast.StarExpr{Star: l.pos, X: x}, recv
	}
	r := l.bind(x, t, l.pos).Name
	if types.IsInterface(t) {
		l.emit(l.nilCheck(r))
	}
	return l.passing(sel.Type().(*types.Signature), func(args []ast.Expr) *ast.CallExpr { return l.invokeOn(l.id(r), t, f, args...) })
}

// passing is a function literal that passes its arguments on to a call.
func (l *Lowerer) passing(sig *types.Signature, to func(args []ast.Expr) *ast.CallExpr) *ast.FuncLit {
	names := make([]string, sig.Params().Len())
	for i := range names {
		names[i] = l.fresh("a")
	}
	call := to(l.ids(names))
	if sig.Variadic() {
		call.Ellipsis = l.pos
	}
	body := l.do(call)
	if sig.Results().Len() > 0 {
		body = l.ret(call)
	}
	return &ast.FuncLit{Type: l.signature(sig, names), Body: l.block(body)}
}

func isPointer(t types.Type) bool { return walk.IsPointer(t) }

// nilCheck panics as a use of a nil interface does.
func (l *Lowerer) nilCheck(name string) ast.Stmt {
	return l.ifs(l.binary(l.id(name), token.EQL, l.id("nil")), l.do(l.rt("NilUsed")))
}

func (l *Lowerer) unary(e *ast.UnaryExpr) ast.Expr {
	switch e.Op {
	case token.ARROW:
		x, _ := l.receiveOK(e)
		return x
	case token.AND:
		if x, ok := ast.Unparen(e.X).(*ast.CompositeLit); ok {
			return l.addr(l.composite(x, l.typeOf(x)))
		}
	}
	x := l.expr(e.X)
	if p, ok := x.(*ast.ParenExpr); ok && e.Op == token.AND {
		if star, ok := p.X.(*ast.StarExpr); ok { // &*p is p
			return star.X
		}
	}
	return &ast.UnaryExpr{OpPos: e.OpPos, Op: e.Op, X: x}
}

func (l *Lowerer) binaryExpr(e *ast.BinaryExpr) ast.Expr {
	if e.Op == token.LAND || e.Op == token.LOR {
		x := l.condition(e.X)
		var y ast.Expr
		before := l.collect(func() { y = l.condition(e.Y) })
		l.pos = e.OpPos
		return l.both(e.Op, x, before, y, l.typeOf(e))
	}
	x, y := l.expr(e.X), l.expr(e.Y)
	tx, ty := l.typeOf(e.X), l.typeOf(e.Y)
	if e.Op == token.EQL || e.Op == token.NEQ {
		l.pos = e.OpPos
		// The interpreter compares an interface with a value of another type as if they had one type.
		if eq := l.compare(x, y, tx, ty); eq != nil {
			l.pos = e.OpPos
			if e.Op == token.NEQ {
				return l.not(eq)
			}
			return eq
		}
	}
	switch e.Op {
	case token.SHL, token.SHR:
		if lit, ok := ast.Unparen(x).(*ast.BasicLit); ok { // the interpreter would take the result for an untyped constant
			x = l.call(l.typ(tx), lit)
		}
		y = l.shiftCount(y, e.Y)
	case token.EQL, token.NEQ:
		x, y = l.alike(x, y, tx, ty)
	case token.QUO:
		if b, ok := ty.Underlying().(*types.Basic); ok && b.Info()&types.IsComplex != 0 && l.info.Types[e.Y].Value != nil {
			y = l.temp(y, tx) // the interpreter takes the constant for an integer
		}
	}
	return &ast.BinaryExpr{X: x, OpPos: e.OpPos, Op: e.Op, Y: y}
}

// shiftCount makes the count of a shift unsigned, because the interpreter accepts no other. A negative
// count panics.
func (l *Lowerer) shiftCount(x ast.Expr, e ast.Expr) ast.Expr {
	l.pos = e.Pos()
	tv := l.info.Types[e]
	if tv.Value != nil {
		return l.call(l.id("uint"), l.integer(constant.ToInt(tv.Value)))
	}
	b, ok := tv.Type.Underlying().(*types.Basic)
	switch {
	case !ok:
		return x
	case b.Info()&types.IsUnsigned != 0 || l.nonNegative(e):
		return l.call(l.id("uint"), x)
	}
	return l.rt("ShiftCount", l.call(l.id("int"), x))
}

// alike gives operands of == one type if they are assignable to each other: the interpreter compares no
// others.
func (l *Lowerer) alike(x, y ast.Expr, tx, ty types.Type) (ast.Expr, ast.Expr) {
	if isUntyped(tx) || isUntyped(ty) || types.Identical(tx, ty) {
		return x, y
	}
	if types.AssignableTo(ty, tx) {
		return x, l.call(l.typ(tx), y)
	}
	return l.call(l.typ(ty), x), y
}

func isUntyped(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsUntyped != 0
}

// nonNegative says whether the value of an integer expression is evidently not below zero.
func (l *Lowerer) nonNegative(e ast.Expr) bool {
	if tv := l.info.Types[e]; tv.Value != nil {
		return constant.Sign(constant.ToInt(tv.Value)) >= 0
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		if l.info.Types[e.Fun].IsType() { // a conversion that keeps the value
			from, to := l.typeOf(e.Args[0]), l.typeOf(e)
			b, ok := from.Underlying().(*types.Basic)
			return ok && b.Info()&types.IsInteger != 0 && l.size(from) < l.size(to) && (b.Info()&types.IsUnsigned != 0 || l.nonNegative(e.Args[0]))
		}
		name := l.builtin(e)
		return name == "len" || name == "cap"
	case *ast.BinaryExpr:
		switch e.Op {
		case token.AND:
			return l.nonNegative(e.X) || l.nonNegative(e.Y)
		case token.REM, token.SHR:
			return l.nonNegative(e.X)
		case token.QUO, token.OR:
			return l.nonNegative(e.X) && l.nonNegative(e.Y)
		}
	}
	return false
}

// compare writes x == y if one side is an interface or contains one. It returns nil if the operator itself
// is correct.
func (l *Lowerer) compare(x, y ast.Expr, tx, ty types.Type) ast.Expr {
	if holdsTensor(tx) || holdsTensor(ty) { // it would compare the handles, whatever the values are
		panic(&Error{Pos: l.pos, Msg: rt.HandlesCompared, Handles: true})
	}
	if isUnsafe(tx) && isNil(ty) {
		return l.rt("SamePlace", x, l.zero(unsafePointer))
	}
	if isUnsafe(ty) && (isNil(tx) || isUnsafe(tx)) {
		if isNil(tx) {
			x = l.zero(unsafePointer)
		}
		return l.rt("SamePlace", x, y)
	}
	if !holdsInterface(tx) && !holdsInterface(ty) || isNil(tx) || isNil(ty) {
		return nil
	}
	if !types.IsInterface(tx) && !types.IsInterface(ty) && !types.Identical(tx, ty) { // a struct with a name and one without
		x, y = l.alike(x, y, tx, ty)
		if types.AssignableTo(ty, tx) {
			ty = tx
		} else {
			tx = ty
		}
	}
	return l.rt("Equal", l.convert(x, tx, anyType), l.convert(y, ty, anyType))
}

// holdsTensor says whether == of a type compares tensors.
func holdsTensor(t types.Type) bool {
	return contains(t, func(t types.Type) bool {
		n, ok := types.Unalias(t).(*types.Named)
		return ok && n.Obj().Name() == "Tensor" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == rt.TensorPath
	})
}

// contains says whether is holds for a type, or for one whose values lie inside of its values.
func contains(t types.Type, is func(types.Type) bool) bool {
	switch u := t.Underlying().(type) {
	case *types.Array, *types.Struct:
		return is(t) || slices.ContainsFunc(walk.Parts(u), func(part types.Type) bool { return contains(part, is) })
	}
	return is(t)
}

var anyType = types.Universe.Lookup("any").Type()

func isNil(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Kind() == types.UntypedNil
}

// composite writes a literal with the types of all inner literals, and with promoted and versioned field
// names.
func (l *Lowerer) composite(e *ast.CompositeLit, t types.Type) ast.Expr {
	l.pos = e.Pos()
	if p, ok := t.Underlying().(*types.Pointer); ok { // elided &T
		l.info.Types[e] = types.TypeAndValue{Type: p.Elem()}
		return &ast.UnaryExpr{OpPos: e.Pos(), Op: token.AND, X: l.composite(e, p.Elem())}
	}
	out := &ast.CompositeLit{Type: l.typ(t), Lbrace: e.Lbrace, Rbrace: e.Rbrace}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		out.Elts = l.structElements(e, t, u)
	case *types.Slice:
		out.Elts = l.elements(e.Elts, nil, u.Elem())
	case *types.Array:
		out.Elts = l.elements(e.Elts, nil, u.Elem())
	case *types.Map:
		out.Elts = l.elements(e.Elts, u.Key(), u.Elem())
	}
	return out
}

// structElements writes the elements of a literal of type t, whose struct is u. It gives keys only to
// elements that the interpreter cannot compile without: elements that dereference, and functions for a
// compiled type.
func (l *Lowerer) structElements(e *ast.CompositeLit, t types.Type, u *types.Struct) []ast.Expr {
	var out, fields []ast.Expr
	n, named := types.Unalias(t).(*types.Named)
	keys := named && !l.ownType(n)
	for i, elt := range e.Elts {
		if kv, ok := elt.(*ast.KeyValueExpr); ok {
			v := l.info.Uses[kv.Key.(*ast.Ident)].(*types.Var)
			value := l.element(kv.Value, v.Type())
			l.pos = kv.Pos()
			out = append(out, &ast.KeyValueExpr{Key: l.id(l.fieldName(v)), Colon: kv.Colon, Value: value})
			continue
		}
		if u.Field(i).Name() == "_" { // the blank field has no value, and == ignores it
			if calls(elt) {
				l.drop(elt)
			}
			out = append(out, l.zero(u.Field(i).Type()))
			continue
		}
		x := l.element(elt, u.Field(i).Type())
		l.pos = elt.Pos()
		out = append(out, x)
		fields = append(fields, &ast.KeyValueExpr{Key: l.id(l.fieldName(u.Field(i))), Colon: elt.Pos(), Value: x})
	}
	if keys && len(fields) > 0 {
		return fields
	}
	return out
}

func (l *Lowerer) elements(list []ast.Expr, key, elem types.Type) []ast.Expr {
	out := make([]ast.Expr, len(list))
	seen := map[string]bool{}
	for i, e := range list {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			out[i] = l.element(e, elem)
			continue
		}
		k := kv.Key
		if key != nil {
			k = l.literalKey(k, key, seen)
		} else {
			k = l.integer(l.info.Types[k].Value)
		}
		x := l.element(kv.Value, elem)
		if key != nil && l.apart { // a map gets its elements one by one
			x, k = l.kept(x, elem), l.kept(k, key)
		}
		out[i] = &ast.KeyValueExpr{Key: k, Colon: kv.Colon, Value: x}
	}
	return out
}

// literalKey writes a key of a map literal; seen has the constant keys before it. An instance may have one
// key twice, if two type parameters are the same type; the interpreter would refuse the literal.
func (l *Lowerer) literalKey(e ast.Expr, key types.Type, seen map[string]bool) ast.Expr {
	k, t := l.element(e, key), l.typeOf(e)
	v := l.info.Types[e].Value
	if v == nil {
		return k
	}
	constant := fmt.Sprint(v.ExactString(), types.Unalias(types.Default(t)))
	if seen[constant] {
		return l.temp(k, key)
	}
	seen[constant] = true
	return k
}

// element rewrites an element of a literal. The interpreter takes a star that is not at its beginning for
// that of a pointer type.
func (l *Lowerer) element(e ast.Expr, t types.Type) ast.Expr {
	if c, ok := e.(*ast.CompositeLit); ok {
		return l.convert(l.composite(c, l.typeOf(c)), l.typeOf(c), t)
	}
	x := l.expr(e)
	if walk.Any(x, func(star *ast.StarExpr) bool { return star != x }) {
		x = l.temp(x, l.typeOf(e))
	}
	return l.convert(x, l.typeOf(e), t)
}
