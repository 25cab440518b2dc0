package cpu

import (
	"math"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// compileArgBest finds the first position along an axis that no other beats; a NaN beats every number.
func compileArgBest(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	shape := operandShape(g, in.Args[0])
	register := tile.Register(dtypeOf(g, in.Args[0]))
	outer, length, inner := around(shape, in.Attr.Axis)
	x, err := newOperand(g, in.Args[0], shape, register)
	if err != nil {
		return nil, err
	}
	least := in.Op == ir.ArgMin
	columns := min(inner, tile.Len)
	x.reserve(max(length, columns))
	out := g.Outputs[0].Buf
	return func(l *launch) {
		if outer*inner == 0 {
			return
		}
		x.bind(l)
		defer x.release()
		to := unsafe.Slice((*int64)(l.pointer(out)), outer*inner)
		if inner == 1 {
			l.pool.Range(outer, max(1, mapGrain/length), func(worker, lo, hi int) {
				for o := lo; o < hi; o++ {
					to[o] = int64(argBest(register, least, x.fetch(worker, o*length, length), length))
				}
			})
			return
		}
		blocks := (inner + columns - 1) / columns
		l.pool.For(outer*blocks, func(worker, c int) {
			o, first := c/blocks, c%blocks*columns
			n := min(columns, inner-first)
			best := to[o*inner+first:][:n]
			clear(best)
			var keys [tile.Len]int64
			for k := range length {
				row := x.fetch(worker, (o*length+k)*inner+first, n)
				for i := range n {
					if key := orderKey(register, row, i, least); k == 0 || key > keys[i] {
						keys[i], best[i] = key, int64(k)
					}
				}
			}
		})
	}, nil
}

// argBest returns the position of a row's first best element.
func argBest(t dtype.Type, least bool, row unsafe.Pointer, n int) int {
	if t == dtype.F32 {
		best := vec.MaxOf
		if least {
			best = vec.MinOf
		}
		v := best(row, n)
		for i, x := range unsafe.Slice((*float32)(row), n) {
			if x == v || v != v && x != x {
				return i
			}
		}
	}
	at, top := 0, orderKey(t, row, 0, least)
	for i := 1; i < n; i++ {
		if key := orderKey(t, row, i, least); key > top {
			at, top = i, key
		}
	}
	return at
}

// orderKey maps element i to an integer that orders as the elements do, or the other way round with least.
// NaN is the greatest either way, and the zeros are equal.
func orderKey(t dtype.Type, p unsafe.Pointer, i int, least bool) int64 {
	key := loopsOf[t].key(p, i)
	if least && !(key == math.MaxInt64 && t.Float()) {
		return ^key
	}
	return key
}

// compileTopK picks the k greatest of each row in order (the smallest with Reverse, NaN last); equal elements
// keep their order.
func compileTopK(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	shape := operandShape(g, in.Args[0])
	t := dtypeOf(g, in.Args[0])
	n := shape[len(shape)-1]
	rows, k := elementsOf(shape[:len(shape)-1]), in.Attr.Index
	x, err := newOperand(g, in.Args[0], shape, t)
	if err != nil {
		return nil, err
	}
	compared, err := newOperand(g, in.Args[0], shape, tile.Register(t))
	if err != nil {
		return nil, err
	}
	x.reserve(n)
	compared.reserve(n)
	values, indices := outputOf(g, 0), outputOf(g, 1)
	reverse := in.Attr.Flags&ir.Reverse != 0
	var selections []selection
	return func(l *launch) {
		if rows*k == 0 {
			return
		}
		x.bind(l)
		compared.bind(l)
		defer x.release()
		defer compared.release()
		for len(selections) < l.pool.Threads() {
			selections = append(selections, selection{})
		}
		l.pool.Range(rows, max(1, mapGrain/n), func(worker, lo, hi int) {
			for row := lo; row < hi && !l.pool.Stopped(); row++ {
				s := &selections[worker]
				s.best(tile.Register(t), compared.fetch(worker, row*n, n), n, k, reverse, l.pool.Stopped)
				if indices != nil {
					copy(unsafe.Slice((*int64)(l.pointer(indices.Buf)), rows*k)[row*k:][:k], s.at)
				}
				if values != nil {
					from := x.fetch(worker, row*n, n)
					for j, i := range s.at {
						copyElement(t.Size(), l.pointer(values.Buf), row*k+j, from, int(i))
					}
				}
			}
		})
	}, nil
}

// A selection keeps the best elements of a row, best first.
type selection struct {
	at            []int64
	keys          []int64
	places, spare []ranked // while a row is sorted
}

// A ranked element says where it is in its row, and what it is ordered by.
type ranked struct {
	key uint64
	at  int64
}

// pollEvery is after how many steps a loop over single elements asks whether to go on.
const pollEvery = 1 << 16

func (s *selection) best(t dtype.Type, row unsafe.Pointer, n, k int, reverse bool, stopped func() bool) {
	s.at, s.keys = s.at[:0], s.keys[:0]
	if k > 64 {
		s.sort(t, row, n, k, reverse, stopped)
		return
	}
	for i := 0; i < n; i++ {
		if i%pollEvery == 0 && stopped() {
			return
		}
		if t == dtype.F32 && len(s.keys) == k {
			if i += s.worse(row, i, n, reverse); i == n {
				return
			}
		}
		key := rankKey(t, row, i, reverse)
		if len(s.keys) == k {
			if key <= s.keys[k-1] {
				continue
			}
			s.keys, s.at = s.keys[:k-1], s.at[:k-1]
		}
		j := len(s.keys)
		s.keys, s.at = append(s.keys, 0), append(s.at, 0)
		for ; j > 0 && s.keys[j-1] < key; j-- {
			s.keys[j], s.at[j] = s.keys[j-1], s.at[j-1]
		}
		s.keys[j], s.at[j] = key, int64(i)
	}
}

// worse returns how many float32 from place i on, up to the next multiple of pollEvery, are no better than
// the worst that is kept, as far as looking at 64 at a time tells.
func (s *selection) worse(row unsafe.Pointer, i, n int, reverse bool) int {
	const together = 64
	kept := *(*float32)(unsafe.Add(row, 4*s.at[len(s.at)-1]))
	from, end := i, min(n, (i/pollEvery+1)*pollEvery)
	for ; i+together <= end; i += together {
		at := unsafe.Add(row, 4*i)
		if !reverse && !(vec.MaxOf(at, together) <= kept) || reverse && !(vec.MinOf(at, together) >= kept) { // NaN is neither
			break
		}
	}
	return i - from
}

// sort orders the whole row, byte by byte from the lowest: for many wanted elements. It ends early when
// stopped says so.
func (s *selection) sort(t dtype.Type, row unsafe.Pointer, n, k int, reverse bool, stopped func() bool) {
	var counts [8][256]int
	s.places, s.spare = slices.Grow(s.places[:0], n)[:n], slices.Grow(s.spare[:0], n)[:n]
	for i := range n {
		if i%pollEvery == 0 && stopped() {
			return
		}
		key := ^(uint64(rankKey(t, row, i, reverse)) ^ 1<<63) // the greatest is the least, as unsigned integers
		s.places[i] = ranked{key, int64(i)}
		for digit := range counts {
			counts[digit][byte(key>>(8*digit))]++
		}
	}
	for digit := range counts {
		count := &counts[digit]
		if count[byte(s.places[0].key>>(8*digit))] == n {
			continue // all alike
		}
		next := 0
		for i, c := range count {
			count[i] = next
			next += c
		}
		for i, p := range s.places {
			if i%pollEvery == 0 && stopped() {
				return
			}
			at := &count[byte(p.key>>(8*digit))]
			s.spare[*at] = p
			*at++
		}
		s.places, s.spare = s.spare, s.places
	}
	for _, p := range s.places[:k] {
		s.at = append(s.at, p.at)
	}
}

// rankKey is orderKey, but with reverse NaN comes last.
func rankKey(t dtype.Type, row unsafe.Pointer, i int, reverse bool) int64 {
	key := orderKey(t, row, i, false)
	if reverse {
		return ^key
	}
	return key
}
