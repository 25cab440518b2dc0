package tensor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// Reductions, scans, orders and row ops of what holds NaN, infinities, zeros of both signs, the greatest and
// the least numbers, at sizes below and above a vector, are on every device what they are on the reference.
func TestReductionsOfSpecialValues(t *testing.T) {
	exact, err := device.Lookup("ref")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	specials := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 65504, -65504, 1, -1}
	// kinds of contents: none of the specials but ties, some NaN, some infinities, all alike
	fill := func(kind, n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(rng.IntN(7) - 3)
			switch {
			case kind == 1 && rng.IntN(20) == 0:
				v[i] = specials[rng.IntN(len(specials))]
			case kind == 2 && rng.IntN(20) == 0:
				v[i] = specials[1+rng.IntN(2)]
			case kind >= 3:
				v[i] = specials[kind-3]
			}
		}
		return v
	}
	ops := []struct {
		name string
		f    func(x Tensor, axis int) Tensor
	}{
		{"sum", func(x Tensor, axis int) Tensor { return x.Sum(axis) }},
		{"prod", func(x Tensor, axis int) Tensor { return x.Prod(axis) }},
		{"mean", func(x Tensor, axis int) Tensor { return x.Mean(axis) }},
		{"max", func(x Tensor, axis int) Tensor { return x.Max(axis) }},
		{"min", func(x Tensor, axis int) Tensor { return x.Min(axis) }},
		{"max of everything", func(x Tensor, _ int) Tensor { return x.Max() }},
		{"max of -x", func(x Tensor, axis int) Tensor { return x.Neg().Max(axis).Neg() }},
		{"arg max", func(x Tensor, axis int) Tensor { return x.ArgMax(axis) }},
		{"arg min", func(x Tensor, axis int) Tensor { return x.ArgMin(axis) }},
		{"cumsum", func(x Tensor, axis int) Tensor { return x.CumSum(axis) }},
		{"softmax", func(x Tensor, axis int) Tensor { return x.Softmax(axis) }},
		{"log softmax", func(x Tensor, axis int) Tensor { return x.LogSoftmax(axis) }},
		{"layer norm", func(x Tensor, _ int) Tensor { return x.LayerNorm(Tensor{}, Tensor{}, 1e-5) }},
		{"RMS norm", func(x Tensor, _ int) Tensor { return x.RMSNorm(Tensor{}, 1e-5) }},
		{"top", func(x Tensor, _ int) Tensor { _, i := x.TopK(min(3, x.Len(-1))); return i }},
		{"bottom", func(x Tensor, _ int) Tensor { _, i := x.BottomK(min(3, x.Len(-1))); return i }},
		{"sum of squares", func(x Tensor, _ int) Tensor { return SumSquares([]Tensor{x}) }},
		{"log sum exp", func(x Tensor, axis int) Tensor { return x.LogSumExp(axis) }},
		{"cross entropy", func(x Tensor, axis int) Tensor {
			return CrossEntropy(x, Full(0, x.Len(0)).Cast(dtype.I64).To(x.Device()), CrossEntropyOptions{Smoothing: 0.1 * float64(axis)})
		}},
		{"matmul", func(x Tensor, _ int) Tensor { return x.MatMul(x.Transpose()) }},
	}
	once := []string{"max of everything", "layer norm", "RMS norm", "top", "bottom", "sum of squares", "matmul"} // along no axis that is given
	for _, dev := range everyDevice(t) {
		if dev == exact {
			continue
		}
		for _, dt := range []dtype.Type{dtype.F64, dtype.F32, dtype.BF16, dtype.I32, dtype.U64, dtype.Bool} {
			if (dt == dtype.F64 || dt == dtype.U64) && !long.CI() {
				continue
			}
			for n, shape := range [][]int{{1, 1}, {3, 5}, {2, 40}, {40, 2}, {3, 260}, {260, 3}, {0, 3}, {3, 0}} {
				for kind := range 3 + len(specials) {
					if dt.Int() && kind > 0 && kind != 6 {
						continue // as integers, the others are far apart, or alike
					}
					if kind > 2 && !long.Tests() && (dt != dtype.F32 || n%2 == 0) {
						continue // all alike
					}
					host := From(fill(kind, shape[0]*shape[1]), shape...).To(exact).Cast(dt)
					for _, op := range ops {
						for axis := range 2 {
							if axis > 0 && slices.Contains(once, op.name) {
								break
							}
							name := fmt.Sprintf("%s of %v%v along %d, contents %d, on %v", op.name, dt, shape, axis, kind, dev)
							sameOutcome(t, name, dt, func(x Tensor) Tensor { return op.f(x, axis) }, host, host.To(dev))
						}
					}
				}
			}
		}
	}
}

// sameOutcome compares what f makes of x, on the reference, and of y: both are refused, or both are close.
func sameOutcome(t *testing.T, name string, dt dtype.Type, f func(Tensor) Tensor, x, y Tensor) {
	t.Helper()
	var want, got Tensor
	refused := Try(func() { want = f(x).Eval() })
	if err := Try(func() { got = f(y).Eval() }); (err == nil) != (refused == nil) {
		t.Errorf("%s: got error %v, the reference %v", name, err, refused)
		return
	}
	if refused != nil {
		return
	}
	tolerance := map[dtype.Type]float64{dtype.BF16: 1e-2, dtype.F16: 2e-3}[dt]
	p, q := got.Float64s(), want.Float64s()
	for i := range q {
		same := p[i] == q[i] || p[i] != p[i] && q[i] != q[i]
		near := math.Abs(p[i]-q[i]) <= (2e-5+tolerance)*max(1, math.Abs(q[i])) && !math.IsInf(q[i], 0)
		if !same && !near {
			t.Errorf("%s: element %d is %v, on the reference %v", name, i, p[i], q[i])
			return
		}
	}
}
