package notation

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// Statements are a list of statements as a person has typed them, with their syntax trees. Whoever asks what
// they do reads it here, and nobody changes the trees.
type Statements struct {
	Text string
	List []ast.Stmt // nil if the text is no Go

	base token.Pos // of the first byte of the text
}

const beforeStatements = "package p; func _() {"

// ParseStatements reads statements. The result has the text beside an error, too.
func ParseStatements(text string) (*Statements, error) {
	s := &Statements{Text: text}
	file, err := ParseFile(token.NewFileSet(), "", beforeStatements+text+"\n}", parser.SkipObjectResolution)
	if err != nil {
		return s, err
	}
	if len(file.Decls) != 1 {
		return s, errors.New("got a bracket that ends a function, want statements")
	}
	s.base = file.FileStart + token.Pos(len(beforeStatements))
	s.List = file.Decls[0].(*ast.FuncDecl).Body.List
	return s, nil
}

// ParseDeclarations reads declarations of a cell, without imports.
func ParseDeclarations(text string) ([]ast.Decl, error) {
	file, err := ParseFile(token.NewFileSet(), "", "package p; "+text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return file.Decls, nil
}

// Offset is the place of a position in the text.
func (s *Statements) Offset(pos token.Pos) int { return int(pos - s.base) }

// Inspect walks through the trees as [ast.Inspect] does.
func (s *Statements) Inspect(visit func(ast.Node) bool) {
	for _, each := range s.List {
		ast.Inspect(each, visit)
	}
}

// Before returns the statements before the n-th.
func (s *Statements) Before(n int) *Statements {
	return &Statements{s.Text[:s.Offset(s.List[n].Pos())], s.List[:n], s.base}
}

// Expr returns a part of the statements, an expression, as a statement.
func (s *Statements) Expr(x ast.Expr) *Statements {
	return &Statements{s.Text[s.Offset(x.Pos()):s.Offset(x.End())], []ast.Stmt{&ast.ExprStmt{X: x}}, x.Pos()}
}

// Mentioned are all names in the statements: of variables, packages, fields.
func (s *Statements) Mentioned() map[string]bool {
	names := map[string]bool{}
	s.Inspect(func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names[id.Name] = true
		}
		return true
	})
	return names
}

// Assigned are the variables that the statements themselves assign to as a whole, and do not declare.
func (s *Statements) Assigned() (names []string) {
	add := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok && !slices.Contains(names, id.Name) {
				names = append(names, id.Name)
			}
		}
	}
	s.Inspect(func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.IncDecStmt:
			add(n.X)
		}
		return true
	})
	return names
}

// Declares says whether statements declare variables or types outside of their blocks.
func (s *Statements) Declares() bool {
	return slices.ContainsFunc(s.List, func(s ast.Stmt) bool {
		a, ok := s.(*ast.AssignStmt)
		_, decl := s.(*ast.DeclStmt)
		return decl || ok && a.Tok == token.DEFINE
	})
}
