package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// compileMaxPool looks through the windows of one channel at a time.
func compileMaxPool(c *standalone) func(*launch) {
	in, shape := c.in, c.shape(0)
	kernel := []int{1, 1}
	for _, w := range ir.WindowsOf(in.Attr) {
		kernel = append(kernel, w.Kernel)
	}
	one := &backend.Inst{Op: in.Op, Attr: ir.Attr{Ints: in.Attr.Ints, Index: 1}}
	w := newConvolution(one, shape, kernel, in.Outs[0].Shape)
	register := tile.Register(c.dtype(0))
	x := c.operand(0, shape, register).reserve(w.x.size())
	n, channels := w.y.size(), shape[0]*shape[1]
	values, places := c.output(0), c.output(1)
	best := loopsOf[register].maxPool
	return func(l *launch) {
		if channels*n == 0 {
			return
		}
		var at, wide []byte // of each worker, where a result is not stored as it is computed
		size := register.Size()
		if places == nil {
			at = l.scratch.bytes(8 * n * l.pool.Threads())
		}
		if values == nil || values.DType != register {
			wide = l.scratch.bytes(size * n * l.pool.Threads())
		}
		l.pool.For(channels, func(worker, i int) {
			var y, index unsafe.Pointer
			if wide != nil {
				y = unsafe.Pointer(unsafe.SliceData(wide[size*n*worker:]))
			} else {
				y = unsafe.Add(l.pointer(values.Buf), size*n*i)
			}
			if at != nil {
				index = unsafe.Pointer(unsafe.SliceData(at[8*n*worker:]))
			} else {
				index = unsafe.Add(l.pointer(places.Buf), 8*n*i)
			}
			best(l, w, x.fetch(worker, i*w.x.size(), w.x.size()), y, index)
			if wide != nil && values != nil {
				narrowTo(values.DType, unsafe.Add(l.pointer(values.Buf), values.DType.Size()*n*i), y, n)
			}
		})
	}
}

// maxPoolOf finds the greatest element of each window of one channel, and its place.
func maxPoolOf[T tile.Number](l *launch, c *convolution, x, y, at unsafe.Pointer) {
	from, to, places := unsafe.Slice((*T)(x), c.x.size()), unsafe.Slice((*T)(y), c.y.size()), unsafe.Slice((*int64)(at), c.y.size())
	for i := range places {
		places[i] = -1
	}
	tap := 0
	c.eachRow(func(_, k, in, out int) {
		if tap++; l.stopped(tap * c.y[2]) {
			return
		}
		lo, n, first := c.reach[k].lo, c.reach[k].n, c.reach[k].at
		for i := range n {
			j, o := in+first+i*c.window[2].Stride, out+lo+i
			v, b := from[j], to[o]
			// A NaN is not equal to itself, and beats every number.
			if places[o] < 0 || v > b || v != v && b == b {
				to[o], places[o] = v, int64(j)
			}
		}
	})
}
