package lower

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

// A rangeFunc is a range over a function whose body is being rewritten into a function literal. A jump out
// of the body stores a number in a state variable; the code after the call acts on it.
type rangeFunc struct {
	state   string // the variable, shared by nested ranges over functions
	results []string
	codes   *[]exit
	target  *target
	body    *ast.BlockStmt
}

// An exit is a way out of a range over a function. Its number is its index plus one.
type exit struct {
	tok   token.Token // break, continue, goto, or return
	to    *target     // of break and continue
	label string      // of goto
}

func (l *Lowerer) innermostRange() *rangeFunc {
	if n := len(l.fn.ranges); n > 0 {
		return l.fn.ranges[n-1]
	}
	return nil
}

// inside says whether a jump to t leaves the body of the range over a function.
func (r *rangeFunc) inside(l *Lowerer, t *target) bool {
	for _, v := range slices.Backward(l.fn.targets) {
		if v == t {
			return false
		}
		if v == r.target {
			return true
		}
	}
	return true
}

// leave ends the function literal, and with it the range, by an exit. Exits are numbered from 1.
func (r *rangeFunc) leave(l *Lowerer, e exit) []ast.Stmt {
	n := slices.Index(*r.codes, e)
	if n < 0 {
		n, *r.codes = len(*r.codes), append(*r.codes, e)
	}
	return []ast.Stmt{l.assign(token.ASSIGN, l.id(r.state), l.int(n+1)), l.ret(l.id("false"))}
}

// has says whether a label stands in the body.
func (r *rangeFunc) has(label string) bool {
	return walk.AnyOwn(r.body, func(s *ast.LabeledStmt) bool { return s.Label.Name == label })
}

// returnFrom is a return statement in the body.
func (r *rangeFunc) returnFrom(l *Lowerer, s *ast.ReturnStmt) []ast.Stmt {
	var out []ast.Stmt
	if len(s.Results) > 0 && !l.fn.cell {
		out = l.setResults(r.results, s)
	}
	l.pos = s.Pos()
	return append(out, r.leave(l, exit{tok: token.RETURN})...)
}

// rangeFunction writes a range over a function as a call with the body as a literal: the interpreter panics
// on it.
func (l *Lowerer) rangeFunction(s *ast.RangeStmt, label string, sig *types.Signature) []ast.Stmt {
	yield := sig.Params().At(0).Type().Underlying().(*types.Signature)
	x := l.expr(s.X)
	l.pos = s.Pos()
	outer := l.innermostRange()
	r := &rangeFunc{body: s.Body}
	var head []ast.Stmt
	if outer != nil {
		r.state, r.codes, r.results = outer.state, outer.codes, outer.results
	} else {
		r.state, r.codes = l.fresh("exit"), &[]exit{}
		head = append(head, l.define(r.state, l.int(0)))
		head = append(head, l.returnVars(r)...)
	}
	r.target = &target{label, rangeTarget}
	l.fn.ranges = append(l.fn.ranges, r)
	l.fn.targets = append(l.fn.targets, r.target)
	ts := walk.Types(yield.Params())
	var names [2]string
	body := l.scope(func() (start []ast.Stmt) {
		names, start = l.rangeVars(s, ts, func(int, types.Object) bool { return false })
		return append(start, l.stmts(s.Body.List)...)
	})
	for i := range ts {
		names[i] = cmp.Or(names[i], l.fresh("y"))
	}
	l.pop()
	l.fn.ranges = l.fn.ranges[:len(l.fn.ranges)-1]
	l.pos = s.Pos()
	lit := &ast.FuncLit{Type: l.signature(yield, names[:len(ts)]), Body: l.block(append(body, l.ret(l.id("true")))...)}
	list := append(head, l.do(l.call(x, lit)))
	return []ast.Stmt{l.block(append(list, l.exits(r)...)...)}
}

// returnVars declares variables for the results of returns in the body.
func (l *Lowerer) returnVars(r *rangeFunc) (decls []ast.Stmt) {
	if l.fn.results != nil {
		r.results = l.fn.results
		return nil
	}
	if l.fn.cell {
		return nil
	}
	if l.fn.named {
		r.results = l.fn.names
		return nil
	}
	for v := range l.fn.sig.Results().Variables() {
		name := l.fresh("r")
		r.results = append(r.results, name)
		decls = append(decls, l.declare(name, l.typ(v.Type())))
	}
	return decls
}

// exits acts on the state after the call of the body.
func (l *Lowerer) exits(r *rangeFunc) (list []ast.Stmt) {
	outer := l.innermostRange()
	beyond := false
	for i, e := range *r.codes {
		is := l.binary(l.id(r.state), token.EQL, l.int(i+1))
		reset := l.assign(token.ASSIGN, l.id(r.state), l.int(0))
		switch {
		case e.tok == token.RETURN && outer == nil:
			list = append(list, l.ifs(is, l.returnResults(r)...))
		case e.tok == token.GOTO && r.has(e.label): // it was done there
		case e.tok == token.GOTO && (outer == nil || outer.has(e.label)):
			list = append(list, l.ifs(is, reset, &ast.BranchStmt{TokPos: l.pos, Tok: token.GOTO, Label: l.id(e.label + gotoLabel)}))
		case e.tok == token.RETURN || e.tok == token.GOTO || outer != nil && outer.inside(l, e.to):
			beyond = true
		case slices.Contains(l.fn.targets, e.to):
			s := &ast.BranchStmt{Tok: e.tok}
			if e.to.label != "" {
				s.Label = l.id(e.to.label)
			}
			list = append(list, l.ifs(is, append([]ast.Stmt{reset}, l.jump(e.tok, e.to, s)...)...))
		}
	}
	if beyond {
		list = append(list, l.ifs(l.binary(l.id(r.state), token.NEQ, l.int(0)), l.ret(l.id("false"))))
	}
	return list
}

func (l *Lowerer) returnResults(r *rangeFunc) []ast.Stmt {
	if l.fn.cell {
		return []ast.Stmt{l.do(l.rt("Quit")), l.ret()}
	}
	if l.fn.results != nil || l.fn.named {
		return []ast.Stmt{l.ret()}
	}
	var values []ast.Expr
	for _, n := range r.results {
		values = append(values, l.id(n))
	}
	return []ast.Stmt{l.ret(values...)}
}
