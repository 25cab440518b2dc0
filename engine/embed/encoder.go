package embed

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Block is one layer of an encoder: n(x + attention(x)), then n(x + mlp(x)), or with Before x +
// attention(n(x)), then x + mlp(n(x)). Its layers have the names of the family's checkpoints.
type Block struct {
	Attn     *nn.Attention
	AttnNorm *nn.LayerNorm // nil: none, in the first block of ModernBERT
	MLP      *nn.MLP
	MLPNorm  *nn.LayerNorm
	Before   bool
	family   family
}

// Forward maps x [B T width] at positions i64 [T]; mask is that of [nn.Attention.Both].
func (b *Block) Forward(x, positions, mask tensor.Tensor) tensor.Tensor {
	if !b.Before {
		x = b.AttnNorm.Forward(x.Add(b.Attn.Both(x, positions, mask)))
		return b.MLPNorm.Forward(x.Add(b.MLP.Forward(x)))
	}
	in := x
	if b.AttnNorm != nil {
		in = b.AttnNorm.Forward(x)
	}
	x = x.Add(b.Attn.Both(in, positions, mask))
	return x.Add(b.MLP.Forward(b.MLPNorm.Forward(x)))
}

// Members lists attention and feed-forward layer, each with its norm.
func (b *Block) Members() []nn.Member {
	f := b.family
	return nn.Present([]nn.Member{
		{Name: f.q, Slot: &b.Attn.Q}, {Name: f.k, Slot: &b.Attn.K}, {Name: f.v, Slot: &b.Attn.V}, {Name: f.qkv, Slot: &b.Attn.QKV}, {Name: f.out, Slot: &b.Attn.O},
		{Name: f.gate, Slot: &b.MLP.Gate}, {Name: f.up, Slot: &b.MLP.Up}, {Name: f.gateUp, Slot: &b.MLP.GateUp}, {Name: f.down, Slot: &b.MLP.Down},
		{Name: f.seen, Part: b.AttnNorm}, {Name: f.after, Part: b.MLPNorm},
	}...)
}

// An Encoder is the body of BERT and its relatives: every token sees all others.
type Encoder struct {
	Config    Config
	Words     *nn.Embedding
	Positions *nn.Embedding // nil: they are rotary
	Types     *nn.Embedding // of kinds of text; nil: none
	Norm      *nn.LayerNorm
	Blocks    []*Block
	Last      *nn.LayerNorm // after all blocks; nil: none
	// Distances are added to the scores of each head by how far the tokens are apart, [32 heads]; nil: none.
	Distances *nn.Embedding
}

// Width is the length of a token's vector.
func (e *Encoder) Width() int { return e.Config.Width }

// Vocab is the number of tokens.
func (e *Encoder) Vocab() int { return e.Config.Vocab }

// Room is the number of tokens of the longest text.
func (e *Encoder) Room() int { return e.Config.Positions - e.Config.first() }

// Vectors maps tokens, integers [B T], to [B T width]. Seen is a bool [B T] that is false for padding; the
// zero Tensor: there is none. More tokens than there are positions panic with a *tensor.Error.
func (e *Encoder) Vectors(ids, seen tensor.Tensor) tensor.Tensor {
	return e.ofKinds(ids, tensor.Tensor{}, seen)
}

// ofKinds is Vectors of tokens of these kinds of text, integers [B T]; the zero Tensor: all are of the first.
func (e *Encoder) ofKinds(ids, kinds, seen tensor.Tensor) tensor.Tensor {
	if ids.Rank() != 2 {
		panic(&tensor.Error{Op: "embed", Msg: fmt.Sprintf("got tokens %v%v, want [batch time]: ids.Unsqueeze(0) is a batch of one text", ids.DType(), ids.Shape())})
	}
	t := ids.Len(1)
	if t > e.Room() {
		panic(&tensor.Error{Op: "embed", Msg: fmt.Sprintf("got texts of %d tokens, want at most %d", t, e.Room())})
	}
	width := e.Norm.Weight.DType()
	first := e.Config.first()
	x := e.Words.Forward(ids).Cast(width)
	switch {
	case e.Types != nil && kinds.IsNone():
		x = x.Add(e.Types.Weight.Slice(0, 0, 1).Cast(width))
	case e.Types != nil:
		x = x.Add(e.Types.Forward(kinds).Cast(width))
	}
	if e.Positions != nil {
		x = x.Add(e.Positions.Weight.Slice(0, first, first+t).Cast(width))
	}
	x = e.Norm.Forward(x)
	mask, positions := e.mask(t, seen), tensor.Range(t).To(ids.Device())
	for _, b := range e.Blocks {
		x = b.Forward(x, positions, mask)
	}
	if e.Last != nil {
		x = e.Last.Forward(x)
	}
	return x
}

// mask says what a token sees of so many: what is no padding, and with Distances how much more or less.
func (e *Encoder) mask(tokens int, seen tensor.Tensor) tensor.Tensor {
	if !seen.IsNone() {
		seen = seen.Unsqueeze(1).Unsqueeze(1) // [B 1 1 T]
	}
	if e.Distances == nil {
		return seen
	}
	apart := tensor.From(distances(tokens), tokens, tokens).To(e.Distances.Weight.Device())
	more := e.Distances.Forward(apart).Cast(dtype.F32).Permute(2, 0, 1).Unsqueeze(0) // [1 heads T T]
	if seen.IsNone() {
		return more
	}
	return tensor.Where(seen, more, math.Inf(-1))
}

