package lora

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/linalg"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// The values of Combination.Method, which are PEFT's combination types. All but SVD and Concatenate combine
// the A of the adapters, and the B of the adapters, which is quick and not what the sum of the adapters is:
// (A₁ + A₂)·(B₁ + B₂). With ByProduct behind them they combine the products A·B, of which as much is kept as
// the new rank holds.
const (
	SVD         = "svd"             // the largest singular values of the weighted sum of the products
	Concatenate = "cat"             // exactly the weighted sum, of the sum of the ranks
	Average     = "linear"          // the weighted sum
	TIES        = "ties"            // the largest numbers of each, averaged where they agree on the sign (Yadav et al. 2023)
	DARE        = "dare_linear"     // the weighted sum of random numbers of each, enlarged by 1/Density (Yu et al. 2023)
	DARETIES    = "dare_ties"       // random numbers of each, averaged where they agree on the sign
	Prune       = "magnitude_prune" // the weighted sum of the largest numbers of each
	ByProduct   = "_svd"            // TIES+ByProduct, for example
)

// A Combination says how adapters become one.
type Combination struct {
	Name     string // of the new adapter; empty: the names of the others, joined by +
	Adapters []*Adapter
	Weights  []float64 // of the adapters, beside what Weigh says; empty: all 1
	Method   string    // empty means SVD
	Rank     int       // where products are combined; 0: the largest of the adapters' ranks
	// Density is the share of each adapter's numbers that is kept, above 0 and at most 1: TIES, DARE,
	// DARETIES and Prune want one.
	Density float64
	// ByCount lets the sign win that more adapters have; otherwise that whose numbers have the larger sum.
	ByCount bool
	Seed    uint64 // of what DARE and DARETIES keep
}

// Combine makes an adapter of others of the model, which stay as they are; as with [Inject] it takes their
// turn. Its scale is 1. A layer that only some of them have gets what these add. Adapters with DoRA cannot be
// combined, because what they add depends on the weight.
func Combine(m nn.Module, c Combination) (*Adapter, error) {
	c.Method = cmp.Or(c.Method, SVD)
	rank, err := c.check(m)
	if err != nil {
		return nil, fmt.Errorf("lora: combine: %w", err)
	}
	if c.Name == "" {
		var names []string
		for _, a := range c.Adapters {
			names = append(names, a.Name())
		}
		c.Name = strings.Join(names, "+")
	}
	var names []string
	at := map[string][]term{} // of each layer
	for _, s := range linears(m) {
		l := adapted(s.Layer())
		if l == nil {
			continue
		}
		for i, a := range c.Adapters {
			for _, p := range l.Parts {
				if p.adapter != a {
					continue
				}
				t := term{scale: p.share().factor, weight: 1}
				t.a, t.b = p.lowRank()
				if c.Weights != nil {
					t.weight = c.Weights[i]
				}
				at[s.name] = append(at[s.name], t)
			}
		}
		if len(at[s.name]) > 0 {
			names = append(names, s.name)
		}
	}
	config := Config{Name: c.Name, Rank: rank, Alpha: float64(rank), Targets: strings.Join(names, " "), OnlyInput: c.Adapters[0].Config.OnlyInput}
	return injectChosen(m, config, func(ad *Adapter) {
		keep := c.keep()
		for i, p := range ad.parts {
			a, b := c.combine(at[ad.names[i]], rank, keep)
			p.A.Set(a.Cast(p.A.DType()).To(p.A.Device()))
			p.B.Set(b.Cast(p.B.DType()).To(p.B.Device()))
		}
	})
}

