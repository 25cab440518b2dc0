package main

import "fmt"

// emitFew writes the kernels of products with few rows, which read b as it lies: "axpy" where its rows are contiguous,
// "dot" where its columns are. b may be f32, bf16 or f16.
func emitFew(f *file) {
	for _, s := range []set{avx2, avx512} {
		for _, t := range packTypes {
			for _, m := range []int{1, 2, 4} {
				for _, steps := range []int{8, 1} {
					axpy(f, s, t.name, t.size, m, steps)
				}
				if s == avx512 || m < 4 {
					dot(f, s, t.name, t.size, m)
				}
			}
		}
	}
}

// axpy writes c[i][j] += Σ a[i][u]·b[u][j] for m rows, cols > 0 columns and the given number of steps, in order of u.
// Strides are in bytes. Columns beyond the last whole vector are left to the caller with AVX2.
//
// b streams through once, so the rows that the next call reads are fetched ahead.
func axpy(f *file, s set, typ string, size, m, steps int) {
	fn := f.function("adds some steps of a product with few rows; see gen/few.go.", fmt.Sprintf("axpy%dx%d%s%s", m, steps, typ, s.name),
		fmt.Sprintf("a *float32, lda int, b *%s, ldb int, c *float32, ldc int, cols int", goType(typ)))
	fn.load("a", "SI", "lda", "R8", "b", "BX", "ldb", "R9", "c", "DI", "ldc", "R10", "cols", "CX")
	k := &axpyKernel{function: fn, s: s, typ: typ, size: size, m: m, steps: steps}
	k.v = map[int]int{1: 4, 2: 4, 4: 4}[m]
	if s == avx2 {
		k.v = map[int]int{1: 4, 2: 3, 4: 2}[m]
	}
	fn.op("LEAQ", mem(0, "R9", "R9*2"), "R11")
	fn.op("LEAQ", mem(0, "BX", "R9*4"), "R12") // row 4 of b
	fn.op("LEAQ", mem(0, "R10", "R10*2"), "R13")
	fn.op("LEAQ", mem(0, "R8", "R8*2"), "R15")
	fn.op("LEAQ", mem(0, "BX", "R9*8"), "DX") // what the next call reads: rows 8 and 12
	fn.op("LEAQ", mem(0, "DX", "R9*4"), "AX")
	k.hoist()

	wide, narrow, tail, done := fn.label("wide"), fn.label("narrow"), fn.label("tail"), fn.label("done")
	fn.at(wide)
	fn.op("CMPQ", "CX", imm(k.v*s.lanes))
	fn.op("JLT", narrow)
	k.columns(k.v, k.steps > 1)
	fn.op("SUBQ", imm(k.v*s.lanes), "CX")
	fn.op("JMP", wide)
	fn.at(narrow)
	fn.op("CMPQ", "CX", imm(s.lanes))
	fn.op("JLT", tail)
	k.columns(1, false)
	fn.op("SUBQ", imm(s.lanes), "CX")
	fn.op("JMP", narrow)
	fn.at(tail)
	if s == avx512 {
		fn.op("TESTQ", "CX", "CX")
		fn.op("JZ", done)
		fn.op("MOVQ", imm(-1), "AX")
		fn.op("BZHIQ", "CX", "AX", "AX")
		fn.op("KMOVW", "AX", "K1")
		k.masked = true
		k.columns(1, false)
		fn.at(done)
	}
	fn.end()
}

type axpyKernel struct {
	*function
	s              set
	typ            string
	size, m, steps int
	v              int
	hoisted        int // first of the registers that hold a, or 0
	masked         bool
}

// rowA, rowB and rowC address row i of an operand.
func (k *axpyKernel) rowA(i, step int) string {
	return mem(4*step, "SI", [][]string{{}, {"R8*1"}, {"R8*2"}, {"R15*1"}}[i]...)
}

func (k *axpyKernel) rowB(base4, base string, u, disp int) string {
	if u >= 4 {
		base = base4
	}
	return mem(disp, base, [][]string{{}, {"R9*1"}, {"R9*2"}, {"R11*1"}}[u%4]...)
}

func (k *axpyKernel) rowC(i, disp int) string {
	return mem(disp, "DI", [][]string{{}, {"R10*1"}, {"R10*2"}, {"R13*1"}}[i]...)
}

// hoist keeps a in registers if there are enough.
func (k *axpyKernel) hoist() {
	first := k.m*k.v + k.v
	if first+k.m*k.steps > k.s.regs {
		return
	}
	k.hoisted = first
	for i := range k.m {
		for u := range k.steps {
			k.op("VBROADCASTSS", k.rowA(i, u), k.s.v(first+i*k.steps+u))
		}
	}
}

