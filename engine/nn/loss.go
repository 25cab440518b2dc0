package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Loss says how far a model's outputs are from the targets: one number, the mean over the elements or rows.
type Loss func(outputs, targets tensor.Tensor) tensor.Tensor

// same panics unless outputs and targets have one shape: broadcasting [B 1] to [B B] is a known trap.
func same(op string, outputs, targets tensor.Tensor) {
	if !slices.Equal(outputs.Shape(), targets.Shape()) {
		panic(&tensor.Error{Op: op, Msg: fmt.Sprintf("got outputs %v%v and targets %v%v, want equal shapes",
			outputs.DType(), outputs.Shape(), targets.DType(), targets.Shape())})
	}
}

// apart is |output − target|. Integers are subtracted as i64, in which narrow ones do not wrap around.
func apart(outputs, targets tensor.Tensor) tensor.Tensor {
	if outputs.DType().Int() && targets.DType().Int() {
		outputs, targets = outputs.Cast(dtype.I64), targets.Cast(dtype.I64)
	}
	return outputs.Sub(targets).Abs()
}

// MSELoss is the mean of (output − target)², for outputs and targets of one shape.
func MSELoss(outputs, targets tensor.Tensor) tensor.Tensor {
	same("nn.MSELoss", outputs, targets)
	return tensor.MeanSquares(outputs, targets)
}

// L1Loss is the mean of |output − target|, for outputs and targets of one shape.
func L1Loss(outputs, targets tensor.Tensor) tensor.Tensor {
	same("nn.L1Loss", outputs, targets)
	return apart(outputs, targets).Mean()
}

// HuberLoss is the mean of d²/2 where d = |output − target| is at most delta, and of delta·(d − delta/2)
// elsewhere (Huber 1964). Delta is a positive number.
func HuberLoss(delta float64) Loss {
	if !(delta > 0) || math.IsInf(delta, 0) {
		panic(&tensor.Error{Op: "nn.HuberLoss", Msg: fmt.Sprintf("got delta %v, want a finite number above 0", delta)})
	}
	return func(outputs, targets tensor.Tensor) tensor.Tensor {
		same("nn.HuberLoss", outputs, targets)
		d := apart(outputs, targets)
		return tensor.Where(d.Le(delta), d.Square().Mul(0.5), d.Sub(delta/2).Mul(delta)).Mean()
	}
}

// CrossEntropyLoss is the mean of −log softmax(logits)[target]: logits [… V], targets [… ] of integers.
// Targets of −100 do not count. See [tensor.CrossEntropy] for label smoothing.
func CrossEntropyLoss(logits, targets tensor.Tensor) tensor.Tensor {
	return tensor.CrossEntropy(logits, targets, tensor.CrossEntropyOptions{})
}

// BCEWithLogitsLoss is the binary cross-entropy of sigmoid(logits), for logits and targets, from 0 to 1, of
// one shape.
func BCEWithLogitsLoss(logits, targets tensor.Tensor) tensor.Tensor {
	same("nn.BCEWithLogitsLoss", logits, targets)
	return tensor.BinaryCrossEntropy(logits, targets)
}

// Accuracy is the share of rows whose largest logit is the target's: logits [… V], targets [… ] of integers.
// Targets of −100 do not count; if no row counts it is NaN. It has the form of a [Loss], so that what takes a
// loss can measure it, but it has no gradient.
func Accuracy(logits, targets tensor.Tensor) tensor.Tensor {
	shape := logits.Shape()
	if len(shape) == 0 || !slices.Equal(shape[:len(shape)-1], targets.Shape()) || !targets.DType().Int() {
		panic(&tensor.Error{Op: "nn.Accuracy", Msg: fmt.Sprintf("got logits %v%v and targets %v%v, want [… V] and integers [… ]",
			logits.DType(), shape, targets.DType(), targets.Shape())})
	}
	counts := targets.Cast(dtype.I64).Ne(-100)
	right := logits.ArgMax(-1).Eq(targets.Cast(dtype.I64)).And(counts)
	return right.Cast(dtype.F32).Sum().Div(counts.Cast(dtype.F32).Sum())
}
