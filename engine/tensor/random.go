package tensor

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// An RNG makes random tensors. It is counter-based (Philox4x32-10): tensor number c of seed s has the same
// values on every device, whenever it is computed. An RNG may be used by several goroutines.
type RNG struct {
	mu    sync.Mutex
	state RNGState
}

// RNGState is where an RNG stands: with it the same numbers follow.
type RNGState struct {
	Seed    uint64
	Counter uint64 // how many tensors, and numbers of Uint64, were made
}

// NewRNG returns a generator that starts at the beginning of a seed's sequence.
func NewRNG(seed uint64) *RNG { return &RNG{state: RNGState{Seed: seed}} }

// State returns where the generator stands.
func (r *RNG) State() RNGState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// SetState moves the generator.
func (r *RNG) SetState(s RNGState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = s
}

func (r *RNG) next() RNGState {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.state
	r.state.Counter++
	return s
}

// Uint64 draws one number on the host, and counts as a tensor does. So an RNG is a source of math/rand/v2:
// rand.New(tensor.DefaultRNG()).
func (r *RNG) Uint64() uint64 {
	s := r.next()
	return rand.NewPCG(s.Seed, s.Counter).Uint64()
}

// fill draws a tensor on a device: the numbers are the same on each.
func (r *RNG) fill(dev ir.Device, op ir.Op, shape []int) Tensor {
	wantShape(op.String(), shape)
	s := r.next()
	if shape == nil {
		shape = []int{}
	}
	key := ir.NewConst(dev, dtype.I64, ir.Scalar{I: int64(s.Seed)})
	counter := ir.NewConst(dev, dtype.I64, ir.Scalar{I: int64(s.Counter)})
	if tr := tracing(); tr != nil {
		tr.draw(r, s, key, counter)
	}
	return wrap(apply(op, ir.Attr{Shape: shape, DType: dtype.F32}, key, counter))
}

// Rand returns f32 numbers, uniform in [0, 1).
func (r *RNG) Rand(shape ...int) Tensor { return r.fill(backend.Default(), ir.Rand, shape) }

// Randn returns f32 numbers of the normal distribution with mean 0 and variance 1.
func (r *RNG) Randn(shape ...int) Tensor { return r.fill(backend.Default(), ir.RandNormal, shape) }

// RandInt returns i64 numbers, uniform in low … high−1. Of n > 2²⁴ numbers the chances differ by the share
// n/2⁶³ at most.
func (r *RNG) RandInt(low, high int, shape ...int) Tensor {
	n := high - low
	switch {
	case n <= 0:
		fail("rand_int", "got range %d…%d, want low < high and fewer than 2⁶³ numbers", low, high)
	case n <= 1<<24:
		return r.Rand(shape...).Mul(float64(n)).Cast(dtype.I64).Add(low)
	}
	const bits = 24 // of one draw
	draw := func(bits int) Tensor { return r.RandInt(0, 1<<bits, shape...) }
	return draw(63 - 2*bits).Shl(bits).Or(draw(bits)).Shl(bits).Or(draw(bits)).Mod(n).Add(low)
}

// Perm returns 0 … n−1 in random order, i64.
func (r *RNG) Perm(n int) Tensor {
	const bits = 24 // of one draw; two make equal keys rare
	high, low := r.RandInt(0, 1<<bits, n), r.RandInt(0, 1<<bits, n)
	return high.Shl(bits).Or(low).ArgSort(0)
}

// Dropout makes each element of x 0 with probability p and divides the others by 1 − p, so that the mean
// stays (Srivastava et al. 2014). The gradient flows through the same elements.
func (r *RNG) Dropout(x Tensor, p float64) Tensor {
	n := floats(x.node("dropout"))
	x = wrap(n)
	switch {
	case !(p >= 0 && p <= 1):
		fail("dropout", "got probability %v, want one from 0 to 1", p)
	case p == 0:
		return x
	case p == 1:
		return x.Mul(0)
	}
	keep := r.fill(n.Dev, ir.Rand, n.Shape).Ge(p)
	return Where(keep, x.Mul(1/(1-p)), 0)
}

// Categorical draws n indices (i64 [… n]) from the distributions softmax(logits), logits [… V]. Where they
// are computed, logits that have a NaN fail, and those that are all −Inf.
func (r *RNG) Categorical(logits Tensor, n int) Tensor {
	x := logits.Unsqueeze(-2)
	shape := x.Shape()
	shape[len(shape)-2] = n
	// Gumbel's trick: the largest of logit − log(−log u) is drawn from the softmax.
	u := r.fill(x.node("categorical").Dev, ir.Rand, shape).Maximum(math.SmallestNonzeroFloat32 * (1 << 24))
	x = x.Sub(u.Log().Neg().Log())
	best := x.ArgMax(-1).Unsqueeze(-1)
	refused := Where(x.TakeAlong(best, -1).Gt(math.Inf(-1)), 0, ir.NoDraw)
	return best.TakeAlong(refused, -1).Squeeze(-1)
}

// shared is the generator of all code that WithRNG gave none.
var shared = NewRNG(0)

var generator = &scope.Key{Name: "generator"}

// WithRNG returns a context within which Rand, Randn, RandInt, RandPerm, Dropout and Categorical draw from r.
// See [Within].
func WithRNG(ctx context.Context, r *RNG) context.Context {
	return context.WithValue(ctx, generator, r)
}

// DefaultRNG is the generator behind Rand, Randn, RandInt, RandPerm, Dropout and Categorical: the one that
// [WithRNG] gave, or one that the process shares, which starts with seed 0.
func DefaultRNG() *RNG {
	if r, ok := scope.Context().Value(generator).(*RNG); ok {
		return r
	}
	return shared
}

// Seed restarts the [DefaultRNG].
func Seed(seed uint64) { DefaultRNG().SetState(RNGState{Seed: seed}) }

// Rand returns f32 numbers, uniform in [0, 1).
func Rand(shape ...int) Tensor { return DefaultRNG().Rand(shape...) }

// Randn returns f32 numbers of the normal distribution with mean 0 and variance 1.
func Randn(shape ...int) Tensor { return DefaultRNG().Randn(shape...) }

// RandInt returns i64 numbers, uniform in low … high−1.
func RandInt(low, high int, shape ...int) Tensor { return DefaultRNG().RandInt(low, high, shape...) }

// Categorical draws n indices (i64 [… n]) from the distributions softmax(logits), logits [… V].
func Categorical(logits Tensor, n int) Tensor { return DefaultRNG().Categorical(logits, n) }

// RandPerm returns 0 … n−1 in random order, i64.
func RandPerm(n int) Tensor { return DefaultRNG().Perm(n) }

// Dropout makes each element of x 0 with probability p and divides the others by 1 − p.
func Dropout(x Tensor, p float64) Tensor { return DefaultRNG().Dropout(x, p) }
