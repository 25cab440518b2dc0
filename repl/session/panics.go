package session

import (
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/supervise"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A tensorError is a panic of the engine. A wrong shape or dtype is a mistake of the calling code, so it
// is shown like a compile error.
type tensorError interface {
	error
	TensorOp() string
}

// Error gives the place, the message, the line with a caret, and the calls that led there.
func (e *PanicError) Error() string {
	msg := e.text
	switch e.Value.(type) {
	case tensorError:
	case *supervise.DeadlockError:
		msg = "fatal error: " + msg
	default:
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

// frames formats calls, innermost first.
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

// panicked returns the error of a cell that has panicked.
func (s *Session) panicked(o rt.Outcome) error {
	switch v := o.Value.(type) {
	case rt.Failed:
		m := s.compiler.Mark(v.Mark)
		return &FailedError{Diag: s.compiler.DiagAt(m.Pos, 0, v.Text, ""), Err: v.Err, pos: m.Pos}
	case stdlib.ExitRequest:
		return v
	}
	e := &PanicError{Value: o.Value, text: panicText(o), Stack: strings.Split(strings.TrimSpace(string(o.Stack)), "\n")}
	if te, ok := e.Value.(tensorError); ok { // an op that is made of others fails in one of these
		if pkg, name := engineCall(e.Stack); pkg == "tensor" && plain(name) != plain(te.TensorOp()) {
			e.text = strings.ToLower(name) + ": " + e.text
		}
	}
	e.Frames, e.Diag = s.places.userFrames(o.Trace, e.Value, e.Stack)
	s.past.lastPanic = e
	return e
}

// panicText returns the text of a panic's value. If the value's own methods panic or do not end, it is the
// value's type.
func panicText(o rt.Outcome) string {
	if !o.Mute {
		return o.Text
	}
	return fmt.Sprintf("%T (which panics when it is asked what it says)", o.Value)
}

// guardError says where the watchdog stopped a cell that would have exhausted the machine.
func (s *Session) guardError(cause error) error {
	e := &PanicError{Value: cause, text: cause.Error()}
	if m := s.places.markAt(lower.CellSlot); m != nil {
		f := s.places.frame(m)
		d := s.compiler.DiagAt(m.Pos, 0, "", "")
		e.Frames, e.Diag = []Frame{f}, &d
	}
	s.past.lastPanic = e
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
	s.Tell("%spanic in goroutine: %s", where, text)
}

// isError says whether a type's values are errors.
func isError(t types.Type) bool {
	return types.Implements(t, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}

// asError returns the error in a variable, if it is not nil.
func asError(v reflect.Value) (error, bool) {
	if v.Kind() == reflect.Interface && v.IsNil() {
		return nil, false
	}
	u := rt.Inner(v)
	if !u.IsValid() || !u.CanInterface() {
		return nil, false
	}
	err, ok := reflect.TypeAssert[error](u)
	return err, ok && err != nil
}

// A FailedError is an error that a top-level statement returned and did not assign. It stops the cell.
type FailedError struct {
	Diag Diag
	Err  error

	pos token.Pos
}

func (e *FailedError) Error() string { return e.Diag.String() }

// Unwrap returns the error of the statement.
func (e *FailedError) Unwrap() error { return e.Err }
