package session

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
)

// grace is how long an interrupted cell may take to end: compiled code that does not look at ctx cannot be stopped.
var grace = 2 * time.Second

// deepGrace is how long a stack of a million calls may take.
const deepGrace = 20 * time.Second

// initBody is the function that runs a unit: it tells package rt of the unit's variables and methods, then has its
// statements run.
func (v *env) initBody(l *lower.Lowerer) (body []ast.Stmt, err error) {
	rtCall := func(name string, args ...ast.Expr) { body = append(body, v.rtCall(name, args...)) }
	for _, e := range v.u.slots {
		body = append(body, v.tellVar(e.internal))
	}
	for _, o := range v.u.outs {
		if !o.declared {
			body = append(body, v.tellVar(o.name))
			o.declared = true
		}
	}
	if err := v.methods(l, rtCall); err != nil {
		return nil, err
	}
	if v.u.runs {
		rtCall("Run", v.id("cell"))
	}
	return body, nil
}

func (v *env) rtCall(name string, args ...ast.Expr) ast.Stmt {
	f := &ast.SelectorExpr{X: v.id(lower.RT), Sel: v.id(name)}
	return &ast.ExprStmt{X: &ast.CallExpr{Fun: f, Lparen: v.u.pos, Args: args, Rparen: v.u.pos}}
}

// tellVar tells package rt of a variable.
func (v *env) tellVar(name string) ast.Stmt {
	return v.rtCall("Var", v.str(name), &ast.UnaryExpr{OpPos: v.u.pos, Op: token.AND, X: v.id(name)})
}

func (v *env) str(s string) ast.Expr {
	return &ast.BasicLit{Kind: token.STRING, Value: fmt.Sprintf("%q", s), ValuePos: v.u.pos}
}

func (v *env) function(name string, params []*ast.Field, body []ast.Stmt) *ast.FuncDecl {
	pos := v.u.pos
	return &ast.FuncDecl{Name: v.id(name), Type: &ast.FuncType{Func: pos, Params: &ast.FieldList{Opening: pos, List: params, Closing: pos}},
		Body: &ast.BlockStmt{Lbrace: pos, List: body, Rbrace: pos}}
}

// cellFunc is the function that has the unit's statements as its body.
func (v *env) cellFunc(l *lower.Lowerer) error {
	body, err := v.statements(l)
	if err != nil {
		return err
	}
	v.funcs = append(v.funcs, v.function("cell", nil, body))
	return nil
}

func (v *env) statements(l *lower.Lowerer) ([]ast.Stmt, error) {
	if v.u.loop == nil {
		return l.Cell(v.u.body, v.u.shown)
	}
	return v.u.loop(v, l)
}

// methods tells package rt of the methods of the unit's types.
func (v *env) methods(l *lower.Lowerer, rtCall func(string, ...ast.Expr)) error {
	list := v.made
	for _, d := range v.u.decls {
		if d.tok != token.TYPE || d.generic {
			continue
		}
		for _, e := range d.ents {
			if t, ok := e.obj.Type().(*types.Named); ok && !e.obj.(*types.TypeName).IsAlias() {
				list = append(list, t)
			}
		}
	}
	for _, t := range list {
		if types.IsInterface(t) {
			continue
		}
		set := types.NewMethodSet(types.NewPointer(t))
		for i := range set.Len() {
			f := set.At(i).Obj().(*types.Func)
			if !f.Exported() && !lower.Interpreted(f.Pkg()) {
				continue
			}
			lit, err := l.MethodFunc(t, set.At(i), v.u.pos)
			if err != nil {
				return err
			}
			key := &ast.BasicLit{Kind: token.INT, Value: strconv.Itoa(v.s.typeKey(t)), ValuePos: v.u.pos}
			rtCall("Method", key, v.str(f.Id()), lit)
		}
	}
	return nil
}

// settled waits a little for a run that an earlier cell has left behind, and then goes on beside it: it stops when it
// comes back to interpreted code.
func (s *Session) settled() {
	if s.pending == nil {
		return
	}
	select {
	case <-s.pending:
	case <-time.After(grace / 10):
		fmt.Fprintln(s.errOut, "an interrupted cell is still inside compiled code, which cannot be stopped; it ends when that returns")
	}
	s.pending = nil
}

// Kill makes a cell end that was interrupted and does not stop: its code is dropped where it is, no deferred function
// runs any more, and goroutines that cells have started end, too. Variables stay.
func (s *Session) Kill() {
	select {
	case s.killed <- struct{}{}:
	default: // it was said already
	}
}

// execute runs a unit's program and waits for its end.
func (s *Session) execute(ctx context.Context, u *unit) (quit bool, err error) {
	if !u.runs {
		if err := s.interp.Run(u.program); err != nil {
			return false, s.unrun(err)
		}
		return false, nil
	}
	for _, slot := range []int{lower.CellSlot, lower.LiteralSlot} {
		s.rt.Variable(lower.MarkVar(slot)).SetInt(0)
	}
	return s.supervise(ctx, u.more, func() error { return s.interp.Run(u.program) })
}

