package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

// A function is the function whose body is being rewritten.
type function struct {
	outer    *function
	cell     bool // the statements of a cell
	sig      *types.Signature
	name     string   // for marks
	slot     int      // where this function notes the statement that it has begun
	deferred bool     // it is a literal that is deferred where it is written
	named    bool     // its results have names
	names    []string // those names
	results  []string // names of the results, when the body is inside of a literal that cannot return them
	defers   string   // the variable that holds the deferred calls
	body     []ast.Stmt
	targets  []*target
	shared   map[string]bool // names of variables that closures or pointers may have; nil: any variable
	ranges   []*rangeFunc
}

// The slots for marks.
const (
	CellSlot    = iota // a cell's own statements
	LiteralSlot        // all function literals
	EngineSlot         // statements that call the engine, of whatever function: see Mark.Mixed
	FirstSlot          // the first of those for declared functions
)

// stopCheck writes `if __stop { __rt.Stop() }`. Loops and functions need none: the interpreter checks
// there (see package yaegi), unless it works alone.
func (l *Lowerer) stopCheck() ast.Stmt { return l.ifs(l.id(StopVar), l.do(l.rt("Stop"))) }

// stopBefore is stopCheck between two statements of a cell. A cell that is stopped here, or in a statement
// that needs no mark otherwise, has a mark that says that the statement before was done: what it declared is
// kept.
func (l *Lowerer) stopBefore(s ast.Stmt) []ast.Stmt {
	done := l.setMark(l.fn.slot, l.env.Mark(Mark{Pos: s.Pos(), End: s.End(), Func: l.fn.name}))
	if _, risky, _ := l.marked(s); !risky {
		return []ast.Stmt{done, l.stopCheck()}
	}
	return []ast.Stmt{l.ifs(l.id(StopVar), done, l.do(l.rt("Stop")))}
}

// fieldNames are the names of a parameter, with lowered names for those that need one.
func (l *Lowerer) fieldNames(f *ast.Field) []*ast.Ident {
	var names []*ast.Ident
	for _, n := range f.Names {
		l.pos = n.Pos()
		names = append(names, l.renamed(l.info.Defs[n], n.Name).(*ast.Ident))
	}
	return names
}

// function rewrites the type and body of a function. A body that defers calls becomes
//
//	__rt.Deferred(func(__d *__rt.Defers) { … }); return results
//
// because the interpreter reads deferred arguments late and dead-locks when a deferred call runs a closure.
func (l *Lowerer) function(ft *ast.FuncType, sig *types.Signature, body *ast.BlockStmt) (*ast.FuncType, *ast.BlockStmt) {
	l.fn.body = body.List
	deferred := walk.AnyOwn(body, func(*ast.DeferStmt) bool { return true })
	out := &ast.FuncType{Func: l.pos, Params: l.params(ft.Params, sig)}
	var returns []ast.Expr
	if sig.Results().Len() > 0 {
		out.Results = &ast.FieldList{}
		names := walk.Names(ft.Results)
		l.fn.named = names != nil
		for i := range sig.Results().Len() {
			f := &ast.Field{Type: l.typ(sig.Results().At(i).Type())}
			name := ""
			if names != nil && names[i].Name != "_" {
				o := l.info.Defs[names[i]]
				// An inner variable of the same name must not hide it from a return.
				if deferred || walk.AnyOwn(body, func(r *ast.RangeStmt) bool { return isA[*types.Signature](l.typeOf(r.X)) }) {
					l.locals[o] = l.another(o)
				}
				name = l.renamed(o, names[i].Name).(*ast.Ident).Name
			} else if deferred || names != nil {
				name = l.fresh("r")
			}
			if name != "" {
				f.Names = []*ast.Ident{l.id(name)}
				returns = append(returns, l.id(name))
			}
			out.Results.List = append(out.Results.List, f)
			if deferred {
				l.fn.results = append(l.fn.results, name)
			}
			l.fn.names = append(l.fn.names, name)
		}
	}
	if !deferred {
		l.fn.shared = l.sharedNames(body)
		if l.fn.named && walk.AnyOwn(body, func(s *ast.ReturnStmt) bool { return len(s.Results) == 0 }) { // the caller's variables are the results
			for _, name := range l.fn.names {
				l.fn.shared[name] = true
			}
		}
		list := l.scope(func() []ast.Stmt { return append(l.zeroResults(out, sig), l.stmts(body.List)...) })
		return out, &ast.BlockStmt{Lbrace: body.Lbrace, List: list, Rbrace: body.Rbrace}
	}
	l.fn.defers = l.fresh("d")
	list := l.zeroResults(out, sig)
	param := &ast.Field{Names: []*ast.Ident{l.id(l.fn.defers)}, Type: &ast.StarExpr{X: l.sel(l.id(RT), "Defers")}}
	inner := &ast.FuncLit{Type: &ast.FuncType{Func: l.pos, Params: &ast.FieldList{List: []*ast.Field{param}}}}
	inner.Body = l.block(l.scope(func() []ast.Stmt { return l.stmts(body.List) })...)
	list = append(list, l.do(l.rt("Deferred", inner)))
	if len(returns) > 0 {
		list = append(list, l.ret(returns...))
	}
	return out, l.block(list...)
}

