package compile

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// Closures, pointers and goroutines of a cell may keep using a variable or function of the session. When
// its name gets another type, they continue to use the old one, and a notice names them.

// holders returns the holders that the statements of a unit make.
func (c *Compiler) holders(u *Unit) (made []*world.Holder) {
	facts := u.checked
	add := func(at ast.Node, running bool, into []ast.Expr, values ...ast.Node) {
		var holds map[string]types.Type
		for _, v := range values {
			facts.held(v, &holds)
		}
		line := c.fset.Position(at.Pos()).Line
		named := false
		for _, e := range into {
			if name := facts.baseName(e); name != "" {
				made = append(made, &world.Holder{Name: name, Cell: u.cell, Line: line, Holds: holds})
				named = true
			}
		}
		if !named && len(holds) > 0 {
			made = append(made, &world.Holder{Running: running, Cell: u.cell, Line: line, Holds: holds})
		}
	}
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.GoStmt:
			add(n, true, nil, append(nodes(n.Call.Args), n.Call.Fun)...)
			return false
		case *ast.AssignStmt:
			add(n, false, n.Lhs, nodes(n.Rhs)...)
		case *ast.ValueSpec:
			var names []ast.Expr
			for _, id := range n.Names {
				names = append(names, id)
			}
			add(n, false, names, nodes(n.Values)...)
		case *ast.SendStmt:
			add(n, false, []ast.Expr{n.Chan}, n.Value)
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && (facts.baseName(sel.X) != "" || registers[types.ExprString(sel)]) {
					add(n, false, []ast.Expr{sel.X}, nodes(call.Args)...)
				}
			}
		}
		return true
	}
	for _, stmt := range u.body {
		ast.Inspect(stmt, visit)
	}
	return made
}

// registers are functions that keep their arguments, although their callers keep no result.
var registers = map[string]bool{"http.HandleFunc": true, "http.Handle": true, "time.AfterFunc": true, "context.AfterFunc": true, "runtime.SetFinalizer": true}

func nodes(list []ast.Expr) (out []ast.Node) {
	for _, e := range list {
		out = append(out, e)
	}
	return out
}

// baseName returns the session's variable at the root of an expression, or "" if it is not one of the
// session's.
func (ch *checked) baseName(e ast.Expr) string {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.Ident:
			o := ch.Info.Uses[x]
			if o == nil {
				o = ch.Info.Defs[x]
			}
			if v, ok := o.(*types.Var); ok && !v.IsField() && x.Name != "_" && !strings.HasPrefix(x.Name, "__") {
				return x.Name
			}
			return ""
		default:
			return ""
		}
	}
}

// held notes the session's names that a value may continue to use: those in function literals that are not
// called at once, the variables that it points to, and functions that are not called.
func (ch *checked) held(root ast.Node, into *map[string]types.Type) {
	var called map[ast.Node]bool
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if called == nil {
				called = map[ast.Node]bool{}
			}
			called[ast.Unparen(n.Fun)] = true
			if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && !called[n] && hasFuncs(ch.Info.Types[n].Type) {
				ch.holdValue(id, into)
			}
			if ch.Info.Types[n.Fun].IsType() || keepsFuncs(ch.Info.Types[n].Type) {
				return true
			}
			for _, a := range n.Args { // a call that returns at most a number keeps nothing
				called[ast.Unparen(a)] = true
			}
		case *ast.FuncLit:
			if !called[n] {
				ast.Inspect(n.Body, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						ch.hold(id, into)
					}
					return true
				})
			}
			return false
		case *ast.UnaryExpr:
			if name := ch.baseName(n.X); n.Op == token.AND && name != "" {
				ast.Inspect(n.X, func(x ast.Node) bool {
					if id, ok := x.(*ast.Ident); ok && id.Name == name {
						ch.hold(id, into)
					}
					return true
				})
			}
		case *ast.SelectorExpr:
			if sel := ch.Info.Selections[n]; sel != nil && sel.Kind() != types.FieldVal && !called[n] {
				ch.hold(n.Sel, into)
			}
		case *ast.Ident:
			switch o := ch.Info.Uses[n].(type) {
			case *types.Func:
				if !called[n] {
					ch.hold(n, into)
				}
			case *types.Var:
				if !called[n] && hasFuncs(o.Type()) {
					ch.holdValue(n, into)
				}
			}
		}
		return true
	})
	if f, ok := root.(ast.Expr); ok { // of a go statement
		if _, isFunc := ch.Info.Types[f].Type.(*types.Signature); isFunc {
			if id, ok := ast.Unparen(f).(*ast.Ident); ok {
				ch.hold(id, into)
			}
		}
	}
}

