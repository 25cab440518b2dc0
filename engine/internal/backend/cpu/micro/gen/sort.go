package main

import (
	"fmt"
	"math/bits"
	"slices"
)

// emitSort writes the kernels of a quicksort of 32-bit signed integers (Blacher, Giesen, Kühne: Fast and
// robust vectorized in-place sorting of primitive types, 2021): one divides a run, the other sorts a square
// of numbers, as many vectors as a vector has lanes.
func emitSort(f *file) {
	var places []uint32 // of a vector's lanes, by the mask of those that go up: the others, then those; a byte each
	for mask := range uint32(256) {
		order, at := uint64(0), 0
		for _, up := range []uint32{0, 1} {
			for lane := range 8 {
				if mask>>lane&1 == up {
					order |= uint64(lane) << (8 * at)
					at++
				}
			}
		}
		places = append(places, uint32(order), uint32(order>>32))
	}
	table := f.words("sortPlaces", places...)
	among := f.words("sortAmong", append(slices.Repeat([]uint32{1<<32 - 1}, 64), make([]uint32, 64)...)...)
	for _, s := range []set{avx2, avx512} {
		emitDivide(f, s, table, among)
		emitSortFew(f, s, among)
	}
}

// emitDivide writes the numbers of a run to its two ends: first those of so many groups in its midst, each
// time from the side where there is less free behind what was written, and then those of the sides, which lie
// elsewhere.
func emitDivide(f *file, s set, table, among string) {
	const group = 8 // vectors
	fn := f.function("divides the numbers of groups from x on, in the midst of so many bytes at to, and n others, a vector or more, which it "+
		"writes there, too: those of at most pivot come first, the others last. low becomes how many come first.",
		"divide"+s.name, "to *int32, bytes int, x *int32, groups int, from *int32, n int, pivot int, low *int")
	fn.load("to", "DI", "bytes", "SI", "x", "DX", "groups", "CX")
	fn.op("ADDQ", "DI", "SI")
	low, high, pivot, numbers := s.v(0), s.v(1), s.v(15), 3 // … 10
	fn.op("VPBROADCASTD", fn.param("pivot"), pivot)
	fn.op("LEAQ", table+"(SB)", "R8")
	fn.op("MOVQ", imm(-1), "R12")
	divide := func(r int, size string) { // a vector; what is stored beyond the places of a side is written again
		x := s.v(r)
		if s == avx512 {
			fn.op("VPCMPD", imm(6), pivot, x, "K1")
			fn.op("KNOTW", "K1", "K2")
			fn.op("KMOVW", "K1", "AX")
			fn.op("VPCOMPRESSD", x, "K2", low)
			fn.op("VPCOMPRESSD", x, "K1", high)
			fn.op("POPCNTL", "AX", "AX")
			fn.op("BZHIL", "AX", "R12", "R13")
			fn.op("KMOVW", "R13", "K3")
		} else {
			fn.op("VPCMPGTD", pivot, x, low)
			fn.op("VMOVMSKPS", low, "AX")
			fn.op("VPMOVZXBD", mem(0, "R8", "AX*8"), high)
			fn.op("VPERMD", x, high, low)
			fn.op("VMOVDQU", low, mem(-32, "SI"))
			fn.op("POPCNTL", "AX", "AX")
		}
		fn.op("VMOVUPS", low, mem(0, "DI"))
		fn.op("SHLQ", imm(2), "AX")
		fn.op("SUBQ", "AX", "SI")
		fn.op("SUBQ", "AX", "DI")
		if s == avx512 {
			fn.op("VMOVDQU32", high, "K3", mem(0, "SI"))
		}
		fn.op("ADDQ", size, "DI")
	}
	loop, rest := fn.label("loop"), fn.label("rest")
	fn.op("MOVQ", "CX", "BX")
	fn.op("SHLQ", imm(bits.Len(uint(group*s.bytes()-1))), "BX")
	fn.op("ADDQ", "DX", "BX") // the end of the groups
	fn.op("TESTQ", "CX", "CX")
	fn.op("JZ", rest)
	for range fn.loop(loop, "CX", 1) {
		for _, free := range [][3]string{{"DX", "DI", "R11"}, {"SI", "BX", "AX"}} {
			fn.op("MOVQ", free[0], free[2])
			fn.op("SUBQ", free[1], free[2])
		}
		fn.op("LEAQ", mem(group*s.bytes(), "DX"), "R9")
		fn.op("LEAQ", mem(-group*s.bytes(), "BX"), "R13")
		fn.op("CMPQ", "R11", "AX")
		fn.op("MOVQ", "DX", "R11")
		fn.op("CMOVQGT", "R13", "R11")
		fn.op("CMOVQGT", "R13", "BX")
		fn.op("CMOVQLE", "R9", "DX")
		for i := range group {
			fn.op("VMOVUPS", mem(i*s.bytes(), "R11"), s.v(numbers+i))
		}
		for i := range group {
			divide(numbers+i, imm(s.bytes()))
		}
	}
	fn.at(rest)
	// The first numbers, which do not fill a vector: the other lanes hold the pivot, which goes behind the
	// low ones.
	fn.load("from", "DX", "n", "CX")
	fn.op("MOVQ", "CX", "BX")
	fn.op("ANDQ", imm(s.lanes-1), "BX")
	s.first(fn, "BX", "R11", among)
	s.chosen(fn, 0, "R11", 3)
	if s == avx512 {
		fn.op("VMOVDQA32", pivot, s.v(2))
		fn.op("VMOVDQU32", mem(0, "DX"), "K1", s.v(2))
	} else {
		fn.op("VBLENDVPS", s.v(3), mem(0, "DX"), pivot, s.v(2))
	}
	fn.op("SHLQ", imm(2), "BX")
	divide(2, "BX")
	fn.op("ADDQ", "BX", "DX")
	fn.op("SHRQ", imm(bits.Len(uint(s.lanes-1))), "CX")
	for range fn.loop(fn.label("loop"), "CX", 1) {
		fn.op("VMOVUPS", mem(0, "DX"), s.v(2))
		divide(2, imm(s.bytes()))
		fn.op("ADDQ", imm(s.bytes()), "DX")
	}
	fn.op("SUBQ", fn.param("to"), "DI")
	fn.op("SHRQ", imm(2), "DI")
	fn.op("MOVQ", fn.param("low"), "R9")
	fn.op("MOVQ", "DI", mem(0, "R9"))
	fn.end()
}

