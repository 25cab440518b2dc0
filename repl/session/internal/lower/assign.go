package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

func (l *Lowerer) assignStmt(s *ast.AssignStmt) []ast.Stmt {
	switch s.Tok {
	case token.ASSIGN, token.DEFINE:
		return append(l.plainAssign(s), l.grown(s)...)
	}
	return l.opAssign(s)
}

func (l *Lowerer) plainAssign(s *ast.AssignStmt) []ast.Stmt {
	var lhs []ast.Expr
	var ts []types.Type
	var out []ast.Stmt
	define := s.Tok == token.DEFINE
	for _, e := range s.Lhs {
		l.pos = e.Pos()
		id, ok := e.(*ast.Ident)
		if ok && id.Name == "_" {
			lhs, ts = append(lhs, l.id("_")), append(ts, nil)
			continue
		}
		if !ok || !define {
			lhs, ts = append(lhs, l.expr(e)), append(ts, l.typeOf(e))
			continue
		}
		o := l.object(id)
		x := l.renamed(o, id.Name)
		lhs, ts = append(lhs, x), append(ts, o.Type())
		if l.env.Name(o) != "" {
			define = false
		}
	}
	if s.Tok == token.ASSIGN {
		return append(out, l.assignTo(lhs, ts, s.Rhs, token.ASSIGN)...)
	}
	if !define { // session variables, and perhaps a local variable for a left-out error
		for i, e := range s.Lhs {
			if o := l.info.Defs[e.(*ast.Ident)]; o != nil && l.env.Name(o) == "" && !isBlank(e) {
				out = append(out, l.declare(lhs[i].(*ast.Ident).Name, l.typ(ts[i])))
			}
		}
		return append(out, l.assignTo(lhs, ts, s.Rhs, token.ASSIGN)...)
	}
	return l.defineTo(s, lhs, ts)
}

// defineTo writes := in a function: it declares new variables with the checker's types, unless the
// interpreter infers the same types.
func (l *Lowerer) defineTo(s *ast.AssignStmt, lhs []ast.Expr, ts []types.Type) []ast.Stmt {
	var decls []ast.Stmt
	var names []*ast.Ident
	for i, e := range s.Lhs {
		id := e.(*ast.Ident)
		if o := l.info.Defs[id]; o != nil && id.Name != "_" {
			names = append(names, id)
			l.pos = id.Pos()
			decls = append(decls, l.declare(lhs[i].(*ast.Ident).Name, l.typ(ts[i])))
		}
	}
	l.pos = s.Pos()
	if l.mentions(s.Rhs, names) {
		return l.viaTemps(lhs, ts, s.Rhs, decls)
	}
	return append(decls, l.assignTo(lhs, ts, s.Rhs, token.ASSIGN)...)
}

// assignTo assigns the values of source expressions to rewritten places of the given types (nil: the blank).
func (l *Lowerer) assignTo(lhs []ast.Expr, ts []types.Type, rhs []ast.Expr, tok token.Token) []ast.Stmt {
	if len(rhs) == 1 && len(lhs) == 2 {
		switch e := ast.Unparen(rhs[0]).(type) {
		case *ast.TypeAssertExpr:
			places, before := l.stableAll(lhs)
			return append(before, l.assertInto(places, e)...)
		case *ast.UnaryExpr:
			if e.Op == token.ARROW {
				places, before := l.stableAll(lhs)
				return append(before, l.receiveInto(places[0], places[1], ts[0], e)...)
			}
		}
	}
	if len(rhs) == 1 && len(lhs) == 1 {
		if u, ok := ast.Unparen(rhs[0]).(*ast.UnaryExpr); ok && u.Op == token.ARROW {
			return l.receiveInto(lhs[0], nil, ts[0], u)
		}
	}
	pos := l.pos
	values := make([]ast.Expr, len(rhs))
	for i, e := range rhs {
		values[i] = l.expr(e)
		if len(rhs) == len(lhs) && ts[i] != nil {
			values[i] = l.convert(values[i], l.typeOf(e), ts[i])
			if len(rhs) > 1 && isNil(l.typeOf(e)) { // the interpreter finds no type for nil here
				values[i] = l.zero(ts[i])
			}
		}
	}
	l.pos = pos
	if len(lhs) == 1 && len(rhs) == 1 && tok == token.ASSIGN && l.shared(lhs[0]) && replaces(values[0]) {
		v := l.fresh("v")
		return []ast.Stmt{l.declare(v, l.typ(ts[0])), l.assign(token.ASSIGN, l.id(v), values[0]),
			l.assign(token.ASSIGN, lhs[0], l.id(v))}
	}
	t := l.typeOf(rhs[0])
	if e, ok := ast.Unparen(rhs[0]).(*ast.IndexExpr); ok && len(lhs) == 2 && len(rhs) == 1 && allBlank(lhs) {
		t = l.typeOf(e.X).Underlying().(*types.Map).Elem() // _, _ = m[k] may panic
		lhs = lhs[:1]
	}
	if len(lhs) == 1 && len(rhs) == 1 && isBlank(lhs[0]) && !isNil(t) {
		// The interpreter does not evaluate every value that is dropped, and finds no type for some of
		// them.
		v := l.fresh("v")
		t = types.Default(t)
		if nameable(t) {
			return []ast.Stmt{l.block(l.declare(v, l.typ(t)), l.assign(token.ASSIGN, l.id(v), values[0]))}
		}
	}
	if results := Results(l.typeOf(rhs[0])); len(rhs) == 1 && len(lhs) > 1 && (!allIdents(lhs) || l.wrapped(ts, results)) {
		return l.assignResults(lhs, ts, values[0], results)
	}
	if allBlank(lhs) && len(rhs) == 1 {
		if _, call := ast.Unparen(rhs[0]).(*ast.CallExpr); call && len(lhs) > 1 {
			return []ast.Stmt{l.do(values[0])}
		}
	}
	if len(lhs) > 1 && len(rhs) == len(lhs) {
		return l.assignAll(lhs, values, rhs, ts, tok)
	}
	return []ast.Stmt{&ast.AssignStmt{Lhs: lhs, TokPos: l.pos, Tok: tok, Rhs: values}}
}

