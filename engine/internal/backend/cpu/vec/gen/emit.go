package main

import (
	"bytes"
	"fmt"
	"go/format"
	"maps"
	"math"
	"slices"
	"strings"
)

// An emitter writes one kernel.
type emitter struct {
	*kernel
	text   *bytes.Buffer
	table  map[uint32]bool // constants that are read from memory
	pinned map[value]int
	spare  []int // vector registers for a body
	mask   int   // AVX2: the register that holds the last turn's mask
	nan    int   // AVX2: a register for maxima and minima

	together int  // vectors whose instructions stand side by side, 0 for none
	full     bool // there were not registers enough, so what was written means nothing
}

// registers of pointer parameters; AX is the index in elements, CX how many are left, DX a temporary.
var pointerRegisters = []string{"DI", "SI", "BX", "R8", "R9", "R10", "R11", "R12"}

func (e *emitter) op(mnemonic string, operands ...string) {
	fmt.Fprintf(e.text, "\t%s\n", strings.TrimSpace(mnemonic+" "+strings.Join(operands, ", ")))
}

// v is vector register r, x and y its lower parts.
func (s set) v(r int) string { return fmt.Sprint(s.prefix, r) }
func xmm(r int) string       { return fmt.Sprint("X", r) }
func ymm(r int) string       { return fmt.Sprint("Y", r) }
func kreg(r int) string      { return fmt.Sprint("K", r) }

// constant is the memory operand of a constant.
func (e *emitter) constant(bits uint32) string {
	e.table[bits] = true
	return fmt.Sprintf("c%08x<>(SB)", bits)
}

// unroll is how many vectors a turn of the main loop takes: several where the body is short, and where sums
// would otherwise wait for each other.
func (k *kernel) unroll() int {
	if k.turns > 0 {
		return k.turns
	}
	if len(k.reduces) > 0 || len(k.nodes) <= 6 {
		return 4
	}
	return 1
}

// sideBySide are functions of which AVX-512, whose registers are many, does several vectors side by side. Of
// longer ones too many constants would have to be read again and again.
var sideBySide = []string{"Expm1", "Tanh", "Sigmoid", "Silu", "GeluTanh"}

// together is how many vectors' instructions may stand side by side, best first.
func (k *kernel) together() []int {
	if k.set != avx512 || !slices.Contains(sideBySide, k.id) {
		return []int{0}
	}
	return []int{4, 3, 2}
}

// emitKernel writes a kernel with as many pinned constants as there is room for.
func emitKernel(k *kernel, table map[uint32]bool) []byte {
	var constants []value
	count := map[value]int{}
	for _, n := range k.nodes {
		for _, a := range n.args {
			count[a]++
		}
	}
	for i, n := range k.nodes {
		if n.op == opConst {
			constants = append(constants, value(i))
		}
	}
	slices.SortStableFunc(constants, func(a, b value) int { return count[b] - count[a] })
	for _, together := range k.together() {
		for pinned := len(constants); pinned >= 0; pinned-- {
			e := &emitter{kernel: k, text: &bytes.Buffer{}, table: map[uint32]bool{}, pinned: map[value]int{}, together: together}
			if e.function(constants[:pinned]); !e.full {
				maps.Copy(table, e.table)
				return e.text.Bytes()
			}
		}
	}
	panic("gen: " + k.name + ": out of registers")
}

// function writes the whole function.
func (e *emitter) function(constants []value) {
	size, _ := e.layout()
	fmt.Fprintf(e.text, "// func %s\nTEXT ·%s%s(SB), NOSPLIT, $0-%d\n", e.signature(), e.name, e.set.name, size)
	next := e.regs - 1
	pin := func() int { next--; return next + 1 }
	e.parameters(pin)
	for _, c := range constants {
		e.pinned[c] = pin()
		e.loadConstant(e.nodes[c].bits, next+1)
	}
	for v, n := range e.nodes {
		if n.op == opPowers {
			e.pinned[value(v)] = pin()
			e.op("VMOVUPS", "powers<>(SB)", e.v(next+1))
		}
	}
	unroll := e.unroll()
	switch {
	case e.columns:
		unroll = e.vectorsOfColumns()
	case e.together > 0:
		unroll = e.together
	}
	sums := make([][]int, unroll)
	for u := range sums {
		for _, r := range e.reduces {
			sums[u] = append(sums[u], pin())
			e.start(r.kind, next+1)
		}
	}
	if e.set == avx2 && !e.columns {
		e.mask = pin()
		for _, r := range e.reduces {
			if (r.kind == opMax || r.kind == opMin) && e.nan == 0 {
				e.nan = pin()
			}
		}
	}
	if e.full = next < 2; e.full {
		return
	}
	for r := next; r >= 0; r-- {
		e.spare = append(e.spare, r)
	}
	if e.set != neon {
		e.op("XORQ", "AX", "AX")
	}
	if e.columns {
		e.loopsOfColumns(sums)
	} else {
		e.loops(sums)
		e.finish(sums)
	}
	if e.set != neon {
		e.op("VZEROUPPER")
	}
	e.op("RET")
	e.text.WriteByte('\n')
}

