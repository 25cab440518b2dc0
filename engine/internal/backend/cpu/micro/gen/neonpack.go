package main

import "fmt"

func emitPackNEON(f *file) {
	f.enter("together = 4")
	for _, t := range packTypes {
		packTransposeNEON(f, t.name, t.size)
		packCopyNEON(f, t.name, t.size)
		f.enter("transposes[%s][4] = packTranspose%sNEON", t.name, t.name)
		f.enter("copies[isa.NEON][%s] = packCopy%sNEON", t.name, t.name)
	}
	packPairsNEON(f)
}

// packTransposeNEON writes dst[p][i] = src[i][p] for p < 4·blocks and i < 4. Only the first rows (1 to 4)
// of src exist; the last of them is read again for each missing one. Strides are in bytes.
func packTransposeNEON(f *file, typ string, size int) {
	fn := f.neon("transposes four rows into a panel; see gen/neonpack.go.", "packTranspose"+typ+"NEON",
		"dst *float32, dstStride int, src unsafe.Pointer, srcStride int, rows int, blocks int")
	fn.params("dst", "dstStride", "src", "srcStride", "rows", "blocks")
	row := fn.four(2, 3, 4)
	for range fn.loop(fn.label("loop"), "R5", 1) {
		for i, r := range row {
			fn.widen(typ, r, 0, i)
			fn.op("ADD", imm(4*size), x(r))
		}
		for i := range 2 {
			fn.word("zip1 v%d.4s, v%d.4s, v%d.4s", 4+2*i, i, i+2)
			fn.word("zip2 v%d.4s, v%d.4s, v%d.4s", 5+2*i, i, i+2)
		}
		for i := range 2 {
			fn.word("zip1 v%d.4s, v%d.4s, v%d.4s", 2*i, 4+i, 6+i)
			fn.word("zip2 v%d.4s, v%d.4s, v%d.4s", 2*i+1, 4+i, 6+i)
		}
		for i := range 4 {
			fn.word("str q%d, [x0, #0]", i)
			fn.op("ADD", "R1", "R0")
		}
	}
	fn.ret()
}

// four makes pointers to four lines, stride apart, in first and R19 to R21. Only the first count lines
// exist; the last of them stands for the others.
func (fn neonFunction) four(first, stride, count int) [4]int {
	lines := [4]int{first, 19, 20, 21}
	for i := 1; i < 4; i++ {
		same := fn.label("same")
		fn.op("MOVD", x(lines[i-1]), x(lines[i]))
		fn.op("CMP", imm(i), x(count))
		fn.op("BLE", same)
		fn.op("ADD", x(stride), x(lines[i]))
		fn.at(same)
	}
	return lines
}

// packCopyNEON writes dst[p][j] = src[p][j] for p < k and j < cols, a multiple of 4. Strides are in bytes.
func packCopyNEON(f *file, typ string, size int) {
	fn := f.neon("copies rows into a panel; see gen/neonpack.go.", "packCopy"+typ+"NEON",
		"dst *float32, dstStride int, src unsafe.Pointer, srcStride int, k int, cols int")
	fn.params("dst", "dstStride", "src", "srcStride", "k", "cols")
	for range fn.loop(fn.label("row"), "R4", 1) {
		fn.op("MOVD", "R0", "R6")
		fn.op("MOVD", "R2", "R7")
		fn.op("MOVD", "R5", "R8")
		for range fn.loop(fn.label("col"), "R8", 4) {
			fn.widen(typ, 7, 0, 0)
			fn.op("ADD", imm(4*size), "R7")
			fn.word("str q0, [x6], #16")
		}
		fn.op("ADD", "R1", "R0")
		fn.op("ADD", "R3", "R2")
	}
	fn.ret()
}

