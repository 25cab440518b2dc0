package session

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/supervise"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// Run runs one cell: Go, command lines, or both. The whole cell is checked before any of it runs. Only the
// pieces after a command line that changes the session are checked later. Cancelling ctx interrupts the
// cell; variables that it has assigned keep their new values.
//
// One cell runs at a time: another caller waits. A command that runs cells in turn passes on its own
// context, and Run knows such cells by that context as part of the command's cell.
func (s *Session) Run(ctx context.Context, cell string) Result {
	if !s.runner.Running(ctx) {
		s.busy.Lock()
		defer s.busy.Unlock()
		s.streams.In.Begin()
		defer s.streams.In.End()
		if t := s.together; t != nil {
			return s.runTogether(ctx, t, cell)
		}
	}
	return s.run(ctx, cell)
}

// run runs a cell, or a part of one.
func (s *Session) run(ctx context.Context, cell string) Result {
	start := time.Now()
	s.past.n++
	s.past.cells = append(s.past.cells, Cell{N: s.past.n, Source: cell})
	at := len(s.past.cells) - 1
	own, leave := s.runner.Enter(ctx)
	defer leave()
	defer s.guardSleep(ctx)()
	r, outside := Result{N: s.past.n}, s.past.outside
	s.drawings.begin()
	r.Err = s.runCell(own, &r, cell)
	s.showDrawings(&r)
	s.past.cells[at].Err = r.Err != nil
	r.Outside = s.past.outside != outside
	r.Elapsed = time.Since(start)
	return r
}

func (s *Session) runCell(ctx context.Context, r *Result, src string) (err error) {
	s.runner.Settle()
	defer func() {
		if p := recover(); p != nil { // a fault of this package: the session must survive it
			err = fmt.Errorf("%s: internal error: %v", world.CellName(r.N), p)
			s.past.lastPanic = &PanicError{Value: p, text: fmt.Sprint(p), Stack: strings.Split(string(debug.Stack()), "\n")}
		}
	}()
	if s.packages.Any() {
		if err := s.prepared(ctx, func() error { s.packages.Refresh(ctx); return nil }); err != nil {
			return err
		}
	}
	pieces, negated, err := s.compiler.Split(r.N, src)
	if err != nil {
		return err
	}
	if len(negated) > 0 && s.once("negation") {
		s.Tell("%s is Go here, as its names are; %s asks the shell", negated[0], "! "+negated[0][1:])
	}
	for _, comment := range s.helper().CommentedDivisions(src) {
		if s.once("comment") {
			s.Tell("%s", comment)
		}
	}
	for len(pieces) > 0 {
		var units [][]*compile.Unit
		err := s.prepared(ctx, func() (err error) {
			units, err = s.compiler.Prepare(ctx, r.N, src, pieces)
			return err
		})
		if err != nil {
			return err
		}
		if strings.Contains(src, "/") {
			for _, line := range s.compiler.Divisions(r.N, units) {
				s.Tell("%s", line)
			}
		}
		done, err := s.runUnits(ctx, r, units)
		if err != nil {
			return err
		}
		pieces = pieces[done:]
	}
	if e := s.compiler.World.Names["main"]; e != nil && e.Kind == world.Func && e.Cell == r.N && !calls(src, "main") && s.once("main") {
		s.Tell("main is declared; main() runs it")
	}
	return nil
}

// calls says whether a statement of a cell mentions a function.
func calls(src, name string) bool {
	return slices.ContainsFunc(cell.Split(src), func(p cell.Piece) bool {
		return p.Kind == cell.Statement && slices.ContainsFunc(p.Tokens, func(t cell.Token) bool { return t.Text(src) == name })
	})
}

