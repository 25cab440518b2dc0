package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

// A clause is one of a switch: the statements before its condition, and the condition, nil for default.
type clause struct {
	before []ast.Stmt
	cond   ast.Expr
	*ast.CaseClause
}

// switchStmt keeps a switch, with a condition for each case.
func (l *Lowerer) switchStmt(s *ast.SwitchStmt, label string) []ast.Stmt {
	var tag ast.Expr
	var tagType types.Type
	head := l.collect(func() {
		if s.Init != nil {
			l.emit(l.plain(s.Init, "")...)
		}
		if s.Tag != nil {
			tagType = types.Default(l.typeOf(s.Tag))
			tag = l.kept(l.value(s.Tag), tagType)
		}
	})
	out := &ast.SwitchStmt{Switch: s.Switch, Body: &ast.BlockStmt{Lbrace: s.Body.Lbrace, Rbrace: s.Body.Rbrace}}
	l.push(label, switchTarget)
	defer l.pop()
	var clauses []clause
	picks := fallsThrough(s)
	for _, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		to := clause{CaseClause: &ast.CaseClause{Case: c.Case, Colon: c.Colon}}
		to.before = l.collect(func() {
			for _, e := range c.List { // the interpreter evaluates only one condition of a list
				var x ast.Expr
				before := l.collect(func() { x = l.caseCondition(c, tag, tagType, e) })
				if l.pos = c.Pos(); to.cond == nil {
					l.emit(before...)
					to.cond = x
				} else {
					to.cond = l.both(token.LOR, to.cond, before, x, types.Typ[types.Bool])
				}
			}
		})
		picks = picks || len(to.before) > 0
		to.Body = l.clauseBody(c.Body)
		clauses = append(clauses, to)
		out.Body.List = append(out.Body.List, to.CaseClause)
	}
	l.pos = s.Pos()
	for _, c := range clauses {
		if c.cond != nil && !picks {
			c.List = []ast.Expr{c.cond}
		}
	}
	if picks {
		pick := l.tempOf(types.Typ[types.Int])
		out.Tag = pick
		head = append(head, l.pick(clauses, pick.Name)...)
	}
	if s.Init == nil {
		l.emit(head...)
		head = nil
	}
	return l.scoped(head, l.withLabel(label, out))
}

// clauseBody rewrites the statements of a clause. If one has a label they are a block, because the
// interpreter loses a label directly in a clause.
func (l *Lowerer) clauseBody(list []ast.Stmt) []ast.Stmt {
	out := l.stmts(list)
	if !slices.ContainsFunc(list, func(s ast.Stmt) bool { _, ok := s.(*ast.LabeledStmt); return ok }) {
		return out
	}
	n := len(out)
	if b, ok := out[n-1].(*ast.BranchStmt); ok && b.Tok == token.FALLTHROUGH {
		n--
	}
	return append([]ast.Stmt{l.block(out[:n:n]...)}, out[n:]...)
}

// fallsThrough says whether a switch has a fallthrough, which the interpreter gets wrong at the default
// clause and between conditions that it knows.
func fallsThrough(s *ast.SwitchStmt) bool {
	for _, c := range s.Body.List {
		if body := c.(*ast.CaseClause).Body; len(body) > 0 {
			if b, ok := body[len(body)-1].(*ast.BranchStmt); ok && b.Tok == token.FALLTHROUGH {
				return true
			}
		}
	}
	return false
}

// pick finds the number of a clause, and makes the clauses those of a switch on it.
func (l *Lowerer) pick(clauses []clause, pick string) []ast.Stmt {
	chain := []ast.Stmt{l.assign(token.ASSIGN, l.id(pick), &ast.UnaryExpr{OpPos: l.pos, Op: token.SUB, X: l.int(1)})}
	for k, c := range clauses {
		if c.List = []ast.Expr{l.int(k)}; c.cond == nil {
			chain = []ast.Stmt{l.assign(token.ASSIGN, l.id(pick), l.int(k))}
		}
	}
	for k, c := range slices.Backward(clauses) {
		if c.cond != nil {
			test := l.ifs(c.cond, l.assign(token.ASSIGN, l.id(pick), l.int(k)))
			test.Else = l.block(chain...)
			chain = append(c.before, test)
		}
	}
	return chain
}

