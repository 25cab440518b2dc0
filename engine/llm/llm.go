// Package llm has decoder language models: pre-norm blocks of rotary grouped-query attention and SwiGLU, as
// Llama and Qwen2 have them. Parameters carry the names of the Hugging Face checkpoints, so that adapters and
// weights can travel.
package llm

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Config is the shape of a model.
type Config struct {
	Vocab   int // tokens; 256 for bytes
	Layers  int
	Width   int // of a token's vector
	Heads   int // query heads; Width/Heads is the head's width and must be even
	KVHeads int // key and value heads; 0 means Heads
	Hidden  int // width inside of the feed-forward layer; 0 means 8/3·Width, rounded up to a multiple of 32
	Seed    uint64
	Untied  bool    // the output matrix is its own, not the embedding's
	Eps     float64 // of the norms; 0 means 1e-5
	Rope    float64 // base of the rotary positions; 0 means 10,000

	DType dtype.Type // of the matrices, F32, BF16 or F16; Invalid means F32. All else is computed in f32

	Checkpoint bool // gradients compute each block again instead of keeping what it computed: see tensor.Checkpoint
}

func (c Config) withDefaults() Config {
	if c.KVHeads == 0 {
		c.KVHeads = c.Heads
	}
	if c.Hidden == 0 {
		c.Hidden = (8*c.Width/3 + 31) / 32 * 32
	}
	if c.Eps == 0 {
		c.Eps = 1e-5
	}
	if c.Rope == 0 {
		c.Rope = 10000
	}
	return c
}

// check panics with a *tensor.Error for lengths and numbers that no model can have.
func (c Config) check() {
	switch {
	case c.Vocab < 1 || c.Layers < 1 || c.Width < 1 || c.Heads < 1:
		panic(&tensor.Error{Op: "llm.New", Msg: fmt.Sprintf("got vocab %d, layers %d, width %d, heads %d, want all positive", c.Vocab, c.Layers, c.Width, c.Heads)})
	case c.Hidden < 1:
		panic(&tensor.Error{Op: "llm.New", Msg: fmt.Sprintf("got hidden %d, want a positive length", c.Hidden)})
	case c.Width%c.Heads != 0 || c.Width/c.Heads%2 != 0:
		panic(&tensor.Error{Op: "llm.New", Msg: fmt.Sprintf("got width %d and %d heads, want heads of an even width", c.Width, c.Heads)})
	case c.DType != dtype.Invalid && c.DType != dtype.F32 && c.DType != dtype.BF16 && c.DType != dtype.F16:
		panic(&tensor.Error{Op: "llm.New", Msg: fmt.Sprintf("got dtype %v, want f32, bf16 or f16", c.DType)})
	case !(c.Eps >= 0) || math.IsInf(c.Eps, 0):
		panic(&tensor.Error{Op: "llm.New", Msg: fmt.Sprintf("got eps %v, want a finite number of at least 0", c.Eps)})
	case !(c.Rope > 0) || math.IsInf(c.Rope, 0):
		panic(&tensor.Error{Op: "llm.New", Msg: fmt.Sprintf("got rope %v, want a positive finite number", c.Rope)})
	case c.KVHeads < 1 || c.Heads%c.KVHeads != 0:
		panic(&tensor.Error{Op: "llm.New", Msg: fmt.Sprintf("got %d query heads and %d key heads, want a multiple", c.Heads, c.KVHeads)})
	}
}

// A Block is one layer of a decoder: x + attention(norm(x)), then x + mlp(norm(x)).
type Block struct {
	AttnNorm *nn.RMSNorm
	Attn     *nn.Attention
	MLPNorm  *nn.RMSNorm
	MLP      *nn.MLP
}

// Forward maps x [B T width] at positions i64 [T].
func (b *Block) Forward(x, positions tensor.Tensor) tensor.Tensor {
	x = x.Add(b.Attn.Forward(b.AttnNorm.Forward(x), positions))
	return x.Add(b.MLP.Forward(b.MLPNorm.Forward(x)))
}

// Continue is Forward for tokens that follow those in the cache.
func (b *Block) Continue(x, positions tensor.Tensor, c *nn.Cache) tensor.Tensor {
	x = x.Add(b.Attn.Continue(b.AttnNorm.Forward(x), positions, c))
	return x.Add(b.MLP.Forward(b.MLPNorm.Forward(x)))
}

// Members lists norms, attention and feed-forward layer.
func (b *Block) Members() []nn.Member {
	return []nn.Member{
		{Name: "input_layernorm", Part: b.AttnNorm}, {Name: "self_attn", Part: b.Attn},
		{Name: "post_attention_layernorm", Part: b.MLPNorm}, {Name: "mlp", Part: b.MLP},
	}
}