// check says what is wrong with a combination for a model; it returns the new rank.
func (c Combination) check(m nn.Module) (rank int, err error) {
	if len(c.Adapters) == 0 {
		return 0, fmt.Errorf("got no adapters, want those that become one")
	}
	if c.Weights != nil && len(c.Weights) != len(c.Adapters) {
		return 0, fmt.Errorf("got %d weights for %d adapters", len(c.Weights), len(c.Adapters))
	}
	for _, w := range c.Weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return 0, fmt.Errorf("got weight %v, want a finite number", w)
		}
	}
	method, byProduct := strings.CutSuffix(c.Method, ByProduct)
	switch method {
	case SVD, Concatenate, Average:
		if byProduct {
			return 0, fmt.Errorf("got method %q, want %q", c.Method, SVD)
		}
		byProduct = method == SVD
	case TIES, DARE, DARETIES, Prune:
		if !(c.Density > 0 && c.Density <= 1) {
			return 0, fmt.Errorf("got density %v for %q, want a share above 0, at most 1", c.Density, c.Method)
		}
	default:
		return 0, fmt.Errorf("got method %q, want %q, %q, %q, or %q, %q, %q, %q, which may end in %q",
			c.Method, SVD, Concatenate, Average, TIES, DARE, DARETIES, Prune, ByProduct)
	}
	list := Of(m)
	ranks := make([]int, len(c.Adapters))
	for i, a := range c.Adapters {
		switch {
		case a == nil || !slices.Contains(list, a):
			return 0, fmt.Errorf("got adapter %d that is not in the model", i)
		case a.hasGrouped():
			return 0, fmt.Errorf("%q adapts experts, which are not combined", a.Name())
		case slices.Contains(c.Adapters[:i], a):
			return 0, fmt.Errorf("got adapter %q twice", a.Name())
		}
		if a.Config.OnlyInput != c.Adapters[0].Config.OnlyInput {
			return 0, fmt.Errorf("adapter %q adapts embeddings in another way than %q (OnlyInput)", a.Name(), c.Adapters[0].Name())
		}
		if len(a.wholes) > 0 || len(a.Config.Tokens) > 0 {
			return 0, fmt.Errorf("adapter %q trains weights or tokens whole, which have no products", a.Name())
		}
		for j, p := range a.parts {
			if !p.Bias.IsNone() {
				return 0, fmt.Errorf("%s: adapter %q has a bias of B (LoRABias), which is no product", a.names[j], a.Name())
			}
			if !p.Magnitude.IsNone() {
				return 0, fmt.Errorf("%s: adapter %q has DoRA, whose part depends on the weight", a.names[j], a.Name())
			}
			low, _ := p.lowRank()
			ranks[i] = max(ranks[i], low.Len(1))
		}
	}
	switch {
	case c.Rank < 0 || c.Rank > 0 && !byProduct:
		return 0, fmt.Errorf("got rank %d for %q, want 0: only what combines products has a rank of its own", c.Rank, c.Method)
	case byProduct && c.Rank > 0:
		return c.Rank, nil
	case c.Method == Concatenate:
		for _, r := range ranks {
			rank += r
		}
		return rank, nil
	case !byProduct && slices.Min(ranks) != slices.Max(ranks):
		return 0, fmt.Errorf("got ranks %v for %q, want equal ones: %q, %q and what ends in %q take any", ranks, c.Method, SVD, Concatenate, ByProduct)
	}
	return slices.Max(ranks), nil
}

// A term is what one adapter gives to one layer, weight·scale·a·b.
type term struct {
	a, b          tensor.Tensor
	scale, weight float64
}

// combine returns A [in rank] and B [rank out] of one layer. Keep says which of n numbers DARE keeps.
func (c Combination) combine(list []term, rank int, keep func(n int) []bool) (a, b tensor.Tensor) {
	method, byProduct := strings.CutSuffix(c.Method, ByProduct)
	var as, bs, products []tensor.Tensor
	var weights, ofA, ofB []float64
	widest := 0
	for _, t := range list {
		widest = max(widest, t.a.Len(1))
	}
	for _, t := range list {
		home := list[0].a.Device() // one of them may wait elsewhere
		t.a, t.b = t.a.Detach().To(home), t.b.Detach().To(home)
		weights = append(weights, t.weight)
		root := math.Sqrt(math.Abs(t.weight * t.scale))
		switch {
		case c.Method == SVD || c.Method == Concatenate:
			t.a = t.a.Mul(t.weight * t.scale)
		case byProduct:
			products = append(products, t.a.MatMul(t.b).Mul(t.scale))
		default: // a pattern may have given them unlike ranks
			t.a, t.b = widened(t.a, t.b, widest)
		}
		as, bs = append(as, t.a), append(bs, t.b)
		ofA, ofB = append(ofA, math.Copysign(root, t.weight*t.scale)), append(ofB, root)
	}
	switch {
	case c.Method == Concatenate:
		a, b = tensor.Concat(as, 1), tensor.Concat(bs, 0)
	case c.Method == SVD:
		a, b = shortened(tensor.Concat(as, 1), tensor.Concat(bs, 0), rank)
	case byProduct:
		a, b = halves(top(c.sum(method, products, weights, keep), rank))
	default:
		a, b = c.sum(method, as, ofA, keep), c.sum(method, bs, ofB, keep)
	}
	a, b = widened(a, b, rank)
	tensor.Eval(a, b) // together: what they share is computed once
	return a, b
}

