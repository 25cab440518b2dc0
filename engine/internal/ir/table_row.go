package ir

import (
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

func softmaxRows() []Row {
	return []Row{
		{Op: Softmax, Name: "softmax", Operands: "x", Infer: inferRow, Grad: gradByResult(SoftmaxGrad), Flops: flops(13), Tol: functions,
			Doc: "Softmax is exp(x − max)/Σ exp(x − max) along the last axis. A row that is all -Inf gives NaN."},
		{Op: SoftmaxGrad, Name: "softmax_grad", Operands: "xx", Infer: inferRow, Grad: gradSoftmaxGrad, Flops: flops(4), Tol: summation,
			Doc: "SoftmaxGrad is y·(dy − Σ y·dy) along the last axis, from y = Softmax(x) and dy."},
		{Op: LogSoftmax, Name: "log_softmax", Operands: "x", Infer: inferRow, Grad: gradByResult(LogSoftmaxGrad), Flops: flops(13), Tol: functions,
			Doc: "LogSoftmax is x − max − ln Σ exp(x − max) along the last axis."},
		{Op: LogSoftmaxGrad, Name: "log_softmax_grad", Operands: "xx", Infer: inferRow, Grad: gradLogSoftmaxGrad, Flops: flops(13), Tol: summation,
			Doc: "LogSoftmaxGrad is dy − exp(y)·Σ dy along the last axis, from y = LogSoftmax(x) and dy."},
	}
}

func normRows() []Row {
	return []Row{
		{Op: LayerNorm, Name: "layer_norm", Operands: "xww", Infer: inferRow, Grad: gradLayerNorm, Flops: flops(8), Tol: summation,
			Doc: "LayerNorm is (x − mean)/√(variance + eps)·weight + bias along the last axis, of length D: weight [D], bias [D], eps = Attr.Float; " +
				"the variance is divided by D (Ba, Kiros, Hinton: Layer normalization, 2016). Weight and bias may be f32 beside an x of f16 or bf16."},
		{Op: LayerNormGrad, Name: "layer_norm_grad", Operands: "xwx", Infer: inferNormGrad(true), Grad: composed(composeLayerNormGrad, 0, 1, 2), Flops: flops(16), Tol: reductions,
			Doc: "LayerNormGrad gives dx, dweight and dbias from x, weight and dy: with x̂ the normalised row, r = 1/√(variance + eps) and g = dy·weight, " +
				"dx = r·(g − mean(g) − x̂·mean(g·x̂)), dweight = Σ dy·x̂, dbias = Σ dy."},
		{Op: RMSNorm, Name: "rms_norm", Operands: "xw", Infer: inferRow, Grad: gradRMSNorm, Flops: flops(5), Tol: summation,
			Doc: "RMSNorm is x/√(mean(x²) + eps)·weight along the last axis, of length D: weight [D], eps = Attr.Float " +
				"(Zhang, Sennrich: Root mean square layer normalization, 2019). The weight may be f32 beside an x of f16 or bf16."},
		{Op: RMSNormGrad, Name: "rms_norm_grad", Operands: "xwx", Infer: inferNormGrad(false), Grad: composed(composeRMSNormGrad, 0, 1, 2), Flops: flops(10), Tol: reductions,
			Doc: "RMSNormGrad gives dx and dweight from x, weight and dy: with r = 1/√(mean(x²) + eps), x̂ = x·r and g = dy·weight, " +
				"dx = r·(g − x̂·mean(g·x̂)), dweight = Σ dy·x̂."},
	}
}

func lossRows() []Row {
	return []Row{
		{Op: CrossEntropy, Name: "cross_entropy", Operands: "xn", Infer: all(classes, lossOf(1)), Grad: gradCrossEntropy, Flops: flopsOfSource(12), Tol: functions,
			Doc: "CrossEntropy gives, for logits [N V] and targets i64[N], the loss [N] and the logsumexp [N], in f32 (f64 for f64): " +
				"loss = lse − (1−s)·x[target] − s·mean(x), with the label smoothing s = Attr.Float. " +
				"Where the target is Attr.Index the loss is 0 and so is the gradient. Any other target outside of 0 to V−1 is an error."},
		{Op: CrossEntropyGrad, Name: "cross_entropy_grad", Operands: "xnnn", Infer: all(classes, lossGiven(1), asFirst), Grad: composed(composeCrossEntropyGrad, 0, 2, 3), Flops: flops(12), Tol: functions,
			Doc: "CrossEntropyGrad gives the gradient of the logits from logits, targets, logsumexp and the gradient dloss [N]: " +
				"dloss·(softmax(x) − (1−s)·onehot(target) − s/V), and 0 in rows that are ignored."},
	}
}

// inferRow is for ops that map rows to rows: the first source has rank 1 or more, and all are what Operands
// says.
func inferRow(n *Node) error {
	x := n.Src[0]
	if len(x.Shape) == 0 {
		return got(n, "at least one axis")
	}
	if err := floats(n, x); err != nil {
		return err
	}
	kinds := RowOf(n.Op).Operands
	for i, s := range n.Src {
		switch kinds[i] {
		case 'x':
			if s.DType != x.DType || !slices.Equal(s.Shape, x.Shape) {
				return got(n, "rows of one type")
			}
		case 'w': // of x's dtype, or of the one in which rows are added up: activations may be narrower than what is trained
			first, width := n.Src[strings.IndexByte(kinds, 'w')].DType, x.Shape[len(x.Shape)-1]
			if s.DType != x.DType && s.DType != accumulator(x.DType) || s.DType != first || len(s.Shape) != 1 || s.Shape[0] != width {
				return got(n, "weights of %v[%d]", x.DType, width)
			}
		}
	}
	return as(n, x)
}

// inferNormGrad is for the gradient of a norm with a bias, too, or without.
func inferNormGrad(bias bool) func(n *Node) error {
	return func(n *Node) error {
		if err := inferRow(n); err != nil {
			return err
		}
		x, w := n.Src[0].Type(), n.Src[1].Type()
		if n.tuple(x, w); bias {
			n.Outs = append(n.Outs, w)
		}
		return nil
	}
}

// tuple makes n have several values.
func (n *Node) tuple(outs ...Type) {
	n.DType, n.Shape, n.Outs = dtype.Invalid, nil, outs
}

// classes checks logits [N V] and targets i64[N].
func classes(n *Node) error {
	x, targets := n.Src[0], n.Src[1]
	if len(x.Shape) != 2 || targets.DType != dtype.I64 || !slices.Equal(targets.Shape, x.Shape[:1]) {
		return got(n, "logits [N V] and targets i64[N]")
	}
	return floats(n, x)
}

// lossOf makes n's values the loss and the logsumexp for the targets that are that source.
func lossOf(targets int) func(n *Node) error {
	return func(n *Node) error {
		row := Type{accumulator(n.Src[0].DType), n.Src[targets].Shape}
		n.tuple(row, row)
		return nil
	}
}

// lossGiven checks the logsumexp and the gradient of the loss, which stand behind the targets.
func lossGiven(targets int) func(n *Node) error {
	return func(n *Node) error {
		row := Type{accumulator(n.Src[0].DType), n.Src[targets].Shape}
		for _, s := range n.Src[targets+1:] {
			if s.DType != row.DType || !slices.Equal(s.Shape, row.Shape) {
				return got(n, "logsumexp and dloss of %v%v", row.DType, row.Shape)
			}
		}
		return nil
	}
}
