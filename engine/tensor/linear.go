package tensor

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// MatMul multiplies matrices: [… M K] by [… K N] gives [… M N]; leading axes broadcast. As in NumPy, a vector
// counts as one row on the left and one column on the right, and that axis goes away.
func (t Tensor) MatMul(y Tensor) Tensor {
	a, b := t.node("matmul"), y.node("matmul")
	if len(a.Shape) == 0 || len(b.Shape) == 0 {
		fail("matmul", "got %v and %v, want at least one axis each", a, b)
	}
	rowVector, columnVector := len(a.Shape) == 1, len(b.Shape) == 1
	if rowVector {
		a = reshape(a, []int{1, a.Shape[0]})
	}
	if columnVector {
		b = reshape(b, []int{b.Shape[0], 1})
	}
	n := matMul(t.node("matmul"), y.node("matmul"), a, b)
	shape := slices.Clone(n.Shape)
	if columnVector {
		shape = shape[:len(shape)-1]
	}
	if rowVector {
		i := len(shape) - 1
		if !columnVector {
			i--
		}
		shape = slices.Delete(shape, i, i+1)
	}
	return wrap(reshape(n, shape))
}

// matMul multiplies a and b, which have two axes or more; givenA and givenB are what the caller had, for the
// error.
func matMul(givenA, givenB, a, b *ir.Node) *ir.Node {
	ra, rb := len(a.Shape), len(b.Shape)
	if k, l := a.Shape[ra-1], b.Shape[rb-2]; k != l {
		fail("matmul", "got %v and %v, want inner dimensions equal (%d and %d)", givenA, givenB, k, l)
	}
	dt := meet("matmul", a, b)
	a, b = numbers(beneath(a, dt)), numbers(beneath(b, dt))
	if rb == 2 && ra > 2 && inRows(a) { // one matrix for all rows: a single product
		n := apply(ir.MatMul, ir.Attr{}, asRows(a), b)
		return reshape(n, append(slices.Clone(a.Shape[:ra-1]), b.Shape[1]))
	}
	lead := broadcast("matmul", &ir.Node{DType: a.DType, Shape: a.Shape[:ra-2]}, &ir.Node{DType: b.DType, Shape: b.Shape[:rb-2]})
	a = expand(a, append(slices.Clone(lead), a.Shape[ra-2:]...))
	b = expand(b, append(slices.Clone(lead), b.Shape[rb-2:]...))
	return apply(ir.MatMul, ir.Attr{}, a, b)
}

// inRows says whether a is one matrix [… K] without a copy. A permuted one may not be; products read it batch
// by batch then.
func inRows(a *ir.Node) bool {
	if a.DType.Complex() {
		a = a.Src[0]
	}
	_, ok := ir.LayoutOf(a).Reshape(rowsOf(a))
	return ok
}

// asRows is a as one matrix.
func asRows(a *ir.Node) *ir.Node { return reshape(a, rowsOf(a)) }

func rowsOf(a *ir.Node) []int {
	last := len(a.Shape) - 1
	return []int{ir.Size(a.Shape[:last]), a.Shape[last]}
}

// Outer is the product of each element of one vector with each of another: [n] and [m] give [n m].
func (t Tensor) Outer(y Tensor) Tensor {
	a, b := t.node("outer"), y.node("outer")
	if len(a.Shape) != 1 || len(b.Shape) != 1 {
		fail("outer", "got %v and %v, want one axis each", a, b)
	}
	return t.Unsqueeze(1).Mul(y)
}

// VecDot is the sum of the products of x and y along an axis, of complex numbers those of x's conjugates; the
// other axes broadcast.
func (t Tensor) VecDot(y Tensor, axis int) Tensor { return t.Conj().Mul(y).Sum(axis) }

// Linear returns x·w + bias: x [… K], w [K N], bias [N] or none. Where x is of F16 or BF16 so is the result:
// a product of wider weights reads them as they are, and rounds the result only. x.MatMul(w.Cast(x.DType()))
// rounds the weights first.
func Linear(x, w, bias Tensor) Tensor {
	y := x.MatMul(beside(x, w))
	if !bias.IsNone() {
		y = y.Add(beside(y, bias))
	}
	return y
}

// beside is a weight as x is computed with: in x's dtype if that is F16 or BF16, else as it is.
func beside(x, w Tensor) Tensor {
	if dt := x.DType(); dt.Float() && dt.Size() == 2 {
		return wrap(loosely(w.node("linear"), dt))
	}
	return w
}

