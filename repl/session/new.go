package session

import (
	"cmp"
	"errors"
	"fmt"
	"go/types"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/library"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/made"
	"github.com/mcs-notebook/mcs/repl/session/internal/modules"
	"github.com/mcs-notebook/mcs/repl/session/internal/program"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/supervise"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
	"github.com/mcs-notebook/mcs/stdlib"
)

// stackHeadroom is the depth in bytes at which Go ends the process because of one goroutine's stack. A
// cell is stopped long before.
const stackHeadroom = min(2<<30, math.MaxInt)

// New starts a session.
func New(o Options) (*Session, error) { return open(o, nil) }

// open starts a session for cells, or for a program.
func open(o Options, p *programRun) (*Session, error) {
	limits := o.limits.Or(supervise.MachineLimits())
	if o.Memory > 0 {
		limits = o.limits.Or(supervise.LimitsOf(o.Memory))
	}
	debug.SetMaxStack(stackHeadroom)
	if o.Source != "" {
		o.Source = home(o) // it stays where it is if the session's folder changes
	}
	s := &Session{opts: o, began: home(Options{Dir: o.Dir}), random: tensor.NewRNG(0), program: p}
	s.runner = supervise.New(host{s}, limits)
	s.modules = modules.NewSet(func(text string) { s.Tell("%s", text) })
	if p == nil {
		o.Stdout, o.Stderr = s.listened(o.Stdout), s.listened(o.Stderr)
	}
	s.streams = library.NewStreams(o.Stdin, o.Stdout, o.Stderr, p != nil)
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	if p != nil {
		s.streams.In.Begin() // it is one cell
	}
	return s, nil
}

// start makes the state of an empty session.
func (s *Session) start() error {
	alone := whyPlain()
	numbers := new(compile.Types)
	reflected := made.New(made.Session{Type: numbers.Of, Key: numbers.NewestKey, Name: compile.GoName, Path: compile.ProgramPath, Invoke: func(f reflect.Type, key int, name string, recv reflect.Value, args []reflect.Value) []reflect.Value {
		return s.rt.InvokeFor(f, key, name, recv, args)
	}})
	satisfies := func(t reflect.Type, iface int) bool {
		i, ok := numbers.Of(iface).Underlying().(*types.Interface)
		return ok && library.Satisfies(t, i, compile.GoName)
	}
	known := rt.Types{Name: numbers.Name, Base: numbers.Base, Implements: numbers.Implement, Satisfies: satisfies, Made: reflected.Of, Find: reflected.Find}
	if alone != nil {
		known.Made, known.Wrapper = nil, wrapper
	}
	s.rt = rt.New(known)
	var err error
	if s.interp, err = yaegi.New(yaegi.Hooks{Plain: alone != nil, Trace: s.rt.Trace, Look: s.rt.Stop, Deep: s.rt.Deep, MaxStack: rt.MaxStack, IsMark: lower.IsMark, IsTemporary: lower.IsTemporary, Mark: s.rt.Word, Grown: s.rt.Grown}); err != nil {
		return err
	}
	interp := s.interp
	s.rt.Waits = func(on bool) {
		if t := interp.Here(); t != nil {
			t.Wait(on)
		}
	}
	s.outs = outs{list: map[int]*out{}}
	s.library = library.New(s.rt, s.streams, library.Limits{Memory: s.runner.Memory, Exit: s.exit, Whole: s.program != nil, Confined: s.opts.Confined})
	s.compiler = compile.New(compile.Config{
		Interp: s.interp, Types: numbers, Reflect: s.rt.Reflect, Library: s.library, Outs: &s.outs, Advice: s.helper(), Text: s.text,
		Params: s.opts.Params, Each: s.opts.Each, Once: s.program != nil, Plain: alone != nil, Confined: s.opts.Confined,
	})
	s.packages = program.New(s.compiler, host{s}, s.modules, home(s.opts))
	s.compiler.Loader = s.packages
	s.places = &places{compiler: s.compiler, rt: s.rt, past: &s.past, followed: followed{interp: s.interp}}
	s.runner.Attach(s.interp, s.rt)
	s.rt.Crashed = s.crashed
	s.rt.Partial = partial
	s.format = &display.Formatter{Unwrap: s.rt.Unwrap, Method: s.callMethod, Dynamic: s.typeIn, Qualifier: world.Qualifier, Recovered: s.rt.Recovered}
	if alone != nil && s.once("plain") {
		s.Tell("this Go is not known well (%v): loops are slower, and compiled code does not see the types of cells", alone)
	}
	return s.begin()
}

