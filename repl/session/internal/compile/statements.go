package compile

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// checkStatements checks a run of statements. The result is more than one unit if a variable is declared
// twice, because each declaration may give it another type.
func (c *Compiler) checkStatements(st *world.Stage, n int, src string, p cell.Piece, last bool) ([]*Unit, error) {
	line, col := cell.LineCol(src, p.From)
	file, err := c.parseStatements(n, line, col, p.Text(src))
	if err != nil {
		return nil, err
	}
	if len(file.Decls) != 1 {
		off := c.fset.Position(file.Decls[0].End() - 1)
		return nil, &CheckError{Diags: []Diag{c.diag(n, off.Line, off.Column, 1, "unexpected }", "")}}
	}
	cell := file.Decls[0].(*ast.FuncDecl)
	if err := c.substituteParams(cell.Body.List); err != nil {
		return nil, err
	}
	var units []*Unit
	groups := groupStatements(cell.Body.List)
	var shown map[ast.Stmt]bool
	if c.Each {
		groups = endedByExpressions(groups)
		shown = shownExpressions(p.Text(src), cell.Body.List)
	}
	for len(groups) > 0 {
		list := groups[0]
		final, show := last && len(groups) == 1, !p.Quiet
		if loud, ok := shown[trailing(list)]; ok && !final {
			final, show = true, loud
		}
		u := &Unit{Piece: p, cell: n, pos: file.Package, Runs: true}
		if err := c.checkGroup(st, file, cell, u, list, final && show, final); err != nil {
			return nil, err
		}
		groups = groups[1:]
		if i := c.retypes(st, u, list); i >= 0 && i < len(list)-1 {
			// The statements after it use functions that know the variable's new type: check them after
			// those functions.
			groups = append([][]ast.Stmt{list[i+1:]}, groups...)
			u = &Unit{Piece: p, cell: n, pos: file.Package, Runs: true}
			if err := c.checkGroup(st, file, cell, u, list[:i+1], false, false); err != nil {
				return nil, err
			}
		}
		st.Apply(&u.Change)
		units = append(units, u)
		d, err := c.recheckUsers(st, u)
		if err != nil {
			return nil, err
		}
		if d != nil {
			units = append(units, d)
		}
	}
	return units, nil
}

// retypes returns the index of the first statement that gives another type to a variable that functions of
// the session use, or -1.
func (c *Compiler) retypes(st *world.Stage, u *Unit, list []ast.Stmt) int {
	used := map[string]bool{}
	for _, old := range u.Gone {
		used[old.Name] = c.UsedByDecl(st, old.Name)
	}
	for i, stmt := range list {
		for _, id := range topNames(stmt) {
			if used[id.Name] {
				return i
			}
		}
	}
	return -1
}

// recheckUsers declares again the functions that use a variable whose type has changed. It returns nil if
// no function does.
func (c *Compiler) recheckUsers(st *world.Stage, u *Unit) (*Unit, error) {
	var changed []string
	for _, old := range u.Gone {
		if c.UsedByDecl(st, old.Name) {
			changed = append(changed, old.Name)
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	return c.redeclare(st, &Unit{Piece: u.Piece, cell: u.cell, pos: u.pos}, nil, changed)
}

// groupStatements starts a new group before a statement all of whose variables were declared before.
func groupStatements(list []ast.Stmt) (groups [][]ast.Stmt) {
	if len(list) < 2 {
		return [][]ast.Stmt{list}
	}
	declared := map[string]bool{}
	start := 0
	for i, stmt := range list {
		names := topNames(stmt)
		again := 0
		for _, id := range names {
			if declared[id.Name] {
				again++
			}
		}
		_, isVar := stmt.(*ast.DeclStmt)
		if again > 0 && (again == len(names) || isVar) {
			groups = append(groups, list[start:i])
			start, declared = i, map[string]bool{}
		}
		for _, id := range names {
			declared[id.Name] = true
		}
	}
	return append(groups, list[start:])
}

// topNames returns the names that a statement at the top of a cell declares.
func topNames(stmt ast.Stmt) (ids []*ast.Ident) {
	add := func(id *ast.Ident) {
		if id.Name != "_" {
			ids = append(ids, id)
		}
	}
	switch stmt := stmt.(type) {
	case *ast.AssignStmt:
		if stmt.Tok == token.DEFINE {
			for _, e := range stmt.Lhs {
				if id, ok := e.(*ast.Ident); ok {
					add(id)
				}
			}
		}
	case *ast.DeclStmt:
		for _, spec := range stmt.Decl.(*ast.GenDecl).Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				for _, id := range v.Names {
					add(id)
				}
			}
		}
	case *ast.LabeledStmt:
		return topNames(stmt.Stmt)
	}
	return ids
}

