package main

import (
	"fmt"
	"strings"
)

// matmulTiles are the micro-kernels: rows × vectors. All but one of a set keep 24 sums (AVX2: 12) in
// registers, which hides the latency of two multiply-adds in each cycle. Each tile exists in all narrower
// widths too, for the last columns.
var matmulTiles = []struct {
	set
	rows, vectors int
}{
	{avx512, 24, 1}, {avx512, 12, 2}, {avx512, 14, 2}, {avx512, 8, 3}, {avx512, 6, 4},
	{avx2, 12, 1}, {avx2, 6, 2}, {avx2, 4, 3},
}

func emitMatMul(f *file) {
	m := &matmulKernels{file: f, mask: f.words("matmulMask", halfMask()...)}
	for _, t := range matmulTiles {
		var widths []string
		for v := 1; v <= t.vectors; v++ {
			widths = append(widths, m.tile(t.set, t.rows, v, false))
		}
		f.kernel(t.set.name, t.rows, t.lanes, widths)
	}
	for v := 1; v <= 2; v++ {
		m.tile(avx512, 14, v, true)
	}
}

// kernel enters a micro-kernel with functions for a vector of columns, two …
func (f *file) kernel(set string, rows, lanes int, widths []string) {
	f.enter("kernels[isa.%s] = append(kernels[isa.%s], &Kernel{Rows: %d, Cols: %d, lanes: %d, widths: []microFunc{%s}})",
		set, set, rows, lanes*len(widths), lanes, strings.Join(widths, ", "))
}

// halfMask is a table of masks: the eight words that begin n words before its middle are a mask of n lanes.
func halfMask() []uint32 {
	var mask []uint32
	for i := range 16 {
		mask = append(mask, map[bool]uint32{true: 0xffffffff}[i < 8])
	}
	return mask
}

type matmulKernels struct {
	*file
	mask string
}

// tile writes c[rows cols] = a·b, or += when add is not 0, over k ≥ 1 steps. a holds mr values for each
// step. b is read in rows of v vectors, one for each step, ldb bytes apart. Only the first rows rows and
// cols columns of c are read or written, with (v-1)·lanes < cols ≤ v·lanes; ldc is in bytes.
//
// Each sum is a chain of fused multiply-adds in the order of k, so every tile and both sets give the same
// bits. With dot a value is a pair of bf16 numbers (two steps); one instruction adds both products to a
// sum.
func (m *matmulKernels) tile(s set, mr, v int, dot bool) (name string) {
	name = fmt.Sprintf("matmul%dx%d%s", mr, v*s.lanes, s.name)
	if dot {
		name = fmt.Sprintf("matmul%dx%dBF16", mr, v*s.lanes)
	}
	fn := m.function("multiplies a packed panel by rows of b; see gen/matmul.go.", name,
		"k int, a *float32, b *float32, ldb int, c *float32, ldc int, rows int, cols int, add int")
	fn.load("k", "AX", "a", "SI", "b", "BX", "ldb", "R8", "c", "DI", "ldc", "R9", "rows", "R10", "cols", "CX")
	fn.op("LEAQ", mem(0, "R8", "R8*2"), "R11") // three rows of b
	fn.op("MOVQ", "DI", "DX")
	for i := range mr {
		for j := range v {
			fn.op("PREFETCHT0", mem(j*s.bytes(), "DX"))
		}
		if i < mr-1 {
			fn.op("ADDQ", "R9", "DX")
		}
	}
	fn.zero(s, mr*v)

	// The next panel follows this one in memory. It is prefetched into the second-level cache while this
	// one is multiplied.
	fn.op("MOVQ", "AX", "DX")
	fn.op("IMULQ", imm(4*mr), "DX")

	const unroll = 4
	loop, tail, one, store := fn.label("loop"), fn.label("tail"), fn.label("one"), fn.label("store")
	fn.op("MOVQ", "AX", "R12")
	fn.op("SHRQ", imm(2), "R12")
	fn.op("JZ", tail)
	for range fn.loop(loop, "R12", 1) {
		rowsOfB := [unroll][]string{{}, {"R8*1"}, {"R8*2"}, {"R11*1"}}
		for u := range unroll {
			m.step(fn, s, mr, v, u, rowsOfB[u], dot)
		}
		fn.op("ADDQ", imm(4*mr*unroll), "SI")
		fn.op("LEAQ", mem(0, "BX", "R8*4"), "BX")
	}
	fn.at(tail)
	fn.op("ANDQ", imm(unroll-1), "AX")
	fn.op("JZ", store)
	for range fn.loop(one, "AX", 1) {
		m.step(fn, s, mr, v, 0, nil, dot)
		fn.op("ADDQ", imm(4*mr), "SI")
		fn.op("ADDQ", "R8", "BX")
	}

	fn.at(store)
	m.store(fn, s, mr, v)
	fn.end()
	return name
}