// zeroResults sets named results to zero: the interpreter takes the variable that the caller assigns to
// for them, with its present value.
func (l *Lowerer) zeroResults(ft *ast.FuncType, sig *types.Signature) (list []ast.Stmt) {
	if !l.fn.named {
		return nil
	}
	for i, f := range ft.Results.List {
		if len(f.Names) == 0 {
			continue
		}
		z := l.fresh("z")
		list = append(list, l.declare(z, l.typ(sig.Results().At(i).Type())), l.assign(token.ASSIGN, l.id(f.Names[0].Name), l.id(z)))
	}
	return list
}

// sharedNames returns the variables that a function's body may change while other code can see them:
// variables of the surroundings, and variables that closures, goroutines or pointers have.
func (l *Lowerer) sharedNames(body *ast.BlockStmt) map[string]bool {
	names := map[string]bool{}
	add := func(id *ast.Ident, v *types.Var) {
		if x, ok := l.renamed(v, id.Name).(*ast.Ident); ok {
			names[x.Name] = true
		}
	}
	variables := func(root ast.Node, f func(*ast.Ident, *types.Var)) {
		ast.Inspect(root, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if v, ok := l.info.Uses[id].(*types.Var); ok && !v.IsField() {
					f(id, v)
				}
			}
			return true
		})
	}
	walk.Reached(l.info, body, func(n ast.Node) { variables(n, add) })
	own := slices.AppendSeq(slices.Collect(l.fn.sig.Params().Variables()), l.fn.sig.Results().Variables())
	variables(body, func(id *ast.Ident, v *types.Var) {
		if (v.Pos() < body.Pos() || v.Pos() > body.End()) && !slices.Contains(own, v) {
			add(id, v)
		}
	})
	return names
}

func (l *Lowerer) params(list *ast.FieldList, sig *types.Signature) *ast.FieldList {
	out := &ast.FieldList{Opening: l.pos, Closing: l.pos}
	i := 0
	for _, f := range list.List {
		names := l.fieldNames(f)
		n := len(names)
		if n == 0 {
			names, n = []*ast.Ident{l.id(l.fresh("p"))}, 1
		}
		for k := range n {
			t := sig.Params().At(i).Type()
			var x ast.Expr
			if sig.Variadic() && i == sig.Params().Len()-1 {
				x = &ast.Ellipsis{Ellipsis: l.pos, Elt: l.typ(variadicElem(t))}
			} else {
				x = l.typ(t)
			}
			name := names[k]
			if name.Name == "_" {
				name = l.id(l.fresh("p"))
			}
			out.List = append(out.List, &ast.Field{Names: []*ast.Ident{name}, Type: x})
			i++
		}
	}
	return out
}

// funcLit rewrites a function literal.
func (l *Lowerer) funcLit(e *ast.FuncLit) *ast.FuncLit {
	outer := l.fn
	l.fn = &function{outer: outer, sig: l.typeOf(e).Underlying().(*types.Signature), name: outer.name + ".func", slot: LiteralSlot}
	if outer.name == "" {
		l.fn.name = "func"
	}
	l.fn.deferred = e == l.deferred
	ft, body := l.function(e.Type, l.fn.sig, e.Body)
	l.fn = outer
	l.pos = e.Pos()
	return &ast.FuncLit{Type: ft, Body: body}
}

