package session

import (
	"context"
	"go/types"
	"reflect"
	"runtime"
	"time"

	"github.com/mcs-notebook/mcs/internal/goroutine"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/supervise"
)

// A Stmt is a piece of Go that is checked and compiled once and can run often, for %timeit and %bench. The
// variables that it declares are local to it. A Stmt without statements is the interpreter's empty loop.
type Stmt struct {
	s      *Session
	loop   func(n int)
	asking func(more func() bool) // nil if Compile made the Stmt
	types  []types.Type           // of the values of the expression at its end
	values []reflect.Value        // their variables
}

// Results are the values of a run of a [Stmt] whose last expression has several.
type Results []any

// Compile checks and compiles statements or an expression.
func (s *Session) Compile(stmts string) (*Stmt, error) { return s.compile(stmts, false) }

// CompileEach is Compile for a caller that does something after each run of the statements: see
// [Stmt.Each]. A loop over them is slower.
func (s *Session) CompileEach(stmts string) (*Stmt, error) { return s.compile(stmts, true) }

func (s *Session) compile(stmts string, each bool) (*Stmt, error) {
	s.runner.Settle()
	n := -1 - s.places.linesBefore(stmts)
	s.past.cells = append(s.past.cells, Cell{N: n, Source: stmts})
	defer func() { s.past.cells = s.past.cells[:len(s.past.cells)-1] }()
	u, values, err := s.compiler.Loop(n, stmts, each)
	if err != nil {
		return nil, err
	}
	if err := s.load(u.Outs); err != nil {
		return nil, err
	}
	if _, err := s.execute(context.Background(), u, false, nil); err != nil {
		return nil, err
	}
	stmt := &Stmt{s: s}
	stmt.loop, stmt.asking = s.rt.TakeLoops()
	if each {
		stmt.loop = func(n int) { stmt.asking(func() bool { n--; return n >= 0 }) }
	}
	for i, e := range values {
		if v := s.rt.Variable(e.Internal); v.IsValid() {
			stmt.types, stmt.values = append(stmt.types, u.ShownTypes[i]), append(stmt.values, v)
		}
		s.rt.Forget(e.Internal)
	}
	return stmt, nil
}

// Declare runs statements that a command was given, as a part of the command's cell: their declarations
// become the session's. Around is called with run, which runs the code alone, without the check and the
// build.
func (s *Session) Declare(ctx context.Context, stmts string, around func(run func())) error {
	n := -1 - s.places.linesBefore(stmts)
	s.past.cells = append(s.past.cells, Cell{N: n, Source: stmts})
	defer func() { s.past.cells = s.past.cells[:len(s.past.cells)-1] }()
	r := Result{N: n}
	err := s.runCell(supervise.WithAround(ctx, around), &r, stmts)
	for _, e := range s.compiler.World.Names {
		if e.Cell == n {
			e.Cell = s.past.n
		}
	}
	s.past.generation++
	return err
}

// Run runs the statements n times. If they end in an expression it returns the expression's last value,
// which may still be lazy, or the error that the expression returned. Several values are [Results].
func (st *Stmt) Run(ctx context.Context, n int) (any, error) {
	var v any
	err := st.Within(ctx, func() (err error) {
		v, err = st.Loop(n)
		return err
	})
	return v, err
}

// Within calls f as cells run: evaluations of f obey ctx, f is stopped like a cell, and a panic in it
// becomes an error. Entering and leaving cost more than a short statement, so f calls [Stmt.Loop] as often
// as it needs, for any Stmt of the session.
func (st *Stmt) Within(ctx context.Context, f func() error) error {
	st.s.runner.Settle()
	var failed error
	guarded := func() {
		st.s.main.Store(goroutine.Current())
		failed = f()
	}
	if err := st.s.runner.Guard(ctx, guarded); err != nil {
		return err
	}
	return failed
}

// leaving is how long a goroutine may take to end once nobody waits for it any more.
const leaving = time.Millisecond

// Started returns a function that counts the goroutines which code of cells has started since, and which
// still run. Those that are about to end are given a moment for that.
func (s *Session) Started() (running func() int) {
	before := s.rt.Started()
	return func() (n int) {
		for begun := time.Now(); ; runtime.Gosched() {
			if n = s.rt.Going(before); n == 0 || time.Since(begun) > leaving {
				return n
			}
		}
	}
}

// Loop is Run for callers inside of [Stmt.Within].
func (st *Stmt) Loop(n int) (any, error) {
	st.loop(n)
	return st.last()
}

// Each runs the statements n times, inside of [Stmt.Within], and calls ran with the value of each run
// until ran returns an error. CompileEach must have made the Stmt.
func (st *Stmt) Each(n int, ran func(v any) error) (err error) {
	begun := 0
	st.asking(func() bool {
		if begun > 0 {
			var v any
			if v, err = st.last(); err == nil {
				err = ran(v)
			}
		}
		begun++
		return err == nil && begun <= n
	})
	return err
}

// last returns the value of the newest run.
func (st *Stmt) last() (any, error) {
	var list Results
	for _, v := range st.values {
		var each any
		if v = rt.Inner(v); v.IsValid() && v.CanInterface() {
			each = v.Interface()
		}
		list = append(list, each)
	}
	if len(list) == 0 {
		return nil, nil
	}
	if err, ok := list[len(list)-1].(error); ok && err != nil {
		return nil, err
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

// Take returns the value of the newest run, which the Stmt forgets, or nil if its statements have none. It is
// called inside of [Stmt.Within], because values may have methods of cells that make their text.
func (st *Stmt) Take() *Taken {
	l := &result{}
	for i, v := range st.values {
		own := reflect.New(v.Type()).Elem()
		own.Set(v)
		v.SetZero()
		l.types, l.values = append(l.types, st.types[i]), append(l.values, own)
	}
	shown := l.format(st.s)
	if len(shown) == 0 {
		return nil
	}
	return &Taken{display.Tuple(shown), l.types[0], l.values[0]}
}

// A Taken is the value of a [Stmt] as cells show it. A [Keeper] that returns it makes it a result.
type Taken struct {
	display.Value
	typ   types.Type
	value reflect.Value
}
