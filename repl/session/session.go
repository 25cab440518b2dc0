// Package session runs cells of Go: a cell goes in, a [Result] comes out, variables stay.
//
// A cell never reaches the interpreter as text. Package cell splits it into pieces: command lines,
// declarations and statements. The pieces are type-checked by go/types against all that the session has
// declared, lowered to the part of Go that the interpreter runs correctly, and run as the body of a
// function that assigns typed session variables.
//
// Each step is a package below this one. Package compile turns text into units that can run. Package
// supervise runs units and stops them. Package program loads whole programs and the user's own packages,
// package library has the packages that cells import, and package help answers the person who types.
// Package session connects them. It also keeps what front ends need: the history of cells, the values that
// they show, their results (Out[n]), and the places of their code.
//
// Reading order: session.go (the types), new.go (how a session is put together), cell.go (from a cell to its
// result), out.go and history.go; panics.go, frames.go and places.go (where code is); news.go (notices about
// names that changed); stmt.go and snapshot.go (statements that commands run often); sampling.go; program.go;
// help.go and host.go (the session as packages help and supervise see it).
//
// A Session runs one cell at a time. It has no terminal: output of a cell goes to Options.Stdout, its
// values are in the Result.
package session

//go:generate go test -run ^TestGoInCells$ -write .

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/library"
	"github.com/mcs-notebook/mcs/repl/session/internal/modules"
	"github.com/mcs-notebook/mcs/repl/session/internal/program"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/supervise"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// Options connect a session to its surroundings. The zero value is usable: output is dropped, and input is
// empty.
type Options struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Dir is the folder that relative paths of the session start from. Empty: the process's folder.
	Dir string
	// Source is the folder from which cells import the user's packages, as in import "./dir". Empty: Dir.
	Source string
	// Params are the -p name=value arguments. A top-level `name := literal` or `var name = literal` cell
	// statement whose name is in Params takes that value instead (converted to the literal's type, else an
	// error).
	Params map[string]string
	// Each shows the values of all expressions among a cell's statements, not of the last one alone.
	Each bool
	// Script says that the cells are those of a script: no later cell can wake what waits for it, so a cell
	// whose goroutines all wait for each other is stopped, as Go's runtime stops a program.
	Script bool
	// Commands runs the lines that are not Go (%name …, !command, name?). nil: such lines are errors.
	Commands Commands
	// Render renders a value that a cell shows, for example as text as wide as the terminal. Result.Shown
	// has the rendered values. Render runs inside of the cell, under its guard and its interrupts, because
	// values may be lazy and may have methods that a cell declared. So the returned value must be
	// complete: it must not call v any more. Result is n for the value of In[n], and 0 for a value of a
	// command. nil: the text of v for 80 columns.
	Render func(v display.Value, result int) display.Value
	// Show receives a value that a cell shows, as Render returned it, before more of the cell runs, which may
	// print. Result.Shown is without it. nil: values that Render has made text are printed, and the others
	// wait for the end of the cell.
	Show func(v display.Value)
	// Progress receives the progress of long engine work, done and total in steps of the task; nil drops
	// it.
	Progress func(task string, done, total int64, note string, took time.Duration)
	// Draw receives each change of a drawing, such as a live plot, while a cell runs; state computes what it
	// shows now, which may be nil. It is called by goroutines of the cell. The last states of a cell's
	// drawings are among its shown values; nil draws nothing before.
	Draw func(state func() display.Value)

	// Confined keeps cells from the network and from starting programs: packages and commands that do are
	// refused by name. It is no wall: what a cell may do to files it may still do.
	Confined bool
	// Memory is how many bytes cells may hold, tensors included, before they are stopped; 0: as many as the
	// machine bears.
	Memory uint64

	limits supervise.Limits // lower in tests
}

// Commands runs the lines of a cell that are not Go. Package magics implements it.
type Commands interface {
	// Run runs one command line, or a whole cell whose first line is a %% command. It returns a value to
	// show, or nil.
	Run(ctx context.Context, s *Session, line string) (display.Value, error)
}

// Varying are Commands that know of which lines the results have another text each time.
type Varying interface {
	Varies(s *Session, line string) bool
}

// A Result is the outcome of one cell.
type Result struct {
	N       int             // the cell's number, counted from 1
	Shown   []display.Value // the values that the cell shows, in order, as Options.Render returned them
	Out     bool            // whether the last of Shown is the trailing expression's value (Out[N])
	Varies  []int           // which of Shown have another text each time: what a command has measured
	Drawn   []int           // which of Shown are the last states of drawings, of which Options.Draw has heard
	Outside bool            // whether a command noted that it changes what is outside of the session
	Err     error           // *CheckError, *PanicError, ErrInterrupted, a shown error value, or a command's error
	Elapsed time.Duration   // from the start of the check to the end of the run
}

// ErrInterrupted is the Result.Err of a cell that was stopped by the cancellation of its context.
var ErrInterrupted = supervise.ErrInterrupted

// The complaints about a cell, and their places.
type (
	// A CheckError says why a cell was refused before any of it ran. The session has not changed.
	CheckError = compile.CheckError
	// A Diag is one complaint about a place in the cell, or in a file that it imports.
	Diag = compile.Diag
)

// A PanicError is a panic in the user's code. Its frames are the user's only.
type PanicError struct {
	Value  any
	Frames []Frame  // innermost first
	Diag   *Diag    // the place in the newest cell, when it is known
	Stack  []string // the whole stack, for %tb

	text string // the text of Value
}

// A Frame is one call of the user's code.
type Frame struct {
	Cell, Line, Col int
	Func            string
	File            string // of an imported package; Cell is 0
}

// Place names the line of the call: In[3]:2, or util/util.go:12.
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
	Type  string // as Go writes it, with the names of cells
	Cell  int    // number of the cell that declared it last
	Value any    // for a var: its current value
}

// A Cell is an entry of the history.
type Cell struct {
	N      int
	Source string
	Err    bool
}

// A Session is a running notebook: its variables, its history, its interpreter.
type Session struct {
	opts     Options
	past     history
	streams  *library.Streams  // the output of cells
	runner   *supervise.Runner // runs units
	random   *tensor.RNG       // for tensor.Randn and the like
	device   device.Choice     // the default device of cells
	finite   tensor.Guard      // stops evaluations of cells that make a NaN or an infinity
	precise  tensor.Precision  // of products in cells
	flight   device.Flight     // the evaluations of cells that devices have not done yet
	asleep   sleepGuard        // of the cells of a script
	program  *programRun       // nil unless RunProgram made the session
	modules  *modules.Set      // the modules that its code may import
	together Together          // who runs cells together with this session, or nil
	heard    heard             // what the cell that runs has put out, for them
	began    string            // the folder of its first cell
	before   string            // the folder before the last Chdir, or ""
	aliases  map[string]string // see Aliases

	drawings drawings        // of the cell that runs
	told     map[string]bool // kinds of notices that were given; see once

	// A reset makes the rest anew.
	interp   *yaegi.Interp
	main     atomic.Uintptr // the goroutine that runs a command's statements, by package goroutine
	rt       *rt.Runtime
	library  *library.Library   // the packages that cells import
	compiler *compile.Compiler  // the declarations of cells and their meaning
	packages *program.Packages  // the user's own packages
	places   *places            // the places of code
	outs     outs               // the results of cells
	format   *display.Formatter // formats values
	given    context.Context    // what the session gave the variable ctx last

	// busy is held while a cell runs, and while completion or a hint reads the session from another
	// goroutine.
	busy sync.Mutex
}
