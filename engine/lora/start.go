package lora

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/linalg"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// The values of Config.Init. PiSSA takes about a second for a matrix of 896 by 896; "pissa_niter_16", which
// finds the singular values by 16 iterations, a tenth of that.
const (
	Uniform    = ""           // A uniform in ±1/√in, B 0: the layer computes what it did
	Gaussian   = "gaussian"   // A normal with deviation 1/rank, B 0
	Random     = "random"     // A and B uniform: the layer computes something else at once
	Orthogonal = "orthogonal" // the columns of A at right angles to the rows of B; the rank is even
	PiSSA      = "pissa"      // the largest singular values of the weight (Meng et al. 2024)
	OLoRA      = "olora"      // the first columns of the weight's QR decomposition (Büyükakyüz 2024)
)

// checkInit says what is wrong with the kind of start.
func (c Config) checkInit() error {
	switch c.Init {
	case Uniform, Gaussian, Random, PiSSA, OLoRA:
		return nil
	case Orthogonal:
		if c.Rank%2 != 0 {
			return fmt.Errorf("got rank %d, want an even one for Init %q", c.Rank, c.Init)
		}
		return nil
	}
	if n, ok := iterations(c.Init); ok && n >= 0 {
		return nil
	}
	return fmt.Errorf("got Init %q, want %q, %q, %q, %q, %q or %q", c.Init, Gaussian, Random, Orthogonal, PiSSA, PiSSA+"_niter_16", OLoRA)
}

func iterations(init string) (n int, ok bool) {
	text, ok := strings.CutPrefix(init, PiSSA+"_niter_")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// start returns the first values of A [… in rank] and B [… rank out] beside w [… in out]. If subtract, the
// layer computes scale·A·B less than its weight: the adapter begins with a part of the weight. Beside an
// embedding A is 0 and B normal, as PEFT has it.
func (c Config) start(base nn.Layer, w tensor.Tensor, rng *tensor.RNG) (a, b tensor.Tensor, subtract bool) {
	in, out := w.Len(-2), w.Len(-1)
	if _, ok := base.(*nn.Embedding); ok {
		a = tensor.Zeros(in, c.Rank)
		if c.Init == Random {
			a = rng.Randn(in, c.Rank)
		}
		return a, rng.Randn(c.Rank, out), false
	}
	groups := w.Shape()[:w.Rank()-2] // of experts, which have one matrix of all in PEFT
	shape := func(rows, columns int) []int { return append(slices.Clone(groups), rows, columns) }
	uniform := func(inputs, rows, columns int) tensor.Tensor {
		bound := 1 / math.Sqrt(max(1, float64(inputs)))
		return rng.Rand(shape(rows, columns)...).Mul(2 * bound).Sub(bound)
	}
	none := tensor.Zeros(shape(c.Rank, out)...)
	switch c.Init {
	case Uniform:
		return uniform(in, in, c.Rank), none, false
	case Gaussian:
		return rng.Randn(shape(in, c.Rank)...).Mul(1 / float64(c.Rank)), none, false
	case Random:
		return uniform(in, in, c.Rank), uniform(c.Rank*w.Size()/(in*out), c.Rank, out), false
	case Orthogonal:
		turned, _ := linalg.QR(rng.Randn(c.Rank, c.Rank))
		half := c.Rank / 2
		odd, even := turned.SliceStep(0, 0, c.Rank, 2), turned.SliceStep(0, 1, c.Rank, 2)
		return rng.Randn(in, half).MatMul(odd).Mul(0.1), even.Transpose().MatMul(rng.Randn(half, out)).Mul(0.1), false
	}
	if w = exact(w); c.Init == OLoRA {
		q, r := linalg.QR(w.Transpose()) // [out k] and [k in], of which the first columns and rows are taken
		rank := min(c.Rank, q.Len(1))
		a, b = r.Slice(0, 0, rank).Transpose(), q.Slice(1, 0, rank).Transpose()
	} else {
		a, b = c.principal(w)
	}
	tensor.Eval(a, b)            // together: what they share is computed once
	a, b = widened(a, b, c.Rank) // the weight may have no more
	return a, b, true
}

// startBias returns the first values of the bias of B, as PEFT has them: 0, or uniform in ±1/√rank.
func (c Config) startBias(out int, rng *tensor.RNG) tensor.Tensor {
	if c.Init != Random {
		return tensor.Zeros(out)
	}
	bound := 1 / math.Sqrt(float64(c.Rank))
	return rng.Rand(out).Mul(2 * bound).Sub(bound)
}

// principal returns A and B whose scale·A·B is the part of w that its largest singular values make.
func (c Config) principal(w tensor.Tensor) (a, b tensor.Tensor) {
	var u, s, v tensor.Tensor
	if n, ok := iterations(c.Init); ok {
		u, s, v = iterated(w, c.Rank, max(1, n))
	} else {
		u, s, v = top(w, c.Rank)
	}
	root := s.Div(c.Scale()).Sqrt()
	return u.Mul(root), root.Unsqueeze(1).Mul(v)
}
