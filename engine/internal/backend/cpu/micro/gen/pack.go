package main

import "fmt"

// packTypes are the element types that packing widens to f32.
var packTypes = []struct {
	name string
	size int
}{{"F32", 4}, {"BF16", 2}, {"F16", 2}}

func emitPack(f *file) {
	f.enter("together = 8")
	packTranspose(f, "F32", 4, 8, true)
	f.enter("across = packTransposeF328Across")
	for _, t := range packTypes {
		for _, lanes := range []int{4, 6, 8} {
			packTranspose(f, t.name, t.size, lanes, false)
			f.enter("transposes[%s][%d] = packTranspose%s%d", t.name, lanes, t.name, lanes)
		}
		for v := 1; v <= 4; v++ {
			packCopyMasked(f, t.name, t.size, v)
			f.enter("masked[isa.AVX512][%s][%d] = packCopy%s%dAVX512", t.name, v-1, t.name, 16*v)
		}
		for _, width := range []int{4, 6, 8, 12, 14, 16, 24} {
			packCopy(f, t.name, t.size, width)
			for _, s := range []set{avx2, avx512} {
				f.enter("exact[isa.%s][%s][%d] = packCopy%s%dAVX2", s.name, t.name, width, t.name, width)
			}
		}
	}
}

// widen loads f32 from elements of a type; y is a register name, source a memory operand of as many elements.
func widen(fn *function, typ, source, register string, mask ...any) {
	operands := append(append([]any{source}, mask...), register)
	switch typ {
	case "F32":
		if len(mask) > 0 {
			fn.op("VMOVUPS.Z", operands...)
		} else {
			fn.op("VMOVUPS", operands...)
		}
	case "BF16":
		if len(mask) > 0 {
			fn.op("VPMOVZXWD.Z", operands...)
		} else {
			fn.op("VPMOVZXWD", operands...)
		}
		fn.op("VPSLLD", imm(16), register, register)
	case "F16":
		if len(mask) > 0 {
			fn.op("VCVTPH2PS.Z", operands...)
		} else {
			fn.op("VCVTPH2PS", operands...)
		}
	}
}

// packTranspose writes dst[p][i] = src[i][p] for p < 8·blocks and i < lanes. It transposes 8×8 blocks in
// registers. Only the first rows (1 to 8) of src exist; the last of them is read again for each missing
// one, because the results are never stored. Strides are in bytes. With across, blocks lie below one another
// in src, eight columns of all its rows.
func packTranspose(f *file, typ string, size, lanes int, across bool) {
	name := fmt.Sprintf("packTranspose%s%d", typ, lanes)
	if across {
		name += "Across"
	}
	fn := f.function("transposes eight rows into a panel; see gen/pack.go.", name,
		"dst *float32, dstStride int, src unsafe.Pointer, srcStride int, rows int, blocks int")
	fn.load("dst", "DI", "dstStride", "AX", "src", "R8", "srcStride", "CX", "rows", "DX", "blocks", "BX")
	row := []string{"R8", "R9", "R10", "R11", "R12", "R13", "SI", "R15"}
	for i := 1; i < 8; i++ {
		same := fn.label("same")
		fn.op("MOVQ", row[i-1], row[i])
		fn.op("CMPQ", "DX", imm(i))
		fn.op("JLE", same)
		fn.op("ADDQ", "CX", row[i])
		fn.at(same)
	}
	for range fn.loop(fn.label("loop"), "BX", 1) {
		if typ == "F32" {
			transposeHalves(fn, row)
		} else {
			for i, r := range row {
				widen(fn, typ, mem(0, r), avx2.y(i))
			}
			transpose8(fn)
		}
		fn.op("MOVQ", "DI", "DX")
		for _, r := range row {
			if across {
				fn.op("LEAQ", mem(0, r, "CX*8"), r)
			} else {
				fn.op("ADDQ", imm(8*size), r)
			}
		}
		// Row p of the result is in Y8+p.
		for p := range 8 {
			x, y := avx2.x(8+p), avx2.y(8+p)
			switch lanes {
			case 8:
				fn.op("VMOVUPS", y, mem(0, "DI"))
			case 6:
				fn.op("VMOVUPS", x, mem(0, "DI"))
				fn.op("VEXTRACTF128", imm(1), y, x)
				fn.op("VMOVLPS", x, mem(16, "DI"))
			case 4:
				fn.op("VMOVUPS", x, mem(0, "DI"))
			}
			fn.op("ADDQ", "AX", "DI")
		}
		if across {
			fn.op("LEAQ", mem(4*lanes, "DX"), "DI")
		}
	}
	fn.end()
}

// transposeHalves transposes eight numbers of each row into Y8…Y15. Four columns of four rows are loaded
// above those of the other four, so that nothing crosses the halves of a register: that is a third of the
// shuffles, of which processors do fewer than loads.
func transposeHalves(fn *function, row []string) {
	y := avx2.y
	for half := range 2 {
		at := 8 + 4*half
		for i := range 4 {
			fn.op("VMOVUPS", mem(16*half, row[i]), avx2.x(i))
			fn.op("VINSERTF128", imm(1), mem(16*half, row[i+4]), y(i), y(i))
		}
		for i := range 2 {
			fn.op("VUNPCKLPS", y(2*i+1), y(2*i), y(4+2*i))
			fn.op("VUNPCKHPS", y(2*i+1), y(2*i), y(5+2*i))
		}
		for i := range 2 {
			fn.op("VUNPCKLPD", y(6+i), y(4+i), y(at+2*i))
			fn.op("VUNPCKHPD", y(6+i), y(4+i), y(at+2*i+1))
		}
	}
}

