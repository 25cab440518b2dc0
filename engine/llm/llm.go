// Package llm has decoder language models: blocks of rotary grouped-query attention and a gated feed-forward
// layer. There is one decoder. Families (Llama, Mistral, Qwen, Gemma, Phi, …) differ in what their Config
// says. Parameters carry the names of the Hugging Face checkpoints, so that adapters and weights can travel.
//
// [New] makes a model with random weights, [Load] reads a folder as Hugging Face's transformers write it, and
// [Save] writes one.
//
// Reading order: config.go, llm.go, build.go; generate.go, text.go, sampling.go, choose.go, draw.go;
// pages.go, memory.go, states.go, batch.go, prefix.go, speculate.go; family.go (config.json), folder.go,
// read.go, gguf.go, codes.go, awq.go; chat.go, talk.go. A family is a row: llama.go, qwen.go, gemma.go,
// phi.go, olmo.go, cohere.go, gpt.go, glm.go, mixture.go, gptoss.go, deepseek.go, lfm.go, qwen_next.go,
// mamba.go.
package llm

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/tokenizer"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Block is one layer of a decoder: x + attention(norm(x)), then x + mlp(norm(x)). With AttnAfter and
// MLPAfter what attention and mlp give is normalised, too, before it is added. A norm that is nil leaves what
// it gets. In the place of attention, or beside it, a layer may have one with a state, and in the place of
// mlp, or beside it, experts: what stands side by side is added up. A block without one half leaves it out.
type Block struct {
	AttnNorm  nn.Layer
	Attn      *nn.Attention
	Recurrent nn.Recurrent
	AttnAfter nn.Layer
	MLPNorm   nn.Layer
	MLP       *nn.MLP
	Mixture   *nn.Mixture // of experts
	MLPAfter  nn.Layer
	Beside    nn.Layer      // a norm of mlp's result beside experts, which get x as it is then (Gemma 4)
	Input     *Input        // what the layer's own vector of each token adds in the end; nil: nothing
	Factor    tensor.Tensor // [1], of the block's result; or none
	Parallel  bool          // x + attention(norm(x)) + mlp(norm(x)), with AttnNorm, unless there is an MLPNorm
	Scale     float64       // of what is added to x; 0 means 1

	AttnIn, RecurrentIn                 float64 // of what each of them gets; 0 means 1
	AttnScale, RecurrentScale, MLPScale float64 // of what each of them gives; 0 means 1
}

// Forward maps x [B T width] at positions i64 [T].
func (b *Block) Forward(x, positions tensor.Tensor) tensor.Tensor {
	return b.forward(x, positions, nil)
}

// forward is Forward, which adds what the block's router says to routed, unless that is nil.
func (b *Block) forward(x, positions tensor.Tensor, routed *[]nn.Routing) tensor.Tensor {
	return b.halves(x, routed, func(in tensor.Tensor) tensor.Tensor { return b.Attn.Forward(in, positions) },
		func(in tensor.Tensor) tensor.Tensor { return b.Recurrent.Forward(in, tensor.Tensor{}) })
}

// Both is Forward for tokens that see those after them, too: see nn.Attention.
func (b *Block) Both(x, positions, seen tensor.Tensor) tensor.Tensor {
	return b.halves(x, nil, func(in tensor.Tensor) tensor.Tensor { return b.Attn.Both(in, positions, seen) }, nil)
}

// ForwardPacked is Forward for rows of several documents: see nn.Attention.
func (b *Block) ForwardPacked(x, starts tensor.Tensor) tensor.Tensor {
	return b.forwardPacked(x, starts, nil)
}

func (b *Block) forwardPacked(x, starts tensor.Tensor, routed *[]nn.Routing) tensor.Tensor {
	return b.halves(x, routed, func(in tensor.Tensor) tensor.Tensor { return b.Attn.ForwardPacked(in, starts) },
		func(in tensor.Tensor) tensor.Tensor { return b.Recurrent.Forward(in, starts) })
}

