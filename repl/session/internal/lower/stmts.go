package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
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
	return l.begin(s, func() []ast.Stmt { return l.plain(s, "") })
}

// begin rewrites a statement by rewrite, behind its mark and what it needs before it.
func (l *Lowerer) begin(s ast.Stmt, rewrite func() []ast.Stmt) []ast.Stmt {
	marks, apart, out, busy := l.mark(s), l.apart, l.out, len(l.temps.busy)
	l.apart, l.out = l.takesApart(s), nil
	l.emit(rewrite()...)
	list := l.out
	l.temps.release(busy)
	l.apart, l.out = apart, out
	if len(marks) == 0 {
		return list
	}
	return append(marks, list...)
}

// plain rewrites a statement; label is the statement's label, or "".
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
		l.declStmt(s)
		return nil
	case *ast.IncDecStmt:
		x, _ := l.place(s.X)
		if b, ok := l.typeOf(s.X).Underlying().(*types.Basic); ok && b.Kind() == types.Uintptr { // the interpreter ends the function at such a step
			op := map[token.Token]token.Token{token.INC: token.ADD_ASSIGN, token.DEC: token.SUB_ASSIGN}[s.Tok]
			return []ast.Stmt{&ast.AssignStmt{Lhs: []ast.Expr{x}, TokPos: s.TokPos, Tok: op, Rhs: []ast.Expr{&ast.BasicLit{Kind: token.INT, Value: "1"}}}}
		}
		return []ast.Stmt{&ast.IncDecStmt{X: x, TokPos: s.TokPos, Tok: s.Tok}}
	case *ast.BlockStmt:
		return []ast.Stmt{l.blockStmt(s)}
	case *ast.IfStmt:
		return l.ifStmt(s)
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
		return l.deferStmt(s)
	case *ast.GoStmt:
		l.pos = s.Pos()
		mark := l.env.Mark(Mark{Pos: s.Pos(), End: s.End(), Func: l.fn.name})
		return []ast.Stmt{l.do(l.rt("Go", l.int(mark), l.later(s.Call)))} // its panic cannot end the process
	}
	l.refuse(s.Pos(), "%T is not available in cells", s)
	return nil
}

// labeled rewrites a labeled statement. The rule for a loop places the loop's label. A label for goto
// becomes a statement of its own, which checks for a stop because the jump may go back.
func (l *Lowerer) labeled(s *ast.LabeledStmt) []ast.Stmt {
	name := s.Label.Name
	body := l.begin(s.Stmt, func() []ast.Stmt { return l.plain(s.Stmt, name) })
	l.pos = s.Pos()
	if !slices.ContainsFunc(l.fn.body, func(s ast.Stmt) bool {
		return walk.AnyOwn(s, func(b *ast.BranchStmt) bool { return b.Tok == token.GOTO && b.Label.Name == name })
	}) {
		return body
	}
	first := l.stopCheck()
	return append([]ast.Stmt{&ast.LabeledStmt{Label: l.id(name + gotoLabel), Colon: s.Colon, Stmt: first}}, body...)
}

// mark notes that a statement begins, if something in it may panic.
func (l *Lowerer) mark(s ast.Stmt) []ast.Stmt {
	m, risky, engine := l.marked(s)
	if !risky {
		return nil
	}
	l.pos = s.Pos()
	n := l.env.Mark(m)
	list := []ast.Stmt{l.setMark(l.fn.slot, n)}
	if engine {
		list = append(list, l.setMark(EngineSlot, n))
	}
	if l.fn.slot != LiteralSlot && slices.ContainsFunc(l.fn.body, func(s ast.Stmt) bool { return walk.Has[*ast.FuncLit](s) }) {
		list = append(list, l.setMark(LiteralSlot, 0)) // so that a mark of theirs is newer than this one
	}
	return list
}

