package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
)

// compilePad fills the result and copies the operand's rows into it.
func compilePad(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	source := inputOf(g, in.Args[0])
	x, err := newOperand(g, in.Args[0], source.Layout.Shape, source.DType)
	if err != nil {
		return nil, err
	}
	value, err := newOperand(g, in.Args[1], in.Shape, source.DType)
	if err != nil {
		return nil, err
	}
	n, size, out := elementsOf(in.Shape), source.DType.Size(), g.Outputs[0].Buf
	shape := source.Layout.Shape
	width, rows := 1, 1
	if len(shape) > 0 {
		width = shape[len(shape)-1]
		rows = elementsOf(shape[:len(shape)-1])
	}
	place := padPlaces(in.Shape, shape, in.Attr.Ints)
	return func(l *launch) {
		x.bind(l)
		value.bind(l)
		defer x.release()
		defer value.release()
		to := l.pointer(out)
		l.pool.Range(n, mapGrain, func(worker, lo, hi int) { value.copyTo(worker, unsafe.Add(to, lo*size), lo, hi-lo) })
		if width == 0 {
			return
		}
		l.pool.Range(rows, max(1, mapGrain/width), func(worker, lo, hi int) {
			for row := lo; row < hi; row++ {
				x.copyTo(worker, unsafe.Add(to, place(row)*size), row*width, width)
			}
		})
	}, nil
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
func compileConcat(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	axis, size := in.Attr.Axis, in.DType.Size()
	outer, length, inner := around(in.Shape, axis)
	var parts []*operand
	var starts, runs []int // in elements of the result, for each operand
	start := 0
	for _, a := range in.Args {
		shape := inputOf(g, a).Layout.Shape
		if len(shape) == 0 { // one number stands for a part of one element along the axis
			shape = append([]int(nil), in.Shape...)
			shape[axis] = 1
		}
		x, err := newOperand(g, a, shape, in.DType)
		if err != nil {
			return nil, err
		}
		run := shape[axis] * inner
		parts, starts, runs = append(parts, x), append(starts, start), append(runs, run)
		start += run
	}
	out := g.Outputs[0].Buf
	return func(l *launch) {
		to := l.pointer(out)
		for p, x := range parts {
			if outer*runs[p] == 0 {
				continue
			}
			x.bind(l)
			pieces := (runs[p] + mapGrain - 1) / mapGrain // of the run of one outer index
			l.pool.Range(outer*pieces, max(1, mapGrain/runs[p]), func(worker, lo, hi int) {
				for c := lo; c < hi; c++ {
					o, piece := c/pieces, c%pieces
					first, last := runs[p]*piece/pieces, runs[p]*(piece+1)/pieces
					at := o*length*inner + starts[p] + first
					x.copyTo(worker, unsafe.Add(to, at*size), o*runs[p]+first, last-first)
				}
			})
			x.release()
		}
	}, nil
}

// compileAgain copies its first operand.
func compileAgain(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	x, err := newOperand(g, in.Args[0], in.Shape, in.DType)
	if err != nil {
		return nil, err
	}
	n, size, out := elementsOf(in.Shape), in.DType.Size(), g.Outputs[0].Buf
	return func(l *launch) {
		x.bind(l)
		defer x.release()
		to := l.pointer(out)
		l.pool.Range(n, mapGrain, func(worker, lo, hi int) { x.copyTo(worker, unsafe.Add(to, lo*size), lo, hi-lo) })
	}, nil
}

// compileIota writes indices along an axis.
func compileIota(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	_, length, inner := around(in.Shape, in.Attr.Axis)
	n, out, t := elementsOf(in.Shape), g.Outputs[0].Buf, in.DType
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
	}, nil
}

func countTo[T tile.Number](p unsafe.Pointer, lo, hi, length, inner int) {
	out := unsafe.Slice((*T)(p), hi)
	for i := lo; i < hi; i++ {
		out[i] = T(i / inner % length)
	}
}