// supervise runs code that calls rt.Run, and stops it when ctx is cancelled or it uses up the machine.
// More says that the cell has more to run after it.
func (s *Session) supervise(ctx context.Context, more bool, run func() error) (quit bool, err error) {
	defer s.flushStreams()
	s.running.Store(&ctx)
	s.setContext(s.context(ctx))
	select {
	case <-s.killed: // it has ended before it was killed
	default:
	}
	// Evaluations of lazy tensors stop with the cell, but those of its goroutines go on when it has ended.
	evals, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })()
	ended := s.rt.Begin(more, func(f func()) { tensor.Within(evals, f) })
	number := s.interp.RunNumber()
	failed := make(chan error, 1)
	go func() { failed <- run() }()
	watch, unwatch := context.WithCancel(ctx)
	defer unwatch()
	exhausted := make(chan error, 1)
	go s.watchdog(watch, exhausted)

	var cause error
	select {
	case <-ended:
	case err := <-failed: // the interpreter has given up before the code ran
		select {
		case <-ended:
		default:
			return false, s.unrun(err)
		}
	case <-ctx.Done():
		cause = ErrInterrupted
	case cause = <-exhausted:
	}
	if cause != nil && !s.stop(cause, ended, number) {
		s.pending = ended
		return false, fmt.Errorf("%w: compiled code is still running", cause)
	}
	return s.outcome(ctx, cause)
}

// flush makes the deferred calls of a cell that has ended early.
func (s *Session) flush(ctx context.Context) error {
	if !s.rt.Waiting() {
		return nil
	}
	_, err := s.supervise(ctx, false, func() error {
		s.rt.Run(func() {})
		return nil
	})
	return err
}

// stop makes the current run end. It reports whether it has.
func (s *Session) stop(cause error, ended <-chan struct{}, number uint64) bool {
	s.rt.Interrupt(cause)
	wait := grace
	if errors.Is(cause, rt.ErrStack) {
		wait = deepGrace
		// Unwinding a million calls one by one would take long: have the interpreter drop them.
		s.interp.Halt()
		defer s.interp.Resume(number)
		defer runtime.GC()
	}
	if errors.Is(cause, rt.ErrMemory) {
		wait = grace / 4
		defer runtime.GC()
	}
	select {
	case <-ended:
		return true
	case <-s.killed:
	case <-time.After(wait):
		if !errors.Is(cause, rt.ErrMemory) {
			return false
		}
	}
	s.interp.Halt()
	defer s.interp.Resume(number)
	select {
	case <-ended:
		return true
	case <-time.After(grace / 10):
		return false
	}
}

// outcome is how the run ended that has just ended; cause says why it was stopped, if it was.
func (s *Session) outcome(ctx context.Context, cause error) (quit bool, err error) {
	o := s.rt.Outcome()
	if o.Panicked {
		if stopped, ok := rt.IsStop(o.Value); ok {
			return false, s.stopped(stopped)
		}
		return false, s.panicked(o)
	}
	if cause != nil {
		return false, s.stopped(cause)
	}
	return o.Quit, nil
}

// gaveUp says whether a panic is an evaluation that has stopped because the cell was interrupted.
func (s *Session) gaveUp(p any) error {
	ctx := s.running.Load()
	if _, ok := rt.Value(p).(*tensor.Error); ok && ctx != nil && (*ctx).Err() != nil {
		return ErrInterrupted
	}
	return nil
}

// stopped is the error of a cell that was stopped.
func (s *Session) stopped(cause error) error {
	if errors.Is(cause, ErrInterrupted) {
		return ErrInterrupted
	}
	return s.guardError(cause)
}

// The limits of the watchdog. A goroutine's stack counts twice while it grows.
const (
	watchEvery = 2 * time.Millisecond
	stackLimit = 256 << 20
)

// deep is why stacks use much memory.
func deep() error {
	const many = 20000
	if n := runtime.NumGoroutine(); n > many {
		return fmt.Errorf("%w: %d goroutines", rt.ErrMemory, n)
	}
	return rt.ErrStack
}

// watchdog reports when cells use too much stack or memory.
func (s *Session) watchdog(ctx context.Context, exhausted chan<- error) {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	limit := memoryLimit()
	metrics.Read(samples)
	before := samples[0].Value.Uint64() // stacks that were deep once are given back only by collections
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(samples)
		switch {
		case samples[0].Value.Uint64() > before+stackLimit:
			exhausted <- deep()
			return
		case samples[1].Value.Uint64() > limit:
			if samples[1].Value.Uint64() < limit/2*3 { // what doubles leaves no time for it
				runtime.GC() // garbage counts, too, until it is collected
				metrics.Read(samples)
			}
			if samples[1].Value.Uint64() > limit {
				if samples[0].Value.Uint64() > before+stackLimit/8 { // to unwind so many calls would take as much again
					exhausted <- deep()
					return
				}
				exhausted <- rt.ErrMemory
				return
			}
		}
	}
}
