package lora

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Part is what one adapter adds to one layer: scale·(x·A)·B.
type Part struct {
	A tensor.Tensor // [in rank]
	B tensor.Tensor // [rank out]
	// Magnitude [out] is what the columns of the adapted weight are as long as, with DoRA; otherwise none.
	Magnitude tensor.Tensor
	// Bias [out] is added to (x·A)·B, and so times Scale to what the layer computes; none without
	// Config.LoRABias.
	Bias  tensor.Tensor
	Rank  int
	Scale float64
	// Dropout is the probability with which the adapter does not see an element of x, while the layer is in
	// training.
	Dropout float64

	adapter *Adapter // that the part is one of; nil: it was made by Wrap, and is always on
	// startA and startB are what A and B were at first if they began with a piece of the weight, which
	// therefore counts without scale·startA·startB; otherwise none. The weight itself stays as it is.
	startA, startB tensor.Tensor
	// embeds: the layer is an embedding. tied: it is the model's output matrix, too; apart: there it counts
	// as it was.
	embeds, tied, apart bool
	waiting             []*tensor.Tensor // factors that are trained when the part is no longer merged
	tokens              []int            // whose vectors B changes: see tokens.go; nil: the part is not of that kind
	rows                tensor.Tensor    // and their vectors in the weight, [tokens width]
}

// A Linear is a linear layer with adapters.
type Linear struct {
	Base  nn.Layer // an *nn.Linear, or a *quant.Linear whose codes stay as they are
	Parts []*Part  // of each adapter, in the order in which they came

	training bool
	merged   []share       // what the base's weight has of the parts
	before   tensor.Tensor // the base's weight without what is merged into it, or none
	unbiased tensor.Tensor // the base's bias without what is merged into it; none if nothing is
	replaced nn.Layer      // a base in codes while a merged one stands in its place, or nil
	beside   sides
	wholes   []*Adapter // of the model that have no parts, in one of its layers: see keeper
}

// A share is a part with the factor by which it counts.
type share struct {
	*Part
	factor float64 // of (x·A)·B
	byRow  *choice // says which rows have it; nil: all
}

// parts returns weight [in out] and bias of a base; the weight of a quantised one is lazy, in x's dtype. An
// embedding is a linear layer of rows that are 1 at the token and 0 elsewhere, so its weight is [vocabulary
// width].
func parts(base nn.Layer, dt dtype.Type) (weight, bias tensor.Tensor) {
	switch b := base.(type) {
	case *nn.Linear:
		return b.Weight, b.Bias
	case *quant.Linear:
		return b.Weight.Dequantize(dt), b.Bias
	case *nn.Embedding:
		return b.Weight, tensor.Tensor{}
	case *nn.Grouped:
		return b.Weight, tensor.Tensor{}
	case *quant.Grouped:
		return b.Weight.Dequantize(dt), tensor.Tensor{}
	}
	panic(&tensor.Error{Op: "lora.Wrap", Msg: fmt.Sprintf("got %T, want *nn.Linear, *quant.Linear or *nn.Embedding", base)})
}

// Wrap puts an adapter beside a layer, plain or quantised, and freezes the layer. A is uniform in ±1/√in, B
// is 0: at first the layer computes what it did. Wrap panics with a *tensor.Error for numbers that Inject
// refuses.
func Wrap(base nn.Layer, c Config) *Linear {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		panic(&tensor.Error{Op: "lora.Wrap", Msg: err.Error()})
	}
	l := &Linear{Base: base}
	l.Parts = []*Part{newPart(l, c, tensor.NewRNG(c.Seed))}
	nn.Freeze(base)
	l.makeRoom()
	return l
}

// newPart makes a part for a layer, which it leaves as it is.
func newPart(l *Linear, c Config, rng *tensor.RNG) *Part {
	w := l.bare(dtype.F32)
	dt := w.DType()
	if dt.Size() == 2 { // the steps of training would be lost in half precision
		dt = dtype.F32
	}
	a, b, subtract := c.start(l.Base, w, rng)
	p := &Part{
		A:       a.Cast(dt).To(w.Device()).Named("lora_A").Param(),
		B:       b.Cast(dt).To(w.Device()).Named("lora_B").Param(),
		Rank:    c.Rank,
		Scale:   c.Scale(),
		Dropout: c.Dropout,
	}
	if subtract {
		p.startA, p.startB = p.A.Detach().Eval(), p.B.Detach().Eval()
	}
	if c.LoRABias {
		p.Bias = c.startBias(b.Len(1), rng).Cast(dt).To(w.Device()).Named("lora_B_bias").Param()
	}
	if c.DoRA {
		p.Magnitude = p.lengths(w).Eval().Named("lora_magnitude_vector").Param()
	}
	return p
}

