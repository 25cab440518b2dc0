package help

import (
	"go/ast"
	"go/types"
	"regexp"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// earlier is about a value and a place of the same type, as it is written: one of them has an earlier
// declaration of the type.
func (a *advisor) earlier(msg string, m []string) (string, string) {
	if m[1] != m[2] {
		return msg, ""
	}
	old := "the value"
	var value ast.Expr // the largest that begins at the place
	around := a.path()
	for len(around) > 0 {
		e, ok := around[0].(ast.Expr)
		if !ok || e.Pos() != a.pos {
			break
		}
		value, around = e, around[1:]
	}
	if t := a.c.Info.Types[value].Type; t != nil && a.isCurrent(t) {
		old = taker(around)
	}
	return msg, old + " has an earlier declaration of the type: make it again"
}

// taker names the variable that a value is assigned or appended to; around are the nodes around the value.
func taker(around []ast.Node) string {
	var to ast.Expr
	switch n := append(around, nil)[0].(type) {
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "append" {
			to = n.Args[0]
		}
	case *ast.AssignStmt:
		if len(n.Lhs) == 1 {
			to = n.Lhs[0]
		}
	}
	if to == nil {
		return "what takes it"
	}
	for {
		index, ok := to.(*ast.IndexExpr)
		if !ok {
			return types.ExprString(to)
		}
		to = index.X
	}
}

// isCurrent says whether the names of the session in a type have the meanings that they have now.
func (a *advisor) isCurrent(t types.Type) bool {
	now := true
	world.WalkNamed(t, func(n *types.Named) {
		if e := a.st.Lookup(n.Obj().Name()); e != nil && e.Kind == world.Type && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == world.PkgPath {
			now = now && e.Obj == n.Origin().Obj()
		}
	})
	return now
}

// hidden is about a name of the session that hides a function or type of Go.
func (a *advisor) hidden(msg string, m []string) (string, string) {
	name := m[1]
	universe := types.Universe.Lookup(name)
	var own types.Object
	for _, n := range a.path() {
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			own = a.c.Info.Uses[id]
			break
		}
	}
	if universe == nil || own == nil || own == universe {
		return msg, ""
	}
	what := "function"
	if _, ok := universe.(*types.TypeName); ok {
		what = "type"
	}
	return msg, name + " is a name of yours that hides Go's " + what + "; %del " + name + " shows it again"
}

// leftNone returns the newest command that ran a declaration of name and did not keep it, as all but %time
// do; empty if there was none.
func (h *Helper) leftNone(name string) (command string) {
	declaration := regexp.MustCompile(`(?m)^(?:(%\w+).*|(%%\w+)(?s:.*))\b` + name + `\b[\w, ]*:=`)
	for _, src := range h.Cells() {
		for _, m := range declaration.FindAllStringSubmatch(src, -1) {
			command = m[1] + m[2]
		}
	}
	if strings.TrimLeft(command, "%") == "time" { // it failed
		return ""
	}
	return command
}
