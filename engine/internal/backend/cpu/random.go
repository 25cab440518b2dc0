package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// compileRandom fills elements 4b to 4b+3 from block b of Philox4x32-10 with key and counter from the operands; see the
// op's row.
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

// uniforms fills a tile with numbers in [0, 1) from 64 blocks: the first half of the tile from the blocks at even
// places, the second from those at odd ones.
func uniforms(x *[tile.Len]float32, key, counter, block uint64) {
	const half = tile.Len / 2
	var blocks [tile.Len / 4]uint64
	for i := 0; i < len(blocks); i += 2 {
		blocks[i], blocks[i+1] = block+uint64(i/2), block+uint64(i/2+half/4)
	}
	vec.UniformTo(unsafe.Pointer(x), unsafe.Pointer(&x[half]), unsafe.Pointer(&blocks),
		uint32(key), uint32(key>>32), uint32(counter), uint32(counter>>32), half)
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
