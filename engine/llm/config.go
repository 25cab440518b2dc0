package llm

import (
	"cmp"
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// A Config is the shape of a model, and what its family does in another way than Llama. Only the lengths at
// its beginning are needed.
type Config struct {
	Family  string // model_type of a config.json: "llama", "qwen2"; empty: New made it
	Vocab   int    // tokens; 256 for bytes
	Layers  int
	Width   int // of a token's vector
	Heads   int // query heads
	KVHeads int // key and value heads; 0 means Heads
	HeadDim int // width of a head, even; 0 means Width/Heads
	Hidden  int // width inside of the feed-forward layer; 0 means 8/3·Width, rounded up to a multiple of 32
	Context int // tokens of the longest text; 0: not said
	Seed    uint64
	Untied  bool    // the output matrix is its own, not the embedding's
	Eps     float64 // of the norms; 0 means 1e-5

	Rope      nn.Rope // rotary positions
	LocalRope nn.Rope // of the layers with a window (Gemma 3); the zero value: Rope

	Learned bool // nothing turns: a table of Context vectors has one of each place, which is added to that of the token (GPT-2)

	NoRope []bool // which layers turn nothing (SmolLM 3, Cohere 2); nil: none

	QKVBias  bool // q, k and v add a bias (Qwen 2)
	OutBias  bool // attention's output adds one (Llama's attention_bias is both)
	MLPBias  bool // the feed-forward layers add one
	HeadBias bool // the output matrix adds one (Phi)

	JoinedQKV  bool   // q, k and v are one matrix (Phi 3)
	GroupedQKV bool   // with JoinedQKV the columns of each key head stand together (GPT-NeoX, Falcon)
	JoinedMLP  bool   // gate and up are one matrix (Phi 3, GLM)
	Plain      bool   // feed-forward layers have no gate (Phi, StarCoder 2, Nemotron)
	Act        string // "silu", "gelu_tanh", "gelu", "relu", "relu2" or "xielu" (Apertus); empty means silu

	LayerNorm  bool    // norms are LayerNorm, not RMSNorm (Phi, Cohere)
	NormBias   bool    // which add a bias (Phi, but not Cohere)
	BareNorm   bool    // and have no weights (OLMo)
	NormPlus   float64 // what norms add to their weight: 1 in Gemma
	Sandwich   bool    // norms follow attention and feed-forward layer, too (Gemma 2 and 3, GLM 4)
	PostNorm   bool    // norms follow them, and none comes before (Olmo 2, EXAONE 4)
	Parallel   bool    // both have the same input, and one norm (Phi, Cohere)
	BothNorms  bool    // with Parallel each has a norm of its own (GPT-NeoX)
	QKNorm     bool    // queries and keys are normalised, head by head (Qwen 3, Gemma 3)
	WideQKNorm bool    // or all heads together (Olmo 2)
	LateQKNorm bool    // or after their turn (Hunyuan)
	HeadQKNorm bool    // or by LayerNorms with weights of each head (Command R+)
	GatedAttn  bool    // attention's result has a gate, beside the queries (Qwen 3 Next)

	Latent Latent // attention of short vectors (DeepSeek); the zero value: there is none

	EmbedScale    float64 // factor of the embedding's vectors, √Width in Gemma; 0 means 1
	ResidualScale float64 // factor of what attention and feed-forward layer add (Granite); 0 means 1
	AttnIn        float64 // factor of what attention gets (Falcon-H1); 0 means 1
	AttnScale     float64 // factor of what it gives; 0 means 1
	MLPScale      float64 // factor of what the feed-forward layer gives (Falcon-H1); 0 means 1
	GateScale     float64 // factor of what its activation gets (Falcon-H1); 0 means 1
	HeadScale     float64 // factor of what the output matrix gets (Granite, Cohere); 0 means 1
	Scale         float64 // of attention's scores; 0 means 1/√HeadDim
	Clip          float64 // queries, keys and values stay within ± it (OLMo); 0: they do not
	ScoreCap      float64 // attention's scores become cap·tanh(scores/cap) (Gemma 2); 0: they do not
	LogitCap      float64 // and so do the model's
	Window        int     // keys that a query sees; 0: all before it
	Local         []bool  // which layers have the window; nil: all
	Global        Global  // what attention of the others has otherwise (Gemma 4); the zero value: nothing
	LentKV        int     // the last so many layers have no keys and values, but look at those of the last one before them of their kind (Gemma 4)
	LentWide      bool    // their feed-forward layers are twice as wide
	VNorm         bool    // values are normalised, without weights
	Inputs        int     // width of a vector that each layer has of each token (Gemma 4); 0: there are none
	LayerScale    bool    // each layer's result has a factor, which is not trained
	Sinks         bool    // a number of each head joins the sum of the softmax (gpt-oss)

	Mixture Mixture // of experts, in place of feed-forward layers; the zero value: there is none

	Recurrent Recurrent // layers in the place of attention, or beside it; the zero value: there are none

	// Single says of models whose layers have one norm and one part which of them have the feed-forward layer
	// (none in Mamba-2); nil: layers have attention, or a state, and a feed-forward layer.
	Single []bool

	// Bidirectional lets tokens see those after them, too, and with a window those that are nearer than it
	// (EmbeddingGemma). Such a model has vectors, and generates nothing.
	Bidirectional bool

	DType dtype.Type // of the matrices, F32, BF16 or F16; Invalid means F32
	// Compute is the type of what goes from layer to layer, and of its gradients: F32, BF16 or F16; Invalid
	// means F32. Sums, the statistics of norms and losses are in f32 in any case, and parameters keep their
	// own types, so adapters and optimizers stay in f32. It stands here because each layer computes in the
	// type of its input: the one place that chooses is where a model turns tokens into vectors. It may be
	// changed at any time.
	Compute dtype.Type

	Checkpoint bool // gradients compute each block again instead of keeping what it computed: see tensor.Checkpoint
}

// A Mixture says which layers of a model are mixtures of experts, and how a router chooses among these.
type Mixture struct {
	Experts int    // of each layer
	TopK    int    // experts of a token
	Hidden  int    // width inside of an expert
	Latent  int    // width of what experts get and give (Nemotron 3); 0: Config.Width
	Dense   []bool // which layers have an ordinary feed-forward layer; nil: none

	Sigmoid    bool    // a router's scores are the sigmoids of its logits, not their softmax
	Normalise  bool    // the weights of a token's experts add up to 1
	Scale      float64 // of these weights; 0 means 1
	Correction bool    // experts are chosen by their scores plus a number of each
	Near       float64 // experts are chosen one after the other, by a softmax of those within this share of the best (Phi 3.5 MoE); 0: all at once
	Groups     int     // parts of the experts, of which a token has those of the TopGroups best; 0: there are none
	TopGroups  int

	Apart      bool // with Beside: both have norms of their own, and so has the router (Gemma 4)
	Beside     bool // the feed-forward layer stands beside the experts, and all tokens go through it (Granite 4)
	Shared     int  // width inside of an expert that all tokens go through; 0: there is none
	SharedGate bool // whose result has a factor of its own for each token (Qwen 2)

	Bias  bool    // router and experts add biases (gpt-oss)
	Limit float64 // of what experts multiply, and their form: see nn.Experts (gpt-oss); 0: none

	Balance float64 // times [nn.Balance] is a part of Model.Loss, so that all experts are used; 0: it is not
}

// check says what no mixture can have.
func (m Mixture) check(layers int) error {
	switch {
	case m.Experts == 0:
		return nil
	case m.Experts < 1 || m.Experts > 1<<16 || m.TopK < 1 || m.TopK > m.Experts || m.Hidden < 1:
		return fmt.Errorf("got %d of %d experts of width %d, want at least 1, at most all of them, and a positive width", m.TopK, m.Experts, m.Hidden)
	case m.Dense != nil && len(m.Dense) != layers:
		return fmt.Errorf("got %d layers with or without experts, want %d", len(m.Dense), layers)
	case m.Groups > 1 && (m.Experts%m.Groups != 0 || m.TopGroups < 1 || m.TopGroups > m.Groups || m.TopK > m.TopGroups*(m.Experts/m.Groups)):
		return fmt.Errorf("got %d of %d groups of %d experts, want groups of equal size with experts enough for %d", m.TopGroups, m.Groups, m.Experts, m.TopK)
	case m.Latent < 0 || m.Latent > 1<<31:
		return fmt.Errorf("got experts of the width %d, want a positive width", m.Latent)
	case m.Shared < 0 || m.SharedGate && m.Shared == 0:
		return fmt.Errorf("got a shared expert of width %d, want a positive width", m.Shared)
	}
	return nil
}

// mixes says whether a layer is a mixture of experts.
func (c Config) mixes(layer int) bool {
	return c.feeds(layer) && c.Mixture.Experts > 0 && (c.Mixture.Dense == nil || !c.Mixture.Dense[layer])
}

// attends says whether a layer has attention.
func (c Config) attends(layer int) bool {
	return (c.Single == nil || !c.feeds(layer)) && (c.Recurrent.Beside || !c.recurs(layer))
}

// attentionless says whether all layers have a state instead.
func (c Config) attentionless() bool {
	return c.Recurrent.Kind != "" && c.Recurrent.Layers == nil && !c.Recurrent.Beside
}

// feeds says whether a layer has a feed-forward layer, or experts.
func (c Config) feeds(layer int) bool { return c.Single == nil || c.Single[layer] }

func (c Config) withDefaults() Config {
	if c.attentionless() {
		c.Heads, c.KVHeads, c.HeadDim = 1, 1, 2 // which no layer has
	}
	c.KVHeads = cmp.Or(c.KVHeads, c.Heads)
	if c.HeadDim == 0 && c.Heads > 0 {
		c.HeadDim = c.Width / c.Heads
	}
	c.Hidden = cmp.Or(c.Hidden, (8*c.Width/3+31)/32*32)
	c.Eps = cmp.Or(c.Eps, 1e-5)
	c.Rope.Base = cmp.Or(c.Rope.Base, 10000)
	c.Rope.Rotary = cmp.Or(c.Rope.Rotary, c.Latent.Turning)
	return c
}

// activations are the functions of the gate by their names in Config. Only [nn.MLP] has xielu.
var activations = map[string]nn.Func{"": nn.SiLU(), "silu": nn.SiLU(), "gelu_tanh": nn.GELUTanh(), "gelu": nn.GELU(), "relu": nn.ReLU(), "relu2": nn.ReLU2(), xielu: nn.SiLU()}

// xielu is the activation that has weights of its own: see [nn.XIELU].
const xielu = "xielu"

// check says what no model can have. The defaults are filled in.
func (c Config) check() error {
	const most = 1 << 31 // of any length: products of two lengths stay far below 2⁶³
	lengths := map[string]int{"vocab": c.Vocab, "layers": c.Layers, "width": c.Width, "heads": c.Heads, "kv heads": c.KVHeads, "head dim": max(c.HeadDim, c.Global.HeadDim), "hidden": c.Hidden, "inputs": c.Inputs}
	for name, n := range lengths {
		if n > most {
			return fmt.Errorf("got %s %d, want at most %d", name, n, most)
		}
	}
	_, known := activations[c.Act]
	switch {
	case c.Vocab < 1 || c.Layers < 1 || c.Width < 1 || c.Heads < 1:
		return fmt.Errorf("got vocab %d, layers %d, width %d, heads %d, want all positive", c.Vocab, c.Layers, c.Width, c.Heads)
	case c.Hidden < 1:
		return fmt.Errorf("got hidden %d, want a positive length", c.Hidden)
	case c.HeadDim < 1 || c.HeadDim%2 != 0 || c.HeadDim == c.Width/c.Heads && c.Width%c.Heads != 0:
		return fmt.Errorf("got width %d and %d heads, want heads of an even width", c.Width, c.Heads)
	case c.KVHeads < 1 || c.Heads%c.KVHeads != 0:
		return fmt.Errorf("got %d query heads and %d key heads, want a multiple", c.Heads, c.KVHeads)
	case c.DType != dtype.Invalid && c.DType != dtype.F32 && c.DType != dtype.BF16 && c.DType != dtype.F16:
		return fmt.Errorf("got dtype %v, want f32, bf16 or f16", c.DType)
	case c.Compute != dtype.Invalid && c.Compute != dtype.F32 && c.Compute != dtype.BF16 && c.Compute != dtype.F16:
		return fmt.Errorf("got compute %v, want f32, bf16 or f16", c.Compute)
	case c.Learned && (c.Context < 1 || c.Context > most):
		return fmt.Errorf("got vectors of %d places, want a positive length", c.Context)
	case !known:
		return fmt.Errorf("got activation %q, want silu, gelu_tanh, gelu, relu, relu2 or xielu", c.Act)
	case c.Window < 0 || c.Local != nil && len(c.Local) != c.Layers:
		return fmt.Errorf("got a window of %d and %d kinds of layers, want 0 or more, and one kind for each of %d layers", c.Window, len(c.Local), c.Layers)
	case c.Single != nil && len(c.Single) != c.Layers:
		return fmt.Errorf("got %d layers with one part, want %d", len(c.Single), c.Layers)
	case c.Global.HeadDim%2 != 0 || c.Global.KVHeads < 0 || c.Global.KVHeads > 0 && c.Heads%c.Global.KVHeads != 0:
		return fmt.Errorf("got heads of %d and %d key heads without a window, want an even width and a divisor of %d heads", c.Global.HeadDim, c.Global.KVHeads, c.Heads)
	case c.LentKV < 0 || c.LentKV > c.Layers || c.needy():
		return fmt.Errorf("got %d of %d layers without keys, want layers of their kind before them", c.LentKV, c.Layers)
	case c.NoRope != nil && len(c.NoRope) != c.Layers:
		return fmt.Errorf("got %d layers with or without rotary positions, want %d", len(c.NoRope), c.Layers)
	}
	if err := c.together(); err != nil {
		return err
	}
	if err := cmp.Or(c.Mixture.check(c.Layers), c.Recurrent.check(c.Layers)); err != nil {
		return err
	}
	if err := c.Latent.check(c); err != nil {
		return err
	}
	numbers := map[string]float64{
		"eps": c.Eps, "norm plus": c.NormPlus, "embed scale": c.EmbedScale, "residual scale": c.ResidualScale, "head scale": c.HeadScale,
		"attention in": c.AttnIn, "attention scale": c.AttnScale, "mlp scale": c.MLPScale, "gate scale": c.GateScale,
		"scale": c.Scale, "score cap": c.ScoreCap, "clip": c.Clip, "logit cap": c.LogitCap, "expert scale": c.Mixture.Scale, "expert limit": c.Mixture.Limit, "balance": c.Mixture.Balance,
	}
	for name, x := range numbers {
		if !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("got %s %v, want a finite number of at least 0", name, x)
		}
	}
	if err := c.Rope.Check(cmp.Or(c.Global.HeadDim, c.HeadDim)); err != nil {
		return err
	}
	return c.localRope().Check(c.HeadDim)
}

