package ir

import (
	"encoding/binary"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A Scalar is a number of any dtype, on the host: an element, or a number that a kernel gets beside its
// buffers. F is used for floating-point types and Bool, I for integers, in which a U64 has its 64 bits, and
// for a random key.
type Scalar struct {
	F float64
	I int64
}

// IntRange returns the least and the greatest value of an integer dtype, or of Bool.
func IntRange(dt dtype.Type) (low int64, high uint64) {
	switch bits := 8 * dt.Size(); {
	case dt == dtype.Bool:
		return 0, 1
	case dt.Signed():
		return -1 << (bits - 1), 1<<(bits-1) - 1
	default:
		return 0, math.MaxUint64 >> (64 - bits)
	}
}

// Wrap cuts an integer off to the width of a dtype. A U64 stays as it is.
func Wrap(dt dtype.Type, i int64) int64 {
	unused := 64 - 8*dt.Size()
	if dt.Signed() {
		return i << unused >> unused
	}
	return int64(uint64(i) << unused >> unused)
}

// Saturate cuts a float off to an integer of that dtype: towards zero, and to the nearest end of its range;
// NaN is 0.
func Saturate(dt dtype.Type, f float64) int64 {
	low, high := IntRange(dt)
	switch {
	case f != f:
		return 0
	case f <= float64(low):
		return low
	case f >= float64(high): // of 64 bits, which is one more than high
		return int64(high)
	case f >= 1<<63:
		return int64(uint64(f))
	}
	return int64(f)
}

// FloatOf is the integer i of that dtype, rounded to float64.
func FloatOf(dt dtype.Type, i int64) float64 {
	if dt == dtype.U64 {
		return float64(uint64(i))
	}
	return float64(i)
}

// Nearest rounds f to the nearest number of a floating-point dtype.
func Nearest(dt dtype.Type, f float64) float64 {
	switch dt {
	case dtype.F16:
		return float64(dtype.F16ToFloat32(dtype.Float32ToF16(roundOdd(f))))
	case dtype.BF16:
		return float64(dtype.BF16ToFloat32(dtype.Float32ToBF16(roundOdd(f))))
	case dtype.F32:
		return float64(float32(f))
	}
	return f
}

// roundOdd rounds to a float32 that tells a later rounding to fewer digits on which side of a tie f is: what
// is no float32 becomes the neighbour whose last bit is 1.
func roundOdd(f float64) float32 {
	r := float32(f)
	if float64(r) == f || f != f {
		return r
	}
	bits := math.Float32bits(r)
	if math.Abs(float64(r)) > math.Abs(f) {
		bits--
	}
	return math.Float32frombits(bits | 1)
}

// Convert is what op Cast does, for one number.
func Convert(v Scalar, from, to dtype.Type) Scalar {
	switch {
	case to.Int() && from.Int():
		return Scalar{I: Wrap(to, v.I)}
	case to.Int():
		return Scalar{I: Saturate(to, v.F)}
	case from == dtype.U64 && to != dtype.F64: // one rounding, not two
		v.F = float64(float32(uint64(v.I)))
	case from.Int() && to != dtype.F64:
		v.F = float64(float32(v.I))
	case from.Int():
		v.F = FloatOf(from, v.I)
	}
	switch {
	case to != dtype.Bool:
		return Scalar{F: Nearest(to, v.F)}
	case v.F != 0:
		return Scalar{F: 1}
	}
	return Scalar{}
}

// Load reads the element at the beginning of little-endian data.
func Load(dt dtype.Type, b []byte) Scalar {
	switch dt {
	case dtype.Bool:
		return Scalar{F: float64(b[0]), I: int64(b[0])}
	case dtype.F16:
		return Scalar{F: float64(dtype.F16ToFloat32(binary.LittleEndian.Uint16(b)))}
	case dtype.BF16:
		return Scalar{F: float64(dtype.BF16ToFloat32(binary.LittleEndian.Uint16(b)))}
	case dtype.F32:
		return Scalar{F: float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))}
	case dtype.F64:
		return Scalar{F: math.Float64frombits(binary.LittleEndian.Uint64(b))}
	}
	return Scalar{I: Wrap(dt, int64(loadWord(b, dt.Size())))}
}

func loadWord(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// Append adds v as an element of that dtype, little endian. Floats are rounded, integers wrap.
func Append(dt dtype.Type, b []byte, v Scalar) []byte {
	bits := uint64(v.I)
	switch dt {
	case dtype.Bool:
		bits = 0
		if v.F != 0 {
			bits = 1
		}
	case dtype.F16:
		bits = uint64(dtype.Float32ToF16(roundOdd(v.F)))
	case dtype.BF16:
		bits = uint64(dtype.Float32ToBF16(roundOdd(v.F)))
	case dtype.F32:
		bits = uint64(math.Float32bits(float32(v.F)))
	case dtype.F64:
		bits = math.Float64bits(v.F)
	}
	switch dt.Size() {
	case 1:
		return append(b, byte(bits))
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(bits))
	case 4:
		return binary.LittleEndian.AppendUint32(b, uint32(bits))
	}
	return binary.LittleEndian.AppendUint64(b, bits)
}
