// Package tile runs elementwise instructions over tiles of [Len] elements.
//
// [Compile] turns the elementwise part of a group into a [Program]: a list of vector functions over
// registers. A register is a tile that stays in the first-level cache. A [State] is a program bound to the
// memory of one launch, with registers of its own; each worker has one. [State.Run] evaluates a range of
// linear (C order) indices of the iteration space. So one program serves a map over all elements, the rows
// of a softmax, and a finished part of a matmul's result.
//
// Registers hold float32 for f16 and bf16, and the dtype itself for all others. f16 and bf16 are converted
// when they are loaded and stored: arithmetic is in float32, and only the final result is rounded to the
// storage type.
//
// Reading order: tile.go, compile.go, layout.go, run.go, funcs.go, double.go.
package tile

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/internal/few"
)

// Len is the number of elements in a tile. A dozen registers of 256 float32 fit a 32 KiB cache, and the
// streams are long enough for the hardware's prefetchers.
const Len = 256

// A Spec selects the part of a group that a program computes.
type Spec struct {
	Group *backend.Group
	Shape []int // the iteration space; linear indices run over it in C order
	// Perm gives the axis of the group's shapes for axis i of Shape; nil keeps their order. Inputs of lower
	// rank or with axes of length 1 are broadcast to the space first, so Perm has as many axes as Shape.
	Perm  []int
	Insts []int         // instructions of the group, in order, all elementwise
	Given []backend.Ref // values that the caller provides, as runs of their register type
	Outs  []Out
}

// An Out is a result of a program: a value, and the dtype in which it is stored. With [Register] of the
// value's dtype it is stored as it was computed.
type Out struct {
	Value  backend.Ref
	DType  dtype.Type
	Stream bool // f32 stored past the caches, see vec.StreamTo
}

// Register returns the dtype of the register in which values of t are computed.
func Register(t dtype.Type) dtype.Type {
	if t == dtype.F16 || t == dtype.BF16 {
		return dtype.F32
	}
	return t
}

// A Program is compiled elementwise code. It is immutable, so several workers may use it.
type Program struct {
	inputs  []input
	consts  []constant
	slots   int    // number of pointers in a State
	scratch []int  // byte offset of a slot's register, or -1 where Run sets the pointer
	bytes   int    // total size of scratch
	code    []step // in order
	work    int    // cost for each element; a vector instruction on float32 costs 1
	given   []operand
	outs    []operand
	views   []int // for each output the input that it repeats, as stored, or -1
	tiled   bool  // steps use registers, so they take at most Len elements; otherwise a step takes a whole run
}

// A step calls fn on slots.
type step struct {
	fn         vec.Func
	d, a, b, c uint16
}

// An operand is a slot whose memory the caller provides.
type operand struct {
	slot uint16
	size uintptr
}

// An input is an operand that each Run reads.
type input struct {
	slot    uint16
	size    uintptr
	buf     int
	offset  int // elements
	walk    walk
	scratch int
	block   int // byte offset of BlockRows tiles for a transposed input, or -1
	into    int // output that repeats the input, as stored, so that it is gathered there; or -1
}

// A constant fills its register once, when a State is bound.
type constant struct {
	slot   uint16
	dtype  dtype.Type
	buf    int // or -1
	offset int // elements
	scalar int
}

// MostPlain is how many slots a plain program has at most.
const MostPlain = 8

// Plain says whether Once can run the program: its steps read inputs and write outputs as they lie.
func (p *Program) Plain() bool {
	for i := range p.inputs {
		if in := &p.inputs[i]; !in.walk.contiguous() || in.into >= 0 {
			return false
		}
	}
	return p.bytes == 0 && len(p.given) == 0 && p.slots <= MostPlain
}

