package session

import (
	"context"
	"reflect"

	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
)

// A Stmt is a piece of Go that was checked and compiled once and can be run often: what %timeit and %bench
// need. The variables that it declares are its own. A Stmt of no statements is the interpreter's empty loop.
type Stmt struct {
	s     *Session
	loop  func(n int)
	value reflect.Value
}

// Compile checks and compiles statements or an expression.
func (s *Session) Compile(stmts string) (*Stmt, error) {
	s.settled()
	n := -1 - s.linesBefore(stmts)
	s.history = append(s.history, Cell{N: n, Source: stmts})
	defer func() { s.history = s.history[:len(s.history)-1] }()
	u, value, err := s.Loop(n, stmts)
	if err != nil {
		return nil, err
	}
	if err := s.load(u.Outs); err != nil {
		return nil, err
	}
	if _, err := s.execute(context.Background(), u, false, nil); err != nil {
		return nil, err
	}
	stmt := &Stmt{s: s, loop: s.rt.TakeLoop()}
	if value != nil {
		stmt.value = s.rt.Variable(value.Internal)
	}
	return stmt, nil
}

// HasValue says whether the statements end in an expression with one value, which Run returns.
func (st *Stmt) HasValue() bool { return st.value.IsValid() }

// Run runs the statements n times, and returns the value of the last time if they end in an expression.
// Whatever is lazy in that value has not been evaluated. An error that the expression returns is an error.
func (st *Stmt) Run(ctx context.Context, n int) (any, error) {
	if err := st.run(ctx, func() { st.loop(n) }); err != nil {
		return nil, err
	}
	return st.last()
}

// Each runs the statements n times and gives the value of each time to each, until that returns an error. It
// costs less than n calls of Run.
func (st *Stmt) Each(ctx context.Context, n int, each func(v any) error) error {
	var failed error
	err := st.run(ctx, func() {
		for range n {
			st.loop(1)
			v, err := st.last()
			if err == nil {
				err = each(v)
			}
			if failed = err; failed != nil {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return failed
}

func (st *Stmt) run(ctx context.Context, f func()) error {
	st.s.settled()
	return st.s.guarded(ctx, f)
}

// last is the value of the run before.
func (st *Stmt) last() (any, error) {
	if !st.value.IsValid() {
		return nil, nil
	}
	v := rt.Inner(st.value)
	if !v.IsValid() || !v.CanInterface() {
		return nil, nil
	}
	if err, ok := v.Interface().(error); ok && err != nil {
		return nil, err
	}
	return v.Interface(), nil
}
