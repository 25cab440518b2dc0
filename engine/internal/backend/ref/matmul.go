package ref

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	ops[ir.MatMul] = one(matMul)
	ops[ir.LoRALinear] = one(loraLinear)
}

// matMul adds up a·b over the pairs of arguments. The last two axes are the matrices; those before are
// batches.
func matMul(in *backend.Inst, a []value) value {
	r := newValue(in.DType, in.Shape)
	for p := 0; p < len(a); p += 2 {
		multiplyAdd(r, a[p], a[p+1], 1)
	}
	return r
}

// multiplyAdd adds scale·x·y to r.
func multiplyAdd(r, x, y value, scale float64) {
	rank := len(r.shape)
	m, n, k := r.shape[rank-2], r.shape[rank-1], x.shape[len(x.shape)-1]
	batch := r.shape[:rank-2]
	x = expand(x, slices.Concat(batch, []int{m, k}))
	y = expand(y, slices.Concat(batch, []int{k, n}))
	for b := range ir.Size(batch) {
		for i := range m {
			for j := range n {
				at := (b*m+i)*n + j
				for t := range k {
					l, h := (b*m+i)*k+t, (b*k+t)*n+j
					if r.f != nil {
						r.f[at] += scale * x.f[l] * y.f[h]
					} else {
						r.i[at] += x.i[l] * y.i[h]
					}
				}
			}
		}
	}
}

// loraLinear is x·w + scale·(x·a)·b.
func loraLinear(in *backend.Inst, a []value) value {
	x, w, down, up := a[0], a[1], a[2], a[3]
	r := newValue(in.DType, in.Shape)
	multiplyAdd(r, x, w, 1)
	h := newValue(in.DType, slices.Concat(in.Shape[:len(in.Shape)-1], down.shape[len(down.shape)-1:]))
	multiplyAdd(h, x, down, 1)
	multiplyAdd(r, h, up, in.Attr.Float)
	return r
}