// later turns a call of a defer or go statement into a literal without parameters. The function and the
// arguments are evaluated before.
func (l *Lowerer) later(e *ast.CallExpr) ast.Expr {
	if lit, ok := ast.Unparen(e.Fun).(*ast.FuncLit); ok && lit.Type.Params.NumFields() == 0 && lit.Type.Results == nil {
		return l.funcLit(lit)
	}
	if !l.info.Types[e.Fun].IsType() {
		e = l.bound(e)
	}
	return l.lit(nil, l.scope(func() []ast.Stmt {
		if x := l.callExpr(e); x != nil {
			l.emit(l.do(x))
		}
		return nil
	})...)
}

// bound is a call whose operands are in variables of their own, which a closure can keep.
func (l *Lowerer) bound(e *ast.CallExpr) *ast.CallExpr {
	out := *e
	out.Args = nil
	if l.builtin(e) == "" {
		out.Fun = l.boundFun(e.Fun)
	}
	for _, a := range e.Args {
		t := l.typeOf(a)
		switch tuple, several := t.(*types.Tuple); {
		case several:
			for i, x := range l.spread(a, tuple) {
				out.Args = append(out.Args, l.bind(x, tuple.At(i).Type(), a.Pos()))
			}
		case l.info.Types[a].Value != nil || l.info.Types[a].IsType() || isNil(t):
			out.Args = append(out.Args, a)
		default:
			out.Args = append(out.Args, l.bind(l.expr(a), t, a.Pos()))
		}
	}
	l.info.Types[&out] = l.info.Types[e]
	return &out
}

// bind puts a value into a variable, and returns that as a source expression, so that the rules for calls
// apply to it.
func (l *Lowerer) bind(x ast.Expr, t types.Type, pos token.Pos) *ast.Ident {
	t = types.Default(t)
	v := l.variable(t)
	l.emit(l.assign(token.ASSIGN, l.id(v), x))
	id := &ast.Ident{Name: v, NamePos: pos}
	l.info.Types[id] = types.TypeAndValue{Type: t}
	return id
}

// boundFun is the function of a call with what it is evaluated from in variables.
func (l *Lowerer) boundFun(f ast.Expr) ast.Expr {
	switch f := ast.Unparen(f).(type) {
	case *ast.FuncLit:
		return f
	case *ast.SelectorExpr:
		sel := l.info.Selections[f]
		if sel == nil || sel.Kind() == types.MethodExpr {
			return f
		}
		if sel.Kind() == types.MethodVal {
			return l.boundMethod(f, sel)
		}
	}
	if l.declaredFunc(f) != nil {
		return f
	}
	return l.bind(l.expr(f), l.typeOf(f), f.Pos())
}

// boundMethod binds the receiver of a method call: a copy of it, or its address for a method that takes a
// pointer.
func (l *Lowerer) boundMethod(f *ast.SelectorExpr, sel *types.Selection) ast.Expr {
	recv := sel.Obj().(*types.Func).Signature().Recv().Type()
	x, t := ast.Expr(nil), l.typeOf(f.X)
	switch {
	case !isPointer(recv) || isPointer(t):
		x = l.expr(f.X)
	case len(sel.Index()) == 1:
		x, t = l.addr(l.expr(f.X)), types.NewPointer(t)
	default: // promoted through embedded fields: the address of the outermost will do
		return f
	}
	id := l.bind(x, t, f.X.Pos())
	if types.IsInterface(t) {
		l.emit(l.nilCheck(id.Name))
	}
	out := &ast.SelectorExpr{X: id, Sel: f.Sel}
	l.info.Selections[out] = sel
	l.info.Types[out] = l.info.Types[f]
	return out
}