// assignAll writes a, b = x, y. The interpreter cannot do this with interfaces: they are assigned one by
// one, from variables, to places whose operands have been evaluated.
func (l *Lowerer) assignAll(lhs, values, from []ast.Expr, ts []types.Type, tok token.Token) []ast.Stmt {
	interfaces := false
	for i, e := range from {
		interfaces = interfaces || types.IsInterface(l.typeOf(e)) || ts[i] != nil && types.IsInterface(ts[i])
	}
	if !interfaces && simplePlaces(lhs) {
		temps := l.temps(values, from, ts)
		return append(temps, &ast.AssignStmt{Lhs: lhs, TokPos: l.pos, Tok: tok, Rhs: values})
	}
	var list, sets []ast.Stmt
	for i := range lhs {
		place, before := l.stable(lhs[i])
		list = append(list, before...)
		t := ts[i]
		if t == nil {
			t = types.Default(l.typeOf(from[i]))
		}
		v := l.fresh("v")
		sets = append(sets, l.assign(tok, place, l.id(v)))
		lhs[i] = l.id(v)
		list = append(list, l.declare(v, l.typ(t)))
	}
	for i := range lhs {
		list = append(list, l.assign(token.ASSIGN, lhs[i], values[i]))
	}
	return append(list, placesFirst(sets)...)
}

func allIdents(list []ast.Expr) bool {
	for _, e := range list {
		if _, ok := e.(*ast.Ident); !ok {
			return false
		}
	}
	return true
}

// simplePlaces says whether the interpreter assigns to several places as Go does. The places are
// variables, or elements of one slice (a swap) whose indices contain no call: the interpreter would make
// that call after it has evaluated the values.
func simplePlaces(lhs []ast.Expr) bool {
	if allIdents(lhs) {
		for _, e := range lhs {
			if isBlank(e) {
				return false
			}
		}
		return true
	}
	var base string
	for _, e := range lhs {
		x, ok := e.(*ast.IndexExpr)
		if !ok {
			return false
		}
		id, ok := x.X.(*ast.Ident)
		if !ok || base != "" && base != id.Name || calls(x.Index) {
			return false
		}
		base = id.Name
	}
	return true
}

// assignPlaces assigns values to places whose operands are all evaluated first.
func (l *Lowerer) assignPlaces(places, values []ast.Expr) (list []ast.Stmt) {
	var sets []ast.Stmt
	for i, x := range places {
		place, before := l.stable(x)
		list = append(list, before...)
		sets = append(sets, l.assign(token.ASSIGN, place, values[i]))
	}
	return append(list, placesFirst(sets)...)
}

// placesFirst puts the assignments to variables last: an element or a field assigned in the same statement
// belongs to the variable's old value.
func placesFirst(sets []ast.Stmt) (list []ast.Stmt) {
	var last []ast.Stmt
	for _, s := range sets {
		if a := s.(*ast.AssignStmt); allIdents(a.Lhs) {
			last = append(last, s)
		} else {
			list = append(list, s)
		}
	}
	return append(list, last...)
}

// wrapped says whether a result has to be converted when it is assigned.
func (l *Lowerer) wrapped(places, results []types.Type) bool {
	for i, t := range places {
		if len(results) == len(places) && l.converts(results[i], t) {
			return true
		}
	}
	return false
}

