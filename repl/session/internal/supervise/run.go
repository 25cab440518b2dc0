// Package supervise runs compiled cells, and stops them: when a context is cancelled, when memory or
// stacks run out, or when the person insists.
//
// Code is stopped by the cell (an [rt.Cell]): the parts of the cell, which run one after the other, and
// the goroutines that they start, which may outlive the parts. A [Runner] has a worker run each part in
// one goroutine and waits for its end in another. To stop a cell it tells package rt to unwind the cell's
// code. Code that does not unwind within the grace period is abandoned by the interpreter. A call that is
// inside of compiled code then is left behind, and ends when it returns. A guard watches memory and stacks
// as long as any code of cells runs.
//
// The package knows programs, not cells: a [Host] turns their ends into errors. Reading order: run.go,
// worker.go, guard.go with limits.go and goroutines.go, deadlock.go (for whole programs).
package supervise

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// ErrInterrupted is the error of a cell that was stopped by the cancellation of its context.
var ErrInterrupted = errors.New("interrupted")

// A Runner runs the code of one session's cells.
type Runner struct {
	Limits
	host    Host
	code    *code // that runs begin in
	workers workers
	killed  chan struct{}
	// pending is the run that an interrupted cell has left behind in compiled code.
	pending <-chan struct{}
}

// A code is an interpreter and what it has compiled. A reset of the session gives its Runner another one. The
// goroutines of cells before, their guard and the run that the reset was a part of stay with the old one.
type code struct {
	*Limits
	host   Host
	interp *yaegi.Interp
	rt     *rt.Runtime
	guard  guard
	// finishing is how many deferred calls of stopped cells have time left.
	finishing atomic.Int32
	// halting is held while the interpreter is halted: code that begins then would be dropped.
	halting sync.Mutex
}

// A Host is the session whose cells a Runner runs.
type Host interface {
	// Cell returns the name of the running cell.
	Cell() string
	// Context returns ctx with the session's settings for code of cells.
	Context(ctx context.Context) context.Context
	// Begin is called before code runs, with its context.
	Begin(ctx context.Context)
	// Place says which line runs an operation of the engine.
	Place(op string) string
	// Here says which lines the calling goroutine has under way; it is empty if code is not followed.
	Here() string
	// Panicked returns the error of a cell that panicked, Stopped the error of a cell that was stopped for
	// another cause than the end of its context.
	Panicked(o rt.Outcome) error
	Stopped(cause error) error
	// Flush waits until all printed text has arrived.
	Flush()
	// Tell says something to the person.
	Tell(format string, args ...any)
}

// New makes the runner of a session.
func New(h Host, limits Limits) *Runner {
	return &Runner{Limits: limits, host: h, killed: make(chan struct{}, 1)}
}

// Attach makes the runner run the code of an interpreter from now on.
func (rn *Runner) Attach(in *yaegi.Interp, r *rt.Runtime) {
	rn.code = &code{Limits: &rn.Limits, host: rn.host, interp: in, rt: r}
	r.MaxAlloc = int(min(rn.Memory, math.MaxInt))
	r.Full, r.Abandon, r.Grace = rn.code.full, rn.code.abandon, rn.code.grace
}

// deepGrace is how long the calls of a deep stack may take to be dropped.
const deepGrace = 20 * time.Second

// Settle waits a little for a run that an earlier cell has left behind. A run that still goes on stops
// when it returns to interpreted code.
func (rn *Runner) Settle() {
	if rn.pending == nil {
		return
	}
	select {
	case <-rn.pending:
	case <-time.After(rn.Grace / 10):
		rn.host.Tell("an interrupted cell is still inside compiled code, which cannot be stopped; it ends when that returns")
	}
	rn.pending = nil
}

// Kill ends a cell that was interrupted and does not stop. Its code is abandoned where it is, and its
// deferred functions do not run. Variables stay.
func (rn *Runner) Kill() {
	select {
	case rn.killed <- struct{}{}:
	default: // it was said already
	}
}

// A running is in the context of a cell. All code that runs for the cell belongs to it.
type running struct {
	by     *Runner
	cell   *rt.Cell
	ctx    context.Context
	detach func() bool // from the context that stops it
}

type runningKey struct{}

// running is the cell of this session to which ctx belongs, or nil.
func (rn *Runner) running(ctx context.Context) *running {
	if r, ok := ctx.Value(runningKey{}).(*running); ok && r.by == rn {
		return r
	}
	return nil
}

