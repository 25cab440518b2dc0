package main

import "fmt"

// emitTiles writes the bf16 micro-kernels for AMX, the matrix unit of some Intel processors, and the
// kernels that pack for them.
//
// A tile register holds 16 rows of 64 bytes. Tiles 0 to 3 are the result, 32×32 sums. Tiles 4 and 5 hold 16
// rows of a with 32 steps each. Tiles 6 and 7 hold 32 steps of b with 16 columns each, two steps side by
// side in 32 bits.
func emitTiles(f *file) {
	for rows := 1; rows <= 2; rows++ {
		for cols := 1; cols <= 2; cols++ {
			tileProduct(f, rows, cols)
		}
	}
	peakTiles(f)
	packPairs(f)
}

// number has the numbers of registers in the encoding of instructions.
var number = map[string]int{"AX": 0, "CX": 1, "DX": 2, "BX": 3, "SI": 6, "DI": 7, "R8": 8, "R9": 9, "R10": 10, "R11": 11, "R12": 12, "R13": 13}

// Prefixes of VEX instructions.
const (
	pp00 = iota
	pp66
	ppF3
	ppF2
)

// vex emits an instruction of the opcode map 0F38 that Go's assembler does not know: a VEX.128 prefix, the
// opcode, and rest. rxb are the register extension bits, vvvv is the second operand.
func (fn *function) vex(comment string, pp, opcode, rxb, vvvv int, rest ...int) {
	fn.bytes(comment, append([]int{0xc4, ^rxb&7<<5 | 2, ^vvvv&15<<3 | pp, opcode}, rest...))
}

// tileMemory emits a load or store of a tile: rows are stride bytes apart, from disp(base).
func (fn *function) tileMemory(name string, pp, tile int, base, stride string, disp int) {
	b, x := number[base], number[stride]
	rxb := b>>3 | x>>3<<1
	fn.vex(fmt.Sprintf("%s tile %d, %d(%s)(%s*1)", name, tile, disp, base, stride), pp, 0x4b, rxb, 0,
		0x84|tile<<3, x&7<<3|b&7, disp, disp>>8, disp>>16, disp>>24)
}

func (fn *function) tileLoad(tile int, base, stride string, disp int) {
	fn.tileMemory("TILELOADD", ppF2, tile, base, stride, disp)
}

// tileStream is tileLoad for data that is read once. It keeps the data out of the first-level cache.
func (fn *function) tileStream(tile int, base, stride string, disp int) {
	fn.tileMemory("TILELOADDT1", pp66, tile, base, stride, disp)
}

func (fn *function) tileStore(tile int, base, stride string, disp int) {
	fn.tileMemory("TILESTORED", ppF3, tile, base, stride, disp)
}

func (fn *function) tileZero(tile int) {
	fn.vex(fmt.Sprint("TILEZERO tile ", tile), ppF2, 0x49, 0, 0, 0xc0|tile<<3)
}

// tileMultiply adds the product of tiles a and b to c.
func (fn *function) tileMultiply(c, a, b int) {
	fn.vex(fmt.Sprintf("TDPBF16PS tiles %d += %d·%d", c, a, b), ppF3, 0x5c, 0, b, 0xc0|c<<3|a)
}

// tileConfigure sets the sizes of the tiles from the 64 bytes at base.
func (fn *function) tileConfigure(base string) {
	fn.vex("LDTILECFG ("+base+")", pp00, 0x49, number[base]>>3, 0, number[base]&7)
}

// tileRelease releases the tiles, so that the system need not save them when it switches threads.
func (fn *function) tileRelease() { fn.vex("TILERELEASE", pp00, 0x49, 0, 0, 0xc0) }