// Once runs a plain program over its first n elements without a State. mem is where the group's buffers lie;
// of outs, the group's outputs, their buffers count.
func (p *Program) Once(mem *[MostPlain]unsafe.Pointer, outs []backend.Output, n int) {
	var ptr [MostPlain]unsafe.Pointer
	for i := range p.inputs {
		in := &p.inputs[i]
		ptr[in.slot] = unsafe.Add(mem[in.buf], uintptr(in.offset)*in.size)
	}
	for i := range p.outs {
		ptr[p.outs[i].slot] = mem[outs[i].Buf]
	}
	for i := range p.code {
		c := &p.code[i]
		c.fn(ptr[c.d], ptr[c.a], ptr[c.b], ptr[c.c], n)
	}
}

// A State is a program bound to memory.
type State struct {
	prog  *Program
	ptr   []unsafe.Pointer
	in    []unsafe.Pointer // element zero of each input
	have  []held           // the transposed block of each input
	given []anchored
	outs  []anchored
	coord []int
	regs  unsafe.Pointer // aligned start of mem
	mem   []uint64
	fetch []unsafe.Pointer
	room  []unsafe.Pointer // memory for results of Fetch
	max   int              // elements in each of them

	stopped func() bool
}

// anchored memory has linear index at at address p.
type anchored struct {
	p  unsafe.Pointer
	at int
}

// NewState returns a state with registers for p.
func (p *Program) NewState() *State {
	s := &State{
		prog:  p,
		ptr:   make([]unsafe.Pointer, p.slots),
		in:    make([]unsafe.Pointer, len(p.inputs)),
		have:  make([]held, len(p.inputs)),
		given: make([]anchored, len(p.given)),
		outs:  make([]anchored, len(p.outs)),
		mem:   make([]uint64, p.bytes/8+8),
	}
	s.regs = Align(unsafe.Pointer(unsafe.SliceData(s.mem)))
	for i, off := range p.scratch {
		if off >= 0 {
			s.ptr[i] = unsafe.Add(s.regs, off)
		}
	}
	depth := 0
	for i := range p.inputs {
		depth = max(depth, len(p.inputs[i].walk.dims))
	}
	s.coord = make([]int, depth)
	return s
}

// Bind points the state at the memory and scalars of a command: bufs is the memory of Cmd.Bufs.
func (s *State) Bind(bufs [][]byte, scalars []ir.Scalar) {
	for i := range s.prog.inputs {
		in := &s.prog.inputs[i]
		s.have[i] = held{}
		s.in[i] = unsafe.Add(unsafe.Pointer(unsafe.SliceData(bufs[in.buf])), uintptr(in.offset)*in.size)
	}
	for _, c := range s.prog.consts {
		reg := Register(c.dtype)
		if c.buf < 0 {
			var element [8]byte
			ir.Append(reg, element[:0], scalars[c.scalar])
			fillElement(s.ptr[c.slot], reg, unsafe.Pointer(&element))
			continue
		}
		fillElement(s.ptr[c.slot], c.dtype, unsafe.Pointer(&bufs[c.buf][c.offset*c.dtype.Size()]))
	}
}

// Release drops the pointers to the memory that the state was bound to, so that the collector can free it.
func (s *State) Release() {
	few.Clear(s.in)
	few.Clear(s.given)
	few.Clear(s.outs)
	few.Clear(s.fetch)
	for i, off := range s.prog.scratch {
		if off >= 0 {
			s.ptr[i] = unsafe.Add(s.regs, off)
		} else {
			s.ptr[i] = nil
		}
	}
}

// Watch gives long runs a function to call now and then; they end early if it returns true.
func (s *State) Watch(stopped func() bool) { s.stopped = stopped }

// SetGiven sets the memory of given value i: p is the address of linear index at, and later ones follow.
func (s *State) SetGiven(i int, p unsafe.Pointer, at int) { s.given[i] = anchored{p, at} }

// SetOut sets the memory of output i: p is the address of linear index at, and later ones follow.
func (s *State) SetOut(i int, p unsafe.Pointer, at int) { s.outs[i] = anchored{p, at} }

// Align rounds an address up to a multiple of 64 bytes.
func Align(p unsafe.Pointer) unsafe.Pointer { return unsafe.Add(p, -uintptr(p)&63) }
