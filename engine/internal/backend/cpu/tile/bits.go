package tile

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
)

// bitcastFunc reads registers as another type of the same size. A narrow float lies widened in its
// register, so it is narrowed first.
func bitcastFunc(from, to dtype.Type) vec.Func {
	if from.Size() != 2 || from == to {
		return copyFunc(Register(to).Size())
	}
	bits, value := halfBits[from], halfValue[to]
	switch {
	case bits != nil && value != nil:
		return unary(func(x float32) float32 { return value(bits(x)) })
	case bits != nil:
		return unary(bits)
	case value != nil:
		return unary(value)
	}
	return copyFunc(2)
}

// halfBits and halfValue convert narrow floats to their bits, and back.
var (
	halfBits  = map[dtype.Type]func(float32) uint16{dtype.F16: dtype.Float32ToF16, dtype.BF16: dtype.Float32ToBF16}
	halfValue = map[dtype.Type]func(uint16) float32{dtype.F16: dtype.F16ToFloat32, dtype.BF16: dtype.BF16ToFloat32}
)

// shiftUp shifts left. A count below 0 gives 0.
func shiftUp[T Integer](a, b T) T {
	if b < 0 {
		return 0
	}
	return a << b
}

// shiftDown shifts right and keeps the sign. A count below 0 leaves only the sign.
func shiftDown[T Integer](a, b T) T {
	if b < 0 {
		b = 127
	}
	return a >> b
}