// first points at the places of the first n lanes of vectors, chosen makes them those of vector i: in K1,
// or as bits of register v with AVX2.
func (s set) first(fn *function, n, at, among string) {
	size := 4
	if s == avx512 {
		size = 1
	}
	fn.op("LEAQ", among+"+256(SB)", at)
	for range size {
		fn.op("SUBQ", n, at)
	}
}

func (s set) chosen(fn *function, i int, at string, v int) {
	if s == avx512 {
		fn.op("VMOVDQU32", mem(16*i, at), s.x(v))
		fn.op("VPMOVB2M", s.x(v), "K1")
	} else {
		fn.op("VMOVDQU", mem(32*i, at), s.v(v))
	}
}

// A square is numbers while they are sorted: the registers of its rows, and free ones.
type square struct {
	*function
	set
	row, free []int
}

func emitSortFew(f *file, s set, among string) {
	fn := f.function("writes n numbers, up to a square of vectors, in order, each as y^(y>>31&mask) with y = x^before.", "sortFew"+s.name,
		"to *int32, from *int32, n int, mask int, before int")
	fn.load("to", "DI", "from", "SI", "n", "CX")
	q := &square{function: fn, set: s}
	for i := range s.lanes {
		q.row, q.free = append(q.row, i), append(q.free, s.lanes+i)
	}
	s.first(fn, "CX", "R8", among)
	greatest, part := q.take(), q.take()
	fn.op("VPCMPEQD", "X0", "X0", "X0")
	fn.op("VPBROADCASTD", "X0", s.v(greatest))
	fn.op("VPSRLD", imm(1), s.v(greatest), s.v(greatest))
	for i, r := range q.row { // the greatest number where there is none
		s.chosen(fn, i, "R8", part)
		if s == avx512 {
			fn.op("VMOVDQA32", s.v(greatest), s.v(r))
			fn.op("VMOVDQU32", mem(64*i, "SI"), "K1", s.v(r))
			continue
		}
		fn.op("VPMASKMOVD", mem(32*i, "SI"), s.v(part), s.v(r))
		fn.op("VPANDN", s.v(greatest), s.v(part), s.v(part))
		fn.op("VPOR", s.v(part), s.v(r), s.v(r))
	}
	q.give(greatest, part)
	for bit := 1; bit < s.lanes && s == avx512; bit *= 2 {
		fn.op("MOVQ", imm(lanesWith(bit)), "DX")
		fn.op("KMOVW", "DX", q.mask(bit))
	}
	q.sort()
	q.transpose()
	mask, xor, x := q.take(), q.take(), q.take()
	fn.op("VPBROADCASTD", fn.param("mask"), s.v(mask))
	fn.op("VPBROADCASTD", fn.param("before"), s.v(xor))
	done := fn.label("done")
	for i, r := range q.row {
		y, all := s.v(r), fn.label("all")
		fn.op("VXORPS", s.v(xor), y, y)
		fn.op("VPSRAD", imm(31), y, s.v(x))
		fn.op("VANDPS", s.v(mask), s.v(x), s.v(x))
		fn.op("VXORPS", s.v(x), y, y)
		fn.op("CMPQ", "CX", imm(s.lanes*(i+1)))
		fn.op("JGE", all)
		s.chosen(fn, i, "R8", x)
		if s == avx512 {
			fn.op("VMOVDQU32", y, "K1", mem(64*i, "DI"))
		} else {
			fn.op("VPMASKMOVD", y, s.v(x), mem(32*i, "DI"))
		}
		fn.op("JMP", done)
		fn.at(all)
		fn.op("VMOVUPS", y, mem(s.bytes()*i, "DI"))
	}
	fn.at(done)
	fn.end()
}

