package main

import "fmt"

// indirectTiles are the micro-kernels whose rows lie anywhere: rows × vectors. Each row takes a register, and
// AVX-512 has no more of these.
var indirectTiles = []struct {
	set
	rows, vectors int
}{
	{avx512, 12, 2}, {avx2, 6, 2},
}

func emitIndirect(f *file) {
	m := &matmulKernels{file: f, mask: f.words("indirectMask", halfMask()...)}
	for _, t := range indirectTiles {
		widths := ""
		for v := 1; v <= t.vectors; v++ {
			widths += m.indirect(t.set, t.rows, v) + ", "
		}
		f.enter("indirects[isa.%s] = &Indirect{Rows: %d, Cols: %d, lanes: %d, widths: []indirectFunc{%s}}",
			t.name, t.rows, t.vectors*t.lanes, t.lanes, widths)
	}
}

// indirect writes c[rows cols] = a·b, or += when add is not 0, over n ≥ 1 stretches. Row i of a begins at
// element lines[i] of a, for all mr rows; b is read in rows of v vectors, ldb bytes apart. Stretch s is steps
// s.A to s.End of each row of a, and as many rows of b from element s.B on. The rest is as in tile.
//
// Each row of a has a register, and all of them one index. So the ends of a stretch are compared in memory.
func (m *matmulKernels) indirect(s set, mr, v int) (name string) {
	name = fmt.Sprintf("indirect%dx%d%s", mr, v*s.lanes, s.name)
	fn := m.framed("multiplies rows of a that lie anywhere by rows of b; see gen/indirect.go.", name,
		"stretches *Stretch, n int, a *float32, lines *int, b *float32, ldb int, c *float32, ldc int, rows int, cols int, add int", 16)
	row := []string{"AX", "CX", "DX", "SI", "DI", "R8", "R9", "R10", "R11", "R12", "R13", "R14"}[:mr]
	const step, b, ldb, unrolled, end = "R15", "BX", "BP", "unrolled-8(SP)", "end-16(SP)"
	fn.load("lines", b, "a", step, "ldb", ldb)
	for i, r := range row {
		fn.op("MOVQ", mem(8*i, b), r)
		fn.op("LEAQ", mem(0, step, r+"*4"), r)
	}
	fn.zero(s, mr*v)
	const unroll = 4
	stretch, loop, tail, one, next := fn.label("stretch"), fn.label("loop"), fn.label("tail"), fn.label("one"), fn.label("next")
	for range fn.loop(stretch, fn.param("n"), 1) {
		fn.load("stretches", b)
		fn.op("MOVQ", mem(8, b), step)
		fn.op("MOVQ", step, end)
		fn.op("SUBQ", imm(unroll-1), step)
		fn.op("MOVQ", step, unrolled)
		fn.op("MOVQ", mem(0, b), step)
		fn.op("MOVQ", mem(16, b), b)
		fn.op("SHLQ", imm(2), b)
		fn.op("ADDQ", fn.param("b"), b)
		fn.op("CMPQ", step, unrolled)
		fn.op("JGE", tail)
		fn.at(loop)
		for u := range unroll {
			m.indirectStep(fn, s, row, v, u, step, b, ldb)
		}
		fn.op("ADDQ", imm(unroll), step)
		fn.op("CMPQ", step, unrolled)
		fn.op("JLT", loop)
		fn.at(tail)
		fn.op("CMPQ", step, end)
		fn.op("JGE", next)
		fn.at(one)
		m.indirectStep(fn, s, row, v, 0, step, b, ldb)
		fn.op("INCQ", step)
		fn.op("CMPQ", step, end)
		fn.op("JLT", one)
		fn.at(next)
		fn.op("ADDQ", imm(24), fn.param("stretches"))
	}

	fn.load("c", "DI", "ldc", "R9", "rows", "R10", "cols", "CX")
	m.store(fn, s, mr, v)
	fn.end()
	return name
}

// indirectStep emits step u of an unrolled loop; then b points to the next row.
func (m *matmulKernels) indirectStep(fn *function, s set, row []string, v, u int, step, b, ldb string) {
	sums := len(row) * v
	for j := range v {
		fn.op("VMOVUPS", mem(j*s.bytes(), b), s.v(sums+j))
		fn.op("PREFETCHT0", mem(j*s.bytes(), b, ldb+"*8"))
	}
	for i, r := range row {
		a := s.v(sums + v + i%min(s.regs-sums-v, 2))
		fn.op("VBROADCASTSS", mem(4*u, r, step+"*4"), a)
		for j := range v {
			fn.op("VFMADD231PS", s.v(sums+j), a, s.v(i*v+j))
		}
	}
	fn.op("ADDQ", ldb, b)
}
