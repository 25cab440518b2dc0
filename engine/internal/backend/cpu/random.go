package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// compileRandom fills elements 4b to 4b+3 from block b of Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random
// numbers, as easy as 1, 2, 3; SC 2011) with key and counter from the operands; see the op's row.
func compileRandom(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	keyInput, counterInput := inputOf(g, in.Args[0]), inputOf(g, in.Args[1])
	n, out := elementsOf(in.Shape), g.Outputs[0]
	normal := in.Op == ir.RandNormal
	size := out.DType.Size()
	return func(l *launch) {
		key, counter := uint64(intOf(l, keyInput)), uint64(intOf(l, counterInput))
		to := l.pointer(out.Buf)
		tiles := (n + tile.Len - 1) / tile.Len
		l.pool.Range(tiles, 8, func(_, lo, hi int) {
			var x [tile.Len]float32
			for t := lo; t < hi; t++ {
				first := t * tile.Len
				uniforms(&x, key, counter, uint64(first/4))
				if normal {
					normals(&x)
				}
				narrowTo(out.DType, unsafe.Add(to, first*size), unsafe.Pointer(&x), min(tile.Len, n-first))
			}
		})
	}, nil
}

// uniforms fills a tile with numbers in [0, 1): the upper 24 bits of a word each.
func uniforms(x *[tile.Len]float32, key, counter, block uint64) {
	for i := 0; i < tile.Len; i += 4 {
		w := philox([4]uint32{uint32(block), uint32(block >> 32), uint32(counter), uint32(counter >> 32)}, uint32(key), uint32(key>>32))
		for j := range w {
			x[i+j] = float32(w[j]>>8) * 0x1p-24
		}
		block++
	}
}

func philox(c [4]uint32, k0, k1 uint32) [4]uint32 {
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, c[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ k0, lo1, hi0 ^ c[3] ^ k1, lo0}
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return c
}

// normals turns pairs of uniform numbers into pairs of normal ones.
func normals(x *[tile.Len]float32) {
	var u, v [tile.Len / 2]float32
	for i := range u {
		u[i], v[i] = x[2*i], x[2*i+1]
	}
	up, vp := unsafe.Pointer(&u), unsafe.Pointer(&v)
	vec.BoxMullerTo(up, vp, up, vp, len(u))
	for i := range u {
		x[2*i], x[2*i+1] = u[i], v[i]
	}
}