// sort sorts the columns by Batcher's network and merges pairs of runs of them: the second one turned round,
// so that the lower of each pair of numbers are in one half, and then halves of halves.
func (q *square) sort() {
	n := q.lanes
	for p := 1; p < n; p *= 2 {
		for d := p; d > 0; d /= 2 {
			for i := d % p; i+d < n; i++ {
				if (i-d%p)/d%2 == 0 && i/(2*p) == (i+d)/(2*p) {
					q.lowHigh(i, i+d)
				}
			}
		}
	}
	for run := 1; run < n; run *= 2 {
		for i := range n / 2 {
			j := n - 1 - i
			turned := q.across(q.row[j], 2*run-1)
			low, high := q.two("VPMINSD", q.row[i], turned), q.two("VPMAXSD", q.row[i], turned)
			q.give(q.row[i], q.row[j], turned)
			back := q.blend(high, low, run)
			q.row[i], q.row[j] = q.blend(low, high, run), q.across(back, 2*run-1)
			q.give(low, high, back)
		}
		for apart := run / 2; apart > 0; apart /= 2 {
			for i, x := range q.row {
				other := q.across(x, apart)
				q.row[i] = q.two("VPMINSD", x, other)
				if q.set == avx512 {
					q.op("VPMAXSD", q.v(other), q.v(x), q.mask(apart), q.v(q.row[i]))
				} else {
					high := q.two("VPMAXSD", x, other)
					q.op("VPBLENDD", imm(lanesWith(apart)&0xff), q.v(high), q.v(q.row[i]), q.v(q.row[i]))
					q.give(high)
				}
				q.give(x, other)
			}
		}
		for apart := n / 2; apart > 0; apart /= 2 {
			for i := range n {
				if i&apart == 0 {
					q.lowHigh(i, i+apart)
				}
			}
		}
	}
}

