package session

import (
	"context"
	"go/types"
	"reflect"

	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// A host is the session as those see it who run its cells, and who load the packages of the user's.
type host struct{ s *Session }

func (h host) Cell() string { return world.CellName(h.s.past.n) }

func (h host) Context(ctx context.Context) context.Context { return h.s.settings(h.s.progress(ctx)) }

// Begin gives the variable ctx its value, and forgets where code was.
func (h host) Begin(ctx context.Context) {
	if v := h.s.rt.Variable("ctx"); v.IsValid() {
		v.Set(reflect.ValueOf(&ctx).Elem())
	}
	for _, slot := range []int{lower.CellSlot, lower.LiteralSlot, lower.EngineSlot} {
		h.s.rt.Variable(lower.MarkVar(slot)).SetInt(0)
	}
}

func (h host) Place(op string) string { return h.s.places.place(op) }

func (h host) Panicked(o rt.Outcome) error { return h.s.panicked(o) }

func (h host) Stopped(cause error) error { return h.s.guardError(cause) }

func (h host) Flush() { h.s.streams.Flush() }

func (h host) Tell(format string, args ...any) { h.s.tell(format, args...) }

// RunUnit runs a unit of a package of the user's.
func (h host) RunUnit(ctx context.Context, u *compile.Unit) error {
	_, err := h.s.runUnit(ctx, &Result{}, u, false)
	return err
}

func (h host) Changed() { h.s.past.generation++ }

func (h host) Renewed(was, now *types.TypeName) { h.s.renew(was, now) }
