package tensor

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Quantised is a matrix [In Out], or a stack [Matrices In Out] of them, of 4-bit or 8-bit codes which share
// scales along groups of inputs. Package quant makes them, and says how the parts lie. Form says what the
// codes stand for: 0 scale·(code − 2^(bits−1)), 1 scale·(code − zero), 2 scale·code + minimum, 3
// scale·table[code].
type Quantised struct {
	Matrices    int // of a stack, in which the outputs of each begin a block; 0: it is one matrix
	In, Out     int
	Bits, Group int
	Form        int
	Codes       Tensor // u8 [blocks lines 64]
	Scales      Tensor // f32 or bf16 [blocks groups 16]
	Extra       Tensor // by Form: none; zero points u8 or minimums, of the scales' shape; a table f32 [2^bits]
}

// Dequantize returns the matrix [In Out], or the stack, in a floating-point dtype. As the right-hand side of
// MatMul, or the w of LoRALinear or, a stack, of GroupedMatMul, it never exists in memory: products read the
// codes.
func (q Quantised) Dequantize(dt dtype.Type) Tensor {
	return wrap(apply(ir.Dequantize, q.attr(dt), q.parts("dequantize")...))
}

// Take returns columns of the matrix as rows: an index [… ] of integers gives [… In]. One below 0 counts from
// the end.
func (q Quantised) Take(index Tensor, dt dtype.Type) Tensor {
	i := cast(index.node("dequantize_take"), dtype.I64)
	return wrap(apply(ir.DequantizeTake, q.attr(dt), append([]*ir.Node{i}, q.parts("dequantize_take")...)...))
}

// Shapes returns the shapes of the codes, and of scales, zero points and minimums.
func (q Quantised) Shapes() (codes, scales []int) {
	return q.layout(dtype.Invalid).Shapes()
}

func (q Quantised) attr(dt dtype.Type) ir.Attr {
	return q.layout(dt).Attr()
}

func (q Quantised) layout(dt dtype.Type) ir.Quant {
	return ir.Quant{Matrices: q.Matrices, K: q.In, N: q.Out, Bits: q.Bits, Group: q.Group, Form: ir.Form(q.Form), DType: dt}
}

func (q Quantised) parts(op string) []*ir.Node {
	list := []*ir.Node{q.Codes.node(op), q.Scales.node(op)}
	if q.Form != 0 {
		list = append(list, q.Extra.node(op))
	}
	return list
}
