package cpu

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// compileSort is compileTopK for many wanted elements: it sorts whole rows. Where only the values are wanted
// their keys are sorted, by vectors if there are kernels for it, else the keys with the places.
func compileSort(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	shape, t := g.Type(in.Args[0]).Shape, g.Type(in.Args[0]).DType
	n := shape[len(shape)-1]
	if uint64(n) > math.MaxUint32 {
		return nil, fmt.Errorf("%v: got rows of %d elements, want at most %d", in.Op, n, uint32(math.MaxUint32))
	}
	x, err := newOperand(g, in.Args[0], shape, t)
	if err != nil {
		return nil, err
	}
	rows, k := ir.Size(shape[:len(shape)-1]), in.Attr.Index
	values, places := outputOf(g, 0), outputOf(g, 1)
	r := rankingOf(t, in.Attr.Flags&ir.Reverse == 0)
	quick := t.Size() == 4 && places == nil && k == n && micro.HasSort()
	group := 1
	if !quick && t == dtype.F32 && places == nil && k == n && n%8 == 0 && n <= longestAbreast && micro.HasTranspose() {
		group = rowsAbreast
	}
	return func(l *launch) {
		if rows == 0 {
			return
		}
		from := x.all(l)
		defer x.release()
		sorters := make([]sorter, l.pool.Threads())
		defer func() {
			for i := range sorters {
				sorters[i].release()
			}
		}()
		one := func(s *sorter, row int) {
			s.l, s.ranking, s.n, s.row = l, r, n, unsafe.Add(from, row*n*t.Size())
			if values != nil {
				s.values = unsafe.Add(l.pointer(values.Buf), row*k*t.Size())
			}
			if places != nil {
				s.places = unsafe.Slice((*int64)(l.pointer(places.Buf)), rows*k)[row*k:][:k]
			}
			if quick {
				s.sortQuick()
			} else {
				s.sort(k)
			}
		}
		if rows >= len(sorters) || n < splitLength {
			l.pool.Range((rows+group-1)/group, max(1, mapGrain/(n*group)), func(worker, lo, hi int) {
				s := &sorters[worker]
				s.pieces = s.own[:]
				for first := lo * group; first < min(hi*group, rows) && !l.pool.Stopped(); first += group {
					if at := first * n * t.Size(); group > 1 && first+group <= rows &&
						sortAbreast(s.reserve(group*n*t.Size()), unsafe.Add(l.pointer(values.Buf), at), unsafe.Add(from, at), n, r.flip != 0) {
						continue
					}
					for row := first; row < min(first+group, rows) && !l.pool.Stopped(); row++ {
						one(s, row)
					}
				}
			})
			return
		}
		sorters[0].pieces = make([]sortPiece, len(sorters))
		for row := 0; row < rows && !l.pool.Stopped(); row++ {
			one(&sorters[0], row)
		}
	}, nil
}

// A sorter sorts a row digit by digit, from the lowest (least significant digit first: each step is stable).
// The digits are bytes of the elements' keys.
type sorter struct {
	*ranking
	l      *launch
	n      int
	row    unsafe.Pointer
	values unsafe.Pointer // where they are wanted, or nil
	places []int64        // the same
	pieces []sortPiece    // one, or one for each thread that takes part
	own    [1]sortPiece
	room   []byte
	pages  []byte // where room lies, if it is large
}

// A sortPiece is what one thread knows of its part of a row.
type sortPiece struct {
	counts [8][256]uint32 // of each digit's values; then where the next such element goes
	shared bool           // there are elements of other bits with the same key
	room   [micro.DivideRoom]int32
}

