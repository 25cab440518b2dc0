package session

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// What a cell has made may hold on to a variable or function of the session: a closure, a pointer, a
// goroutine. When the name gets another type, it goes on with the old one, and people are told who does.

// holders are those that statements at the top of a cell make.
func (s *Session) holders(c *checked, list []ast.Stmt) (made []*world.Holder) {
	add := func(at ast.Node, running bool, into []ast.Expr, values ...ast.Node) {
		holds := map[string]types.Type{}
		for _, v := range values {
			c.held(v, holds)
		}
		line := s.fset.Position(at.Pos()).Line
		named := false
		for _, e := range into {
			if name := c.baseName(e); name != "" {
				made = append(made, &world.Holder{Name: name, Cell: s.n, Line: line, Holds: holds})
				named = true
			}
		}
		if !named && len(holds) > 0 {
			made = append(made, &world.Holder{Running: running, Cell: s.n, Line: line, Holds: holds})
		}
	}
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.GoStmt:
			add(n, true, nil, c.calledCode(n.Call)...)
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
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && (c.baseName(sel.X) != "" || registers[types.ExprString(sel)]) {
					add(n, false, []ast.Expr{sel.X}, nodes(call.Args)...)
				}
			}
		}
		return true
	}
	for _, stmt := range list {
		ast.Inspect(stmt, visit)
	}
	return made
}

// registers are the functions whose callers keep nothing, but that keep what they are given.
var registers = map[string]bool{"http.HandleFunc": true, "http.Handle": true, "time.AfterFunc": true, "context.AfterFunc": true, "runtime.SetFinalizer": true}

func nodes(list []ast.Expr) (out []ast.Node) {
	for _, e := range list {
		out = append(out, e)
	}
	return out
}

// calledCode is what a goroutine runs and uses.
func (c *checked) calledCode(call *ast.CallExpr) []ast.Node {
	return append(nodes(call.Args), call.Fun)
}

// baseName is the session's variable that an expression is, or is in; empty for another.
func (c *checked) baseName(e ast.Expr) string {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.Ident:
			o := c.info.Uses[x]
			if o == nil {
				o = c.info.Defs[x]
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

// held notes the session's names that a value goes on using: those in function literals that are not called
// at once, the variables that it points to, and functions that are not called.
func (c *checked) held(root ast.Node, into map[string]types.Type) {
	called := map[ast.Node]bool{}
	all := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				c.hold(id, into)
			}
			return true
		})
	}
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			called[ast.Unparen(n.Fun)] = true
			if c.info.Types[n.Fun].IsType() || keepsFuncs(c.info.Types[n].Type) {
				return true
			}
			for _, a := range n.Args { // what gives no more than a number has kept nothing
				called[ast.Unparen(a)] = true
			}
		case *ast.FuncLit:
			if !called[n] {
				all(n.Body)
			}
			return false
		case *ast.UnaryExpr:
			if name := c.baseName(n.X); n.Op == token.AND && name != "" {
				ast.Inspect(n.X, func(x ast.Node) bool {
					if id, ok := x.(*ast.Ident); ok && id.Name == name {
						c.hold(id, into)
					}
					return true
				})
			}
		case *ast.SelectorExpr:
			if sel := c.info.Selections[n]; sel != nil && sel.Kind() != types.FieldVal && !called[n] {
				c.hold(n.Sel, into)
			}
		case *ast.Ident:
			if _, ok := c.info.Uses[n].(*types.Func); ok && !called[n] {
				c.hold(n, into)
			}
		}
		return true
	})
	if f, ok := root.(ast.Expr); ok { // of a go statement
		if _, isFunc := c.info.Types[f].Type.(*types.Signature); isFunc {
			if id, ok := ast.Unparen(f).(*ast.Ident); ok {
				c.hold(id, into)
			}
		}
	}
}

// hold notes what an identifier means, if that is the session's.
func (c *checked) hold(id *ast.Ident, into map[string]types.Type) {
	o := c.info.Uses[id]
	if o == nil || o.Pkg() == nil || o.Pkg().Path() != world.PkgPath {
		return
	}
	if f, ok := o.(*types.Func); ok {
		if n, ok := receiverType(f); ok {
			into[n.Obj().Name()+"."+f.Name()] = f.Type()
			return
		}
	}
	_, isType := o.(*types.TypeName)
	if !isType && (topLevel(o) || c.atTop(o)) {
		into[o.Name()] = o.Type()
	}
}

