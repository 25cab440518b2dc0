// Package kernel writes groups down in Metal Shading Language.
//
// A [Kernel] is what one command of a group is on a GPU: a few dispatches, each with a text, an argument
// struct and a grid. The text holds no length, stride or offset of the group: they are fields of the struct,
// so that groups which differ in nothing else share a text, and a backend compiles it once. But there are
// several texts for the ways in which the elements of an input lie in memory (side by side, one for all, with
// a stride), because a thread loads them differently.
//
// Every kernel has one argument: the address of its struct, with pointers into device memory, numbers,
// lengths and strides. A list of arguments is as long as it must be. In CUDA a launch carries the struct, so
// that a kernel need not load it before all else.
//
// Texts call the building blocks of package shaders: op_exp, load4.
//
// Reading order: kernel.go, layout.go, text.go, values.go, expr.go, map.go; reduce.go, row.go, kept.go and
// rowops.go; for products matmul.go with tiled.go and short.go (many rows) or few.go, and what joins and
// parts them, beside.go, phases.go, gated.go, parts.go, twins.go, split.go, room.go and library.go;
// attention.go; single.go and the files that it names.
package kernel

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Kernel is a group as a GPU runs it.
type Kernel struct {
	Dispatches []Dispatch // in order; none if there is nothing to compute
	Scratch    int        // bytes of workspace that they share
	Table      []byte     // numbers that the texts look up, or counts that they leave as they found them; empty if there are none
	// Fault is what a report of an index that is out of range means; nil if there can be none. The position
	// is that in the tensor of indices, in C order; known says whether the value there is.
	Fault func(position uint32, value int64, known bool) error

	limits Limits // of the device that it is rendered for
}

// A Dispatch is one launch on the device: of a text or, if Library is not nil, of a library's work, and then
// the other fields are zero.
type Dispatch struct {
	Library  *Call
	Function string // the kernel function's name; equal texts have equal names
	Text     string // MSL that defines it, to stand after the blocks of package shaders; see Whole
	Args     Args
	Groups   [3]int // threadgroups
	Threads  [3]int // threads of each
	// Threadgroup is how many bytes of threadgroup memory the function gets as an argument; 0 if it has none.
	Threadgroup int
	// Same names two buffers of the command: where they are one, the dispatch would copy them to themselves,
	// and is not made. Spared says that they are meant to be one, so that it does not count as a launch.
	Same   *[2]int
	Spared bool

	piece *piece // of a text of which each thread computes elements by itself: others can stand beside it
}

// mostCarried is how many bytes of arguments every GPU of NVIDIA takes with a launch.
const mostCarried = 4096

// Carried says whether the launch carries the argument struct, where a device can do that. Else the struct
// lies in memory, and its text says so by the struct's name.
func (d *Dispatch) Carried() bool { return d.Args.Size <= mostCarried }

// Launches is how many dispatches the kernel makes, but for those that are spared.
func (k *Kernel) Launches() int {
	n := 0
	for i := range k.Dispatches {
		if !k.Dispatches[i].Spared {
			n++
		}
	}
	return n
}

// Whole is how a text begins that stands alone.
const Whole = "#include <metal_stdlib>\n"

// Args is the argument struct of a dispatch, as its text declares it.
type Args struct {
	Size   int // bytes, a multiple of 8
	Fields []Field
}

// A FieldKind says where the value of a field comes from.
type FieldKind uint8

// The kinds of fields.
const (
	Pointer  FieldKind = iota // address of the command's buffer Index, plus At bytes; 8 bytes
	Scratch                   // address of the workspace, plus At bytes; 8 bytes
	Table                     // address of the kernel's Table, plus At bytes; 8 bytes
	Report                    // address of the command's fault record, see fault.go; 8 bytes
	Stop                      // address of the program's word that says whether a fault was reported; 8 bytes
	Number                    // the command's scalar Index, as DType
	Constant                  // Value, known when the group was rendered
)

// A Field is a member of an argument struct.
type Field struct {
	Kind   FieldKind
	Offset int // bytes from the start of the struct
	Size   int // 4 or 8
	Index  int
	At     int
	DType  dtype.Type
	Value  int64
}

// Addresses are the addresses on the device of a command's memory.
type Addresses struct {
	Buffers []uint64
	Scratch uint64 // the workspace
	Table   uint64 // the kernel's table
	Fault   uint64 // the fault record; 0 if the kernel has no Fault
	Stop    uint64 // four bytes, 0 from the first report of the program on
}

