package session

import (
	"go/ast"
	"go/token"
	"go/types"
	"log"
	"sync"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"

	"golang.org/x/tools/go/types/typeutil"
)

// state is everything behind a Session.
type state struct {
	opts        Options
	out, errOut *stream
	logger      *log.Logger // what package log's functions speak for

	n         int // the newest cell
	history   []Cell
	lastPanic *PanicError
	// generation counts the changes that commands make, after which the rest of a cell is checked again.
	generation int
	killed     chan struct{}
	random     *tensor.RNG   // behind tensor.Randn and the like
	device     device.Choice // the default of the cells
	// pending is the run that an interrupted cell has left behind in compiled code.
	pending <-chan struct{}

	world    *world.World
	interp   *yaegi.Interp
	rt       *rt.Runtime
	fset     *token.FileSet
	importer types.Importer
	locals   *locals
	sizes    types.Sizes
	format   *display.Formatter
	sources  *sources

	imported  map[string]bool   // paths that the interpreter has an import of
	used      map[string]bool   // paths whose symbols it has
	aliases   map[string]string // its name of a package -> path
	typeNames map[*types.TypeName]string
	instances map[types.Object][]*instance
	keyMu     sync.RWMutex  // guards typeKeys and keyTypes: goroutines of cells ask for types while others are added
	typeKeys  *typeutil.Map // type -> number
	keyTypes  []types.Type
	// dispatchers are the variables with the functions that call interface methods.
	dispatchers map[dispatchKey]string
	lineages    map[string][]*lineage // of functions
	marks       []lower.Mark
	slot        int          // of the newest function
	slots       map[int]bool // those whose variables the interpreter has
	outs        map[int]*out
	lastOut     int

	// busy is held while a cell runs, and while completion or a hint looks at the session from another
	// goroutine.
	busy  sync.Mutex
	guard guard
	// checks takes what the goroutine has to do that checks cells; nil: there is none yet.
	checks chan<- func()
	// halting is held while the interpreter is halted: code that begins then would be dropped.
	halting sync.Mutex

	program *program // if the session was made to run one

	trace func(*ast.File) // for tests: sees what the interpreter is given
}
