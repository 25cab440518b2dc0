package lower

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// builtin returns the name of the predeclared function that is called, or "".
func (l *Lowerer) builtin(e *ast.CallExpr) string {
	switch f := ast.Unparen(e.Fun).(type) {
	case *ast.Ident:
		if b, ok := l.info.Uses[f].(*types.Builtin); ok {
			return b.Name()
		}
	case *ast.SelectorExpr:
		if b, ok := l.info.Uses[f.Sel].(*types.Builtin); ok {
			return "unsafe." + b.Name()
		}
	}
	return ""
}

func (l *Lowerer) callExpr(e *ast.CallExpr) ast.Expr {
	if tv := l.info.Types[e.Fun]; tv.IsType() {
		return l.conversion(e, tv.Type)
	}
	name := l.builtin(e)
	if len(e.Args) == 1 {
		if tuple, ok := l.typeOf(e.Args[0]).(*types.Tuple); ok {
			return l.spreadCall(e, name, tuple)
		}
	}
	if name != "" {
		return l.builtinCall(e, name)
	}
	if x := l.special(e); x != nil {
		return x
	}
	sig := l.typeOf(e.Fun).Underlying().(*types.Signature)
	f, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	if sel := l.info.Selections[f]; ok && sel != nil && sel.Kind() == types.MethodVal {
		x := l.expr(f.X)
		args, spread := l.arguments(e, sig)
		l.pos = f.Sel.Pos()
		out := l.invoke(x, l.typeOf(f.X), sel, args...)
		out.Lparen, out.Rparen = e.Lparen, e.Rparen
		if spread || e.Ellipsis.IsValid() {
			out.Ellipsis = e.Rparen
		}
		return out
	}
	fun := l.callee(e.Fun)
	args, spread := l.arguments(e, sig)
	out := &ast.CallExpr{Fun: fun, Lparen: e.Lparen, Args: args, Rparen: e.Rparen}
	if spread || e.Ellipsis.IsValid() {
		out.Ellipsis = e.Rparen
	}
	return out
}

// callee returns the function of a call.
func (l *Lowerer) callee(f ast.Expr) ast.Expr {
	if id := l.declaredFunc(f); id != nil {
		return l.ident(id)
	}
	return l.expr(f)
}

// spreadCall is f(g()) where g has several results.
func (l *Lowerer) spreadCall(e *ast.CallExpr, builtin string, tuple *types.Tuple) ast.Expr {
	call := *e
	if builtin == "" {
		call.Fun = l.boundFun(e.Fun)
	}
	call.Args = l.spread(e.Args[0], tuple)
	for i, x := range call.Args { // a source expression, so that the rules for calls apply to it
		l.info.Types[x] = types.TypeAndValue{Type: tuple.At(i).Type()}
	}
	l.info.Types[&call] = l.info.Types[e]
	return l.callExpr(&call)
}

// parameter returns the type of the parameter for the i-th argument of a call.
func parameter(sig *types.Signature, i int) types.Type {
	n := sig.Params().Len()
	switch {
	case sig.Variadic() && i >= n-1:
		return variadicElem(sig.Params().At(n - 1).Type())
	case i < n:
		return sig.Params().At(i).Type()
	}
	return nil
}

// arguments writes the arguments of a call. Those of a variadic parameter of interpreted code become a slice
// (spread).
func (l *Lowerer) arguments(e *ast.CallExpr, sig *types.Signature) (args []ast.Expr, spread bool) {
	return l.argumentsAs(e, sig, func(_ int, x ast.Expr) ast.Expr { return x })
}

