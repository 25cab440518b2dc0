package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

func (l *Lowerer) stmts(list []ast.Stmt) []ast.Stmt {
	var out []ast.Stmt
	for _, s := range list {
		out = append(out, l.stmt(s)...)
	}
	return out
}

func (l *Lowerer) blockStmt(b *ast.BlockStmt) *ast.BlockStmt {
	return &ast.BlockStmt{Lbrace: b.Lbrace, List: l.stmts(b.List), Rbrace: b.Rbrace}
}

// stmt rewrites a statement, with a mark before it if it can panic.
func (l *Lowerer) stmt(s ast.Stmt) []ast.Stmt {
	l.pos = s.Pos()
	if label, ok := s.(*ast.LabeledStmt); ok {
		return l.labeled(label)
	}
	out := l.mark(s)
	return append(out, l.plain(s, "")...)
}

// plain rewrites a statement; label is the one that it carries.
func (l *Lowerer) plain(s ast.Stmt, label string) []ast.Stmt {
	l.pos = s.Pos()
	switch s := s.(type) {
	case *ast.EmptyStmt:
		return nil
	case *ast.ExprStmt:
		return l.exprStmt(s)
	case *ast.AssignStmt:
		return l.assignStmt(s)
	case *ast.DeclStmt:
		return l.declStmt(s)
	case *ast.IncDecStmt:
		return []ast.Stmt{&ast.IncDecStmt{X: l.expr(s.X), TokPos: s.TokPos, Tok: s.Tok}}
	case *ast.BlockStmt:
		return []ast.Stmt{l.blockStmt(s)}
	case *ast.IfStmt:
		return []ast.Stmt{l.ifStmt(s)}
	case *ast.ForStmt:
		return l.forStmt(s, label)
	case *ast.RangeStmt:
		return l.rangeStmt(s, label)
	case *ast.SwitchStmt:
		return l.switchStmt(s, label)
	case *ast.TypeSwitchStmt:
		return l.typeSwitch(s, label)
	case *ast.SelectStmt:
		return l.selectStmt(s, label)
	case *ast.SendStmt:
		return l.send(s)
	case *ast.ReturnStmt:
		return l.returnStmt(s)
	case *ast.BranchStmt:
		return l.branch(s)
	case *ast.DeferStmt:
		return []ast.Stmt{l.deferStmt(s)}
	case *ast.GoStmt:
		return []ast.Stmt{l.goStmt(s)}
	}
	l.refuse(s.Pos(), "%T is not available in cells", s)
	return nil
}

// labeled rewrites a labeled statement. The label of a loop is placed by the rule for the loop; one that a goto names is
// a statement of its own, which tests for a stop because the jump may go back.
func (l *Lowerer) labeled(s *ast.LabeledStmt) []ast.Stmt {
	name := s.Label.Name
	head := append([]ast.Stmt{}, l.mark(s.Stmt)...)
	body := l.plain(s.Stmt, name)
	l.pos = s.Pos()
	if !l.jumpedTo(name) {
		return append(head, body...)
	}
	first := l.stopCheck()
	return append([]ast.Stmt{&ast.LabeledStmt{Label: l.id(name + "__goto"), Colon: s.Colon, Stmt: first}}, append(head, body...)...)
}

// jumpedTo says whether a goto names the label.
func (l *Lowerer) jumpedTo(name string) (found bool) {
	for _, n := range l.fn.body {
		inspect(n, func(n ast.Node) bool {
			if b, ok := n.(*ast.BranchStmt); ok && b.Tok == token.GOTO && b.Label.Name == name {
				found = true
			}
			return !found
		})
	}
	return found
}

