package tile

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// castFunc converts registers. A cast to f16 or bf16 rounds the register, so that it has the value that
// storing and loading would give.
func castFunc(from, to dtype.Type) vec.Func {
	switch Register(from) {
	case to:
		return copyFunc(to.Size())
	case dtype.F32:
		return castFloat32(from, to)
	case dtype.F64:
		return castFloat64(to)
	}
	return integers[from].cast(to)
}

func castFloat32(from, to dtype.Type) vec.Func {
	switch {
	case from == to:
		return copyFunc(4)
	case to == dtype.F16:
		return vec.Of(vec.RoundF16)
	case to == dtype.BF16:
		return vec.Of(vec.RoundBF16)
	case to == dtype.Bool:
		return vec.Of(vec.ToBool)
	case to == dtype.F64:
		return convert[float32, float64]
	case to == dtype.I32:
		return toInt32
	}
	return integers[to].from32
}

// toInt32 uses the vector function for runs of numbers within int32, as most are.
func toInt32(d, a, b, c unsafe.Pointer, n int) {
	const within = 1<<31 - 128 // the largest float32 below 2³¹
	if vec.MaxOf(a, n) <= within && vec.MinOf(a, n) >= -within {
		vec.Of(vec.ToI32)(d, a, b, c, n)
		return
	}
	integers[dtype.I32].from32(d, a, b, c, n)
}

func castFloat64(to dtype.Type) vec.Func {
	switch to {
	case dtype.F16, dtype.BF16:
		return unary(func(x float64) float32 { return float32(ir.Nearest(to, x)) })
	case dtype.Bool:
		return unary(func(x float64) bool { return x != 0 })
	case dtype.F32:
		return convert[float64, float32]
	}
	return integers[to].from64
}

// castInteger converts integers of a Go type. A result that is not wider keeps the lower bits.
func castInteger[A Integer](to dtype.Type) vec.Func {
	switch to {
	case dtype.F32:
		switch signed, size := A(0)-1 < 0, unsafe.Sizeof(A(0)); {
		case !signed && size == 1:
			return vec.Of(vec.FromU8)
		case signed && size == 4:
			return vec.Of(vec.FromI32)
		}
		return convert[A, float32]
	case dtype.F16, dtype.BF16:
		return unary(func(x A) float32 { return float32(ir.Nearest(to, float64(float32(x)))) })
	case dtype.F64:
		return convert[A, float64]
	case dtype.Bool:
		return unary(func(x A) bool { return x != 0 })
	}
	switch to.Size() {
	case 1:
		return convert[A, uint8]
	case 2:
		return convert[A, uint16]
	case 4:
		return convert[A, uint32]
	}
	return convert[A, uint64]
}

// convert converts between Go types.
func convert[A, D Number](d, a, _, _ unsafe.Pointer, n int) {
	out := unsafe.Slice((*D)(d), n)
	for i, x := range unsafe.Slice((*A)(a), n) {
		out[i] = D(x)
	}
}

// truncate converts floats to integers. Numbers out of range become the nearest integer in range, NaN
// becomes 0.
func truncate[A float32 | float64, D Integer](t dtype.Type) vec.Func {
	low, high := ir.IntRange(t)
	return func(d, a, _, _ unsafe.Pointer, n int) {
		out := unsafe.Slice((*D)(d), n)
		for i, x := range unsafe.Slice((*A)(a), n) {
			switch f := float64(x); {
			case f != f:
				out[i] = 0
			case f <= float64(low):
				out[i] = D(low)
			case f >= float64(high): // for 64 bits, high converts to one more than high
				out[i] = D(high)
			case f >= 1<<63:
				out[i] = D(uint64(f))
			default:
				out[i] = D(int64(f))
			}
		}
	}
}

// fillElement fills a register with the element of dtype t at src.
func fillElement(p unsafe.Pointer, t dtype.Type, src unsafe.Pointer) {
	switch t {
	case dtype.F16:
		fill(p, dtype.F16ToFloat32(*(*uint16)(src)))
		return
	case dtype.BF16:
		fill(p, dtype.BF16ToFloat32(*(*uint16)(src)))
		return
	}
	switch t.Size() {
	case 1:
		fill(p, *(*uint8)(src))
	case 2:
		fill(p, *(*uint16)(src))
	case 4:
		fill(p, *(*uint32)(src))
	default:
		fill(p, *(*uint64)(src))
	}
}

func fill[T any](p unsafe.Pointer, v T) {
	out := unsafe.Slice((*T)(p), Len)
	for i := range out {
		out[i] = v
	}
}
