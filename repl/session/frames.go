package session

import (
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// traceLine matches a line of the interpreter about a function that a panic leaves: 3/cell:2:5: panic:
// mcs.f(...).
var traceLine = lazy.Regexp(`^(\d+)/cell:(\d+):(\d+): panic: mcs\.?([^(]*)\(`)

// userFrames returns the calls of cells' code that a panic went through, and the place of the panic. The
// interpreter names the functions, but it confuses a function literal with the function around it, and its
// places may be those of another statement of the same kind. So the places come from the marks.
func (ps *places) userFrames(trace []string, value any, stack []string) (list []Frame, place *Diag) {
	add := func(m *lower.Mark) {
		if m == nil {
			return
		}
		f := ps.frame(m)
		if len(list) == 0 {
			place = ps.panicPlace(m, value, stack)
			f.Line, f.Col = place.Line, place.Col
		}
		if n := len(list); n == 0 || list[n-1] != f {
			list = append(list, f)
		}
	}
	literal := ps.markAt(lower.LiteralSlot)
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
		if inLiteral && literal != nil && ps.cellOf(literal) == cell && ps.display(name) == strings.TrimSuffix(strings.ReplaceAll(literal.Func, ".func", ""), "func") {
			add(literal)
			literal = nil
			continue
		}
		if name == "cell" {
			break // its caller, if it has one, is the statement below
		}
		add(ps.functionMark(name))
	}
	if m := ps.markAt(lower.CellSlot); m != nil {
		add(m)
	}
	return list, place
}

// display returns the name that marks use for a function, from the interpreter's name for it.
func (ps *places) display(internal string) string {
	if internal == "cell" {
		return ""
	}
	if m := ps.functionMark(internal); m != nil {
		return m.Func
	}
	return internal
}

func (ps *places) frame(m *lower.Mark) Frame {
	p := ps.compiler.Position(m.Pos)
	f := Frame{Cell: yaegi.CellOf(p.Filename), Line: p.Line, Col: p.Column, Func: m.Func}
	if _, file := ps.compiler.Text(f.Cell); file != "" {
		f.Cell, f.File = 0, file
	}
	return f
}

// functionMark returns the mark of the newest statement in a declared function.
func (ps *places) functionMark(name string) *lower.Mark {
	for _, d := range ps.compiler.Functions(name) {
		if m := ps.markAt(d.Slot); m != nil && ps.cellOf(m) == d.Cell {
			return m
		}
	}
	return nil
}

// panicPlace returns the place in a statement that panicked: the call of the engine's function that the
// goroutine's stack or else the panic names, or the statement's only call, or the whole statement.
func (ps *places) panicPlace(m *lower.Mark, value any, stack []string) *Diag {
	var call *lower.Call
	if te, ok := value.(tensorError); ok {
		_, name := engineCall(stack)
		if call = opCall(m.Calls, name); call == nil {
			call = opCall(m.Calls, te.TensorOp())
		}
	} else if _, fault := value.(runtime.Error); !fault && len(m.Calls) == 1 {
		call = &m.Calls[0]
	}
	pos := m.Pos
	if call != nil {
		pos = call.Pos
	}
	d := ps.compiler.DiagAt(pos, 0, "", "")
	return &d
}

// engineFrame matches a line of a goroutine's stack about an exported function or method of the engine.
var engineFrame = lazy.Regexp(`^github\.com/mcs-notebook/mcs/engine/(?:\S*/)?(\w+)\.(?:\(\*\w+\)\.|\w+\.)?([A-Z]\w*)(?:\[\.\.\.\])?\(`)

// engineCall returns the package and the name of the engine's function that the code of a cell called when it
// panicked, "" if there is none: in a goroutine's stack the last between the panic and the interpreter or the
// session.
func engineCall(stack []string) (pkg, name string) {
	begun := false
	for _, line := range stack {
		switch m := engineFrame().FindStringSubmatch(line); {
		case strings.HasPrefix(line, "panic("):
			begun = true
		case begun && m != nil:
			pkg, name = m[1], m[2]
		case begun && (strings.HasPrefix(line, "github.com/traefik/yaegi/") || strings.HasPrefix(line, "github.com/mcs-notebook/mcs/repl/")):
			return pkg, name
		}
	}
	return "", ""
}

// opCall finds the call that an op's name stands for: matmul is MatMul, layer_norm is LayerNorm. It
// returns nil if several calls fit. An evaluation fails in the last of the calls that made the value.
func opCall(calls []lower.Call, op string) *lower.Call {
	calls = slices.DeleteFunc(slices.Clone(calls), func(c lower.Call) bool { return c.Name == lower.Values })
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
		return &calls[0] // the outermost call
	}
	return found
}

// plain is the name of an op without what its function's name does not have: layer_norm as layernorm.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