// mark notes that a statement begins, if something in it may panic.
func (l *Lowerer) mark(s ast.Stmt) []ast.Stmt {
	m := Mark{Pos: s.Pos(), End: s.End(), Func: l.fn.name}
	risky := false
	for _, n := range header(s) {
		if n == nil {
			continue
		}
		inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if l.info.Types[n.Fun].IsType() {
					return true
				}
				risky = true
				m.Calls = append(m.Calls, call(n))
			case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr, *ast.SelectorExpr, *ast.SendStmt, *ast.CompositeLit:
				risky = true
			case *ast.BinaryExpr:
				risky = risky || n.Op == token.QUO || n.Op == token.REM || n.Op == token.SHL || n.Op == token.SHR || n.Op == token.EQL || n.Op == token.NEQ
			case *ast.AssignStmt:
				risky = risky || n.Tok == token.QUO_ASSIGN || n.Tok == token.REM_ASSIGN
			case *ast.UnaryExpr:
				risky = risky || n.Op == token.ARROW
			}
			return true
		})
	}
	if !risky {
		return nil
	}
	l.pos = s.Pos()
	list := []ast.Stmt{l.setMark(l.fn.slot, l.env.Mark(m))}
	if l.fn.slot != LiteralSlot && l.hasLiterals() {
		list = append(list, l.setMark(LiteralSlot, 0)) // so that a mark of theirs is newer than this one
	}
	return list
}

func (l *Lowerer) setMark(slot, n int) ast.Stmt {
	return l.assign(token.ASSIGN, &ast.IndexExpr{X: l.id(MarksVar), Index: l.int(slot)}, l.int(n))
}

// hasLiterals says whether there are function literals in the function.
func (l *Lowerer) hasLiterals() (found bool) {
	for _, s := range l.fn.body {
		ast.Inspect(s, func(n ast.Node) bool {
			_, lit := n.(*ast.FuncLit)
			found = found || lit
			return !found
		})
	}
	return found
}

func call(e *ast.CallExpr) Call {
	switch f := ast.Unparen(e.Fun).(type) {
	case *ast.Ident:
		return Call{f.Name, f.Pos()}
	case *ast.SelectorExpr:
		return Call{f.Sel.Name, f.Sel.Pos()}
	}
	return Call{"", e.Pos()}
}

// header is what a statement evaluates before its body.
func header(s ast.Stmt) []ast.Node {
	var list []ast.Node
	add := func(n ast.Node, ok bool) {
		if ok {
			list = append(list, n)
		}
	}
	switch s := s.(type) {
	case *ast.BlockStmt, *ast.EmptyStmt, *ast.BranchStmt, *ast.SelectStmt:
	case *ast.IfStmt:
		add(s.Init, s.Init != nil)
		add(s.Cond, true)
	case *ast.ForStmt:
		add(s.Init, s.Init != nil)
		add(s.Cond, s.Cond != nil)
		add(s.Post, s.Post != nil)
	case *ast.RangeStmt:
		add(s.X, true)
	case *ast.SwitchStmt:
		add(s.Init, s.Init != nil)
		add(s.Tag, s.Tag != nil)
		for _, c := range s.Body.List {
			for _, e := range c.(*ast.CaseClause).List {
				add(e, true)
			}
		}
	case *ast.TypeSwitchStmt:
		add(s.Init, s.Init != nil)
		add(s.Assign, true)
	default:
		add(s, true)
	}
	return list
}

func (l *Lowerer) exprStmt(s *ast.ExprStmt) []ast.Stmt {
	x := ast.Unparen(s.X)
	if u, ok := x.(*ast.UnaryExpr); ok && u.Op == token.ARROW {
		return l.receiveInto(nil, nil, u)
	}
	e, ok := x.(*ast.CallExpr)
	if !ok || l.info.Types[e.Fun].IsType() {
		return []ast.Stmt{l.assign(token.ASSIGN, l.id("_"), l.expr(x))}
	}
	return []ast.Stmt{l.do(l.expr(x))}
}

