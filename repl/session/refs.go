package session

import (
	"go/ast"
	"go/token"
	"strconv"

	"golang.org/x/tools/go/ast/astutil"
)

// outRefs replaces `_`, where a value is meant, and Out[n] by the variables of those results, and returns
// these.
func (s *Session) outRefs(list []ast.Stmt) (used []*out) {
	seen := map[int]bool{}
	use := func(n int, pos token.Pos) *ast.Ident {
		o := s.outs[n]
		if o == nil {
			return nil
		}
		if !seen[n] {
			seen[n] = true
			used = append(used, o)
		}
		return &ast.Ident{Name: o.name, NamePos: pos}
	}
	blanks := map[*ast.Ident]bool{}
	for _, stmt := range list {
		ast.Inspect(stmt, func(n ast.Node) bool {
			for _, e := range assignedTo(n) {
				if id, ok := e.(*ast.Ident); ok {
					blanks[id] = true
				}
			}
			if id, ok := n.(*ast.Ident); ok && id.Name == "_" && !blanks[id] {
				if to := use(s.lastOut, id.NamePos); to != nil {
					id.Name = to.Name
				}
			}
			return true
		})
	}
	if s.world.Names["Out"] != nil {
		return used
	}
	for _, stmt := range list {
		replaceExprs(stmt, func(e ast.Expr) ast.Expr {
			x, ok := e.(*ast.IndexExpr)
			if !ok {
				return nil
			}
			id, ok := x.X.(*ast.Ident)
			lit, isLit := x.Index.(*ast.BasicLit)
			if !ok || !isLit || id.Name != "Out" {
				return nil
			}
			n, err := strconv.Atoi(lit.Value)
			if err != nil {
				return nil
			}
			if to := use(n, id.NamePos); to != nil {
				return to
			}
			return nil
		})
	}
	return used
}

// replaceExprs replaces the expressions in a statement for which f returns another.
func replaceExprs(stmt ast.Stmt, f func(ast.Expr) ast.Expr) {
	astutil.Apply(stmt, func(c *astutil.Cursor) bool {
		if e, ok := c.Node().(ast.Expr); ok {
			if to := f(e); to != nil {
				c.Replace(to)
			}
		}
		return true
	}, nil)
}

// assignedTo are the places of a node where a blank stands for no variable.
func assignedTo(n ast.Node) (list []ast.Expr) {
	names := func(ids []*ast.Ident) {
		for _, id := range ids {
			list = append(list, id)
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		return n.Lhs
	case *ast.RangeStmt:
		return []ast.Expr{n.Key, n.Value}
	case *ast.ValueSpec:
		names(n.Names)
	case *ast.Field:
		names(n.Names)
	case *ast.KeyValueExpr:
		return []ast.Expr{n.Key}
	case *ast.FuncDecl:
		list = []ast.Expr{n.Name}
	case *ast.TypeSpec:
		list = []ast.Expr{n.Name}
	}
	return list
}
