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
	ops[ir.ScatterAdd] = one(scatterAdd)
	ops[ir.ScatterAlong] = one(scatterAlong)
	ops[ir.ScatterWith] = one(scatterWith)
	ops[ir.Overwrite] = one(overwrite)
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
	outer, length, inner := around(x.shape, in.Attr.Axis)
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

func scatterAdd(in *backend.Inst, a []value) value {
	base, index, updates := a[0], a[1], a[2]
	r := copyOf(expand(base, in.Shape))
	outer, length, inner := around(in.Shape, in.Attr.Axis)
	count := index.len()
	for o := range outer {
		for n := range count {
			to := position(in.Op, in.Attr.Axis, index, n, length)
			for i := range inner {
				addElement(r, (o*length+to)*inner+i, updates, (o*count+n)*inner+i)
			}
		}
	}
	return r
}

func overwrite(in *backend.Inst, a []value) value {
	base, index, updates := a[0], a[1], a[2]
	r := copyOf(expand(base, in.Shape))
	outer, length, inner := around(in.Shape, in.Attr.Axis)
	count := index.len()
	for o := range outer {
		for n := range count {
			to := position(in.Op, in.Attr.Axis, index, n, length)
			for i := range inner {
				copyElement(r, (o*length+to)*inner+i, updates, (o*count+n)*inner+i)
			}
		}
	}
	return r
}

func scatterAlong(in *backend.Inst, a []value) value {
	base, index, updates := a[0], a[1], a[2]
	r := copyOf(expand(base, in.Shape))
	stride, step, length := along(in, r)
	each(index.shape, stride, 0, func(n, pos int, _ []int) {
		addElement(r, pos+step*position(in.Op, in.Attr.Axis, index, n, length), updates, n)
	})
	return r
}

// scatterWith combines the updates, in their order, with what is there.
func scatterWith(in *backend.Inst, a []value) value {
	base, index, updates := a[0], a[1], a[2]
	r := copyOf(expand(base, in.Shape))
	stride, step, length := along(in, r)
	op, combines := map[ir.Combination]ir.Op{ir.Multiply: ir.Mul, ir.Least: ir.Min, ir.Greatest: ir.Max}[ir.Combination(in.Attr.Index)]
	each(index.shape, stride, 0, func(n, pos int, _ []int) {
		to := pos + step*position(in.Op, in.Attr.Axis, index, n, length)
		switch {
		case !combines:
			copyElement(r, to, updates, n)
		case r.f != nil:
			r.f[to] = arithmetic[op].f(r.f[to], updates.f[n])
		default:
			r.i[to] = arithmetic[op].of(r.dtype)(r.i[to], updates.i[n])
		}
	})
	return r
}

// topK sorts each row, greatest first (smallest first with Reverse); equal elements keep their order; NaN is
// the greatest.
func topK(in *backend.Inst, a []value) []value {
	x := a[0]
	values := newValue(in.Outs[0].DType, in.Outs[0].Shape)
	indices := newValue(in.Outs[1].DType, in.Outs[1].Shape)
	n, w := rows(x.shape)
	k := in.Attr.Index
	for row := range n {
		order := make([]int, w)
		for j := range order {
			order[j] = j
		}
		slices.SortStableFunc(order, func(p, q int) int {
			c := compareElements(x, row*w+q, row*w+p)
			if in.Attr.Flags&ir.Reverse != 0 {
				c = -c
			}
			return c
		})
		for j := range k {
			copyElement(values, row*k+j, x, row*w+order[j])
			indices.i[row*k+j] = int64(order[j])
		}
	}
	return []value{values, indices}
}

// compareElements orders elements i and j of x; NaN comes after everything.
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
