package compile

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

// An Out is the result of an earlier cell, for code that mentions it.
type Out struct {
	N        int
	Var      string // the variable with the value while such code runs
	Type     types.Type
	declared bool // the interpreter has the variable
}

// Outs are the results of earlier cells.
type Outs interface {
	// Out returns Out[n], or nil.
	Out(n int) *Out
	// Last returns the newest result, which _ means, or nil.
	Last() *Out
}

// OutRefs replaces Out[n], and `_` where a value is needed, by the variables of the results, and returns
// these results.
func (c *Compiler) OutRefs(list []ast.Stmt) (mentioned []*Out) {
	if !mentionsOuts(list) {
		return nil
	}
	variable := func(o *Out, pos token.Pos) *ast.Ident {
		if !slices.Contains(mentioned, o) {
			mentioned = append(mentioned, o)
		}
		return &ast.Ident{Name: o.Var, NamePos: pos}
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
				// The result of the expression before, where each is shown, or that of an earlier cell.
				if o := cmp.Or(c.before, c.Outs.Last()); o != nil {
					id.Name = variable(o, id.NamePos).Name
				}
			}
			return true
		})
	}
	if c.World.Names["Out"] != nil {
		return mentioned
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
			if o := c.Outs.Out(n); o != nil {
				return variable(o, id.NamePos)
			}
			return nil
		})
	}
	return mentioned
}

// OutType is the type of the variable for a result.
func OutType(t types.Type) types.Type {
	if b, ok := t.(*types.Basic); ok && b.Kind() == types.UntypedNil {
		return types.NewInterfaceType(nil, nil)
	}
	return types.Default(t)
}

// mentionsOuts says whether statements mention Out or `_`.
func mentionsOuts(list []ast.Stmt) bool {
	return slices.ContainsFunc(list, func(stmt ast.Stmt) bool {
		return walk.Any(stmt, func(id *ast.Ident) bool { return id.Name == "_" || id.Name == "Out" })
	})
}

// replaceExprs replaces each expression in a statement for which f returns another.
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

// assignedTo returns the places of a node where a blank is assigned to.
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
