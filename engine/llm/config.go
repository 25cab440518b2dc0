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

	QKVBias    bool    // q, k and v add a bias (Qwen 2)
	OutBias    bool    // attention's output adds one (Llama's attention_bias is both)
	MLPBias    bool    // the feed-forward layers add one
	QKNorm     bool    // queries and keys are normalised, head by head (Qwen 3, Gemma 3)
	Joined     bool    // q, k and v are one matrix, gate and up another (Phi 3)
	Sandwich   bool    // norms follow attention and feed-forward layer, too (Gemma 2 and 3)
	NormPlus   float64 // what norms add to their weight: 1 in Gemma
	EmbedScale float64 // factor of the embedding's vectors, √Width in Gemma; 0 means 1
	Act        string  // "silu", "gelu_tanh" or "gelu"; empty means silu
	Scale      float64 // of attention's scores; 0 means 1/√HeadDim
	ScoreCap   float64 // attention's scores become cap·tanh(scores/cap) (Gemma 2); 0: they do not
	LogitCap   float64 // and so do the model's
	Window     int     // keys that a query sees; 0: all before it
	Local      []bool  // which layers have the window; nil: all

	DType dtype.Type // of the matrices, F32, BF16 or F16; Invalid means F32
	// Compute is the type of what goes from layer to layer, and of its gradients: F32, BF16 or F16; Invalid
	// means F32. Sums, the statistics of norms and losses are in f32 in any case, and parameters keep their
	// own types, so adapters and optimizers stay in f32. It stands here because each layer computes in the
	// type of its input: the one place that chooses is where a model turns tokens into vectors. It may be
	// changed at any time.
	Compute dtype.Type

	Checkpoint bool // gradients compute each block again instead of keeping what it computed: see tensor.Checkpoint
}

func (c Config) withDefaults() Config {
	c.KVHeads = cmp.Or(c.KVHeads, c.Heads)
	if c.HeadDim == 0 && c.Heads > 0 {
		c.HeadDim = c.Width / c.Heads
	}
	c.Hidden = cmp.Or(c.Hidden, (8*c.Width/3+31)/32*32)
	c.Eps = cmp.Or(c.Eps, 1e-5)
	c.Rope.Base = cmp.Or(c.Rope.Base, 10000)
	return c
}

// activations are the functions of the gate by their names in Config.
var activations = map[string]nn.Func{"": {}, "silu": {}, "gelu_tanh": nn.GELUTanh(), "gelu": nn.GELU()}

// check says what no model can have. The defaults are filled in.
func (c Config) check() error {
	const most = 1 << 31 // of any length: products of two lengths stay far below 2⁶³
	lengths := map[string]int{"vocab": c.Vocab, "layers": c.Layers, "width": c.Width, "heads": c.Heads, "kv heads": c.KVHeads, "head dim": c.HeadDim, "hidden": c.Hidden}
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
	case !known:
		return fmt.Errorf("got activation %q, want silu, gelu_tanh or gelu", c.Act)
	case c.Window < 0 || c.Local != nil && len(c.Local) != c.Layers:
		return fmt.Errorf("got a window of %d and %d kinds of layers, want 0 or more, and one kind for each of %d layers", c.Window, len(c.Local), c.Layers)
	}
	for name, x := range map[string]float64{"eps": c.Eps, "norm plus": c.NormPlus, "embed scale": c.EmbedScale, "scale": c.Scale, "score cap": c.ScoreCap, "logit cap": c.LogitCap} {
		if !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("got %s %v, want a finite number of at least 0", name, x)
		}
	}
	if err := c.Rope.Check(c.HeadDim); err != nil {
		return err
	}
	return c.localRope().Check(c.HeadDim)
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
