package main

import "fmt"

// emitFew writes the kernels of products with few rows, which read b unpacked: "axpy" if its rows are
// contiguous, "dot" if its columns are. b may be f32, bf16 or f16.
func emitFew(f *file) {
	for _, s := range []set{avx2, avx512} {
		for _, t := range packTypes {
			for i, steps := range []int{8, 1, 8} {
				if i == 2 && t.size < 4 { // their rows are never long, but for matrices of thousands of columns
					continue
				}
				name := fmt.Sprintf("axpy%d%s%s%s", steps, []string{"", "", "Long"}[i], t.name, s.name)
				axpy(f, s, name, t.name, t.size, steps, i == 0)
				f.enter("axpys[isa.%s][%s][%d] = %s", s.name, t.name, i, name)
			}
			for _, m := range []int{1, 2, 4} {
				if s == avx512 || m < 4 {
					dot(f, s, t.name, t.size, m)
					f.enter("dots[isa.%s][%s][%d] = dot%d%s%s", s.name, t.name, m, m, t.name, s.name)
				}
			}
		}
	}
}

// axpy writes c[i][j] += Σ a[i][u]·b[u][j] for rows rows, cols > 0 columns and the given number of steps,
// in the order of u. Strides are in bytes. With AVX2 the caller computes the columns after the last whole
// vector.
//
// For some columns at a time all steps of b stay in registers while the kernel goes through the rows, so
// that b is read and widened once. Ahead says that it meanwhile prefetches the rows that the next call reads.
func axpy(f *file, s set, name, typ string, size, steps int, ahead bool) {
	fn := f.function("adds some steps of a product with few rows; see gen/few.go.", name,
		"rows int, a *float32, lda int, b unsafe.Pointer, ldb int, c *float32, ldc int, cols int")
	fn.load("rows", "R13", "a", "SI", "lda", "R8", "b", "BX", "ldb", "R9", "c", "DI", "ldc", "R10", "cols", "CX")
	k := &axpyKernel{function: fn, s: s, typ: typ, size: size, steps: steps, ahead: ahead}
	fn.op("LEAQ", mem(0, "BX", "R9*4"), "R12") // row 4 of b
	narrow, tail, done := fn.label("narrow"), fn.label("tail"), fn.label("done")
	if s == avx512 {
		wide := fn.label("wide")
		fn.at(wide)
		fn.op("CMPQ", "CX", imm(2*s.lanes))
		fn.op("JLT", narrow)
		k.columns(2, false)
		fn.op("SUBQ", imm(2*s.lanes), "CX")
		fn.op("JMP", wide)
	}
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
		k.columns(1, true)
		fn.at(done)
	}
	fn.end()
}

type axpyKernel struct {
	*function
	s           set
	typ         string
	size, steps int
	ahead       bool
}

// rowB returns the address of row u of b, or of a row for the next call.
func (k *axpyKernel) rowB(base, base4 string, u, disp int) string {
	if u >= 4 {
		base = base4
	}
	return mem(disp, base, [][]string{{}, {"R9*1"}, {"R9*2"}, {"R11*1"}}[u%4]...)
}

// columns computes v vectors of each row and moves on. Four rows at a time give enough independent sums to
// hide the latency of a multiply-add.
func (k *axpyKernel) columns(v int, masked bool) {
	s := k.s
	var mask []any
	if masked {
		mask = []any{"K1"}
	}
	k.op("LEAQ", mem(0, "R9", "R9*2"), "R11")
	if k.ahead { // the next call's rows 0 and 4
		k.op("LEAQ", mem(0, "BX", "R9*8"), "AX")
		k.op("LEAQ", mem(0, "AX", "R9*4"), "DX")
	}
	for u := range k.steps {
		for j := range v {
			at := j * s.lanes * k.size
			widen(k.function, k.typ, k.rowB("BX", "R12", u, at), s.v(u*v+j), mask...)
			if k.ahead && !masked && at%64 == 0 {
				k.op("PREFETCHT0", k.rowB("AX", "DX", u, at))
			}
		}
	}
	k.op("MOVQ", "SI", "AX")
	k.op("MOVQ", "DI", "DX")
	k.op("LEAQ", mem(0, "R8", "R8*2"), "R14")
	k.op("LEAQ", mem(0, "R10", "R10*2"), "R11")
	four, one, done := k.label("four"), k.label("one"), k.label("done")
	k.op("MOVQ", "R13", "R15")
	k.op("SUBQ", imm(4), "R15")
	k.op("JLT", one)
	k.at(four)
	k.rows(4, v, mask)
	k.op("SUBQ", imm(4), "R15")
	k.op("JGE", four)
	k.at(one)
	k.op("ADDQ", imm(4), "R15")
	k.op("JZ", done)
	for range k.loop(k.label("again"), "R15", 1) {
		k.rows(1, v, mask)
	}
	k.at(done)
	k.op("ADDQ", imm(v*s.bytes()), "DI")
	k.op("ADDQ", imm(v*s.lanes*k.size), "BX")
	k.op("ADDQ", imm(v*s.lanes*k.size), "R12")
}