// argumentsAs is arguments with each argument rewritten before it is converted to the parameter's type.
func (l *Lowerer) argumentsAs(e *ast.CallExpr, sig *types.Signature, rewrite func(i int, x ast.Expr) ast.Expr) (args []ast.Expr, spread bool) {
	n := sig.Params().Len()
	for i, a := range e.Args {
		t := parameter(sig, i)
		if e.Ellipsis.IsValid() && i == n-1 {
			t = sig.Params().At(i).Type()
			if isNil(l.typeOf(a)) { // the interpreter finds no type for it
				args = append(args, l.zero(t))
				continue
			}
		}
		x := l.convert(rewrite(i, l.expr(a)), l.typeOf(a), t)
		if t != nil && isAny(t) && l.inAny(l.typeOf(a)) && l.callsCompiled(e) { // compiled code knows only old types
			x = l.rt("Open", x)
		}
		args = append(args, x)
	}
	if sig.Variadic() && len(args) == n-1 && !l.callsCompiled(e) { // the interpreter would make a list that is not nil
		l.pos = e.Pos()
		return append(args, l.zero(sig.Params().At(n-1).Type())), true
	}
	if sig.Variadic() && !e.Ellipsis.IsValid() && len(args) >= n && !l.callsCompiled(e) {
		l.pos = e.Args[n-1].Pos()
		return append(args[:n-1:n-1], l.list(variadicElem(sig.Params().At(n-1).Type()), args[n-1:])), true
	}
	return args, false
}

// callsCompiled says whether the called function or method is compiled code.
func (l *Lowerer) callsCompiled(e *ast.CallExpr) bool {
	pkg := l.calledPackage(e)
	return pkg != nil && !Interpreted(pkg)
}

// declaredFunc returns the name in an expression that is the name of a declared function or an instance of
// one.
func (l *Lowerer) declaredFunc(e ast.Expr) *ast.Ident {
	e = ast.Unparen(e)
	switch x := e.(type) {
	case *ast.IndexExpr:
		e = x.X
	case *ast.IndexListExpr:
		e = x.X
	}
	if id, ok := e.(*ast.Ident); ok {
		if _, ok = l.info.Uses[id].(*types.Func); ok {
			return id
		}
	}
	return nil
}

// special rewrites calls of compiled functions that must know that they are called from a cell.
func (l *Lowerer) special(e *ast.CallExpr) ast.Expr {
	if id, ok := e.Fun.(*ast.Ident); ok && (id.Name == Check || id.Name == CheckValue) {
		mark := l.int(l.env.Mark(Mark{Pos: e.Pos(), End: e.End()}))
		if id.Name == Check {
			return l.rt("Check", l.expr(e.Args[0]), mark)
		}
		return l.rt("CheckValue", l.expr(e.Args[0]), mark, l.addr(l.expr(e.Args[1])))
	}
	f, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	fn, ok := l.info.Uses[f.Sel].(*types.Func)
	if !ok || fn.Pkg() == nil {
		return nil
	}
	if i, ok := callbacks[fn.FullName()]; ok && i < len(e.Args) {
		return l.contained(e, i)
	}
	if fn.FullName() == "errors.As" {
		return l.errorsAs(e)
	}
	return nil
}

func isAny(t types.Type) bool {
	i, ok := t.Underlying().(*types.Interface)
	return ok && i.Empty()
}

// errorsAs writes errors.As for a target whose type is declared in cells. Package errors sees neither the
// methods of the cells' interfaces nor that a type was declared again. It returns nil for another target.
func (l *Lowerer) errorsAs(e *ast.CallExpr) ast.Expr {
	t := l.typeOf(e.Args[1])
	p, ok := t.Underlying().(*types.Pointer)
	if !ok || !l.inAny(p.Elem()) && !l.boxed(p.Elem()) {
		return nil
	}
	err := l.convert(l.expr(e.Args[0]), l.typeOf(e.Args[0]), errorType)
	target, key := l.expr(e.Args[1]), l.int(l.env.TypeKey(types.Unalias(p.Elem())))
	if l.inAny(p.Elem()) {
		return l.rt("ErrorsAs", err, target, key)
	}
	return l.rt("ErrorsAsType", err, target, key, l.int(l.boxKey(t)))
}

func (l *Lowerer) conversion(e *ast.CallExpr, t types.Type) ast.Expr {
	arg := e.Args[0]
	x := l.expr(arg)
	from := l.typeOf(arg)
	if isNil(from) {
		return l.zero(t)
	}
	l.pos = e.Pos()
	if x := l.unsafeConversion(x, from, t); x != nil {
		return x
	}
	if types.IsInterface(t) {
		return l.temp(l.convert(x, from, t), t) // the interpreter converts correctly when it assigns
	}
	return l.call(l.typ(t), x)
}

// isA says whether the underlying type is a T.
func isA[T types.Type](t types.Type) bool {
	_, ok := t.Underlying().(T)
	return ok
}

