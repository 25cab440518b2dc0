package compile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// rebinds lists those of a unit's statements, for each variable the first.
func (c *Compiler) rebinds(u *Unit) (list []world.Rebind) {
	r := &rebinding{c: c, u: u, params: map[string]bool{}, seen: map[string]bool{}, counts: func(*types.Var) bool { return true }, whole: true}
	for _, stmt := range u.body {
		ast.Inspect(stmt, r.visit)
	}
	return r.list
}

// rebindsIn lists those of a function that a unit declares: of variables of the session, and of the
// function's own parameters where a step of training, or an element that is written, is lost to the caller.
func (c *Compiler) rebindsIn(u *Unit, f *ast.FuncDecl) (shared, own []world.Rebind) {
	if f.Body == nil {
		return nil, nil
	}
	find := func(whole, parts bool, counts func(v *types.Var) bool) []world.Rebind {
		r := &rebinding{c: c, u: u, params: map[string]bool{}, seen: map[string]bool{}, counts: counts, whole: whole, parts: parts}
		ast.Inspect(f.Body, r.visit)
		return r.list
	}
	shared = find(true, false, func(v *types.Var) bool { return !within(v, f) })
	trains := walk.Any(f.Body, func(sel *ast.SelectorExpr) bool { return strings.HasPrefix(sel.Sel.Name, "Grad") })
	own = find(trains, true, func(v *types.Var) bool { return within(v, f.Type) && u.checked.lost(f, v) })
	for i := range own {
		own[i].Parameter = f.Name.Name
	}
	return shared, own
}

// A rebinding is a search for assignments of tensors to variables that they are computed from.
type rebinding struct {
	c            *Compiler
	u            *Unit
	params, seen map[string]bool
	counts       func(v *types.Var) bool
	whole, parts bool // assignments to a variable, and to parts of its tensor
	list         []world.Rebind
}

func (r *rebinding) visit(n ast.Node) bool {
	a, ok := n.(*ast.AssignStmt)
	if !ok || len(a.Lhs) != 1 || len(a.Rhs) != 1 {
		return true
	}
	name, ok := a.Lhs[0].(*ast.Ident)
	if !ok {
		return true
	}
	if a.Tok == token.DEFINE {
		call, _ := a.Rhs[0].(*ast.CallExpr)
		if call != nil {
			sel, _ := call.Fun.(*ast.SelectorExpr)
			r.params[name.Name] = sel != nil && sel.Sel.Name == "Param"
		}
		return true
	}
	v, _ := r.u.checked.Info.Uses[name].(*types.Var)
	if v == nil || r.seen[name.Name] || !isTensor(v.Type()) || !r.counts(v) || !walk.Uses(r.u.checked.Info, a.Rhs[0], v) {
		return true
	}
	text := r.c.typed(r.u, a)
	set := ""
	if r.whole {
		set = setting(text, name.Name)
	}
	if set != "" || r.parts && strings.HasPrefix(text, name.Name+"[") {
		r.seen[name.Name] = true
		r.list = append(r.list, world.Rebind{Name: name.Name, Cell: r.u.cell, Line: r.c.fset.Position(a.Pos()).Line, Param: r.params[name.Name], Set: set})
	}
	return true
}

// within says whether a variable is declared by code.
func within(v *types.Var, n ast.Node) bool { return n.Pos() <= v.Pos() && v.Pos() < n.End() }

func isTensor(t types.Type) bool { return strings.HasSuffix(t.String(), "/engine/tensor.Tensor") }

// lost says whether nothing but a function sees what it assigns to its parameter v: no result, closure or
// other place can have it.
func (ch *checked) lost(f *ast.FuncDecl, v *types.Var) bool {
	if f.Type.Results != nil {
		for _, field := range f.Type.Results.List {
			if t := ch.Info.TypeOf(field.Type); t == nil || !types.Identical(t, types.Universe.Lookup("error").Type()) && !isNumber(t) {
				return false
			}
		}
	}
	kept := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.UnaryExpr:
			kept = kept || n.Op == token.AND && walk.Uses(ch.Info, n.X, v)
		case *ast.FuncLit, *ast.SendStmt, *ast.CompositeLit, *ast.GoStmt:
			kept = kept || walk.Uses(ch.Info, n, v)
		case *ast.AssignStmt:
			for i, e := range n.Rhs {
				id, same := ast.Unparen(e).(*ast.Ident)
				kept = kept || same && ch.Info.Uses[id] == v && i < len(n.Lhs)
			}
		case *ast.CallExpr: // w.Set(…), append(list, w), save(w)
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
				kept = kept || sel.Sel.Name == "Set"
				if t := ch.Info.TypeOf(sel.X); t != nil && isTensor(t) || strings.HasPrefix(sel.Sel.Name, "Grad") {
					break // it computes
				}
			}
			for _, e := range n.Args {
				id, same := ast.Unparen(e).(*ast.Ident)
				kept = kept || same && ch.Info.Uses[id] == v
			}
		}
		return !kept
	})
	return !kept
}

func isNumber(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

// typed is the text of a statement on one line, else empty.
func (c *Compiler) typed(u *Unit, n ast.Node) string {
	text, _ := c.Text(u.cell)
	lines, from, to := strings.Split(text, "\n"), c.fset.Position(n.Pos()), c.fset.Position(n.End())
	if from.Line != to.Line || from.Line < 1 || from.Line > len(lines) || from.Column < 1 || to.Column < from.Column || to.Column-1 > len(lines[from.Line-1]) {
		return ""
	}
	return lines[from.Line-1][from.Column-1 : to.Column-1]
}

// setting writes an assignment, "w -= g", as a change of the tensor: "w.Set(w - g)".
func setting(text, name string) string {
	rest, ok := strings.CutPrefix(text, name)
	op, value, found := strings.Cut(rest, "=")
	if op = strings.TrimSpace(op); !ok || !found || len(op) > 2 {
		return ""
	}
	if value = strings.TrimSpace(value); op == "" {
		return name + ".Set(" + value + ")"
	}
	e, err := parser.ParseExpr(value)
	if err != nil {
		return ""
	}
	if b, ok := e.(*ast.BinaryExpr); ok && (op != "+" && op != "-" || b.Op.Precedence() <= token.ADD.Precedence()) {
		value = "(" + value + ")"
	}
	return name + ".Set(" + name + " " + op + " " + value + ")"
}
