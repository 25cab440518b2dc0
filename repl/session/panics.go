package session

import (
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A tensorError is a panic of the engine: a wrong shape or dtype is the caller's mistake, and shown like a
// compile error.
type tensorError interface {
	error
	TensorOp() string
}

// Error is the place, the message, the line with a caret, and where the function was called.
func (e *PanicError) Error() string {
	msg := e.text
	if _, ok := e.Value.(tensorError); !ok {
		msg = "panic: " + msg
	}
	if e.Diag == nil {
		return msg + frames(e.Frames)
	}
	d := *e.Diag
	d.Message = msg
	rest := e.Frames
	if len(rest) > 0 {
		rest = rest[1:]
	}
	return d.String() + frames(rest)
}

// frames lists calls, innermost first.
func frames(list []Frame) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "\n    called from %s", f.Place())
		if f.Func != "" {
			fmt.Fprintf(&b, " in %s", f.Func)
		}
	}
	return b.String()
}

// panicked is the error of a cell that has panicked.
func (s *Session) panicked(o rt.Outcome) error {
	switch v := o.Value.(type) {
	case rt.Failed:
		m := s.compiler.Mark(v.Mark)
		return &FailedError{Diag: s.compiler.DiagAt(m.Pos, 0, v.Text, ""), Err: v.Err, pos: m.Pos}
	case stdlib.ExitRequest:
		return v
	}
	e := &PanicError{Value: o.Value, text: panicText(o), Stack: strings.Split(strings.TrimSpace(string(o.Stack)), "\n")}
	e.Frames, e.Diag = s.userFrames(o.Trace, e.Value)
	if e.Diag != nil {
		e.Diag.Hint = s.boundsHint(e)
	}
	s.lastPanic = e
	return e
}

// panicText is what a panic says. Where its value cannot be asked, because that panics in turn or does not
// end, it is the value's type.
func panicText(o rt.Outcome) string {
	if !o.Mute {
		return o.Text
	}
	return fmt.Sprintf("%T (which panics when it is asked what it says)", o.Value)
}

// traceLine is what the interpreter writes about a function that a panic leaves: 3/cell:2:5: panic:
// mcs.f(...).
var traceLine = lazy.Regexp(`^(\d+)/cell:(\d+):(\d+): panic: mcs\.?([^(]*)\(`)

// userFrames are the calls of cells' code that a panic went through. The interpreter tells the functions, but
// it takes the function around a literal for the literal, and its places are those of any statement of the
// same kind; so the places come from the marks.
func (s *Session) userFrames(trace []string, value any) (list []Frame, place *Diag) {
	add := func(m *lower.Mark) {
		if m == nil {
			return
		}
		f := s.frame(m)
		if len(list) == 0 {
			place = s.panicPlace(m, value)
			f.Line, f.Col = place.Line, place.Col
		}
		if n := len(list); n == 0 || list[n-1] != f {
			list = append(list, f)
		}
	}
	literal := s.markAt(lower.LiteralSlot)
	for _, line := range trace {
		m := traceLine().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name, inLiteral := strings.CutSuffix(m[4], ".func")
		for strings.HasSuffix(name, ".func") {
			name = strings.TrimSuffix(name, ".func")
		}
		cell, _ := strconv.Atoi(m[1])
		if inLiteral && literal != nil && s.cellOf(literal) == cell && s.display(name) == strings.TrimSuffix(strings.ReplaceAll(literal.Func, ".func", ""), "func") {
			add(literal)
			literal = nil
			continue
		}
		if name == "cell" {
			break // what called it, if anything did, is the statement below
		}
		add(s.functionMark(name))
	}
	if m := s.markAt(lower.CellSlot); m != nil {
		add(m)
	}
	return list, place
}

// display is the name that marks have for a function of the interpreter's.
func (s *Session) display(internal string) string {
	if internal == "cell" {
		return ""
	}
	if m := s.functionMark(internal); m != nil {
		return m.Func
	}
	return internal
}

func (s *Session) frame(m *lower.Mark) Frame {
	p := s.compiler.Position(m.Pos)
	f := Frame{Cell: yaegi.CellOf(p.Filename), Line: p.Line, Col: p.Column, Func: m.Func}
	if _, file := s.text(f.Cell); file != "" {
		f.Cell, f.File = 0, file
	}
	return f
}

