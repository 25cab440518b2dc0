package magics

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session"
)

// work is a statement that a magic runs, compiled once. Its run gives back what it made, so that lazy tensors
// in it can be evaluated: without that a timing would show how long it takes to build a graph.
type work struct {
	source string // as it was typed
	text   string // as it was compiled
	stmt   *session.Stmt
	kind   workKind
	floor  string // what to compile to see what the interpreter alone costs for work of this shape
}

// A workKind says what the value of a run is.
type workKind int

const (
	expression    workKind = iota
	severalValues          // the values of a call, as results
	statements             // the variables that were assigned, as results, or nothing
	trailing               // the same, and the value of the expression at the end behind them
)

// The floor of an expression is the cheapest expression, that of a statement list an empty function call.
const (
	expressionFloor = "0"
	functionFloor   = "func() any { return nil }()"
)

// compile checks and compiles a statement list or an expression. Of `y := f(x)` the right side is what runs;
// other statements become a function that returns the variables they assign.
func (c *call) compile(source string) (*work, error) {
	source = strings.TrimSuffix(strings.TrimSpace(source), ";")
	if _, err := parser.ParseExpr(source); err == nil {
		return c.compileExpr(source)
	}
	list := parseStatements(source)
	if value := onlyDefinition(source, list); value != "" {
		return c.compileExpr(value)
	}
	made := c.assigned(list)
	if before, last := trailingExpr(source, list); last != "" {
		function := fmt.Sprintf("func() any { %s\nreturn []any{%s} }()", before, strings.Join(append(made, last), ", "))
		if stmt, err := c.s.Compile(function); err == nil {
			return &work{source, function, stmt, trailing, functionFloor}, nil
		}
	}
	if len(made) > 0 {
		function := fmt.Sprintf("func() any { %s\nreturn []any{%s} }()", source, strings.Join(made, ", "))
		if stmt, err := c.s.Compile(function); err == nil {
			return &work{source, function, stmt, statements, functionFloor}, nil
		}
	}
	// As it stands: for statements that make nothing, and for an error at the reader's own line and column.
	stmt, err := c.s.Compile(source)
	return &work{source, source, stmt, statements, functionFloor}, err
}

// maxResults is how many results of a call are looked at.
const maxResults = 5

// compileExpr compiles an expression; one with several results becomes a function that returns all of them.
func (c *call) compileExpr(source string) (*work, error) {
	stmt, err := c.s.Compile(source)
	if err != nil || stmt.HasValue() {
		return &work{source, source, stmt, expression, expressionFloor}, err
	}
	names := "a"
	for n := 2; n <= maxResults; n++ {
		names += fmt.Sprintf(", a%d", n)
		function := fmt.Sprintf("func() any { %s := %s\nreturn []any{%s} }()", names, source, names)
		if several, err := c.s.Compile(function); err == nil {
			return &work{source, function, several, severalValues, functionFloor}, nil
		}
	}
	return &work{source, source, stmt, expression, expressionFloor}, nil
}

// parseStatements reads a statement list; it is nil for text that is not Go.
func parseStatements(source string) []ast.Stmt {
	f, err := parser.ParseFile(token.NewFileSet(), "", statementsBefore+source+"\n}", parser.SkipObjectResolution)
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

// trailingExpr takes a list of statements apart that ends in an expression.
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

// assigned returns the variables that statements leave values in: those that they declare at their top level,
// and those of the session that they assign to anywhere.
func (c *call) assigned(list []ast.Stmt) []string {
	var names []string
	add := func(e ast.Expr) {
		if ident, ok := e.(*ast.Ident); ok && ident.Name != "_" && !slices.Contains(names, ident.Name) {
			names = append(names, ident.Name)
		}
	}
	for _, s := range list {
		if a, ok := s.(*ast.AssignStmt); ok {
			for _, lhs := range a.Lhs {
				add(lhs)
			}
		}
	}
	session := map[string]bool{}
	for _, v := range c.s.Vars() {
		session[v.Name] = v.Kind == "var"
	}
	for _, s := range list {
		ast.Inspect(s, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
				for _, lhs := range a.Lhs {
					if ident, ok := lhs.(*ast.Ident); ok && session[ident.Name] {
						add(lhs)
					}
				}
			}
			return true
		})
	}
	return names
}

// declares says whether statements declare variables at their top level, and end in no value to show.
func declares(source string) bool {
	list := parseStatements(source)
	if len(list) == 0 {
		return false
	}
	if _, value := list[len(list)-1].(*ast.ExprStmt); value {
		return false
	}
	return slices.ContainsFunc(list, func(s ast.Stmt) bool {
		a, ok := s.(*ast.AssignStmt)
		_, decl := s.(*ast.DeclStmt)
		return decl || ok && a.Tok == token.DEFINE
	})
}

// assignedHere are the variables of the session that statements assign to by themselves, not in a function
// that they call.
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

// splitCases reads `name := expr ; name := expr`. A statement without a name is called by its text.
func splitCases(text string) []benchCase {
	var cases []benchCase
	for _, piece := range cell.Split(text) {
		source := strings.TrimSpace(piece.Text(text))
		name := source
		if list := parseStatements(source); len(list) == 1 {
			if a, ok := list[0].(*ast.AssignStmt); ok && a.Tok == token.DEFINE && len(a.Lhs) == 1 {
				name = a.Lhs[0].(*ast.Ident).Name
			}
		}
		cases = append(cases, benchCase{name, source})
	}
	return cases
}
