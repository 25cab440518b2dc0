package compile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
)

// A Rebind is an assignment of a tensor to a variable that it is computed from: w -= g, w = w.Sub(g). If the
// variable had a parameter, the name means another tensor then, and the parameter stays as it was.
type Rebind struct {
	Name  string
	Line  int
	Param bool   // the same statements have made the variable a parameter
	Set   string // what changes the parameter instead: "w.Set(w - g)"
}

// rebinds lists those of a unit's statements, for each variable the first.
func (c *Compiler) rebinds(u *Unit) (list []Rebind) {
	params, seen := map[string]bool{}, map[string]bool{}
	visit := func(n ast.Node) bool {
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
				params[name.Name] = sel != nil && sel.Sel.Name == "Param"
			}
			return true
		}
		v := u.checked.Info.Uses[name]
		if v == nil || seen[name.Name] || !strings.HasSuffix(v.Type().String(), "/engine/tensor.Tensor") || !u.checked.reads(a.Rhs[0], v) {
			return true
		}
		if set := setting(c.typed(u, a), name.Name); set != "" {
			seen[name.Name] = true
			list = append(list, Rebind{name.Name, c.fset.Position(a.Pos()).Line, params[name.Name], set})
		}
		return true
	}
	for _, stmt := range u.body {
		ast.Inspect(stmt, visit)
	}
	return list
}

// reads says whether an expression names a variable.
func (ch *checked) reads(e ast.Expr, v types.Object) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && ch.Info.Uses[id] == v
		return !found
	})
	return found
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
