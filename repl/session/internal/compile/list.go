package compile

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// valuesFunc stands for the list of expressions at the end of a cell.
var valuesFunc = types.NewFunc(token.NoPos, nil, lower.Values, types.NewSignatureType(nil, nil, nil,
	types.NewTuple(types.NewVar(token.NoPos, nil, "values", types.NewSlice(types.Universe.Lookup("any").Type()))), nil, true))

// parseStatements parses statements as the body of a function. Line and col are the place of the text in
// the cell. The last statement may be a list of expressions, `a, b`, which is not Go: it becomes a call of
// valuesFunc.
func (c *Compiler) parseStatements(n, line, col int, text string) (*ast.File, error) {
	items := cell.List(text)
	if items == nil {
		return c.parse(n, line, col, "package "+world.PkgPath+";func cell(){", text, "\n}")
	}
	file, err := c.parse(n, line, col, "package "+world.PkgPath+";func cell(){", text[:items[0].From], "\n}")
	if err != nil {
		return nil, err
	}
	var values []ast.Expr
	for _, item := range items {
		l, column := cell.LineCol(text, item.From)
		if l == 1 {
			column += col - 1
		}
		f, err := c.parse(n, line+l-1, column, "package "+world.PkgPath+";var _ =", item.Text(text), "\n")
		if err != nil {
			return nil, err
		}
		values = append(values, f.Decls[0].(*ast.GenDecl).Specs[0].(*ast.ValueSpec).Values...)
	}
	if f, ok := file.Decls[0].(*ast.FuncDecl); ok && len(file.Decls) == 1 {
		pos := values[0].Pos()
		call := &ast.CallExpr{Fun: &ast.Ident{Name: lower.Values, NamePos: pos}, Lparen: pos, Args: values, Rparen: values[len(values)-1].End()}
		f.Body.List = append(f.Body.List, &ast.ExprStmt{X: call})
	}
	return file, nil
}

// listed returns the expressions of a list, or nil if e is not a list.
func listed(e ast.Expr) []ast.Expr {
	if call, ok := e.(*ast.CallExpr); ok {
		if id, ok := call.Fun.(*ast.Ident); ok && id.Name == lower.Values {
			return call.Args
		}
	}
	return nil
}

// evaluated turns a list of expressions that is not shown into an assignment to blanks.
func evaluated(list []ast.Stmt) []ast.Stmt {
	n := len(list)
	if n == 0 {
		return list
	}
	es, ok := list[n-1].(*ast.ExprStmt)
	if !ok || listed(es.X) == nil {
		return list
	}
	a := &ast.AssignStmt{TokPos: es.Pos(), Tok: token.ASSIGN, Rhs: listed(es.X)}
	for range a.Rhs {
		a.Lhs = append(a.Lhs, &ast.Ident{Name: "_", NamePos: es.Pos()})
	}
	return append(list[:n-1:n-1], a)
}
