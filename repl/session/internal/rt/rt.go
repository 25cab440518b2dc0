// Package rt is the compiled side of a lowered cell: lowered code calls it for everything that the
// interpreter cannot do correctly. Its name in lowered code is __rt; every exported method of [Runtime] is
// one of its functions there.
//
// Interruption is cooperative. Once a cell has to stop, all code calls [Runtime.Stop] in each turn of a
// loop, at the start of each function, and between the statements of a cell. Stop panics with [Stopped] in
// code that has to stop. So an interrupted cell unwinds like any other panic: its deferred functions run,
// and earlier closures stay valid. (The interpreter's own way to stop a run makes all earlier closures do
// nothing.)
//
// Lowered code reads the stop flag and writes the position marks without synchronisation, because a call
// or a lock for each statement would cost more than the statement. Both are single words. A flag may be
// seen a moment later. A mark may be another goroutine's, and then the place of a panic is found from the
// other marks.
//
// Reading order: rt.go (state), cell.go (running, stopping), defer.go (defer, panic, recover), chans.go
// (blocking operations), box.go (values in interfaces), wrap.go (compiled interfaces), assert.go,
// values.go.
package rt

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/internal/goroutine"
)

// Stopped is the panic value that unwinds a cell. It is never recovered by a cell's own recover.
type Stopped struct{ Cause error }

func (s Stopped) Error() string { return s.Cause.Error() }

// Guard errors: the causes with which a watchdog stops a cell.
var (
	ErrStack  = errors.New("stack limit reached: endless recursion?")
	ErrMemory = errors.New("memory limit reached")
)

// Shared are the interpreter's variables that both sides use.
type Shared struct {
	Stop *bool         // tested by lowered code between the statements of a cell
	Look func(on bool) // has all other code call [Runtime.Stop] in each turn of a loop and at each function's start
}

// stop has code look whether it has to stop, or lets it run on.
func (s *Shared) stop(on bool) {
	if *s.Stop != on {
		s.set(on)
		s.Look(on)
	}
}

// set sets the flag, hidden from the race detector: the interpreter knows no atomic read. A bool is written
// whole, and code that misses it once reads it again at its next statement.
//
//go:norace
func (s *Shared) set(on bool) { *s.Stop = on }

// A Runtime serves one session.
type Runtime struct {
	shared *Shared
	// Crashed is called for a panic in a goroutine that a cell started; where is the place of the go
	// statement.
	Crashed func(where int, o Outcome)

	// Partial says whether an error means that the call was interrupted and returned the results that it
	// had by then.
	Partial func(err error) bool

	// Waits is called by a goroutine that begins to wait for others, and when it has done so; nil: nobody
	// asks.
	Waits func(on bool)

	stopping atomic.Bool // copy of *shared.Stop, for compiled code

	mu        sync.Mutex
	run       *Run                 // that was begun last and has not ended
	woken     chan struct{}        // closed, and replaced, by each interrupt: wakes blocked goroutines
	made      int                  // cells so far
	started   uint64               // goroutines so far that cells have started
	going     map[uint64]bool      // those that have not ended, by their number among these
	nobody    *Cell                // of goroutines that nothing is known about
	parked    chan struct{}        // closed when goroutines that Park stopped may continue; nil: no goroutine is stopped
	cells     map[uint64]*Cell     // goroutine -> the cell that it belongs to
	unwinding map[uint64][]*Defers // goroutine -> the activations that make their deferred calls, innermost last
	traces    map[uint64]*trace    // goroutine -> the panic that is under way
	vars      map[string]reflect.Value
	initial   map[string]reflect.Value // first values of variables that are not declared yet
	types     Types
	tables    sync.RWMutex // guards methods and the growth of numbered; taken last
	methods   map[methodID]reflect.Value
	numbered  atomic.Pointer[[]*Type] // by their numbers
	madeTypes sync.Map                // reflect.Type of a value in an interface -> *Type, nil for one of compiled code
	renewed   atomic.Bool             // types were declared again
	shown     []reflect.Value
	loop      func(n int)
	asking    func(more func() bool)
	MaxAlloc  int // bytes that one make may take
	// Abandon has the interpreter drop the calls of a cell for a cause. It is called in goroutine g of the
	// cell, which is too deep to unwind, and returns when the interpreter is halted; nil: all calls unwind.
	Abandon func(c *Cell, g uint64, cause error)
	// Grace calls late when a deferred call of the cell with this name, which was told to stop, has had the
	// time that it has, unless off is called before; nil: it may take for ever.
	Grace func(cell string, late func()) (off func())
	// Full reports whether code of cells has used up its memory; nil: it never has.
	Full func() bool
}