// assignResults assigns the results of a call, which have the types ts, to places of the types to. It
// evaluates the operands of the places before the call.
func (l *Lowerer) assignResults(lhs []ast.Expr, to []types.Type, call ast.Expr, ts []types.Type) []ast.Stmt {
	if len(ts) != len(lhs) {
		return []ast.Stmt{&ast.AssignStmt{Lhs: lhs, TokPos: l.pos, Tok: token.ASSIGN, Rhs: []ast.Expr{call}}}
	}
	var list, sets []ast.Stmt
	temps := make([]ast.Expr, len(lhs))
	for i, x := range lhs {
		if isBlank(x) {
			temps[i] = x
			continue
		}
		place, before := l.stable(x)
		v := l.fresh("v")
		temps[i] = l.id(v)
		list = append(append(list, before...), l.declare(v, l.typ(ts[i])))
		sets = append(sets, l.assign(token.ASSIGN, place, l.convert(l.id(v), ts[i], to[i])))
	}
	list = append(list, &ast.AssignStmt{Lhs: temps, TokPos: l.pos, Tok: token.ASSIGN, Rhs: []ast.Expr{call}})
	return []ast.Stmt{l.block(append(list, placesFirst(sets)...)...)}
}

// stableAll is stable for several places.
func (l *Lowerer) stableAll(list []ast.Expr) (places []ast.Expr, before []ast.Stmt) {
	for _, x := range list {
		place, b := l.stable(x)
		places, before = append(places, place), append(before, b...)
	}
	return places, before
}

// stable evaluates the operands of a place, so that an assignment cannot make it another place.
func (l *Lowerer) stable(x ast.Expr) (place ast.Expr, before []ast.Stmt) {
	bind := func(e ast.Expr) ast.Expr {
		if _, lit := e.(*ast.BasicLit); lit {
			return e
		}
		v := l.fresh("p")
		before = append(before, l.define(v, e))
		return l.id(v)
	}
	switch x := x.(type) {
	case *ast.IndexExpr:
		return &ast.IndexExpr{X: x.X, Lbrack: x.Lbrack, Index: bind(x.Index), Rbrack: x.Rbrack}, before
	case *ast.StarExpr:
		return &ast.StarExpr{Star: x.Star, X: bind(x.X)}, before
	}
	return x, nil
}

// temps stores the values of a multiple assignment in variables first, unless they are simple look-ups.
// The interpreter lets a call among the values write to its place at once, and then skips all assignments
// of the statement.
func (l *Lowerer) temps(values, from []ast.Expr, ts []types.Type) (list []ast.Stmt) {
	for i, x := range values {
		switch ast.Unparen(x).(type) {
		case *ast.Ident, *ast.BasicLit, *ast.IndexExpr, *ast.SelectorExpr, *ast.StarExpr:
			continue
		}
		t := ts[i]
		if t == nil {
			t = types.Default(l.typeOf(from[i]))
		}
		v := l.fresh("v")
		list = append(list, l.declare(v, l.typ(t)), l.assign(token.ASSIGN, l.id(v), x))
		values[i] = l.id(v)
	}
	return list
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

// shared says whether other code may see a variable: the session's variables, and variables that a closure
// or pointer in this function has.
func (l *Lowerer) shared(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	if !ok || id.Name == "_" {
		return false
	}
	return !strings.HasPrefix(id.Name, "__") && (l.fn.shared == nil || l.fn.shared[id.Name])
}

func allBlank(list []ast.Expr) bool {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// opAssign keeps x op= y: the left side must be evaluated once.
func (l *Lowerer) opAssign(s *ast.AssignStmt) []ast.Stmt {
	x, y := l.expr(s.Lhs[0]), l.expr(s.Rhs[0])
	if s.Tok == token.SHL_ASSIGN || s.Tok == token.SHR_ASSIGN {
		y = l.shiftCount(y, s.Rhs[0])
	}
	l.pos = s.Pos()
	assign := &ast.AssignStmt{Lhs: []ast.Expr{x}, TokPos: s.TokPos, Tok: s.Tok, Rhs: []ast.Expr{y}}
	if at, ok := x.(*ast.IndexExpr); ok && isMap(l.typeOf(ast.Unparen(s.Lhs[0]).(*ast.IndexExpr).X)) && calls(s.Rhs[0]) {
		m := l.fresh("m") // the call may change which map it is
		list := []ast.Stmt{l.define(m, at.X)}
		at.X = l.id(m)
		place, before := l.stable(at)
		assign.Lhs[0] = place
		return []ast.Stmt{l.block(append(append(list, before...), assign)...)}
	}
	return []ast.Stmt{assign}
}

func isMap(t types.Type) bool {
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// calls says whether an expression calls something.
func calls(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if _, ok := n.(*ast.CallExpr); ok {
			found = true
		}
		return !found
	})
	return found
}