// Continue is Forward for tokens that follow those in the cache.
func (b *Block) Continue(x tensor.Tensor, s nn.Step, c *nn.Cache) tensor.Tensor {
	return b.halves(x, nil, func(in tensor.Tensor) tensor.Tensor { return b.Attn.Continue(in, s, c) },
		func(in tensor.Tensor) tensor.Tensor { return b.Recurrent.Continue(in, s, c) })
}

// halves are attention, or what knows the other tokens in another way, and the feed-forward layer.
func (b *Block) halves(x tensor.Tensor, routed *[]nn.Routing, attention, recurrent func(in tensor.Tensor) tensor.Tensor) tensor.Tensor {
	in, before := through(b.AttnNorm, x), x
	var seen, fed tensor.Tensor
	if b.Attn != nil {
		seen = scaled(attention(scaled(in, b.AttnIn)), b.AttnScale)
	}
	if b.Recurrent != nil {
		seen = added(seen, scaled(recurrent(scaled(in, b.RecurrentIn)), b.RecurrentScale))
	}
	if !seen.IsNone() {
		x = x.Add(scaled(through(b.AttnAfter, seen), b.Scale))
	}
	if !b.Parallel {
		in = through(b.MLPNorm, x)
	} else if b.MLPNorm != nil {
		in = b.MLPNorm.Forward(before)
	}
	if b.MLP != nil {
		fed = scaled(b.MLP.Forward(in), b.MLPScale)
	}
	if b.Beside != nil {
		fed, in = b.Beside.Forward(fed), x
	}
	if b.Mixture != nil {
		y, r := b.Mixture.Routed(in)
		if routed != nil {
			*routed = append(*routed, r)
		}
		fed = added(fed, y)
	}
	if !fed.IsNone() {
		x = x.Add(scaled(through(b.MLPAfter, fed), b.Scale))
	}
	if b.Input != nil {
		x = b.Input.Forward(x)
	}
	if !b.Factor.IsNone() {
		x = x.Mul(b.Factor.Detach().Cast(x.DType()))
	}
	return x
}

// added is x + y, y where x is none.
func added(x, y tensor.Tensor) tensor.Tensor {
	if x.IsNone() {
		return y
	}
	return x.Add(y)
}

func through(n nn.Layer, x tensor.Tensor) tensor.Tensor {
	if n == nil {
		return x
	}
	return n.Forward(x)
}

// scaled is x·scale; a scale of 0 means 1.
func scaled(x tensor.Tensor, scale float64) tensor.Tensor {
	if scale == 0 {
		return x
	}
	return x.Mul(scale)
}

// Members lists norms, attention and feed-forward layer.
func (b *Block) Members() []nn.Member {
	before := "post_attention_layernorm" // in files the norm before the feed-forward layer, where attention has none
	if b.AttnAfter != nil {
		before = "pre_feedforward_layernorm"
	}
	experts := "mlp"
	if b.MLP != nil {
		experts = expertsBeside
	}
	list := []nn.Member{
		{Name: "input_layernorm", Part: b.AttnNorm}, {Name: "mixer", Part: b.Recurrent}, {Name: "self_attn", Part: b.Attn},
		{Name: "post_attention_layernorm", Part: b.AttnAfter}, {Name: before, Part: b.MLPNorm}, {Name: "mlp", Part: b.MLP},
	}
	if m := b.Mixture; b.Beside == nil {
		list = append(list, nn.Member{Name: experts, Part: m})
	} else {
		list = append(list, nn.Member{Name: "post_feedforward_layernorm_1", Part: b.Beside}, nn.Member{Name: "pre_feedforward_layernorm_2", Part: m.Narrow},
			nn.Member{Name: "router", Part: m.Router}, nn.Member{Name: "experts", Part: m.Experts}, nn.Member{Name: "post_feedforward_layernorm_2", Part: m.Widen})
	}
	list = append(list, nn.Member{Name: "post_feedforward_layernorm", Part: b.MLPAfter})
	if b.Input != nil {
		list = append(list, nn.Member{Name: "per_layer_input_gate", Slot: &b.Input.Gate},
			nn.Member{Name: "per_layer_projection", Slot: &b.Input.Proj}, nn.Member{Name: "post_per_layer_input_norm", Part: b.Input.Norm})
	}
	return nn.Present(append(list, nn.Member{Name: "layer_scalar", Weight: &b.Factor, Fixed: true})...)
}

