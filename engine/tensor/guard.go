package tensor

import (
	"context"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
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

// A Precision says how precise products of f32 are. The zero Precision is that of f32.
type Precision struct{ tf32 atomic.Bool }

// WithPrecision returns a context within which evaluations obey p, and [AllowTF32] changes it.
func WithPrecision(ctx context.Context, p *Precision) context.Context {
	return plan.WithTF32(ctx, &p.tf32)
}

// AllowTF32 lets devices round the operands of products and attention of f32 to TF32, which has 11 bits of
// precision instead of 24; sums stay in f32. GPUs with tensor cores are several times as fast then. The
// devices "cpu" and "ref" compute as before. It holds for the code within the caller's context
// ([WithPrecision]; a session has its own), or else for all other code of the process.
func AllowTF32(on bool) { plan.SwitchTF32(scope.Context()).Store(on) }
