package lower

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Channel operations go through package rt: they can be interrupted there, and the interpreter's select
// mistakes break and continue.

// receiveOK is <-ch: the value, and whether there was one.
func (l *Lowerer) receiveOK(e *ast.UnaryExpr) (value, ok ast.Expr) {
	t := l.typeOf(e.X).Underlying().(*types.Chan).Elem()
	ch := l.expr(e.X)
	l.pos = e.Pos()
	v := l.variable(t)
	return l.id(v), l.temp(l.rt("Recv", ch, l.addr(l.id(v))), types.Typ[types.Bool])
}

func (l *Lowerer) send(s *ast.SendStmt) []ast.Stmt {
	t := l.typeOf(s.Chan).Underlying().(*types.Chan).Elem()
	ch, x := l.expr(s.Chan), l.expr(s.Value)
	x = l.convert(x, l.typeOf(s.Value), t)
	l.pos = s.Pos()
	v := l.variable(t)
	return []ast.Stmt{l.assign(token.ASSIGN, l.id(v), x), l.do(l.rt("Send", ch, l.addr(l.id(v))))}
}

// selectStmt becomes
//
//	s := __rt.NewSelect(); s.Recv(c, &v); s.Send(d, &x); switch s.Wait(false) { case 0: … }
func (l *Lowerer) selectStmt(s *ast.SelectStmt, label string) []ast.Stmt {
	sel := l.fresh("s")
	head := []ast.Stmt{l.define(sel, l.rt("NewSelect"))}
	out := &ast.SwitchStmt{Switch: s.Select, Body: &ast.BlockStmt{Lbrace: s.Body.Lbrace, Rbrace: s.Body.Rbrace}}
	l.push(label, switchTarget)
	defer l.pop()
	hasDefault := "false"
	n := 0
	for _, c := range s.Body.List {
		c := c.(*ast.CommClause)
		clause := &ast.CaseClause{Case: c.Case, Colon: c.Colon}
		if c.Comm == nil {
			hasDefault = "true"
			clause.List = []ast.Expr{&ast.UnaryExpr{OpPos: c.Case, Op: token.SUB, X: l.int(1)}}
			clause.Body = l.clauseBody(c.Body)
		} else {
			var body []ast.Stmt
			head = append(head, l.collect(func() {
				setup, start := l.comm(c, sel)
				l.emit(setup...)
				body = start
			})...)
			clause.List = []ast.Expr{l.int(n)}
			clause.Body = append(body, l.clauseBody(c.Body)...)
			n++
		}
		out.Body.List = append(out.Body.List, clause)
	}
	l.pos = s.Pos()
	wait := l.call(l.sel(l.id(sel), "Wait"), l.id(hasDefault))
	if len(out.Body.List) == 0 { // the interpreter would not even evaluate the tag
		return append(head, l.do(wait))
	}
	out.Tag = wait
	return l.scoped(head, l.withLabel(label, out))
}

// comm rewrites the communication of a select case into statements before the select and statements that
// begin the case's body.
func (l *Lowerer) comm(c *ast.CommClause, sel string) (setup, body []ast.Stmt) {
	l.pos = c.Pos()
	var recv *ast.UnaryExpr
	var lhs []ast.Expr
	define := false
	switch s := c.Comm.(type) {
	case *ast.SendStmt:
		t := l.typeOf(s.Chan).Underlying().(*types.Chan).Elem()
		ch := l.expr(s.Chan)
		x := l.convert(l.expr(s.Value), l.typeOf(s.Value), t)
		l.pos = c.Pos()
		v := l.fresh("v")
		return []ast.Stmt{l.declare(v, l.typ(t)), l.assign(token.ASSIGN, l.id(v), x),
			l.do(l.call(l.sel(l.id(sel), "Send"), ch, l.addr(l.id(v))))}, nil
	case *ast.ExprStmt:
		recv = ast.Unparen(s.X).(*ast.UnaryExpr)
	case *ast.AssignStmt:
		recv = ast.Unparen(s.Rhs[0]).(*ast.UnaryExpr)
		lhs, define = s.Lhs, s.Tok == token.DEFINE
	}
	t := l.typeOf(recv.X).Underlying().(*types.Chan).Elem()
	ch := l.expr(recv.X)
	l.pos = c.Pos()
	v := l.fresh("v")
	setup = []ast.Stmt{l.declare(v, l.typ(t)), l.do(l.call(l.sel(l.id(sel), "Recv"), ch, l.addr(l.id(v))))}
	values := []ast.Expr{l.id(v), l.sel(l.id(sel), "OK")}
	ts := []types.Type{t, types.Typ[types.Bool]}
	for i, e := range lhs {
		if isBlank(e) {
			continue
		}
		if id, ok := e.(*ast.Ident); ok && define && l.info.Defs[id] != nil {
			o := l.info.Defs[id]
			name := l.renamed(o, id.Name).(*ast.Ident).Name
			body = append(body, l.declare(name, l.typ(o.Type())), l.assign(token.ASSIGN, l.id(name), values[i]))
			continue
		}
		body = append(body, l.collect(func() {
			place, _ := l.place(e)
			l.emit(l.assign(token.ASSIGN, place, l.convert(values[i], ts[i], l.typeOf(e))))
		})...)
	}
	return setup, body
}
