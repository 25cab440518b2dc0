// Package help answers the person who types: completions at the cursor, the parameters of the call around
// it, the documentation of a name, and suggestions for the checker's complaints.
//
// It changes nothing. A [Helper] sees a notebook through [Session]. The text before the cursor is completed
// (package cursor) and checked as if the cell ended there; the checker's facts answer the question. Reading
// order: help.go, place.go (the code around the cursor), complete.go with expect.go, names.go, members.go,
// keys.go and paths.go, hint.go, inspect.go with reading.go, then suggest.go with idioms.go, elsewhere.go and
// foreign.go, which asks package python. What is said stands in tables/*.txt.
package help

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// A Helper completes, hints, suggests and describes names. It changes nothing.
type Helper struct{ Session }

// A Session is a helper's view of a session.
type Session interface {
	// World returns the declarations of cells.
	World() *world.World
	// Check type-checks a file as far as possible; extra are declared beside it. It leaves nothing in the
	// session.
	Check(fset *token.FileSet, st *world.Stage, file *ast.File, extra ...types.Object) *Facts
	// Import makes the imports of a declaration visible in st; a wrong import is ignored.
	Import(st *world.Stage, decl string)
	// Outs replaces Out[n] and _ in statements, and returns the variables that replace them.
	Outs(list []ast.Stmt) []types.Object
	// Package returns the package with a path: a compiled one or one of the user's.
	Package(path string) (*types.Package, error)
	// Doc, Title and SourceOf describe a package of either kind: the text of [stdlib.Doc] for a symbol,
	// the package's usual name, and the source of a symbol of the user's.
	Doc(path, symbol string) string
	Title(path string) string
	SourceOf(path, symbol string) string
	// Text returns the text of the cell or file at a position, and the line there.
	Text(pos token.Pos) (src string, line int)
	// Cells returns the texts of the session's cells, oldest first.
	Cells() []string
	// Value returns the current value of a variable, Shown the value as a result shows it.
	Value(e *world.Entity) (any, bool)
	Shown(e *world.Entity) display.Value
	// Quiet says that no goroutine of cells runs, which may change values.
	Quiet() bool
	// Dir returns the folder that relative paths start from.
	Dir() string
}

// Facts are the results of the type checker for some files.
type Facts struct {
	Files []*ast.File
	Pkg   *types.Package
	Info  *types.Info
	Errs  []types.Error
}
