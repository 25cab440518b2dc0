package nn

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Linear layer is y = x·Weight + Bias.
type Linear struct {
	Weight tensor.Tensor // [in out]
	Bias   tensor.Tensor // [out], or none
	// Straight says that files have the weight as it is, not turned (GPT-2).
	Straight bool
	standIn
}

// NewLinear returns a linear layer without bias. The weights are uniform in ±1/√in, from the session's
// generator. As all constructors of this package, it panics with a *tensor.Error for lengths below 1.
func NewLinear(in, out int) *Linear {
	positive("nn.NewLinear", length{"in", in}, length{"out", out})
	bound := 1 / math.Sqrt(float64(in))
	return &Linear{Weight: tensor.Rand(in, out).Sub(0.5).Mul(2 * bound).Named("weight").Param()}
}

// NewLinearBias is NewLinear with a bias, which is 0.
func NewLinearBias(in, out int) *Linear {
	positive("nn.NewLinearBias", length{"in", in}, length{"out", out})
	l := NewLinear(in, out)
	l.Bias = tensor.Zeros(out).Named("bias").Param()
	return l
}

// NewLinearNormal returns a linear layer without bias whose weights are normal with a standard deviation, a
// finite number that is not negative.
func NewLinearNormal(random *tensor.RNG, in, out int, deviation float64) *Linear {
	positive("nn.NewLinearNormal", length{"in", in}, length{"out", out})
	notNegative("nn.NewLinearNormal", "deviation", deviation)
	return &Linear{Weight: random.Randn(in, out).Mul(deviation).Named("weight").Param()}
}

// In is the length of the rows that go in.
func (l *Linear) In() int { return l.Weight.Len(0) }

// Out is the length of the rows that come out.
func (l *Linear) Out() int { return l.Weight.Len(1) }

// Forward maps x [… in] to [… out].
func (l *Linear) Forward(x tensor.Tensor) tensor.Tensor {
	if l.layer != nil {
		return l.layer.Forward(x)
	}
	return tensor.Linear(x, l.Weight, l.Bias)
}

// Matrix is what the layer multiplies by, [in out]; ok says whether that is all that it does.
func (l *Linear) Matrix() (w tensor.Tensor, ok bool) {
	return l.Weight, l.layer == nil && l.Bias.IsNone()
}

// Members lists weight and bias.
func (l *Linear) Members() []Member {
	list := []Member{{Name: "weight", Weight: &l.Weight, Turned: !l.Straight}}
	if !l.Bias.IsNone() {
		list = append(list, Member{Name: "bias", Weight: &l.Bias})
	}
	return list
}

// String describes the layer.
func (l *Linear) String() string {
	bias := ""
	if !l.Bias.IsNone() {
		bias = ", bias"
	}
	return fmt.Sprintf("Linear: in %d, out %d%s", l.In(), l.Out(), bias)
}

// An Embedding maps tokens to rows of its weight.
type Embedding struct {
	Weight tensor.Tensor // [vocabulary width]
	standIn
}

// NewEmbedding returns an embedding with normal weights of a standard deviation, a finite number that is not
// negative.
func NewEmbedding(random *tensor.RNG, vocabulary, width int, deviation float64) *Embedding {
	positive("nn.NewEmbedding", length{"vocabulary", vocabulary}, length{"width", width})
	notNegative("nn.NewEmbedding", "deviation", deviation)
	return &Embedding{Weight: random.Randn(vocabulary, width).Mul(deviation).Named("weight").Param()}
}

// Forward maps integers [B T] to [B T width]. One below 0 counts from the end, as in Take: −1 is the last
// row, which padding with −1 would train. Others that are no row fail where the result is computed.
func (e *Embedding) Forward(tokens tensor.Tensor) tensor.Tensor {
	if e.layer != nil {
		return e.layer.Forward(tokens)
	}
	return e.Weight.Take(tokens, 0)
}

// Scores is the opposite of Forward, for models whose output layer is the embedding: x [… width] times the
// transposed weight gives [… vocabulary].
func (e *Embedding) Scores(x tensor.Tensor) tensor.Tensor {
	if s, ok := e.layer.(Scorer); ok {
		return s.Scores(x)
	}
	return tensor.Linear(x, e.Weight.Transpose(), tensor.Tensor{})
}

// Members lists the weight.
func (e *Embedding) Members() []Member { return []Member{{Name: "weight", Weight: &e.Weight}} }

// String describes the layer.
func (e *Embedding) String() string {
	return fmt.Sprintf("Embedding: vocabulary %d, width %d", e.Weight.Len(0), e.Weight.Len(1))
}
