package main

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/a64"
)

// arm64 has 32 vectors of four f32. The general registers R0 to R17 and R19 to R26 of Go's assembly are x0
// … in the words. Go's assembler writes the instructions that it knows. neonTiles are the micro-kernels:
// rows × vectors. Their sums take 24 vectors, a row of b two or three, the values of a the rest. A step of
// 8×12 is 24 multiply-adds for 5 loads.

var neonTiles = []struct{ rows, vectors int }{{12, 2}, {8, 3}}

const neonLanes = 4

// A neonFunction is a function for arm64.
type neonFunction struct{ *function }

func (f *file) neon(doc, name, params string) neonFunction {
	return neonFunction{f.function(doc, name, params)}
}

// word emits an instruction in the notation of package a64.
func (fn neonFunction) word(format string, args ...any) {
	fmt.Fprintf(&fn.f.text, "\t%s\n", a64.Word(fmt.Sprintf(format, args...)))
}

// params moves parameters into registers from R0 on.
func (fn neonFunction) params(names ...string) {
	for i, name := range names {
		off, ok := fn.offset[name]
		if !ok {
			panic(fmt.Sprintf("gen: %s has no parameter %s", fn.name, name))
		}
		fn.op("MOVD", fmt.Sprintf("%s+%d(FP)", name, off), x(i))
	}
}

// loop is function.loop for arm64.
func (fn neonFunction) loop(again, counter string, step int) func(body func() bool) {
	return func(body func() bool) {
		fn.at(again)
		body()
		fn.op("SUBS", imm(step), counter)
		fn.op("BNE", again)
	}
}

// x returns the name of general register i.
func x(i int) string {
	if i == 18 || i > 26 {
		panic(fmt.Sprintf("gen: R%d is not ours", i))
	}
	return fmt.Sprint("R", i)
}

// zero clears n vectors from vector i on.
func (fn neonFunction) zero(i, n int) {
	for r := range n {
		fn.word("movi v%d.2d, #0", i+r)
	}
}

// constant puts 32 bits into all lanes of vector i.
func (fn neonFunction) constant(bits uint32, i int) {
	twice := fmt.Sprintf("$0x%08x%08x", bits, bits)
	fn.op("VMOVQ", twice, twice, fmt.Sprint("V", i))
}

// widen loads four elements of a type as f32.
func (fn neonFunction) widen(typ string, base, disp, v int) {
	if typ == "F32" {
		fn.word("ldr q%d, [x%d, #%d]", v, base, disp)
		return
	}
	fn.word("ldr d%d, [x%d, #%d]", v, base, disp)
	if typ == "BF16" {
		fn.word("shll v%d.4s, v%d.4h, #16", v, v)
	} else {
		fn.word("fcvtl v%d.4s, v%d.4h", v, v)
	}
}

func (fn neonFunction) ret() {
	fn.op("RET")
	fn.f.text.WriteByte('\n')
}

func emitMatMulNEON(f *file) {
	for _, t := range neonTiles {
		var widths []string
		for v := 1; v <= t.vectors; v++ {
			widths = append(widths, matmulNEON(f, t.rows, v, false))
		}
		f.kernel("NEON", t.rows, neonLanes, widths)
	}
	for v := 1; v <= 3; v++ {
		matmulNEON(f, 8, v, true)
	}
}

// A neonTile is a micro-kernel while it is written. Registers: k, a, b, ldb, c, ldc, rows, cols, add in R0
// to R8. Vectors: first the sums, row after row; then those of a; then those of b.
type neonTile struct {
	neonFunction
	mr, v int
	dot   bool
}

// matmulNEON is matmulKernels.tile for arm64. It loads the values of the next step right after their last
// use in this step, so the last step is written separately.
func matmulNEON(f *file, mr, v int, dot bool) (name string) {
	name = fmt.Sprintf("matmul%dx%dNEON", mr, v*neonLanes)
	if dot {
		name = fmt.Sprintf("matmul%dx%dBF16", mr, v*neonLanes)
	}
	fn := f.framed("multiplies a packed panel by rows of b; see gen/neon.go.", name,
		"k int, a *float32, b *float32, ldb int, c *float32, ldc int, rows int, cols int, add int", 16*mr*v)
	k := &neonTile{neonFunction{fn}, mr, v, dot}
	k.params("k", "a", "b", "ldb", "c", "ldc", "rows", "cols", "add")
	k.zero(0, mr*v)
	for i := range mr / 4 {
		k.word("ldr q%d, [x1], #16", k.a(i))
	}
	for j := range v {
		k.word("ldr q%d, [x2, #%d]", k.b(j), 16*j)
	}
	const unroll = 4
	loop, single, one, last := k.label("loop"), k.label("single"), k.label("one"), k.label("last")
	k.op("SUB", imm(1), "R0")
	k.at(loop)
	k.op("CMP", imm(unroll), "R0")
	k.op("BLT", single)
	for range unroll {
		k.step(true)
	}
	k.op("SUB", imm(unroll), "R0")
	k.op("B", loop)
	k.at(single)
	k.op("CBZ", "R0", last)
	for range k.loop(one, "R0", 1) {
		k.step(true)
	}
	k.at(last)
	k.step(false)
	k.store()
	k.ret()
	return name
}