// Running says whether ctx is the context of a running cell.
func (rn *Runner) Running(ctx context.Context) bool { return rn.running(ctx) != nil }

// Enter makes a cell that ctx interrupts, and returns the cell's context. After leave, the goroutines of
// the cell continue, even if ctx ends.
func (rn *Runner) Enter(ctx context.Context) (own context.Context, leave func()) {
	r := rn.enter(ctx)
	return r.ctx, r.leave
}

// enter makes a cell that ctx interrupts, with a context of its own, until leave is called. After that the
// goroutines of the cell continue, even if ctx ends.
func (rn *Runner) enter(ctx context.Context) *running {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &running{by: rn, detach: context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })}
	r.ctx = context.WithValue(rn.host.Context(own), runningKey{}, r)
	started, runtime := rn.host.Cell(), rn.code.rt
	// A goroutine cannot tell which of the marks are its own.
	place := func(op string) string {
		if lines := rn.host.Here(); lines != "" || op == "" {
			return lines
		}
		return started
	}
	within := func(ctx context.Context, f func()) { tensor.Within(profile.WithPlaces(ctx, place), f) }
	r.cell = runtime.NewCell(rt.Hooks{
		Name:   started,
		Around: func(f func()) { within(r.ctx, f) }, // evaluations of lazy tensors stop with the cell
		Fork: func() func(f func()) {
			ctx := tensor.Context() // of a command that measures the code, for example
			if rn.running(ctx) != r {
				ctx = r.ctx
			}
			return func(f func()) { within(ctx, f) }
		},
		GaveUp: func(p any) error {
			if _, ok := rt.Value(p).(*tensor.Error); !ok || r.ctx.Err() == nil {
				return nil
			}
			if cause := runtime.Cause(r.cell); cause != nil {
				return cause
			}
			return ErrInterrupted
		},
		OnStop: cancel,
	})
	return r
}

// leave lets the code that the cell has started go on when the context of the cell is cancelled.
func (r *running) leave() { r.detach() }

// Run runs a program and waits for its end. The program calls finish as its last statement; more says that
// more of the cell runs after it. The error is a [GivenUp] if nothing of the program ran.
func (rn *Runner) Run(ctx context.Context, p *yaegi.Program, more bool, finish func()) (quit bool, err error) {
	return rn.supervise(ctx, rt.Part{Body: true, More: more, Finish: finish}, func(c *code) error { return c.interp.Run(p) })
}

// Guard calls f as cells run: f is stopped like a cell, and a panic in it becomes an error.
func (rn *Runner) Guard(ctx context.Context, f func()) error {
	_, err := rn.supervise(ctx, rt.Part{}, func(c *code) error {
		c.rt.Run(f)
		return nil
	})
	return err
}

type aroundKey struct{}

// WithAround returns a context whose code runs inside of calls of around, which calls run. A command
// measures time so.
func WithAround(ctx context.Context, around func(run func())) context.Context {
	return context.WithValue(ctx, aroundKey{}, around)
}

// supervise calls run, which runs code by rt.Run, and stops it when ctx is cancelled or cells use up the
// machine. The code belongs to the cell that ctx belongs to.
func (rn *Runner) supervise(ctx context.Context, p rt.Part, run func(c *code) error) (quit bool, err error) {
	defer rn.host.Flush()
	c := rn.code
	r := rn.running(ctx)
	if r == nil {
		r = rn.enter(ctx)
		defer r.leave()
		ctx = r.ctx
	}
	placed := profile.WithPlaces(ctx, rn.host.Place)
	p.Around = func(f func()) { tensor.Within(placed, f) }
	if around, ok := ctx.Value(aroundKey{}).(func(run func())); ok {
		p.Around = func(f func()) { tensor.Within(placed, func() { around(f) }) }
	}
	rn.host.Begin(ctx)
	select {
	case <-rn.killed: // the code ended before it was killed
	default:
	}
	c.halting.Lock()
	n := c.rt.Begin(r.cell, p)
	c.halting.Unlock()
	c.watch()
	w := rn.workers.take()
	failed := make(chan error, 1)
	w <- func() { failed <- run(c) }
	select {
	case <-n.Ended():
		rn.workers.give(w)
		return c.outcome(ctx, n, r.cell)
	case err := <-failed: // the interpreter has given up before the code ran
		rn.workers.give(w)
		select {
		case <-n.Ended():
			return c.outcome(ctx, n, r.cell)
		default:
			c.rt.GiveUp(n)
			return false, &GivenUp{err}
		}
	case <-ctx.Done():
		c.rt.Interrupt(r.cell, ErrInterrupted)
	case <-r.cell.Stopped():
	}
	if close(w); !rn.stop(c, n, r.cell) {
		c.rt.GiveUp(n)
		rn.pending = n.Ended()
		return false, &LeftError{c.rt.Cause(r.cell)}
	}
	return c.outcome(ctx, n, r.cell)
}