// sort writes the first k elements, or some of them when the launch is to stop.
func (s *sorter) sort(k int) {
	switch {
	case s.places != nil:
		places := s.sortPlaces()
		s.each(k, func(_ *sortPiece, lo, hi int) {
			for i := lo; i < hi && !s.l.stopped(i-lo); i++ {
				at := int(uint32(places[i]))
				s.places[i] = int64(at)
				if s.values != nil {
					copyElement(s.size, s.values, i, s.row, at)
				}
			}
		})
	case s.size == 8:
		sortValues(s, k, func(to []uint64, at int) bool { return s.keys(to, s.row, at) })
	default:
		sortValues(s, k, func(to []uint32, at int) bool {
			var keys [sortBlock]uint64
			shared := s.keys(keys[:len(to)], s.row, at)
			for i := range to {
				to[i] = uint32(keys[i])
			}
			return shared
		})
	}
}

// sortPlaces returns the places in order, in the lower halves of numbers whose upper halves have keys.
// Elements of 8 bytes are sorted by the lower halves of their keys first.
func (s *sorter) sortPlaces() []uint64 {
	a, b := sortRoom[uint64](s)
	a, b = radix(s, a, b, 32, min(s.size, 4), func(to []uint64, at int) bool {
		s.keys(to, s.row, at)
		for i, key := range to {
			to[i] = key<<32 | uint64(at+i)
		}
		return false
	})
	if s.size == 8 {
		a, _ = radix(s, a, b, 32, 4, func(to []uint64, _ int) bool {
			for i, e := range to {
				to[i] = uint64(uint32(e))
				var key [1]uint64
				s.keys(key[:], s.row, int(to[i]))
				to[i] |= key[0] >> 32 << 32
			}
			return false
		})
	}
	return a
}

// sortValues writes the elements of the first k keys.
func sortValues[E sortKey](s *sorter, k int, fill func(to []E, at int) (shared bool)) {
	a, b := sortRoom[E](s)
	keys, _ := radix(s, a, b, 0, s.size, fill)
	s.each(k, func(_ *sortPiece, lo, hi int) {
		for i := lo; i < hi && !s.l.stopped(i-lo); i += sortBlock {
			elementsOfKeys(s.ranking, s.values, i, keys[i:min(i+sortBlock, hi)])
		}
	})
	s.restore(k)
}

// restore writes the zeros and the NaNs again, in the order of the row and with their bits.
func (s *sorter) restore(k int) {
	if !slices.ContainsFunc(s.pieces, func(p sortPiece) bool { return p.shared }) {
		return
	}
	var special, key [1]uint64
	var keys [sortBlock]uint64
	for _, bits := range []uint64{0, ^uint64(0)} {
		s.keys(special[:], unsafe.Pointer(&bits), 0)
		first := func(reached func(key uint64) bool) int {
			return sort.Search(k, func(i int) bool {
				s.keys(key[:], s.values, i)
				return reached(key[0])
			})
		}
		at := first(func(key uint64) bool { return key >= special[0] })
		end := first(func(key uint64) bool { return key > special[0] })
		for i := 0; i < s.n && at < end && !s.l.stopped(i); i += sortBlock {
			block := keys[:min(sortBlock, s.n-i)]
			s.keys(block, s.row, i)
			for j, key := range block {
				if key == special[0] && at < end {
					copyElement(s.size, s.values, at, s.row, i+j)
					at++
				}
			}
		}
	}
}

// sortBlock is how many keys are made at once, where the processor's nearest cache has them.
const sortBlock = 256

type sortKey interface{ uint32 | uint64 }

