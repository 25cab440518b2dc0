package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// loops are the loops over registers of one Go type. Where package vec is faster for F32, their callers use
// that.
type loops struct {
	fold     func(op ir.Op, zero ir.Scalar) fold
	column   func(op ir.Op, c *columnSums, p unsafe.Pointer, n int)
	multiply func(p *problem, l *launch, a *arguments, batch, row int)
	scanRun  func(l *launch, s scan, out unsafe.Pointer, at int, x unsafe.Pointer, n int)
	scanRow  func(s scan, c *carries, out unsafe.Pointer, at int, x unsafe.Pointer, n int)
	count    func(p unsafe.Pointer, lo, hi, length, inner int)
	add      func(d, x unsafe.Pointer, n int)
	combine  func(c ir.Combination) func(d, x unsafe.Pointer, n int)
	key      func(p unsafe.Pointer, i int) int64
	best     func(p unsafe.Pointer, at, lo, hi int, least bool) int
	put      func(p unsafe.Pointer, i int, v ir.Scalar)
	maxPool  func(l *launch, c *convolution, x, y, at unsafe.Pointer)
}

// loopsOf has an entry for each type of register.
var loopsOf = [...]loops{
	dtype.Bool: integerLoops[uint8](),
	dtype.U8:   integerLoops[uint8](), dtype.I8: integerLoops[int8](),
	dtype.U16: integerLoops[uint16](), dtype.I16: integerLoops[int16](),
	dtype.U32: integerLoops[uint32](), dtype.I32: integerLoops[int32](),
	dtype.U64: integerLoops[uint64](), dtype.I64: integerLoops[int64](),
	dtype.F32: floatLoops[float32](),
	dtype.F64: doubleLoops(),
}

func integerLoops[T tile.Integer]() loops {
	n := sharedLoops[T]()
	n.column = func(op ir.Op, c *columnSums, p unsafe.Pointer, n int) {
		foldRow(op, c.ints[:], unsafe.Slice((*T)(p), n))
	}
	n.multiply = multiplyRow[T]
	n.scanRun = scanRun[T, int64]
	n.scanRow = func(s scan, c *carries, out unsafe.Pointer, at int, x unsafe.Pointer, n int) {
		scanRow[T](s, c.i[:n], out, at, x)
	}
	n.key = func(p unsafe.Pointer, i int) int64 {
		key := int64(unsafe.Slice((*T)(p), i+1)[i])
		if unsafe.Sizeof(T(0)) == 8 && T(0)-1 > 0 {
			return key ^ math.MinInt64
		}
		return key
	}
	n.put = func(p unsafe.Pointer, i int, v ir.Scalar) { unsafe.Slice((*T)(p), i+1)[i] = T(v.I) }
	return n
}

func floatLoops[T float32 | float64]() loops {
	n := sharedLoops[T]()
	n.scanRun = scanRun[T, float64]
	n.scanRow = func(s scan, c *carries, out unsafe.Pointer, at int, x unsafe.Pointer, n int) {
		scanRow[T](s, c.f[:n], out, at, x)
	}
	n.key = func(p unsafe.Pointer, i int) int64 { return floatKey(float64(unsafe.Slice((*T)(p), i+1)[i])) }
	n.put = func(p unsafe.Pointer, i int, v ir.Scalar) { unsafe.Slice((*T)(p), i+1)[i] = T(v.F) }
	return n
}

func doubleLoops() loops {
	n := floatLoops[float64]()
	n.column = func(op ir.Op, c *columnSums, p unsafe.Pointer, n int) {
		foldRow(op, c.far[:], unsafe.Slice((*float64)(p), n))
	}
	return n
}

// sharedLoops are those of integers and floats.
func sharedLoops[T tile.Number]() loops {
	return loops{fold: numberFold[T], count: countTo[T], add: addElements[T], combine: combineElements[T], maxPool: maxPoolOf[T], best: bestOf[T]}
}

// floatKey maps a float to an integer that orders as floats do. NaN is the greatest, and the zeros are equal.
func floatKey(x float64) int64 {
	if x != x {
		return math.MaxInt64
	}
	key := int64(math.Float64bits(x))
	if key < 0 {
		return -(key & math.MaxInt64)
	}
	return key
}