// prepared has f check and build code, and waits for it until ctx is cancelled. A check that hangs is a
// fault of this package, but it must not make the session hang as well.
func (s *Session) prepared(ctx context.Context, f func() error) error {
	var err error
	ended := s.runner.Do(ctx, func() {
		defer func() {
			p := recover()
			if _, given := p.(compile.GivenUp); given {
				err = ErrInterrupted
			} else if p != nil {
				panic(p)
			}
		}()
		err = f()
	})
	if !ended {
		return fmt.Errorf("%w: the check of the cell does not end, which is a fault of mcs", ErrInterrupted)
	}
	return err
}

// execute runs a unit's program and waits for its end. The program calls finish as its last statement.
// More says that more of the cell runs after this program.
func (s *Session) execute(ctx context.Context, u *compile.Unit, more bool, finish func()) (quit bool, err error) {
	if !u.Runs {
		if err := s.interp.Run(u.Program); err != nil {
			return false, s.compiler.NotRun(u, err)
		}
		return false, nil
	}
	end := s.hot()
	quit, err = s.runner.Run(ctx, u.Program, more, finish)
	end()
	if err != nil {
		s.flight.Forget() // the cell has an error already
	}
	if g := new(supervise.GivenUp); err != nil && errors.As(err, &g) {
		err = s.compiler.NotRun(u, g.Cause)
	}
	return quit, err
}

