package session

import (
	"context"
	"errors"
	"time"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// grace is how long an interrupted cell may take to end: compiled code that does not look at ctx cannot be
// stopped.
var grace = time.Second

// deepGrace is how long a stack of a million calls may take.
const deepGrace = 20 * time.Second

// settled waits a little for a run that an earlier cell has left behind, and then goes on beside it: it stops
// when it comes back to interpreted code.
func (s *Session) settled() {
	if s.pending == nil {
		return
	}
	select {
	case <-s.pending:
	case <-time.After(grace / 10):
		s.tell("an interrupted cell is still inside compiled code, which cannot be stopped; it ends when that returns")
	}
	s.pending = nil
}

// Kill makes a cell end that was interrupted and does not stop: its code is dropped where it is, and no
// deferred function of it runs any more. Variables stay.
func (s *Session) Kill() {
	select {
	case s.killed <- struct{}{}:
	default: // it was said already
	}
}

// A running is what the context of a cell carries: all that runs for the cell belongs to it.
type running struct {
	s    *Session
	cell *rt.Cell
	ctx  context.Context
}

type runningKey struct{}

// running is the cell of this session to which ctx belongs, or nil.
func (s *Session) running(ctx context.Context) *running {
	if r, ok := ctx.Value(runningKey{}).(*running); ok && r.s == s {
		return r
	}
	return nil
}

// enter makes a cell that ctx interrupts, with a context of its own, until leave is called. From then on what
// the cell has started goes on, whatever becomes of ctx.
func (s *Session) enter(ctx context.Context) (r *running, leave func()) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	r = &running{s: s}
	r.ctx = context.WithValue(s.settings(s.progress(own)), runningKey{}, r)
	started := world.CellName(s.n)
	// A goroutine cannot tell which of the marks are its own.
	within := func(ctx context.Context, f func()) {
		tensor.Within(profile.WithPlaces(ctx, func(string) string { return started }), f)
	}
	r.cell = s.rt.NewCell(rt.Hooks{
		Around: func(f func()) { within(r.ctx, f) }, // evaluations of lazy tensors stop with the cell
		Fork: func() func(f func()) {
			ctx := tensor.Context() // of what measures the code, for example
			if s.running(ctx) != r {
				ctx = r.ctx
			}
			return func(f func()) { within(ctx, f) }
		},
		GaveUp: func(p any) error {
			if _, ok := rt.Value(p).(*tensor.Error); !ok || r.ctx.Err() == nil {
				return nil
			}
			if cause := s.rt.Cause(r.cell); cause != nil {
				return cause
			}
			return ErrInterrupted
		},
		OnStop: cancel,
	})
	return r, func() { detach() }
}

// execute runs a unit's program and waits for its end. Finish is called like the last statement of it; more
// says that the cell has more to run after it.
func (s *Session) execute(ctx context.Context, u *compile.Unit, more bool, finish func()) (quit bool, err error) {
	if !u.Runs {
		if err := s.interp.Run(u.Program); err != nil {
			return false, s.compiler.NotRun(u, err)
		}
		return false, nil
	}
	quit, err = s.supervise(ctx, rt.Part{Body: true, More: more, Finish: finish}, func() error { return s.interp.Run(u.Program) })
	if g := new(givenUp); errors.As(err, &g) {
		err = s.compiler.NotRun(u, g.cause)
	}
	return quit, err
}

// guarded calls f as cells run: it is stopped as they are, and a panic in it is an error.
func (s *Session) guarded(ctx context.Context, f func()) error {
	_, err := s.supervise(ctx, rt.Part{}, func() error {
		s.rt.Run(f)
		return nil
	})
	return err
}

