package magics

import (
	"go/ast"
	"go/token"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A work is a statement that a magic runs, compiled once.
type work struct {
	code    *notation.Statements
	stmt    *session.Stmt
	look    func() func() []string    // see bench.Work
	restore func() (changed []string) // puts back the variables that a run changed
}

// parsed reads statements. Those that are no Go have only their text: compile says what is wrong with it.
func parsed(text string) *notation.Statements {
	code, _ := notation.ParseStatements(strings.TrimSpace(text))
	return code
}

// compile checks and compiles statements or an expression. Of `y := f(x)` only the right side runs.
func (c *call) compile(code *notation.Statements) (*work, error) {
	if value := onlyDefinition(code); value != nil {
		code = value
	}
	bare := *code
	bare.Text = strings.TrimSuffix(code.Text, ";")
	stmt, err := c.s.Compile(bare.Text)
	nothing := func() []string { return nil }
	return &work{&bare, stmt, func() func() []string { return nothing }, nothing}, err
}

// onlyDefinition returns e of a lone `y := e`.
func onlyDefinition(code *notation.Statements) *notation.Statements {
	if len(code.List) != 1 {
		return nil
	}
	a, ok := code.List[0].(*ast.AssignStmt)
	if !ok || a.Tok != token.DEFINE || len(a.Rhs) != 1 {
		return nil
	}
	return code.Expr(a.Rhs[0])
}

// trailingExpr splits statements that end in an expression; both results are nil for others.
func trailingExpr(code *notation.Statements) (before, last *notation.Statements) {
	n := len(code.List) - 1
	if n < 1 {
		return nil, nil
	}
	es, ok := code.List[n].(*ast.ExprStmt)
	if !ok {
		return nil, nil
	}
	return code.Before(n), code.Expr(es.X)
}

// lastDeclared is the first variable that the last of the statements declares; empty if that declares none,
// or ends in a semicolon, which hides values.
func lastDeclared(code *notation.Statements) string {
	if len(code.List) == 0 || strings.HasSuffix(code.Text, ";") {
		return ""
	}
	var names []ast.Expr
	switch s := code.List[len(code.List)-1].(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			names = s.Lhs
		}
	case *ast.DeclStmt:
		if d := s.Decl.(*ast.GenDecl); d.Tok == token.VAR && len(d.Specs) > 0 {
			for _, name := range d.Specs[len(d.Specs)-1].(*ast.ValueSpec).Names {
				names = append(names, name)
			}
		}
	}
	for _, e := range names {
		if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
			return id.Name
		}
	}
	return ""
}

// A benchCase is one of the statements that %bench compares.
type benchCase struct {
	name string
	code *notation.Statements
}

// splitCases splits `name := expr; name := expr`. The name of a statement without one is its text.
func splitCases(text string) []benchCase {
	var cases []benchCase
	for _, piece := range cell.Split(text) {
		cases = append(cases, named(strings.TrimSpace(piece.Text(text))))
	}
	return cases
}

// named returns a statement with its name: the name of `name := expr`, or the text.
func named(source string) benchCase {
	code := parsed(source)
	if len(code.List) == 1 {
		if a, ok := code.List[0].(*ast.AssignStmt); ok && a.Tok == token.DEFINE && len(a.Lhs) == 1 {
			return benchCase{a.Lhs[0].(*ast.Ident).Name, code}
		}
	}
	return benchCase{source, code}
}