func (q *square) take() int {
	r := q.free[0]
	q.free = q.free[1:]
	return r
}

func (q *square) give(registers ...int) { q.free = append(q.free, registers...) }

// two emits an instruction of two vectors. It returns the register of the result, as the others do.
func (q *square) two(mnemonic string, a, b int, before ...any) int {
	to := q.take()
	q.op(mnemonic, append(before, q.v(b), q.v(a), q.v(to))...)
	return to
}

// lowHigh brings the lower of the numbers in two rows to row i and the higher ones to row j.
func (q *square) lowHigh(i, j int) {
	a, b := q.row[i], q.row[j]
	q.row[i], q.row[j] = q.two("VPMINSD", a, b), q.two("VPMAXSD", a, b)
	q.give(a, b)
}

// across moves each lane to the one whose number differs in bits.
func (q *square) across(x, lanes int) int {
	order := []int{0xe4, 0xb1, 0x4e, 0x1b}
	if lanes < 4 {
		return q.one("VPSHUFD", imm(order[lanes]), x)
	}
	var y int
	if q.set == avx512 {
		y = q.two("VSHUFI32X4", x, x, imm(order[lanes/4]))
	} else {
		y = q.one("VPERMQ", imm(0x4e), x)
	}
	if lanes%4 != 0 {
		q.op("VPSHUFD", imm(order[lanes%4]), q.v(y), q.v(y))
	}
	return y
}

func (q *square) one(mnemonic, imm string, x int) int {
	to := q.take()
	q.op(mnemonic, imm, q.v(x), q.v(to))
	return to
}

// lanesWith is the mask of the lanes whose number has a bit.
func lanesWith(bit int) (mask int) {
	for lane := range 16 {
		mask |= lane / bit % 2 << lane
	}
	return mask
}

// mask is the register of these, K2 to K5.
func (q *square) mask(bit int) string { return fmt.Sprint("K", 1+bits.Len(uint(bit))) }

// blend takes the lanes of x and, where their number has a bit, of y.
func (q *square) blend(x, y, bit int) int {
	to := q.take()
	if q.set == avx512 {
		q.op("VPBLENDMD", q.v(y), q.v(x), q.mask(bit), q.v(to))
	} else {
		q.op("VPBLENDD", imm(lanesWith(bit)&0xff), q.v(y), q.v(x), q.v(to))
	}
	return to
}

// transpose makes columns of rows: in quarters or halves of vectors, and of these.
func (q *square) transpose() {
	type half struct {
		mnemonic string
		order    []any
	}
	steps := [][2]half{{{"VUNPCKLPS", nil}, {"VUNPCKHPS", nil}}, {{"VUNPCKLPD", nil}, {"VUNPCKHPD", nil}},
		{{"VPERM2F128", []any{"$0x20"}}, {"VPERM2F128", []any{"$0x31"}}}}
	if q.set == avx512 {
		steps = append(steps[:2], [2]half{{"VSHUFI32X4", []any{"$0x44"}}, {"VSHUFI32X4", []any{"$0xee"}}},
			[2]half{{"VSHUFI32X4", []any{"$0x88"}}, {"VSHUFI32X4", []any{"$0xdd"}}})
	}
	for step, halves := range steps {
		apart := 1 << step
		for i := range q.lanes {
			if i&apart == 0 {
				a, b := q.row[i], q.row[i+apart]
				for h, half := range halves {
					q.row[i+h*apart] = q.two(half.mnemonic, a, b, half.order...)
				}
				q.give(a, b)
			}
		}
		for i := range q.lanes { // two steps leave the middle ones of four exchanged
			if step%2 == 1 && i&apart != 0 && i&(apart/2) == 0 {
				q.row[i], q.row[i-apart/2] = q.row[i-apart/2], q.row[i]
			}
		}
	}
}