func (s *Session) markAt(slot int) *lower.Mark {
	v := s.rt.Variable(lower.MarkVar(slot))
	if !v.IsValid() {
		return nil
	}
	return s.compiler.Mark(int(v.Int()))
}

// functionMark is the statement that a declared function has begun.
func (s *Session) functionMark(name string) *lower.Mark {
	for _, d := range s.compiler.Functions(name) {
		if m := s.markAt(d.Slot); m != nil && s.cellOf(m) == d.Cell {
			return m
		}
	}
	return nil
}

// cellOf is the number of the cell, or of the package's file, that a mark is in.
func (s *Session) cellOf(m *lower.Mark) int { return yaegi.CellOf(s.compiler.Position(m.Pos).Filename) }

// panicPlace is where a statement panicked: at the call of the tensor op that says so, at its only call, or
// somewhere in it.
func (s *Session) panicPlace(m *lower.Mark, value any) *Diag {
	var call *lower.Call
	if te, ok := value.(tensorError); ok {
		call = opCall(m.Calls, te.TensorOp())
	} else if _, fault := value.(runtime.Error); !fault && len(m.Calls) == 1 {
		call = &m.Calls[0]
	}
	pos := m.Pos
	if call != nil {
		pos = call.Pos
	}
	d := s.compiler.DiagAt(pos, 0, "", "")
	return &d
}

// opCall finds the call that an op's name stands for: matmul is MatMul, layer_norm is LayerNorm. It is not
// found if several might be meant. What fails in an evaluation is the last of the calls that have made the
// value.
func opCall(calls []lower.Call, op string) *lower.Call {
	calls = slices.DeleteFunc(slices.Clone(calls), func(c lower.Call) bool { return c.Name == lower.Values })
	plain := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
	var found *lower.Call
	for i := range calls {
		if plain(calls[i].Name) == plain(op) {
			if found != nil {
				return nil
			}
			found = &calls[i]
		}
	}
	if found == nil && (len(calls) == 1 || op == "eval" && len(calls) > 0) {
		return &calls[0] // the outermost one
	}
	return found
}

// guardError says where a cell was stopped that would have used up the machine.
func (s *Session) guardError(cause error) error {
	e := &PanicError{Value: cause, text: cause.Error()}
	if m := s.markAt(lower.CellSlot); m != nil {
		f := s.frame(m)
		d := s.compiler.DiagAt(m.Pos, 0, "", "")
		e.Frames, e.Diag = []Frame{f}, &d
	}
	s.lastPanic = e
	return e
}

// crashed reports a panic in a goroutine.
func (s *Session) crashed(mark int, o rt.Outcome) {
	text := panicText(o)
	if failed, ok := o.Value.(rt.Failed); ok {
		o.Value, text = failed.Err, failed.Text
	}
	if s.program != nil {
		s.program.report(s.streams.Err, o.Value, text, 2, nil)
		s.program.end(statusPanic)
	}
	where := ""
	if m := s.compiler.Mark(mark); m != nil {
		d := s.compiler.DiagAt(m.Pos, 1, "", "")
		where = d.Place() + ": "
	}
	s.tell("%spanic in goroutine: %s", where, text)
}

func internalPanic(p any) *PanicError {
	return &PanicError{Value: p, text: fmt.Sprint(p), Stack: strings.Split(string(debug.Stack()), "\n")}
}

// isError says whether a type's values are errors.
func isError(t types.Type) bool {
	return types.Implements(t, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}

// asError is the error in a variable, if it is not nil.
func asError(v reflect.Value) (error, bool) {
	if v.Kind() == reflect.Interface && v.IsNil() {
		return nil, false
	}
	u := rt.Inner(v)
	if !u.IsValid() || !u.CanInterface() {
		return nil, false
	}
	err, ok := u.Interface().(error)
	return err, ok && err != nil
}

// A FailedError is an error that a top-level statement returned and left out: it stops the cell.
type FailedError struct {
	Diag Diag
	Err  error

	pos token.Pos
}

func (e *FailedError) Error() string { return e.Diag.String() }

// Unwrap is the error that was returned.
func (e *FailedError) Unwrap() error { return e.Err }
