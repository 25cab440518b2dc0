// Package session runs cells of Go: a cell goes in, a [Result] comes out, variables stay.
//
// A cell never reaches the interpreter as text. It is split into pieces (command lines, declarations,
// statements: package cell), type-checked by go/types against everything that the session knows, lowered to
// the part of Go that the interpreter runs correctly, and run as the body of a function that assigns typed
// session variables.
//
// This package wires that together; each step is a package below it. Package compile takes text to units that
// can run, supervise runs and stops them, program has whole programs and the packages of the user's own,
// library what cells import, help what helps the person who types. What is left here is what a session is to
// its front end: the history of cells, what they show, the results that they left (Out[n]), and where their
// code is.
//
// Reading order: session.go (what there is), new.go (how it is put together), cell.go (from a cell to its
// result), out.go and history.go; panics.go, frames.go and places.go (where code is, and how that is told);
// news.go (what is told of names that changed); stmt.go and snapshot.go (statements that run often, on their
// own); program.go; help.go and host.go (the session as help and supervise see it).
//
// A Session serves one cell at a time. It knows nothing of terminals: what a cell prints goes to
// Options.Stdout, what it shows is in the Result.
package session

//go:generate go test -run ^TestGoInCells$ -record .

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/library"
	"github.com/mcs-notebook/mcs/repl/session/internal/program"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/supervise"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// Options say how a session talks to the world. The zero value is usable: output is dropped, there is no
// input.
type Options struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Dir is the folder that relative paths of the session mean. Empty: the process's own.
	Dir string
	// Source is the folder from which cells import packages of the user's own, as in import "./dir". Empty:
	// Dir.
	Source string
	// Params are the -p name=value arguments. A top-level `name := literal` or `var name = literal` cell
	// statement whose name is in Params takes that value instead (converted to the literal's type, else an
	// error).
	Params map[string]string
	// Commands runs the lines that are not Go (%name …, !command, name?). nil: such lines are errors.
	Commands Commands
	// Render makes of a value that a cell shows what Result.Shown has, for example text as wide as the
	// terminal. It runs inside of the cell, where it is guarded and interrupted as the cell's own code is:
	// values may be lazy, and may have methods that a cell has declared. So what it returns must be made
	// already, and call nothing of v any more. Result is n for the value of In[n], and 0 for what commands
	// show. nil: the text of v for 80 columns.
	Render func(v display.Value, result int) display.Value
	// Progress receives the live progress of long engine work; nil drops it.
	Progress func(task string, done, total int64, note string)

	limits supervise.Limits // of tests
}

// Commands runs the lines of a cell that are not Go. Package magics has the real one.
type Commands interface {
	// Run runs one command line, or a whole cell whose first line is a %% command. It returns what it has to
	// show (nil: nothing).
	Run(ctx context.Context, s *Session, line string) (display.Value, error)
}

// A Result is what became of one cell.
type Result struct {
	N       int             // the cell's number, counted from 1
	Shown   []display.Value // what the cell has to show, in order, as Options.Render has made it
	Out     bool            // whether the last of Shown is the trailing expression's value (Out[N])
	Err     error           // *CheckError, *PanicError, ErrInterrupted, a shown error value, or a command's error
	Elapsed time.Duration   // from the start of the check to the end of the run
}

// ErrInterrupted is the Result.Err of a cell that was stopped by the cancellation of its context.
var ErrInterrupted = supervise.ErrInterrupted

// What is wrong with a cell, and where.
type (
	// A CheckError says why a cell was refused before any of it ran. Nothing has changed.
	CheckError = compile.CheckError
	// A Diag is one complaint at a place of the cell, or of a file that it imports.
	Diag = compile.Diag
)

// A PanicError is a panic in the user's code, with the user's frames only.
type PanicError struct {
	Value  any
	Frames []Frame  // innermost first
	Diag   *Diag    // the place in the newest cell, when it is known
	Stack  []string // everything, for %tb

	text string // what Value says
}

// A Frame is one call of the user's code.
type Frame struct {
	Cell, Line, Col int
	Func            string
	File            string // of an imported package; Cell is 0
}

// Place is where the call is: In[3]:2, or util/util.go:12.
func (f Frame) Place() string {
	if f.File != "" {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return fmt.Sprintf("In[%d]:%d", f.Cell, f.Line)
}

// A Var is a variable, function or type of the session.
type Var struct {
	Name  string
	Kind  string // "var", "const", "func", "type", "import"
	Type  string // as Go writes it, real names
	Cell  int    // where it was last declared
	Value any    // for a var: its value now
}

// A Cell of the history.
type Cell struct {
	N      int
	Source string
	Err    bool
}

// A Session is a running notebook: its variables, its history, its interpreter.
type Session struct {
	opts    Options
	past    history
	streams *library.Streams  // where cells print
	runner  *supervise.Runner // runs them
	random  *tensor.RNG       // behind tensor.Randn and the like
	device  device.Choice     // the default of the cells
	finite  tensor.Guard      // stops evaluations of the cells that make a NaN or an infinity
	program *programRun       // if the session was made to run one

	// What a reset makes anew.
	interp   *yaegi.Interp
	rt       *rt.Runtime
	library  *library.Library   // what cells import
	compiler *compile.Compiler  // what they have declared, and what they mean
	packages *program.Packages  // of the user's own
	places   places             // where their code is
	outs     outs               // their results
	format   *display.Formatter // shows them

	// busy is held while a cell runs, and while completion or a hint looks at the session from another
	// goroutine.
	busy sync.Mutex
}
