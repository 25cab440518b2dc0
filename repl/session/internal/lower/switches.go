package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// switchStmt keeps a switch, with a condition for each case.
func (l *Lowerer) switchStmt(s *ast.SwitchStmt, label string) []ast.Stmt {
	var head []ast.Stmt
	if s.Init != nil {
		head = l.plain(s.Init, "")
	}
	out := &ast.SwitchStmt{Switch: s.Switch, Body: &ast.BlockStmt{Lbrace: s.Body.Lbrace, Rbrace: s.Body.Rbrace}}
	var tag ast.Expr
	var tagType types.Type
	if s.Tag != nil {
		tagType = l.typeOf(s.Tag)
		t := l.expr(s.Tag)
		l.pos = s.Pos()
		name := l.fresh("t")
		head = append(head, l.declare(name, l.typ(types.Default(tagType))), l.assign(token.ASSIGN, l.id(name), t))
		tag = l.id(name)
	}
	l.push(label, switchTarget)
	defer l.pop()
	for _, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		clause := &ast.CaseClause{Case: c.Case, Colon: c.Colon}
		var cond ast.Expr
		for _, e := range c.List { // the interpreter evaluates only one condition of a list
			x := l.expr(e)
			l.pos = c.Pos()
			if tag != nil {
				x = l.caseCondition(tag, tagType, x, e)
			} else if eq := l.compare(l.id("true"), x, types.Typ[types.Bool], l.typeOf(e)); eq != nil {
				x = eq
			}
			if cond == nil {
				cond = x
			} else {
				cond = l.binary(cond, token.LOR, x)
			}
		}
		if cond != nil {
			clause.List = []ast.Expr{cond}
		}
		clause.Body = l.stmts(c.Body)
		out.Body.List = append(out.Body.List, clause)
	}
	if leavesDefault(s) {
		head = append(head, l.pickCase(out)...)
	}
	return l.scoped(head, l.withLabel(label, out))
}

// leavesDefault says whether the default clause of a switch falls through to one behind it, which the
// interpreter does not do.
func leavesDefault(s *ast.SwitchStmt) bool {
	for _, c := range s.Body.List {
		if c := c.(*ast.CaseClause); c.List == nil && len(c.Body) > 0 {
			b, ok := c.Body[len(c.Body)-1].(*ast.BranchStmt)
			return ok && b.Tok == token.FALLTHROUGH
		}
	}
	return false
}

// pickCase turns a switch on conditions into a switch on the number of a clause. The statements that it
// returns find that number.
func (l *Lowerer) pickCase(s *ast.SwitchStmt) []ast.Stmt {
	pick := l.fresh("k")
	var chain ast.Stmt
	for k, c := range s.Body.List {
		if c := c.(*ast.CaseClause); c.List == nil {
			chain = l.block(l.assign(token.ASSIGN, l.id(pick), l.int(k)))
		}
	}
	for k := len(s.Body.List) - 1; k >= 0; k-- {
		c := s.Body.List[k].(*ast.CaseClause)
		if c.List != nil {
			test := l.ifs(c.List[0], l.assign(token.ASSIGN, l.id(pick), l.int(k)))
			test.Else, chain = chain, test
		}
		c.List = []ast.Expr{l.int(k)}
	}
	s.Tag = l.id(pick)
	return []ast.Stmt{l.declare(pick, l.id("int")), chain}
}

func (l *Lowerer) caseCondition(tag ast.Expr, tagType types.Type, x ast.Expr, e ast.Expr) ast.Expr {
	t := l.typeOf(e)
	if eq := l.compare(tag, x, tagType, t); eq != nil {
		return eq
	}
	tag, x = l.alike(tag, x, types.Default(tagType), t)
	return l.binary(tag, token.EQL, x)
}

// typeSwitch picks the number of a case by a chain of assertions, then switches on it: the interpreter does
// not match compiled values against interfaces, and its lists of types fail.
func (l *Lowerer) typeSwitch(s *ast.TypeSwitchStmt, label string) []ast.Stmt {
	var head []ast.Stmt
	if s.Init != nil {
		head = l.plain(s.Init, "")
	}
	assert, named := switchSubject(s)
	t := l.typeOf(assert.X)
	x := l.expr(assert.X)
	l.pos = s.Pos()
	subject, pick := l.fresh("x"), l.fresh("k")
	head = append(head, l.declare(subject, l.typ(t)), l.assign(token.ASSIGN, l.id(subject), x), l.define(pick, &ast.UnaryExpr{OpPos: l.pos, Op: token.SUB, X: l.int(1)}))
	out := &ast.SwitchStmt{Switch: s.Switch, Tag: l.id(pick), Body: &ast.BlockStmt{Lbrace: s.Body.Lbrace, Rbrace: s.Body.Rbrace}}
	l.push(label, switchTarget)
	defer l.pop()
	var tests []ast.Stmt
	for k, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		l.pos = c.Pos()
		v, _ := l.info.Implicits[c].(*types.Var)
		used := named && v != nil && l.usesObject(c, v)
		name := ""
		if used {
			name = l.renamed(v, v.Name()).(*ast.Ident).Name
		}
		var before []ast.Stmt
		single := len(c.List) == 1 && !l.isNilCase(c.List[0])
		bound := ""
		if used && single {
			bound = l.fresh("v")
			head = append(head, l.declare(bound, l.typ(v.Type())))
		}
		for _, e := range c.List {
			tests = append(tests, l.caseTest(subject, t, e, pick, k, bound))
		}
		if used {
			value := subject
			if bound != "" {
				value = bound
			}
			before = []ast.Stmt{l.declare(name, l.typ(v.Type())), l.assign(token.ASSIGN, l.id(name), l.id(value))}
		}
		clause := &ast.CaseClause{Case: c.Case, Colon: c.Colon, Body: append(before, l.stmts(c.Body)...)}
		if c.List != nil {
			clause.List = []ast.Expr{l.int(k)}
		}
		out.Body.List = append(out.Body.List, clause)
	}
	return l.scoped(append(head, tests...), l.withLabel(label, out))
}

