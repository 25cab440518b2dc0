package lower

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

// A target is a statement that break and continue can name.
type target struct {
	label string
	kind  targetKind
}

type targetKind int

const (
	switchTarget targetKind = iota
	loopTarget
	rangeTarget // a range over a function: its body is a function literal
)

func (l *Lowerer) push(label string, kind targetKind) {
	l.fn.targets = append(l.fn.targets, &target{label, kind})
}

func (l *Lowerer) pop() { l.fn.targets = l.fn.targets[:len(l.fn.targets)-1] }

// withLabel puts a label before a statement, in a block of its own, because of clauses
// ([Lowerer.clauseBody]).
func (l *Lowerer) withLabel(label string, s ast.Stmt) ast.Stmt {
	if label == "" {
		return s
	}
	return l.block(&ast.LabeledStmt{Label: &ast.Ident{Name: label + loopLabel, NamePos: s.Pos()}, Colon: s.Pos(), Stmt: s})
}

// The labels of break and continue, and of goto, end in these: to the interpreter a label and a variable are
// one name.
const (
	loopLabel = "__loop"
	gotoLabel = "__goto"
)

// branch rewrites break, continue, goto and fallthrough.
func (l *Lowerer) branch(s *ast.BranchStmt) []ast.Stmt {
	switch s.Tok {
	case token.FALLTHROUGH:
		return []ast.Stmt{s}
	case token.GOTO:
		if r := l.innermostRange(); r != nil && !r.has(s.Label.Name) {
			return r.leave(l, exit{tok: token.GOTO, label: s.Label.Name})
		}
		return []ast.Stmt{&ast.BranchStmt{TokPos: s.TokPos, Tok: s.Tok, Label: l.id(s.Label.Name + gotoLabel)}}
	}
	i := len(l.fn.targets) - 1
	for ; i >= 0; i-- {
		t := l.fn.targets[i]
		if s.Label != nil && t.label == s.Label.Name || s.Label == nil && (s.Tok == token.BREAK || t.kind != switchTarget) {
			break
		}
	}
	return l.jump(s.Tok, l.fn.targets[i], s)
}

// jump goes to a target: by the statement itself, or out of the function literals of ranges over
// functions.
func (l *Lowerer) jump(tok token.Token, t *target, s *ast.BranchStmt) []ast.Stmt {
	inner := l.innermostRange()
	switch {
	case inner == nil || !inner.inside(l, t):
		if t.kind != rangeTarget {
			out := &ast.BranchStmt{TokPos: l.pos, Tok: tok}
			if s.Label != nil {
				out.Label = l.id(s.Label.Name + loopLabel)
			}
			return []ast.Stmt{out}
		}
		return []ast.Stmt{l.ret(l.id(map[token.Token]string{token.BREAK: "false", token.CONTINUE: "true"}[tok]))}
	default:
		return inner.leave(l, exit{tok: tok, to: t})
	}
}

// forStmt gives each iteration its own variables, as Go 1.22 does, if the program can see the difference.
// The interpreter has one set.
func (l *Lowerer) forStmt(s *ast.ForStmt, label string) []ast.Stmt {
	var shared []types.Object
	assigned := false
	if init, ok := s.Init.(*ast.AssignStmt); ok && init.Tok == token.DEFINE {
		for _, e := range init.Lhs {
			if o := l.info.Defs[e.(*ast.Ident)]; o != nil && l.captured(o, s.Body, s.Cond, s.Post) {
				shared = append(shared, o)
				assigned = assigned || l.assigned(o, s.Body) || l.captured(o, s.Cond, s.Post)
			}
		}
	}
	if len(shared) == 0 {
		return l.loop(s, label, l.forParts(s))
	}
	return l.perIteration(s, label, shared, assigned)
}

// A forLoop is the parts of a loop before its body.
type forLoop struct {
	head   []ast.Stmt // before the loop
	before []ast.Stmt // what the condition needs before it
	cond   ast.Expr   // nil: none
	back   []ast.Stmt // in each turn but the first
	post   []ast.Stmt // behind back
	copies []ast.Stmt // behind the condition
}

// forParts rewrites the parts of a loop.
func (l *Lowerer) forParts(s *ast.ForStmt) (f forLoop) {
	if s.Init != nil {
		f.head = l.collect(func() { l.emit(l.plain(s.Init, "")...) })
	}
	if s.Cond != nil {
		f.before = l.collect(func() { f.cond = l.condition(s.Cond) })
	}
	if s.Post != nil {
		f.post = l.collect(func() { l.emit(l.plain(s.Post, "")...) })
	}
	return f
}