// whyPlain says why the interpreter has to work alone, without help that leans on how it and Go keep their
// data, or nil. The environment can say so, for tests.
func whyPlain() error {
	if os.Getenv("MCS_PLAIN") != "" {
		return errors.New("MCS_PLAIN is set")
	}
	return cmp.Or(yaegi.Known(), made.Known())
}

// wrapper is the struct in the table of an interface's package that stands for the interface, or nil.
func wrapper(iface reflect.Type) reflect.Type {
	symbols, _ := stdlib.Symbols(iface.PkgPath())
	if v := symbols["_"+iface.Name()]; v.IsValid() {
		return v.Type().Elem()
	}
	return nil
}

// begin runs the prelude, which gives package rt the interpreter's variables.
func (s *Session) begin() error {
	if err := s.interp.Use("mcs/rt", "rt", s.library.Runtime()); err != nil {
		return err
	}
	p, err := s.compiler.Prelude()
	if err != nil {
		return err
	}
	if err := s.interp.Run(p); err != nil {
		return err
	}
	stop, ok := reflect.TypeAssert[*bool](s.rt.Variable(lower.StopVar).Addr())
	if !ok {
		return errors.New("the interpreter's variables are not where they should be")
	}
	s.rt.Attach(&rt.Shared{Stop: stop, Look: s.interp.Look})
	return nil
}

// Close ends the session and interrupts code that still runs.
func (s *Session) Close() error {
	s.rt.InterruptAll(errors.New("the session has ended"))
	if s.busy.TryLock() { // otherwise a cell still runs
		s.runner.Close()
		if c, ok := s.together.(io.Closer); ok {
			c.Close()
		}
		s.busy.Unlock()
	}
	s.streams.Close()
	return nil
}

// Reset forgets all declarations of cells. The history stays, and the numbers of cells go on.
func (s *Session) Reset() {
	s.rt.InterruptOthers(errors.New("the session was reset"))
	s.past.generation++
	if err := s.start(); err != nil {
		panic(err) // the same call succeeded in New
	}
}

// Next is the number of the next cell.
func (s *Session) Next() int { return s.past.n + 1 }

// Stdout is where cells print.
func (s *Session) Stdout() io.Writer { return s.streams.Out }

// Stderr is where cells and the session write what is beside their output.
func (s *Session) Stderr() io.Writer { return s.streams.Err }

// Dir is the folder that relative paths start from. An empty string is the process's folder.
func (s *Session) Dir() string { return s.opts.Dir }

// Options are those of the session; Dir is the folder as it is now.
func (s *Session) Options() Options { return s.opts }

// Random is the generator of the session's random tensors.
func (s *Session) Random() *tensor.RNG { return s.random }

// Began is the folder in which the session began.
func (s *Session) Began() string { return s.began }

// History returns the cells so far, the oldest first.
func (s *Session) History() []Cell { return append([]Cell(nil), s.past.cells...) }

// Since returns a cell and those that began after it, in the manner of History.
func (s *Session) Since(n int) []Cell {
	for i, v := range slices.Backward(s.past.cells) {
		if v.N == n {
			return slices.Clone(s.past.cells[i:])
		}
	}
	return nil
}

// LastPanic is the newest panic of a cell, or nil.
func (s *Session) LastPanic() *PanicError { return s.past.lastPanic }

// text returns the text of a cell. If the number stands for a file of a package, it returns that file's
// text and its name.
func (s *Session) text(n int) (text, file string) {
	if text, file := s.packages.Text(n); file != "" {
		return text, file
	}
	return s.past.text(n), ""
}

// source is the text of a cell or of a package's file.
func (s *Session) source(n int) string {
	text, _ := s.text(n)
	return text
}

// home returns the folder that the imports of cells start from.
func home(o Options) string {
	dir := o.Source
	if dir == "" {
		dir = o.Dir
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	return abs
}

// Guard is the guard that stops an evaluation of the session's cells when it makes a NaN or an infinity.
func (s *Session) Guard() *tensor.Guard { return &s.finite }

// Kill ends a cell that was interrupted and does not stop. Its code is abandoned where it is, and its
// deferred functions do not run. Variables stay.
func (s *Session) Kill() { s.runner.Kill() }
