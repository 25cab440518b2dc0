package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// compileRandom fills elements 4b to 4b+3 from block b of Philox4x32-10 with key and counter from the
// operands; see the op's row.
func compileRandom(c *standalone) func(*launch) {
	keyInput, counterInput := c.input(0), c.input(1)
	n, out := ir.Size(c.in.Shape), c.g.Outputs[0]
	normal := c.in.Op == ir.RandNormal
	size := out.DType.Size()
	var tiles []*randomTile // by worker
	return func(l *launch) {
		for len(tiles) < l.pool.Threads() {
			tiles = append(tiles, new(randomTile))
		}
		key, counter := uint64(numberOf(l, keyInput).I), uint64(numberOf(l, counterInput).I)
		to := l.pointer(out.Buf)
		l.pool.Range((n+tile.Len-1)/tile.Len, 8, func(worker, lo, hi int) {
			t := tiles[worker]
			for c := lo; c < hi; c++ {
				first := c * tile.Len
				t.uniforms(key, counter, uint64(first/4))
				if out.DType == dtype.F64 {
					t.doubles(doubles(unsafe.Add(to, first*size), min(tile.Len, n-first)), normal)
					continue
				}
				if normal {
					t.normals()
				}
				narrowTo(out.DType, unsafe.Add(to, first*size), unsafe.Pointer(&t.x), min(tile.Len, n-first))
			}
		})
	}
}

// A randomTile is where a worker makes random numbers.
type randomTile struct {
	x      [tile.Len]float32
	blocks [tile.Len / 4]uint64
	u, v   [tile.Len / 2]float32
}

// uniforms fills a tile with numbers in [0, 1) from 64 blocks: the first half of the tile from the blocks at
// even places, the second from those at odd ones.
func (t *randomTile) uniforms(key, counter, block uint64) {
	const half = tile.Len / 2
	for i := 0; i < len(t.blocks); i += 2 {
		t.blocks[i], t.blocks[i+1] = block+uint64(i/2), block+uint64(i/2+half/4)
	}
	vec.UniformTo(unsafe.Pointer(&t.x), unsafe.Pointer(&t.x[half]), unsafe.Pointer(&t.blocks),
		uint32(key), uint32(key>>32), uint32(counter), uint32(counter>>32), half)
}

// normals turns pairs of uniform numbers into pairs of normal ones.
func (t *randomTile) normals() {
	for i := range t.u {
		t.u[i], t.v[i] = t.x[2*i], t.x[2*i+1]
	}
	u, v := unsafe.Pointer(&t.u), unsafe.Pointer(&t.v)
	vec.BoxMullerTo(u, v, u, v, len(t.u))
	for i := range t.u {
		t.x[2*i], t.x[2*i+1] = t.u[i], t.v[i]
	}
}

// doubles turns uniform numbers, or pairs of them into pairs of normal ones, into float64.
func (t *randomTile) doubles(out []float64, normal bool) {
	for i := range out {
		u, v := float64(t.x[i&^1]), float64(t.x[i|1])
		switch sin, cos := math.Sincos(2 * math.Pi * v); {
		case !normal:
			out[i] = float64(t.x[i])
		case i%2 == 0:
			out[i] = math.Sqrt(-2*math.Log(1-u)) * cos
		default:
			out[i] = math.Sqrt(-2*math.Log(1-u)) * sin
		}
	}
}