// loop writes a loop. One whose condition or last statement has become several is
//
//	first := true; for { if !first { back; post }; first = false; before; if !cond { break }; copies; … }
func (l *Lowerer) loop(s *ast.ForStmt, label string, f forLoop) []ast.Stmt {
	l.pos = s.Pos()
	out := &ast.ForStmt{For: s.For}
	if len(f.before) == 0 && len(f.back) == 0 && len(f.post) <= 1 {
		if out.Cond = f.cond; len(f.post) == 1 {
			out.Post = f.post[0]
		}
		out.Body = l.loopBody(s.Body, label, f.copies...)
		return l.scoped(f.head, l.withLabel(label, out))
	}
	var start []ast.Stmt
	if back := append(f.back, f.post...); len(back) > 0 {
		first := l.fresh("first")
		f.head = append(f.head, l.define(first, l.id("true")))
		start = []ast.Stmt{l.ifs(l.not(l.id(first)), back...), l.assign(token.ASSIGN, l.id(first), l.id("false"))}
	}
	if start = append(start, f.before...); f.cond != nil {
		start = append(start, l.ifs(l.not(f.cond), &ast.BranchStmt{TokPos: l.pos, Tok: token.BREAK}))
	}
	out.Body = l.loopBody(s.Body, label, append(start, f.copies...)...)
	return l.scoped(f.head, l.withLabel(label, out))
}

// scoped is a statement with others before it, in a block of their own.
func (l *Lowerer) scoped(head []ast.Stmt, s ast.Stmt) []ast.Stmt {
	if len(head) == 0 {
		return []ast.Stmt{s}
	}
	return []ast.Stmt{l.block(append(head, s)...)}
}

// loopBody rewrites the body of a loop, and puts statements before it.
func (l *Lowerer) loopBody(b *ast.BlockStmt, label string, before ...ast.Stmt) *ast.BlockStmt {
	l.push(label, loopTarget)
	defer l.pop()
	l.pos = b.Pos()
	if l.env.Plain() {
		before = append(before, l.stopCheck())
	}
	return &ast.BlockStmt{Lbrace: b.Lbrace, List: append(before, l.stmts(b.List)...), Rbrace: b.Rbrace}
}

// perIteration is a loop whose variables are copied for each iteration. If the body changes them, the copies
// are carried over by way of a pointer:
//
//	i' := 0; var p *int; for { if !first { i' = *p; i'++ }; …; if !(i' < n) { break }; i := i'; p = &i; … }
func (l *Lowerer) perIteration(s *ast.ForStmt, label string, vars []types.Object, assigned bool) []ast.Stmt {
	outer := map[types.Object]string{}
	saved := map[types.Object]string{}
	for _, o := range vars {
		saved[o] = l.locals[o]
		outer[o] = l.another(o)
		l.locals[o] = outer[o]
	}
	f := l.forParts(s)
	for _, o := range vars {
		l.locals[o] = saved[o]
		name := l.renamed(o, o.Name()).(*ast.Ident).Name
		f.copies = append(f.copies, l.declare(name, l.typ(o.Type())), l.assign(token.ASSIGN, l.id(name), l.id(outer[o])))
		if assigned {
			p := l.fresh("p")
			f.head = append(f.head, l.declare(p, &ast.StarExpr{X: l.typ(o.Type())}))
			f.copies = append(f.copies, l.assign(token.ASSIGN, l.id(p), l.addr(l.id(name))))
			f.back = append(f.back, l.assign(token.ASSIGN, l.id(outer[o]), &ast.StarExpr{X: l.id(p)}))
		}
	}
	return l.loop(s, label, f)
}

// captured says whether a closure or a pointer may keep a variable.
func (l *Lowerer) captured(o types.Object, roots ...ast.Node) (found bool) {
	for _, root := range roots {
		if root != nil {
			walk.Reached(l.info, root, func(n ast.Node) { found = found || walk.Uses(l.info, n, o) })
		}
	}
	return found
}

// assigned says whether code in root changes a variable.
func (l *Lowerer) assigned(o types.Object, root ast.Node) (found bool) {
	is := func(e ast.Expr) bool {
		for {
			switch x := ast.Unparen(e).(type) {
			case *ast.Ident:
				return l.info.Uses[x] == o
			case *ast.SelectorExpr:
				e = x.X
			case *ast.IndexExpr:
				e = x.X
			default:
				return false
			}
		}
	}
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				found = found || is(e)
			}
		case *ast.IncDecStmt:
			found = found || is(n.X)
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && is(n.X)
		case *ast.RangeStmt:
			found = found || n.Key != nil && is(n.Key) || n.Value != nil && is(n.Value)
		}
		return !found
	})
	return found
}

