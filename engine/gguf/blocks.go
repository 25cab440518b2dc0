package gguf

import (
	"encoding/binary"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/quant"
)

// A decoder reads the groups of a block, of as many as there are scales: their codes, as the type's
// quant.Config says what they stand for, scales and minimums. ggml multiplies and adds in the same order, so
// weights are equal bit for bit. Products are converted to float32 before a sum, so that no processor fuses
// the two.
type decoder func(block, codes []byte, scales, minimums []float32)

// each is the decoder of a function that reads group g of a block.
func each(group func(block []byte, g int, codes []byte) (scale, minimum float32)) decoder {
	return func(block, codes []byte, scales, minimums []float32) {
		size := len(codes) / len(scales)
		for g := range scales {
			scales[g], minimums[g] = group(block, g, codes[g*size:][:size])
		}
	}
}

// decodeAll decodes the blocks of codes.
func (k *kind) decodeAll(blocks, codes []byte, scales, minimums []float32) {
	for n := k.block / k.codes.Group; len(codes) > 0; blocks, codes, scales, minimums = blocks[k.bytes:], codes[k.block:], scales[n:], minimums[n:] {
		k.decode(blocks[:k.bytes], codes[:k.block], scales[:n], minimums[:n])
	}
}

// decodeAs decodes blocks into the bytes of f32, f16 or bf16.
func (k *kind) decodeAs(dt dtype.Type, dst, src []byte) {
	var codes [256]byte
	var values [128]float32
	var scales, minimums [16]float32
	table, size, middle := quant.Codes(k.codes.Table), k.codes.Group, 1<<(k.codes.Bits-1)
	list := values[:size]
	for ; len(src) > 0; src = src[k.bytes:] {
		k.decodeAll(src[:k.bytes], codes[:k.block], scales[:], minimums[:])
		for g := range k.block / size {
			scale, minimum, codes := scales[g], minimums[g], codes[g*size:][:size]
			for i := range list {
				switch code := codes[i]; k.codes.Scheme {
				case quant.Table:
					list[i] = scale * table[code]
				case quant.Minimum:
					list[i] = float32(scale*float32(code)) + minimum
				default:
					list[i] = scale * float32(int(code)-middle)
				}
			}
			put(dt, dst, list)
			dst = dst[size*dt.Size():]
		}
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

// Eight codes at a time.
const (
	lowHalves = 0x0f0f0f0f0f0f0f0f
	lowTwo    = 0x0303030303030303
	ones      = 0x0101010101010101
	signs     = 0x8080808080808080
)

func eight(b []byte) uint64       { return binary.LittleEndian.Uint64(b) }
func putEight(b []byte, x uint64) { binary.LittleEndian.PutUint64(b, x) }

// nibbles reads the codes of 4 bits of n bytes: the first n are the lower halves.
func nibbles(codes, src []byte) {
	n := len(src)
	for i := 0; i < n; i += 8 {
		x := eight(src[i:])
		putEight(codes[i:], x&lowHalves)
		putEight(codes[n+i:], x>>4&lowHalves)
	}
}

// decodeQ4_0: a scale and 32 numbers of 4 bits: the first half of the block in the low ones.
func decodeQ4_0(b, codes []byte, scales, _ []float32) {
	nibbles(codes, b[2:18])
	scales[0] = half(b)
}

// groupQ4_1 is a scale, a minimum, and 32 numbers of 4 bits.
func groupQ4_1(b []byte, _ int, codes []byte) (scale, minimum float32) {
	nibbles(codes, b[4:20])
	return half(b), half(b[2:])
}

// fives reads 32 numbers of 5 bits: 32 fifth bits, then the others like those of Q4_0.
func fives(codes, src []byte) {
	nibbles(codes, src[4:20])
	high := binary.LittleEndian.Uint32(src)
	for i := range 32 {
		codes[i] |= byte(high >> i & 1 << 4)
	}
}

func groupQ5_0(b []byte, _ int, codes []byte) (scale, minimum float32) {
	fives(codes, b[2:])
	for i := range codes {
		codes[i] += 128 - 16
	}
	return half(b), 0
}

func groupQ5_1(b []byte, _ int, codes []byte) (scale, minimum float32) {
	fives(codes, b[4:])
	return half(b), half(b[2:])
}

// decodeQ8_0: a scale and 32 numbers of 8 bits.
func decodeQ8_0(b, codes []byte, scales, _ []float32) {
	b, codes = b[:34], codes[:32]
	for i := 0; i <= 24; i += 8 {
		putEight(codes[i:], eight(b[2+i:])^signs) // from −128…127 to 0…255
	}
	scales[0] = half(b)
}

// groupMXFP4 is an exponent and 32 numbers of 4 bits.
func groupMXFP4(b []byte, _ int, codes []byte) (scale, minimum float32) {
	nibbles(codes, b[1:17])
	return float32(math.Ldexp(1, int(b[0])-127)), 0
}

// groupIQ4NL is a scale and 32 places in a table.
func groupIQ4NL(b []byte, _ int, codes []byte) (scale, minimum float32) {
	nibbles(codes, b[2:18])
	return half(b), 0
}

// groupTQ1 has five numbers of three values in a byte, and four in each of the last ones.
func groupTQ1(b []byte, g int, codes []byte) (scale, minimum float32) {
	for i := range codes {
		at, power := g*len(codes)+i, 0
		var q byte
		switch {
		case at < 160:
			q, power = b[at%32], at/32
		case at < 240:
			q, power = b[32+at%160%16], at%160/16
		default:
			q, power = b[48+at%4], (at-240)/4
		}
		for range power {
			q *= 3
		}
		codes[i] = byte(uint16(q)*3>>8) + 7
	}
	return half(b[52:]), 0
}

func groupTQ2(b []byte, g int, codes []byte) (scale, minimum float32) {
	for i := range codes {
		codes[i] = twoBits(b, g*len(codes)+i) + 7
	}
	return half(b[64:]), 0
}