// A GivenUp is the error of code that the interpreter rejected before any of it ran.
type GivenUp struct{ Cause error }

func (e *GivenUp) Error() string { return e.Cause.Error() }

// A LeftError is the error of code that was left behind: it still runs inside of compiled code.
type LeftError struct{ cause error }

func (e *LeftError) Error() string { return e.cause.Error() + ": compiled code is still running" }

// Unwrap returns the reason to stop the code.
func (e *LeftError) Unwrap() error { return e.cause }

// Finish makes the deferred calls of a cell that ended early.
func (rn *Runner) Finish(ctx context.Context) error {
	if !rn.running(ctx).cell.Waiting() {
		return nil
	}
	_, err := rn.supervise(ctx, rt.Part{Body: true}, func(c *code) error {
		c.rt.Run(func() {})
		return nil
	})
	return err
}

// stop waits for the end of a run that was told to stop, and returns whether it has ended. It leaves code
// that has not unwound within the grace period; deferred calls have times of their own, and a training that
// writes its checkpoint takes as long as it takes.
func (rn *Runner) stop(c *code, n *rt.Run, cell *rt.Cell) (ended bool) {
	unwound := time.Now()
	for dropped := false; !dropped; {
		wait := rn.Grace
		if c.rt.Dropped(cell) {
			wait = deepGrace
		}
		select {
		case <-n.Ended():
			return true
		case <-rn.killed:
			dropped = true
		case <-time.After(rn.Grace / 10):
			if saves() || c.finishing.Load() > 0 {
				unwound = time.Now()
			}
			if time.Since(unwound) > wait {
				return false
			}
		}
	}
	c.halted(cell, func() {
		select {
		case <-n.Ended():
			ended = true
		case <-time.After(rn.Grace / 10):
		}
	})
	return ended
}

// saves says whether a file is being written.
func saves() bool { return len(durable.Saving()) > 0 }

// grace is the time that each deferred call of a stopped cell has.
func (c *code) grace(cell string, late func()) (off func()) {
	ctx, off := context.WithCancel(context.Background())
	wait := c.Grace
	c.finishing.Add(1)
	go func() {
		defer c.finishing.Add(-1)
		for first := true; first || saves(); first = false {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
		c.host.Tell("a deferred function of %s has not ended within %v of the stop, and is stopped, too", cell, wait)
		late()
	}()
	return off
}

// outcome is how a run has ended. Code that ends when its context does may end before anybody here has seen
// that it was to be stopped.
func (c *code) outcome(ctx context.Context, n *rt.Run, cell *rt.Cell) (quit bool, err error) {
	if ctx.Err() != nil {
		c.rt.Interrupt(cell, ErrInterrupted)
	}
	o := n.Outcome()
	switch cause := c.rt.Cause(cell); {
	case cause != nil && tellsOfStop(o):
		return false, c.stopped(cause)
	case o.Panicked && o.Stop == nil:
		return false, c.host.Panicked(o)
	case o.Stop != nil:
		return false, c.stopped(o.Stop)
	case cause != nil:
		return false, c.stopped(cause)
	case o.Exited:
		return o.Quit, ErrExited
	}
	return o.Quit, nil
}

// tellsOfStop says whether the error that has ended a cell is that of a call which was interrupted with it.
func tellsOfStop(o rt.Outcome) bool {
	failed, ok := o.Value.(rt.Failed)
	interrupted := new(train.Interrupted)
	return ok && (errors.Is(failed.Err, context.Canceled) || errors.As(failed.Err, &interrupted))
}

// ErrExited is how code ends that calls runtime.Goexit.
var ErrExited = errors.New("runtime.Goexit was called")

// stopped is the error of a cell that was stopped.
func (c *code) stopped(cause error) error {
	if errors.Is(cause, ErrInterrupted) {
		return ErrInterrupted
	}
	return c.host.Stopped(cause)
}

// Close ends the idle goroutines.
func (rn *Runner) Close() { rn.workers.end() }