// together says which two of the switches no model can have.
func (c Config) together() error {
	for _, wrong := range []struct {
		is   bool
		text string
	}{
		{c.Plain && c.JoinedMLP, "Plain and JoinedMLP, want a gate to be joined"},
		{c.BareNorm && (!c.LayerNorm || c.NormBias || c.NormPlus != 0 || c.HeadQKNorm), "BareNorm without LayerNorm, or with weights, want norms without"},
		{c.Clip > 0 && c.Latent.KV > 0, "Clip and Latent, want one of them"},
		{c.NormBias && !c.LayerNorm, "NormBias without LayerNorm, want norms that have one"},
		{(c.LentKV > 0 || c.Global != Global{} || c.VNorm) && (c.JoinedQKV || c.Latent.KV > 0 || c.GatedAttn || c.Recurrent.Kind != ""), "LentKV, Global or VNorm with another kind of attention, want q, k and v"},
		{c.Mixture.Apart && !(c.Mixture.Beside && c.Sandwich), "Mixture.Apart without Beside and Sandwich, want both"},
		{c.PostNorm && (c.Sandwich || c.Parallel), "PostNorm with Sandwich or Parallel, want one order of norms"},
		{c.Parallel && c.Sandwich, "Parallel and Sandwich, want one order of norms"},
		{(c.WideQKNorm || c.LateQKNorm || c.HeadQKNorm) && !c.QKNorm || c.WideQKNorm && c.LateQKNorm || c.HeadQKNorm && (c.WideQKNorm || c.LateQKNorm),
			"WideQKNorm, LateQKNorm or HeadQKNorm, want QKNorm and one of them"},
		{c.Mixture.Experts > 0 && (c.Plain && (c.Mixture.Bias || c.Mixture.Limit != 0) || c.JoinedMLP && !c.Mixture.Beside), "Mixture with JoinedMLP, or with Bias or Limit and Plain, want one of them"},
		{c.Act == xielu && (c.Mixture.Experts > 0 || c.Recurrent.Kind != "" || c.GateScale != 0), "xielu with Mixture, Recurrent or GateScale, want feed-forward layers"},
		{c.Mixture.Beside && c.Mixture.Dense != nil, "Mixture with Beside and Dense, want one of them"},
		{c.Single != nil && (c.Parallel || c.Sandwich || c.PostNorm), "Single with Parallel, Sandwich or PostNorm, want one norm"},
		{c.Bidirectional && c.Recurrent.Kind != "", "Bidirectional and Recurrent, want one of them"},
		{c.GroupedQKV && !c.JoinedQKV, "GroupedQKV without JoinedQKV, want both"},
		{c.BothNorms && !c.Parallel, "BothNorms without Parallel, want both"},
		{c.GatedAttn && c.JoinedQKV, "GatedAttn and JoinedQKV, want one of them"},
		{c.HeadBias && !c.Untied, "HeadBias without Untied, want an output matrix that has one"},
		{c.HeadBias && c.HeadScale != 0, "HeadBias and HeadScale, want one of them"},
	} {
		if wrong.is {
			return fmt.Errorf("got %s", wrong.text)
		}
	}
	return nil
}

// local says whether a layer's queries see only the window.
func (c Config) local(layer int) bool {
	return c.Window > 0 && (c.Local == nil || c.Local[layer])
}

func (c Config) localRope() nn.Rope {
	if c.LocalRope.Base == 0 {
		return c.Rope
	}
	return c.LocalRope
}