func (k *neonTile) sum(i, j int) int { return i*k.v + j }
func (k *neonTile) a(i int) int      { return k.mr*k.v + i }
func (k *neonTile) b(j int) int      { return k.mr*k.v + k.mr/4 + j }

// step emits one k; next means that another step follows.
func (k *neonTile) step(next bool) {
	if next {
		k.op("ADD", "R3", "R2")
	}
	groups := k.mr / 4
	for g := range groups {
		for j := range k.v {
			for i := range 4 {
				if k.dot {
					k.word("bfdot v%d.4s, v%d.8h, v%d.2h[%d]", k.sum(4*g+i, j), k.b(j), k.a(g), i)
				} else {
					k.word("fmla v%d.4s, v%d.4s, v%d.s[%d]", k.sum(4*g+i, j), k.b(j), k.a(g), i)
				}
			}
			if next && g == groups-1 {
				k.word("ldr q%d, [x2, #%d]", k.b(j), 16*j)
			}
		}
		if next {
			k.word("ldr q%d, [x1], #16", k.a(g))
		}
	}
}

// store writes the sums. Whole vectors are stored directly; if the last columns are no whole vector, they
// go through the stack, element by element.
func (k *neonTile) store() {
	part, set, done := k.label("part"), k.label("set"), k.label("done")
	temp := k.mr * k.v // the vectors above the sums are free by now
	k.op("CMP", imm(k.v*neonLanes), "R7")
	k.op("BNE", part)
	k.op("CBZ", "R8", set)
	for _, add := range []bool{true, false} {
		if !add {
			k.at(set)
		}
		for i := range k.mr {
			for j := range k.v {
				if add {
					k.word("ldr q%d, [x4, #%d]", temp+j, 16*j)
					k.word("fadd v%d.4s, v%d.4s, v%d.4s", k.sum(i, j), k.sum(i, j), temp+j)
				}
				k.word("str q%d, [x4, #%d]", k.sum(i, j), 16*j)
			}
			if i < k.mr-1 {
				k.op("SUBS", imm(1), "R6")
				k.op("BEQ", done)
				k.op("ADD", "R5", "R4")
			}
		}
		k.op("B", done)
	}
	k.at(part)
	k.op("MOVD", fmt.Sprintf("$sums-%d(SP)", 16*k.mr*k.v), "R9")
	for i := range k.mr * k.v {
		k.word("str q%d, [x9, #%d]", i, 16*i)
	}
	row, col, store := k.label("row"), k.label("col"), k.label("store")
	for range k.loop(row, "R6", 1) {
		k.op("MOVD", "R9", "R10")
		k.op("MOVD", "R4", "R11")
		k.op("MOVD", "R7", "R12")
		for range k.loop(col, "R12", 1) {
			k.op("FMOVS.P", "4(R10)", "F0")
			k.op("CBZ", "R8", store)
			k.op("FMOVS", "(R11)", "F1")
			k.op("FADDS", "F1", "F0")
			k.at(store)
			k.op("FMOVS.P", "F0", "4(R11)")
		}
		k.op("ADD", imm(16*k.v), "R9")
		k.op("ADD", "R5", "R4")
	}
	k.at(done)
}

func emitPeakNEON(f *file) {
	f.enter("peaks[isa.NEON] = peakLoop{peakNEON, 24 * 4 * 2}")
	for _, dot := range []bool{false, true} {
		name, instruction := "peakNEON", "fmla v%d.4s, v30.4s, v31.s[0]"
		if dot {
			name, instruction = "peakBF16", "bfdot v%d.4s, v30.8h, v31.2h[0]"
		}
		fn := f.neon("does n times 24 multiply-adds of a vector.", name, "n int")
		fn.params("n")
		fn.zero(0, 32)
		for range fn.loop(fn.label("loop"), "R0", 1) {
			for i := range 24 {
				fn.word(instruction, i)
			}
		}
		fn.ret()
	}
}
