package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// compileCumSum adds up along an axis, a block of columns at a time; floating-point sums are kept in float64.
func compileCumSum(c *standalone) func(*launch) {
	in, register := c.in, tile.Register(c.in.DType)
	x := c.operand(0, in.Shape, register)
	outer, length, inner := ir.Around(in.Shape, in.Attr.Axis)
	columns := min(inner, tile.Len)
	x.reserve(columns)
	if inner == 1 {
		x.reserve(length)
	}
	out := c.g.Outputs[0]
	var sums []carries // by worker
	step := scan{reverse: in.Attr.Flags&ir.Reverse != 0, exclusive: in.Attr.Flags&ir.Exclusive != 0}
	return func(l *launch) {
		if outer*inner*length == 0 {
			return
		}
		sum := l.pointer(out.Buf)
		if out.DType != register {
			sum = unsafe.Pointer(unsafe.SliceData(l.scratch.floats(outer * length * inner)))
		}
		for inner > 1 && len(sums) < l.pool.Threads() {
			sums = append(sums, carries{})
		}
		blocks := (inner + columns - 1) / columns
		l.pool.For(outer*blocks, func(worker, c int) {
			o, first := c/blocks, c%blocks*columns
			n := min(columns, inner-first)
			if inner == 1 {
				row := x.fetch(worker, o*length, length)
				loopsOf[register].scanRun(l, step, sum, o*length, row, length)
				return
			}
			carry := &sums[worker]
			*carry = carries{}
			for k := range length {
				if l.stopped(k) {
					return
				}
				if step.reverse {
					k = length - 1 - k
				}
				at := (o*length+k)*inner + first
				loopsOf[register].scanRow(step, carry, sum, at, x.fetch(worker, at, n), n)
			}
		})
		if out.DType != register {
			l.narrowAll(&out, sum, outer*length*inner)
		}
	}
}

// A scan says how sums run along an axis.
type scan struct{ reverse, exclusive bool }

// carries are the sums so far of a block of columns.
type carries struct {
	f [tile.Len]float64
	i [tile.Len]int64
}

// scanRun scans one run of n elements, or a part of it when the launch is to stop.
func scanRun[T tile.Number, S int64 | float64](l *launch, s scan, out unsafe.Pointer, at int, x unsafe.Pointer, n int) {
	var sum S
	d, v := unsafe.Slice((*T)(out), at+n)[at:], unsafe.Slice((*T)(x), n)
	for i := range n {
		if l.stopped(i) {
			return
		}
		if s.reverse {
			i = n - 1 - i
		}
		before := sum
		sum += S(v[i])
		if s.exclusive {
			d[i] = T(before)
		} else {
			d[i] = T(sum)
		}
	}
}

// scanRow adds one row to the carries and writes them.
func scanRow[T tile.Number, S int64 | float64](s scan, carry []S, out unsafe.Pointer, at int, x unsafe.Pointer) {
	d, v := unsafe.Slice((*T)(out), at+len(carry))[at:], unsafe.Slice((*T)(x), len(carry))
	for i := range carry {
		before := carry[i]
		carry[i] += S(v[i])
		if s.exclusive {
			d[i] = T(before)
		} else {
			d[i] = T(carry[i])
		}
	}
}

// compileSumSquares adds the squares of all elements of all operands. Pieces do not depend on the number of
// threads.
func compileSumSquares(c *standalone) func(*launch) {
	type piece struct{ operand, start, n int }
	var pieces []piece
	var operands []*operand
	for i := range c.in.Args {
		shape := c.shape(i)
		operands = append(operands, c.operand(i, shape, tile.Register(c.dtype(i))).reserve(chunk))
		n := ir.Size(shape)
		for start := 0; start < n; start += splitLength {
			pieces = append(pieces, piece{i, start, min(splitLength, n-start)})
		}
	}
	out := c.g.Outputs[0]
	partial := make([]float64, len(pieces))
	return func(l *launch) {
		l.pool.Range(len(pieces), 1, func(worker, lo, hi int) {
			for c := lo; c < hi; c++ {
				p := pieces[c]
				x := operands[p.operand]
				partial[c] = 0
				for i := 0; i < p.n; i += chunk {
					n := min(chunk, p.n-i)
					run := x.fetch(worker, p.start+i, n)
					if out.DType == dtype.F64 {
						partial[c] += dotDouble(doubles(run, n), doubles(run, n))
					} else {
						partial[c] += float64(vec.SumSquares(run, n))
					}
				}
			}
		})
		var sum float64
		for _, s := range partial {
			sum += s
		}
		loopsOf[out.DType].put(l.pointer(out.Buf), 0, ir.Scalar{F: sum})
	}
}