// checkGroup checks statements as the body of a function. It completes a top-level assignment that leaves
// out a trailing error, and then checks again.
func (c *Compiler) checkGroup(st *world.Stage, file *ast.File, cell *ast.FuncDecl, u *Unit, list []ast.Stmt, show, final bool) error {
	u.Outs = c.OutRefs(list)
	var extra []types.Object
	for _, o := range u.Outs {
		extra = append(extra, types.NewVar(token.NoPos, nil, o.Var, o.Type))
	}
	extra = append(extra, checkFunc, checkValueFunc, valuesFunc)
	if !show {
		list = evaluated(list)
	}
	var first *checked
	var calls notation.Calls
	for {
		cell.Body.List = list
		facts := c.checkAgain(&calls, st, []*ast.File{file}, extra...)
		if final {
			facts.dropUnused(list, &calls)
		}
		if show {
			facts.limitShown(list)
		}
		if len(facts.Errs) == 0 {
			if complete := c.completeLoops(facts, u, list); complete != nil {
				list = complete
				continue
			}
			u.checked, u.body = facts, list
			break
		}
		if first == nil {
			first = facts
		}
		completed := c.completeErrors(facts, u, list)
		if completed == nil && facts.mentionsAdded() { // more than an error is missing on the left
			facts = first
		}
		if completed == nil {
			facts.hideAdded(u)
			return c.complaints(st, facts)
		}
		list = completed
	}
	if n := len(list); n > 0 && show {
		if es, ok := list[n-1].(*ast.ExprStmt); ok && !isPrinting(u.checked, es.X) {
			u.Shown = es.X
			u.ShownTypes = lower.Shown(u.checked.Info, es.X)
			u.Listed = listed(es.X) != nil
			if c.Each && len(u.ShownTypes) > 0 && !world.IsError(u.ShownTypes[0]) { // an error is no result that stays
				c.results++
				c.before = &Out{N: u.cell, Var: fmt.Sprintf("__out_%d_%d", u.cell, c.results), Type: OutType(u.ShownTypes[0])}
			}
		}
	}
	return c.declareVars(st, u)
}

// checkFunc and checkValueFunc are called with an added error; see completeErrors.
var (
	checkFunc      = types.NewFunc(token.NoPos, nil, lower.Check, types.NewSignatureType(nil, nil, nil, types.NewTuple(errParam), nil, false))
	checkValueFunc = types.NewFunc(token.NoPos, nil, lower.CheckValue, types.NewSignatureType(nil, nil, nil,
		types.NewTuple(errParam, types.NewVar(token.NoPos, nil, "v", types.NewInterfaceType(nil, nil))), nil, false))
	errParam = types.NewVar(token.NoPos, nil, "err", types.Universe.Lookup("error").Type())
)

// dropUnused removes the complaint that a trailing expression is not used: it is shown, or hidden by a
// semicolon.
func (ch *checked) dropUnused(list []ast.Stmt, calls *notation.Calls) {
	if len(list) == 0 {
		return
	}
	es, ok := list[len(list)-1].(*ast.ExprStmt)
	if !ok {
		return
	}
	ch.Errs = slices.DeleteFunc(ch.Errs, func(e types.Error) bool {
		return strings.HasSuffix(e.Msg, "is not used") && calls.Pos(es.X) <= e.Pos && e.Pos <= es.End()
	})
}

// limitShown complains about a shown constant that overflows its default type. Go itself treats the
// constant as untyped.
func (ch *checked) limitShown(list []ast.Stmt) {
	if len(list) == 0 {
		return
	}
	es, ok := list[len(list)-1].(*ast.ExprStmt)
	if !ok {
		return
	}
	tv := ch.Info.Types[es.X]
	if tv.Value == nil || !overflows(tv.Value, types.Default(tv.Type)) {
		return
	}
	kind, _, _ := strings.Cut(tv.Type.String(), " ")
	if kind != "untyped" {
		return
	}
	ch.Errs = append(ch.Errs, types.Error{Pos: es.X.Pos(), Msg: fmt.Sprintf("cannot use %s (%s constant %s) as %s value (overflows)",
		types.ExprString(es.X), tv.Type, tv.Value, types.Default(tv.Type))})
}

// overflows says whether a number overflows the default type of an untyped constant of its kind.
func overflows(v constant.Value, t types.Type) bool {
	switch t {
	case types.Typ[types.Int]:
		_, exact := constant.Int64Val(constant.ToInt(v))
		return !exact
	case types.Universe.Lookup("rune").Type():
		n, exact := constant.Int64Val(constant.ToInt(v))
		return !exact || n != int64(int32(n))
	case types.Typ[types.Float64]:
		f, _ := constant.Float64Val(v)
		return math.IsInf(f, 0)
	}
	return false
}