// runUnits runs the units of pieces and returns the number of pieces that ran. It stops early after a
// command that has changed the session, because the rest of the cell must be checked again.
func (s *Session) runUnits(ctx context.Context, r *Result, units [][]*compile.Unit) (done int, err error) {
	var ran []*compile.Unit
	defer func() {
		if e := s.runner.Finish(ctx); err == nil {
			err = e
		}
		for _, line := range s.news(ran) {
			s.Tell("%s", line)
		}
	}()
	running := 0 // units that have yet to run
	for _, list := range units {
		for _, u := range list {
			if u.Runs {
				running++
			}
		}
	}
	for i, list := range units {
		for _, u := range list {
			if u.Command != "" {
				s.showNow(r)
				before := s.past.generation
				if err := s.runCommand(ctx, r, u); err != nil {
					return 0, err
				}
				if s.past.generation != before {
					return i + 1, nil
				}
				continue
			}
			ran = append(ran, u)
			if u.Runs {
				s.showNow(r)
				running--
			}
			quit, err := s.runUnit(ctx, r, u, running > 0)
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

// showNow shows the values that commands of the cell show, before code or commands run that may print.
// Without Options.Show they are printed, and one that the front end has not rendered as text stays in the
// result.
func (s *Session) showNow(r *Result) {
	if s.opts.Show != nil {
		s.streams.Flush()
		for _, v := range r.Shown {
			s.opts.Show(v)
		}
		r.Shown = nil
		return
	}
	if s.opts.Stdout == nil {
		return
	}
	for len(r.Shown) > 0 {
		text, ok := display.Written(r.Shown[0])
		if !ok {
			return
		}
		s.heard.without(func() { s.streams.Out.Line(strings.TrimRight(text, "\n")) })
		r.Shown = r.Shown[1:]
	}
}

// runCommand runs a command line, and renders its value, as is done for code of the cell.
func (s *Session) runCommand(ctx context.Context, r *Result, u *compile.Unit) error {
	if s.opts.Commands == nil {
		return fmt.Errorf("%s: %s: this session has no commands", world.CellName(r.N), u.Command)
	}
	outer := s.past.command
	s.past.command = u
	defer func() { s.past.command = outer }()
	var made struct {
		value, shown display.Value
		err          error
	}
	varying, _ := s.opts.Commands.(Varying)
	varies := varying != nil && varying.Varies(s, u.Command)
	err := s.runner.Guard(ctx, func() {
		v, err := s.opts.Commands.Run(ctx, s, u.Command)
		if err != nil {
			made.err = s.commandError(u, r.N, err)
		}
		if v != nil && (!varies || s.heard.all) {
			s.heard.value(v)
		}
		if v != nil {
			made.value, made.shown = v, s.render(v, 0)
		}
	})
	if left := new(supervise.LeftError); errors.As(err, &left) {
		return err
	}
	if made.shown != nil {
		s.keepValue(r.N, made.value)
		if varies {
			r.Varies = append(r.Varies, len(r.Shown))
		}
		r.Shown = append(r.Shown, made.shown)
		r.Out = false
	}
	if err == nil {
		err = made.err
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return ErrInterrupted
	}
	return err
}

// runUnit commits a unit's declarations and runs its code. After a panic or an interrupt, the variables
// hold the values assigned so far. More says that more of the cell runs after this unit.
func (s *Session) runUnit(ctx context.Context, r *Result, u *compile.Unit, more bool) (quit bool, err error) {
	if u.Own != nil {
		if s.packages.Ran(u.Own) {
			return false, nil
		}
		defer func() { s.packages.Ended(u.Own, err) }()
	}
	for _, m := range u.Moves {
		if v := s.rt.Variable(m.From.Internal); v.IsValid() {
			s.rt.Initially(m.To.Internal, v)
		}
	}
	if err := s.load(u.Outs); err != nil {
		return false, err
	}
	before := map[string]*world.Entity{}
	for _, e := range u.Define {
		before[e.Name] = s.compiler.World.Names[e.Name]
	}
	s.compiler.World.Commit(&u.Change)
	if u.Program == nil {
		return false, nil
	}
	s.sleeps(u)
	var left *result
	if u.Shown != nil {
		left = &result{n: r.N, types: u.ShownTypes, from: u.Shown, listed: u.Listed}
	}
	rebound := s.rebound(u)
	ctx, timed := s.timedByHand(ctx, u)
	quit, err = s.execute(ctx, u, more, left.finish(s))
	timed()
	rebound()
	s.unassigned(u, before, err)
	s.renewAll(u.Replaced)
	for _, old := range u.Free {
		s.rt.Free(old.Internal)
	}
	for _, o := range u.Outs {
		if v := s.rt.Variable(o.Var); v.IsValid() {
			v.SetZero()
		}
	}
	if errors.Is(err, supervise.ErrExited) && r.N >= 0 { // of a check, see RunAside, nobody would see that it has not ended
		err = nil
		if left != nil && len(left.values) > 0 {
			err = s.guardError(supervise.ErrExited)
		}
	}
	if gone := new(supervise.LeftError); left == nil || err != nil && !errors.Is(err, ErrInterrupted) || errors.As(err, &gone) {
		return quit, err
	}
	if e := left.take(s, r); err == nil {
		err = e
	}
	return quit, err
}

// partial says whether a call that returned this error also returned a result worth keeping: it was
// interrupted, it paused, or its numbers became infinite or NaN after some steps.
func partial(err error) bool {
	interrupted, paused, bad := new(train.Interrupted), new(train.Paused), new(train.NotFinite)
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &interrupted) || errors.As(err, &paused) || errors.As(err, &bad) && bad.Step > 1
}

// unassigned takes back the declarations of a unit that failed or was stopped before it assigned its
// variables. A name that was new is undeclared again. A name that had another type has its old type and value
// again.
func (s *Session) unassigned(u *compile.Unit, before map[string]*world.Entity, err error) {
	if err == nil {
		return
	}
	var failed *FailedError
	var panicked *PanicError
	if !errors.As(err, &failed) && !errors.As(err, &panicked) && !errors.Is(err, ErrInterrupted) {
		return
	}
	at := token.NoPos
	if failed != nil {
		at = failed.pos
	} else if m := s.places.markAt(lower.CellSlot); m != nil {
		at = m.Pos
	}
	for _, name := range u.DeclaredFrom(at) {
		now, old := s.compiler.World.Names[name], before[name]
		if now == nil || old != nil && old.Internal == now.Internal {
			continue
		}
		if v := s.rt.Variable(now.Internal); v.IsValid() && !v.IsZero() {
			continue // it was assigned, now or later
		}
		if delete(s.compiler.World.Names, name); old != nil {
			s.compiler.World.Names[name] = old
			u.Free = slices.DeleteFunc(u.Free, func(e *world.Entity) bool { return e == old })
		}
	}
}

// A result is the value of a cell's trailing expression.
type result struct {
	n      int
	types  []types.Type
	from   ast.Expr // the expression; nil: a command's
	listed bool     // it is a list of expressions
	values []reflect.Value
	says   bool          // there is more to show than nil errors
	shown  display.Value // the values, rendered
	err    error         // the error that the expression returned
}

// finish returns the last call that the cell makes: it waits for the devices, so that an error that one finds
// late belongs to this cell, and renders the values. The session reads the rendered values when the cell has
// ended.
func (l *result) finish(s *Session) func() {
	return func() {
		if err := s.flight.Land(tensor.Context()); err != nil {
			panic(&tensor.Error{Op: "eval", Msg: err.Error()})
		}
		if l == nil {
			return
		}
		values := s.rt.Shown()
		if len(values) != len(l.types) {
			return
		}
		l.values = values
		shown := l.format(s)
		if l.says = len(shown) > 0; l.says {
			s.heard.value(display.Tuple(shown))
			l.shown = s.render(display.Tuple(shown), l.n)
		}
	}
}

// format returns what there is to show: no nil errors, and nothing beside an error.
func (l *result) format(s *Session) []display.Value {
	shown := make([]display.Value, 0, len(l.values))
	for i, v := range l.values {
		t := l.types[i]
		if isError(t) && i == len(l.values)-1 && !l.listed {
			if err, ok := asError(v); ok {
				l.err = &textError{err, err.Error()}
				return nil
			}
			if len(l.values) > 1 || world.IsError(t) {
				continue // a nil error says nothing
			}
		}
		one := s.format.Format(v, t)
		if l.from != nil {
			one = display.Noted(one, s.helper().NoteOf(l.from, t, s.source(l.n)))
		}
		shown = append(shown, one)
	}
	return shown
}

// take adds the cell's value to its result, and keeps it as Out[n].
func (l *result) take(s *Session, r *Result) error {
	if call, ok := l.from.(*ast.CallExpr); ok && l.err != nil && len(cell.Split(s.source(l.n))) > 1 { // as one in the middle
		return &FailedError{Diag: s.compiler.DiagAt(call.Pos(), 0, l.err.Error(), ""), Err: l.err, pos: call.Pos()}
	}
	if l.err != nil {
		return l.err
	}
	if l.shown != nil {
		r.Shown = append(r.Shown, l.shown)
		r.Out = true
	}
	if l.says {
		s.outs.keep(l.n, l.types[0], l.values[0])
	}
	return nil
}

// render renders a value for the front end. It returns nil if the cell was stopped meanwhile.
func (s *Session) render(v display.Value, result int) display.Value {
	c := s.rt.Current()
	before := s.rt.Cause(c)
	var shown display.Value
	if s.opts.Render == nil {
		shown = display.Render(v, 0, nil)
	} else {
		shown = s.opts.Render(v, result)
	}
	if s.rt.Cause(c) != before {
		return nil
	}
	return shown
}

// A textError is an error whose text was made when it was returned. Code of a cell may make that text, and
// such code runs only inside of cells.
type textError struct {
	error
	text string
}

// commandError returns the error of a command with its text. If the cell has more than the command, and the
// error names no place, the text begins with the command's line.
func (s *Session) commandError(u *compile.Unit, n int, err error) error {
	t := &textError{err, err.Error()}
	if source := s.source(n); len(cell.Join(cell.Split(source))) > 1 && !strings.HasPrefix(t.text, "In[") {
		line, _ := cell.LineCol(source, u.Piece.From)
		t.text = fmt.Sprintf("%s:%d: %s", world.CellName(n), line, t.text)
	}
	return t
}

func (t *textError) Error() string { return t.text }

// Unwrap returns the error without its text.
func (t *textError) Unwrap() error { return t.error }