// tileProduct writes c = a·b, or += when add is not 0, for high times rows tiles of a and panels times cols
// tiles of b. a is rows of bf16, lda bytes apart. b is panels; a block of a panel is 32 steps of 32
// columns. ldc is in bytes. config gives the used part of the tiles.
//
// Operands are loaded as data that is read once. So more of the data that is needed again stays in the
// first-level cache.
func tileProduct(f *file, rows, cols int) {
	fn := f.function("multiplies rows of bf16 by packed tiles; see gen/tiles.go.", fmt.Sprintf("tileProduct%d%d", rows, cols),
		"config *tileConfig, blocks int, high int, a *float32, lda int, b *float32, panels int, c *float32, ldc int, add int")
	fn.load("config", "AX")
	fn.tileConfigure("AX")
	fn.load("a", "AX", "lda", "R8", "ldc", "R10", "add", "R13", "high", "R15")
	fn.op("MOVQ", imm(128), "R9")
	row, panel, zero, start, block := fn.label("row"), fn.label("panel"), fn.label("zero"), fn.label("start"), fn.label("block")
	fn.at(row)
	fn.load("b", "BX", "panels", "DX", "c", "DI")
	fn.op("MOVQ", "R10", "R11")
	fn.op("SHLQ", imm(4), "R11")
	fn.op("ADDQ", "DI", "R11") // row 16 of c
	results := func(do func(tile int, base string, disp int)) {
		for i, base := range []string{"DI", "R11"}[:rows] {
			for j := range cols {
				do(2*i+j, base, 64*j)
			}
		}
	}
	for range fn.loop(panel, "DX", 1) {
		fn.load("blocks", "CX")
		fn.op("MOVQ", "AX", "SI")
		fn.op("MOVQ", "R8", "R12")
		fn.op("SHLQ", imm(4), "R12")
		fn.op("ADDQ", "SI", "R12") // row 16 of a
		fn.op("TESTQ", "R13", "R13")
		fn.op("JZ", zero)
		results(func(tile int, base string, disp int) { fn.tileLoad(tile, base, "R10", disp) })
		fn.op("JMP", start)
		fn.at(zero)
		results(func(tile int, _ string, _ int) { fn.tileZero(tile) })
		fn.at(start)
		for range fn.loop(block, "CX", 1) {
			fn.tileStream(6, "BX", "R9", 0)
			fn.tileStream(4, "SI", "R8", 0)
			fn.tileMultiply(0, 4, 6)
			if rows > 1 {
				fn.tileStream(5, "R12", "R8", 0)
				fn.tileMultiply(2, 5, 6)
			}
			if cols > 1 {
				fn.tileStream(7, "BX", "R9", 64)
				fn.tileMultiply(1, 4, 7)
				if rows > 1 {
					fn.tileMultiply(3, 5, 7)
				}
			}
			fn.op("ADDQ", imm(64), "SI")
			fn.op("ADDQ", imm(64), "R12")
			fn.op("ADDQ", imm(2048), "BX")
		}
		results(func(tile int, base string, disp int) { fn.tileStore(tile, base, "R10", disp) })
		fn.op("ADDQ", imm(128), "DI")
		fn.op("ADDQ", imm(128), "R11")
	}
	// The next rows of a, and of c.
	fn.op("MOVQ", "R8", "SI")
	fn.op("SHLQ", imm(5), "SI")
	fn.op("ADDQ", "SI", "AX")
	fn.load("c", "DI")
	fn.op("MOVQ", "R10", "SI")
	fn.op("SHLQ", imm(5), "SI")
	fn.op("ADDQ", "SI", "DI")
	fn.store("DI", "c")
	fn.op("DECQ", "R15")
	fn.op("JNZ", row)
	fn.tileRelease()
	fn.end()
}

// peakTiles writes a loop of products of tiles alone.
func peakTiles(f *file) {
	fn := f.function("does n times four products of tiles.", "peakTiles", "config *tileConfig, n int, ones *float32")
	fn.load("config", "AX", "n", "CX", "ones", "SI")
	fn.tileConfigure("AX")
	fn.op("MOVQ", imm(64), "R8")
	for i := range 4 {
		fn.tileZero(i)
		fn.tileLoad(4+i, "SI", "R8", 0)
	}
	for range fn.loop(fn.label("loop"), "CX", 1) {
		for i := range 4 {
			fn.tileMultiply(i, 4+i/2, 6+i%2)
		}
	}
	fn.tileRelease()
	fn.end()
}

// packPairs writes dst[p][j] = src[2p][j], src[2p+1][j] for p < pairs and j < valid ≤ 32, and 0 for the
// rest of 32 columns. srcStride is in bytes. If last is 0, the source ends with the first row of the last
// pair, and zeros take the place of the second.
func packPairs(f *file) {
	order := f.words("packPairsOrder", 0, 0, 4, 0, 1, 0, 5, 0, 2, 0, 6, 0, 3, 0, 7, 0)
	fn := f.function("puts pairs of rows side by side; see gen/tiles.go.", "packPairs", "dst *float32, src *uint16, srcStride int, pairs int, valid int, last int")
	fn.load("dst", "DI", "src", "SI", "srcStride", "R8", "pairs", "DX", "valid", "CX", "last", "R9")
	fn.op("MOVQ", imm(-1), "AX")
	fn.op("BZHIQ", "CX", "AX", "AX")
	fn.op("KMOVD", "AX", "K1")
	fn.op("KMOVD", "AX", "K2")
	// Unpacking works within 128 bits, so this order puts quarters of four columns side by side.
	fn.op("VMOVDQU64", order+"(SB)", "Z31")
	for range fn.loop(fn.label("loop"), "DX", 1) {
		both := fn.label("both")
		fn.op("CMPQ", "DX", imm(1))
		fn.op("JNE", both)
		fn.op("TESTQ", "R9", "R9")
		fn.op("JNZ", both)
		fn.op("KXORD", "K2", "K2", "K2")
		fn.at(both)
		fn.op("VMOVDQU16.Z", mem(0, "SI"), "K1", "Z0")
		fn.op("VMOVDQU16.Z", mem(0, "SI", "R8*1"), "K2", "Z1")
		fn.op("VPERMQ", "Z0", "Z31", "Z0")
		fn.op("VPERMQ", "Z1", "Z31", "Z1")
		fn.op("VPUNPCKLWD", "Z1", "Z0", "Z2")
		fn.op("VPUNPCKHWD", "Z1", "Z0", "Z3")
		fn.op("VMOVDQU64", "Z2", mem(0, "DI"))
		fn.op("VMOVDQU64", "Z3", mem(64, "DI"))
		fn.op("LEAQ", mem(0, "SI", "R8*2"), "SI")
		fn.op("ADDQ", imm(128), "DI")
	}
	fn.end()
}