// New makes the runtime of a session.
func New(t Types) *Runtime {
	return &Runtime{
		types:     t,
		woken:     make(chan struct{}),
		nobody:    &Cell{stopped: make(chan struct{})},
		cells:     map[uint64]*Cell{},
		going:     map[uint64]bool{},
		unwinding: map[uint64][]*Defers{},
		traces:    map[uint64]*trace{},
		vars:      map[string]reflect.Value{},
		initial:   map[string]reflect.Value{},
		methods:   map[methodID]reflect.Value{},
		MaxAlloc:  int(min(int64(64<<30), math.MaxInt)),
	}
}

// Attach hands over the interpreter's variables.
func (r *Runtime) Attach(s *Shared) { r.shared = s }

// Stop is called by lowered code that has found the stop flag set. It returns if another cell has to stop,
// if the goroutine is making its deferred calls already, or if its calls are dropped.
func (r *Runtime) Stop() { r.stop() }

// stop is Stop. It says whether the calls of the goroutine are dropped: then nothing is worth waiting for.
func (r *Runtime) stop() (dropped bool) {
	for {
		parked, stopped, cause := r.cause()
		if cause != nil {
			r.unwind(cause)
			return true
		}
		if parked == nil {
			return r.drops()
		}
		select {
		case <-parked:
		case <-stopped:
		}
	}
}

// The depths of stacks in bytes. Where the interpreter itself makes a call, a panic that passes through it is
// recovered and made anew, and each looks through all before it: that takes as much stack again, and time
// with the square of the calls. So the calls of a deep stack are dropped.
const (
	deepStack = 256 << 10
	// MaxStack is the depth at which a cell is stopped.
	MaxStack uintptr = 64 << 20
)

// unwind ends the calls of this goroutine, whose cell was told to stop. It returns where they are dropped at
// the next step instead.
func (r *Runtime) unwind(cause error) {
	if r.Abandon == nil || goroutine.Depth() < deepStack {
		panic(Stopped{cause})
	}
	r.abandon(cause)
}

// Deep is called by a function whose stack is deeper than [MaxStack]. When it returns, the interpreter is
// halted.
func (r *Runtime) Deep() { r.abandon(ErrStack) }

func (r *Runtime) abandon(cause error) {
	r.Abandon(r.here(), goroutine.Number(), cause)
}

// stops says whether a goroutine is making its deferred calls because it was told to stop, and the one that
// runs has time left. The caller holds mu.
func (r *Runtime) stops(g uint64) bool {
	for _, d := range slices.Backward(r.unwinding[g]) {
		if _, stopped := d.value.(Stopped); stopped {
			return d.late == nil || !*d.late
		}
	}
	return false
}

// wake is the channel that is closed by the next interrupt. Get it, then call Stop, then block.
func (r *Runtime) wake() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.woken
}

// waits tells that the calling goroutine waits for others, until it calls the function that it gets.
func (r *Runtime) waits() (over func()) {
	if r.Waits == nil {
		return func() {}
	}
	r.Waits(true)
	return func() { r.Waits(false) }
}

// Benchmark is testing.Benchmark, which calls f in another goroutine: a panic in f becomes a panic of the
// caller.
func (r *Runtime) Benchmark(f func(b *testing.B)) testing.BenchmarkResult {
	var thrown any
	var crash trace
	result := testing.Benchmark(func(b *testing.B) {
		defer func() {
			if thrown = recover(); thrown != nil {
				crash = r.takeTrace()
				b.FailNow()
			}
		}()
		f(b)
	})
	if thrown != nil {
		g := goroutine.Number()
		r.mu.Lock()
		r.traces[g] = &crash
		r.mu.Unlock()
		panic(thrown)
	}
	return result
}

// A trace is the interpreter's text about a panic that passes through interpreted functions.
type trace struct {
	lines []string
	stack []byte // of the goroutine when the innermost of them was left
}

