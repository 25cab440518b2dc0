package ref

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	ops[ir.Conv] = one(func(in *backend.Inst, a []value) value {
		y := newValue(in.DType, in.Shape)
		eachProduct(in, a[0].shape, a[1].shape, y.shape, func(i, j, k int) { y.f[k] += a[0].f[i] * a[1].f[j] })
		return y
	})
	ops[ir.ConvTranspose] = one(func(in *backend.Inst, a []value) value {
		x := newValue(in.DType, in.Shape)
		eachProduct(in, x.shape, a[1].shape, a[0].shape, func(i, j, k int) { x.f[i] += a[1].f[j] * a[0].f[k] })
		return x
	})
	ops[ir.ConvWeight] = one(func(in *backend.Inst, a []value) value {
		w := newValue(in.DType, in.Shape)
		eachProduct(in, a[0].shape, w.shape, a[1].shape, func(i, j, k int) { w.f[j] += a[0].f[i] * a[1].f[k] })
		return w
	})
	ops[ir.MaxPool] = maxPool
}

// eachProduct calls f for each product x[i]·w[j] that a convolution adds to y[k].
func eachProduct(in *backend.Inst, x, w, y []int, f func(i, j, k int)) {
	perGroup, eachTap := w[0]/in.Attr.Index, tapsOf(in, x) // results of a group
	pixels, taps := ir.Size(x[2:]), ir.Size(w[2:])
	each(y, strides(y), 0, func(_, k int, place []int) {
		n, o := place[0], place[1]
		eachTap(place[2:], func(tap, at int) {
			for c := range w[1] {
				channel := o/perGroup*w[1] + c
				f((n*x[1]+channel)*pixels+at, (o*w[1]+c)*taps+tap, k)
			}
		})
	})
}

// tapsOf returns what calls f for each tap of the kernel, and the element among those of a channel of x that
// it reads at a place. Taps beside x are left out: they read zeros.
func tapsOf(in *backend.Inst, x []int) func(place []int, f func(tap, at int)) {
	windows := ir.WindowsOf(in.Attr)
	var kernel []int
	for _, w := range windows {
		kernel = append(kernel, w.Kernel)
	}
	stride := strides(kernel)
	return func(place []int, f func(tap, at int)) {
		each(kernel, stride, 0, func(_, tap int, taps []int) {
			at := 0
			for a, w := range windows {
				i := w.At(place[a], taps[a])
				if i < 0 || i >= x[2+a] {
					return
				}
				at = at*x[2+a] + i
			}
			f(tap, at)
		})
	}
}

func maxPool(in *backend.Inst, a []value) []value {
	x, eachTap, out := a[0], tapsOf(in, a[0].shape), results(in)
	y := out[0]
	each(y.shape, strides(y.shape), 0, func(_, k int, place []int) {
		first := (place[0]*x.shape[1] + place[1]) * ir.Size(x.shape[2:])
		best := -1
		eachTap(place[2:], func(_, at int) {
			if best < 0 || compareElements(x, first+at, first+best) > 0 {
				best = at
			}
		})
		copyElement(y, k, x, first+best)
		out[1].i[k] = int64(best)
	})
	return out
}