// sum combines tensors of one shape by a method.
func (c Combination) sum(method string, list []tensor.Tensor, weights []float64, keep func(n int) []bool) tensor.Tensor {
	values := make([][]float64, len(list))
	for i, t := range list {
		values[i] = t.Float64s()
		switch method {
		case TIES, Prune:
			keepLargest(values[i], c.Density)
		case DARE, DARETIES:
			keepSome(values[i], c.Density, keep)
		}
	}
	out := make([]float64, len(values[0]))
	for i := range out {
		if method == TIES || method == DARETIES {
			out[i] = c.agreed(values, weights, i)
			continue
		}
		for j, v := range values {
			out[i] += weights[j] * v[i]
		}
	}
	return numbers(list[0], out, list[0].Shape()...)
}

// agreed is the weighted mean of those of the numbers at i that have the sign of the majority.
func (c Combination) agreed(values [][]float64, weights []float64, i int) float64 {
	majority := 0.0
	for _, v := range values {
		if c.ByCount {
			majority += sign(v[i])
		} else {
			majority += v[i]
		}
	}
	wanted := 1.0
	if majority < 0 {
		wanted = -1
	}
	sum, count := 0.0, 0.0
	for j, v := range values {
		if sign(v[i]) == wanted {
			sum, count = sum+weights[j]*v[i], count+1
		}
	}
	return sum / max(1, count)
}

func sign(x float64) float64 {
	if x == 0 {
		return 0
	}
	return math.Copysign(1, x)
}

// keepLargest sets all but the largest numbers to 0, whose share is density.
func keepLargest(values []float64, density float64) {
	if density >= 1 {
		return
	}
	sizes := make([]float64, len(values))
	for i, v := range values {
		sizes[i] = math.Abs(v)
	}
	slices.Sort(sizes)
	k := int(density * float64(len(values)))
	least := math.Inf(1)
	if k > 0 {
		least = sizes[len(sizes)-k]
	}
	larger, _ := slices.BinarySearch(sizes, math.Nextafter(least, math.Inf(1)))
	equal := k - (len(sizes) - larger) // how many of exactly that size
	for i, v := range values {
		switch size := math.Abs(v); {
		case size == least && equal > 0:
			equal--
		case !(size > least):
			values[i] = 0
		}
	}
}

// keepSome sets all but some numbers to 0 and divides these by density, so that the mean stays.
func keepSome(values []float64, density float64, keep func(n int) []bool) {
	if density >= 1 {
		return
	}
	for i, kept := range keep(len(values)) {
		if kept {
			values[i] /= density
		} else {
			values[i] = 0
		}
	}
}

// keep returns what chooses each of n numbers with the probability Density.
func (c Combination) keep() func(n int) []bool {
	rng := tensor.NewRNG(c.Seed)
	return func(n int) []bool {
		list := make([]bool, n)
		for i, x := range rng.Rand(n).Floats() {
			list[i] = float64(x) < c.Density
		}
		return list
	}
}

// shortened returns a' [m rank] and b' [rank n] whose product is that part of a·b [m n] that its largest
// singular values make. The product is not made: with a = Q·R and bᵀ = P·T it is Q·(R·Tᵀ)·Pᵀ, and what is
// between Q and Pᵀ is small.
func shortened(a, b tensor.Tensor, rank int) (tensor.Tensor, tensor.Tensor) {
	a, b = exact(a), exact(b)
	if a.Len(1) >= min(a.Len(0), b.Len(1)) {
		return halves(top(a.MatMul(b), rank))
	}
	q, r := linalg.QR(a)
	p, t := linalg.QR(b.Transpose())
	u, s, v := top(r.MatMul(t.Transpose()), rank)
	return halves(q.MatMul(u), s, v.MatMul(p.Transpose()))
}

// halves returns u [m k] and diag(s)·v [k n], as PEFT divides singular values.
func halves(u, s, v tensor.Tensor) (a, b tensor.Tensor) { return u, s.Unsqueeze(1).Mul(v) }

// numbers is a tensor on the device of another one, in f64 if that is in f64, else in f32: a device need not
// compute in f64.
func numbers(like tensor.Tensor, list []float64, shape ...int) tensor.Tensor {
	if like.DType() == dtype.F64 {
		return tensor.From(list, shape...).To(like.Device())
	}
	short := make([]float32, len(list))
	for i, x := range list {
		short[i] = float32(x)
	}
	return tensor.From(short, shape...).To(like.Device())
}

// widened gives a [m k] and b [k n] zeros up to a rank.
func widened(a, b tensor.Tensor, rank int) (tensor.Tensor, tensor.Tensor) {
	more := rank - a.Len(1)
	return a.Pad(1, 0, more, 0), b.Pad(0, 0, more, 0)
}