// step emits one k: it loads v vectors of b, broadcasts mr values of a, and does mr·v multiply-adds.
func (m *matmulKernels) step(fn *function, s set, mr, v, u int, rowOfB []string, dot bool) {
	b := mr * v
	for j := range v {
		fn.op("VMOVUPS", mem(j*s.bytes(), "BX", rowOfB...), s.v(b+j))
	}
	fn.op("PREFETCHT1", mem(4*mr*u, "SI", "DX*1"))
	fn.op("PREFETCHT0", mem(4*mr*u+512, "SI"))
	if spare := s.regs - b - v; v > 1 || s == avx2 || dot {
		for i := range mr {
			a := s.v(b + v + i%min(spare, 2))
			fn.op("VBROADCASTSS", mem(4*(mr*u+i), "SI"), a)
			for j := range v {
				if dot {
					fn.dotBF16(b+j, b+v+i%min(spare, 2), i*v+j)
				} else {
					fn.op("VFMADD231PS", s.v(b+j), a, s.v(i*v+j))
				}
			}
		}
		return
	}
	for i := range mr {
		fn.op("VFMADD231PS.BCST", mem(4*(mr*u+i), "SI"), s.v(b), s.v(i))
	}
}

// dotBF16 emits VDPBF16PS Zb, Za, Zsum, which Go's assembler does not know: sum += a·b, of pairs.
func (fn *function) dotBF16(b, a, sum int) {
	const map0F38, ppF3, length512 = 2, 2, 2
	bit := func(n, i int) int { return ^n >> i & 1 } // extension bits are inverted
	bytes := []int{
		0x62,
		bit(sum, 3)<<7 | bit(b, 4)<<6 | bit(b, 3)<<5 | bit(sum, 4)<<4 | map0F38,
		^a&15<<3 | 1<<2 | ppF3,
		length512<<5 | bit(a, 4)<<3,
		0x52,
		0xc0 | sum&7<<3 | b&7,
	}
	fn.bytes(fmt.Sprintf("VDPBF16PS Z%d, Z%d, Z%d", b, a, sum), bytes)
}

// store writes the sums, the last vector of each row under a mask.
func (m *matmulKernels) store(fn *function, s set, mr, v int) {
	fn.load("add", "R13")
	mask := s.v(mr * v) // the registers above the sums are free by now
	if s == avx512 {
		fn.op("SUBQ", imm((v-1)*s.lanes), "CX")
		fn.op("MOVQ", imm(-1), "R12")
		fn.op("BZHIQ", "CX", "R12", "R12")
		fn.op("KMOVW", "R12", "K1")
	} else {
		fn.op("SUBQ", imm(v*s.lanes), "CX")
		fn.op("NEGQ", "CX") // lanes to leave out
		fn.op("LEAQ", m.mask+"(SB)", "R12")
		fn.op("VMOVUPS", mem(0, "R12", "CX*4"), mask)
	}
	set, done := fn.label("set"), fn.label("done")
	fn.op("TESTQ", "R13", "R13")
	fn.op("JZ", set)
	for _, add := range []bool{true, false} {
		if !add {
			fn.at(set)
		}
		for i := range mr {
			for j := range v {
				m.storeVector(fn, s, mem(j*s.bytes(), "DI"), s.v(i*v+j), mask, s.v(mr*v+1), add, j == v-1)
			}
			if i < mr-1 {
				fn.op("DECQ", "R10")
				fn.op("JZ", done)
				fn.op("ADDQ", "R9", "DI")
			}
		}
		if add {
			fn.op("JMP", done)
		}
	}
	fn.at(done)
}

func (m *matmulKernels) storeVector(fn *function, s set, c, sum, mask, temp string, add, masked bool) {
	switch {
	case !masked:
		if add {
			fn.op("VADDPS", c, sum, sum)
		}
		fn.op("VMOVUPS", sum, c)
	case s == avx512:
		if add {
			fn.op("VADDPS", c, sum, "K1", sum)
		}
		fn.op("VMOVUPS", sum, "K1", c)
	default:
		if add {
			fn.op("VMASKMOVPS", c, mask, temp)
			fn.op("VADDPS", temp, sum, sum)
		}
		fn.op("VMASKMOVPS", sum, mask, c)
	}
}
