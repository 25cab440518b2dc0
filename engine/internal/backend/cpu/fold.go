package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A fold says how elements become one number: run folds a stretch of memory, join two results. Floating-point numbers
// are in F, with partial sums added up in float64; integers are in I and wrap around.
type fold struct {
	zero ir.Scalar
	run  func(p unsafe.Pointer, n int) ir.Scalar
	join func(a, b ir.Scalar) ir.Scalar
}

// foldOf returns the fold of a reduction over registers of type t.
func foldOf(op ir.Op, t dtype.Type) fold {
	switch t {
	case dtype.F32:
		return floatFold(op)
	case dtype.I32:
		return intFold[int32](op, math.MinInt32, math.MaxInt32)
	case dtype.I64:
		return intFold[int64](op, math.MinInt64, math.MaxInt64)
	case dtype.Bool:
		return intFold[uint8](op, 0, 1)
	}
	return intFold[uint8](op, 0, math.MaxUint8)
}

func floatFold(op ir.Op) fold {
	number := func(f func(unsafe.Pointer, int) float32) func(unsafe.Pointer, int) ir.Scalar {
		return func(p unsafe.Pointer, n int) ir.Scalar { return ir.Scalar{F: float64(f(p, n))} }
	}
	switch op {
	case ir.Prod:
		return fold{
			zero: ir.Scalar{F: 1},
			run: func(p unsafe.Pointer, n int) ir.Scalar {
				f := 1.0
				for _, x := range unsafe.Slice((*float32)(p), n) {
					f *= float64(x)
				}
				return ir.Scalar{F: f}
			},
			join: func(a, b ir.Scalar) ir.Scalar { return ir.Scalar{F: a.F * b.F} },
		}
	case ir.ReduceMax:
		return fold{
			zero: ir.Scalar{F: math.Inf(-1)}, run: number(vec.MaxOf),
			join: func(a, b ir.Scalar) ir.Scalar { return ir.Scalar{F: max(a.F, b.F)} },
		}
	case ir.ReduceMin:
		return fold{
			zero: ir.Scalar{F: math.Inf(1)}, run: number(vec.MinOf),
			join: func(a, b ir.Scalar) ir.Scalar { return ir.Scalar{F: min(a.F, b.F)} },
		}
	}
	return fold{run: number(vec.Sum), join: func(a, b ir.Scalar) ir.Scalar { return ir.Scalar{F: a.F + b.F} }}
}

func intFold[T uint8 | int32 | int64](op ir.Op, lowest, highest int64) fold {
	of := func(zero int64, join func(a, b int64) int64) fold {
		return fold{
			zero: ir.Scalar{I: zero},
			run: func(p unsafe.Pointer, n int) ir.Scalar {
				s := zero
				for _, x := range unsafe.Slice((*T)(p), n) {
					s = join(s, int64(x))
				}
				return ir.Scalar{I: s}
			},
			join: func(a, b ir.Scalar) ir.Scalar { return ir.Scalar{I: join(a.I, b.I)} },
		}
	}
	switch op {
	case ir.Prod:
		return of(1, func(a, b int64) int64 { return a * b })
	case ir.ReduceMax:
		return of(lowest, func(a, b int64) int64 { return max(a, b) })
	case ir.ReduceMin:
		return of(highest, func(a, b int64) int64 { return min(a, b) })
	}
	sum := of(0, func(a, b int64) int64 { return a + b })
	sum.run = sumInts[T] // the most frequent: without a call for each element
	return sum
}

func sumInts[T uint8 | int32 | int64](p unsafe.Pointer, n int) ir.Scalar {
	var s int64
	for _, x := range unsafe.Slice((*T)(p), n) {
		s += int64(x)
	}
	return ir.Scalar{I: s}
}

// set stores a finished number as element i of a tile of the reduction's result.
func (t *resultTile) set(i int, r *reduction, v ir.Scalar) {
	float := r.from == dtype.F32
	if r.op == ir.Mean {
		if !float {
			v.F = float64(v.I)
		}
		v.F, float = v.F/float64(r.length), true
	}
	p := unsafe.Pointer(t)
	if r.to == dtype.F32 {
		if !float {
			v.F = float64(v.I)
		}
		(*[tile.Len]float32)(p)[i] = float32(v.F)
		return
	}
	switch r.to {
	case dtype.I32:
		(*[tile.Len]int32)(p)[i] = int32(v.I)
	case dtype.I64:
		(*[tile.Len]int64)(p)[i] = v.I
	case dtype.U8:
		(*[tile.Len]uint8)(p)[i] = uint8(v.I)
	case dtype.Bool:
		(*[tile.Len]bool)(p)[i] = v.I != 0
	}
}

