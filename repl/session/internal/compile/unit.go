package compile

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// A Unit is a part of a cell that is checked, compiled and run as a whole: a command line, some declarations,
// or some statements.
type Unit struct {
	world.Change
	Piece   cell.Piece
	Dropped []*world.Decl // of earlier cells, which do not check with what is new
	pos     token.Pos

	Command string       // of a command line
	Own     *Package     // the package of the user's that it makes, if it does
	st      *world.Stage // of that package
	cell    int          // the number of the cell

	checked   *checked
	vars      map[types.Object]string // the interpreter's names of the variables that the statements declare
	markSlots []int                   // for marks of functions, whose variables are new to the interpreter
	slots     []*world.Entity         // variables that are new to the interpreter
	Moves     []Move
	Free      []*world.Entity // variables to free when the unit has run

	body  []ast.Stmt // statements
	decls []*declared
	// remade are generic functions that are declared again: instances of the first are made of the second.
	remade [][2]types.Object

	Shown      ast.Expr // the trailing expression, if it is to be shown
	ShownTypes []types.Type
	Listed     bool                                           // shown is a list of expressions
	added      map[string]ast.Expr                            // variables that completing assignments has added, for the results of which call
	Outs       []*Out                                         // results of earlier cells that it uses
	loop       func(*env, *lower.Lowerer) ([]ast.Stmt, error) // for Compile: makes the body of the cell function

	Program   *yaegi.Program
	Runs      bool // the program has something to run, not only to declare
	packages  []string
	instances []*instance
}

// A Move carries a variable over to a new declaration of the same type.
type Move struct{ From, To *world.Entity }

// declared is a declaration of a unit with its syntax.
type declared struct {
	*world.Decl
	node ast.Decl
	user bool // written in this cell, not carried over from an earlier one
	code bool // of a function: it has the type that it had
	// method is what a method was written as whose type is not declared with it: node is a function then.
	method *ast.FuncDecl
	ents   []*world.Entity
}

// An instance is a generic function or type with concrete type arguments.
type instance struct {
	generic types.Object
	args    []types.Type
	name    string
	pos     token.Pos // where it is wanted
}

// key identifies the instance, whatever the versions of what it is made of.
func (in *instance) key() string {
	args := make([]string, len(in.args))
	for i, t := range in.args {
		args[i] = world.Unversioned(t)
	}
	path, _, _ := strings.Cut(in.generic.Pkg().Path(), "@")
	return fmt.Sprintf("%s.%s[%s]", path, in.generic.Name(), strings.Join(args, ", "))
}

func (in *instance) is(generic types.Object, args []types.Type) bool {
	if in.generic != generic || len(in.args) != len(args) {
		return false
	}
	for i := range args {
		if !types.Identical(in.args[i], args[i]) {
			return false
		}
	}
	return true
}

// DeclaredFrom are the names that the statements of a unit declare from a place on.
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

// Mentions says whether the code of a unit mentions a function for which is says so.
func (u *Unit) Mentions(is func(*types.Func) bool) bool {
	if u.checked == nil {
		return false
	}
	for _, o := range u.checked.info.Uses {
		if f, ok := o.(*types.Func); ok && is(f) {
			return true
		}
	}
	return false
}
