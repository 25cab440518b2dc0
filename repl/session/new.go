package session

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"io"
	"log"
	"math"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/made"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
	"github.com/mcs-notebook/mcs/stdlib"

	"golang.org/x/tools/go/types/typeutil"
)

// ErrInterrupted is the Result.Err of a cell that was stopped by the cancellation of its context.
var ErrInterrupted = errors.New("interrupted")

// stackHeadroom is how deep a goroutine's stack may grow before the process ends; the watchdog stops a cell
// long before that.
const stackHeadroom = min(2<<30, math.MaxInt)

// New starts a session.
func New(o Options) (*Session, error) {
	debug.SetMaxStack(stackHeadroom)
	if debug.SetMemoryLimit(-1) == math.MaxInt64 { // collect before the watchdog takes garbage for too much
		debug.SetMemoryLimit(int64(min(memoryLimit(), math.MaxInt64)))
	}
	s := &Session{state{opts: o, killed: make(chan struct{}, 1), random: tensor.NewRNG(0)}}
	s.out, s.errOut = newStreams(o)
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	return s, nil
}

// start makes the state of an empty session.
func (s *Session) start() error {
	s.world = world.New()
	s.logger = log.New(s.errOut, "", log.LstdFlags)
	reflected := made.New(made.Session{Type: s.typeOfKey, Key: s.typeKey, Name: goName, Path: programPath, Invoke: func(f reflect.Type, key int, name string, recv reflect.Value, args []reflect.Value) []reflect.Value {
		return s.rt.InvokeFor(f, key, name, recv, args)
	}})
	s.rt = rt.New(rt.Types{Name: s.nameOf, Base: s.baseOf, Implements: s.implements, Satisfies: s.satisfies, Made: reflected.Of, Find: reflected.Find})
	var err error
	if s.interp, err = yaegi.New(s.rt.Trace); err != nil {
		return err
	}
	s.fset = s.interp.FileSet()
	s.locals = newLocals()
	s.importer = importer{stdlib.Importer(s.fset), s.locals}
	s.sizes = types.SizesFor("gc", runtime.GOARCH)
	s.imported, s.used, s.aliases = map[string]bool{}, map[string]bool{}, map[string]string{}
	s.typeNames = map[*types.TypeName]string{}
	s.instances = map[types.Object][]*instance{}
	s.typeKeys, s.keyTypes = new(typeutil.Map), nil
	s.dispatchers = map[dispatchKey]string{}
	s.lineages = map[string][]*lineage{}
	s.marks, s.slot = nil, 0
	s.outs, s.lastOut = map[int]*out{}, 0
	s.sources = &sources{s: s, loaded: map[string]*sourcePackage{}}
	s.rt.MaxAlloc = int(min(memoryLimit(), math.MaxInt))
	s.rt.Full = s.guard.full
	s.rt.Crashed = s.crashed
	s.rt.Partial = partial
	s.format = &display.Formatter{Unwrap: s.rt.Unwrap, Method: s.callMethod, Dynamic: s.typeIn, Qualifier: world.Qualifier, Recovered: s.rt.Recovered}
	return s.prelude()
}

// prelude declares the variables that lowered code shares with package rt, and ctx.
func (s *Session) prelude() error {
	if err := s.interp.Use("mcs/rt", "rt", s.rtSymbols()); err != nil {
		return err
	}
	if err := s.use("context"); err != nil {
		return err
	}
	const text = `package mcs
import __rt "mcs/rt"
import p__context "context"
var __stop bool
var ctx p__context.Context
var %[1]s, %[2]s int
func init() { __rt.Var("__stop", &__stop); __rt.Var("ctx", &ctx); __rt.Var("%[1]s", &%[1]s); __rt.Var("%[2]s", &%[2]s) }
`
	s.slots = map[int]bool{lower.CellSlot: true, lower.LiteralSlot: true}
	file, err := s.parse(0, 1, 1, "", fmt.Sprintf(text, lower.MarkVar(lower.CellSlot), lower.MarkVar(lower.LiteralSlot)), "")
	if err != nil {
		return err
	}
	p, err := s.interp.Compile(file)
	if err != nil {
		return err
	}
	if err := s.interp.Run(p); err != nil {
		return err
	}
	s.alias("context")
	s.imported["context"] = true
	stop, ok := s.rt.Variable("__stop").Addr().Interface().(*bool)
	if !ok {
		return errors.New("the interpreter's variables are not where they should be")
	}
	s.rt.Attach(&rt.Shared{Stop: stop})
	pkg, err := s.importer.Import("context")
	if err != nil {
		return err
	}
	t := pkg.Scope().Lookup("Context").Type()
	s.world.Version["ctx"] = 1
	s.world.Names["ctx"] = &world.Entity{Name: "ctx", Internal: "ctx", Kind: world.Var, Obj: types.NewVar(token.NoPos, types.NewPackage(world.PkgPath, world.PkgPath), "ctx", t), Kept: true}
	return nil
}

// Close ends the session. What still runs is told to stop.
func (s *Session) Close() error {
	s.rt.InterruptAll(errors.New("the session has ended"))
	if s.busy.TryLock() { // else a cell still runs
		if s.checks != nil {
			close(s.checks)
			s.checks = nil
		}
		s.busy.Unlock()
	}
	s.out.close()
	s.errOut.close()
	return nil
}

// Reset forgets all that cells have declared. The numbers of cells go on, and so does the history.
func (s *Session) Reset() {
	s.rt.InterruptOthers(errors.New("the session was reset"))
	s.generation++
	if err := s.start(); err != nil {
		panic(err) // it has worked in New
	}
}

// Next is the number of the next cell.
func (s *Session) Next() int { return s.n + 1 }

// Stdout is where cells print.
func (s *Session) Stdout() io.Writer { return s.out }

// Dir is the folder that relative paths mean; empty for the process's own.
func (s *Session) Dir() string { return s.opts.Dir }

// History returns the cells so far, the oldest first.
func (s *Session) History() []Cell { return append([]Cell(nil), s.history...) }

// LastPanic is the newest panic of a cell, or nil.
func (s *Session) LastPanic() *PanicError { return s.lastPanic }

// source is the text of a cell or of a package's file.
func (s *Session) source(n int) string {
	if f := s.locals.file(n); f != nil {
		return f.text
	}
	for i := len(s.history) - 1; i >= 0; i-- {
		if s.history[i].N == n {
			return s.history[i].Source
		}
	}
	return ""
}

// progress gives a context the sink of progress events.
func (s *Session) progress(ctx context.Context) context.Context {
	if s.opts.Progress == nil {
		return ctx
	}
	return progress.With(ctx, func(e progress.Event) { s.opts.Progress(e.Task, e.Done, e.Total, e.Note) })
}

// settings is ctx with the session's own generator of random tensors and default device.
func (s *Session) settings(ctx context.Context) context.Context {
	return device.WithChoice(tensor.WithRNG(ctx, s.random), &s.device)
}

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

// setContext gives the variable ctx its value.
func (s *Session) setContext(ctx context.Context) {
	if v := s.rt.Variable("ctx"); v.IsValid() {
		v.Set(reflect.ValueOf(&ctx).Elem())
	}
}