func (l *Lowerer) ifStmt(s *ast.IfStmt) ast.Stmt {
	out := &ast.IfStmt{If: s.If}
	var head []ast.Stmt
	if s.Init != nil {
		init := l.plain(s.Init, "")
		if len(init) == 1 && !isDecl(init[0]) {
			out.Init = init[0]
		} else {
			head = init
		}
	}
	out.Cond = l.expr(s.Cond)
	out.Body = l.blockStmt(s.Body)
	switch e := s.Else.(type) {
	case *ast.BlockStmt:
		out.Else = l.blockStmt(e)
	case *ast.IfStmt:
		inner := l.ifStmt(e)
		if marks := l.mark(e); len(marks) > 0 || !isIf(inner) {
			out.Else = l.block(append(marks, inner)...)
		} else {
			out.Else = inner
		}
	}
	if head != nil {
		return l.block(append(head, out)...)
	}
	return out
}

func isDecl(s ast.Stmt) bool { _, ok := s.(*ast.DeclStmt); return ok }
func isIf(s ast.Stmt) bool   { _, ok := s.(*ast.IfStmt); return ok }

// declStmt rewrites the declarations inside of a function. Constants are folded everywhere, so they disappear.
func (l *Lowerer) declStmt(s *ast.DeclStmt) []ast.Stmt {
	g := s.Decl.(*ast.GenDecl)
	var out []ast.Stmt
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.TypeParams != nil {
				l.refuse(spec.Pos(), "a generic type must be declared at the top of a cell")
			}
			if spec.Assign.IsValid() {
				continue
			}
			l.pos = spec.Pos()
			o := l.info.Defs[spec.Name].(*types.TypeName)
			name := l.env.LocalType(o)
			l.locals[o] = name
			out = append(out, &ast.DeclStmt{Decl: l.typeDecl(name, o.Type())})
		case *ast.ValueSpec:
			if g.Tok == token.VAR {
				out = append(out, l.varSpec(spec)...)
			}
		}
	}
	return out
}

// varSpec declares each variable with its type and then assigns: the interpreter infers types of its own otherwise.
func (l *Lowerer) varSpec(s *ast.ValueSpec) []ast.Stmt {
	var lhs []ast.Expr
	var types []types.Type
	var out []ast.Stmt
	var rhs []ast.Expr
	if len(s.Values) > 0 {
		rhs = s.Values
	}
	var temps []ast.Stmt
	for _, n := range s.Names {
		l.pos = n.Pos()
		o := l.info.Defs[n]
		if n.Name == "_" || o == nil {
			lhs, types = append(lhs, l.id("_")), append(types, nil)
			continue
		}
		id := l.renamed(o, n.Name)
		lhs, types = append(lhs, id), append(types, o.Type())
		if l.env.Name(o) != "" { // a session variable: declared by the session
			if rhs == nil {
				out = append(out, l.assign(token.ASSIGN, id, l.zero(o.Type())))
			}
			continue
		}
		temps = append(temps, l.declare(id.(*ast.Ident).Name, l.typ(o.Type())))
	}
	if rhs == nil {
		return append(temps, out...)
	}
	// var x T = x: the right side means an outer x
	if len(temps) > 0 && l.mentions(rhs, s.Names) {
		return l.viaTemps(lhs, types, rhs, temps)
	}
	return append(temps, l.assignTo(lhs, types, rhs, token.ASSIGN)...)
}

func (l *Lowerer) mentions(list []ast.Expr, names []*ast.Ident) (found bool) {
	for _, e := range list {
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				for _, name := range names {
					found = found || id.Name == name.Name
				}
			}
			return !found
		})
	}
	return found
}

func (l *Lowerer) viaTemps(lhs []ast.Expr, ts []types.Type, rhs []ast.Expr, decls []ast.Stmt) []ast.Stmt {
	temps := make([]ast.Expr, len(lhs))
	var out []ast.Stmt
	for i, t := range ts {
		if t == nil {
			temps[i] = l.id("_")
			continue
		}
		name := l.fresh("v")
		temps[i] = l.id(name)
		out = append(out, l.declare(name, l.typ(t)))
	}
	out = append(out, l.assignTo(temps, ts, rhs, token.ASSIGN)...)
	out = append(out, decls...)
	for i, t := range ts {
		if t != nil {
			out = append(out, l.assign(token.ASSIGN, lhs[i], temps[i]))
		}
	}
	return out
}