// HeldType is the name under which a holder has a type: another one than that of a variable or function.
func HeldType(t types.Object) string { return "type " + t.Name() }

// HeldValue is the name under which a holder has what another one keeps: it is a copy of that variable's
// functions, or a call of it has made them.
func HeldValue(name string) string { return "value of " + name }

// holdValue notes that a value comes from a variable or a function of the session.
func (ch *checked) holdValue(id *ast.Ident, into *map[string]types.Type) {
	var held map[string]types.Type
	ch.hold(id, &held)
	for name, t := range held {
		if *into == nil {
			*into = map[string]types.Type{}
		}
		(*into)[HeldValue(name)] = t
	}
}

// hold notes the name of an identifier, if the session declares it.
func (ch *checked) hold(id *ast.Ident, into *map[string]types.Type) {
	note := func(name string, t types.Type) {
		if *into == nil {
			*into = map[string]types.Type{}
		}
		(*into)[name] = t
	}
	o := ch.Info.Uses[id]
	if o == nil || o.Pkg() == nil || o.Pkg().Path() != world.PkgPath {
		return
	}
	if f, ok := o.(*types.Func); ok {
		if n, ok := receiverType(f); ok {
			note(n.Obj().Name()+"."+f.Name(), f.Type())
			return
		}
	}
	switch _, isType := o.(*types.TypeName); {
	case !topLevel(o) && !ch.atTop(o):
	case isType:
		note(HeldType(o), o.Type())
	default:
		note(o.Name(), o.Type())
	}
}

// atTop says whether a statement at the top of the cell declares an object.
func (ch *checked) atTop(o types.Object) bool {
	depth := 0
	for scope := o.Parent(); scope != nil && scope != ch.Pkg.Scope(); scope = scope.Parent() {
		depth++ // the scopes of the function and of the file
	}
	return o.Pkg() == ch.Pkg && depth == 2
}

// keepsFuncs says whether a value of a type may hold on to functions. The type may lie within others, and be
// one of them, as in a slice of itself.
func keepsFuncs(t types.Type, within ...types.Type) bool {
	if t == nil || slices.Contains(within, t) {
		return false
	}
	within = append(within, t)
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return false
	case *types.Slice:
		return keepsFuncs(t.Elem(), within...)
	case *types.Array:
		return keepsFuncs(t.Elem(), within...)
	case *types.Tuple:
		return slices.ContainsFunc(walk.Types(t), func(t types.Type) bool { return !world.IsError(t) && keepsFuncs(t, within...) })
	}
	return true
}

// hasFuncs says whether a value of a type is functions: one, several of a list or a map, or results of which
// one is.
func hasFuncs(t types.Type) bool {
	if t == nil {
		return false
	}
	switch t := t.(type) {
	case *types.Tuple:
		return slices.ContainsFunc(walk.Types(t), hasFuncs)
	case *types.Slice:
		return hasFuncs(t.Elem())
	case *types.Array:
		return hasFuncs(t.Elem())
	case *types.Map:
		return hasFuncs(t.Elem())
	}
	_, ok := t.Underlying().(*types.Signature)
	return ok
}
