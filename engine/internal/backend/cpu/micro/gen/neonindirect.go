package main

import "fmt"

func emitIndirectNEON(f *file) {
	const rows, vectors = 8, 2
	widths := ""
	for v := 1; v <= vectors; v++ {
		widths += indirectNEON(f, rows, v) + ", "
	}
	f.enter("indirects[isa.NEON] = &Indirect{Rows: %d, Cols: %d, lanes: %d, widths: []indirectFunc{%s}}", rows, vectors*neonLanes, neonLanes, widths)
}

// indirectNEON is matmulKernels.indirect for arm64: it loads four steps of each row at a time. Registers: the
// stretches, their number, steps left, a row of b, b, ldb in R0 to R5; where the rows of a begin from R9 on,
// and where they are read from R19 on. Vectors: first the sums, then four steps of each row, then rows of b.
func indirectNEON(f *file, mr, v int) (name string) {
	name = fmt.Sprintf("indirect%dx%dNEON", mr, v*neonLanes)
	fn := f.framed("multiplies rows of a that lie anywhere by rows of b; see gen/neonindirect.go.", name,
		"stretches *Stretch, n int, a *float32, lines *int, b *float32, ldb int, c *float32, ldc int, rows int, cols int, add int", 16*mr*v)
	k := &neonTile{neonFunction{fn}, mr, v, false}
	k.params("stretches", "n", "a", "lines", "b", "ldb")
	base, row := func(i int) string { return x(9 + i) }, func(i int) int { return 19 + i }
	for i := range mr {
		k.op("MOVD", fmt.Sprintf("%d(R3)", 8*i), base(i))
		k.op("ADD", base(i)+"<<2", "R2", base(i))
	}
	k.zero(0, mr*v)
	stretch, loop, tail, one, next := k.label("stretch"), k.label("loop"), k.label("tail"), k.label("one"), k.label("next")
	for range k.loop(stretch, "R1", 1) {
		k.op("MOVD", "(R0)", "R6")
		k.op("MOVD", "8(R0)", "R2")
		k.op("MOVD", "16(R0)", "R3")
		k.op("ADD", imm(24), "R0")
		k.op("SUB", "R6", "R2")
		k.op("ADD", "R3<<2", "R4", "R3")
		for i := range mr {
			k.op("ADD", "R6<<2", base(i), x(row(i)))
		}
		k.at(loop)
		k.op("CMP", imm(4), "R2")
		k.op("BLT", tail)
		for i := range mr {
			k.word("ldr q%d, [x%d], #16", mr*v+i, row(i))
		}
		for u := range 4 {
			k.indirectStep(u, mr*v+mr+u%2*v)
		}
		k.op("SUB", imm(4), "R2")
		k.op("B", loop)
		k.at(tail)
		k.op("CBZ", "R2", next)
		for range k.loop(one, "R2", 1) {
			for i := range mr {
				k.word("ldr s%d, [x%d, #0]", mr*v+i, row(i))
				k.op("ADD", imm(4), x(row(i)))
			}
			k.indirectStep(0, mr*v+mr)
		}
		k.at(next)
	}
	for i, p := range []string{"c", "ldc", "rows", "cols", "add"} {
		k.op("MOVD", fn.param(p), x(4+i))
	}
	k.store()
	k.ret()
	return name
}

// indirectStep emits one step, which lane u of each row has; the row of b goes to vectors from b on.
func (k *neonTile) indirectStep(u, b int) {
	for j := range k.v {
		k.word("ldr q%d, [x3, #%d]", b+j, 16*j)
	}
	k.op("ADD", "R5", "R3")
	for j := range k.v {
		for i := range k.mr {
			k.word("fmla v%d.4s, v%d.4s, v%d.s[%d]", k.sum(i, j), b+j, k.mr*k.v+i, u)
		}
	}
}