func (l *Lowerer) assignStmt(s *ast.AssignStmt) []ast.Stmt {
	switch s.Tok {
	case token.ASSIGN, token.DEFINE:
	default:
		return l.opAssign(s)
	}
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
	if !define { // session variables, and perhaps a local one for an error that was left out
		for i, e := range s.Lhs {
			if o := l.info.Defs[e.(*ast.Ident)]; o != nil && l.env.Name(o) == "" && !isBlank(e) {
				out = append(out, l.declare(lhs[i].(*ast.Ident).Name, l.typ(ts[i])))
			}
		}
		return append(out, l.assignTo(lhs, ts, s.Rhs, token.ASSIGN)...)
	}
	return l.defineTo(s, lhs, ts)
}

// defineTo is := in a function: new variables are declared with the type that the checker gave them, unless that is
// what the interpreter finds itself.
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
			return l.assertInto(lhs, e)
		case *ast.UnaryExpr:
			if e.Op == token.ARROW {
				return l.receiveInto(lhs[0], lhs[1], e)
			}
		}
	}
	if len(rhs) == 1 && len(lhs) == 1 {
		if u, ok := ast.Unparen(rhs[0]).(*ast.UnaryExpr); ok && u.Op == token.ARROW {
			return l.receiveInto(lhs[0], nil, u)
		}
	}
	pos := l.pos
	values := make([]ast.Expr, len(rhs))
	for i, e := range rhs {
		values[i] = l.expr(e)
		if len(rhs) == len(lhs) && ts[i] != nil {
			values[i] = l.convert(values[i], l.typeOf(e), ts[i])
			if len(rhs) > 1 && isNil(l.typeOf(e)) { // the interpreter finds no type for it
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
	if len(lhs) == 1 && len(rhs) == 1 && isBlank(lhs[0]) && !isNil(l.typeOf(rhs[0])) {
		// The interpreter does not evaluate everything that nobody wants, and finds no type for some of it.
		v := l.fresh("v")
		t := types.Default(l.typeOf(rhs[0]))
		if nameable(t) {
			return []ast.Stmt{l.block(l.declare(v, l.typ(t)), l.assign(token.ASSIGN, l.id(v), values[0]))}
		}
	}
	if results := Results(l.typeOf(rhs[0])); len(rhs) == 1 && len(lhs) > 1 && (!allIdents(lhs) || wrapped(ts, results)) {
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

// assignAll is a, b = x, y. The interpreter cannot do it with interfaces: those are assigned one after the other, from
// variables, to places whose operands have been evaluated.
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

// simplePlaces says whether the interpreter assigns to several places as Go does: they are variables, or elements of
// one slice (a swap).
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
		if !ok || base != "" && base != id.Name {
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

// placesFirst puts the assignments to variables behind the others: an element or a field that is assigned beside is that
// of the variable's old value.
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

// wrapped says whether a result becomes the value of an interface when it is assigned.
func wrapped(places, results []types.Type) bool {
	for i, t := range places {
		if len(results) == len(places) && t != nil && types.IsInterface(t) && !types.IsInterface(results[i]) {
			return true
		}
	}
	return false
}

// assignResults assigns the results of a call, which are of the types ts, to places of the types to: their operands are
// evaluated before the call.
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

// stable evaluates the operands of a place, so that assignments cannot change which place it is.
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

// temps puts the values of a multiple assignment that are more than a look-up into variables first: the interpreter
// lets a call among them write to its place at once and then skips the assignment, with all the others.
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

// replaces says whether the interpreter, when it assigns such a value to a variable, may put a new variable in its place,
// or let a function use the variable as its result before it returns: whoever has a pointer to it, or a closure over it,
// would see that.
func replaces(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr, *ast.CompositeLit:
		return true
	case *ast.UnaryExpr:
		return x.Op == token.AND
	}
	return false
}

// shared says whether somebody else may see a variable: it is the session's, or a closure or pointer in this function
// has it.
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