// LoRALinear returns x·w + scale·(x·a)·b: x [… K], w [K N], a [K R], b [R N], a linear layer with a low-rank
// adapter (Hu et al. 2021). It costs one launch for a few rows and two for many, however x got there.
func LoRALinear(x, w, a, b Tensor, scale float64) Tensor {
	n := floats(x.node("lora_linear"))
	if len(n.Shape) == 0 {
		fail("lora_linear", "got %v, want at least one axis", n)
	}
	if len(n.Shape) > 2 && !inRows(n) {
		x := wrap(n)
		cast := func(t Tensor) Tensor { return wrap(loosely(t.node("lora_linear"), n.DType)) }
		return x.MatMul(cast(w)).Add(x.MatMul(cast(a)).Mul(scale).MatMul(cast(b)))
	}
	src := []*ir.Node{asRows(n)}
	for _, t := range []Tensor{w, a, b} {
		src = append(src, loosely(t.node("lora_linear"), n.DType))
	}
	y := apply(ir.LoRALinear, ir.Attr{Float: scale}, src...)
	return wrap(reshape(y, append(slices.Clone(n.Shape[:len(n.Shape)-1]), y.Shape[1])))
}

// GroupedMatMul multiplies each row of x [… K] by the matrix of w [G K N] that its index names: integers of
// x's leading axes, of which one below 0 counts from the end. The result is [… N], in x's dtype; w may have
// another one, which is widened as it is read. It is one launch, which reads no matrix that no row names. So
// a mixture of experts multiplies a token by the weights of its experts. An index out of range is an error,
// with its value, when the result is evaluated.
func GroupedMatMul(x, w, index Tensor) Tensor {
	const op = "grouped_matmul"
	n, weights := floats(x.node(op)), floats(w.node(op))
	i := indexOf(op, index)
	last := len(n.Shape) - 1
	if last < 0 || !slices.Equal(i.Shape, n.Shape[:last]) {
		fail(op, "got x %v and index %v, want one index for each row", n, i)
	}
	if (n.DType == dtype.F64) != (weights.DType == dtype.F64) {
		weights = cast(weights, n.DType)
	}
	y := apply(ir.GroupedMatMul, ir.Attr{}, asRows(n), weights, reshape(i, []int{ir.Size(i.Shape)}))
	return wrap(reshape(y, append(slices.Clone(n.Shape[:last]), y.Shape[1])))
}

// rows applies a row op along an axis: rows run along the last axis, so another one is moved there and back.
func (t Tensor) rows(op ir.Op, axis int) Tensor {
	n := floats(t.node(op.String()))
	a, last := axisOf(op.String(), n, axis), len(n.Shape)-1
	if a == last {
		return wrap(apply(op, ir.Attr{Axis: last}, n))
	}
	moved := wrap(n).SwapAxes(a, last)
	return wrap(apply(op, ir.Attr{Axis: last}, moved.node(op.String()))).SwapAxes(a, last)
}

// Softmax is exp(x)/Σ exp(x) along an axis.
func (t Tensor) Softmax(axis int) Tensor { return t.rows(ir.Softmax, axis) }

// LogSoftmax is the logarithm of Softmax, without its rounding.
func (t Tensor) LogSoftmax(axis int) Tensor { return t.rows(ir.LogSoftmax, axis) }

// LayerNorm is (x − mean)/√(var + eps)·weight + bias along the last axis; weight and bias are [D], or none
// for 1 and 0.
func (t Tensor) LayerNorm(weight, bias Tensor, eps float64) Tensor {
	n := floats(t.node("layer_norm"))
	w, b := rowOperand(n, weight, 1), rowOperand(n, bias, 0)
	if w.DType != b.DType {
		w, b = cast(w, dtype.F32), cast(b, dtype.F32)
	}
	return wrap(apply(ir.LayerNorm, ir.Attr{Float: eps}, n, w, b))
}

// RMSNorm is x/√(mean x² + eps)·weight along the last axis; weight is [D], or none for 1.
func (t Tensor) RMSNorm(weight Tensor, eps float64) Tensor {
	n := floats(t.node("rms_norm"))
	return wrap(apply(ir.RMSNorm, ir.Attr{Float: eps}, n, rowOperand(n, weight, 1)))
}

// rowOperand is the weight or bias of a norm in x's dtype, or a constant where there is none. One of F32
// stays as it is beside narrower rows, which are added up in F32 anyway.
func rowOperand(x *ir.Node, w Tensor, otherwise float64) *ir.Node {
	if !w.IsNone() {
		if n := w.node("norm"); n.DType == dtype.F32 && x.DType.Size() == 2 {
			return n
		}
		return cast(w.node("norm"), x.DType)
	}
	if len(x.Shape) == 0 {
		fail("norm", "got %v, want at least one axis", x)
	}
	return expand(ir.Number(x.Dev, x.DType, otherwise), x.Shape[len(x.Shape)-1:])
}
