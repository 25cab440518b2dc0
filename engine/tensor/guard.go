package tensor

import (
	"context"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/plan"
)

// A Guard stops evaluations whose numbers go wrong. The zero Guard is off.
type Guard struct{ on atomic.Bool }

// Set switches the guard on or off.
func (g *Guard) Set(on bool) { g.on.Store(on) }

// On says whether it is on.
func (g *Guard) On() bool { return g.on.Load() }

// WithGuard returns a context within which evaluations obey g. While it is on, the device is waited for after
// each launch; the first launch whose result has a NaN or an infinity ends the evaluation with an *Error that
// names the operation, its shape, where it was called if that is known, and the ranges of what it read. A
// step of an optimizer that changes parameters in place is made all the same.
func WithGuard(ctx context.Context, g *Guard) context.Context { return plan.WithGuard(ctx, &g.on) }
