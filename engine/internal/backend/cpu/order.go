package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// compileArgBest finds the first position along an axis that no other beats; a NaN beats every number.
func compileArgBest(c *standalone) func(*launch) {
	register := tile.Register(c.dtype(0))
	outer, length, inner := ir.Around(c.shape(0), c.in.Attr.Axis)
	x, least := c.operand(0, c.shape(0), register), c.in.Op == ir.ArgMin
	columns := min(inner, tile.Len)
	rows := max(1, fetchLength/max(1, length)) // that are fetched at once
	x.reserve(max(rows*length, columns))
	out := c.g.Outputs[0].Buf
	return func(l *launch) {
		if outer*inner == 0 {
			return
		}
		to := unsafe.Slice((*int64)(l.pointer(out)), outer*inner)
		if inner == 1 {
			l.pool.Range(outer, max(1, mapGrain/length), func(worker, lo, hi int) {
				for ; lo < hi; lo += rows {
					n := min(rows, hi-lo)
					p := x.fetch(worker, lo*length, n*length)
					for i := range n {
						to[lo+i] = int64(argBest(l, register, least, unsafe.Add(p, i*length*register.Size()), length))
					}
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
				if l.stopped(k * columns) {
					return
				}
				row := x.fetch(worker, (o*length+k)*inner+first, n)
				for i := range n {
					if key := orderKey(register, row, i, least); k == 0 || key > keys[i] {
						keys[i], best[i] = key, int64(k)
					}
				}
			}
		})
	}
}

// argBest returns the position of a row's first best element, or any when the launch is to stop.
func argBest(l *launch, t dtype.Type, least bool, row unsafe.Pointer, n int) int {
	if t == dtype.F32 && n >= 32 {
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
	at := 0
	for lo := 0; lo < n && (lo == 0 || !l.stopped(lo)); lo += reduceStride {
		at = loopsOf[t].best(row, at, lo, min(n, lo+reduceStride), least)
	}
	return at
}

// bestOf returns the first of element at and elements lo to hi of p that no other beats.
func bestOf[T tile.Number](p unsafe.Pointer, at, lo, hi int, least bool) int {
	x := unsafe.Slice((*T)(p), hi)
	top := x[at]
	for i, v := range x[lo:] {
		if v != top && (v > top) != least && top == top || v != v && top == top {
			at, top = lo+i, v
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
func compileTopK(c *standalone) func(*launch) {
	shape, t := c.shape(0), c.dtype(0)
	n := shape[len(shape)-1]
	rows, k := ir.Size(shape[:len(shape)-1]), c.in.Attr.Index
	if k > 64 {
		run, err := compileSort(c.g, c.in)
		c.failed(err)
		return run
	}
	x, compared := c.operand(0, shape, t).reserve(n), c.operand(0, shape, tile.Register(t)).reserve(n)
	values, indices := c.output(0), c.output(1)
	reverse := c.in.Attr.Flags&ir.Reverse != 0
	var selections []selection
	return func(l *launch) {
		if rows*k == 0 {
			return
		}
		for len(selections) < l.pool.Threads() {
			selections = append(selections, selection{})
		}
		l.pool.Range(rows, max(1, mapGrain/n), func(worker, lo, hi int) {
			for row := lo; row < hi && !l.pool.Stopped(); row++ {
				best := selections[worker].best(l, tile.Register(t), compared.fetch(worker, row*n, n), n, k, reverse)
				if indices != nil {
					to := unsafe.Slice((*int64)(l.pointer(indices.Buf)), rows*k)[row*k:][:k]
					for j, b := range best {
						if l.stopped(j) {
							return
						}
						to[j] = int64(b.at)
					}
				}
				if values != nil {
					from := x.fetch(worker, row*n, n)
					for j, b := range best {
						if l.stopped(j) {
							return
						}
						copyElement(t.Size(), l.pointer(values.Buf), row*k+j, from, b.at)
					}
				}
			}
		})
	}
}

// A selection finds the few best elements of a row.
type selection struct {
	kept []ranked // the best so far, best first
}

// A ranked element says where it is in its row, and what it is ordered by: the greater the better.
type ranked struct {
	key uint64
	at  int
}

// best returns the k best of a row of n, best first, or fewer when the launch is to stop. They are valid
// until the next call.
func (s *selection) best(l *launch, t dtype.Type, row unsafe.Pointer, n, k int, reverse bool) []ranked {
	s.kept = s.kept[:0]
	for i := 0; i < n && !l.stopped(i); i++ {
		if t == dtype.F32 && len(s.kept) == k {
			if i += s.worse(row, i, n, reverse); i == n {
				break
			}
		}
		key := rankKey(t, row, i, reverse)
		if len(s.kept) == k {
			if key <= s.kept[k-1].key {
				continue
			}
			s.kept = s.kept[:k-1]
		}
		j := len(s.kept)
		s.kept = append(s.kept, ranked{})
		for ; j > 0 && s.kept[j-1].key < key; j-- {
			s.kept[j] = s.kept[j-1]
		}
		s.kept[j] = ranked{key, i}
	}
	return s.kept
}

// worse returns how many float32 from place i on, up to the next multiple of pollEvery, are no better than
// the worst that is kept, as far as looking at 64 at a time tells.
func (s *selection) worse(row unsafe.Pointer, i, n int, reverse bool) int {
	const together = 64
	kept := *(*float32)(unsafe.Add(row, 4*s.kept[len(s.kept)-1].at))
	from, end := i, min(n, (i/pollEvery+1)*pollEvery)
	for ; i+together <= end; i += together {
		at := unsafe.Add(row, 4*i)
		if !reverse && !(vec.MaxOf(at, together) <= kept) || reverse && !(vec.MinOf(at, together) >= kept) { // NaN is neither
			break
		}
	}
	return i - from
}

// rankKey maps element i to a number that is the greater the earlier it comes; with reverse the smallest come
// first, and NaN last.
func rankKey(t dtype.Type, row unsafe.Pointer, i int, reverse bool) uint64 {
	key := uint64(orderKey(t, row, i, false)) ^ 1<<63
	if reverse {
		return ^key
	}
	return key
}