// parameters moves the parameters into registers.
func (e *emitter) parameters(pin func() int) {
	move, left, offset := "MOVQ", "CX", 0
	if e.set == neon {
		move, left = "MOVD", neonLeft
	}
	for i, p := range e.params {
		at := fmt.Sprintf("%s+%d(FP)", p.name, offset)
		if !p.scalar {
			e.op(move, at, e.pointerOf(i))
			offset += 8
			continue
		}
		offset += 4
		for v, n := range e.nodes {
			if n.op != opScalar || n.imm != i {
				continue
			}
			r := pin()
			if e.pinned[value(v)] = r; e.set == neon {
				e.op("FMOVS", at, fmt.Sprint("F", r))
				e.word("dup v%d.4s, v%d.s[0]", r, r)
			} else {
				e.op("VBROADCASTSS", at, e.v(r))
			}
		}
	}
	e.op(move, fmt.Sprintf("n+%d(FP)", (offset+7)&^7), left)
}

// turn writes a loop that goes on while so many are left, and then by so many elements.
func (e *emitter) turn(label string, count, elements int, body func()) {
	end, less, goOn := label+"End", fmt.Sprint("$", count), fmt.Sprint("$", elements)
	fmt.Fprintf(e.text, "%s:\n", label)
	if e.set == neon {
		e.op("CMP", less, neonLeft)
		e.op("BLT", end)
		body()
		for i, p := range e.params {
			if !p.scalar && !p.perColumn {
				e.op("ADD", fmt.Sprint("$", elements*p.mem.size()), e.pointerOf(i))
			}
		}
		e.op("SUB", less, neonLeft)
		e.op("B", label)
	} else {
		e.op("CMPQ", "CX", less)
		e.op("JLT", end)
		body()
		e.op("ADDQ", goOn, "AX")
		e.op("SUBQ", less, "CX")
		e.op("JMP", label)
	}
	fmt.Fprintf(e.text, "%s:\n", end)
}

// loops writes the main loop, the loop of single vectors and the masked last turn, or a loop of single
// elements.
func (e *emitter) loops(sums [][]int) {
	turn := func(label string, count int) {
		e.turn(label, count*e.lanes, count*e.lanes, func() {
			if e.together > 0 && count > 1 {
				e.emitTogether(count)
				return
			}
			for u := range count {
				e.newBody(u*e.lanes, false).emit(sums[u])
			}
		})
	}
	if len(sums) > 1 {
		turn("loop", len(sums))
	}
	turn("single", 1)
	last := func() { e.newBody(0, true).emit(sums[0]) }
	switch {
	case e.set == neon:
		e.turn("element", 1, 1, last)
		return
	case e.narrow() && e.set == avx2:
		return // the caller does the rest
	}
	e.op("TESTQ", "CX", "CX")
	e.op("JEQ", "done")
	if e.set == avx512 {
		e.op("MOVQ", "$-1", "DX")
		e.op("BZHIQ", "CX", "DX", "DX")
		e.op("KMOVW", "DX", "K1")
	} else {
		e.op("NEGQ", "CX")
		e.op("LEAQ", "lanes<>+32(SB)", "DX")
		e.op("VMOVDQU", "(DX)(CX*4)", e.v(e.mask))
	}
	last()
	fmt.Fprintf(e.text, "done:\n")
}

// narrow says whether elements of fewer than 32 bits are read or written.
func (k *kernel) narrow() bool {
	return slices.ContainsFunc(k.params, func(p param) bool { return !p.scalar && p.mem.size() < 4 })
}

// elementSize is how many bytes the kernel goes on in parameter p with each element: none where it neither
// reads nor writes it, because such a pointer may point anywhere.
func (k *kernel) elementSize(p int) int {
	used := slices.ContainsFunc(k.nodes, func(n node) bool { return n.op == opLoad && n.imm == p }) ||
		slices.ContainsFunc(k.stores, func(s store) bool { return s.param == p })
	if !used {
		return 0
	}
	return k.params[p].mem.size()
}

// layout returns the size of arguments and results, and where results start.
func (k *kernel) layout() (size, results int) {
	for _, p := range k.params {
		if p.scalar {
			size += 4
		} else {
			size += 8
		}
	}
	size = (size+7)&^7 + 8
	if k.columns {
		return size, size
	}
	return size + 4*len(k.reduces), size
}

// signature is the Go signature, with the set's name.
func (k *kernel) signature() string {
	var pointers, scalars []string
	scalarFirst, kind := false, "float32"
	for _, p := range k.params {
		if p.word {
			kind = "uint32"
		}
		if p.scalar {
			scalars = append(scalars, p.name)
			continue
		}
		scalarFirst = scalarFirst || len(scalars) > 0
		pointers = append(pointers, p.name)
	}
	if scalarFirst {
		panic("gen: " + k.name + ": scalars come after pointers")
	}
	s := fmt.Sprintf("%s%s(%s unsafe.Pointer, ", k.name, k.set.name, strings.Join(pointers, ", "))
	if len(scalars) > 0 {
		s += strings.Join(scalars, ", ") + " " + kind + ", "
	}
	s += "n int)"
	if n := len(k.reduces); n > 0 && !k.columns {
		s += " (" + strings.Join([]string{"r0", "r1", "r2"}[:n], ", ") + " float32)"
	}
	return s
}

