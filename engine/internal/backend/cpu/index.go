package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// checkIndices says whether all indices exist, and fails the launch with the first that does not. It also
// returns false when the launch is to stop.
func checkIndices(l *launch, op ir.Op, axis, length int, index []int64) bool {
	for n, i := range index {
		if l.stopped(n) {
			return false
		}
		if uint64(i+int64(length)) >= 2*uint64(length) {
			l.fail("%w", ir.OutOfRange(op, i, n, axis, length))
			return false
		}
	}
	return true
}

// fromStart is the place of a checked index: one below 0 counts from the end.
func fromStart(i int64, length int) int { return int(i) + length&int(i>>63) }

// indices returns all elements of an index operand.
func (o *operand) indices(l *launch) []int64 { return unsafe.Slice((*int64)(o.all(l)), o.n) }

// compileGather copies whole slices: r[o, n…, i] = x[o, index[n…], i].
func compileGather(c *standalone) func(*launch) {
	in := c.in
	outer, length, inner := ir.Around(c.shape(0), in.Attr.Axis)
	x, index := c.operand(0, c.shape(0), in.DType), c.index(1)
	out, size := c.g.Outputs[0].Buf, in.DType.Size()
	op, axis := in.Op, in.Attr.Axis
	return func(l *launch) {
		ix := index.indices(l)
		if !checkIndices(l, op, axis, length, ix) || inner == 0 {
			return
		}
		to, from := l.pointer(out), x.states.at(0).View(0, 0, x.n)
		l.pool.Range(outer*len(ix), max(1, mapGrain/inner), func(worker, lo, hi int) {
			for c := lo; c < hi && from != nil && !l.pool.Stopped(); {
				o, n := c/len(ix), c%len(ix)
				m := min(hi-c, len(ix)-n, max(1, pollEvery/inner))
				take(inner*size, unsafe.Add(to, c*inner*size), unsafe.Add(from, o*length*inner*size), ix[n:n+m], length)
				c += m
			}
			if from != nil {
				return
			}
			for c := lo; c < hi && !l.stopped(c); c++ {
				o, n := c/len(ix), c%len(ix)
				x.copyTo(worker, unsafe.Add(to, c*inner*size), (o*length+fromStart(ix[n], length))*inner, inner)
			}
		})
	}
}

// take copies the slices of some bytes that checked indices name.
func take(size int, to, from unsafe.Pointer, index []int64, length int) {
	switch size {
	case 4:
		d, x := unsafe.Slice((*uint32)(to), len(index)), unsafe.Slice((*uint32)(from), length)
		for n, i := range index {
			d[n] = x[fromStart(i, length)]
		}
	case 1, 2, 8:
		for n, i := range index {
			copyElement(size, to, n, from, fromStart(i, length))
		}
	default:
		for n, i := range index {
			copy(unsafe.Slice((*byte)(unsafe.Add(to, n*size)), size), unsafe.Slice((*byte)(unsafe.Add(from, fromStart(i, length)*size)), size))
		}
	}
}

// compileGatherAlong picks one element for each index.
func compileGatherAlong(c *standalone) func(*launch) {
	in, shape := c.in, c.shape(0)
	x, index := c.operand(0, shape, in.DType), c.index(1)
	place := alongPlaces(shape, c.shape(1), in.Attr.Axis)
	length := shape[in.Attr.Axis]
	out, size := c.g.Outputs[0].Buf, in.DType.Size()
	op, axis := in.Op, in.Attr.Axis
	return func(l *launch) {
		ix := index.indices(l)
		if !checkIndices(l, op, axis, length, ix) || len(ix) == 0 {
			return
		}
		from, to := x.all(l), l.pointer(out)
		l.pool.Range(len(ix), mapGrain, func(_, lo, hi int) {
			for n := lo; n < hi && !l.stopped(n); n++ {
				copyElement(size, to, n, from, place(n, fromStart(ix[n], length)))
			}
		})
	}
}

// alongPlaces returns the linear index in shape of the element that position n of an index of shape points
// to.
func alongPlaces(shape, index []int, axis int) func(n, i int) int {
	strides := make([]int, len(shape))
	stride := 1
	for a := len(shape) - 1; a >= 0; a-- {
		strides[a] = stride
		stride *= shape[a]
	}
	return func(n, i int) int {
		at := i * strides[axis]
		for a := len(index) - 1; a >= 0; a-- {
			if a != axis {
				at += n % index[a] * strides[a]
			}
			n /= index[a]
		}
		return at
	}
}

func copyElement(size int, d unsafe.Pointer, i int, src unsafe.Pointer, j int) {
	switch size {
	case 1:
		*(*uint8)(unsafe.Add(d, i)) = *(*uint8)(unsafe.Add(src, j))
	case 2:
		*(*uint16)(unsafe.Add(d, 2*i)) = *(*uint16)(unsafe.Add(src, 2*j))
	case 4:
		*(*uint32)(unsafe.Add(d, 4*i)) = *(*uint32)(unsafe.Add(src, 4*j))
	default:
		*(*uint64)(unsafe.Add(d, 8*i)) = *(*uint64)(unsafe.Add(src, 8*j))
	}
}

// updatesShape is the shape that updates have.
func updatesShape(in *backend.Inst, index []int) []int {
	if in.Op == ir.ScatterAlong || in.Op == ir.ScatterWith {
		return index
	}
	shape := append([]int(nil), in.Shape[:in.Attr.Axis]...)
	return append(append(shape, index...), in.Shape[in.Attr.Axis+1:]...)
}

// compileOverwrite copies the base, unless the result is to lie in its memory, and the updates over it.
func compileOverwrite(c *standalone) func(*launch) {
	in := c.in
	base, index, updates := c.operand(0, in.Shape, in.DType), c.index(1), c.operand(2, updatesShape(in, c.shape(1)), in.DType)
	outer, length, inner := ir.Around(in.Shape, in.Attr.Axis)
	from, out, size := c.input(0), c.g.Outputs[0].Buf, in.DType.Size()
	return func(l *launch) {
		ix := index.indices(l)
		if base.n == 0 || !checkIndices(l, in.Op, in.Attr.Axis, length, ix) {
			return
		}
		to := l.pointer(out)
		if from.Buf < 0 || unsafe.Add(l.pointer(from.Buf), from.Layout.Offset*size) != to {
			base.copyAll(l, to)
		}
		l.pool.Range(outer, 1+mapGrain/max(1, len(ix)*inner), func(worker, lo, hi int) {
			for c := lo * len(ix); c < hi*len(ix); c++ {
				at := c/len(ix)*length + fromStart(ix[c%len(ix)], length)
				updates.copyTo(worker, unsafe.Add(to, at*inner*size), c*inner, inner)
			}
		})
	}
}
