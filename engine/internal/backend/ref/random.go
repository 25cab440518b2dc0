package ref

import (
	"math"
	"math/bits"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	ops[ir.Rand] = one(func(in *backend.Inst, a []value) value {
		return random(in, a, func(w [4]uint32) (u [4]float64) {
			for j := range u {
				u[j] = uniform(w[j])
			}
			return u
		})
	})
	ops[ir.RandNormal] = one(func(in *backend.Inst, a []value) value {
		return random(in, a, func(w [4]uint32) (z [4]float64) {
			z[0], z[1] = boxMuller(w[0], w[1])
			z[2], z[3] = boxMuller(w[2], w[3])
			return z
		})
	})
}

// random fills four elements from each block of Philox: elements 4b to 4b+3 of C order come from the counter
// (b, counter), each of 64 bits, low word first.
func random(in *backend.Inst, a []value, make4 func([4]uint32) [4]float64) value {
	r := newValue(in.DType, in.Shape)
	key, counter := uint64(a[0].i[0]), uint64(a[1].i[0])
	for i := 0; i < len(r.f); i += 4 {
		block := uint64(i / 4)
		four := make4(philox(
			[4]uint32{uint32(block), uint32(block >> 32), uint32(counter), uint32(counter >> 32)},
			[2]uint32{uint32(key), uint32(key >> 32)}))
		copy(r.f[i:], four[:])
	}
	return r
}

// philox is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3; SC 2011).
func philox(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, c[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ k[0], lo1, hi0 ^ c[3] ^ k[1], lo0}
		k[0] += 0x9E3779B9
		k[1] += 0xBB67AE85
	}
	return c
}

// uniform uses the upper 24 bits: [0, 1) in steps of 2⁻²⁴, exact in float32.
func uniform(w uint32) float64 { return float64(w>>8) / (1 << 24) }

// boxMuller makes two normal numbers from two words; 1−u keeps the logarithm finite.
func boxMuller(a, b uint32) (x, y float64) {
	r := math.Sqrt(-2 * math.Log(1-uniform(a)))
	sin, cos := math.Sincos(2 * math.Pi * uniform(b))
	return r * cos, r * sin
}