// pointerIndex is how many pointers are parameters before p.
func (k *kernel) pointerIndex(p int) int {
	n := 0
	for _, q := range k.params[:p] {
		if !q.scalar {
			n++
		}
	}
	return n
}

// pointerOf is the register of parameter p.
func (k *kernel) pointerOf(p int) string {
	if k.set == neon {
		return fmt.Sprint("R", k.pointerIndex(p))
	}
	return pointerRegisters[k.pointerIndex(p)]
}

// address is the memory operand of the turn's elements.
func (b *body) address(p int) string {
	size := b.params[p].mem.size()
	s := fmt.Sprintf("(%s)(AX*%d)", b.pointerOf(p), size)
	if b.offset > 0 {
		s = fmt.Sprint(b.offset*size) + s
	}
	return s
}

// files returns the generated files by name.
func files() map[string][]byte {
	out := map[string][]byte{}
	for arch, sets := range sets {
		head := "// Code generated by gen; DO NOT EDIT.\n\n//go:build " + arch + " && !mcs_portable\n\n"
		var decl bytes.Buffer
		decl.WriteString(head + "package vec\n\nimport \"unsafe\"\n\n")
		for _, s := range sets {
			var text bytes.Buffer
			table := map[uint32]bool{}
			for _, build := range kernels {
				k := &kernel{set: s, name: build.name, id: build.id}
				build.make(k)
				text.Write(emitKernel(k, table))
				fmt.Fprintf(&decl, "//go:noescape\nfunc %s\n\n", k.signature())
			}
			name := strings.ToLower(s.name) + "_" + arch + ".s"
			constants := ""
			if s != neon {
				constants = data(table)
			}
			out[name] = append([]byte(head+"#include \"textflag.h\"\n\n"+constants), bytes.TrimRight(text.Bytes(), "\n")...)
			out[name] = append(out[name], '\n')
		}
		decl.WriteString(tableText(sets))
		formatted, err := format.Source(decl.Bytes())
		if err != nil {
			panic(err)
		}
		out["decl_"+arch+".go"] = formatted
	}
	return out
}

// data writes the constants, the lanes from which AVX2 takes its masks, and the powers of opPowers.
func data(table map[uint32]bool) string {
	var s strings.Builder
	for _, w := range slices.Sorted(maps.Keys(table)) {
		fmt.Fprintf(&s, "DATA c%08x<>+0(SB)/4, $0x%08x\nGLOBL c%08x<>(SB), RODATA|NOPTR, $4\n", w, w, w)
	}
	for i := range 16 {
		fmt.Fprintf(&s, "DATA lanes<>+%d(SB)/4, $0x%08x\n", 4*i, map[bool]uint32{true: 0xffffffff}[i < 8])
	}
	s.WriteString("GLOBL lanes<>(SB), RODATA|NOPTR, $64\n")
	for i := range 16 {
		fmt.Fprintf(&s, "DATA powers<>+%d(SB)/4, $0x%08x\n", 4*i, math.Float32bits(float32(math.Exp2(float64(i)/16))))
	}
	s.WriteString("GLOBL powers<>(SB), RODATA|NOPTR, $64\n\n")
	return s.String()
}

// wrapped are the functions that package vec gives another signature.
var wrapped = []string{"adamW", "stream"}

// tableText writes the tables from which package vec takes the functions of a set.
func tableText(sets []set) string {
	var s strings.Builder
	for _, set := range sets {
		fmt.Fprintf(&s, "var funcs%s = map[ID]Func{\n", set.name)
		for _, b := range kernels {
			if b.id == "" {
				continue
			}
			k := &kernel{set: set, name: b.name}
			b.make(k)
			fn := b.name + set.name
			if k.narrow() && set == avx2 {
				// Short runs of bytes cannot be masked: whole vectors only, and the rest elsewhere.
				var sizes []string
				for p := range k.params {
					sizes = append(sizes, fmt.Sprint(k.elementSize(p)))
				}
				fn = fmt.Sprintf("wholeVectors(%s, %s, %s)", fn, b.id, strings.Join(sizes, ", "))
			}
			fmt.Fprintf(&s, "%s: %s,\n", b.id, fn)
		}
		s.WriteString("}\n\n")
		fmt.Fprintf(&s, "func use%s() {\n", set.name)
		for _, b := range kernels {
			if b.id == "" && !slices.Contains(wrapped, b.name) {
				fmt.Fprintf(&s, "%s = %s%s\n", strings.ToUpper(b.name[:1])+b.name[1:], b.name, set.name)
			}
		}
		for _, name := range wrapped {
			fmt.Fprintf(&s, "%s = %s%s\n", name, name, set.name)
		}
		s.WriteString("}\n\n")
	}
	return s.String()
}
