package gguf

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// fromF32 quantises values, as many as whole blocks hold, on all processors. Blocks need finite values: they
// share a scale.
func (k *kind) fromF32(values []float32) ([]byte, error) {
	n := len(values) / k.block
	dst := make([]byte, n*k.bytes)
	parts := min(runtime.GOMAXPROCS(0), n)
	errs := make([]error, parts)
	var wg sync.WaitGroup
	for p := range parts {
		wg.Go(func() {
			for i := p * n / parts; i < (p+1)*n/parts && errs[p] == nil; i++ {
				errs[p] = k.fromBlock(dst[i*k.bytes:(i+1)*k.bytes], values[i*k.block:(i+1)*k.block], i*k.block)
			}
		})
	}
	wg.Wait()
	return dst, cmp.Or(errs...)
}

// fromBlock quantises the values from element first on.
func (k *kind) fromBlock(dst []byte, values []float32, first int) error {
	for i, v := range values {
		if v-v != 0 {
			return fmt.Errorf("element %d is %v, which %s cannot hold", first+i, v, k.name)
		}
	}
	if scale := k.encode(dst, values); scale-scale != 0 {
		return fmt.Errorf("elements %d to %d are too large for %s, whose scale is an f16", first, first+k.block-1, k.name)
	}
	return nil
}

// An encoder writes a block of values. It returns a number that is finite if all scales that it wrote are.
type encoder func(dst []byte, src []float32) (scale float32)

// putHalf writes v as f16, and returns what a reader finds.
func putHalf(dst []byte, v float32) float32 {
	binary.LittleEndian.PutUint16(dst, dtype.Float32ToF16(v))
	return half(dst)
}

// inverse is 1/d, or 0 for a block of zeros.
func inverse(d float32) float32 {
	if d == 0 {
		return 0
	}
	return 1 / d
}

func magnitude(v float32) float32 { return float32(math.Abs(float64(v))) }

// extreme is the value of the largest magnitude, the first of several.
func extreme(values []float32) (v float32) {
	for _, x := range values {
		if magnitude(x) > magnitude(v) {
			v = x
		}
	}
	return v
}

// encodeQ8_0 scales the largest magnitude to 127 and rounds to nearest, halves away from zero.
func encodeQ8_0(dst []byte, src []float32) float32 {
	d := magnitude(extreme(src)) / 127
	id := inverse(d)
	for i, v := range src {
		q := math.Round(float64(v * id))
		dst[2+i] = byte(int8(min(max(q, -127), 127))) // beyond 127 if 1/d overflowed: the scale is 0 then
	}
	return putHalf(dst, d)
}

// encodeMiddle scales the extreme value to −2^(bits−1): Q4_0 and Q5_0.
func encodeMiddle(bits int) encoder {
	middle := float32(int(1) << (bits - 1))
	return func(dst []byte, src []float32) float32 {
		d := extreme(src) / -middle
		id := inverse(d)
		var codes [32]byte
		for i, v := range src {
			codes[i] = byte(min(max(float32(v*id)+middle+0.5, 0), 2*middle-1))
		}
		putHalves(dst[2:], codes[:], bits)
		return putHalf(dst, d)
	}
}

// encodeQ5_1 scales from the least to the greatest value.
func encodeQ5_1(dst []byte, src []float32) float32 {
	least, most := src[0], src[0]
	for _, v := range src {
		least, most = min(least, v), max(most, v)
	}
	d := (most - least) / 31
	id := inverse(d)
	var codes [32]byte
	for i, v := range src {
		codes[i] = byte(min(max(float32((v-least)*id)+0.5, 0), 31))
	}
	putHalves(dst[4:], codes[:], 5)
	return putHalf(dst, d) + putHalf(dst[2:], least)
}

// putHalves writes 32 codes: their fifth bits, if there are any, and two of the others in a byte, of which
// the first half of the codes are the low ones.
func putHalves(dst, codes []byte, bits int) {
	if bits == 5 {
		var high uint32
		for i, c := range codes {
			high |= uint32(c>>4) << i
		}
		binary.LittleEndian.PutUint32(dst, high)
		dst = dst[4:]
	}
	for i := range 16 {
		dst[i] = codes[i]&15 | codes[i+16]<<4
	}
}