// declareVars makes session variables of the variables that the statements declare at the top. A variable
// that keeps its type stays the same variable, so closures see the new value.
func (c *Compiler) declareVars(st *world.Stage, u *Unit) error {
	kept := map[string]bool{} // what a closure or a goroutine uses, or whose address is taken
	for _, stmt := range u.body {
		walk.Reached(u.checked.Info, stmt, func(n ast.Node) { noteNames(u.checked.Info, n, kept) })
	}
	u.Holders, u.Rebinds = c.holders(u), c.rebinds(u)
	u.vars = map[types.Object]string{}
	defined := map[string]*world.Entity{}
	for _, stmt := range u.body {
		for _, id := range topNames(stmt) {
			v, ok := u.checked.Info.Defs[id].(*types.Var)
			if !ok {
				continue
			}
			if u.added[id.Name] != nil {
				u.vars[v] = ""
				continue
			}
			e := &world.Entity{Name: id.Name, Kind: world.Var, Cell: u.cell, Obj: types.NewVar(id.Pos(), u.checked.Pkg, id.Name, v.Type())}
			old := st.Lookup(id.Name)
			if old != nil && old.Kind == world.Var && types.Identical(old.Obj.Type(), v.Type()) {
				e.Internal, e.Kept = old.Internal, old.Kept
				e.Obj = old.Obj
			} else {
				e.Internal = c.World.Fresh(id.Name)
				u.slots = append(u.slots, e)
				if old != nil && old.Kind == world.Var {
					u.Gone = append(u.Gone, old)
				}
				if old != nil && old.Kind != world.Const {
					u.Replaced = append(u.Replaced, old)
				}
			}
			e.Kept = e.Kept || closes(u.checked.Info, u.body, v)
			u.vars[v] = e.Internal
			defined[e.Name] = e
			u.Define = append(u.Define, e)
		}
	}
	for name := range kept { // variables of earlier cells
		if e := st.Lookup(name); e != nil && e.Kind == world.Var && !e.Kept && defined[name] == nil {
			again := *e
			again.Kept = true
			u.Define = append(u.Define, &again)
		}
	}
	for _, old := range u.Gone {
		if !old.Kept && !kept[old.Name] && !c.UsedByDecl(st, old.Name) {
			u.Free = append(u.Free, old)
		}
	}
	return nil
}

// closes says whether a closure, a goroutine or a pointer in the statements may keep the variable in use.
func closes(info *types.Info, list []ast.Stmt, v types.Object) (found bool) {
	for _, stmt := range list {
		walk.Reached(info, stmt, func(n ast.Node) { found = found || walk.Uses(info, n, v) })
	}
	return found
}

// UsedByDecl says whether a function of the session uses a variable.
func (c *Compiler) UsedByDecl(st *world.Stage, name string) bool {
	return slices.ContainsFunc(st.Decls(), func(d *world.Decl) bool { return d.Uses[name] })
}

// substituteParams replaces the literal in `name := literal` by the parameter with that name (-p
// name=value).
func (c *Compiler) substituteParams(list []ast.Stmt) error {
	if len(c.Params) == 0 {
		return nil
	}
	for _, stmt := range list {
		var names []ast.Expr
		var values []ast.Expr
		switch stmt := stmt.(type) {
		case *ast.AssignStmt:
			if stmt.Tok == token.DEFINE {
				names, values = stmt.Lhs, stmt.Rhs
			}
		case *ast.DeclStmt:
			for _, spec := range stmt.Decl.(*ast.GenDecl).Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
					names, values = []ast.Expr{v.Names[0]}, v.Values
				}
			}
		}
		if len(names) != len(values) {
			continue
		}
		for i := range names {
			id, ok := names[i].(*ast.Ident)
			if !ok {
				continue
			}
			value, given := c.Params[id.Name]
			if !given {
				continue
			}
			if err := c.substitute(id.Name, value, &values[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Compiler) substitute(name, value string, e *ast.Expr) error {
	pos := (*e).Pos()
	lit := *e
	if u, ok := lit.(*ast.UnaryExpr); ok && u.Op == token.SUB {
		lit = u.X
	}
	var tok token.Token
	switch x := lit.(type) {
	case *ast.BasicLit:
		tok = x.Kind
	case *ast.Ident:
		if x.Name != "true" && x.Name != "false" {
			return nil
		}
		if _, err := strconv.ParseBool(value); err != nil {
			return c.badParam(pos, name, value, "a bool")
		}
		b, _ := strconv.ParseBool(value)
		*e = &ast.Ident{Name: strconv.FormatBool(b), NamePos: pos}
		return nil
	default:
		return nil
	}
	text := value
	switch tok {
	case token.INT:
		n, err := strconv.ParseInt(value, 0, 64)
		if err != nil {
			return c.badParam(pos, name, value, "an integer")
		}
		text = strconv.FormatInt(n, 10)
	case token.FLOAT:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || f != f || f > 1e308 || f < -1e308 {
			return c.badParam(pos, name, value, "a number")
		}
		text = strconv.FormatFloat(f, 'e', -1, 64)
	case token.STRING:
		text = strconv.Quote(value)
	default:
		return c.badParam(pos, name, value, "a parameter")
	}
	if neg, ok := strings.CutPrefix(text, "-"); ok {
		*e = &ast.UnaryExpr{OpPos: pos, Op: token.SUB, X: &ast.BasicLit{Kind: tok, Value: neg, ValuePos: pos}}
		return nil
	}
	*e = &ast.BasicLit{Kind: tok, Value: text, ValuePos: pos}
	return nil
}

func (c *Compiler) badParam(pos token.Pos, name, value, want string) error {
	return &CheckError{Diags: []Diag{c.DiagAt(pos, 0, fmt.Sprintf("-p %s=%s: got %q, want %s as in the cell", name, value, value, want), "")}}
}