func (l *Lowerer) builtinCall(e *ast.CallExpr, name string) ast.Expr {
	switch name {
	case "min", "max":
		return l.minMax(e, name)
	case "clear":
		return l.clear(e)
	case "recover":
		if l.fn.deferred {
			return l.rt("Recover")
		}
		return l.rt("RecoverCalled")
	case "panic":
		x := e.Args[0] // an operand that is any already is not wrapped by the interpreter
		return l.rt("Panic", l.convert(l.expr(x), l.typeOf(x), anyType))
	case "make":
		return l.makeCall(e)
	case "append":
		return l.appendCall(e)
	case "new":
		if !l.info.Types[e.Args[0]].IsType() { // new(expr), since Go 1.26
			t := l.typeOf(e.Args[0])
			x := l.expr(e.Args[0])
			p := l.temp(l.call(l.id("new"), l.typ(types.Default(t))), types.NewPointer(types.Default(t)))
			l.emit(l.assign(token.ASSIGN, &ast.StarExpr{X: p}, x))
			return p
		}
	case "print", "println":
		return l.rt("Print"+name[len("print"):], l.exprs(e.Args)...)
	case "len", "cap":
		if x := l.arrayLength(e); x != nil {
			return x
		}
	case "delete":
		m := l.typeOf(e.Args[0]).Underlying().(*types.Map)
		return l.call(l.id(name), l.expr(e.Args[0]), l.mapKey(l.expr(e.Args[1]), l.typeOf(e.Args[1]), m))
	case "complex", "real", "imag":
		x := l.call(l.id(name), l.exprs(e.Args)...)
		if t := l.typeOf(e); !types.Identical(t, types.Typ[types.Float64]) && !types.Identical(t, types.Typ[types.Complex128]) {
			return l.call(l.typ(t), x) // the interpreter would store the wider type in an interface
		}
		return x
	case "copy", "close":
	default:
		return l.unsafeCall(e, name)
	}
	out := l.call(l.id(name), l.exprs(e.Args)...)
	if e.Ellipsis.IsValid() {
		out.Ellipsis = e.Rparen
	}
	return out
}

// arrayLength writes the length of an array behind a pointer, which may be nil. It returns nil for another
// operand.
func (l *Lowerer) arrayLength(e *ast.CallExpr) ast.Expr {
	t := l.typeOf(e.Args[0])
	p, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return nil
	}
	a, ok := p.Elem().Underlying().(*types.Array)
	if !ok {
		return nil
	}
	l.drop(e.Args[0])
	return l.int(int(a.Len()))
}

// minMax writes min and max, which the interpreter does not have, as calls of package rt, in a type that
// can hold all values of the operands' type.
func (l *Lowerer) minMax(e *ast.CallExpr, name string) ast.Expr {
	t := types.Default(l.typeOf(e))
	wide := types.Typ[types.Int]
	switch b := t.Underlying().(*types.Basic); {
	case b.Kind() == types.Int:
	case b.Info()&types.IsUnsigned != 0:
		wide = types.Typ[types.Uint64]
	case b.Info()&types.IsInteger != 0:
		wide = types.Typ[types.Int64]
	case b.Info()&types.IsFloat != 0:
		wide = types.Typ[types.Float64]
	case b.Info()&types.IsString != 0:
		wide = types.Typ[types.String]
	}
	as := func(t types.Type, x ast.Expr, from types.Type) ast.Expr {
		if types.Identical(t, from) {
			return x
		}
		return l.call(l.typ(t), x)
	}
	symbol := map[string]string{"min": "Min", "max": "Max"}[name] + strings.ToUpper(wide.Name()[:1]) + wide.Name()[1:]
	var out ast.Expr
	for i, a := range e.Args {
		x := as(wide, l.expr(a), types.Default(l.typeOf(a)))
		l.pos = e.Pos()
		if i > 0 {
			x = l.rt(symbol, out, x)
		}
		out = x
	}
	return as(t, out, wide)
}

// clear writes clear, which the interpreter does not know, as a loop.
func (l *Lowerer) clear(e *ast.CallExpr) ast.Expr {
	t := l.typeOf(e.Args[0])
	x := l.expr(e.Args[0])
	l.pos = e.Pos()
	s, ok := t.Underlying().(*types.Slice)
	if !ok {
		return l.rt("ClearMap", x)
	}
	v, k, zero := l.temp(x, t), l.fresh("k"), l.variable(s.Elem())
	set := l.assign(token.ASSIGN, &ast.IndexExpr{X: v, Index: l.id(k)}, l.id(zero))
	l.emit(&ast.RangeStmt{For: l.pos, Key: l.id(k), TokPos: l.pos, Tok: token.DEFINE, X: v, Body: l.block(set)})
	return nil
}