// columns computes v vectors of each row and moves on; ahead says to fetch what the next call reads.
func (k *axpyKernel) columns(v int, ahead bool) {
	s := k.s
	var mask []any
	if k.masked {
		mask = []any{"K1"}
	}
	b := k.m * v
	for i := range k.m {
		for j := range v {
			if k.masked {
				k.op("VMOVUPS.Z", k.rowC(i, 0), "K1", s.v(i*v+j))
			} else {
				k.op("VMOVUPS", k.rowC(i, j*s.bytes()), s.v(i*v+j))
			}
		}
	}
	for u := range k.steps {
		for j := range v {
			widen(k.function, k.typ, k.rowB("R12", "BX", u, j*s.lanes*k.size), s.v(b+j), mask...)
			if ahead && j*s.lanes*k.size%64 == 0 {
				k.op("PREFETCHT0", k.rowB("AX", "DX", u, j*s.lanes*k.size))
			}
		}
		for i := range k.m {
			x := s.v(s.regs - 1)
			if k.hoisted > 0 {
				x = s.v(k.hoisted + i*k.steps + u)
			} else {
				k.op("VBROADCASTSS", k.rowA(i, u), x)
			}
			for j := range v {
				k.op("VFMADD231PS", s.v(b+j), x, s.v(i*v+j))
			}
		}
	}
	for i := range k.m {
		for j := range v {
			if k.masked {
				k.op("VMOVUPS", s.v(i*v+j), "K1", k.rowC(i, 0))
			} else {
				k.op("VMOVUPS", s.v(i*v+j), k.rowC(i, j*s.bytes()))
			}
		}
	}
	k.op("ADDQ", imm(v*s.bytes()), "DI")
	for _, r := range []string{"BX", "R12", "DX", "AX"} {
		k.op("ADDQ", imm(v*s.lanes*k.size), r)
	}
}

// dot writes out[i][j] = Σ a[i][p]·b[j][p] for m rows and 4 columns, of which the last of cols stands for those that do
// not exist. Steps beyond the last whole vector are left to the caller with AVX2. Strides are in bytes.
func dot(f *file, s set, typ string, size, m int) {
	fn := f.function("computes four columns of a product with few rows; see gen/few.go.", fmt.Sprintf("dot%d%s%s", m, typ, s.name),
		fmt.Sprintf("k int, a *float32, lda int, b *%s, ldb int, cols int, out *float32", goType(typ)))
	fn.load("k", "CX", "a", "SI", "lda", "R8", "b", "BX", "ldb", "R9", "cols", "DX", "out", "DI")
	col := []string{"BX", "R10", "R11", "R12"}
	for i := 1; i < 4; i++ {
		same := fn.label("same")
		fn.op("MOVQ", col[i-1], col[i])
		fn.op("CMPQ", "DX", imm(i))
		fn.op("JLE", same)
		fn.op("ADDQ", "R9", col[i])
		fn.at(same)
	}
	fn.op("LEAQ", mem(0, "R8", "R8*2"), "R13")
	sums := 4 * m
	for i := range sums {
		fn.op("VXORPS", s.y(i), s.y(i), s.y(i))
	}
	rowA := [][]string{{}, {"R8*1"}, {"R8*2"}, {"R13*1"}}
	vector := func(masked bool) {
		var mask []any
		if masked {
			mask = []any{"K1"}
		}
		for i := range m {
			widen(fn, "F32", mem(0, "SI", rowA[i]...), s.v(sums+i), mask...)
		}
		x := s.v(s.regs - 1)
		for j, r := range col {
			widen(fn, typ, mem(0, r), x, mask...)
			for i := range m {
				fn.op("VFMADD231PS", s.v(sums+i), x, s.v(4*i+j))
			}
		}
	}
	loop, tail, done := fn.label("loop"), fn.label("tail"), fn.label("done")
	fn.at(loop)
	fn.op("CMPQ", "CX", imm(s.lanes))
	fn.op("JLT", tail)
	vector(false)
	fn.op("ADDQ", imm(s.bytes()), "SI")
	for _, r := range col {
		fn.op("ADDQ", imm(s.lanes*size), r)
	}
	fn.op("SUBQ", imm(s.lanes), "CX")
	fn.op("JMP", loop)
	fn.at(tail)
	if s == avx512 {
		fn.op("TESTQ", "CX", "CX")
		fn.op("JZ", done)
		fn.op("MOVQ", imm(-1), "AX")
		fn.op("BZHIQ", "CX", "AX", "AX")
		fn.op("KMOVW", "AX", "K1")
		vector(true)
		fn.at(done)
	}
	for i := range sums {
		sumVector(fn, s, i, s.regs-1)
		fn.op("VMOVSS", s.x(i), mem(4*i, "DI"))
	}
	fn.end()
}

// sumVector adds up the lanes of vector i, into its lowest; t is spoilt.
func sumVector(fn *function, s set, i, t int) {
	if s == avx512 {
		fn.op("VEXTRACTF64X4", imm(1), s.v(i), s.y(31))
		fn.op("VADDPS", s.y(31), s.y(i), s.y(i))
		fn.op("VEXTRACTF32X4", imm(1), s.y(i), s.x(31))
		fn.op("VADDPS", s.x(31), s.x(i), s.x(i))
	} else {
		fn.op("VEXTRACTF128", imm(1), s.y(i), s.x(t))
		fn.op("VADDPS", s.x(t), s.x(i), s.x(i))
	}
	fn.op("VHADDPS", s.x(i), s.x(i), s.x(i))
	fn.op("VHADDPS", s.x(i), s.x(i), s.x(i))
}