// expertsBeside is what experts are called beside a feed-forward layer.
const expertsBeside = "block_sparse_moe"

// A Model is a decoder language model.
type Model struct {
	Config    Config
	Embed     nn.Layer // tokens to vectors
	Positions nn.Layer // places to vectors (GPT-2); nil: there are none
	Inputs    *Inputs  // tokens to vectors of each layer (Gemma 4); nil: there are none
	Blocks    []*Block
	Norm      nn.Layer
	Head      nn.Layer // [width vocabulary]; nil when tied to the embedding

	Tokenizer *tokenizer.Tokenizer // of the folder it came from; nil: tokens are bytes
	Stop      []int                // tokens after which generation ends
	Defaults  Sampling             // as the folder's generation_config.json wants tokens to be chosen

	conversation conversation

	files  map[string][]byte // what Load found beside the weights, by name
	family family            // whose folders say what the Config says; none may
	names  ggufhub.Pairs     // of members, where the family has others

	unread int // tensors of the folder that are of its pictures or sound

	spoken vocabulary

	sharded bool // several ranks hold the blocks' weights together: see LoadSharded

	steps nn.Steps
}

// New makes a model with random weights: normal with standard deviation 0.02, and 0.02/√(2·Layers) for the
// projections that write into the residual stream (Radford et al. 2019). The same Config gives the same
// weights. It panics with a *tensor.Error for lengths and numbers that no model can have.
func New(c Config) *Model {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		panic(&tensor.Error{Op: "llm.New", Msg: err.Error()})
	}
	return c.random(nil)
}

// random computes the weights of a model of a Config that was checked, of which one block at a time has
// matrices of f32.
func (c Config) random(each func(*Block)) *Model {
	m := build(c)
	compute := func(part nn.Module) {
		for _, p := range nn.Params(part) {
			p.Value().Param()
		}
		if c.DType != dtype.Invalid {
			nn.Convert(part, c.DType)
		}
	}
	for _, b := range m.Blocks {
		if compute(b); each != nil {
			each(b)
		}
	}
	compute(m)
	m.straighten()
	nn.SetNames(m)
	return m
}

// To moves the model to a device: see nn.To.
func (m *Model) To(d device.Device) { nn.To(m, d) }

// Save is [nn.Save].
func (m *Model) Save(path string) error { return nn.Save(path, m) }

// Load is [nn.Load].
func (m *Model) Load(path string) error { return nn.Load(path, m) }

// StepLock is held for reading by Logits and by generation while they build a step: see [nn.Change].
func (m *Model) StepLock() *nn.Steps { return &m.steps }

// Logits returns for each token of ids (integers [B T]) the scores of the next one, [B T Vocab].
func (m *Model) Logits(ids tensor.Tensor) tensor.Tensor {
	m.steps.RLock()
	defer m.steps.RUnlock()
	return m.output(m.hidden(ids, nil))
}

// Vectors returns a vector for each token of ids (integers [B T]), [B T Width]: what the output matrix gets.
// Seen is a bool [B T] that is false for the padding that follows a text; the zero Tensor: there is none.
func (m *Model) Vectors(ids, seen tensor.Tensor) tensor.Tensor {
	m.steps.RLock()
	defer m.steps.RUnlock()
	if !m.Config.Bidirectional {
		return m.Norm.Forward(m.hidden(ids, nil)) // nobody sees padding
	}
	wantBatch(ids)
	if !seen.IsNone() {
		seen = seen.Unsqueeze(1).Unsqueeze(1) // [B 1 1 T]
	}
	positions := tensor.Range(ids.Len(1)).To(ids.Device())
	return m.Norm.Forward(m.through(ids, positions, func(b *Block, x tensor.Tensor) tensor.Tensor { return b.Both(x, positions, seen) }))
}

// hidden gives the vectors after tokens went through the blocks, [B T width]. What routers say is added to
// routed, unless that is nil.
func (m *Model) hidden(ids tensor.Tensor, routed *[]nn.Routing) tensor.Tensor {
	wantBatch(ids)
	m.wantCausal()
	positions := tensor.Range(ids.Len(1)).To(ids.Device())
	return m.through(ids, positions, func(b *Block, x tensor.Tensor) tensor.Tensor { return b.forward(x, positions, routed) })
}