var errorType = types.Universe.Lookup("error").Type()

// makeCall checks lengths: a slice, channel or map that the machine cannot hold ends the process.
func (l *Lowerer) makeCall(e *ast.CallExpr) ast.Expr {
	t := l.typeOf(e)
	args := []ast.Expr{l.typ(t)}
	for _, a := range e.Args[1:] {
		x := l.expr(a)
		l.pos = a.Pos()
		tv := l.info.Types[a]
		if tv.Value == nil || isBig(tv.Value) {
			if b, ok := tv.Type.Underlying().(*types.Basic); !ok || b.Kind() != types.Int || types.Unalias(tv.Type) != types.Type(b) {
				x = l.call(l.id("int"), x)
			}
			x = l.rt("CheckMake", x, l.int(l.elementSize(t)))
		}
		args = append(args, x)
	}
	if c, ok := t.Underlying().(*types.Chan); ok && c.Dir() != types.SendRecv { // reflection makes channels of both directions only
		l.pos = e.Pos()
		args[0] = l.typ(types.NewChan(types.SendRecv, c.Elem()))
		return l.call(&ast.ParenExpr{X: l.typ(t)}, l.temp(l.call(l.id("make"), args...), types.NewChan(types.SendRecv, c.Elem())))
	}
	return l.call(l.id("make"), args...)
}

// elementSize returns the size in bytes of one element of a slice, channel or map.
func (l *Lowerer) elementSize(t types.Type) int {
	switch u := t.Underlying().(type) {
	case *types.Map:
		return l.size(u.Key()) + l.size(u.Elem())
	case interface{ Elem() types.Type }:
		return l.size(u.Elem())
	}
	return 1
}

func isBig(v constant.Value) bool {
	n, ok := constant.Int64Val(constant.ToInt(v))
	return !ok || n > 1<<20
}

// appendCall appends values that are slices of such values themselves as a slice.
func (l *Lowerer) appendCall(e *ast.CallExpr) ast.Expr {
	s, ok := l.typeOf(e).Underlying().(*types.Slice)
	args := []ast.Expr{l.expr(e.Args[0])}
	for _, a := range e.Args[1:] {
		x := l.expr(a)
		switch {
		case isNil(l.typeOf(a)) && e.Ellipsis.IsValid():
			x = l.zero(l.typeOf(e))
		case isNil(l.typeOf(a)) && len(e.Args) > 2: // the interpreter finds no type for it
			x = l.zero(s.Elem())
		case ok && !e.Ellipsis.IsValid():
			x = l.convert(x, l.typeOf(a), s.Elem())
		}
		args = append(args, x)
	}
	for i, x := range args[1:] {
		if ok && len(args) > 2 && !simple(x) { // the interpreter appends each element before it reads the next
			args[i+1] = l.temp(x, s.Elem())
		}
	}
	l.pos = e.Pos()
	out := l.call(l.id("append"), args...)
	if e.Ellipsis.IsValid() {
		out.Ellipsis = e.Rparen
	} else if ok && slices.ContainsFunc(e.Args[1:], func(a ast.Expr) bool { return l.holds(a, s.Elem()) }) {
		out.Args, out.Ellipsis = []ast.Expr{args[0], l.list(s.Elem(), args[1:])}, e.Rparen
	}
	return out
}

// holds says whether an expression of type t, or nil, is a slice of such values. The interpreter would append
// its elements.
func (l *Lowerer) holds(e ast.Expr, t types.Type) bool {
	from := l.typeOf(e)
	if isNil(from) {
		from = t
	}
	s, ok := from.Underlying().(*types.Slice)
	return ok && types.Identical(s.Elem(), t)
}

// list is a slice literal.
func (l *Lowerer) list(elem types.Type, values []ast.Expr) ast.Expr {
	return &ast.CompositeLit{Type: l.typ(types.NewSlice(elem)), Lbrace: l.pos, Elts: values, Rbrace: l.pos}
}