// supervise runs code that calls rt.Run, and stops it when ctx is cancelled or cells use up the machine. The
// code belongs to the cell that ctx belongs to.
func (s *Session) supervise(ctx context.Context, p rt.Part, run func() error) (quit bool, err error) {
	defer s.streams.Flush()
	r := s.running(ctx)
	if r == nil {
		var leave func()
		r, leave = s.enter(ctx)
		defer leave()
		ctx = r.ctx
	}
	placed := profile.WithPlaces(ctx, s.place)
	p.Around = func(f func()) { tensor.Within(placed, f) }
	s.setContext(ctx)
	for _, slot := range []int{lower.CellSlot, lower.LiteralSlot, lower.EngineSlot} {
		s.rt.Variable(lower.MarkVar(slot)).SetInt(0)
	}
	select {
	case <-s.killed: // what ran has ended before it was killed
	default:
	}
	s.halting.Lock()
	n := s.rt.Begin(r.cell, p)
	s.halting.Unlock()
	s.guard.watch(s)
	w := s.workers.take()
	failed := make(chan error, 1)
	w <- func() { failed <- run() }
	select {
	case <-n.Ended():
		s.workers.give(w)
		return s.outcome(n, r.cell)
	case err := <-failed: // the interpreter has given up before the code ran
		s.workers.give(w)
		select {
		case <-n.Ended():
			return s.outcome(n, r.cell)
		default:
			s.rt.Abandon(n)
			return false, &givenUp{err}
		}
	case <-ctx.Done():
		s.rt.Interrupt(r.cell, ErrInterrupted)
	case <-r.cell.Stopped():
	}
	if close(w); !s.stop(n, s.rt.Cause(r.cell)) {
		s.rt.Abandon(n)
		s.pending = n.Ended()
		return false, &leftError{s.rt.Cause(r.cell)}
	}
	return s.outcome(n, r.cell)
}

// A givenUp is the error of code that the interpreter has given up before any of it ran.
type givenUp struct{ cause error }

func (e *givenUp) Error() string { return e.cause.Error() }

// A leftError is that of code that was left behind: it goes on inside of compiled code.
type leftError struct{ cause error }

func (e *leftError) Error() string { return e.cause.Error() + ": compiled code is still running" }

// Unwrap is why the code was to stop.
func (e *leftError) Unwrap() error { return e.cause }

// flush makes the deferred calls of a cell that has ended early.
func (s *Session) flush(ctx context.Context) error {
	if !s.running(ctx).cell.Waiting() {
		return nil
	}
	_, err := s.supervise(ctx, rt.Part{Body: true}, func() error {
		s.rt.Run(func() {})
		return nil
	})
	return err
}

// stop waits for the end of a run that was told to stop. It reports whether it has ended.
func (s *Session) stop(n *rt.Run, cause error) (ended bool) {
	wait := grace
	if errors.Is(cause, rt.ErrStack) {
		wait = deepGrace
	}
	for dropped := false; !dropped; {
		select {
		case <-n.Ended():
			return true
		case <-s.killed:
			dropped = true
		case <-time.After(wait):
			if len(durable.Saving()) == 0 {
				return false
			}
			// A training that was stopped writes its checkpoint: that takes as long as it takes.
		}
	}
	s.halted(func() {
		select {
		case <-n.Ended():
			ended = true
		case <-time.After(grace / 10):
		}
	})
	return ended
}

// outcome is how a run has ended.
func (s *Session) outcome(n *rt.Run, c *rt.Cell) (quit bool, err error) {
	o := n.Outcome()
	switch cause := s.rt.Cause(c); {
	case cause != nil && tellsOfStop(o):
		return false, s.stopped(cause)
	case o.Panicked && o.Stop == nil:
		return false, s.panicked(o)
	case o.Stop != nil:
		return false, s.stopped(o.Stop)
	case cause != nil:
		return false, s.stopped(cause)
	case o.Exited:
		return o.Quit, errExited
	}
	return o.Quit, nil
}

// tellsOfStop says whether the error that has ended a cell is that of a call which was interrupted with it.
func tellsOfStop(o rt.Outcome) bool {
	failed, ok := o.Value.(rt.Failed)
	interrupted := new(train.Interrupted)
	return ok && (errors.Is(failed.Err, context.Canceled) || errors.As(failed.Err, &interrupted))
}

// errExited is how code ends that calls runtime.Goexit.
var errExited = errors.New("runtime.Goexit was called")

// stopped is the error of a cell that was stopped.
func (s *Session) stopped(cause error) error {
	if errors.Is(cause, ErrInterrupted) {
		return ErrInterrupted
	}
	return s.guardError(cause)
}