// makeRoom lets the layer's weight have the part's B beside it, so that both are one operand of a product.
func (l *Linear) makeRoom() {
	if b, ok := l.Base.(*nn.Linear); ok {
		access.MakeRoom(b.Weight)
	}
}

// name is that of the part's adapter.
func (p *Part) name() string {
	if p.adapter == nil {
		return DefaultName
	}
	return p.adapter.Name()
}

// factors lists A, B and, if there are some, Bias and Magnitude. With several adapters in a layer the names
// tell them apart.
func (p *Part) factors() []nn.Member {
	suffix := ""
	if name := p.name(); name != DefaultName {
		suffix = "." + name
	}
	if p.tokens != nil {
		return []nn.Member{{Name: "lora_tokens" + suffix, Weight: &p.B}}
	}
	return nn.Present([]nn.Member{
		{Name: "lora_A" + suffix, Weight: &p.A}, {Name: "lora_B" + suffix, Weight: &p.B},
		{Name: "lora_B_bias" + suffix, Weight: &p.Bias}, {Name: "lora_magnitude_vector" + suffix, Weight: &p.Magnitude},
	}...)
}

// share is the part as it counts now.
func (p *Part) share() share {
	if p.adapter == nil {
		return share{Part: p, factor: p.Scale}
	}
	return share{Part: p, factor: p.Scale * p.adapter.factor}
}

// on says whether the part counts, unless a context chooses.
func (p *Part) on() bool { return p.adapter == nil || !p.adapter.off }

// delta is what the share adds to the weight w [in out].
func (s share) delta(w tensor.Tensor) tensor.Tensor {
	a, b := s.lowRank()
	low := a.MatMul(b).Mul(s.factor)
	if s.Magnitude.IsNone() {
		return low
	}
	gain := s.gain(w)
	return w.Mul(gain.Sub(1).Mul(s.weight())).Add(low.Mul(gain))
}

// weight is the factor that the adapter counts by.
func (s share) weight() float64 { return s.factor / s.Scale }

// add adds to y what the share makes of seen, which is x or what dropout leaves of it; w is the weight
// without adapters. A product of x and a matrix is what times makes.
func (s share) add(y, x, seen, w tensor.Tensor, times func(x, w tensor.Tensor) tensor.Tensor) tensor.Tensor {
	dt := y.DType()
	through := func(x, a, b tensor.Tensor) tensor.Tensor { return product(times(x, a).Mul(s.factor), b) }
	more := through(seen, s.A, s.B)
	if !s.startA.IsNone() {
		more = more.Sub(through(x, s.startA.To(y.Device()), s.startB.To(y.Device())))
	}
	if !s.Magnitude.IsNone() {
		gain := s.gain(w)
		longer := times(seen, w).Mul(gain.Sub(1).Mul(s.weight()).Cast(dt))
		more = longer.Add(more.Mul(gain.Cast(dt)))
	}
	return y.Add(s.masked(more))
}

// product is x·w in x's dtype, if that is the narrower one.
func product(x, w tensor.Tensor) tensor.Tensor { return tensor.Linear(x, w, tensor.Tensor{}) }

// masked is t [B … n] in the rows that have the adapter, and 0 in the others.
func (s share) masked(t tensor.Tensor) tensor.Tensor {
	if s.byRow == nil {
		return t
	}
	mask := s.byRow.mask(t, column{s.adapter, 1})
	return chosenBy(mask, asRows(t)).Reshape(t.Shape()...)
}

// chosenBy is t where the mask is true and 0 elsewhere.
func chosenBy(mask, t tensor.Tensor) tensor.Tensor { return tensor.Where(mask, t, 0) }

// asRows is t as one matrix.
func asRows(t tensor.Tensor) tensor.Tensor {
	last := t.Len(-1)
	return t.Reshape(t.Size()/max(1, last), last)
}

// In is the length of the rows that go in.
func (l *Linear) In() int { return l.bare(dtype.F32).Len(-2) }

// Out is the length of the rows that come out.
func (l *Linear) Out() int { return l.bare(dtype.F32).Len(-1) }

// SetTraining says whether dropout takes place; package train calls it around training.
func (l *Linear) SetTraining(on bool) { l.training = on }

// Forward computes x·W + Σ scale·(x·A)·B over the adapters that are on. What is merged into W is not computed
// beside it. In training dropout changes what A sees of x, not what W does.
func (l *Linear) Forward(x tensor.Tensor) tensor.Tensor {
	w, bias, beside := l.split(x, x.DType())
	if len(beside) == 0 {
		return tensor.Linear(x, w, bias)
	}
	var y tensor.Tensor
	biased := withBias(beside)
	if list := l.sideBySide(beside); len(list) > 0 {
		y = l.together(x, w, list)
		beside = slices.DeleteFunc(beside, func(s share) bool { return slices.Contains(list, s) })
	} else if first := beside[0]; l.fused(first) {
		a, b := first.lowRank()
		y = tensor.LoRALinear(x, w, a, b, first.factor)
		if !first.Magnitude.IsNone() {
			y = y.Mul(first.gain(w).Cast(y.DType()))
		}
		beside = beside[1:]
	} else {
		y = product(x, w)
	}
	for _, s := range beside {
		seen := x
		if l.drops(s) {
			seen = tensor.Dropout(x, s.Dropout)
		}
		y = s.add(y, x, seen, w, product)
	}
	if !bias.IsNone() {
		y = y.Add(bias.Cast(y.DType()))
	}
	for _, s := range biased {
		y = y.Add(s.biases(y))
	}
	return y
}

