package session

import (
	"context"
	"go/types"
	"reflect"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/kernel"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// A host gives packages supervise and program the parts of a session that they need.
type host struct{ s *Session }

func (h host) Cell() string { return world.CellName(h.s.past.n) }

// Context returns ctx with the session's sinks of drawings and of progress events, its generator of random
// tensors, default device, guard, precision and flight, and with the places of texts.
func (h host) Context(ctx context.Context) context.Context {
	s := h.s
	ctx = progress.WithCanvas(ctx, s.draw)
	if s.opts.Progress != nil {
		ctx = progress.With(ctx, func(e progress.Event) { s.opts.Progress(e.Task, e.Done, e.Total, e.Note, e.Elapsed) })
	}
	ctx = tensor.WithPrecision(tensor.WithGuard(ctx, &s.finite), &s.precise)
	ctx = device.WithFlight(device.WithChoice(tensor.WithRNG(ctx, s.random), &s.device), &s.flight)
	return kernel.WithTexts(ctx, s.texts())
}

// Begin sets the variable ctx, unless a cell has given it another value, and forgets the marks of earlier
// code.
func (h host) Begin(ctx context.Context) {
	if v := h.s.rt.Variable("ctx"); v.IsValid() && (v.IsNil() || v.Comparable() && v.Interface() == h.s.given) {
		v.Set(reflect.ValueOf(&ctx).Elem())
		h.s.given = ctx
	}
	for _, slot := range []int{lower.CellSlot, lower.LiteralSlot, lower.EngineSlot} {
		h.s.rt.Variable(lower.MarkVar(slot)).SetInt(0)
	}
}

func (h host) Place(op string) string { return h.s.places.place(op) }

func (h host) Here() string { return h.s.places.here() }

func (h host) Panicked(o rt.Outcome) error { return h.s.panicked(o) }

func (h host) Stopped(cause error) error { return h.s.guardError(cause) }

func (h host) Flush() { h.s.streams.Flush() }

func (h host) Tell(format string, args ...any) { h.s.Tell(format, args...) }

// RunUnit runs a unit of one of the user's packages.
func (h host) RunUnit(ctx context.Context, u *compile.Unit) error {
	_, err := h.s.runUnit(ctx, &Result{}, u, false)
	return err
}

func (h host) Changed() { h.s.past.generation++ }

func (h host) Renewed(was, now *types.TypeName) { h.s.renew(was, now) }