// columnBlock is how many columns are folded side by side.
const columnBlock = 1024

// flushRows is how many rows are added up in float32 before the sums move on to the next level.
const flushRows = 32

// columnSums folds columns: row after row is added to a run of numbers. Sums of float32 climb levels, flushRows at a
// time, so that the rounding error does not grow with the number of rows.
type columnSums struct {
	rows, flushes int // added to near, and to middle, since they were cleared
	near, middle  [columnBlock]float32
	far           [columnBlock]float64
	ints          [columnBlock]int64
}

func (c *columnSums) start(r *reduction, n int) {
	c.rows, c.flushes = 0, 0
	for i := range n {
		c.far[i], c.ints[i] = r.fold.zero.F, r.fold.zero.I
		c.near[i], c.middle[i] = float32(r.fold.zero.F), 0
	}
}

// add folds a row of n elements.
func (c *columnSums) add(r *reduction, p unsafe.Pointer, n int) {
	switch r.from {
	case dtype.I32:
		addInts[int32](c.ints[:n], p, r)
	case dtype.I64:
		addInts[int64](c.ints[:n], p, r)
	case dtype.U8, dtype.Bool:
		addInts[uint8](c.ints[:n], p, r)
	default:
		c.addFloats(r.op, p, n)
	}
}

func (c *columnSums) addFloats(op ir.Op, p unsafe.Pointer, n int) {
	near := unsafe.Pointer(&c.near)
	switch op {
	case ir.Prod:
		for i, x := range unsafe.Slice((*float32)(p), n) {
			c.far[i] *= float64(x)
		}
	case ir.ReduceMax:
		vec.Of(vec.Max)(near, near, p, nil, n)
	case ir.ReduceMin:
		vec.Of(vec.Min)(near, near, p, nil, n)
	default:
		vec.Of(vec.Add)(near, near, p, nil, n)
		if c.rows++; c.rows == flushRows {
			c.climb(n)
		}
	}
}

// climb moves sums from near to middle, and now and then on to far.
func (c *columnSums) climb(n int) {
	near, middle := unsafe.Pointer(&c.near), unsafe.Pointer(&c.middle)
	vec.Of(vec.Add)(middle, middle, near, nil, n)
	clear(c.near[:n])
	c.rows = 0
	if c.flushes++; c.flushes == flushRows {
		c.spill(n)
	}
}

// spill moves sums from middle to far.
func (c *columnSums) spill(n int) {
	for i, x := range c.middle[:n] {
		c.far[i] += float64(x)
	}
	clear(c.middle[:n])
	c.flushes = 0
}

// flush makes far hold the result of floating-point columns.
func (c *columnSums) flush(r *reduction, n int) {
	switch {
	case r.from != dtype.F32 || r.op == ir.Prod:
	case r.op == ir.ReduceMax, r.op == ir.ReduceMin:
		for i, x := range c.near[:n] {
			c.far[i] = float64(x)
		}
	default:
		c.climb(n)
		c.spill(n)
	}
}

func addInts[T uint8 | int32 | int64](sums []int64, p unsafe.Pointer, r *reduction) {
	x := unsafe.Slice((*T)(p), len(sums))
	switch r.op {
	case ir.Prod:
		for i := range sums {
			sums[i] *= int64(x[i])
		}
	case ir.ReduceMax:
		for i := range sums {
			sums[i] = max(sums[i], int64(x[i]))
		}
	case ir.ReduceMin:
		for i := range sums {
			sums[i] = min(sums[i], int64(x[i]))
		}
	default:
		for i := range sums {
			sums[i] += int64(x[i])
		}
	}
}

// at returns the number of a column after flush.
func (c *columnSums) at(i int) ir.Scalar { return ir.Scalar{F: c.far[i], I: c.ints[i]} }

// join folds the columns of another that were flushed.
func (c *columnSums) join(r *reduction, other *columnSums, n int) {
	for i := range n {
		v := r.fold.join(c.at(i), other.at(i))
		c.far[i], c.ints[i] = v.F, v.I
	}
}