// wantBatch panics with a *tensor.Error unless ids are [B T].
func wantBatch(ids tensor.Tensor) {
	if ids.Rank() != 2 {
		panic(&tensor.Error{Op: "llm", Msg: fmt.Sprintf("got tokens %v%v, want [batch time]: ids.Unsqueeze(0) is a batch of one text", ids.DType(), ids.Shape())})
	}
}

// wantCausal panics with a *tensor.Error where tokens would have to be guessed that the model sees.
func (m *Model) wantCausal() {
	if m.Config.Bidirectional {
		panic(&tensor.Error{Op: "llm", Msg: "the model's tokens see those after them: it has Vectors, and no next token (package embed)"})
	}
}

// through gives the vectors after tokens at positions i64 [T] or [B T] went through the blocks.
func (m *Model) through(ids, positions tensor.Tensor, block func(b *Block, x tensor.Tensor) tensor.Tensor) tensor.Tensor {
	x := m.vectors(ids, positions)
	pass := m.pass(ids, x)
	for i := range m.Blocks {
		b := pass.block(i)
		forward := func(x tensor.Tensor) tensor.Tensor { return block(b, x) }
		switch {
		case m.Config.lends(i):
			x = forward(x)
		case m.sharded:
			x = tensor.Checkpoint(func(x tensor.Tensor) tensor.Tensor { return access.Nearby(forward(x), x) }, x)
		case m.Config.Checkpoint:
			x = tensor.Checkpoint(forward, x)
		default:
			x = forward(x)
		}
	}
	return x
}

// vectors turns tokens at positions into vectors, in the dtype in which the model computes: that of its
// norms, unless its Config says another one.
func (m *Model) vectors(ids, positions tensor.Tensor) tensor.Tensor {
	compute := m.Config.Compute
	if compute == dtype.Invalid {
		compute = m.normWeight().DType()
	}
	x := scaled(m.Embed.Forward(ids).Cast(compute), m.Config.EmbedScale)
	if m.Positions != nil {
		x = x.Add(m.Positions.Forward(positions).Cast(compute))
	}
	return x
}

// normWeight is the weight of the last norm, or numbers of the embedding where it has none, which is where
// the model is.
func (m *Model) normWeight() tensor.Tensor {
	for _, layer := range []nn.Layer{m.Norm, m.Embed} {
		for _, member := range layer.Members() {
			if w := member.Weight; w != nil && w.DType().Float() {
				return *w
			}
		}
	}
	return tensor.Tensor{}
}

// last is what the output matrix gets.
func (m *Model) last(x tensor.Tensor) tensor.Tensor {
	return scaled(m.Norm.Forward(x), m.Config.HeadScale)
}

// output turns vectors into scores.
func (m *Model) output(x tensor.Tensor) tensor.Tensor {
	scores := m.scores(m.last(x))
	if limit := m.Config.LogitCap; limit != 0 {
		return scores.Div(limit).Tanh().Mul(limit)
	}
	return scores
}

func (m *Model) scores(x tensor.Tensor) tensor.Tensor {
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
// [B T]. Targets of −100 do not count. With Config.Mixture.Balance that of the routers is added.
func (m *Model) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	m.steps.RLock()
	defer m.steps.RUnlock()
	return m.balanced(func(routed *[]nn.Routing) tensor.Tensor { return m.loss(m.hidden(inputs, routed), targets, false) })
}

// balanced is a loss and, where the Config asks for it, that of the routers. These count all tokens.
func (m *Model) balanced(loss func(routed *[]nn.Routing) tensor.Tensor) tensor.Tensor {
	by := m.Config.Mixture.Balance
	if by == 0 {
		return loss(nil)
	}
	var routed []nn.Routing
	return loss(&routed).Add(nn.Balance(routed).Mul(by))
}

// Losses are the cross-entropies of the targets, [B T], 0 where a target does not count: how unlikely each
// one is, in nats.
func (m *Model) Losses(inputs, targets tensor.Tensor) tensor.Tensor {
	m.steps.RLock()
	defer m.steps.RUnlock()
	return m.loss(m.hidden(inputs, nil), targets, true)
}

