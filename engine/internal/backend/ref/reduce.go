package ref

import (
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	ops[ir.Sum] = fold(0, 0, plus[float64], plus[int64])
	ops[ir.Prod] = fold(1, 1, func(x, y float64) float64 { return x * y }, func(x, y int64) int64 { return x * y })
	ops[ir.ReduceMax] = one(func(in *backend.Inst, a []value) value {
		lo, _ := ir.IntRange(a[0].dtype)
		return reduce(in, a[0], math.Inf(-1), lo, larger[float64], arithmetic[ir.Max].of(a[0].dtype))
	})
	ops[ir.ReduceMin] = one(func(in *backend.Inst, a []value) value {
		_, hi := ir.IntRange(a[0].dtype)
		return reduce(in, a[0], math.Inf(1), int64(hi), smaller[float64], arithmetic[ir.Min].of(a[0].dtype))
	})
	ops[ir.Mean] = one(mean)
	ops[ir.ArgMax], ops[ir.ArgMin] = one(argBest), one(argBest)
	ops[ir.CumSum] = one(cumSum)
	ops[ir.SumSquares] = one(sumSquares)
}

func fold(f0 float64, i0 int64, f func(x, y float64) float64, g func(x, y int64) int64) func(*backend.Inst, []value) []value {
	return one(func(in *backend.Inst, a []value) value { return reduce(in, a[0], f0, i0, f, g) })
}

// reduce folds over Attr.Axes, which stay with length 1. The result may be of another type than x (a sum of
// Bool counts).
func reduce(in *backend.Inst, x value, f0 float64, i0 int64, f func(x, y float64) float64, g func(x, y int64) int64) value {
	r := newValue(in.DType, in.Shape)
	for i := range r.f {
		r.f[i] = f0
	}
	for i := range r.i {
		r.i[i] = i0
	}
	into := strides(in.Shape)
	for _, a := range in.Attr.Axes {
		into[a] = 0
	}
	each(x.shape, into, 0, func(n, pos int, _ []int) {
		if r.f != nil {
			r.f[pos] = f(r.f[pos], x.at(n))
		} else {
			r.i[pos] = g(r.i[pos], x.i[n])
		}
	})
	return r
}

// mean is NaN for no elements.
func mean(in *backend.Inst, a []value) value {
	r := reduce(in, a[0], 0, 0, plus[float64], plus[int64])
	n := float64(1)
	for _, axis := range in.Attr.Axes {
		n *= float64(a[0].shape[axis])
	}
	for i := range r.f {
		r.f[i] /= n
	}
	return r
}

// argBest returns the first position along Attr.Axis that no other beats. A NaN beats every number.
func argBest(in *backend.Inst, a []value) value {
	x, r := a[0], newValue(dtype.I64, in.Shape)
	outer, length, inner := ir.Around(x.shape, in.Attr.Axis)
	for o := range outer {
		for i := range inner {
			best := 0
			for k := range length {
				at, champion := (o*length+k)*inner+i, (o*length+best)*inner+i
				c := compareElements(x, at, champion)
				if in.Op == ir.ArgMin && !math.IsNaN(x.at(at)) && !math.IsNaN(x.at(champion)) {
					c = -c
				}
				if c > 0 {
					best = k
				}
			}
			r.i[o*inner+i] = int64(best)
		}
	}
	return r
}

func cumSum(in *backend.Inst, a []value) value {
	x := a[0]
	r := newValue(in.DType, in.Shape)
	outer, length, inner := ir.Around(x.shape, in.Attr.Axis)
	order := ir.Indices(length)
	if in.Attr.Flags&ir.Reverse != 0 {
		slices.Reverse(order)
	}
	exclusive := in.Attr.Flags&ir.Exclusive != 0
	for o := range outer {
		for i := range inner {
			var f float64
			var n int64
			for _, k := range order {
				at := (o*length+k)*inner + i
				if r.f != nil {
					before := f
					f += x.f[at]
					r.f[at] = f
					if exclusive {
						r.f[at] = before
					}
				} else {
					before := n
					n += x.i[at]
					r.i[at] = n
					if exclusive {
						r.i[at] = before
					}
				}
			}
		}
	}
	return r
}

func sumSquares(in *backend.Inst, a []value) value {
	r := newValue(in.DType, in.Shape)
	for _, x := range a {
		for _, v := range x.f {
			r.f[0] += v * v
		}
	}
	return r
}
