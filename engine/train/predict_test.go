package train

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// TestPredict: memory is what the device's peak then is, within 15 percent but for the old weights that
// Go's collector finds sooner, and the prediction changes nothing.
func TestPredict(t *testing.T) {
	dev := device.CPU(3) // nothing else is on it
	type call func(ctx context.Context, m Model, d data.Source, o Options) error
	byLoRA := func(ctx context.Context, m Model, d data.Source, o Options) error {
		_, err := LoRA(ctx, m, d, o)
		return err
	}
	byFull := func(ctx context.Context, m Model, d data.Source, o Options) error {
		_, err := Full(ctx, m, d, o)
		return err
	}
	rank := lora.Config{Rank: 8}
	found := map[string]*Estimate{}
	for _, c := range []struct {
		name    string
		config  llm.Config
		o       Options
		predict func(context.Context, Model, data.Source, Options) (*Estimate, error)
		run     call
		runs    func() bool // nil: always; other rows have each word of its name
	}{
		{"an adapter", llm.Config{}, Options{LoRA: rank}, PredictLoRA, byLoRA, nil},
		{"blocks computed twice", llm.Config{Checkpoint: true}, Options{LoRA: rank}, PredictLoRA, byLoRA, nil},
		{"with dropout", llm.Config{}, Options{LoRA: lora.Config{Rank: 8, Dropout: 0.1}}, PredictLoRA, byLoRA, long.CI},
		{"in parts", llm.Config{}, Options{LoRA: rank, Accumulate: 3}, PredictLoRA, byLoRA, long.Tests},
		{"replayed", llm.Config{}, Options{LoRA: rank, Compile: true}, PredictLoRA, byLoRA, long.Tests},
		{"all weights", llm.Config{}, Options{}, PredictFull, byFull, nil},
		{"all weights in bf16", llm.Config{DType: dtype.BF16}, Options{}, PredictFull, byFull, long.Tests},
		{"all weights in bf16, in parts", llm.Config{DType: dtype.BF16}, Options{Accumulate: 2}, PredictFull, byFull, nil},
		{"all weights in bf16, 8 bits", llm.Config{DType: dtype.BF16}, Options{Optimizer: optim.AdamW{Bits: 8}}, PredictFull, byFull, long.CI},
		{"all weights, replayed", llm.Config{}, Options{Compile: true}, PredictFull, byFull, long.CI},
		{"all weights, in parts", llm.Config{}, Options{Accumulate: 2}, PredictFull, byFull, long.Tests},
		{"all weights by SGD", llm.Config{}, Options{Optimizer: optim.SGD{}}, PredictFull, byFull, long.CI},
	} {
		if c.runs != nil && !c.runs() {
			continue
		}
		tensor.Within(device.On(t.Context(), dev), func() {
			c.config.Vocab, c.config.Layers, c.config.Width, c.config.Heads, c.config.Hidden, c.config.Seed = 512, 4, 128, 4, 256, 1
			m := llm.New(c.config)
			m.To(dev)
			o := c.o
			o.Steps, o.Seed = 4, 1
			source := data.Windows(text, 64, 4)
			before := nn.Hash(nn.Params(m))
			state := tensor.DefaultRNG().State()
			for range 3 {
				runtime.GC()
			}
			dev.FreeCache()
			e, err := c.predict(t.Context(), m, source, o)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			found[c.name] = e
			if nn.Hash(nn.Params(m)) != before || len(lora.Of(m)) != 0 || tensor.DefaultRNG().State() != state {
				t.Errorf("%s: the prediction changed the model or the generator", c.name)
			}
			if e.Step <= 0 || e.Measured == 0 || e.Flops <= 0 || e.Tokens != 64*4*max(1, o.Accumulate) {
				t.Errorf("%s: got %+v", c.name, e)
			}
			for range 3 {
				runtime.GC()
			}
			dev.FreeCache()
			dev.ResetPeak()
			if err := c.run(t.Context(), m, source, o); err != nil {
				t.Fatal(err)
			}
			peak := dev.Memory().Peak
			// How many old weights wait is up to Go's collector, which may run at any moment: from none to
			// all.
			least, most := float64(e.Peak-e.Waiting)/float64(peak)-1, float64(e.Peak)/float64(peak)-1
			if most < -0.15 || least > 0.15 {
				t.Errorf("%s: predicted %d bytes, and the peak was %d: %+.0f %%, without old weights %+.0f %%\n%v", c.name, e.Peak, peak, 100*most, 100*least, e)
			}
			t.Logf("%s: %+.1f %%, without old weights %+.1f %% of %d KiB\n%v", c.name, 100*most, 100*least, peak>>10, e)
			if sum := e.Weights + e.Optimizer + e.Gradients + e.Activations + e.Waiting + e.Other; math.Abs(float64(sum-e.Peak)) > 0.01*float64(e.Peak) {
				t.Errorf("%s: the parts are %d bytes together, want the peak's %d", c.name, sum, e.Peak)
			}
		})
	}
	adapter, all, twice := found["an adapter"], found["all weights"], found["blocks computed twice"]
	if 10*adapter.Flops > 8*all.Flops || adapter.Optimizer > all.Optimizer/8 {
		t.Errorf("a step of the adapter computes %d flops, of all weights %d: the gradients of frozen weights are not left out", adapter.Flops, all.Flops)
	}
	if 2*twice.Activations > adapter.Activations || twice.Flops <= adapter.Flops {
		t.Errorf("blocks computed twice keep %d bytes, otherwise %d, want less than half", twice.Activations, adapter.Activations)
	}
}

// TestPredictTooMuch: what the memory does not suffice for is said, and no time.
func TestPredictTooMuch(t *testing.T) {
	e := Estimate{Peak: 2 << 30, Total: 1 << 30, Steps: 3}
	if text := e.Text(0); !strings.Contains(text, "2.0 GiB at most of 1.0 GiB, which is too much") || !strings.Contains(text, "not measured for 3 steps: the memory does not suffice") {
		t.Errorf("got %q", text)
	}
}
