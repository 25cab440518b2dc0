package compile

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/help"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// A Unit is a part of a cell that is checked, compiled and run as a whole: a command line, some
// declarations, or some statements.
type Unit struct {
	world.Change
	Piece   cell.Piece
	Dropped []*world.Decl // declarations of earlier cells that no longer check
	pos     token.Pos

	Command string       // the text of a command line
	Own     *Package     // the user's package that the unit makes, or nil
	st      *world.Stage // the scope of that package
	cell    int          // the number of the cell

	checked   *checked
	vars      map[types.Object]string // the interpreter's names of the variables that the statements declare
	markSlots []int                   // slots for marks of functions, whose variables are new to the interpreter
	slots     []*world.Entity         // variables that are new to the interpreter
	Moves     []Move
	Rebinds   []world.Rebind
	Free      []*world.Entity // variables to free when the unit has run

	body  []ast.Stmt // statements
	decls []*declared
	// remade pairs a generic function with its new declaration, from which instances are made now.
	remade [][2]types.Object

	Shown      ast.Expr // the trailing expression, if it is shown
	ShownTypes []types.Type
	Listed     bool                                           // shown is a list of expressions
	added      map[string]ast.Expr                            // variables that completeErrors has added, for the result
	Outs       []*Out                                         // results of earlier cells that the unit uses
	loop       func(*env, *lower.Lowerer) ([]ast.Stmt, error) // for Compiler.Loop: makes the body of the cell function

	Program   *yaegi.Program
	Runs      bool // the program runs code, and does not only declare names
	packages  []string
	instances []*instance
}

// A Move copies a variable's value to a new declaration of the same type.
type Move struct{ From, To *world.Entity }

// declared is a declaration of a unit with its syntax.
type declared struct {
	*world.Decl
	node ast.Decl
	user bool // written in this cell, not copied from an earlier one
	code bool // of a function: its type stays the same
	// method is the original of a method that is checked as a function, because its type is not declared
	// with it; node is that function.
	method *ast.FuncDecl
	ents   []*world.Entity
}

// An instance is a generic function or type with concrete type arguments.
type instance struct {
	generic types.Object
	args    []types.Type
	name    string
	pos     token.Pos // the place of its first use
}

// key identifies the instance, in all versions of its parts.
func (in *instance) key() string {
	args := make([]string, len(in.args))
	for i, t := range in.args {
		args[i] = world.Unversioned(t)
	}
	path, _, _ := strings.Cut(in.generic.Pkg().Path(), "@")
	return fmt.Sprintf("%s.%s[%s]", path, in.generic.Name(), strings.Join(args, ", "))
}

// DeclaredFrom returns the names that the statements of a unit declare from a place on.
func (u *Unit) DeclaredFrom(at token.Pos) (names []string) {
	from := slices.IndexFunc(u.body, func(stmt ast.Stmt) bool { return stmt.Pos() == at })
	if from < 0 {
		return nil
	}
	for _, stmt := range u.body[from:] {
		for _, id := range topNames(stmt) {
			if u.added[id.Name] == nil {
				names = append(names, id.Name)
			}
		}
	}
	return names
}

// Mentions says whether the code of a unit mentions a function for which is returns true.
func (u *Unit) Mentions(is func(*types.Func) bool) bool {
	if u.checked == nil {
		return false
	}
	for _, o := range u.checked.Info.Uses {
		if f, ok := o.(*types.Func); ok && is(f) {
			return true
		}
	}
	return false
}

// Divisions are the notices of [help.Divisions] about the code of cell n in some units.
func (c *Compiler) Divisions(n int, units [][]*Unit) (list []string) {
	own := func(pos token.Pos) bool { return yaegi.CellOf(c.Position(pos).Filename) == n }
	for _, u := range slices.Concat(units...) {
		if u.checked == nil || u.Own != nil {
			continue
		}
		for _, text := range help.Divisions(&u.checked.Facts, own) {
			if !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list
}
