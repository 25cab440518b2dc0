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
	"time"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
)

// grace is how long an interrupted cell may take to end: compiled code that does not look at ctx cannot be stopped.
const grace = time.Second

// initFunc is the function that runs a unit: it tells package rt of the unit's variables and methods, then has its
// statements run.
func (v *env) initFunc(l *lower.Lowerer) (ast.Decl, error) {
	var body []ast.Stmt
	rtCall := func(name string, args ...ast.Expr) {
		body = append(body, &ast.ExprStmt{X: &ast.CallExpr{Fun: &ast.SelectorExpr{X: v.id(lower.RT), Sel: v.id(name)}, Lparen: v.u.pos, Args: args, Rparen: v.u.pos}})
	}
	variable := func(name string) {
		rtCall("Var", v.str(name), &ast.UnaryExpr{OpPos: v.u.pos, Op: token.AND, X: v.id(name)})
	}
	for _, e := range v.u.slots {
		variable(e.internal)
	}
	for _, o := range v.u.outs {
		if !o.declared {
			variable(o.name)
		}
	}
	if err := v.methods(l, rtCall); err != nil {
		return nil, err
	}
	if v.u.runs {
		if err := v.cellFunc(l); err != nil {
			return nil, err
		}
		rtCall("Run", v.id("cell"))
	}
	if len(body) == 0 {
		return nil, nil
	}
	return v.function("init", nil, body), nil
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

// methods tells package rt of the String and Error methods of the unit's types, for printing values.
func (v *env) methods(l *lower.Lowerer, rtCall func(string, ...ast.Expr)) error {
	for _, d := range v.u.decls {
		if d.tok != token.TYPE || d.generic {
			continue
		}
		for _, e := range d.ents {
			t := e.obj.Type()
			if _, ok := e.obj.Type().(*types.Named); !ok || types.IsInterface(t) {
				continue
			}
			for _, name := range []string{"String", "Error"} {
				if !hasText(types.NewPointer(t), name) {
					continue
				}
				x, err := l.Type(types.NewPointer(t), v.u.pos)
				if err != nil {
					return err
				}
				call := &ast.CallExpr{Fun: &ast.SelectorExpr{X: v.id("p"), Sel: v.id(name)}, Lparen: v.u.pos, Rparen: v.u.pos}
				lit := &ast.FuncLit{Type: &ast.FuncType{Func: v.u.pos, Params: &ast.FieldList{List: []*ast.Field{{Names: []*ast.Ident{v.id("p")}, Type: x}}},
					Results: &ast.FieldList{List: []*ast.Field{{Type: v.id("string")}}}},
					Body: &ast.BlockStmt{Lbrace: v.u.pos, List: []ast.Stmt{&ast.ReturnStmt{Return: v.u.pos, Results: []ast.Expr{call}}}, Rbrace: v.u.pos}}
				rtCall("Method", v.str(methodKey(v.s.typeKey(t), name)), lit)
			}
		}
	}
	return nil
}

func methodKey(key int, name string) string { return fmt.Sprintf("%d.%s", key, name) }

// hasText says whether a type has a method `name() string`.
func hasText(t types.Type, name string) bool {
	o, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	f, ok := o.(*types.Func)
	if !ok {
		return false
	}
	sig := f.Signature()
	return sig.Params().Len() == 0 && sig.Results().Len() == 1 && types.Identical(sig.Results().At(0).Type(), types.Typ[types.String])
}

// settled waits for a run that an earlier cell has left behind.
func (s *Session) settled() error {
	if s.pending == nil {
		return nil
	}
	select {
	case <-s.pending:
	case <-time.After(grace):
		return errors.New("the last cell is still running in compiled code that cannot be interrupted: wait for it, or start again")
	}
	s.pending = nil
	return nil
}

// execute runs a unit's program and waits for its end.
func (s *Session) execute(ctx context.Context, u *unit) (quit bool, err error) {
	if !u.runs {
		if err := s.interp.Run(u.program); err != nil {
			return false, s.compileError(err)
		}
		return false, nil
	}
	s.shared.Marks[lower.CellSlot], s.shared.Marks[lower.LiteralSlot] = 0, 0
	return s.supervise(ctx, func() error { return s.interp.Run(u.program) })
}

// supervise runs code that calls rt.Run, and stops it when ctx is cancelled or it uses up the machine.
func (s *Session) supervise(ctx context.Context, run func() error) (quit bool, err error) {
	s.setContext(s.context(ctx))
	defer tensor.Interrupt(ctx)() // evaluations of lazy tensors stop with the cell
	ended := s.rt.Begin()
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
			return false, s.compileError(err)
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

// stop makes the current run end. It reports whether it has.
func (s *Session) stop(cause error, ended <-chan struct{}, number uint64) bool {
	s.rt.Interrupt(cause)
	if errors.Is(cause, rt.ErrStack) {
		// Unwinding a million calls one by one would take long: have the interpreter drop them.
		s.interp.Halt()
		defer s.interp.Resume(number)
	}
	select {
	case <-ended:
		return true
	case <-time.After(grace):
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
		// An evaluation that ctx has stopped panics, perhaps before the interrupt reached the interpreter.
		if _, ok := rt.Value(o.Value).(*tensor.Error); ok && ctx.Err() != nil {
			return false, ErrInterrupted
		}
		return false, s.panicked(o)
	}
	if cause != nil {
		return false, s.stopped(cause)
	}
	return o.Quit, nil
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

// watchdog reports when cells use too much stack or memory.
func (s *Session) watchdog(ctx context.Context, exhausted chan<- error) {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	limit := memoryLimit()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(samples)
		switch {
		case samples[0].Value.Uint64() > stackLimit:
			exhausted <- rt.ErrStack
			return
		case samples[1].Value.Uint64() > limit:
			runtime.GC() // garbage counts, too, until it is collected
			if metrics.Read(samples); samples[1].Value.Uint64() > limit {
				exhausted <- rt.ErrMemory
				return
			}
		}
	}
}