// loss is the mean cross-entropy after the blocks, or that of each row. The scores of all tokens exist at
// once only where the output layer is more than one matrix of numbers: with an adapter or a bias, or in
// codes.
func (m *Model) loss(x, targets tensor.Tensor, each bool) tensor.Tensor {
	w := m.matrix()
	if w.IsNone() {
		return tensor.CrossEntropy(m.output(x), targets, tensor.CrossEntropyOptions{PerRow: each})
	}
	return tensor.LinearCrossEntropy(m.last(x), w, targets, tensor.CrossEntropyOptions{Cap: m.Config.LogitCap, PerRow: each})
}

// matrix is the weight [width vocabulary] that the scores are computed with, or none if they are computed in
// another way.
func (m *Model) matrix() tensor.Tensor {
	if m.Head != nil {
		if l, ok := m.Head.(*nn.Linear); ok && l.Bias.IsNone() {
			return l.Weight
		}
		return tensor.Tensor{}
	}
	if e, ok := m.Embed.(*nn.Embedding); ok {
		return e.Weight.Transpose()
	}
	return tensor.Tensor{}
}

// PackedLoss is Loss for rows of several documents, of which starts (i64 [B T]) says for each token at which
// place of the row its own begins. A token sees no other document, and positions count from there. So the
// loss is that of the documents in rows of their own.
func (m *Model) PackedLoss(inputs, targets, starts tensor.Tensor) tensor.Tensor {
	m.steps.RLock()
	defer m.steps.RUnlock()
	wantBatch(inputs)
	m.wantCausal()
	return m.balanced(func(routed *[]nn.Routing) tensor.Tensor {
		positions := tensor.Range(inputs.Len(1)).To(starts.Device()).Sub(starts)
		x := m.through(inputs, positions, func(b *Block, x tensor.Tensor) tensor.Tensor { return b.forwardPacked(x, starts, routed) })
		return m.loss(x, targets, false)
	})
}

// Members lists embedding, blocks, norm and, if it is not tied, the output matrix.
func (m *Model) Members() []nn.Member {
	list := []nn.Member{{Name: "model.embed_tokens", Slot: &m.Embed}, {Name: "model.embed_positions", Slot: &m.Positions}}
	if n := m.Inputs; n != nil {
		list = append(list, nn.Member{Name: "model.embed_tokens_per_layer", Slot: &n.Embed}, nn.Member{Name: "model.per_layer_model_projection", Slot: &n.Proj},
			nn.Member{Name: "model.per_layer_projection_norm", Part: n.Norm})
	}
	for i, b := range m.Blocks {
		list = append(list, nn.Member{Name: fmt.Sprintf("model.layers.%d", i), Part: b})
	}
	list = nn.Present(append(list, nn.Member{Name: "model.norm", Part: m.Norm}, nn.Member{Name: "lm_head", Slot: &m.Head})...)
	if m.names != nil {
		list = called{members(list), m.names}.Members()
	}
	return list
}

// String says what the model is.
func (m *Model) String() string {
	c := m.Config
	parameters, bytes := nn.Size(m)
	heads := fmt.Sprintf("%s (%d for keys), ", units.Plural(int64(c.Heads), "head"), c.KVHeads)
	if c.attentionless() {
		heads = ""
	}
	text := fmt.Sprintf("decoder: %s × %d, %svocabulary %d · %d parameters, %s",
		units.Plural(int64(c.Layers), "layer"), c.Width, heads, c.Vocab, parameters, units.Bytes(int64(bytes)))
	if x := c.Mixture; x.Experts > 0 {
		text += fmt.Sprintf(" · %d of %d experts a token", x.TopK, x.Experts)
	}
	if n := len(m.recurrent()); n > 0 {
		text += fmt.Sprintf(" · %s with a state", units.Plural(int64(n), "layer"))
	}
	if m.unread > 0 {
		text += fmt.Sprintf(" · text only: %s of pictures or sound not read", units.Plural(int64(m.unread), "tensor"))
	}
	return text
}
