// Package tile runs elementwise instructions over tiles of [Len] elements.
//
// [Compile] turns the elementwise part of a group into a [Program]: a list of vector functions over
// registers, each a tile that stays in the first-level cache. A [State] is a program bound to the memory of
// one launch, with registers of its own; each worker has one. [State.Run] evaluates a stretch of the
// iteration space, given as a range of linear (C order) indices, so one program serves a map over everything,
// the rows of a softmax, and the part of a matmul's result that was just finished.
//
// Registers hold float32 for f16 and bf16, and the dtype itself for all others. f16 and bf16 are converted
// where they are loaded and stored: arithmetic is float32 and rounds to the storage type once, at the end.
//
// Reading order: tile.go, compile.go, layout.go, run.go, funcs.go, double.go.
package tile

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Len is the number of elements in a tile. 256 float32 keep a dozen registers in a 32 KiB cache and let the
// hardware's prefetchers see long streams.
const Len = 256

// A Spec says which part of a group a program computes.
type Spec struct {
	Group *backend.Group
	Shape []int // the iteration space; linear indices run over it in C order
	// Perm says which axis of the group's shapes is axis i of Shape; nil leaves them as they are. Inputs of
	// lower rank or with length-1 axes are broadcast to the space first, so Perm has as many axes as Shape.
	Perm  []int
	Insts []int         // instructions of the group, in order, all elementwise
	Given []backend.Ref // values that the caller provides as runs of their register type
	Outs  []Out
}

// An Out is a result of a program: a value and the dtype in which it is stored. Giving [Register] of the
// value's dtype leaves it as it is computed.
type Out struct {
	Value  backend.Ref
	DType  dtype.Type
	Stream bool // f32 that goes past the caches, see vec.StreamTo
}

// Register returns the dtype of the register in which values of t are computed.
func Register(t dtype.Type) dtype.Type {
	if t == dtype.F16 || t == dtype.BF16 {
		return dtype.F32
	}
	return t
}

// A Program is compiled elementwise code; it is immutable and may be used by several workers.
type Program struct {
	inputs  []input
	consts  []constant
	slots   int    // number of pointers in a State
	scratch []int  // byte offset of the register of a slot, or -1 where Run sets the pointer
	bytes   int    // scratch in all
	code    []step // in order
	work    int    // of the code for an element, where a vector instruction on float32 is 1
	given   []operand
	outs    []operand
	views   []int // for each output the input that it is, as stored, or -1
	tiled   bool  // registers limit a step to Len elements; otherwise it goes from memory to memory in one piece
}

// A step calls fn on slots.
type step struct {
	fn         vec.Func
	d, a, b, c uint16
}

// An operand is a slot over memory that the caller provides.
type operand struct {
	slot uint16
	size uintptr
}

// An input is read from memory in each Run.
type input struct {
	slot    uint16
	size    uintptr
	buf     int
	offset  int // elements
	walk    walk
	scratch int
	block   int // byte offset of BlockRows tiles of a transposed input, or -1
	into    int // output that the input is, as stored, so that it is gathered there; or -1
}

// A constant fills its register once when a State is bound.
type constant struct {
	slot   uint16
	dtype  dtype.Type
	buf    int // or -1
	offset int // elements
	scalar int
}

// A State is a program bound to memory.
type State struct {
	prog  *Program
	ptr   []unsafe.Pointer
	in    []unsafe.Pointer // element zero of each input
	have  []held           // which block of each input was transposed last
	given []anchored
	outs  []anchored
	coord []int
	regs  unsafe.Pointer // aligned start of mem
	mem   []uint64
	fetch []unsafe.Pointer
	room  []unsafe.Pointer // for results of Fetch
	max   int              // elements in each

	stopped func() bool
}

// anchored memory holds linear index at at p.
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
			fillScalar(s.ptr[c.slot], reg, scalars[c.scalar])
			continue
		}
		fillElement(s.ptr[c.slot], c.dtype, unsafe.Pointer(&bufs[c.buf][c.offset*c.dtype.Size()]))
	}
}

// Release forgets the memory that the state was bound to, so that it keeps nothing alive.
func (s *State) Release() {
	clear(s.in)
	clear(s.given)
	clear(s.outs)
	clear(s.fetch)
	for i, off := range s.prog.scratch {
		s.ptr[i] = nil
		if off >= 0 {
			s.ptr[i] = unsafe.Add(s.regs, off)
		}
	}
}

// Watch lets long runs ask, now and then, whether they should end early.
func (s *State) Watch(stopped func() bool) { s.stopped = stopped }

// SetGiven says where given value i is: p is the address of linear index at, and later ones follow.
func (s *State) SetGiven(i int, p unsafe.Pointer, at int) { s.given[i] = anchored{p, at} }

// SetOut says where output i goes: p is the address of linear index at, and later ones follow.
func (s *State) SetOut(i int, p unsafe.Pointer, at int) { s.outs[i] = anchored{p, at} }

// Align rounds an address up to a multiple of 64 bytes.
func Align(p unsafe.Pointer) unsafe.Pointer { return unsafe.Add(p, -uintptr(p)&63) }
