package main

import "fmt"

// emitFew writes the kernels of products with few rows, which read b unpacked: "axpy" if its rows are
// contiguous, "dot" if its columns are. b may be f32, bf16 or f16.
func emitFew(f *file) {
	for _, s := range []set{avx2, avx512} {
		for _, t := range packTypes {
			axpy(f, s, t.name, t.size)
			f.enter("axpys[isa.%s][%s][0] = axpy%s%s", s.name, t.name, t.name, s.name)
			axpyRow(f, s, t.name, t.size)
			f.enter("axpyRows[isa.%s][%s] = axpyRow%s%s", s.name, t.name, t.name, s.name)
			for _, m := range []int{1, 2, 4} {
				if s == avx512 || m < 4 {
					dot(f, s, t.name, t.size, m)
					f.enter("dots[isa.%s][%s][%d] = dot%d%s%s", s.name, t.name, m, m, t.name, s.name)
				}
			}
		}
	}
}

// fewSteps is the number of steps of b that axpy takes.
const fewSteps = 8

// axpy writes c[i][j] += Σ a[i][u]·b[u][j] for rows rows, cols > 0 columns and fewSteps steps, in the order
// of u. Strides are in bytes. With AVX2 the caller computes the columns after the last whole
// vector.
//
// For some columns at a time all steps of b stay in registers while the kernel goes through the rows, so
// that b is read and widened once. While numbers of 16 bits are widened the kernel prefetches the rows that
// the next call reads; of f32 and with AVX2 that takes longer than it saves.
func axpy(f *file, s set, typ string, size int) {
	fn := f.function("adds eight steps of a product with few rows; see gen/few.go.", "axpy"+typ+s.name,
		"rows int, a *float32, lda int, b unsafe.Pointer, ldb int, c *float32, ldc int, cols int")
	fn.load("rows", "R13", "a", "SI", "lda", "R8", "b", "BX", "ldb", "R9", "c", "DI", "ldc", "R10", "cols", "CX")
	k := &axpyKernel{function: fn, s: s, typ: typ, size: size, ahead: s == avx512 && size < 4}
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
	s     set
	typ   string
	size  int
	ahead bool
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
	for u := range fewSteps {
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
	c, x := fewSteps*v, fewSteps*v+n*v
	rowA := [][]string{{}, {"R8*1"}, {"R8*2"}, {"R14*1"}}
	rowC := [][]string{{}, {"R10*1"}, {"R10*2"}, {"R11*1"}}
	for i := range n {
		for j := range v {
			widen(k.function, "F32", mem(j*s.bytes(), "DX", rowC[i]...), s.v(c+i*v+j), mask...)
		}
	}
	for u := range fewSteps {
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

// axpyRow writes c[j] += Σ a[u]·b[u][j] for k steps and cols > 0 columns, in the order of u. ldb is in bytes.
// With AVX2 the caller computes the columns after the last whole vector.
//
// The values of a for some steps stay in registers while the kernel goes along the rows of b, which are read
// from start to end: the processor fetches such streams ahead by itself.
func axpyRow(f *file, s set, typ string, size int) {
	fn := f.function("adds a product with one row; see gen/few.go.", "axpyRow"+typ+s.name,
		"k int, a *float32, b unsafe.Pointer, ldb int, c *float32, cols int")
	fn.load("k", "R13", "a", "SI", "b", "BX", "ldb", "R9", "c", "DI", "cols", "CX")
	k := &axpyKernel{function: fn, s: s, typ: typ, size: size}
	fn.op("LEAQ", mem(0, "R9", "R9*2"), "R11")
	if typ == "BF16" {
		k.loadPairs(f)
	}
	if s == avx512 {
		fn.op("MOVQ", "CX", "DX")
		fn.op("ANDQ", imm(s.lanes-1), "DX")
		fn.op("MOVQ", imm(-1), "AX")
		fn.op("BZHIQ", "DX", "AX", "AX")
		fn.op("KMOVW", "AX", "K1")
	}
	for _, steps := range []int{fewSteps, 1} {
		again, next, end := fn.label("steps"), fn.label("next"), fn.label("end")
		fn.at(again)
		fn.op("SUBQ", imm(steps), "R13")
		fn.op("JLT", end)
		for u := range steps {
			fn.op("VBROADCASTSS", mem(4*u, "SI"), s.v(u))
		}
		fn.op("MOVQ", "BX", "AX")
		fn.op("LEAQ", mem(0, "BX", "R9*4"), "DX")
		fn.op("MOVQ", "DI", "R14")
		fn.op("MOVQ", "CX", "R15")
		for _, v := range []int{2, 1} {
			wide, narrow := fn.label("wide"), fn.label("narrow")
			fn.at(wide)
			fn.op("SUBQ", imm(v*s.lanes), "R15")
			fn.op("JLT", narrow)
			if typ == "BF16" && v == 2 {
				k.addPairs(steps)
			} else {
				k.addSteps(steps, v)
			}
			fn.op("ADDQ", imm(v*s.bytes()), "R14")
			fn.op("ADDQ", imm(v*s.lanes*size), "AX")
			fn.op("ADDQ", imm(v*s.lanes*size), "DX")
			fn.op("JMP", wide)
			fn.at(narrow)
			fn.op("ADDQ", imm(v*s.lanes), "R15")
		}
		if s == avx512 {
			fn.op("JZ", next)
			k.addSteps(steps, 1, "K1")
		}
		fn.at(next)
		fn.op("ADDQ", imm(4*steps), "SI")
		fn.op("LEAQ", mem(0, "BX", fmt.Sprint("R9*", steps)), "BX")
		fn.op("JMP", again)
		fn.at(end)
		fn.op("ADDQ", imm(steps), "R13")
	}
	fn.end()
}

// pairs are the last registers while pairs are added: the upper halves of words, and the orders in which the
// even places come first and in which they come first no more.
func (k *axpyKernel) pairs() (upper, first, back string) {
	n := k.s.regs
	return k.s.v(n - 1), k.s.v(n - 2), k.s.v(n - 3)
}

// loadPairs loads the constants of addPairs.
func (k *axpyKernel) loadPairs(f *file) {
	upper, first, back := k.pairs()
	n := k.s.lanes
	orders := make([]uint32, 2*n)
	for i := range n {
		from := i*2%n + i*2/n
		orders[i], orders[n+from] = uint32(from), uint32(i)
	}
	k.op("VBROADCASTSS", f.words("upperHalf"+k.s.name, 0xffff0000)+"(SB)", upper)
	table := f.words("evenFirst"+k.s.name, orders...)
	k.op("VMOVUPS", table+"(SB)", first)
	k.op("VMOVUPS", fmt.Sprintf("%s+%d(SB)", table, 4*n), back)
}

// addPairs adds some steps to two vectors of the row, whose numbers of even places stand in one meanwhile,
// those of odd places in another: to these a vector of bf16 is widened by one instruction each.
func (k *axpyKernel) addPairs(steps int) {
	s := k.s
	upper, first, back := k.pairs()
	even, odd, x, y := s.v(fewSteps), s.v(fewSteps+1), s.v(fewSteps+2), s.v(fewSteps+3)
	halves := func(a, b, low, high string) { // the lower halves of a and b, and the upper ones
		if s == avx512 {
			k.op("VSHUFF64X2", imm(0x44), b, a, low)
			k.op("VSHUFF64X2", imm(0xee), b, a, high)
			return
		}
		k.op("VPERM2F128", imm(0x20), b, a, low)
		k.op("VPERM2F128", imm(0x31), b, a, high)
	}
	k.op("VPERMPS", mem(0, "R14"), first, x)
	k.op("VPERMPS", mem(s.bytes(), "R14"), first, y)
	halves(x, y, even, odd)
	for u := range steps {
		k.op("VMOVUPS", k.rowB("AX", "DX", u, 0), y)
		k.op("VPSLLD", imm(16), y, x)
		k.op("VANDPS", y, upper, y)
		k.op("VFMADD231PS", x, s.v(u), even)
		k.op("VFMADD231PS", y, s.v(u), odd)
	}
	halves(even, odd, x, y)
	for j, v := range []string{x, y} {
		k.op("VPERMPS", v, back, v)
		k.op("VMOVUPS", v, mem(j*s.bytes(), "R14"))
	}
}

// addSteps adds some steps to v vectors of the row.
func (k *axpyKernel) addSteps(steps, v int, mask ...any) {
	s, c, x := k.s, fewSteps, fewSteps+v
	for j := range v {
		widen(k.function, "F32", mem(j*s.bytes(), "R14"), s.v(c+j), mask...)
	}
	for u := range steps {
		for j := range v {
			from := k.rowB("AX", "DX", u, j*s.lanes*k.size)
			if k.typ != "F32" || len(mask) > 0 {
				t := s.v(x + (u*v+j)%4)
				widen(k.function, k.typ, from, t, mask...)
				from = t
			}
			k.op("VFMADD231PS", from, s.v(u), s.v(c+j))
		}
	}
	for j := range v {
		k.op("VMOVUPS", append(append([]any{s.v(c + j)}, mask...), mem(j*s.bytes(), "R14"))...)
	}
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
