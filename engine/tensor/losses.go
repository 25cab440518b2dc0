package tensor

import "github.com/mcs-notebook/mcs/engine/dtype"

// The losses here are means over all elements; CrossEntropy is in linear.go, because it is one op.

// MeanSquares is the mean of (x − y)². Integers are subtracted as i64, in which narrow ones do not wrap
// around.
func MeanSquares(x, y Tensor) Tensor {
	if x.DType().Int() && y.DType().Int() {
		x, y = x.Cast(dtype.I64), y.Cast(dtype.I64)
	}
	return wrap(floats(x.Sub(y).node("sub"))).squares().Mean()
}

// BinaryCrossEntropy is the mean of −y·ln p − (1 − y)·ln(1 − p), where p = sigmoid(logits), without its
// rounding.
func BinaryCrossEntropy(logits, y Tensor) Tensor {
	x := wrap(floats(logits.node("binary_cross_entropy")))
	return x.Softplus().Sub(x.Mul(y)).Mean()
}

// KLDivergence is the mean over rows of Σ p·(ln p − ln q) along the last axis, p = softmax(target) and q =
// softmax(logits): what a model whose logits are q's has to learn to be one whose logits are p's.
func KLDivergence(logits, target Tensor) Tensor {
	p := target.LogSoftmax(-1)
	return p.Exp().Mul(p.Sub(logits.LogSoftmax(-1))).Sum(-1).Mean()
}

// CosineSimilarity is x·y/(|x|·|y|) along an axis; 0 where either is 0.
func CosineSimilarity(x, y Tensor, axis int) Tensor {
	p, q := pair("cosine_similarity", x, y)
	x, y = wrap(floats(p)), wrap(floats(q))
	size := x.Norm(axis).Mul(y.Norm(axis))
	return Where(size.Eq(0), 0, x.VecDot(y, axis).Div(Where(size.Eq(0), 1, size)))
}