func (l *Lowerer) rangeStmt(s *ast.RangeStmt, label string) []ast.Stmt {
	switch t := l.typeOf(s.X).Underlying().(type) {
	case *types.Basic:
		if t.Info()&types.IsInteger != 0 {
			return l.rangeInt(s, label)
		}
	case *types.Signature:
		return l.rangeFunction(s, label, t)
	case *types.Chan:
		return l.rangeChan(s, label, t)
	}
	if n, ok := arrayLen(l.typeOf(s.X)); ok && (s.Value == nil || isBlank(s.Value)) {
		return l.rangeIndices(s, label, n)
	}
	if b, ok := l.typeOf(s.X).Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
		return l.rangeString(s, label)
	}
	x, xt := l.value(s.X), l.typeOf(s.X)
	l.pos = s.Pos()
	kt, vt := elementTypes(xt)
	if _, ok := xt.Underlying().(*types.Pointer); ok { // one in a variable of the session the interpreter finds empty
		x, xt = &ast.SliceExpr{X: x}, types.NewSlice(vt)
	}
	names, start := l.rangeVars(s, []types.Type{kt, vt}, func(i int, o types.Object) bool {
		// The interpreter counts on from the key that the body has assigned.
		return l.captured(o, s.Body) || i == 0 && l.assigned(o, s.Body)
	})
	key, value := names[0], names[1]
	var head, fetch []ast.Stmt
	if _, ok := vt.Underlying().(*types.Chan); ok && value != "" { // the interpreter would range over the channel
		over := l.fresh("v")
		head = []ast.Stmt{l.declare(over, l.typ(xt)), l.assign(token.ASSIGN, l.id(over), x)}
		if x = l.id(over); key == "" {
			key = l.fresh("k")
		}
		element := &ast.IndexExpr{X: l.id(over), Index: l.id(key)}
		fetch = []ast.Stmt{l.declare(value, l.typ(vt)), l.assign(token.ASSIGN, l.id(value), element)}
	}
	out := &ast.RangeStmt{For: s.For, X: x, TokPos: s.For, Tok: token.DEFINE}
	if key == "" && value == "" {
		out.Tok = token.ILLEGAL
	}
	if key != "" {
		out.Key = l.id(key)
	}
	if value != "" && fetch == nil {
		out.Value = l.id(value)
		if key == "" {
			out.Key = l.id("_")
		}
	}
	out.Body = l.loopBody(s.Body, label, append(fetch, start...)...)
	return l.scoped(head, l.withLabel(label, out))
}

// elementTypes are the types of the values that a range over a slice, an array, a pointer to one, or a map
// has.
func elementTypes(t types.Type) (key, value types.Type) {
	switch t := walk.Deref(t).Underlying().(type) {
	case *types.Slice:
		return types.Typ[types.Int], t.Elem()
	case *types.Array:
		return types.Typ[types.Int], t.Elem()
	case *types.Map:
		return t.Key(), t.Elem()
	}
	return nil, nil
}

// arrayLen returns the length of an array, or of the array behind a pointer.
func arrayLen(t types.Type) (n int64, ok bool) {
	if p, is := t.Underlying().(*types.Pointer); is {
		t = p.Elem()
	}
	if a, is := t.Underlying().(*types.Array); is {
		return a.Len(), true
	}
	return 0, false
}

// rangeIndices is a range over the indices of an array: its elements are not touched, so a pointer to it may
// be nil. The array is evaluated only if its length is not constant.
func (l *Lowerer) rangeIndices(s *ast.RangeStmt, label string, n int64) []ast.Stmt {
	evaluated := walk.AnyOwn(s.X, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return !l.info.Types[n.Fun].IsType() && l.info.Types[n].Value == nil
		case *ast.UnaryExpr:
			return n.Op == token.ARROW
		}
		return false
	})
	if evaluated {
		l.drop(s.X)
	}
	over := *s
	over.Value = nil
	id := &ast.Ident{Name: "_", NamePos: s.X.Pos()}
	l.info.Types[id] = types.TypeAndValue{Type: types.Typ[types.Int], Value: constant.MakeInt64(n)}
	over.X = id
	return l.rangeInt(&over, label)
}

