package tensor

import (
	"math"
	"reflect"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// number reads a Go number, as a float and as an integer (cut off, for a float), and says whether it is an integer.
func number(y any) (v ir.Scalar, integer, ok bool) {
	switch r := reflect.ValueOf(y); r.Kind() {
	case reflect.Float32, reflect.Float64:
		f := r.Float()
		return ir.Scalar{F: f, I: saturate(f, dtype.I64)}, false, true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return ir.Scalar{F: float64(r.Int()), I: r.Int()}, true, true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return ir.Scalar{F: float64(r.Uint()), I: int64(r.Uint())}, true, true
	}
	return ir.Scalar{}, false, false
}

// intRange returns the least and the greatest value of an integer dtype.
func intRange(dt dtype.Type) (low, high float64) {
	switch dt {
	case dtype.U8:
		return 0, math.MaxUint8
	case dtype.I32:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// saturate cuts a float off to an integer of that dtype; NaN is 0.
func saturate(f float64, dt dtype.Type) int64 {
	low, high := intRange(dt)
	switch {
	case math.IsNaN(f):
		return 0
	case f >= high && dt == dtype.I64:
		return math.MaxInt64 // float64(high) is one more
	case f <= low, f >= high:
		return int64(min(max(f, low), high))
	}
	return int64(f)
}

// convert is what op cast does, for a number.
func convert(v ir.Scalar, from, to dtype.Type) ir.Scalar {
	if from.Int() {
		v.F = float64(v.I)
	} else {
		v.I = saturate(v.F, dtype.I64)
	}
	switch to {
	case dtype.Bool:
		if v.F != 0 {
			return ir.Scalar{F: 1}
		}
		return ir.Scalar{}
	case dtype.F16:
		return ir.Scalar{F: float64(dtype.F16ToFloat32(dtype.Float32ToF16(float32(v.F))))}
	case dtype.BF16:
		return ir.Scalar{F: float64(dtype.BF16ToFloat32(dtype.Float32ToBF16(float32(v.F))))}
	case dtype.F32:
		return ir.Scalar{F: float64(float32(v.F))}
	case dtype.F64:
		return ir.Scalar{F: v.F}
	}
	i := v.I
	if !from.Int() {
		i = saturate(v.F, to)
	}
	switch to {
	case dtype.U8:
		i = int64(uint8(i))
	case dtype.I32:
		i = int64(int32(i))
	}
	return ir.Scalar{I: i}
}
