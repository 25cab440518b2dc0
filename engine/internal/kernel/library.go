package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A Product is a matrix product as a library of a device computes it: for each of a number of batches
//
//	D = activation(scale·A·B + C + bias)
//
// with sums in F32 that are rounded once. Equal Products are the same work.
type Product struct {
	Rows, Columns, Inner int // A is Rows×Inner, B is Inner×Columns, C and D are Rows×Columns
	Batches              int
	A, B                 Matrix // of one type: F32, F16 or BF16
	C                    Matrix // of D's type; zero if nothing is added; it may be D's memory
	D                    Matrix // of the operands' type or F32; not transposed
	Scaled               bool   // the scale is a number of the run; else it is 1
	Bias                 bool   // a row of D's type is added to each row
	Gelu                 bool   // the activation is gelu, approximated with tanh
	TF32                 bool   // A and B of F32 may be rounded to TF32
}

// A Matrix is how the elements of a matrix lie. Distances are in elements.
type Matrix struct {
	DType      dtype.Type
	Transposed bool // the elements of a column lie side by side; else those of a row
	Stride     int  // from one row to the next, or from one column to the next if it is transposed
	Batch      int  // from one batch to the next; 0 if all batches share the matrix
}

// Added says whether the product has a C.
func (p *Product) Added() bool { return p.C != Matrix{} }

// String says what is multiplied: "4096×896 by 896×64 of bf16, as f32, in 8 batches, with a bias".
func (p Product) String() string {
	s := fmt.Sprintf("%d×%d by %d×%d of %v", p.Rows, p.Inner, p.Inner, p.Columns, p.A.DType)
	for _, with := range []struct {
		is   bool
		text string
	}{
		{p.D.DType != p.A.DType, fmt.Sprintf(", as %v", p.D.DType)}, {p.TF32, ", rounded to tf32"},
		{p.Scaled, ", scaled"},
		{p.Batches > 1, fmt.Sprintf(", in %d batches", p.Batches)}, {p.Added(), ", with a matrix added"},
		{p.Bias, ", with a bias"}, {p.Gelu, ", with gelu"},
	} {
		if with.is {
			s += with.text
		}
	}
	return s
}

// Flops is the number of operations.
func (p *Product) Flops() int { return 2 * p.Rows * p.Columns * p.Inner * p.Batches }

// The operands of a Product.
const (
	ProductA = iota
	ProductB
	ProductC
	ProductD
	ProductBias
)

// Bytes is how far an operand reaches from where it begins, with all batches; 0 if there is none.
func (p Product) Bytes(operand int) int {
	m, rows, columns := p.D, p.Rows, p.Columns
	switch {
	case operand == ProductA:
		m, columns = p.A, p.Inner
	case operand == ProductB:
		m, rows = p.B, p.Inner
	case operand == ProductC && p.Added():
		m = p.C
	case operand == ProductBias && p.Bias:
		return p.Columns * p.D.DType.Size()
	case operand != ProductD:
		return 0
	}
	if m.Transposed {
		rows, columns = columns, rows
	}
	return ((p.Batches-1)*m.Batch + (rows-1)*m.Stride + columns) * m.DType.Size()
}

// A Placement says where the operands of a library's work lie, by their numbers, and its workspace. The
// fields are of the kinds Pointer and Scratch.
type Placement struct {
	Operands       [AttentionOperands]Field
	Workspace      Field
	WorkspaceBytes int
}

// A Work is what a library computes: a Product, an Attention, a Convolution or an ir.Routine.
type Work interface {
	fmt.Stringer
	// Bytes is how far an operand reaches from where it begins; 0 if there is none.
	Bytes(operand int) int
}

// A Call is work that a library computes, as a step of a kernel.
type Call struct {
	Placement
	Work  Work
	Scale int // which one of the command's scalars, if the work is a product that is scaled
}

// placement has a product's matrices.
func placement(a, b, d Field) (p Placement) {
	p.Operands[ProductA], p.Operands[ProductB], p.Operands[ProductD] = a, b, d
	return p
}

// A lending gives places of memory numbers as buffers, for groups that are made while a kernel is rendered.
type lending struct {
	first  int // the number of the first
	places []Field
}

// lend gives a place a number.
func (l *lending) lend(f Field) int {
	l.places = append(l.places, f)
	return l.first + len(l.places) - 1
}

// place turns pointers to buffers that were lent into their places. What a dispatch has of the workspace
// itself stands behind those.
func (l *lending) place(d *Dispatch, behind int) {
	move := func(f *Field) {
		switch {
		case f.Kind == Scratch:
			f.At += behind
		case f.Kind == Pointer && f.Index >= l.first:
			at := l.places[f.Index-l.first]
			*f = Field{Kind: at.Kind, Index: at.Index, Offset: f.Offset, Size: f.Size, At: f.At + at.At}
		}
	}
	if c := d.Library; c != nil {
		for i := range c.Operands {
			move(&c.Operands[i])
		}
		move(&c.Workspace)
	}
	for i := range d.Args.Fields {
		move(&d.Args.Fields[i])
	}
}

// A Library is those of the device, as far as it shapes dispatches.
type Library struct {
	// Offer says whether the library has such work, and how many bytes of workspace it needs.
	Offer func(w Work) (workspace int, ok bool)
	// Room is how many bytes of workspace attention of f32 may have for its scores; with 0 it is left to the
	// texts.
	Room int
	// Memory is how many bytes the device has.
	Memory int
	// Always gives the library every product that it has, but those of few rows, whatever that costs, and
	// all attention and convolutions.
	Always bool
}

// What a product must be worth to go to a library.
const (
	// leastFlops is a product that takes as long as its launch on a large GPU.
	leastFlops = 1 << 22
	// launchBytes is what a large GPU moves while it begins a launch, some 2.5 µs.
	launchBytes = 8 << 20
	// codesBytes is what a large GPU moves in the time in which tiles of 16 bits read an element from codes.
	codesBytes = 8
	// operandAlignment and workspaceAlignment are what libraries want, in bytes: the first that of attention
	// and convolutions.
	operandAlignment   = 16
	workspaceAlignment = 256
)

// flopsPerByte is the number of operations that a library must do to save the time of moving one byte. These
// are estimates for an H200, with 4 TB/s: of f16 and bf16 a library does some 700 TFLOP/s and a text of this
// package 300 (600 of large and deep products alone; where these are counted as such, training of 0.5B takes
// a sixth longer), of f32 50 and 30, and with TF32 400 and 30.
func (p *Product) flopsPerByte() int {
	switch {
	case p.A.DType != dtype.F32:
		return 128
	case p.TF32:
		return 8
	}
	return 16
}

// shareWorkspace gives the calls of a kernel one workspace, behind what the texts use.
func (k *Kernel) shareWorkspace() {
	at, most := (k.Scratch+workspaceAlignment-1)&^(workspaceAlignment-1), 0
	for _, d := range k.Dispatches {
		if c := d.Library; c != nil {
			c.Workspace = Field{Kind: Scratch, Size: 8, At: at}
			most = max(most, c.WorkspaceBytes)
		}
	}
	if most > 0 {
		k.Scratch = at + most + workspaceAlignment - 64 // the workspace itself is aligned to 64 bytes
	}
}