// packPairsNEON writes dst[p][j] = src[2p][j], src[2p+1][j] for p < pairs and j < cols, a multiple of 4.
// Strides are in bytes.
func packPairsNEON(f *file) {
	fn := f.neon("puts pairs of rows side by side; see gen/neonpack.go.", "packPairsNEON",
		"dst *float32, dstStride int, src *uint16, srcStride int, pairs int, cols int")
	fn.params("dst", "dstStride", "src", "srcStride", "pairs", "cols")
	for range fn.loop(fn.label("row"), "R4", 1) {
		fn.op("MOVD", "R0", "R6")
		fn.op("MOVD", "R2", "R7")
		fn.op("ADD", "R3", "R2", "R8")
		fn.op("MOVD", "R5", "R9")
		for range fn.loop(fn.label("col"), "R9", 4) {
			for i := range 2 {
				fn.word("ldr d%d, [x%d, #0]", i, 7+i)
				fn.op("ADD", imm(8), x(7+i))
			}
			fn.word("zip1 v0.8h, v0.8h, v1.8h")
			fn.word("str q0, [x6], #16")
		}
		fn.op("ADD", "R1", "R0")
		fn.op("ADD", "R3<<1", "R2")
	}
	fn.ret()
}

// emitFewNEON is emitFew for arm64. The caller computes the columns or steps after the last whole vector.
func emitFewNEON(f *file) {
	for _, t := range packTypes {
		for i, steps := range []int{8, 1} {
			axpyNEON(f, t.name, t.size, steps)
			f.enter("axpys[isa.NEON][%s][%d] = axpy%d%sNEON", t.name, i, steps, t.name)
		}
		for _, m := range []int{1, 2, 4} {
			dotNEON(f, t.name, t.size, m)
			f.enter("dots[isa.NEON][%s][%d] = dot%d%sNEON", t.name, m, m, t.name)
		}
	}
}

// A neonAxpy is a kernel while it is written. Registers: rows, a, lda, b, ldb, c, ldc, cols in R0 to R7;
// copies of b, a, c and rows in R8 to R11; the current rows of c and a in R19 to R22. Vectors: b, step
// after step; then c; then a.
type neonAxpy struct {
	neonFunction
	typ         string
	size, steps int
}

// axpyNEON writes c[i][j] += Σ a[i][u]·b[u][j] for rows rows and cols columns, a positive multiple of 4, in
// order of u.
func axpyNEON(f *file, typ string, size, steps int) {
	fn := f.neon("adds some steps of a product with few rows; see gen/neonpack.go.", fmt.Sprintf("axpy%d%sNEON", steps, typ),
		"rows int, a *float32, lda int, b unsafe.Pointer, ldb int, c *float32, ldc int, cols int")
	k := &neonAxpy{fn, typ, size, steps}
	k.params("rows", "a", "lda", "b", "ldb", "c", "ldc", "cols")
	wide, narrow, done := k.label("wide"), k.label("narrow"), k.label("done")
	k.at(wide)
	k.op("CMP", imm(2*neonLanes), "R7")
	k.op("BLT", narrow)
	k.columns(2)
	k.op("B", wide)
	k.at(narrow)
	k.op("CBZ", "R7", done)
	k.columns(1)
	k.at(done)
	k.ret()
}

// columns computes v vectors of each row and moves on.
func (k *neonAxpy) columns(v int) {
	k.op("MOVD", "R3", "R8")
	for u := range k.steps {
		for j := range v {
			k.widen(k.typ, 8, j*neonLanes*k.size, u*v+j)
		}
		k.op("ADD", "R4", "R8")
	}
	k.op("MOVD", "R1", "R9")
	k.op("MOVD", "R5", "R10")
	k.op("MOVD", "R0", "R11")
	for _, n := range []int{4, 1} {
		loop, end := k.label("rows"), k.label("end")
		k.at(loop)
		k.op("CMP", imm(n), "R11")
		k.op("BLT", end)
		k.rows(n, v)
		k.op("SUB", imm(n), "R11")
		k.op("B", loop)
		k.at(end)
	}
	k.op("ADD", imm(16*v), "R5")
	k.op("ADD", imm(v*neonLanes*k.size), "R3")
	k.op("SUB", imm(v*neonLanes), "R7")
}

