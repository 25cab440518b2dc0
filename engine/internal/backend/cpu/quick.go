package cpu

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
)

// A part of a row is what quicksort sorts in its place: keys, which become elements.
type part struct {
	numbers []int32
	*keying
}

// A keying makes elements of keys: y^(y>>31&mask) of y = key^flip.
type keying struct{ mask, flip uint32 }

// sortQuick is sortValues of all keys, which have 32 bits and are signed here.
func (s *sorter) sortQuick() {
	f := keying{uint32(s.float) & math.MaxInt32, uint32(s.flip^s.sign) ^ 1<<31}
	whole := part{unsafe.Slice((*int32)(s.values), s.n), &f}
	s.each(s.n, func(p *sortPiece, lo, hi int) {
		p.shared = false
		for i := lo; i < hi && !s.l.stopped(i-lo); i += sortBlock {
			block := whole.numbers[i:min(i+sortBlock, hi)]
			if vec.RankTo(unsafe.Pointer(&block[0]), unsafe.Add(s.row, 4*i), f.mask, 0, f.flip, len(block)) == 0 || f.mask == 0 {
				continue
			}
			var keys [sortBlock]uint64
			p.shared = s.keys(keys[:len(block)], s.row, i) || p.shared
			for j := range block {
				block[j] = int32(keys[j] ^ 1<<31)
			}
		}
	})
	parts := []part{whole}
	for len(s.pieces) > 1 && len(parts) < 4*len(s.pieces) {
		halves := make([]part, 2*len(parts))
		s.l.pool.For(len(parts), func(worker, i int) { halves[2*i], halves[2*i+1] = parts[i].divide(s.pieces[worker].room[:]) })
		parts = halves
	}
	depth := 2 * bits.Len(uint(s.n))
	if len(parts) == 1 {
		whole.sort(s.l, s.pieces[0].room[:], depth)
	} else {
		s.l.pool.For(len(parts), func(worker, i int) { parts[i].sort(s.l, s.pieces[worker].room[:], depth) })
	}
	s.restore(s.n)
}

// sort writes the elements of the part. Their order means nothing when the launch is to stop.
func (p part) sort(l *launch, room []int32, depth int) {
	for len(p.numbers) > micro.Few() {
		if len(p.numbers) >= pollEvery && l.pool.Stopped() {
			return
		}
		if depth--; depth < 0 { // the pivots were bad ones
			slices.Sort(p.numbers)
			p.end()
			return
		}
		var high part
		p, high = p.divide(room)
		high.sort(l, room, depth)
	}
	if len(p.numbers) > 0 {
		micro.SortFew(&p.numbers[0], &p.numbers[0], len(p.numbers), p.mask, p.flip)
	}
}

// end makes elements of sorted keys.
func (p part) end() {
	if len(p.numbers) > 0 {
		at := unsafe.Pointer(&p.numbers[0])
		vec.RankTo(at, at, p.mask, p.flip, 0, len(p.numbers))
	}
}

// divide brings the lower numbers before the others. Where those are the same, they have ended.
func (p part) divide(room []int32) (low, high part) {
	if len(p.numbers) <= micro.Few() {
		return p, part{}
	}
	pivot := p.pivot()
	at := micro.Divide(p.numbers, room, pivot)
	largest := at == len(p.numbers)
	if largest {
		at = 0
		if pivot != math.MinInt32 {
			at = micro.Divide(p.numbers, room, pivot-1)
		}
	}
	low, high = part{p.numbers[:at], p.keying}, part{p.numbers[at:], p.keying}
	if largest {
		high.end()
		high = part{}
	}
	return low, high
}

// pivot is a number about in the middle.
func (p part) pivot() int32 {
	const samples = 64
	n := len(p.numbers)
	if n < 8*samples {
		a, b, c := p.numbers[n/4], p.numbers[n/2], p.numbers[n/4*3]
		return max(min(a, b), min(max(a, b), c))
	}
	var few [samples]int32
	for i := range few {
		few[i] = p.numbers[i*(n/samples)]
	}
	micro.SortFew(&few[0], &few[0], samples, 0, 0)
	return few[samples/2]
}
