package session

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// A helper helps the person who types: it completes, hints, suggests and tells about names. It reads only.
type helper struct{ notebook }

// A notebook is what a helper sees of a session.
type notebook interface {
	// World is what cells have declared.
	World() *world.World
	// Check type-checks a file as far as it goes; extra are declared beside it. It leaves nothing behind.
	Check(fset *token.FileSet, st *world.Stage, file *ast.File, extra ...types.Object) *facts
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

// facts are what the type checker found out about some files.
type facts struct {
	files []*ast.File
	pkg   *types.Package
	info  *types.Info
	errs  []types.Error
}