// rangeString decodes the string itself: the interpreter steps over an invalid byte as if it were three.
func (l *Lowerer) rangeString(s *ast.RangeStmt, label string) []ast.Stmt {
	x := l.value(s.X)
	l.pos = s.Pos()
	names, copies := l.rangeVars(s, []types.Type{types.Typ[types.Int], types.Typ[types.Rune]}, func(int, types.Object) bool { return true })
	text, i, c, n := l.fresh("s"), cmp.Or(names[0], l.fresh("i")), cmp.Or(names[1], l.fresh("c")), l.fresh("n")
	head := []ast.Stmt{l.declare(text, l.typ(types.Default(l.typeOf(s.X)))), l.assign(token.ASSIGN, l.id(text), x),
		l.declare(i, l.id("int")), l.declare(n, l.id("int")), l.declare(c, l.id("rune"))}
	decode := &ast.AssignStmt{Lhs: []ast.Expr{l.id(c), l.id(n)}, TokPos: l.pos, Tok: token.ASSIGN,
		Rhs: []ast.Expr{l.rt("Rune", l.call(l.id("string"), l.id(text)), l.id(i))}}
	start := []ast.Stmt{
		l.assign(token.ASSIGN, l.id(c), l.call(l.id("rune"), &ast.IndexExpr{X: l.id(text), Index: l.id(i)})),
		l.assign(token.ASSIGN, l.id(n), l.int(1)),
		l.ifs(l.binary(l.id(c), token.GEQ, l.int(utf8.RuneSelf)), decode)}
	loop := &ast.ForStmt{For: s.For, Cond: l.binary(l.id(i), token.LSS, l.call(l.id("len"), l.id(text))),
		Post: &ast.AssignStmt{Lhs: []ast.Expr{l.id(i)}, TokPos: l.pos, Tok: token.ADD_ASSIGN, Rhs: []ast.Expr{l.id(n)}},
		Body: l.loopBody(s.Body, label, append(start, copies...)...)}
	return l.scoped(head, l.withLabel(label, loop))
}

// rangeVars returns the names of the variables that a rewritten loop sets to its key and its value, "" for
// one that is not wanted, and the statements that begin the loop's body: they assign to the places of
// `for x = range`, both of which are known before one of them changes, or declare variables apart from those
// of the loop.
func (l *Lowerer) rangeVars(s *ast.RangeStmt, ts []types.Type, apart func(i int, o types.Object) bool) (names [2]string, start []ast.Stmt) {
	var places []ast.Expr
	var from []string
	var of []types.Type
	for i, e := range []ast.Expr{s.Key, s.Value} {
		if e == nil || isBlank(e) {
			continue
		}
		names[i] = l.fresh("k")
		if s.Tok == token.ASSIGN {
			places, from, of = append(places, e), append(from, names[i]), append(of, ts[i])
			continue
		}
		o := l.info.Defs[e.(*ast.Ident)]
		own := l.renamed(o, o.Name()).(*ast.Ident).Name
		if !apart(i, o) {
			names[i] = own
			continue
		}
		start = append(start, l.declare(own, l.typ(o.Type())), l.assign(token.ASSIGN, l.id(own), l.id(names[i])))
	}
	return names, append(start, l.assignPlaces(places, from, of)...)
}

// rangeInt writes a range over an integer, on which the interpreter panics.
func (l *Lowerer) rangeInt(s *ast.RangeStmt, label string) []ast.Stmt {
	t := types.Default(l.typeOf(s.X))
	if s.Key != nil {
		if kt := l.typeOf(s.Key); kt != nil && !isBlank(s.Key) {
			t = kt
		}
	}
	x := l.value(s.X)
	l.pos = s.Pos()
	names, copies := l.rangeVars(s, []types.Type{t}, func(_ int, o types.Object) bool { return l.captured(o, s.Body) || l.assigned(o, s.Body) })
	i, n := cmp.Or(names[0], l.fresh("i")), l.fresh("n")
	head := []ast.Stmt{l.declare(n, l.typ(t)), l.assign(token.ASSIGN, l.id(n), x), l.declare(i, l.typ(t))}
	loop := &ast.ForStmt{For: s.For, Cond: l.binary(l.id(i), token.LSS, l.id(n)),
		Post: &ast.IncDecStmt{X: l.id(i), TokPos: l.pos, Tok: token.INC},
		Body: l.loopBody(s.Body, label, copies...)}
	return l.scoped(head, l.withLabel(label, loop))
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// rangeChan receives by way of package rt, so that a wait can be interrupted.
func (l *Lowerer) rangeChan(s *ast.RangeStmt, label string, t *types.Chan) []ast.Stmt {
	x := l.value(s.X)
	l.pos = s.Pos()
	names, after := l.rangeVars(s, []types.Type{t.Elem()}, func(int, types.Object) bool { return false })
	ch, v := l.fresh("c"), cmp.Or(names[0], l.fresh("v"))
	start := []ast.Stmt{l.declare(v, l.typ(t.Elem()))}
	recv := l.rt("Recv", l.id(ch), l.addr(l.id(v)))
	start = append(start, l.ifs(l.not(recv), &ast.BranchStmt{TokPos: l.pos, Tok: token.BREAK}))
	loop := &ast.ForStmt{For: s.For, Body: l.loopBody(s.Body, label, append(start, after...)...)}
	return l.scoped([]ast.Stmt{l.define(ch, x)}, l.withLabel(label, loop))
}
