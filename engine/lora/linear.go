package lora

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Linear is a linear layer with an adapter.
type Linear struct {
	Base  nn.Layer      // an *nn.Linear, or a *quant.Linear whose codes stay as they are
	A     tensor.Tensor // [in rank]
	B     tensor.Tensor // [rank out]
	Rank  int
	Scale float64
	// Dropout is the probability with which the adapter does not see an element of x, while the layer is in
	// training.
	Dropout float64

	adapter  *Adapter // that the layer is one of, or nil
	training bool
	before   tensor.Tensor // the base's weight while the adapter is merged into it, or none
	codes    *quant.Linear // the quantised base while a merged one stands in its place, or nil
}

// parts returns weight [in out] and bias of a base; the weight of a quantised one is lazy, in x's dtype.
func parts(base nn.Layer, dt dtype.Type) (weight, bias tensor.Tensor) {
	switch b := base.(type) {
	case *nn.Linear:
		return b.Weight, b.Bias
	case *quant.Linear:
		return b.Weight.Dequantize(dt), b.Bias
	}
	panic(&tensor.Error{Op: "lora.Wrap", Msg: fmt.Sprintf("got %T, want *nn.Linear or *quant.Linear", base)})
}

// Wrap puts an adapter beside a layer, plain or quantised, and freezes the layer. A is uniform in ±1/√in, B
// is 0: at first the layer computes what it did. Wrap panics with a *tensor.Error for numbers that Inject
// refuses.
func Wrap(base nn.Layer, c Config) *Linear {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		panic(&tensor.Error{Op: "lora.Wrap", Msg: err.Error()})
	}
	l := beside(base, c, tensor.NewRNG(c.Seed))
	nn.Freeze(base)
	return l
}

// beside makes the adapter of a layer, which it leaves as it is.
func beside(base nn.Layer, c Config, rng *tensor.RNG) *Linear {
	w, _ := parts(base, dtype.F32)
	in, out, dt := w.Len(0), w.Len(1), w.DType()
	if dt.Size() == 2 { // the steps of training would be lost in half precision
		dt = dtype.F32
	}
	bound := 1 / math.Sqrt(max(1, float64(in)))
	return &Linear{
		Base:    base,
		A:       rng.Rand(in, c.Rank).Mul(2 * bound).Sub(bound).Cast(dt).To(w.Device()).Named("lora_A").Param(),
		B:       tensor.Zeros(c.Rank, out).Cast(dt).To(w.Device()).Named("lora_B").Param(),
		Rank:    c.Rank,
		Scale:   c.Scale(),
		Dropout: c.Dropout,
	}
}

// In is the length of the rows that go in.
func (l *Linear) In() int { return l.A.Len(0) }

// Out is the length of the rows that come out.
func (l *Linear) Out() int { return l.B.Len(1) }

// SetTraining says whether dropout takes place; package train calls it around training.
func (l *Linear) SetTraining(on bool) { l.training = on }

// Forward computes x·W + scale·(x·A)·B, or x·W alone while the adapter is merged into W. In training dropout
// changes what A sees of x, not what W does.
func (l *Linear) Forward(x tensor.Tensor) tensor.Tensor {
	if l.Merged() {
		return l.Base.Forward(x)
	}
	w, bias := parts(l.Base, x.DType())
	var y tensor.Tensor
	if l.training && l.Dropout > 0 {
		seen := tensor.Dropout(x, l.Dropout)
		dt := seen.DType()
		down := seen.MatMul(l.A.Cast(dt)).Mul(l.Scale)
		y = x.MatMul(w.Cast(dt)).Add(down.MatMul(l.B.Cast(dt)))
	} else {
		y = tensor.LoRALinear(x, w, l.A, l.B, l.Scale)
	}
	if !bias.IsNone() {
		y = y.Add(bias)
	}
	return y
}

// Members lists the base's weights, which are frozen, then lora_A and lora_B.
func (l *Linear) Members() []nn.Member { return append(l.Base.Members(), l.factors()...) }

func (l *Linear) factors() []nn.Member {
	return []nn.Member{{Name: "lora_A", Weight: &l.A}, {Name: "lora_B", Weight: &l.B}}
}

// Parameters is the number of parameters that the base stores as codes.
func (l *Linear) Parameters() int {
	if b, ok := l.Base.(*quant.Linear); ok {
		return b.Parameters()
	}
	return 0
}

// Merged says whether the adapter is part of the base's weight now.
func (l *Linear) Merged() bool { return !l.before.IsNone() || l.codes != nil }

// Merge adds scale·A·B to the base's weight. It keeps the weight as it was for Unmerge, which costs as much
// memory again. A plain base in f32 stands in for a quantised one until Unmerge, because the sum would not
// fit the codes; then the codes are kept.
func (l *Linear) Merge() {
	if l.Merged() {
		return
	}
	w, bias := parts(l.Base, dtype.F32)
	sum := w.Add(l.A.MatMul(l.B).Mul(l.Scale)).Cast(w.DType()).Detach()
	if b, ok := l.Base.(*quant.Linear); ok {
		l.codes = b
		l.Base = &nn.Linear{Weight: sum.Eval().Named("weight"), Bias: bias}
		return
	}
	l.before = w.Snapshot()
	w.Set(sum)
}

// Unmerge puts the base's weight back, bit for bit.
func (l *Linear) Unmerge() {
	switch {
	case l.codes != nil:
		l.Base, l.codes = l.codes, nil
	case l.Merged():
		w, _ := parts(l.Base, dtype.F32)
		w.Set(l.before)
		l.before = tensor.Tensor{}
	}
}

// String says what the layer is and how many of its parameters are trained.
func (l *Linear) String() string {
	trained := l.A.Size() + l.B.Size()
	all, _ := nn.Size(l)
	return fmt.Sprintf("in %d, out %d, rank %d, scale %g · %d trainable of %d (%.2g %%)",
		l.In(), l.Out(), l.Rank, l.Scale, trained, all, 100*float64(trained)/float64(all))
}
