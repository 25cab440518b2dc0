package tile

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// castFunc converts registers. To f16 and bf16 it rounds, so that a value that was cast there and back has lost what a
// stored one would have lost.
func castFunc(from, to dtype.Type) vec.Func {
	if from == to {
		return copyFunc(Register(to).Size())
	}
	switch from {
	case dtype.Bool, dtype.U8:
		return castInt[uint8](to)
	case dtype.I32:
		return castInt[int32](to)
	case dtype.I64:
		return castInt[int64](to)
	}
	switch to {
	case dtype.F32:
		return copyFunc(4)
	case dtype.F16:
		return vec.Of(vec.RoundF16)
	case dtype.BF16:
		return vec.Of(vec.RoundBF16)
	case dtype.I32:
		return unary(func(x float32) int32 { return int32(saturate(x, math.MinInt32, math.MaxInt32)) })
	case dtype.I64:
		return unary(func(x float32) int64 { return saturate(x, math.MinInt64, math.MaxInt64) })
	case dtype.U8:
		return unary(func(x float32) uint8 { return uint8(saturate(x, 0, math.MaxUint8)) })
	case dtype.Bool:
		return vec.Of(vec.ToBool)
	}
	return nil
}

// saturate rounds towards zero and stays between lowest and highest; NaN becomes 0.
func saturate(x float32, lowest, highest int64) int64 {
	switch {
	case x != x:
		return 0
	case x <= float32(lowest):
		return lowest
	case x >= float32(highest): // for an I64 that is 2⁶³, which it does not hold
		return highest
	}
	return int64(x)
}

func castInt[A integer](to dtype.Type) vec.Func {
	switch to {
	case dtype.F32:
		if unsafe.Sizeof(A(0)) == 1 {
			return vec.Of(vec.FromU8)
		}
		return unary(func(x A) float32 { return float32(x) })
	case dtype.F16:
		return unary(func(x A) float32 { return dtype.F16ToFloat32(dtype.Float32ToF16(float32(x))) })
	case dtype.BF16:
		return unary(func(x A) float32 { return dtype.BF16ToFloat32(dtype.Float32ToBF16(float32(x))) })
	case dtype.I32:
		return unary(func(x A) int32 { return int32(x) })
	case dtype.I64:
		return unary(func(x A) int64 { return int64(x) })
	case dtype.U8:
		return unary(func(x A) uint8 { return uint8(x) })
	case dtype.Bool:
		return unary(func(x A) bool { return x != 0 })
	}
	return nil
}

// fillScalar fills a register with a scalar of a command.
func fillScalar(p unsafe.Pointer, reg dtype.Type, v ir.Scalar) {
	switch reg {
	case dtype.F32:
		fill(p, float32(v.F))
	case dtype.I32:
		fill(p, int32(v.I))
	case dtype.I64:
		fill(p, v.I)
	case dtype.U8:
		fill(p, uint8(v.I))
	case dtype.Bool:
		fill(p, v.F != 0)
	}
}

// fillElement fills a register with one element of dtype t in memory.
func fillElement(p unsafe.Pointer, t dtype.Type, src unsafe.Pointer) {
	switch t {
	case dtype.F32, dtype.I32:
		fill(p, *(*uint32)(src))
	case dtype.F16:
		fill(p, dtype.F16ToFloat32(*(*uint16)(src)))
	case dtype.BF16:
		fill(p, dtype.BF16ToFloat32(*(*uint16)(src)))
	case dtype.I64:
		fill(p, *(*int64)(src))
	case dtype.U8, dtype.Bool:
		fill(p, *(*uint8)(src))
	}
}

func fill[T any](p unsafe.Pointer, v T) {
	out := unsafe.Slice((*T)(p), Len)
	for i := range out {
		out[i] = v
	}
}