// rows adds to v vectors of n rows.
func (k *axpyKernel) rows(n, v int, mask []any) {
	s := k.s
	c, x := k.steps*v, k.steps*v+n*v
	rowA := [][]string{{}, {"R8*1"}, {"R8*2"}, {"R14*1"}}
	rowC := [][]string{{}, {"R10*1"}, {"R10*2"}, {"R11*1"}}
	for i := range n {
		for j := range v {
			widen(k.function, "F32", mem(j*s.bytes(), "DX", rowC[i]...), s.v(c+i*v+j), mask...)
		}
	}
	for u := range k.steps {
		for i := range n {
			a := s.v(x + i%2)
			k.op("VBROADCASTSS", mem(4*u, "AX", rowA[i]...), a)
			for j := range v {
				k.op("VFMADD231PS", s.v(u*v+j), a, s.v(c+i*v+j))
			}
		}
	}
	for i := range n {
		for j := range v {
			if mask != nil {
				k.op("VMOVUPS", s.v(c+i*v+j), mask[0], mem(j*s.bytes(), "DX", rowC[i]...))
			} else {
				k.op("VMOVUPS", s.v(c+i*v+j), mem(j*s.bytes(), "DX", rowC[i]...))
			}
		}
	}
	k.op("LEAQ", mem(0, "AX", "R8*"+fmt.Sprint(n)), "AX")
	k.op("LEAQ", mem(0, "DX", "R10*"+fmt.Sprint(n)), "DX")
}

// dot writes out[i][j] = Σ a[i][p]·b[j][p] for m rows and 4 columns. If cols is less than 4, the last of
// them is read again for each missing one. With AVX2 the caller computes the steps after the last whole
// vector. Strides are in bytes.
func dot(f *file, s set, typ string, size, m int) {
	fn := f.function("computes four columns of a product with few rows; see gen/few.go.", fmt.Sprintf("dot%d%s%s", m, typ, s.name),
		"k int, a *float32, lda int, b unsafe.Pointer, ldb int, cols int, out *float32")
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
	step := func() {
		vector(false)
		fn.op("ADDQ", imm(s.bytes()), "SI")
		for _, r := range col {
			fn.op("ADDQ", imm(s.lanes*size), r)
		}
	}
	line, loop, tail, done := fn.label("line"), fn.label("loop"), fn.label("tail"), fn.label("done")
	if vectors := 64 / (s.lanes * size); vectors > 1 {
		fn.at(line)
		fn.op("CMPQ", "CX", imm(vectors*s.lanes))
		fn.op("JLT", loop)
		fetchAhead(fn, col)
		for range vectors {
			step()
		}
		fn.op("SUBQ", imm(vectors*s.lanes), "CX")
		fn.op("JMP", line)
	}
	fn.at(loop)
	fn.op("CMPQ", "CX", imm(s.lanes))
	fn.op("JLT", tail)
	if s.lanes*size == 64 {
		fetchAhead(fn, col)
	}
	step()
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
	for i := 0; i < sums; i += 4 {
		sumVectors(fn, s, i, s.regs-1)
		fn.op("VMOVUPS", s.x(i), mem(4*i, "DI"))
	}
	fn.end()
}

// fetchAhead prefetches the four columns after these, at the same steps.
func fetchAhead(fn *function, columns []string) {
	for _, r := range columns {
		fn.op("PREFETCHT0", mem(0, r, "R9*4"))
	}
}

// sumVectors adds up the lanes of each of four vectors from vector i on, and leaves the four sums in the
// first four lanes of i. It overwrites t and the other three.
func sumVectors(fn *function, s set, i, t int) {
	for v := i; v < i+4; v++ {
		halve(fn, s, v, t)
	}
	fn.op("VHADDPS", s.x(i+1), s.x(i), s.x(i))
	fn.op("VHADDPS", s.x(i+3), s.x(i+2), s.x(i+2))
	fn.op("VHADDPS", s.x(i+2), s.x(i), s.x(i))
}

// halve adds up the lanes of vector i until four are left. It overwrites t.
func halve(fn *function, s set, i, t int) {
	if s == avx512 {
		fn.op("VEXTRACTF64X4", imm(1), s.v(i), s.y(t))
		fn.op("VADDPS", s.y(t), s.y(i), s.y(i))
		fn.op("VEXTRACTF32X4", imm(1), s.y(i), s.x(t))
	} else {
		fn.op("VEXTRACTF128", imm(1), s.y(i), s.x(t))
	}
	fn.op("VADDPS", s.x(t), s.x(i), s.x(i))
}
