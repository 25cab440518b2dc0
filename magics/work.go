package magics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A work is a statement that a magic runs, compiled once.
type work struct {
	source  string
	stmt    *session.Stmt
	look    func() func() []string    // see bench.Work; may be nil
	restore func() (changed []string) // puts back the variables that a run changed; may be nil
}

// compile checks and compiles statements or an expression. Of `y := f(x)` only the right side runs.
func (c *call) compile(source string) (*work, error) {
	source = strings.TrimSuffix(strings.TrimSpace(source), ";")
	if value := onlyDefinition(source, parseStatements(source)); value != "" {
		source = value
	}
	stmt, err := c.s.Compile(source)
	return &work{source: source, stmt: stmt}, err
}

// parseStatements parses a list of statements. It returns nil for text that is not Go.
func parseStatements(source string) []ast.Stmt {
	f, err := notation.ParseFile(token.NewFileSet(), "", statementsBefore+source+"\n}", parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	return f.Decls[0].(*ast.FuncDecl).Body.List
}

const statementsBefore = "package p; func _() {"

// onlyDefinition returns e of a lone `y := e`.
func onlyDefinition(source string, list []ast.Stmt) string {
	if len(list) != 1 {
		return ""
	}
	a, ok := list[0].(*ast.AssignStmt)
	if !ok || a.Tok != token.DEFINE || len(a.Rhs) != 1 {
		return ""
	}
	return source[int(a.Rhs[0].Pos())-1-len(statementsBefore) : int(a.Rhs[0].End())-1-len(statementsBefore)]
}

// trailingExpr splits a list of statements that ends in an expression; both results are empty for other
// lists.
func trailingExpr(source string, list []ast.Stmt) (before, last string) {
	if len(list) < 2 {
		return "", ""
	}
	es, ok := list[len(list)-1].(*ast.ExprStmt)
	if !ok {
		return "", ""
	}
	at := int(es.Pos()) - 1 - len(statementsBefore)
	return source[:at], source[at : int(es.End())-1-len(statementsBefore)]
}

// lastDeclared is the first variable that the last of the statements declares; empty if that declares none,
// or ends in a semicolon, which hides values.
func lastDeclared(source string) string {
	list := parseStatements(source)
	if len(list) == 0 || strings.HasSuffix(strings.TrimSpace(source), ";") {
		return ""
	}
	var names []ast.Expr
	switch s := list[len(list)-1].(type) {
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

// declares reports whether statements declare variables.
func declares(source string) bool {
	return slices.ContainsFunc(parseStatements(source), func(s ast.Stmt) bool {
		a, ok := s.(*ast.AssignStmt)
		_, decl := s.(*ast.DeclStmt)
		return decl || ok && a.Tok == token.DEFINE
	})
}

// assignedHere returns the session variables that the statements assign directly, not through a function.
func (c *call) assignedHere(source string) (names []string) {
	for _, s := range parseStatements(source) {
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, e := range n.Lhs {
						names = appendIdent(names, e)
					}
				}
			case *ast.IncDecStmt:
				names = appendIdent(names, n.X)
			}
			return true
		})
	}
	return names
}

func appendIdent(names []string, e ast.Expr) []string {
	if id, ok := e.(*ast.Ident); ok && !slices.Contains(names, id.Name) {
		return append(names, id.Name)
	}
	return names
}

// A benchCase is one of the statements that %bench compares.
type benchCase struct {
	name, source string
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
	if list := parseStatements(source); len(list) == 1 {
		if a, ok := list[0].(*ast.AssignStmt); ok && a.Tok == token.DEFINE && len(a.Lhs) == 1 {
			return benchCase{a.Lhs[0].(*ast.Ident).Name, source}
		}
	}
	return benchCase{source, source}
}
