package tensor

import (
	"math"
	"reflect"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// number reads a Go number exactly, and says of which dtype it is: F64, I64 or U64. F has its value in any
// case.
func number(y any) (v ir.Scalar, dt dtype.Type, ok bool) { return numberOf(reflect.ValueOf(y)) }

func numberOf(r reflect.Value) (v ir.Scalar, dt dtype.Type, ok bool) {
	switch r.Kind() {
	case reflect.Float32, reflect.Float64:
		return ir.Scalar{F: r.Float()}, dtype.F64, true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return ir.Scalar{F: float64(r.Int()), I: r.Int()}, dtype.I64, true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return ir.Scalar{F: float64(r.Uint()), I: int64(r.Uint())}, dtype.U64, true
	}
	return ir.Scalar{}, dtype.Invalid, false
}

// convert converts a number to a dtype that must have room for it; integers take the whole part. The number
// stands beside a tensor, or is to be of a dtype.
func convert(op string, y any, to dtype.Type, beside any) ir.Scalar {
	v, from, _ := number(y)
	if !fits(v, from, to) {
		if to.Float() {
			fail(op, "got %v beside %v, want a number that %v has room for", y, beside, to)
		}
		low, high := ir.IntRange(to)
		fail(op, "got %v beside %v, want a number from %d to %d", y, beside, low, high)
	}
	return ir.Convert(v, from, to)
}

// fits says whether a dtype has room for the number.
func fits(v ir.Scalar, from, to dtype.Type) bool {
	low, high := ir.IntRange(to)
	switch {
	case to == dtype.Bool:
		return true
	case to.Float():
		return math.IsInf(v.F, 0) || !math.IsInf(ir.Nearest(to, v.F), 0)
	case from == dtype.F64:
		whole := math.Trunc(v.F)
		return whole >= float64(low) && whole < float64(high)+1 // 2⁶³ or 2⁶⁴, of 64 bits
	case from == dtype.I64 && v.I < 0:
		return v.I >= low
	}
	return uint64(v.I) <= high
}
