package ref

import (
	"cmp"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	ops[ir.Iota] = one(iota_)
	ops[ir.Pad] = one(pad)
	ops[ir.Concat] = one(concat)
	ops[ir.Again] = one(func(_ *backend.Inst, args []value) value { return args[0] })
	ops[ir.Gather] = one(gather)
	ops[ir.GatherAlong] = one(gatherAlong)
	ops[ir.ScatterAdd] = scatterSlices(addElement)
	ops[ir.ScatterAlong] = one(func(in *backend.Inst, a []value) value { return scatterAlong(in, a, addElement) })
	ops[ir.ScatterWith] = one(scatterWith)
	ops[ir.Overwrite] = scatterSlices(copyElement)
	ops[ir.TopK] = topK
}

// copyElement sets element i of r to element j of x.
func copyElement(r value, i int, x value, j int) {
	if r.f != nil {
		r.f[i] = x.f[j]
	} else {
		r.i[i] = x.i[j]
	}
}

func iota_(in *backend.Inst, _ []value) value {
	r := newValue(in.DType, in.Shape)
	each(in.Shape, strides(in.Shape), 0, func(n, _ int, index []int) {
		if r.f != nil {
			r.f[n] = float64(index[in.Attr.Axis])
		} else {
			r.i[n] = int64(index[in.Attr.Axis])
		}
	})
	return r
}

// pad puts Ints[2a] elements before and Ints[2a+1] after along axis a.
func pad(in *backend.Inst, a []value) value {
	x, fill := a[0], expand(a[1], in.Shape)
	r := newValue(in.DType, in.Shape)
	for n := range fill.len() {
		copyElement(r, n, fill, n)
	}
	to := strides(in.Shape)
	offset := 0
	for axis := range in.Shape {
		offset += in.Attr.Ints[2*axis] * to[axis]
	}
	each(x.shape, to, offset, func(n, pos int, _ []int) { copyElement(r, pos, x, n) })
	return r
}

func concat(in *backend.Inst, a []value) value {
	r := newValue(in.DType, in.Shape)
	to := strides(in.Shape)
	offset := 0
	for _, x := range a {
		each(x.shape, to, offset, func(n, pos int, _ []int) { copyElement(r, pos, x, n) })
		offset += x.shape[in.Attr.Axis] * to[in.Attr.Axis]
	}
	return r
}

// position checks an index along an axis; one below 0 counts from the end.
func position(op ir.Op, axis int, index value, n, length int) int {
	i := index.i[n]
	if i < -int64(length) || i >= int64(length) {
		panic(failure{ir.OutOfRange(op, i, n, axis, length)})
	}
	if i < 0 {
		i += int64(length)
	}
	return int(i)
}

// gather takes whole slices: r[o, n…, i] = x[o, index[n…], i].
func gather(in *backend.Inst, a []value) value {
	x, index := a[0], a[1]
	r := newValue(in.DType, in.Shape)
	outer, length, inner := ir.Around(x.shape, in.Attr.Axis)
	count := index.len()
	for o := range outer {
		for n := range count {
			from := position(in.Op, in.Attr.Axis, index, n, length)
			for i := range inner {
				copyElement(r, (o*count+n)*inner+i, x, (o*length+from)*inner+i)
			}
		}
	}
	return r
}

// along returns the strides to walk x, but not along Attr.Axis: that place is for the index.
func along(in *backend.Inst, x value) (stride []int, step, length int) {
	stride = strides(x.shape)
	step, stride[in.Attr.Axis] = stride[in.Attr.Axis], 0
	return stride, step, x.shape[in.Attr.Axis]
}

func gatherAlong(in *backend.Inst, a []value) value {
	x, index := a[0], a[1]
	r := newValue(in.DType, in.Shape)
	stride, step, length := along(in, x)
	each(index.shape, stride, 0, func(n, pos int, _ []int) {
		copyElement(r, n, x, pos+step*position(in.Op, in.Attr.Axis, index, n, length))
	})
	return r
}

// addElement adds element j of x to element i of r.
func addElement(r value, i int, x value, j int) {
	if r.f != nil {
		r.f[i] += x.f[j]
	} else {
		r.i[i] += x.i[j]
	}
}

func copyOf(v value) value {
	v.f, v.i = slices.Clone(v.f), slices.Clone(v.i)
	return v
}

// scatterSlices puts whole slices of the updates, scatterAlong each element, where its index says.
func scatterSlices(put func(r value, i int, x value, j int)) func(*backend.Inst, []value) []value {
	return one(func(in *backend.Inst, a []value) value {
		base, index, updates := a[0], a[1], a[2]
		r := copyOf(expand(base, in.Shape))
		outer, length, inner := ir.Around(in.Shape, in.Attr.Axis)
		count := index.len()
		for o := range outer {
			for n := range count {
				to := position(in.Op, in.Attr.Axis, index, n, length)
				for i := range inner {
					put(r, (o*length+to)*inner+i, updates, (o*count+n)*inner+i)
				}
			}
		}
		return r
	})
}

func scatterAlong(in *backend.Inst, a []value, put func(r value, i int, x value, j int)) value {
	base, index, updates := a[0], a[1], a[2]
	r := copyOf(expand(base, in.Shape))
	stride, step, length := along(in, r)
	each(index.shape, stride, 0, func(n, pos int, _ []int) {
		put(r, pos+step*position(in.Op, in.Attr.Axis, index, n, length), updates, n)
	})
	return r
}

// scatterWith combines the updates, in their order, with what is there.
func scatterWith(in *backend.Inst, a []value) value {
	op, combines := map[ir.Combination]ir.Op{ir.Multiply: ir.Mul, ir.Least: ir.Min, ir.Greatest: ir.Max}[ir.Combination(in.Attr.Index)]
	return scatterAlong(in, a, func(r value, i int, x value, j int) {
		switch {
		case !combines:
			copyElement(r, i, x, j)
		case r.f != nil:
			r.f[i] = arithmetic[op].f(r.f[i], x.f[j])
		default:
			r.i[i] = arithmetic[op].of(r.dtype)(r.i[i], x.i[j])
		}
	})
}

// topK sorts each row, greatest first (smallest first with Reverse); equal elements keep their order; NaN is
// the greatest.
func topK(in *backend.Inst, a []value) []value {
	x, out := a[0], results(in)
	n, w := rows(x.shape)
	k := in.Attr.Index
	for row := range n {
		order := ir.Indices(w)
		slices.SortStableFunc(order, func(p, q int) int {
			c := compareElements(x, row*w+q, row*w+p)
			if in.Attr.Flags&ir.Reverse != 0 {
				c = -c
			}
			return c
		})
		for j := range k {
			copyElement(out[0], row*k+j, x, row*w+order[j])
			out[1].i[row*k+j] = int64(order[j])
		}
	}
	return out
}

// compareElements orders elements i and j of x; NaN is greater than every number.
func compareElements(x value, i, j int) int {
	if x.f == nil {
		return cmp.Compare(ordered(x.dtype, x.i[i]), ordered(x.dtype, x.i[j]))
	}
	p, q := x.f[i], x.f[j]
	if math.IsNaN(p) || math.IsNaN(q) {
		return int(boolean(math.IsNaN(p)) - boolean(math.IsNaN(q)))
	}
	return int(boolean(p > q) - boolean(p < q))
}