// marked is the mark of a statement, and says whether something in it may panic or calls the engine.
func (l *Lowerer) marked(s ast.Stmt) (m Mark, risky, engine bool) {
	m = Mark{Pos: s.Pos(), End: s.End(), Func: l.fn.name}
	risky = l.riskySwitch(s)
	interpreted := false
	for _, n := range header(s) {
		if n == nil {
			continue
		}
		walk.Own(n, func(n ast.Node) bool {
			risky = risky || l.risky(n)
			if e, ok := n.(*ast.CallExpr); ok && !l.info.Types[e.Fun].IsType() {
				m.Calls = append(m.Calls, call(e))
				switch pkg := l.calledPackage(e); {
				case pkg == nil || Interpreted(pkg):
					interpreted = interpreted || l.builtin(e) == ""
				case strings.HasPrefix(pkg.Path(), enginePrefix):
					engine = true
				}
			}
			return true
		})
	}
	m.Mixed = engine && interpreted
	return m, risky, engine
}

// enginePrefix begins the import paths of the engine's packages. A call of one of them costs so much more
// than a mark that each can have one.
const enginePrefix = "github.com/mcs-notebook/mcs/engine/"

// calledPackage is the package of the function or method that a call names; nil, if it calls a value.
func (l *Lowerer) calledPackage(e *ast.CallExpr) *types.Package {
	var id *ast.Ident
	switch f := ast.Unparen(e.Fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	}
	if f, ok := l.info.Uses[id].(*types.Func); ok {
		return f.Pkg()
	}
	return nil
}

func (l *Lowerer) setMark(slot, n int) ast.Stmt {
	l.env.Slot(slot)
	return l.assign(token.ASSIGN, l.id(MarkVar(slot)), l.int(n))
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

// header returns the expressions that a statement evaluates before its body.
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
		l.receiveOK(u)
		return nil
	}
	e, ok := x.(*ast.CallExpr)
	if !ok || l.info.Types[e.Fun].IsType() {
		l.drop(x)
		return nil
	}
	if l.fn.cell && l.returnsError(e) {
		l.checked(e)
	} else if y := l.value(x); y != nil {
		l.emit(l.do(y))
	}
	return l.grownBuffer(e)
}

func (l *Lowerer) ifStmt(s *ast.IfStmt) []ast.Stmt {
	out := &ast.IfStmt{If: s.If}
	head := l.collect(func() {
		if s.Init != nil {
			l.emit(l.plain(s.Init, "")...)
		}
		out.Cond = l.condition(s.Cond)
	})
	out.Body = l.blockStmt(s.Body)
	switch e := s.Else.(type) {
	case *ast.BlockStmt:
		out.Else = l.blockStmt(e)
	case *ast.IfStmt:
		if inner := l.stmt(e); len(inner) == 1 {
			out.Else = inner[0]
		} else {
			out.Else = l.block(inner...)
		}
	}
	if s.Init == nil {
		l.emit(head...)
		return []ast.Stmt{out}
	}
	return l.scoped(head, out)
}

// declStmt rewrites the declarations inside of a function. Constants are folded everywhere, so they
// disappear.
func (l *Lowerer) declStmt(s *ast.DeclStmt) {
	g := s.Decl.(*ast.GenDecl)
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.TypeParams != nil || spec.Assign.IsValid() { // instances are declared where they are used
				continue
			}
			l.pos = spec.Pos()
			o := l.info.Defs[spec.Name].(*types.TypeName)
			l.env.LocalType(o, func(name string) ast.Decl {
				l.locals[o] = name
				return l.typeDecl(name, o.Type())
			})
		case *ast.ValueSpec:
			if g.Tok == token.VAR {
				l.emit(l.varSpec(spec)...)
			}
		}
	}
}

// varSpec declares each variable with its type and then assigns: otherwise the interpreter infers types of
// its own.
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
	return append(l.declareAs(temps, s.Names, lhs, types, rhs), out...)
}

func (l *Lowerer) mentions(list []ast.Expr, names []*ast.Ident) bool {
	return slices.ContainsFunc(list, func(e ast.Expr) bool {
		return walk.Any(e, func(id *ast.Ident) bool {
			return slices.ContainsFunc(names, func(name *ast.Ident) bool { return name.Name == id.Name })
		})
	})
}