// transpose8 transposes Y0…Y7 into Y8…Y15.
func transpose8(fn *function) {
	y := avx2.y
	for i := 0; i < 8; i += 2 {
		fn.op("VUNPCKLPS", y(i+1), y(i), y(8+i))
		fn.op("VUNPCKHPS", y(i+1), y(i), y(9+i))
	}
	for i := 0; i < 8; i += 4 {
		lo0, hi0, lo1, hi1 := y(8+i), y(9+i), y(10+i), y(11+i)
		fn.op("VUNPCKLPD", lo1, lo0, y(i))
		fn.op("VUNPCKHPD", lo1, lo0, y(i+1))
		fn.op("VUNPCKLPD", hi1, hi0, y(i+2))
		fn.op("VUNPCKHPD", hi1, hi0, y(i+3))
	}
	for i := range 4 {
		fn.op("VPERM2F128", imm(0x20), y(i+4), y(i), y(8+i))
		fn.op("VPERM2F128", imm(0x31), y(i+4), y(i), y(12+i))
	}
}

// packCopyMasked writes dst[p][j] = src[p][j] for p < k and j < valid, and 0 for the rest of width
// elements, which take v vectors. Strides are in bytes.
func packCopyMasked(f *file, typ string, size, v int) {
	fn := f.function("copies rows of at most that many elements into a panel; see gen/pack.go.", fmt.Sprintf("packCopy%s%dAVX512", typ, 16*v),
		"dst *float32, dstStride int, src unsafe.Pointer, srcStride int, k int, valid int, width int")
	fn.load("dst", "DI", "dstStride", "AX", "src", "SI", "srcStride", "CX", "k", "BX", "valid", "R8", "width", "R9")
	fn.op("MOVQ", imm(-1), "R10")
	fn.op("BZHIQ", "R8", "R10", "R11")
	fn.op("BZHIQ", "R9", "R10", "R12")
	for j := range v {
		fn.op("KMOVW", "R11", fmt.Sprint("K", 1+j))
		fn.op("SHRQ", imm(16), "R11")
	}
	if v > 1 {
		fn.op("SHRQ", imm(16*(v-1)), "R12")
	}
	fn.op("KMOVW", "R12", "K5")
	for range fn.loop(fn.label("loop"), "BX", 1) {
		for j := range v {
			widen(fn, typ, mem(16*size*j, "SI"), avx512.v(j), fmt.Sprint("K", 1+j))
			if j < v-1 {
				fn.op("VMOVUPS", avx512.v(j), mem(64*j, "DI"))
			} else {
				fn.op("VMOVUPS", avx512.v(j), "K5", mem(64*j, "DI"))
			}
		}
		fn.op("ADDQ", "CX", "SI")
		fn.op("ADDQ", "AX", "DI")
	}
	fn.end()
}

// packCopy writes dst[p][j] = src[p][j] for p < k and j < width. Strides are in bytes.
func packCopy(f *file, typ string, size, width int) {
	fn := f.function("copies rows of that many elements into a panel; see gen/pack.go.", fmt.Sprintf("packCopy%s%dAVX2", typ, width),
		"dst *float32, dstStride int, src unsafe.Pointer, srcStride int, k int")
	fn.load("dst", "DI", "dstStride", "AX", "src", "SI", "srcStride", "CX", "k", "BX")
	for range fn.loop(fn.label("loop"), "BX", 1) {
		for j := 0; j < width; {
			switch left := width - j; {
			case left >= 8:
				widen(fn, typ, mem(size*j, "SI"), "Y0")
				fn.op("VMOVUPS", "Y0", mem(4*j, "DI"))
				j += 8
			case left >= 4:
				widen(fn, typ, mem(size*j, "SI"), "X0")
				fn.op("VMOVUPS", "X0", mem(4*j, "DI"))
				j += 4
			default: // two
				widenTwo(fn, typ, mem(size*j, "SI"))
				fn.op("VMOVLPS", "X0", mem(4*j, "DI"))
				j += 2
			}
		}
		fn.op("ADDQ", "CX", "SI")
		fn.op("ADDQ", "AX", "DI")
	}
	fn.end()
}

// widenTwo loads two elements into X0 without reading beyond them.
func widenTwo(fn *function, typ, source string) {
	if typ == "F32" {
		fn.op("VMOVSD", source, "X0")
		return
	}
	fn.op("VMOVD", source, "X0")
	if typ == "F16" {
		fn.op("VCVTPH2PS", "X0", "X0")
		return
	}
	fn.op("VPMOVZXWD", "X0", "X0")
	fn.op("VPSLLD", imm(16), "X0", "X0")
}
