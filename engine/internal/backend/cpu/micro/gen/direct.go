package main

import (
	"fmt"
	"strings"
)

// directTiles are the micro-kernels that read b unpacked: rows × vectors. All have 24 sums (AVX2: 12) in
// registers. Each exists in all narrower widths too, for the last columns.
var directTiles = []struct {
	set
	rows, vectors int
}{
	{avx512, 8, 3}, {avx512, 6, 4}, {avx2, 4, 3},
}

// emitDirect writes the kernels of products with some rows, whose right operand is not packed. b may be
// f32, bf16 or f16.
func emitDirect(f *file) {
	m := &matmulKernels{file: f, mask: f.words("directMask", halfMask()...)}
	for _, t := range directTiles {
		var widths []string
		for _, e := range packTypes {
			var list []string
			for v := 1; v <= t.vectors; v++ {
				list = append(list, m.direct(t.set, t.rows, v, e.name))
			}
			widths = append(widths, fmt.Sprintf("%s: {%s}", e.name, strings.Join(list, ", ")))
		}
		f.enter("directKernels[isa.%s] = append(directKernels[isa.%s], &DirectKernel{Rows: %d, Cols: %d, lanes: %d, widths: [3][]directFunc{%s}})",
			t.name, t.name, t.rows, t.vectors*t.lanes, t.lanes, strings.Join(widths, ", "))
	}
}

// direct writes c[rows cols] = a·b, or += when add is not 0, over k ≥ 1 steps. a holds mr values for each
// step. b has a row for each step, ldb bytes apart. Of each row cols elements are read, (v-1)·lanes < cols
// ≤ v·lanes; AVX2 reads all v·lanes.
//
// b comes from memory. A few columns of many rows are far apart, so the hardware sees no pattern to
// prefetch. So each step prefetches two cache lines that later calls read: at address ahead, which grows by
// aheadStep bytes in each step.
func (m *matmulKernels) direct(s set, mr, v int, typ string) (name string) {
	name = fmt.Sprintf("direct%dx%d%s%s", mr, v*s.lanes, typ, s.name)
	fn := m.function("multiplies a packed panel by rows of b as they lie; see gen/direct.go.", name,
		"k int, a *float32, b unsafe.Pointer, ldb int, c *float32, ldc int, rows int, cols int, add int, ahead int, aheadStep int")
	fn.load("k", "AX", "a", "SI", "b", "BX", "ldb", "R8", "c", "DI", "ldc", "R9", "rows", "R10", "cols", "CX", "ahead", "DX", "aheadStep", "R11")
	var mask []any
	if s == avx512 {
		fn.op("MOVQ", "CX", "R13")
		fn.op("SUBQ", imm((v-1)*s.lanes), "R13")
		fn.op("MOVQ", imm(-1), "R12")
		fn.op("BZHIQ", "R13", "R12", "R12")
		fn.op("KMOVW", "R12", "K2")
		mask = []any{"K2"}
	}
	fn.zero(s, mr*v)
	size := 2
	if typ == "F32" {
		size = 4
	}
	b := mr * v
	for range fn.loop(fn.label("loop"), "AX", 1) {
		for j := range v {
			if j == v-1 {
				widen(fn, typ, mem(j*s.lanes*size, "BX"), s.v(b+j), mask...)
			} else {
				widen(fn, typ, mem(j*s.lanes*size, "BX"), s.v(b+j))
			}
		}
		fn.op("PREFETCHT1", mem(0, "DX"))
		fn.op("PREFETCHT1", mem(64, "DX"))
		spare := min(s.regs-b-v, 2)
		for i := range mr {
			a := s.v(b + v + i%spare)
			fn.op("VBROADCASTSS", mem(4*i, "SI"), a)
			for j := range v {
				fn.op("VFMADD231PS", s.v(b+j), a, s.v(i*v+j))
			}
		}
		fn.op("ADDQ", imm(4*mr), "SI")
		fn.op("ADDQ", "R8", "BX")
		fn.op("ADDQ", "R11", "DX")
	}
	m.store(fn, s, mr, v)
	fn.end()
	return name
}
