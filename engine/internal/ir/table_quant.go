package ir

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// QuantBlock is how many outputs of a quantised weight lie side by side: a vector of 32-bit lanes, one an
// output, each with codes of consecutive inputs.
const QuantBlock = 16

// A Form is what the codes of a quantised weight stand for, and what its third part is.
type Form int

const (
	Middle   Form = iota // scale·(code − 2^(bits−1)); no third part
	Zeros                // scale·(code − zero), zero points u8 [blocks groups 16]
	Minimums             // scale·code + minimum, of the scales' shape and dtype; scale·code is rounded to f32 before
	Table                // scale·table[code], the table f32 [2^bits]
)

// A Quant is how a weight [K N], or a stack [Matrices K N] of them, is quantised: codes of 4 or 8 bits, which
// share a scale, and perhaps a zero point or a minimum, along groups of inputs.
//
// Outputs are cut into blocks of [QuantBlock], inputs into groups; where the last of them is not full it is
// filled up. Those of a stack follow one another, and the outputs of each matrix begin a block. Scales are
// [blocks groups 16]. Codes are [blocks lines 64] bytes; a line holds 4
// inputs (8 bits) or 8 inputs (4 bits) of all outputs of a block: byte 4·o + i of line l is the code of
// output o and input 4·l + i; with 4 bits its low half is input 8·l + i and its high half input 8·l + 4 + i.
// [Form] says what they stand for.
type Quant struct {
	Matrices    int // of a stack; 0: it is one weight [K N]
	K, N        int
	Bits, Group int
	Form        Form
	DType       dtype.Type // of what it is dequantised to
	Transposed  bool
}

// QuantOf reads the settings of a Dequantize or DequantizeTake.
func QuantOf(a *Attr) Quant {
	q := Quant{Bits: a.Ints[0], Group: a.Ints[1], Form: Form(a.Ints[2]), DType: a.DType, Transposed: a.Flags&Transposed != 0}
	last := len(a.Shape) - 1
	if q.K, q.N = a.Shape[last-1], a.Shape[last]; last > 1 {
		q.Matrices = a.Shape[0]
	}
	return q
}

// Attr is the opposite of QuantOf.
func (q Quant) Attr() Attr {
	a := Attr{Shape: append(q.lead(), q.K, q.N), Ints: []int{q.Bits, q.Group, int(q.Form)}, DType: q.DType}
	if q.Transposed {
		a.Flags = Transposed
	}
	return a
}

// lead are the axes of a stack before those of a matrix.
func (q Quant) lead() []int {
	if q.Matrices == 0 {
		return nil
	}
	return []int{q.Matrices}
}

// Shape is that of what the codes stand for.
func (q Quant) Shape() []int {
	if q.Transposed {
		return append(q.lead(), q.N, q.K)
	}
	return append(q.lead(), q.K, q.N)
}

// Shapes are those of the codes, and of the scales.
func (q Quant) Shapes() (codes, scales []int) {
	blocks := max(1, q.Matrices) * q.Blocks()
	return []int{blocks, q.Lines(), 4 * QuantBlock}, []int{blocks, q.Groups(), QuantBlock}
}

// Blocks and Groups are how many of them a matrix has; Lines is the number of lines of a block.
func (q Quant) Blocks() int { return (q.N + QuantBlock - 1) / QuantBlock }

// Groups is the number of groups of inputs.
func (q Quant) Groups() int { return (q.K + q.Group - 1) / q.Group }

// PerLine is the number of inputs in a line of codes.
func (q Quant) PerLine() int { return 32 / q.Bits }

// Lines is the number of lines of a block.
func (q Quant) Lines() int { return q.Groups() * q.Group / q.PerLine() }