// Fill writes the struct (little endian) to dst, which has Size bytes.
func (a *Args) Fill(dst []byte, at *Addresses, scalars []ir.Scalar) {
	for i := range a.Fields {
		f := &a.Fields[i]
		to := dst[f.Offset:]
		switch f.Kind {
		case Pointer:
			binary.LittleEndian.PutUint64(to, at.Buffers[f.Index]+uint64(f.At))
		case Scratch:
			binary.LittleEndian.PutUint64(to, at.Scratch+uint64(f.At))
		case Table:
			binary.LittleEndian.PutUint64(to, at.Table+uint64(f.At))
		case Report:
			binary.LittleEndian.PutUint64(to, at.Fault)
		case Stop:
			binary.LittleEndian.PutUint64(to, at.Stop)
		case Number:
			put(to, f.Size, number(f.DType, scalars[f.Index]))
		case Constant:
			put(to, f.Size, uint64(f.Value))
		}
	}
}

func put(dst []byte, size int, v uint64) {
	if size == 8 {
		binary.LittleEndian.PutUint64(dst, v)
		return
	}
	binary.LittleEndian.PutUint32(dst, uint32(v))
}

// number is a scalar as the bits of a register: a float32 for a floating-point type, 0 or 1 for Bool, and 4
// or 8 bytes of an integer.
func number(dt dtype.Type, s ir.Scalar) uint64 {
	switch {
	case dt.Float():
		return uint64(math.Float32bits(float32(s.F)))
	case dt == dtype.Bool:
		if s.F != 0 {
			return 1
		}
		return 0
	}
	return uint64(ir.Wrap(dt, s.I))
}

// Limits are the device's, as far as they shape a dispatch.
type Limits struct {
	Threads    int // most threads of a group
	SIMDWidth  int // threads that shuffle with each other; texts are written for 32
	Processors int // that run threadgroups side by side; 0 if unknown
	Memory     int // bytes of threadgroup memory of a group; 0 if unknown
	Room       int // bytes of workspace that the columns of a convolution may take; 0 if there is no limit
	Family     Family
	Warpgroups bool     // four simdgroups multiply together (wgmma), and may have 227 KB of threadgroup memory
	Library    *Library // of matrix products; nil if there is none
}

// group is how many threads a threadgroup has that goes along rows: a power of two.
func (l Limits) group() int { return floorPower(min(rowThreads, l.Threads)) }

// A Family of devices multiplies blocks of matrices by instructions of its own, and so has tiles of its own.
type Family uint8

// The families. A device of no family is treated as one of Apple's.
const (
	Apple  Family = iota // simdgroup matrices of 8×8
	NVIDIA               // from compute capability 8.0 on: mma.sync of 16×8×16, and copies that are queued
)

// Render writes a group down. It returns an *Unsupported for a group that has no text.
func Render(g *backend.Group, limits Limits) (*Kernel, error) {
	if limits.SIMDWidth != simdWidth || limits.Threads < simdWidth {
		return nil, &Unsupported{g.Name, fmt.Sprintf("simdgroups of %d threads and threadgroups of %d, want %d and at least as many",
			limits.SIMDWidth, limits.Threads, simdWidth)}
	}
	for _, in := range g.Inputs {
		if in.DType == dtype.F64 {
			return nil, &Unsupported{g.Name, "f64"}
		}
	}
	for _, in := range g.Insts {
		if in.DType == dtype.F64 {
			return nil, &Unsupported{g.Name, "f64"}
		}
	}
	switch g.Kind {
	case backend.Map:
		return renderMap(g, limits), nil
	case backend.Reduce:
		k := &Kernel{}
		k.reduce(g, 0, limits)
		return k, nil
	case backend.MatMul:
		return renderMatMul(g, limits)
	case backend.Single:
		return renderSingle(g, limits)
	case backend.Row:
		return renderRow(g, limits)
	case backend.Maps:
		return renderMaps(g, limits), nil
	}
	return nil, &Unsupported{g.Name, fmt.Sprintf("a group of kind %v", g.Kind)}
}

// Unsupported is the error of a group that cannot be written down.
type Unsupported struct {
	Group string
	What  string
}

func (e *Unsupported) Error() string {
	return fmt.Sprintf("kernel: %s: got %s, which has no text for a GPU", e.Group, e.What)
}