func switchSubject(s *ast.TypeSwitchStmt) (assert *ast.TypeAssertExpr, named bool) {
	switch a := s.Assign.(type) {
	case *ast.AssignStmt:
		return ast.Unparen(a.Rhs[0]).(*ast.TypeAssertExpr), true
	case *ast.ExprStmt:
		return ast.Unparen(a.X).(*ast.TypeAssertExpr), false
	}
	return nil, false
}

func (l *Lowerer) usesObject(root ast.Node, o types.Object) (found bool) {
	ast.Inspect(root, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && l.info.Uses[id] == o {
			found = true
		}
		return !found
	})
	return found
}

func (l *Lowerer) isNilCase(e ast.Expr) bool { return l.info.Types[e].IsNil() }

// caseTest sets pick to k if the subject has the type e, unless an earlier case has matched.
func (l *Lowerer) caseTest(subject string, t types.Type, e ast.Expr, pick string, k int, bound string) ast.Stmt {
	l.pos = e.Pos()
	set := l.assign(token.ASSIGN, l.id(pick), l.int(k))
	open := l.binary(l.id(pick), token.LSS, l.int(0))
	if l.isNilCase(e) {
		return l.ifs(l.binary(open, token.LAND, l.binary(l.id(subject), token.EQL, l.id("nil"))), set)
	}
	ok := l.fresh("ok")
	target := types.Type(l.info.Types[e].Type)
	into := bound
	var list []ast.Stmt
	if into == "" {
		into = l.fresh("v")
		list = append(list, l.declare(into, l.typ(target)))
	}
	list = append(list, l.tryAssert(l.id(subject), t, target, into, ok)...)
	list = append(list, l.ifs(l.id(ok), set))
	return l.ifs(open, list...)
}

// tryAssert declares ok and sets it and the variable into to the outcome of x.(t).
func (l *Lowerer) tryAssert(x ast.Expr, from, t types.Type, into, ok string) []ast.Stmt {
	decl := l.define(ok, l.id("false"))
	var try ast.Expr
	switch {
	case !types.IsInterface(t):
		try = l.rt("As", x, l.addr(l.id(into)), l.int(l.boxKey(t)))
	case !l.inAny(t):
		try = l.rt("AsInterface", x, l.addr(l.id(into)))
	case isAny(t):
		full := l.binary(x, token.NEQ, l.id("nil"))
		return []ast.Stmt{decl, l.ifs(full, l.assign(token.ASSIGN, l.id(into), l.convert(x, from, t)), l.assign(token.ASSIGN, l.id(ok), l.id("true")))}
	default:
		try = l.rt("AsOwn", x, l.addr(l.id(into)), l.int(l.env.TypeKey(types.Unalias(t))))
	}
	return []ast.Stmt{decl, l.assign(token.ASSIGN, l.id(ok), try)}
}

// assertion rewrites x.(T) in an expression.
func (l *Lowerer) assertion(e *ast.TypeAssertExpr) ast.Expr {
	if _, ok := l.typeOf(e).(*types.Tuple); ok {
		l.refuse(e.Pos(), "this form of a type assertion is not available in cells")
	}
	t := l.typeOf(e)
	x := l.expr(e.X)
	from := l.typeOf(e.X)
	l.pos = e.Pos()
	v, ok, arg := l.fresh("v"), l.fresh("ok"), l.fresh("x")
	body := []ast.Stmt{l.declare(v, l.typ(t))}
	body = append(body, l.tryAssert(l.id(arg), from, t, v, ok)...)
	fail := l.rt("AssertFailed", l.id(arg), l.string(l.env.TypeName(from)), l.string(l.env.TypeName(t)), l.string(methodNames(t)))
	body = append(body, l.ifs(l.not(l.id(ok)), l.do(fail)), l.ret(l.id(v)))
	lit := l.lit(l.typ(t), body...)
	lit.Type.Params.List = []*ast.Field{{Names: []*ast.Ident{l.id(arg)}, Type: l.typ(from)}}
	return l.call(lit, x)
}

// assertInto is v, ok = x.(T).
func (l *Lowerer) assertInto(lhs []ast.Expr, e *ast.TypeAssertExpr) []ast.Stmt {
	t := l.info.Types[e.Type].Type
	from := l.typeOf(e.X)
	x := l.expr(e.X)
	l.pos = e.Pos()
	arg, v, ok := l.fresh("x"), l.fresh("v"), l.fresh("ok")
	list := []ast.Stmt{l.declare(arg, l.typ(from)), l.assign(token.ASSIGN, l.id(arg), x), l.declare(v, l.typ(t))}
	list = append(list, l.tryAssert(l.id(arg), from, t, v, ok)...)
	var places, values []ast.Expr
	for i, name := range []string{v, ok} {
		if !isBlank(lhs[i]) {
			places, values = append(places, lhs[i]), append(values, l.id(name))
		}
	}
	list = append(list, l.assignPlaces(places, values)...)
	return []ast.Stmt{l.block(list...)}
}

// methodNames are the names of an interface type's methods.
func methodNames(t types.Type) string {
	var names []string
	if i, ok := t.Underlying().(*types.Interface); ok {
		for m := range i.Methods() {
			names = append(names, m.Id())
		}
	}
	return strings.Join(names, " ")
}
