package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A fold says how elements become one number: run folds a stretch of memory, join two results. Floating-point
// numbers are in F, with partial sums added up in float64; integers are in I and wrap around.
type fold struct {
	zero ir.Scalar
	run  func(p unsafe.Pointer, n int) ir.Scalar
	join func(a, b ir.Scalar) ir.Scalar
}

// foldOf returns the fold of a reduction over registers of type t.
func foldOf(op ir.Op, t dtype.Type) fold {
	if t == dtype.F32 {
		return floatFold(op)
	}
	return loopsOf[t].fold(op, neutral(op, t))
}

// neutral is the number that a reduction begins with.
func neutral(op ir.Op, t dtype.Type) ir.Scalar {
	low, high := int64(0), uint64(0)
	if !t.Float() {
		low, high = ir.IntRange(t)
	}
	switch op {
	case ir.Prod:
		return ir.Scalar{F: 1, I: 1}
	case ir.ReduceMax:
		return ir.Scalar{F: math.Inf(-1), I: low}
	case ir.ReduceMin:
		return ir.Scalar{F: math.Inf(1), I: int64(high)}
	}
	return ir.Scalar{}
}

// floatFold is for float32.
func floatFold(op ir.Op) fold {
	f := numberFold[float64](op, neutral(op, dtype.F32)) // of partial results
	number := func(f func(unsafe.Pointer, int) float32) func(unsafe.Pointer, int) ir.Scalar {
		return func(p unsafe.Pointer, n int) ir.Scalar { return ir.Scalar{F: float64(f(p, n))} }
	}
	switch op {
	case ir.Prod:
		f.run = func(p unsafe.Pointer, n int) ir.Scalar {
			product := 1.0
			for _, x := range unsafe.Slice((*float32)(p), n) {
				product *= float64(x)
			}
			return ir.Scalar{F: product}
		}
	case ir.ReduceMax:
		f.run = number(vec.MaxOf)
	case ir.ReduceMin:
		f.run = number(vec.MinOf)
	default:
		f.run = number(vec.Sum)
	}
	return f
}

// numberFold folds in T.
func numberFold[T tile.Number](op ir.Op, zero ir.Scalar) fold {
	of := func(run func(s T, x []T) T, join func(a, b T) T) fold {
		return fold{
			zero: zero,
			run: func(p unsafe.Pointer, n int) ir.Scalar {
				return scalarOf(run(numberIn[T](zero), unsafe.Slice((*T)(p), n)))
			},
			join: func(a, b ir.Scalar) ir.Scalar { return scalarOf(join(numberIn[T](a), numberIn[T](b))) },
		}
	}
	switch op {
	case ir.Prod:
		return of(productOf[T], func(a, b T) T { return a * b })
	case ir.ReduceMax:
		return of(maxOf[T], func(a, b T) T { return max(a, b) })
	case ir.ReduceMin:
		return of(minOf[T], func(a, b T) T { return min(a, b) })
	}
	return of(sumOf[T], func(a, b T) T { return a + b })
}

func productOf[T tile.Number](s T, x []T) T {
	for _, v := range x {
		s *= v
	}
	return s
}

func maxOf[T tile.Number](s T, x []T) T {
	for _, v := range x {
		s = max(s, v)
	}
	return s
}

func minOf[T tile.Number](s T, x []T) T {
	for _, v := range x {
		s = min(s, v)
	}
	return s
}

// sumOf adds four sums side by side, which is faster than one after the other, and more precise for floats.
func sumOf[T tile.Number](s T, x []T) T {
	var a, b, c T
	for ; len(x) >= 4; x = x[4:] {
		s += x[0]
		a += x[1]
		b += x[2]
		c += x[3]
	}
	for _, v := range x {
		s += v
	}
	return s + a + (b + c)
}

// scalarOf and numberIn carry a number in the part of a Scalar that is its type's.
func scalarOf[T tile.Number](x T) ir.Scalar {
	if isFloat[T]() {
		return ir.Scalar{F: float64(x)}
	}
	return ir.Scalar{I: int64(x)}
}

func numberIn[T tile.Number](v ir.Scalar) T {
	if isFloat[T]() {
		return T(v.F)
	}
	return T(v.I)
}

func isFloat[T tile.Number]() bool {
	one := T(1)
	return one/2 != 0
}

// set stores a finished number as element i of a tile of the reduction's result.
func (t *resultTile) set(i int, r *reduction, v ir.Scalar) {
	if r.op == ir.Mean {
		v.F /= float64(r.length)
	}
	loopsOf[r.from].put(unsafe.Pointer(t), i, v)
}

// columnBlock is how many columns are folded side by side.
const columnBlock = 1024

// flushRows is how many rows are added up in float32 before the sums move on to the next level.
const flushRows = 32

// columnSums folds columns: row after row is added to a run of numbers. Sums of float32 climb levels,
// flushRows at a time, so that the rounding error does not grow with the number of rows.
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
	if r.from == dtype.F32 {
		c.addFloats(r.op, p, n)
		return
	}
	loopsOf[r.from].column(r.op, c, p, n)
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

// foldRow folds a row of T into numbers of S, those of columns.
func foldRow[S int64 | float64, T tile.Number](op ir.Op, sums []S, row []T) {
	sums = sums[:len(row)]
	switch op {
	case ir.Prod:
		for i, x := range row {
			sums[i] *= S(x)
		}
	case ir.ReduceMax:
		for i, x := range row {
			sums[i] = S(max(T(sums[i]), x))
		}
	case ir.ReduceMin:
		for i, x := range row {
			sums[i] = S(min(T(sums[i]), x))
		}
	default:
		for i, x := range row {
			sums[i] += S(x)
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