// distances says for each query and key which of the 32 kinds of distance they have (Raffel et al. 2020):
// those up to 7 are a kind each, those up to 127 share the rest by their logarithm, before the query and
// after it.
func distances(tokens int) []int64 {
	const exact, half, farthest = 8, 16, 128
	list := make([]int64, 0, tokens*tokens)
	for q := range tokens {
		for k := range tokens {
			kind, n := 0, q-k
			if n < 0 {
				kind, n = half, -n
			}
			if n >= exact { // in f32, as the weights were trained
				far := float32(math.Log(float64(float32(n)/exact))) / float32(math.Log(float64(farthest)/exact)) * (half - exact)
				n = min(exact+int(far), half-1)
			}
			list = append(list, int64(kind+n))
		}
	}
	return list
}

// Members lists tables and blocks.
func (e *Encoder) Members() []nn.Member {
	f := families()[e.Config.Family]
	list := []nn.Member{
		{Name: f.words, Part: e.Words}, {Name: "embeddings.position_embeddings", Part: e.Positions},
		{Name: "embeddings.token_type_embeddings", Part: e.Types}, {Name: f.norm, Part: e.Norm},
	}
	for i, b := range e.Blocks {
		name := fmt.Sprintf(b.family.layer, i)
		list = append(list, nn.Member{Name: name[:len(name)-1], Part: b})
	}
	return nn.Present(append(list, nn.Member{Name: "encoder.relative_attention_bias", Part: e.Distances}, nn.Member{Name: f.last, Part: e.Last})...)
}

// String says the family and the lengths.
func (e *Encoder) String() string {
	c := e.Config
	return fmt.Sprintf("%s encoder: %d layers × %d, %d heads, texts of %d tokens", c.Family, c.Layers, c.Width, c.Heads, e.Room())
}

// build makes the encoder of a Config that was checked. Its weights begin as random numbers, normal with
// standard deviation 0.02, biases of 0 and norms that change nothing, which are not computed: those of files
// take their place, or New has them computed.
func build(c Config) *Encoder {
	f, rng := families()[c.Family], tensor.NewRNG(c.Seed)
	norm := func() *nn.LayerNorm {
		n := &nn.LayerNorm{Weight: tensor.Ones(c.Width), Eps: c.Eps}
		if c.NormBias || !f.before {
			n.Bias = tensor.Zeros(c.Width)
		}
		return n
	}
	normal := func(shape ...int) tensor.Tensor { return rng.Randn(shape...).Mul(0.02) }
	table := func(rows, width int) *nn.Embedding { return &nn.Embedding{Weight: normal(rows, width)} }
	linear := func(name string, in, out int, bias bool) nn.Layer {
		if name == "" {
			return nil
		}
		l := &nn.Linear{Weight: normal(in, out)}
		if bias || !f.bare && !(f.upFirst && name == f.gateUp) {
			l.Bias = tensor.Zeros(out)
		}
		return l
	}
	e := &Encoder{Config: c, Words: table(c.Vocab, c.Width)}
	if !f.rotary {
		e.Positions = table(c.Positions, c.Width)
	}
	if c.Types > 0 {
		e.Types = table(c.Types, c.Width)
	}
	e.Norm = norm()
	for i := range c.Layers {
		b := &Block{Attn: c.attention(i), MLP: &nn.MLP{Act: activations[c.Act], UpFirst: f.upFirst}, Before: f.before, family: f}
		b.Attn.Q, b.Attn.K = linear(f.q, c.Width, c.Width, c.AttnBias), linear(f.k, c.Width, c.Width, c.AttnBias)
		b.Attn.V, b.Attn.QKV = linear(f.v, c.Width, c.Width, c.AttnBias), linear(f.qkv, c.Width, 3*c.Width, c.AttnBias)
		b.Attn.O = linear(f.out, c.Width, c.Width, c.AttnBias)
		if i > 0 || !f.before {
			b.AttnNorm = norm()
		}
		b.MLP.Gate, b.MLP.Up = linear(f.gate, c.Width, c.Hidden, c.MLPBias), linear(f.up, c.Width, c.Hidden, c.MLPBias)
		b.MLP.GateUp, b.MLP.Down = linear(f.gateUp, c.Width, 2*c.Hidden, c.MLPBias), linear(f.down, c.Hidden, c.Width, c.MLPBias)
		b.MLPNorm = norm()
		e.Blocks = append(e.Blocks, b)
	}
	if f.last != "" {
		e.Last = norm()
	}
	if f.buckets > 0 {
		e.Distances = table(f.buckets, c.Heads)
	}
	return e
}

// New makes a model of an encoder with random weights, which pools by the mean and makes vectors of length 1.
// Its tokens are bytes until it gets a Tokenizer. The same Config gives the same weights. New panics with a
// *tensor.Error for lengths and numbers that no encoder can have.
func New(c Config) *Model {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		panic(&tensor.Error{Op: "embed.New", Msg: err.Error()})
	}
	m := &Model{Body: build(c), Pooling: []Pooling{Mean}, Normalize: true}
	for _, p := range nn.Params(m) {
		p.Value().Param()
	}
	if c.DType != dtype.Invalid {
		nn.Convert(m, c.DType)
	}
	nn.SetNames(m)
	return m
}
