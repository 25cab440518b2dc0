package gguf

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// fromF32 quantises values, as many as whole blocks hold. Blocks need finite values: they share a scale.
func (k *kind) fromF32(values []float32) ([]byte, error) {
	dst := make([]byte, len(values)/k.block*k.bytes)
	for i := 0; i*k.block < len(values); i++ {
		block, out := values[i*k.block:(i+1)*k.block], dst[i*k.bytes:(i+1)*k.bytes]
		for j, v := range block {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return nil, fmt.Errorf("element %d is %v, which %s cannot hold", i*k.block+j, v, k.name)
			}
		}
		k.encode(out, block)
		if d := half(out); math.IsInf(float64(d), 0) {
			return nil, fmt.Errorf("elements %d to %d are too large for %s, whose scale is an f16", i*k.block, (i+1)*k.block-1, k.name)
		}
	}
	return dst, nil
}

// inverse is 1/d, or 0 for a block of zeros.
func inverse(d float32) float32 {
	if d == 0 {
		return 0
	}
	return 1 / d
}

// encodeQ8_0 scales the largest magnitude to 127 and rounds to nearest, halves away from zero.
func encodeQ8_0(dst []byte, src []float32) {
	var largest float32
	for _, v := range src {
		largest = max(largest, float32(math.Abs(float64(v))))
	}
	d := largest / 127
	binary.LittleEndian.PutUint16(dst, dtype.Float32ToF16(d))
	id := inverse(d)
	for i, v := range src {
		q := math.Round(float64(v * id))
		dst[2+i] = byte(int8(min(max(q, -127), 127))) // beyond 127 if 1/d overflowed: the scale is 0 then
	}
}

// encodeQ4_0 scales the value of the largest magnitude, the first of several, to -8.
func encodeQ4_0(dst []byte, src []float32) {
	var extreme float32
	for _, v := range src {
		if math.Abs(float64(v)) > math.Abs(float64(extreme)) {
			extreme = v
		}
	}
	d := extreme / -8
	binary.LittleEndian.PutUint16(dst, dtype.Float32ToF16(d))
	id := inverse(d)
	four := func(v float32) byte { return byte(min(max(float32(v*id)+8.5, 0), 15)) }
	for i := range 16 {
		dst[2+i] = four(src[i]) | four(src[i+16])<<4
	}
}
