package main

import "fmt"

// doubleTiles are the micro-kernels of float64: rows × vectors.
var doubleTiles = []struct {
	set
	rows, vectors int
}{{avx512, 14, 2}, {avx2, 6, 2}}

// emitDouble writes kernels for c[rows cols] = a·b over k ≥ 1 steps, or c ± a·b. For each step a holds rows
// values, and b cols values, ldb after those of the step before; rows of c are ldc apart. Each sum is a chain
// of fused multiply-adds in the order of k.
func emitDouble(f *file) {
	for _, t := range doubleTiles {
		rows, v := t.rows, t.vectors
		fn := f.function("multiplies two panels of float64; see gen/double.go.",
			fmt.Sprintf("double%dx%d%s", rows, v*t.lanes/2, t.name), "k int, a *float64, b *float64, ldb int, c *float64, ldc int, onto int")
		fn.load("k", "AX", "a", "SI", "b", "BX", "ldb", "R8", "c", "DI", "ldc", "R9", "onto", "R10")
		fn.op("SHLQ", imm(3), "R8")
		fn.op("SHLQ", imm(3), "R9")
		fn.op("VXORPS", t.y(0), t.y(0), t.y(0)) // clears the whole register
		for i := 1; i < rows*v; i++ {
			fn.op("VMOVUPS", t.v(0), t.v(i))
		}
		loop, b := fn.label("loop"), rows*v
		for range fn.loop(loop, "AX", 1) {
			for j := range v {
				fn.op("VMOVUPS", mem(j*t.bytes(), "BX"), t.v(b+j))
			}
			for i := range rows {
				a := t.v(b + v + i%2)
				fn.op("VBROADCASTSD", mem(8*i, "SI"), a)
				for j := range v {
					fn.op("VFMADD231PD", t.v(b+j), a, t.v(i*v+j))
				}
			}
			fn.op("ADDQ", imm(8*rows), "SI")
			fn.op("ADDQ", "R8", "BX")
		}
		plus, minus := fn.label("plus"), fn.label("minus")
		fn.op("CMPQ", "R10", imm(0))
		fn.op("JGT", plus)
		fn.op("JLT", minus)
		for _, way := range []string{"", plus, minus} {
			if way != "" {
				fn.at(way)
			}
			for i := range rows {
				for j := range v {
					sum, at := t.v(i*v+j), mem(j*t.bytes(), "DI")
					switch way {
					case plus:
						fn.op("VADDPD", at, sum, sum)
					case minus:
						fn.op("VMOVUPS", at, t.v(b))
						fn.op("VSUBPD", sum, t.v(b), sum)
					}
					fn.op("VMOVUPS", sum, at)
				}
				fn.op("ADDQ", "R9", "DI")
			}
			fn.end()
		}
		f.enter("doubleKernels[isa.%s] = &DoubleKernel{Rows: %d, Cols: %d, run: %s}", t.name, rows, v*t.lanes/2, fn.name)
	}
	emitSymmetric(f)
}

// emitSymmetric writes the product of four rows of a symmetric matrix with x: sums[4 4] of what they give for
// their own elements of y, and y += what they give as columns. n is a multiple of 4.
func emitSymmetric(f *file) {
	t := avx2
	fn := f.function("multiplies four rows of a symmetric matrix, see gen/double.go.", "symmetricAVX2",
		"n int, a *float64, lda int, of *float64, x *float64, y *float64, sums *float64")
	rows := [4]string{"SI", "R8", "R9", "R10"}
	fn.load("n", "AX", "a", rows[0], "lda", "R11", "of", "BX", "x", "CX", "y", "DX", "sums", "DI")
	fn.op("SHLQ", imm(3), "R11")
	for i := 1; i < 4; i++ {
		fn.op("MOVQ", rows[i-1], rows[i])
		fn.op("ADDQ", "R11", rows[i])
	}
	of, sum, y, x, a := 0, 4, 8, 9, 10
	for i := range 4 {
		fn.op("VBROADCASTSD", mem(8*i, "BX"), t.v(of+i))
		fn.op("VXORPS", t.v(sum+i), t.v(sum+i), t.v(sum+i))
	}
	for range fn.loop(fn.label("loop"), "AX", 4) {
		fn.op("VMOVUPS", mem(0, "DX"), t.v(y))
		fn.op("VMOVUPS", mem(0, "CX"), t.v(x))
		for i, row := range rows {
			fn.op("VMOVUPS", mem(0, row), t.v(a+i))
			fn.op("VFMADD231PD", t.v(x), t.v(a+i), t.v(sum+i))
			fn.op("VFMADD231PD", t.v(of+i), t.v(a+i), t.v(y))
			fn.op("ADDQ", imm(32), row)
		}
		fn.op("VMOVUPS", t.v(y), mem(0, "DX"))
		fn.op("ADDQ", imm(32), "CX")
		fn.op("ADDQ", imm(32), "DX")
	}
	for i := range 4 {
		fn.op("VMOVUPS", t.v(sum+i), mem(32*i, "DI"))
	}
	fn.end()
}
