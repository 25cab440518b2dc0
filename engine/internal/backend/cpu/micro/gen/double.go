package main

import "fmt"

// doubleTiles are the micro-kernels of float64: rows × vectors.
var doubleTiles = []struct {
	set
	rows, vectors int
}{{avx512, 14, 2}, {avx2, 6, 2}}

// emitDouble writes kernels for c[rows cols] = a·b over k ≥ 1 steps; the rows of all three are contiguous.
// For each step a holds rows values and b cols values. Each sum is a chain of fused multiply-adds in the
// order of k.
func emitDouble(f *file) {
	for _, t := range doubleTiles {
		rows, v := t.rows, t.vectors
		fn := f.function("multiplies two packed panels of float64; see gen/double.go.",
			fmt.Sprintf("double%dx%d%s", rows, v*t.lanes/2, t.name), "k int, a *float64, b *float64, c *float64")
		fn.load("k", "AX", "a", "SI", "b", "BX", "c", "DI")
		fn.op("VXORPS", t.y(0), t.y(0), t.y(0)) // clears the whole register
		for i := 1; i < rows*v; i++ {
			fn.op("VMOVUPS", t.v(0), t.v(i))
		}
		loop, b := fn.label("loop"), rows*v
		fn.at(loop)
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
		fn.op("ADDQ", imm(v*t.bytes()), "BX")
		fn.op("DECQ", "AX")
		fn.op("JNZ", loop)
		for i := range rows * v {
			fn.op("VMOVUPS", t.v(i), mem(i*t.bytes(), "DI"))
		}
		fn.end()
	}
}
