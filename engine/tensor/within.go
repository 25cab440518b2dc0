package tensor

import (
	"context"

	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// Within calls f. What f evaluates in this goroutine obeys ctx meanwhile: it stops when ctx is done, with a
// panic of an *Error that wraps ctx's cause, and it follows the settings that ctx carries ([WithFusion],
// [WithRNG], device.WithChoice). Within calls nest; the innermost context alone says when work stops, and a
// setting that it lacks is that of the one around it.
//
// A goroutine that f starts has no context: it calls Within itself. Without Within nothing stops evaluations,
// fusion is on, and the generator and the default device are those that all such code of the process shares,
// as it shares the generator of math/rand.
func Within(ctx context.Context, f func()) { scope.Within(ctx, f) }

// Context returns the context of the innermost Within around the caller, or the background context. Code that
// starts a goroutine for its own work has that call Within with it.
func Context() context.Context { return scope.Context() }

// EvalContext computes tensors together, as [Eval] does, and obeys ctx. What Eval panics with it returns:
// ctx's cause if it was stopped by that.
func EvalContext(ctx context.Context, ts ...Tensor) error {
	return Try(func() {
		Within(ctx, func() { Eval(ts...) })
	})
}

// WithFusion returns a context within which the planner's fusion rules are on or off: off shows what each
// rule buys.
func WithFusion(ctx context.Context, on bool) context.Context { return plan.WithFusion(ctx, on) }
