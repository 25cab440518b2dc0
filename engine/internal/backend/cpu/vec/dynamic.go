package vec

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Numbers in 8 bits, by a dynamic map with a sign or without; see [ir.DynamicMap]. n is a multiple of 16.
var (
	// DecodeSigned sets d to scale times the numbers of codes; DecodeSquares sets it to the squares of scale
	// times the numbers of codes without a sign.
	DecodeSigned  = decodeSignedGo
	DecodeSquares = decodeSquaresGo
	// EncodeSigned sets d to the codes of inverse·x; EncodeRoots sets it to those of inverse·√x, without a
	// sign. A number in the middle between two of the map, or as near as rounding, gets the code of either.
	// NaN gets any code.
	EncodeSigned = encodeSignedGo
	EncodeRoots  = encodeRootsGo
)

func decodeSignedGo(d, codes unsafe.Pointer, scale float32, n int) {
	to := floats(d, n)
	for i, c := range slice[uint8](codes, n) {
		to[i] = float32(ir.DynamicSigned.Values[c]) * scale
	}
}

func decodeSquaresGo(d, codes unsafe.Pointer, scale float32, n int) {
	to := floats(d, n)
	for i, c := range slice[uint8](codes, n) {
		x := float32(ir.DynamicUnsigned.Values[c]) * scale
		to[i] = x * x
	}
}

func encodeSignedGo(d, x unsafe.Pointer, inverse float32, n int) {
	to := slice[uint8](d, n)
	for i, v := range floats(x, n) {
		to[i] = ir.DynamicSigned.Code(float64(v * inverse))
	}
}

func encodeRootsGo(d, x unsafe.Pointer, inverse float32, n int) {
	to := slice[uint8](d, n)
	for i, v := range floats(x, n) {
		to[i] = ir.DynamicUnsigned.Code(math.Sqrt(float64(v)) * float64(inverse))
	}
}
