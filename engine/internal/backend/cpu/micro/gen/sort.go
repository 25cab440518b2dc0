package main

import "slices"

// emitSort writes the two kernels of a quicksort of 32-bit signed integers (Blacher, Giesen, Kühne: Fast and
// robust vectorized in-place sorting of primitive types, 2021): one divides a run, the other sorts 64
// numbers.
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

	fn := f.function("writes n numbers, 16 or more, to as many places before end: those of at most pivot from to on, the others at the "+
		"end. low becomes how many are not.", "divideAVX2", "to *int32, end *int32, from *int32, n int, pivot int, low *int")
	fn.load("to", "DI", "end", "SI", "from", "DX", "n", "CX", "pivot", "AX", "low", "R9")
	fn.op("VMOVQ", "AX", "X15")
	fn.op("VPBROADCASTD", "X15", "Y15")
	fn.op("LEAQ", table+"(SB)", "R8")
	fn.op("MOVQ", "DI", "R10")
	divide := func(size string) { // a vector; what is stored beyond the places of a side is written again
		fn.op("VPCMPGTD", "Y15", "Y0", "Y1")
		fn.op("VMOVMSKPS", "Y1", "AX")
		fn.op("VPMOVZXBD", mem(0, "R8", "AX*8"), "Y2")
		fn.op("VPERMD", "Y0", "Y2", "Y0")
		fn.op("VMOVDQU", "Y0", mem(0, "DI"))
		fn.op("VMOVDQU", "Y0", mem(-32, "SI"))
		fn.op("POPCNTL", "AX", "AX")
		fn.op("SHLQ", imm(2), "AX")
		fn.op("SUBQ", "AX", "SI")
		fn.op("SUBQ", "AX", "DI")
		fn.op("ADDQ", size, "DI")
		fn.op("ADDQ", size, "DX")
	}
	// The first n%8 numbers: the other lanes hold the pivot, which goes behind the low ones.
	fn.op("MOVQ", "CX", "BX")
	fn.op("ANDQ", imm(7), "BX")
	fn.op("SHLQ", imm(2), "BX")
	fn.op("LEAQ", among+"+256(SB)", "R11")
	fn.op("SUBQ", "BX", "R11")
	fn.op("VMOVDQU", mem(0, "R11"), "Y3")
	fn.op("VBLENDVPS", "Y3", mem(0, "DX"), "Y15", "Y0")
	divide("BX")
	fn.op("SHRQ", imm(3), "CX")
	loop := fn.label("loop")
	fn.at(loop)
	fn.op("VMOVDQU", mem(0, "DX"), "Y0")
	divide("$32")
	fn.op("DECQ", "CX")
	fn.op("JNZ", loop)
	fn.op("SUBQ", "R10", "DI")
	fn.op("SHRQ", imm(2), "DI")
	fn.op("MOVQ", "DI", mem(0, "R9"))
	fn.end()

	fn = f.function("writes n numbers, up to 64, in order, each as y^(y>>31&mask) with y = x^before.", "sortFewAVX2",
		"to *int32, from *int32, n int, mask int, before int")
	fn.load("to", "DI", "from", "SI", "n", "CX", "mask", "AX", "before", "BX")
	fn.op("LEAQ", among+"+256(SB)", "R8")
	fn.op("LEAQ", "0(CX*4)", "DX")
	fn.op("SUBQ", "DX", "R8")
	fn.op("VPCMPEQD", "Y15", "Y15", "Y15")
	fn.op("VPSRLD", imm(1), "Y15", "Y15")
	for i := range 8 { // the greatest number where there is none
		fn.op("VMOVDQU", mem(32*i, "R8"), "Y8")
		fn.op("VPMASKMOVD", mem(32*i, "SI"), "Y8", avx2.y(i))
		fn.op("VPANDN", "Y15", "Y8", "Y8")
		fn.op("VPOR", "Y8", avx2.y(i), avx2.y(i))
	}
	// Lanes are columns: Batcher's network sorts them, then they are made rows, in Y8 to Y15.
	for _, c := range [][2]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {1, 2}, {5, 6},
		{0, 4}, {1, 5}, {2, 6}, {3, 7}, {2, 4}, {3, 5}, {1, 2}, {3, 4}, {5, 6}} {
		lowHigh(fn, c[0], c[1], 8)
	}
	transpose8(fn)
	row := []int{8, 9, 10, 11, 12, 13, 14, 15}
	// Pairs of sorted runs are merged: the second one turned round, so that the lower of each pair of numbers
	// are in one half, and then halves of halves.
	for run := 1; run < 8; run *= 2 {
		for first := 0; first < 8; first += 2 * run {
			turned := make([]int, run)
			for i := range run {
				turned[i] = row[first+2*run-1-i]
				fn.op("VPERMQ", imm(0x4e), avx2.y(turned[i]), avx2.y(turned[i]))
				fn.op("VPSHUFD", imm(0x1b), avx2.y(turned[i]), avx2.y(turned[i]))
				lowHigh(fn, row[first+i], turned[i], 0)
			}
			copy(row[first+run:], turned)
		}
		for apart := run / 2; apart > 0; apart /= 2 {
			for i := range 8 {
				if i&apart == 0 {
					lowHigh(fn, row[i], row[i+apart], 0)
				}
			}
		}
		for _, step := range []struct {
			shuffle      string
			order, upper int
		}{{"VPERMQ", 0x4e, 0xf0}, {"VPSHUFD", 0x4e, 0xcc}, {"VPSHUFD", 0xb1, 0xaa}} {
			for i := range 8 {
				y, other := avx2.y(row[i]), avx2.y(i)
				fn.op(step.shuffle, imm(step.order), y, other)
				fn.op("VPMINSD", y, other, avx2.y((i+1)%8))
				fn.op("VPMAXSD", y, other, other)
				fn.op("VPBLENDD", imm(step.upper), other, avx2.y((i+1)%8), y)
			}
		}
	}
	for i, r := range []string{"AX", "BX"} {
		fn.op("VMOVQ", r, avx2.x(i))
		fn.op("VPBROADCASTD", avx2.x(i), avx2.y(i))
	}
	done := fn.label("done")
	for i := range 8 {
		y, all := avx2.y(row[i]), fn.label("all")
		fn.op("VPXOR", "Y1", y, y)
		fn.op("VPSRAD", imm(31), y, "Y2")
		fn.op("VPAND", "Y0", "Y2", "Y2")
		fn.op("VPXOR", "Y2", y, y)
		fn.op("CMPQ", "CX", imm(8*i+8))
		fn.op("JGE", all)
		fn.op("VMOVDQU", mem(32*i, "R8"), "Y3")
		fn.op("VPMASKMOVD", y, "Y3", mem(32*i, "DI"))
		fn.op("JMP", done)
		fn.at(all)
		fn.op("VMOVDQU", y, mem(32*i, "DI"))
	}
	fn.at(done)
	fn.end()
}

// lowHigh brings the lower of the numbers in two registers to a and the higher ones to b.
func lowHigh(fn *function, a, b, spare int) {
	fn.op("VPMINSD", avx2.y(a), avx2.y(b), avx2.y(spare))
	fn.op("VPMAXSD", avx2.y(a), avx2.y(b), avx2.y(b))
	fn.op("VMOVDQA", avx2.y(spare), avx2.y(a))
}
