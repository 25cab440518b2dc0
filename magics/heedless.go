package magics

import (
	"go/ast"
	"go/token"

	"github.com/mcs-notebook/mcs/repl/notation"
)

// heedless says whether statements do the same, whatever some calls in them return and change: they look at
// no result, wait for nothing, and their loops end by themselves. A result may be dropped, be the value of
// the statements, and go, also by way of a variable, to another of the calls.
func heedless(code *notation.Statements, calls map[ast.Expr]bool) bool {
	h := &heed{calls: calls, results: map[string]bool{}}
	code.Inspect(func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			h.assigned(a.Lhs, a.Rhs)
		}
		if v, ok := n.(*ast.ValueSpec); ok {
			for i, id := range v.Names {
				h.assigned([]ast.Expr{id}, v.Values[min(i, len(v.Values)):])
			}
		}
		return true
	})
	code.Inspect(h.visit)
	return !h.found
}

// A heed is a search for places where statements heed what calls do.
type heed struct {
	calls   map[ast.Expr]bool
	results map[string]bool // variables that hold results of the calls
	found   bool
}

func (h *heed) assigned(places, values []ast.Expr) {
	for i, e := range places {
		if id, ok := e.(*ast.Ident); ok && len(values) > 0 && h.result(ast.Unparen(values[min(i, len(values)-1)])) {
			h.results[id.Name] = true
		}
	}
}

// visit looks at a node, and skips the results in it that nobody looks at.
func (h *heed) visit(n ast.Node) bool {
	if h.found {
		return false
	}
	switch n := n.(type) {
	case *ast.ExprStmt:
		h.pass(n.X)
	case *ast.AssignStmt:
		h.pass(n.Rhs...)
		for _, e := range n.Lhs {
			if _, name := e.(*ast.Ident); !name {
				ast.Inspect(e, h.visit)
			}
		}
		h.found = h.found || n.Tok != token.ASSIGN && n.Tok != token.DEFINE && h.result(n.Lhs[0])
	case *ast.ValueSpec:
		h.pass(n.Values...)
	case *ast.ReturnStmt:
		h.pass(n.Results...)
	case *ast.CallExpr:
		if _, literal := n.Fun.(*ast.FuncLit); literal && !h.calls[n] {
			return true
		}
		h.found = true // pass has taken those that nobody looks at
	case *ast.Ident:
		h.found = h.results[n.Name]
	case *ast.ForStmt:
		h.found = !counts(n)
		return !h.found
	case *ast.SendStmt, *ast.SelectStmt:
		h.found = true
	case *ast.BranchStmt:
		h.found = n.Tok == token.GOTO
	case *ast.UnaryExpr:
		h.found = n.Op == token.ARROW
		return !h.found
	default:
		return true
	}
	return false
}

// result says whether an expression is a call's result, or a variable with one.
func (h *heed) result(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return h.calls[e] || ok && h.results[id.Name]
}

// pass looks at expressions whose values go on to where nobody looks at them.
func (h *heed) pass(list ...ast.Expr) {
	for _, e := range list {
		e = ast.Unparen(e)
		switch call, ok := e.(*ast.CallExpr); {
		case ok && h.calls[e]:
			h.pass(call.Args...)
		case !h.result(e):
			ast.Inspect(e, h.visit)
		}
	}
}

// counts says whether a loop ends whatever its body does: it changes a variable that its condition reads.
func counts(loop *ast.ForStmt) (ends bool) {
	step, ok := loop.Post.(*ast.IncDecStmt)
	if !ok || loop.Cond == nil || loop.Init == nil {
		return false
	}
	name, ok := step.X.(*ast.Ident)
	ast.Inspect(loop.Cond, func(n ast.Node) bool {
		id, is := n.(*ast.Ident)
		ends = ends || ok && is && id.Name == name.Name
		return true
	})
	return ends
}
