package ref

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	ops[ir.GroupedMatMul] = one(func(in *backend.Inst, a []value) value {
		x, w, y := a[0], a[1], newValue(in.DType, in.Shape)
		if len(a) > 3 { // the weights are codes, whose other parts follow
			q := ir.QuantOf(&in.Attr)
			w = stack(q, newValue(q.DType, q.Shape()), append([]value{w}, a[3:]...))
		}
		eachGrouped(in, a[2], w.shape, func(i, j, k int) { y.f[k] += x.f[i] * w.f[j] })
		return y
	})
	ops[ir.GroupedWeight] = one(func(in *backend.Inst, a []value) value {
		x, dy, w := a[0], a[1], newValue(in.DType, in.Shape)
		eachGrouped(in, a[2], w.shape, func(i, j, k int) { w.f[j] += x.f[i] * dy.f[k] })
		return w
	})
}

// eachGrouped calls f for each product x[i]·w[j] that adds to y[k].
func eachGrouped(in *backend.Inst, index value, w []int, f func(i, j, k int)) {
	groups, inner, columns := w[0], w[1], w[2]
	for m := range index.len() {
		group := position(in.Op, 0, index, m, groups)
		for p := range inner {
			for n := range columns {
				f(m*inner+p, (group*inner+p)*columns+n, m*columns+n)
			}
		}
	}
}
