package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// compilePad fills the result and copies the operand's rows into it.
func compilePad(c *standalone) func(*launch) {
	in, shape := c.in, c.shape(0)
	x, value := c.operand(0, shape, c.dtype(0)), c.operand(1, in.Shape, c.dtype(0))
	size, out := c.dtype(0).Size(), c.g.Outputs[0].Buf
	width, rows := 1, 1
	if len(shape) > 0 {
		width = shape[len(shape)-1]
		rows = ir.Size(shape[:len(shape)-1])
	}
	place := padPlaces(in.Shape, shape, in.Attr.Ints)
	return func(l *launch) {
		to := l.pointer(out)
		value.copyAll(l, to)
		if width == 0 {
			return
		}
		l.pool.Range(rows, max(1, mapGrain/width), func(worker, lo, hi int) {
			for row := lo; row < hi; row++ {
				x.copyTo(worker, unsafe.Add(to, place(row)*size), row*width, width)
			}
		})
	}
}

// padPlaces returns where a row of the operand starts in the result.
func padPlaces(padded, shape, ints []int) func(row int) int {
	offset, stride := 0, 1
	strides := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		strides[a] = stride
		offset += ints[2*a] * stride
		stride *= padded[a]
	}
	return func(row int) int {
		at := offset
		for a := len(shape) - 2; a >= 0; a-- {
			at += row % shape[a] * strides[a]
			row /= shape[a]
		}
		return at
	}
}

// compileConcat copies each operand's part of each outer index.
func compileConcat(c *standalone) func(*launch) {
	in := c.in
	axis, size := in.Attr.Axis, in.DType.Size()
	outer, length, inner := ir.Around(in.Shape, axis)
	var parts []*operand
	var starts, runs []int // in elements of the result, for each operand
	start := 0
	for i := range in.Args {
		shape := c.shape(i)
		if len(shape) == 0 { // one number stands for a part of one element along the axis
			shape = append([]int(nil), in.Shape...)
			shape[axis] = 1
		}
		run := shape[axis] * inner
		parts, starts, runs = append(parts, c.operand(i, shape, in.DType)), append(starts, start), append(runs, run)
		start += run
	}
	out := c.g.Outputs[0].Buf
	return func(l *launch) {
		to := l.pointer(out)
		for p, x := range parts {
			if outer*runs[p] == 0 {
				continue
			}
			pieces := (runs[p] + mapGrain - 1) / mapGrain // of the run of one outer index
			l.pool.Range(outer*pieces, max(1, mapGrain/runs[p]), func(worker, lo, hi int) {
				for c := lo; c < hi; c++ {
					o, piece := c/pieces, c%pieces
					first, last := runs[p]*piece/pieces, runs[p]*(piece+1)/pieces
					at := o*length*inner + starts[p] + first
					x.copyTo(worker, unsafe.Add(to, at*size), o*runs[p]+first, last-first)
				}
			})
		}
	}
}

// compileAgain copies its first operand.
func compileAgain(c *standalone) func(*launch) {
	x, out := c.operand(0, c.in.Shape, c.in.DType), c.g.Outputs[0].Buf
	return func(l *launch) { x.copyAll(l, l.pointer(out)) }
}

// compileIota writes indices along an axis.
func compileIota(c *standalone) func(*launch) {
	_, length, inner := ir.Around(c.in.Shape, c.in.Attr.Axis)
	n, out, t := ir.Size(c.in.Shape), c.g.Outputs[0].Buf, c.in.DType
	return func(l *launch) {
		l.pool.Range(n, mapGrain, func(_, lo, hi int) {
			to := l.pointer(out)
			if t == tile.Register(t) {
				loopsOf[t].count(to, lo, hi, length, inner)
				return
			}
			var few [tile.Len]float32
			for ; lo < hi; lo += tile.Len {
				m := min(tile.Len, hi-lo)
				for i := range m {
					few[i] = float32((lo + i) / inner % length)
				}
				narrowTo(t, unsafe.Add(to, lo*t.Size()), unsafe.Pointer(&few), m)
			}
		})
	}
}

func countTo[T tile.Number](p unsafe.Pointer, lo, hi, length, inner int) {
	out := unsafe.Slice((*T)(p), hi)
	for i := lo; i < hi; i++ {
		out[i] = T(i / inner % length)
	}
}
