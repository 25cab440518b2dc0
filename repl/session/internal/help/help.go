// Package help is help for the person who types: what can follow at the cursor, the parameters of the call
// around it, what is known about a name, and what may have been meant where the checker complains.
//
// It reads only. A [Helper] sees a notebook through [Session]; the text before the cursor is made whole
// (package cursor), checked as if the cell were finished there, and looked at. Reading order: help.go,
// place.go (where the cursor is), complete.go with expect.go, names.go, members.go and paths.go, hint.go,
// inspect.go with reading.go, then suggest.go with idioms.go and foreign.go.
package help

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// A Helper helps the person who types: it completes, hints, suggests and tells about names. It reads only.
type Helper struct{ Session }

// A Session is what a helper sees of a session.
type Session interface {
	// World is what cells have declared.
	World() *world.World
	// Check type-checks a file as far as it goes; extra are declared beside it. It leaves nothing behind.
	Check(fset *token.FileSet, st *world.Stage, file *ast.File, extra ...types.Object) *Facts
	// Import makes the imports of a declaration visible in st; those that are wrong import nothing.
	Import(st *world.Stage, decl string)
	// Outs replaces Out[n] and _ in statements, and returns the variables that stand for them.
	Outs(list []ast.Stmt) []types.Object
	// Package is the package with a path, compiled or of the user's own.
	Package(path string) (*types.Package, error)
	// Doc, Title and SourceOf tell about a package of either kind: what [stdlib.Doc] has of a symbol, how
	// people call the package, and the source of a symbol of the user's.
	Doc(path, symbol string) string
	Title(path string) string
	SourceOf(path, symbol string) string
	// Text is the text of the cell or file that has a position, and its line there.
	Text(pos token.Pos) (src string, line int)
	// Value and Shown are what a variable holds now, and how that looks as a result.
	Value(e *world.Entity) (any, bool)
	Shown(e *world.Entity) display.Value
	// Dir is the folder of relative paths.
	Dir() string
}

// Facts are what the type checker found out about some files.
type Facts struct {
	Files []*ast.File
	Pkg   *types.Package
	Info  *types.Info
	Errs  []types.Error
}