// withBias lists the shares that have a bias.
func withBias(list []share) (biased []share) {
	for _, s := range list {
		if !s.Bias.IsNone() {
			biased = append(biased, s)
		}
	}
	return biased
}

// biases is what the share's bias adds to y [B … out].
func (s share) biases(y tensor.Tensor) tensor.Tensor {
	b := s.Bias.Mul(s.factor).Cast(y.DType())
	if s.byRow == nil {
		return b
	}
	mask := s.byRow.mask(y, column{s.adapter, 1})
	return chosenBy(mask, b.Reshape(1, y.Len(-1))).Reshape(y.Shape()...)
}

// fused says whether the weight and the share are one product.
func (l *Linear) fused(s share) bool {
	return s.byRow == nil && !l.drops(s) && (s.Magnitude.IsNone() || s.weight() == 1)
}

func (l *Linear) drops(s share) bool { return l.training && s.Dropout > 0 }

// split returns the weight to multiply by, the bias, and what is computed beside them. The weight is that
// without adapters if others are on than those that are merged, or one needs it (DoRA).
func (l *Linear) split(x tensor.Tensor, dt dtype.Type) (w, bias tensor.Tensor, beside []share) {
	w, bias = parts(l.Base, dt)
	c, _ := scope.Context().Value(choiceKey).(*choice)
	c.check(x)
	on := l.on(c)
	for _, s := range l.merged {
		if !slices.Contains(on, s) {
			return l.bare(dt), l.bareBias(), on
		}
	}
	beside = slices.DeleteFunc(slices.Clone(on), func(s share) bool { return slices.Contains(l.merged, s) })
	if l.Merged() && slices.ContainsFunc(beside, func(s share) bool { return !s.Magnitude.IsNone() }) {
		return l.bare(dt), l.bareBias(), on
	}
	return w, bias, beside
}

// on lists the parts that count, by the choice of a context or, with nil, as the adapters are on.
func (l *Linear) on(c *choice) []share {
	var list []share
	for _, a := range l.wholes {
		c.mayChoose(a)
	}
	for _, p := range l.Parts {
		c.mayChoose(p.adapter)
		switch s := p.share(); {
		case c == nil && p.on():
			list = append(list, s)
		case c != nil && p.adapter != nil && slices.Contains(c.on, p.adapter):
			if c.rows != nil && !c.alike {
				s.byRow = c
			}
			list = append(list, s)
		}
	}
	return list
}

// Members lists the base's weights, which are frozen, then lora_A and lora_B of each adapter. The names of
// those that have a name end in it: lora_A.french.
func (l *Linear) Members() []nn.Member {
	list := l.Base.Members()
	for _, p := range l.Parts {
		list = append(list, p.factors()...)
	}
	return list
}

// Parameters is the number of parameters that the base stores as codes.
func (l *Linear) Parameters() int {
	if b, ok := l.Base.(nn.Counted); ok {
		return b.Parameters()
	}
	return 0
}

// remove takes a part out. What is merged of it stays in the base's weight.
func (l *Linear) remove(p *Part) {
	if p.adapter != nil {
		p.adapter.removed(p)
	}
	l.Parts = slices.DeleteFunc(slices.Clone(l.Parts), func(q *Part) bool { return q == p })
	l.beside.forget()
	l.forget(p)
}

// String says what the layer is and how many of its parameters are trained.
func (l *Linear) String() string {
	if len(l.Parts) == 0 {
		return fmt.Sprint(l.Base)
	}
	trained, adapters := 0, ""
	for _, p := range l.Parts {
		for _, f := range p.factors() {
			trained += f.Weight.Size()
		}
		adapters += ", "
		if len(l.Parts) > 1 || p.name() != DefaultName {
			adapters += p.name() + ": "
		}
		adapters += fmt.Sprintf("rank %d, scale %g", p.Rank, p.Scale)
		if !p.on() {
			adapters += ", off"
		}
	}
	all, _ := nn.Size(l)
	return fmt.Sprintf("in %d, out %d%s · %d trainable of %d (%.2g %%)",
		l.In(), l.Out(), adapters, trained, all, 100*float64(trained)/float64(all))
}