func (l *Lowerer) deferStmt(s *ast.DeferStmt) []ast.Stmt {
	l.pos = s.Pos()
	if id, ok := ast.Unparen(s.Call.Fun).(*ast.Ident); ok && l.info.Uses[id] == types.Universe.Lookup("recover") && !l.fn.cell {
		return []ast.Stmt{l.do(l.call(l.sel(l.id(l.fn.defers), "AddRecover"), l.id(strconv.FormatBool(l.fn.deferred))))}
	}
	l.deferred, _ = ast.Unparen(s.Call.Fun).(*ast.FuncLit)
	call, suffix := l.later(s.Call), "Call"
	if l.deferred != nil {
		suffix = ""
	}
	if l.fn.cell {
		return []ast.Stmt{l.do(l.rt("Defer"+suffix, call))}
	}
	return []ast.Stmt{l.do(l.call(l.sel(l.id(l.fn.defers), "Add"+suffix), call))}
}

// returnStmt returns, or stores the results in variables if the body is inside of a literal. Several results
// are variables of their own: the interpreter sets one result before it reads the next, and takes the place
// or the type of the first for those of another one.
func (l *Lowerer) returnStmt(s *ast.ReturnStmt) []ast.Stmt {
	fn := l.fn
	if n := len(fn.ranges); n > 0 {
		return fn.ranges[n-1].returnFrom(l, s)
	}
	l.pos = s.Pos()
	switch {
	case fn.cell:
		return []ast.Stmt{l.do(l.rt("Quit")), l.ret()}
	case len(s.Results) == 0:
		return []ast.Stmt{l.ret()}
	case fn.results != nil:
		return append(l.setResults(fn.results, s), l.ret())
	}
	return []ast.Stmt{l.ret(l.results(s, fn.named)...)}
}

// results rewrites the operands of a return statement. With all, they are variables of their own.
func (l *Lowerer) results(s *ast.ReturnStmt, all bool) []ast.Expr {
	list := l.fn.sig.Results()
	var values []ast.Expr
	if tuple, ok := l.typeOf(s.Results[0]).(*types.Tuple); ok {
		convert := false
		for i := range tuple.Len() {
			convert = convert || l.converts(tuple.At(i).Type(), list.At(i).Type())
		}
		if !convert && !all {
			return []ast.Expr{l.value(s.Results[0])}
		}
		for i, x := range l.spread(s.Results[0], tuple) {
			values = append(values, l.convert(x, tuple.At(i).Type(), list.At(i).Type()))
		}
		return values
	}
	all = all && len(s.Results) > 1
	for i, e := range s.Results {
		t := list.At(i).Type()
		rewrite := l.value
		if len(s.Results) > 1 {
			rewrite = l.expr
		}
		x := l.convert(rewrite(e), l.typeOf(e), t)
		if isNil(l.typeOf(e)) && (all || len(s.Results) > 1 || isA[*types.Signature](t)) { // the interpreter finds no type for it
			x = l.zero(t)
		}
		values = append(values, x)
	}
	for i, x := range values {
		if t := list.At(i).Type(); all || len(values) > 1 && !simple(x) {
			values[i] = l.kept(x, t)
		}
	}
	return values
}

// simple says whether x is a name or a literal.
func simple(x ast.Expr) bool {
	switch x.(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	}
	return false
}

// spread stores the results of a call, and returns the variables.
func (l *Lowerer) spread(e ast.Expr, tuple *types.Tuple) (values []ast.Expr) {
	x := l.value(e)
	l.pos = e.Pos()
	assign := &ast.AssignStmt{TokPos: l.pos, Tok: token.ASSIGN, Rhs: []ast.Expr{x}}
	if slices.ContainsFunc(walk.Types(tuple), func(t types.Type) bool { return !nameable(t) }) {
		assign.Tok = token.DEFINE
	}
	for v := range tuple.Variables() {
		var id *ast.Ident
		if assign.Tok == token.DEFINE {
			id = l.id(l.fresh("u"))
		} else {
			id = l.tempOf(v.Type())
		}
		assign.Lhs = append(assign.Lhs, id)
		values = append(values, l.id(id.Name))
	}
	l.emit(assign)
	return values
}

// setResults assigns the operands of a return statement to the result variables, which other code may see.
func (l *Lowerer) setResults(names []string, s *ast.ReturnStmt) []ast.Stmt {
	values := l.results(s, true)
	for i, x := range values {
		values[i] = l.kept(x, l.fn.sig.Results().At(i).Type())
	}
	return l.assignAll(l.ids(names), values)
}