// radix sorts n numbers that fill makes, a block at a time, by digits from a shift on. It returns them and
// the other of the two rooms. When the launch is to stop, the order means nothing.
func radix[E sortKey](s *sorter, a, b []E, shift, digits int, fill func(to []E, at int) (shared bool)) (sorted, spare []E) {
	s.each(len(a), func(p *sortPiece, lo, hi int) {
		*p = sortPiece{}
		for i := lo; i < hi && !s.l.stopped(i-lo); i += sortBlock {
			block := a[i:min(i+sortBlock, hi)]
			p.shared = fill(block, i) || p.shared
			for d := 0; d < digits; d += 4 {
				count4((*[4][256]uint32)(p.counts[d:]), block, shift+8*d)
			}
		}
	})
	for d := 0; d < digits && !s.l.pool.Stopped(); d, shift = d+1, shift+8 {
		if d > 0 && len(s.pieces) > 1 { // the parts have other elements now
			s.each(len(a), func(p *sortPiece, lo, hi int) {
				p.counts[d] = [256]uint32{}
				for i := lo; i < hi && !s.l.stopped(i-lo); i += pollEvery {
					count(&p.counts[d], a[i:min(i+pollEvery, hi)], shift)
				}
			})
		}
		if s.l.pool.Stopped() || !s.starts(d, byte(a[0]>>(shift&63))) {
			continue
		}
		s.each(len(a), func(p *sortPiece, lo, hi int) {
			for i := lo; i < hi && !s.l.stopped(i-lo); i += pollEvery {
				distribute(b, &p.counts[d], a[i:min(i+pollEvery, hi)], shift)
			}
		})
		a, b = b, a
	}
	return a, b
}

// distribute brings numbers to where the next ones with their digit go.
func distribute[E sortKey](to []E, next *[256]uint32, numbers []E, shift int) {
	for _, e := range numbers {
		digit := byte(e >> (shift & 63))
		at := next[digit]
		next[digit] = at + 1
		to[at] = e
	}
}

// count counts the values of a digit.
func count[E sortKey](counts *[256]uint32, numbers []E, shift int) {
	for _, e := range numbers {
		counts[byte(e>>(shift&63))]++
	}
}

// count4 counts the values of four digits.
func count4[E sortKey](counts *[4][256]uint32, numbers []E, shift int) {
	for _, e := range numbers {
		u := uint32(e >> (shift & 63))
		counts[0][byte(u)]++
		counts[1][byte(u>>8)]++
		counts[2][byte(u>>16)]++
		counts[3][byte(u>>24)]++
	}
}

// starts makes places of a digit's counts: those of a value stand together, piece after piece. It returns
// false if all elements have the value first.
func (s *sorter) starts(d int, first byte) bool {
	same := uint32(0)
	for i := range s.pieces {
		same += s.pieces[i].counts[d][first]
	}
	if int(same) == s.n {
		return false
	}
	next := uint32(0)
	for digit := range 256 {
		for i := range s.pieces {
			c := &s.pieces[i].counts[d][digit]
			*c, next = next, next+*c
		}
	}
	return true
}

// each calls f for each piece and its share of n elements, on all threads if there are several.
func (s *sorter) each(n int, f func(p *sortPiece, lo, hi int)) {
	if len(s.pieces) == 1 {
		f(&s.pieces[0], 0, n)
		return
	}
	s.l.pool.For(len(s.pieces), func(_, i int) {
		f(&s.pieces[i], n*i/len(s.pieces), n*(i+1)/len(s.pieces))
	})
}

// sortRoom returns room for the row twice.
func sortRoom[E sortKey](s *sorter) (a, b []E) {
	var e E
	all := elements[E](s.reserve(2 * s.n * int(unsafe.Sizeof(e))))
	return all[:s.n], all[s.n : 2*s.n]
}

// reserve returns memory of the sorter's. It takes much from the system in pages, which take their time when
// the loops first write to them: those can be stopped, and Go cannot while it clears memory.
func (s *sorter) reserve(bytes int) []byte {
	if len(s.room) < bytes {
		if s.release(); bytes >= largeBuffer {
			s.pages = systemPages(bytes)
		}
		if s.room = s.pages; s.room == nil {
			s.room = alignedBytes(bytes)
		}
	}
	return s.room
}

// release gives large memory back.
func (s *sorter) release() {
	if s.pages != nil {
		givePages(s.pages)
	}
	s.room, s.pages = nil, nil
}