func quantRows() []Row {
	const layout = "Codes are u8 [blocks lines 64], scales f32 or bf16 [blocks groups 16]; a third operand is zero points u8 or minimums, " +
		"of the scales' shape, or a table f32 [2^bits]. Attr.Shape is [K N], or [G K N] of a stack, Attr.Ints are bits (4 or 8), group and form; ir.Quant says what lies where."
	const noGrad = "codes are integers, and the scales are not trained"
	return []Row{
		{Op: Dequantize, Name: "dequantize", Infer: inferDequantize, NoGrad: noGrad, Flops: flops(2), Tol: rounding,
			Doc: "Dequantize is the weight w[k n] = scale·(code − zero), scale·code + minimum or scale·table[code] of a quantised matrix, as [K N], or [N K] with Flags Transposed, or of a stack of G of them, in Attr.DType. " + layout +
				" As the right-hand side of a MatMul or the w of a LoRALinear or GroupedMatMul it is not written to memory: the product reads the codes, and its gradient for the other side reads them again."},
		{Op: DequantizeTake, Name: "dequantize_take", Family: FamilyIndex, Infer: inferDequantizeTake, NoGrad: noGrad, Flops: flops(2), Tol: rounding,
			Doc: "DequantizeTake takes columns of a quantised matrix [K N] by Src[0] (i64, any shape), as rows [… K]: an embedding whose matrix is the output layer's, too. " +
				layout + " An index below 0 counts from the end; one outside of −N…N−1 is an error when it is evaluated."},
	}
}

func inferDequantize(n *Node) error {
	q, err := inferQuant(n, n.Src)
	if err != nil {
		return err
	}
	n.DType, n.Shape = q.DType, q.Shape()
	return nil
}

func inferDequantizeTake(n *Node) error {
	if len(n.Src) == 0 || n.Src[0].DType != dtype.I64 {
		return got(n, "an i64 index first")
	}
	q, err := inferQuant(n, n.Src[1:])
	if err != nil {
		return err
	}
	if q.Matrices > 0 {
		return got(n, "one matrix")
	}
	n.DType, n.Shape = q.DType, append(slices.Clone(n.Src[0].Shape), q.K)
	return nil
}

// inferQuant checks the settings and the parts of a quantised weight.
func inferQuant(n *Node, parts []*Node) (Quant, error) {
	a := n.Attr
	stack := len(a.Shape) == 3 && a.Shape[0] > 0
	if len(a.Shape) != 2 && !stack || len(a.Ints) != 3 || checkShape(a.Shape) != nil || !a.DType.Float() {
		return Quant{}, wrong(n, "got shape %v, settings %v and dtype %v, want [K N] or [G K N], bits, group and form, and a floating-point dtype", a.Shape, a.Ints, a.DType)
	}
	q := QuantOf(a)
	if q.Bits != 4 && q.Bits != 8 || q.Group != 16 && q.Group != 32 && q.Group != 64 && q.Group != 128 || q.Form < Middle || q.Form > Table {
		return q, wrong(n, "got %d bits in groups of %d, form %d, want 4 or 8 in groups of 16, 32, 64 or 128", q.Bits, q.Group, q.Form)
	}
	codes, scales := q.Shapes()
	if len(parts) < 2 || parts[0].DType != dtype.U8 || !slices.Equal(parts[0].Shape, codes) ||
		parts[1].DType != dtype.F32 && parts[1].DType != dtype.BF16 || !slices.Equal(parts[1].Shape, scales) {
		return q, got(n, "codes u8%v, scales f32 or bf16%v, and what the form needs", codes, scales)
	}
	if q.Form == Middle {
		if len(parts) != 2 {
			return q, got(n, "codes and scales")
		}
		return q, nil
	}
	dt, shape := dtype.U8, scales
	switch q.Form {
	case Minimums:
		dt = parts[1].DType
	case Table:
		dt, shape = dtype.F32, []int{1 << q.Bits}
	}
	if len(parts) != 3 || parts[2].DType != dt || !slices.Equal(parts[2].Shape, shape) {
		return q, got(n, "codes, scales and %v%v", dt, shape)
	}
	return q, nil
}