// Trace takes one line that the interpreter writes while a panic passes through an interpreted function.
func (r *Runtime) Trace(line string) {
	g := goroutine.Number()
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.traces[g]
	if t == nil {
		t = &trace{stack: debug.Stack()}
		r.traces[g] = t
	}
	const enough = 200 // endless recursion has a million
	if len(t.lines) < enough {
		t.lines = append(t.lines, line)
	}
}

// takeTrace returns the trace of this goroutine's panic and forgets it.
func (r *Runtime) takeTrace() trace {
	g := goroutine.Number()
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.traces[g]
	delete(r.traces, g)
	delete(r.unwinding, g)
	if t == nil {
		return trace{stack: debug.Stack()}
	}
	return *t
}

// Grown stops the cell if there is no memory left.
func (r *Runtime) Grown() {
	if r.Full != nil && r.Full() {
		if c := r.CellOf(goroutine.Number()); c != nil {
			r.Interrupt(c, ErrMemory)
		}
		r.Stop()
	}
}

// CheckMake returns n, the length of a slice whose elements have size bytes. It panics if the machine
// cannot hold the slice: a single huge make would end the process and cannot be recovered.
func (r *Runtime) CheckMake(n, size int) int {
	if n < 0 {
		panic(RuntimeError("runtime error: makeslice: len out of range"))
	}
	if size > 0 && n > r.MaxAlloc/size {
		panic(fmt.Errorf("make: %d elements of %d bytes are more than cells may take", n, size))
	}
	return n
}

// NilUsed panics as the use of a nil interface or pointer does.
func (r *Runtime) NilUsed() {
	panic(RuntimeError("runtime error: invalid memory address or nil pointer dereference"))
}

// Rune decodes the rune of s at byte i, and says how many bytes it takes.
func (r *Runtime) Rune(s string, i int) (c rune, n int) { return utf8.DecodeRuneInString(s[i:]) }

// Min is the predeclared min.
func Min[T cmp.Ordered](x, y T) T { return min(x, y) }

// Max is the predeclared max.
func Max[T cmp.Ordered](x, y T) T { return max(x, y) }

// ShiftCount returns n, the signed count of a shift.
func (r *Runtime) ShiftCount(n int) uint {
	if n < 0 {
		panic(RuntimeError("runtime error: negative shift amount"))
	}
	return uint(n)
}

// Forward is called by lowered code when a function was declared again. Newest points to the variable that
// earlier declarations call, f is the new function, and stale points to the flag of the declaration
// before. The types of the two functions may be declarations of the same Go types.
func (r *Runtime) Forward(newest, f any, stale *bool) {
	dst, fn := reflect.ValueOf(newest).Elem(), reflect.ValueOf(f)
	dst.Set(reflect.MakeFunc(dst.Type(), func(args []reflect.Value) []reflect.Value { return forwarded(fn, args, dst.Type()) }))
	*stale = true
}

// forwarded calls f for a function of type t. It does not count as a call to [Runtime.RecoverCalled], which
// knows it by name.
func forwarded(f reflect.Value, args []reflect.Value, t reflect.Type) (results []reflect.Value) {
	as := func(v reflect.Value, t reflect.Type) reflect.Value {
		if v.Type() == t {
			return v
		}
		moved := reflect.New(t).Elem()
		Move(moved, v)
		return moved
	}
	for i := range args {
		args[i] = as(args[i], f.Type().In(i))
	}
	results = Call(f, args)
	for i := range results {
		results[i] = as(results[i], t.Out(i))
	}
	return results
}

// Call calls a function, of which the last argument is the list of a variadic one.
func Call(f reflect.Value, args []reflect.Value) []reflect.Value {
	if f.Type().IsVariadic() {
		return f.CallSlice(args)
	}
	return f.Call(args)
}

// Loop is called by lowered code with the compiled form of a statement that will be run often.
func (r *Runtime) Loop(f func(n int)) { r.loop = f }

// LoopAsking is Loop for a form that asks before each run whether to continue.
func (r *Runtime) LoopAsking(f func(more func() bool)) { r.asking = f }

// TakeLoops returns the functions that Loop and LoopAsking received, and forgets them.
func (r *Runtime) TakeLoops() (loop func(n int), asking func(more func() bool)) {
	loop, asking, r.loop, r.asking = r.loop, r.asking, nil, nil
	return loop, asking
}
