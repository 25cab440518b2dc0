package session

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/repl/display"
)

// Run runs one cell: Go, command lines, or both. It is checked as a whole before any of it runs; only what follows a
// command line that changes the session is checked after that. Cancelling ctx interrupts the cell, which keeps the
// variables that it has assigned.
func (s *Session) Run(ctx context.Context, cell string) Result {
	start := time.Now()
	if s.nested == 0 {
		s.busy.Lock()
		defer s.busy.Unlock()
	}
	s.nested++
	defer func() { s.nested-- }()
	s.n++
	r := Result{N: s.n}
	s.history = append(s.history, Cell{N: s.n, Source: cell})
	at := len(s.history) - 1
	r.Err = s.runCell(s.settings(ctx), &r, cell)
	s.history[at].Err = r.Err != nil
	r.Elapsed = time.Since(start)
	return r
}

func (s *Session) runCell(ctx context.Context, r *Result, cell string) (err error) {
	s.settled()
	defer func() {
		if p := recover(); p != nil { // a fault of this package: the session must survive it
			err = fmt.Errorf("%s: internal error: %v", cellName(r.N), p)
			s.lastPanic = internalPanic(p)
		}
	}()
	s.refresh(ctx)
	pieces := split(cell)
	for len(pieces) > 0 {
		st := s.world.stage()
		units, err := s.checkPieces(st, r.N, cell, pieces)
		if err != nil {
			// Perhaps a command before it would have declared what is missing.
			i := lastCommand(pieces[:len(units)])
			if i < 0 {
				return err
			}
			st = s.world.stage()
			if units, err = s.checkPieces(st, r.N, cell, pieces[:i+1]); err != nil {
				return err
			}
		}
		for _, u := range units {
			for _, part := range u {
				if err := s.build(st, part); err != nil {
					return err
				}
			}
		}
		done, err := s.runUnits(ctx, r, units)
		if err != nil {
			return err
		}
		pieces = pieces[done:]
	}
	return nil
}

func lastCommand(pieces []piece) int {
	for i := len(pieces) - 1; i >= 0; i-- {
		if pieces[i].kind == commandPiece {
			return i
		}
	}
	return -1
}

// checkPieces checks pieces in order; each sees what those before it declare. On an error it returns the units of the
// pieces before the one that is wrong, and that one.
func (s *Session) checkPieces(st *stage, n int, cell string, pieces []piece) (units [][]*unit, err error) {
	lastGo := -1
	for i, p := range pieces {
		if p.kind != commandPiece {
			lastGo = i
		}
	}
	for i, p := range pieces {
		last := i == lastGo && i == len(pieces)-1
		list, err := s.checkPiece(st, n, cell, p, last)
		units = append(units, list)
		if err != nil {
			return units, err
		}
	}
	return units, nil
}

func (s *Session) checkPiece(st *stage, n int, cell string, p piece, last bool) ([]*unit, error) {
	var u *unit
	var err error
	switch p.kind {
	case commandPiece:
		return []*unit{{piece: p, command: strings.TrimSpace(cell[p.off:p.end])}}, nil
	case importPiece:
		return s.checkImport(st, n, cell, p)
	case declPiece:
		u, err = s.checkDeclarations(st, n, cell, p)
	default:
		return s.checkStatements(st, n, cell, p, last)
	}
	if err != nil {
		return nil, err
	}
	return []*unit{u}, nil
}

// runUnits runs the units of pieces and says of how many. It stops early after a command that has changed the session,
// because what follows must be checked again.
func (s *Session) runUnits(ctx context.Context, r *Result, units [][]*unit) (done int, err error) {
	defer func() {
		if e := s.flush(ctx); err == nil {
			err = e
		}
	}()
	var later *unit
	for i := len(units) - 1; i >= 0; i-- {
		for j := len(units[i]) - 1; j >= 0; j-- {
			if u := units[i][j]; u.runs {
				u.more = later != nil
				later = u
			}
		}
	}
	for i, list := range units {
		for _, u := range list {
			if u.command != "" {
				before := s.generation
				if err := s.runCommand(ctx, r, u.command); err != nil {
					return 0, err
				}
				if s.generation != before {
					return i + 1, nil
				}
				continue
			}
			quit, err := s.runUnit(ctx, r, u)
			if err != nil {
				return 0, err
			}
			if quit {
				return len(units), nil
			}
			if err := ctx.Err(); err != nil {
				return 0, ErrInterrupted
			}
		}
	}
	return len(units), nil
}

func (s *Session) runCommand(ctx context.Context, r *Result, line string) error {
	if s.opts.Commands == nil {
		return fmt.Errorf("%s: %s: this session has no commands", cellName(r.N), line)
	}
	v, err := s.opts.Commands.Run(s.context(ctx), s, line)
	if v != nil {
		r.Shown = append(r.Shown, v)
		r.Out = false
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return ErrInterrupted
	}
	return err
}

// runUnit commits a unit's declarations and runs its code. A variable of a cell that panics or is interrupted holds
// what was assigned so far.
func (s *Session) runUnit(ctx context.Context, r *Result, u *unit) (quit bool, err error) {
	if u.local != nil {
		return false, s.runLocal(ctx, u)
	}
	for _, m := range u.moves {
		if v := s.rt.Variable(m.from.internal); v.IsValid() {
			s.rt.Initially(m.to.internal, v)
		}
	}
	for _, o := range u.outs {
		if err := o.load(s); err != nil {
			return false, err
		}
	}
	s.world.commit(&u.change)
	if u.program == nil {
		return false, nil
	}
	quit, err = s.execute(ctx, u)
	for _, old := range u.free {
		s.rt.Free(old.internal)
	}
	for _, o := range u.outs {
		if v := s.rt.Variable(o.name); v.IsValid() {
			v.SetZero()
		}
	}
	if err != nil && !errors.Is(err, ErrInterrupted) || u.shown == nil {
		return quit, err
	}
	if e := s.take(r, u); err == nil {
		err = e
	}
	return quit, err
}

// take turns the values that the trailing expression has left into what the result shows, and keeps them as Out[n].
func (s *Session) take(r *Result, u *unit) error {
	values := s.rt.Shown()
	if len(values) == 0 || len(values) != len(u.shows) {
		return nil
	}
	shown := make([]display.Value, 0, len(values))
	for i, v := range values {
		t := u.shows[i]
		if isError(t) && i == len(values)-1 && !u.listed {
			if err, ok := asError(v); ok {
				return err
			}
			if len(values) > 1 || isErrorInterface(t) {
				continue // a nil error says nothing
			}
		}
		shown = append(shown, display.Noted(s.format.Format(v, t), s.noteOf(u.shown, s.source(r.N))))
	}
	if len(shown) == 0 {
		return nil
	}
	v := shown[0]
	if len(shown) > 1 {
		v = display.Tuple(shown)
	}
	r.Shown = append(r.Shown, v)
	r.Out = true
	s.keep(r.N, u.shows[0], values[0])
	return nil
}

// isPrinting says whether an expression is a call of one of fmt's functions that print: its results are of no interest.
func isPrinting(c *checked, e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	o := c.info.Uses[sel.Sel]
	return o != nil && o.Pkg() != nil && o.Pkg().Path() == "fmt" && strings.Contains(o.Name(), "rint") && !strings.HasPrefix(o.Name(), "S")
}

// cellName is how errors call a cell, In[3].
func cellName(n int) string { return fmt.Sprintf("In[%d]", n) }
