package session

import (
	"go/token"
	"sync"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/library"
	"github.com/mcs-notebook/mcs/repl/session/internal/program"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// state is everything behind a Session.
type state struct {
	opts    Options
	streams *library.Streams // where cells print
	library *library.Library

	n         int // the newest cell
	history   []Cell
	lastPanic *PanicError
	command   *compile.Unit        // the command line that runs
	lines     map[token.Pos]string // what the lines of marks are called
	// generation counts the changes that commands make, after which the rest of a cell is checked again.
	generation int
	killed     chan struct{}
	random     *tensor.RNG   // behind tensor.Randn and the like
	device     device.Choice // the default of the cells
	// pending is the run that an interrupted cell has left behind in compiled code.
	pending <-chan struct{}

	compiler *compile.Compiler
	interp   *yaegi.Interp
	rt       *rt.Runtime
	packages *program.Packages
	format   *display.Formatter
	outs     outs

	// busy is held while a cell runs, and while completion or a hint looks at the session from another
	// goroutine.
	busy  sync.Mutex
	guard guard
	// workers check and run cells.
	workers workers
	// halting is held while the interpreter is halted: code that begins then would be dropped.
	halting sync.Mutex

	program *programRun // if the session was made to run one
}
