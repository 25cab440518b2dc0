// Package notation is what cells add to Go for tensors: operators and indices, 2*x + y, x < 0, x[1:3, :],
// x[mask] = 0, x += y. Each stands for a call of a method that could be written instead.
//
// Text that Go understands stays Go. Only where the type checker complains about code whose operands it knows
// to be tensors does the call take the code's place ([Calls.Replace]), and only where a bracket is no Go at
// all is it read as an index of several axes ([ParseFile]). So nothing that Go gives a meaning gets another
// one: == keeps comparing handles (which cells refuse), && and || take bools. Messages of the checker show
// what was typed ([Calls.Reword]), and the calls have the places of what was typed.
//
// Reading order: notation.go, statements.go, brackets.go, calls.go, operators.go, indices.go, write.go.
package notation

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
)

// TensorPath is the package of tensors.
const TensorPath = "github.com/mcs-notebook/mcs/engine/tensor"

// Tensor is the name of that package in the calls. Whoever checks them gives it that meaning, so that a
// variable named tensor hides nothing.
const Tensor = "__tensor"

// ParseFile is [parser.ParseFile] for a text that may index several axes: x[1:3, :], x[..., 0], x[::-1]. What
// is no Go between such brackets becomes a call of Index, with the places of the text.
func ParseFile(fset *token.FileSet, name, src string, mode parser.Mode) (*ast.File, error) {
	file, _, err := Parse(fset, name, src, mode)
	return file, err
}

// Parse is ParseFile; goErrs has the complaints of Go's parser about a text that was read as such indices.
func Parse(fset *token.FileSet, name, src string, mode parser.Mode) (file *ast.File, goErrs scanner.ErrorList, err error) {
	file, err = parser.ParseFile(fset, name, src, mode)
	if err == nil {
		return file, nil, nil
	}
	plain, groups := readBrackets(src)
	if len(groups) == 0 {
		return file, nil, err
	}
	errors.As(err, &goErrs)
	file, err = parser.ParseFile(fset, name, plain, mode)
	if file != nil {
		graft(fset.File(file.FileStart), file, src, groups)
	}
	return file, goErrs, err
}

// ParseExpr is [parser.ParseExpr] for an expression with such indices.
func ParseExpr(text string) (ast.Expr, error) {
	x, err := parser.ParseExpr(text)
	if err == nil {
		return x, nil
	}
	const before = "package p; var _ = "
	file, _ := ParseFile(token.NewFileSet(), "", before+text+"\n", parser.SkipObjectResolution)
	if file == nil || len(file.Decls) != 1 {
		return nil, err
	}
	g, ok := file.Decls[0].(*ast.GenDecl)
	if plain, _ := readBrackets(text); !ok || !isExpr(plain) {
		return nil, err
	}
	return g.Specs[0].(*ast.ValueSpec).Values[0], nil
}

func isExpr(text string) bool {
	_, err := parser.ParseExpr(text)
	return err == nil
}

// isTensor says whether values of a type are tensors.
func isTensor(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == "Tensor" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == TensorPath
}

// id makes an identifier of the calls.
func id(name string, pos token.Pos) *ast.Ident { return &ast.Ident{Name: name, NamePos: pos} }

// inPackage makes the name of a function or variable of package tensor.
func inPackage(name string, pos token.Pos) ast.Expr {
	return &ast.SelectorExpr{X: id(Tensor, pos), Sel: id(name, pos)}
}
