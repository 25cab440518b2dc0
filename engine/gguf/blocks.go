package gguf

import (
	"encoding/binary"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// decodeAs decodes blocks into the bytes of f32, f16 or bf16.
func (k *kind) decodeAs(dt dtype.Type, dst, src []byte) {
	block, size := make([]float32, k.block), dt.Size()
	for i := range len(src) / k.bytes {
		k.decode(block, src[i*k.bytes:][:k.bytes])
		put(dt, dst[i*k.block*size:], block)
	}
}

// put writes numbers as f32, f16 or bf16.
func put(dt dtype.Type, dst []byte, values []float32) {
	for i, v := range values {
		switch dt {
		case dtype.F16:
			binary.LittleEndian.PutUint16(dst[2*i:], dtype.Float32ToF16(v))
		case dtype.BF16:
			binary.LittleEndian.PutUint16(dst[2*i:], dtype.Float32ToBF16(v))
		default:
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	}
}

// half reads an f16.
func half(b []byte) float32 { return dtype.F16ToFloat32(binary.LittleEndian.Uint16(b)) }

// The products below are converted to float32 before a sum, so that no processor fuses the two: ggml's
// reference code rounds twice.

// decodeQ4_0 decodes a scale and 32 numbers of 4 bits: the first half of the block in the low ones.
func decodeQ4_0(dst []float32, src []byte) {
	d := half(src)
	for i, q := range src[2:18] {
		dst[i] = d * float32(int(q&15)-8)
		dst[i+16] = d * float32(int(q>>4)-8)
	}
}

// decodeQ4_1 decodes a scale, a least value, and 32 numbers of 4 bits.
func decodeQ4_1(dst []float32, src []byte) {
	d, m := half(src), half(src[2:])
	for i, q := range src[4:20] {
		dst[i] = float32(d*float32(q&15)) + m
		dst[i+16] = float32(d*float32(q>>4)) + m
	}
}

// fives reads 32 numbers of 5 bits: 32 fifth bits, then the others like those of Q4_0.
func fives(src []byte) (q [32]int) {
	high := binary.LittleEndian.Uint32(src)
	for i, low := range src[4:20] {
		q[i] = int(low&15) | int(high>>i&1)<<4
		q[i+16] = int(low>>4) | int(high>>(i+16)&1)<<4
	}
	return q
}

func decodeQ5_0(dst []float32, src []byte) {
	d := half(src)
	for i, q := range fives(src[2:]) {
		dst[i] = d * float32(q-16)
	}
}

func decodeQ5_1(dst []float32, src []byte) {
	d, m := half(src), half(src[2:])
	for i, q := range fives(src[4:]) {
		dst[i] = float32(d*float32(q)) + m
	}
}

// decodeQ8_0 decodes a scale and 32 numbers of 8 bits.
func decodeQ8_0(dst []float32, src []byte) {
	d := half(src)
	for i, q := range src[2:34] {
		dst[i] = d * float32(int8(q))
	}
}