// caseCondition is the condition under which a switch goes on at an expression of a case.
func (l *Lowerer) caseCondition(c *ast.CaseClause, tag ast.Expr, tagType types.Type, e ast.Expr) ast.Expr {
	if tag == nil {
		if !types.IsInterface(l.typeOf(e)) {
			return l.condition(e)
		}
		tag, tagType = l.id("true"), types.Typ[types.Bool]
	}
	x, t := l.expr(e), l.typeOf(e)
	l.pos = c.Pos()
	if eq := l.compare(tag, x, tagType, t); eq != nil {
		return eq
	}
	y, x := l.alike(tag, x, tagType, t)
	if eq := l.binary(y, token.EQL, x); branches(eq) {
		return eq
	}
	return l.temp(l.binary(y, token.EQL, x), types.Typ[types.Bool])
}

// typeSwitch picks the number of a case by a chain of assertions, then switches on it: the interpreter does
// not match compiled values against interfaces, and its lists of types fail.
func (l *Lowerer) typeSwitch(s *ast.TypeSwitchStmt, label string) []ast.Stmt {
	assert, named := switchSubject(s)
	t := l.typeOf(assert.X)
	subject, pick := l.fresh("x"), l.fresh("k")
	head := l.collect(func() {
		if s.Init != nil {
			l.emit(l.plain(s.Init, "")...)
		}
		x := l.value(assert.X)
		l.pos = s.Pos()
		l.emit(l.declare(subject, l.typ(t)), l.assign(token.ASSIGN, l.id(subject), x), l.define(pick, &ast.UnaryExpr{OpPos: l.pos, Op: token.SUB, X: l.int(1)}))
	})
	out := &ast.SwitchStmt{Switch: s.Switch, Tag: l.id(pick), Body: &ast.BlockStmt{Lbrace: s.Body.Lbrace, Rbrace: s.Body.Rbrace}}
	l.push(label, switchTarget)
	defer l.pop()
	var tests []ast.Stmt
	for k, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		l.pos = c.Pos()
		v, _ := l.info.Implicits[c].(*types.Var)
		used := named && v != nil && walk.Uses(l.info, c, v)
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
		clause := &ast.CaseClause{Case: c.Case, Colon: c.Colon, Body: append(before, l.clauseBody(c.Body)...)}
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

func (l *Lowerer) isNilCase(e ast.Expr) bool { return l.info.Types[e].IsNil() }

// caseTest sets pick to k if the subject has the type e, unless an earlier case has matched.
func (l *Lowerer) caseTest(subject string, t types.Type, e ast.Expr, pick string, k int, bound string) ast.Stmt {
	l.pos = e.Pos()
	set := l.assign(token.ASSIGN, l.id(pick), l.int(k))
	open := l.binary(l.id(pick), token.LSS, l.int(0))
	if l.isNilCase(e) {
		return l.ifs(open, l.ifs(l.binary(l.id(subject), token.EQL, l.id("nil")), set))
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
	x, v, ok := l.asserted(e)
	t, from := l.info.Types[e.Type].Type, l.typeOf(e.X)
	name := l.env.TypeName(from)
	if isAny(t) { // which only nil is not
		name = "interface"
	}
	fail := l.rt("AssertFailed", x, l.string(name), l.string(l.env.TypeName(t)), l.string(methodNames(t)))
	l.emit(l.ifs(l.not(ok), l.do(fail)))
	return v
}

func (l *Lowerer) asserted(e *ast.TypeAssertExpr) (x, value, is ast.Expr) {
	t, from := l.info.Types[e.Type].Type, l.typeOf(e.X)
	x = l.expr(e.X)
	l.pos = e.Pos()
	v, ok := l.variable(t), l.fresh("ok")
	l.emit(l.tryAssert(x, from, t, v, ok)...)
	return x, l.id(v), l.id(ok)
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