// A Model is a decoder language model.
type Model struct {
	Config Config
	Embed  nn.Layer // tokens to vectors
	Blocks []*Block
	Norm   *nn.RMSNorm
	Head   nn.Layer // [width vocabulary]; nil when tied to the embedding
}

// New makes a model with random weights: normal with standard deviation 0.02, and 0.02/√(2·Layers) for the
// projections that write into the residual stream (Radford et al. 2019). The same Config gives the same
// weights. It panics with a *tensor.Error for lengths and numbers that no model can have.
func New(c Config) *Model {
	c = c.withDefaults()
	c.check()
	rng := tensor.NewRNG(c.Seed)
	const std = 0.02
	residual := std / sqrt(2*c.Layers)
	linear := func(in, out int, std float64) nn.Layer {
		return nn.NewLinearNormal(rng, in, out, std)
	}
	m := &Model{Config: c, Embed: nn.NewEmbedding(rng, c.Vocab, c.Width, std), Norm: nn.NewRMSNorm(c.Width, c.Eps)}
	kv := c.Width / c.Heads * c.KVHeads
	for range c.Layers {
		m.Blocks = append(m.Blocks, &Block{
			AttnNorm: nn.NewRMSNorm(c.Width, c.Eps),
			Attn: &nn.Attention{
				Q: linear(c.Width, c.Width, std), K: linear(c.Width, kv, std), V: linear(c.Width, kv, std),
				O: linear(c.Width, c.Width, residual), Heads: c.Heads, KVHeads: c.KVHeads, RopeBase: c.Rope,
			},
			MLPNorm: nn.NewRMSNorm(c.Width, c.Eps),
			MLP: &nn.MLP{
				Gate: linear(c.Width, c.Hidden, std), Up: linear(c.Width, c.Hidden, std),
				Down: linear(c.Hidden, c.Width, residual),
			},
		})
	}
	if c.Untied {
		m.Head = linear(c.Width, c.Vocab, std)
	}
	if c.DType != dtype.Invalid {
		nn.Convert(m, c.DType)
	}
	nn.SetNames(m)
	return m
}

// To moves the model to a device: see nn.To.
func (m *Model) To(d device.Device) { nn.To(m, d) }

// Save is [nn.Save].
func (m *Model) Save(path string) error { return nn.Save(path, m) }

// Load is [nn.Load].
func (m *Model) Load(path string) error { return nn.Load(path, m) }

// Logits returns for each token of ids (integers [B T]) the scores of the next one, [B T Vocab].
func (m *Model) Logits(ids tensor.Tensor) tensor.Tensor {
	x, positions := m.vectors(ids), tensor.Range(ids.Len(1)).To(ids.Device())
	for _, b := range m.Blocks {
		forward := func(x tensor.Tensor) tensor.Tensor { return b.Forward(x, positions) }
		if m.Config.Checkpoint {
			x = tensor.Checkpoint(forward, x)
		} else {
			x = forward(x)
		}
	}
	return m.output(x)
}

// vectors turns tokens into vectors, in the dtype of the norms.
func (m *Model) vectors(ids tensor.Tensor) tensor.Tensor {
	return m.Embed.Forward(ids).Cast(m.Norm.Weight.DType())
}

// output turns vectors into scores.
func (m *Model) output(x tensor.Tensor) tensor.Tensor {
	x = m.Norm.Forward(x)
	if m.Head != nil {
		return m.Head.Forward(x)
	}
	tied, ok := m.Embed.(nn.Scorer)
	if !ok {
		panic(&tensor.Error{Op: "llm", Msg: fmt.Sprintf("got %T as a tied embedding, want one with Scores", m.Embed)})
	}
	return tied.Scores(x)
}

// Loss is the mean cross-entropy, in nats a token, of the targets that follow the inputs; both are integers
// [B T]. Targets of −100 do not count.
func (m *Model) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	return tensor.CrossEntropy(m.Logits(inputs), targets, tensor.CrossEntropyOptions{})
}

// Members lists embedding, blocks, norm and, if it is not tied, the output matrix.
func (m *Model) Members() []nn.Member {
	list := []nn.Member{{Name: "model.embed_tokens", Slot: &m.Embed}}
	for i, b := range m.Blocks {
		list = append(list, nn.Member{Name: fmt.Sprintf("model.layers.%d", i), Part: b})
	}
	list = append(list, nn.Member{Name: "model.norm", Part: m.Norm})
	if m.Head != nil {
		list = append(list, nn.Member{Name: "lm_head", Slot: &m.Head})
	}
	return list
}

// String says what the model is.
func (m *Model) String() string {
	c := m.Config
	parameters, bytes := nn.Size(m)
	return fmt.Sprintf("decoder: %d layers × %d, %d heads (%d for keys), vocabulary %d · %d parameters, %s",
		c.Layers, c.Width, c.Heads, c.KVHeads, c.Vocab, parameters, units.Bytes(int64(bytes)))
}
