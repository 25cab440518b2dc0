package train

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Numbers that mean nothing are refused by name. What is built in Go (layers, rules, schedules, a new model)
// panics with a *tensor.Error, as wrong shapes do; what can fail for other reasons, too (runs, files, data,
// whole models), returns an error.
func TestNumbersThatMeanNothing(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	rng := tensor.NewRNG(1)
	w := tensor.Ones(2, 3).Param()
	params := []nn.Param{nn.NewParam("w", &w)}
	step := func(r optim.Rule, rate float64, grads ...tensor.Tensor) func() {
		return func() { r.New(params).Update(grads, rate, tensor.Tensor{}) }
	}
	model := func(change func(c *llm.Config)) func() {
		c := llm.Config{Vocab: 8, Layers: 1, Width: 8, Heads: 2}
		change(&c)
		return func() { llm.New(c) }
	}
	panics := []struct {
		name string
		f    func()
		want string
	}{
		{"no inputs", func() { nn.NewLinear(0, 3) }, "nn.NewLinear: got in 0, want at least 1"},
		{"negative outputs", func() { nn.NewLinearBias(3, -1) }, "nn.NewLinearBias: got out -1, want at least 1"},
		{"negative length", func() { nn.NewLinearNormal(rng, -2, 3, 1) }, "nn.NewLinearNormal: got in -2"},
		{"NaN deviation", func() { nn.NewLinearNormal(rng, 2, 3, nan) }, "nn.NewLinearNormal: got deviation NaN"},
		{"negative deviation", func() { nn.NewEmbedding(rng, 2, 3, -1) }, "nn.NewEmbedding: got deviation -1"},
		{"no vocabulary", func() { nn.NewEmbedding(rng, 0, 3, 1) }, "nn.NewEmbedding: got vocabulary 0"},
		{"NaN eps", func() { nn.NewRMSNorm(3, nan) }, "nn.NewRMSNorm: got eps NaN"},
		{"negative width", func() { nn.NewRMSNorm(-3, 0) }, "nn.NewRMSNorm: got width -3"},
		{"infinite eps", func() { nn.NewLayerNorm(3, inf) }, "nn.NewLayerNorm: got eps +Inf"},
		{"no width", func() { nn.NewLayerNorm(0, 1e-5) }, "nn.NewLayerNorm: got width 0"},

		{"beta1 of 1", step(optim.AdamW{Beta1: 1}, 0.1), "optim.AdamW: got Beta1 1, want at least 0 and less than 1"},
		{"beta2 NaN", step(optim.AdamW{Beta2: nan}, 0.1), "optim.AdamW: got Beta2 NaN"},
		{"eps negative", step(optim.AdamW{Eps: -1e-8}, 0.1), "optim.AdamW: got Eps -1e-08, want a finite number of at least 0"},
		{"infinite decay", step(optim.AdamW{WeightDecay: inf}, 0.1), "optim.AdamW: got WeightDecay +Inf"},
		{"momentum of 1", step(optim.SGD{Momentum: 1}, 0.1), "optim.SGD: got Momentum 1"},
		{"negative decay", step(optim.SGD{WeightDecay: -1}, 0.1), "optim.SGD: got WeightDecay -1"},
		{"NaN rate", step(optim.SGD{}, nan, w), "optim.SGD: got learning rate NaN"},
		{"negative rate", step(optim.AdamW{}, -1, w), "optim.AdamW: got learning rate -1"},
		{"no gradients", step(optim.SGD{}, 0.1), "optim.SGD: got 0 gradients for 1 parameters"},
		{"a gradient that would broadcast", step(optim.SGD{}, 0.1, tensor.Ones(3)), "optim.SGD: got a gradient of shape [3] for w [2 3]"},
		{"clipping to NaN", func() { optim.ClipScale([]tensor.Tensor{w}, nan) }, "optim.ClipScale: got limit NaN"},
		{"clipping to less than 0", func() { optim.ClipScale([]tensor.Tensor{w}, -1) }, "optim.ClipScale: got limit -1"},
		{"a NaN rate", func() { optim.Constant(nan) }, "optim.Schedule: got Peak NaN"},
		{"a negative warm-up", func() { optim.Cosine(1e-3, -5, 10) }, "optim.Schedule: got Warmup -5"},
		{"a negative total", func() { optim.Linear(1e-3, 5, -10) }, "optim.Schedule: got Total -10"},

		{"negative rank", func() { lora.Wrap(nn.NewLinear(2, 2), lora.Config{Rank: -1}) }, "lora.Wrap: got rank -1"},
		{"NaN alpha", func() { lora.Wrap(nn.NewLinear(2, 2), lora.Config{Alpha: nan}) }, "lora.Wrap: got alpha NaN"},
		{"dropout above 1", func() { lora.Wrap(nn.NewLinear(2, 2), lora.Config{Dropout: 1.5}) }, "lora.Wrap: got dropout 1.5"},

		{"no vocabulary", model(func(c *llm.Config) { c.Vocab = 0 }), "llm.New: got vocab 0"},
		{"negative width", model(func(c *llm.Config) { c.Width = -8 }), "llm.New: got vocab 8, layers 1, width -8"},
		{"negative hidden", model(func(c *llm.Config) { c.Hidden = -8 }), "llm.New: got hidden -8"},
		{"heads that do not divide", model(func(c *llm.Config) { c.Heads = 3 }), "llm.New: got width 8 and 3 heads"},
		{"NaN eps", model(func(c *llm.Config) { c.Eps = nan }), "llm.New: got eps NaN"},
		{"negative rope", model(func(c *llm.Config) { c.Rope.Base = -1 }), "llm.New: got rope base -1"},
		{"a dtype of integers", model(func(c *llm.Config) { c.DType = dtype.I32 }), "llm.New: got dtype i32"},

		{"more than all of a text", func() { data.Split("abc", 1.5) }, "data.Split: got share 1.5"},
		{"a NaN share", func() { data.Split("abc", nan) }, "data.Split: got share NaN"},
	}
	for _, c := range panics {
		err := tensor.Try(c.f)
		var wrong *tensor.Error
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a *tensor.Error %q", c.name, err, c.want)
		}
	}

	run := func(change func(o *Options)) func() error {
		o := Options{Steps: 1, LR: optim.Constant(1e-3)}
		change(&o)
		return func() error { _, err := Run(t.Context(), newModel(), windows(), o); return err }
	}
	returns := []struct {
		name string
		f    func() error
		want string
	}{
		{"negative steps", run(func(o *Options) { o.Steps = -1 }), "train: got -1 steps"},
		{"negative clipping", run(func(o *Options) { o.Clip = -1 }), "train: got a Clip of -1"},
		{"NaN clipping", run(func(o *Options) { o.Clip = nan }), "train: got a Clip of NaN"},
		{"negative accumulation", run(func(o *Options) { o.Accumulate = -2 }), "train: got Accumulate -2"},
		{"negative evaluation", run(func(o *Options) { o.EvalEvery = -2 }), "train: got EvalEvery -2"},
		{"negative batches", run(func(o *Options) { o.EvalBatches = -2 }), "train: got EvalBatches -2"},
		{"negative checkpoints", run(func(o *Options) { o.CheckpointEvery = -2 }), "train: got CheckpointEvery -2"},
		{"negative number to keep", run(func(o *Options) { o.Keep = -2 }), "train: got Keep -2"},
		{"a schedule filled in by hand", run(func(o *Options) { o.LR.Floor = inf }), "train: LR: optim.Schedule: got Floor +Inf"},
		{"a shape that is none", run(func(o *Options) { o.LR.Shape = 7 }), "train: LR: optim.Schedule: got Shape 7"},
		{"a rule", run(func(o *Options) { o.Optimizer = optim.AdamW{Beta1: 2} }), "optim.AdamW: got Beta1 2"},
		{"an adapter", func() error { _, err := lora.Inject(newModel(), lora.Config{Rank: -1}); return err }, "got rank -1"},
		{"bits", func() error { _, err := quant.Quantize(w, quant.Config{Bits: 3}); return err }, "quant: got 3 bits"},
		{"groups", func() error { _, err := quant.Module(newModel(), quant.Config{Group: -32}); return err }, "quant: got groups of -32"},
		{"a window", func() error { _, err := data.Windows("text", -1, 1).Batch(0); return err }, "data: windows: got length -1"},
		{"tokens", func() error { _, err := newModel().Generate(t.Context(), "a", llm.Sampling{Tokens: -1}); return err }, "got -1 tokens"},
		{"temperature", func() error {
			_, err := newModel().Generate(t.Context(), "a", llm.Sampling{Temperature: nan})
			return err
		}, "got temperature NaN"},
	}
	for _, c := range returns {
		if err := c.f(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want the error %q", c.name, err, c.want)
		}
	}
}