// rows adds to v vectors of n rows and moves on.
func (k *neonAxpy) rows(n, v int) {
	c := func(i, j int) int { return k.steps*v + i*v + j }
	a := func(i, u int) int { return k.steps*v + n*v + i*((k.steps+3)/4) + u/4 }
	for i := range n {
		k.op("MOVD", "R10", x(19+i))
		k.op("ADD", "R6", "R10")
		for j := range v {
			k.word("ldr q%d, [x%d, #%d]", c(i, j), 19+i, 16*j)
		}
		if k.steps == 1 {
			k.word("ldr s%d, [x9, #0]", a(i, 0))
		} else {
			k.word("ldp q%d, q%d, [x9, #0]", a(i, 0), a(i, 4))
		}
		k.op("ADD", "R2", "R9")
	}
	for u := range k.steps {
		for i := range n {
			for j := range v {
				k.word("fmla v%d.4s, v%d.4s, v%d.s[%d]", c(i, j), u*v+j, a(i, u), u%4)
			}
		}
	}
	for i := range n {
		for j := range v {
			k.word("str q%d, [x%d, #%d]", c(i, j), 19+i, 16*j)
		}
	}
}

// dotNEON writes out[i][j] = Σ a[i][p]·b[j][p] for m rows and 4 columns; k is a multiple of 4. If cols is
// less than 4, the last of them is read again for each missing one. Strides are in bytes. There are always
// 16 sums, so that no addition waits for the one before.
func dotNEON(f *file, typ string, size, m int) {
	fn := f.neon("computes four columns of a product with few rows; see gen/neonpack.go.", fmt.Sprintf("dot%d%sNEON", m, typ),
		"k int, a *float32, lda int, b unsafe.Pointer, ldb int, cols int, out *float32")
	fn.params("k", "a", "lda", "b", "ldb", "cols", "out")
	col := fn.four(3, 4, 5)
	rowA := []int{1, 22, 23, 24}[:m]
	for i := 1; i < m; i++ {
		fn.op("ADD", x(rowA[i-1]), "R2", x(rowA[i]))
	}
	turns := 4 / m
	sum := func(i, j, u int) int { return (4*i+j)*turns + u }
	fn.zero(0, 16)
	vectors := func(turns int) {
		for u := range turns {
			for i, r := range rowA {
				fn.word("ldr q%d, [x%d, #%d]", 16+i, r, 16*u)
			}
			for j, r := range col {
				fn.widen(typ, r, u*neonLanes*size, 20+(4*u+j)%12)
				for i := range m {
					fn.word("fmla v%d.4s, v%d.4s, v%d.4s", sum(i, j, u), 16+i, 20+(4*u+j)%12)
				}
			}
		}
		for _, r := range rowA {
			fn.op("ADD", imm(16*turns), x(r))
		}
		for _, r := range col {
			fn.op("ADD", imm(turns*neonLanes*size), x(r))
		}
	}
	counts := []int{turns, 1}
	if turns == 1 {
		counts = counts[:1]
	}
	for _, n := range counts {
		loop, end := fn.label("loop"), fn.label("end")
		fn.at(loop)
		fn.op("CMP", imm(n*neonLanes), "R0")
		fn.op("BLT", end)
		vectors(n)
		fn.op("SUB", imm(n*neonLanes), "R0")
		fn.op("B", loop)
		fn.at(end)
	}
	for i := range m {
		for j := range 4 {
			s := sum(i, j, 0)
			for u := 1; u < turns; u++ {
				fn.word("fadd v%d.4s, v%d.4s, v%d.4s", s, s, sum(i, j, u))
			}
			fn.word("faddp v%d.4s, v%d.4s, v%d.4s", s, s, s)
			fn.word("faddp s%d, v%d.2s", s, s)
			fn.word("str s%d, [x6, #%d]", s, 4*(4*i+j))
		}
	}
	fn.ret()
}
