package ref

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

var disturbance = &scope.Key{Name: "disturbance"}

// Disturbed returns a context within which the reference computes a little wrong, in another way for each
// seed: every float that is rounded when it is computed changes by about as much as another backend may
// change it, and so does every operand of what rounds on its way, such as a sum. So the results of several
// seeds spread as far as those of any correct backend can (Monte Carlo arithmetic, Parker 1997): far where a
// small change of an operand is a large one of the result, as after a cancellation, and else little. Exact
// operations, such as comparisons, see their operands as they are.
func Disturbed(ctx context.Context, seed uint64) context.Context {
	return context.WithValue(ctx, disturbance, rand.New(rand.NewPCG(seed, 11)))
}

// grain is the relative change: two steps of a float32. Those of an F64 are finer.
const (
	grain = 1.0 / (1 << 22)
	finer = 1.0 / (1 << 29)
)

// disturbedOperands are those of an op that rounds on its way.
func disturbedOperands(rng *rand.Rand, op ir.Op, args []value) []value {
	row := ir.RowOf(op)
	if rng == nil || row.Tol == 0 || row.Family == ir.FamilyElementwise {
		return args
	}
	list := slices.Clone(args)
	for i := range list {
		list[i] = copyOf(list[i])
		disturb(rng, list[i], grain)
	}
	return list
}

// disturbResult changes what an op computed, and an element by no less than its row allows.
func disturbResult(rng *rand.Rand, op ir.Op, v value) {
	row := ir.RowOf(op)
	if rng == nil || row.Tol == 0 {
		return
	}
	amplitude := grain
	if row.Family == ir.FamilyElementwise {
		amplitude = max(amplitude, row.Tol)
	}
	disturb(rng, v, amplitude)
}

func disturb(rng *rand.Rand, v value, amplitude float64) {
	if v.dtype == dtype.F64 {
		amplitude *= finer
	}
	for i := range v.f {
		v.f[i] *= 1 + amplitude*(2*rng.Float64()-1)
	}
}