// atTop says whether an object is declared by a statement at the top of the cell.
func (c *checked) atTop(o types.Object) bool {
	depth := 0
	for scope := o.Parent(); scope != nil && scope != c.pkg.Scope(); scope = scope.Parent() {
		depth++ // the function's, and the file's
	}
	return o.Pkg() == c.pkg && depth == 2
}

// keepsFuncs says whether a value of a type may hold on to functions.
func keepsFuncs(t types.Type) bool { return keepsFuncsOf(t, nil) }

// keepsFuncsOf is keepsFuncs for a type within others, of which one may be a slice of itself.
func keepsFuncsOf(t types.Type, within []types.Type) bool {
	if t == nil || slices.Contains(within, t) {
		return false
	}
	within = append(within, t)
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return false
	case *types.Slice:
		return keepsFuncsOf(t.Elem(), within)
	case *types.Array:
		return keepsFuncsOf(t.Elem(), within)
	case *types.Tuple:
		for v := range t.Variables() {
			if !world.IsError(v.Type()) && keepsFuncsOf(v.Type(), within) {
				return true
			}
		}
		return false
	}
	return true
}

// news says what has become of names since the units began to run that have got another type: what they are,
// and who goes on with what they were.
func (s *Session) news(ran []*unit) (lines []string) {
	say := func(line string) {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for _, u := range ran {
		for _, old := range u.Replaced {
			now := s.meaning(old)
			if now == nil || now == old {
				continue
			}
			if old.Kind == world.Type {
				for _, line := range s.keepingType(old.Obj) {
					say(line)
				}
				continue
			}
			if now.Kind == old.Kind && (sameShape(now.Obj.Type(), old.Obj.Type()) || world.TypeString(now.Obj.Type()) == world.TypeString(old.Obj.Type())) {
				continue
			}
			holders := s.holding(old)
			if len(holders) == 0 && (old.Kind != world.Var || now.Kind != world.Var || old.Cell == s.n) {
				continue
			}
			what := now.Kind.String()
			if now.Kind != world.Type {
				what = world.TypeString(now.Obj.Type())
			}
			was, is := help.Article(world.TypeString(old.Obj.Type())), help.Article(what)
			say(fmt.Sprintf("%s is %s now, it was %s", old.Name, is, was) + keeping(holders))
		}
		for _, m := range u.moves { // the variable is another one
			if holders := s.holding(m.from); len(holders) > 0 {
				say(fmt.Sprintf("%s is of the new %s now", m.from.Name, world.TypeString(m.to.Obj.Type())) + keeping(holders))
			}
		}
		for _, d := range u.dropped {
			say(d.Title() + " stays as it was: it does not fit what is new")
		}
	}
	return lines
}

// keeping says who goes on with what a name was.
func keeping(holders []string) string {
	switch n := len(holders); n {
	case 0:
		return ""
	case 1:
		return "; " + holders[0] + " keeps the old one"
	default:
		return "; " + strings.Join(holders[:n-1], ", ") + " and " + holders[n-1] + " keep the old one"
	}
}

// meaning is what the name of a variable, function, type or method is now.
func (s *Session) meaning(old *world.Entity) *world.Entity {
	recv, name, method := strings.Cut(old.Name, ".")
	if !method {
		return s.world.Names[old.Name]
	}
	t := s.world.Names[recv]
	if t == nil || t.Kind != world.Type {
		return nil
	}
	m, _, _ := types.LookupFieldOrMethod(t.Obj.Type(), true, t.Obj.Pkg(), name)
	if f, ok := m.(*types.Func); ok {
		return &world.Entity{Name: old.Name, Kind: world.Func, Obj: f}
	}
	return nil
}

// holding are those who hold on to a variable or function that its name means no longer.
func (s *Session) holding(old *world.Entity) (list []string) {
	running := len(s.rt.Goroutines()) > 0
	for _, h := range s.world.Holders {
		t := h.Holds[old.Name]
		if t == nil || !types.Identical(t, old.Obj.Type()) || h.Running && !running {
			continue
		}
		if e := s.world.Names[h.Name]; h.Name != "" && (e == nil || e.Kind != world.Var) {
			continue // it has gone
		}
		if text := h.String(); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// keepingType are the variables of a type that its name means no longer.
func (s *Session) keepingType(old types.Object) (lines []string) {
	for name, e := range s.world.Names {
		if e.Kind != world.Var {
			continue
		}
		world.WalkNamed(e.Obj.Type(), func(n *types.Named) {
			if line := fmt.Sprintf("%s keeps the %s of before", name, world.TypeString(e.Obj.Type())); n.Origin().Obj() == old && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		})
	}
	slices.Sort(lines)
	return lines
}
