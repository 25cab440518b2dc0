package train

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/quant"
)

// A model that was moved is trained, evaluated and asked where it lives, whatever the default device is, with
// the same bits as if it had stayed; the data need not know. A checkpoint is loaded onto the device of the
// model that it is for.
func TestModelOnAnotherDevice(t *testing.T) {
	other := device.CPU(1)
	build := func(on device.Device) *llm.Model {
		m := newModel()
		nn.To(m, on)
		return m
	}
	once := &fixed{} // batches that were made before, on the default device
	for i := range 3 {
		b, err := windows().Batch(i)
		if err != nil {
			t.Fatal(err)
		}
		once.list = append(once.list, b)
	}
	for _, c := range []struct {
		name string
		rule optim.Rule
		data data.Source
		with func(o *Options)
	}{
		{"AdamW", nil, windows(), func(*Options) {}},
		{"SGD", optim.SGD{Momentum: 0.9, WeightDecay: 0.1}, windows(), func(*Options) {}},
		{"clipped, in parts, evaluated", nil, windows(), func(o *Options) { o.Clip, o.Accumulate, o.Eval, o.EvalBatches = 0.5, 2, windows(), 1 }},
		{"compiled", nil, windows(), func(o *Options) { o.Compile = true }},
		{"compiled SGD", optim.SGD{Momentum: 0.9}, windows(), func(o *Options) { o.Compile = true }},
		{"data of its own", nil, once, func(*Options) {}},
	} {
		run := func(on device.Device) (weights string, losses []float64) {
			m, o := build(on), options(4)
			if c.rule != nil {
				o.Optimizer = c.rule
			}
			c.with(&o)
			h := mustRun(t, m, c.data, o)
			if nn.Device(m) != on {
				t.Errorf("%s: the weights are on %v, want %v", c.name, nn.Device(m), on)
			}
			for _, p := range h.Eval {
				h.Loss = append(h.Loss, p.Loss)
			}
			return nn.Hash(nn.Params(m)), h.Loss
		}
		weights, losses := run(device.Default())
		if w, l := run(other); w != weights || !slices.Equal(l, losses) {
			t.Errorf("%s: on %v the losses are %v, want %v", c.name, other, l, losses)
		}
	}
	o := options(4)
	o.Checkpoint, o.CheckpointEvery = t.TempDir(), 2
	half := o
	half.Steps = 2
	mustRun(t, build(device.Default()), windows(), half)
	o.Resume = true
	resumed := build(other)
	mustRun(t, resumed, windows(), o)
	whole := newModel()
	mustRun(t, whole, windows(), options(4))
	if nn.Device(resumed) != other || nn.Hash(nn.Params(resumed)) != nn.Hash(nn.Params(whole)) {
		t.Error("a run that went on from a checkpoint on another device has other weights than one that was never stopped")
	}
}

// Adapters, quantised layers and generation live where the model lives.
func TestAllOfAModelIsOnItsDevice(t *testing.T) {
	other := device.CPU(1)
	here, there := newModel(), newModel()
	nn.To(there, other)
	for _, m := range []*llm.Model{here, there} {
		if _, err := lora.Inject(m, lora.Config{Rank: 2, Dropout: 0.1, Targets: lora.AllLinear}); err != nil {
			t.Fatal(err)
		}
		mustRun(t, m, windows(), options(3))
	}
	onAll := func(what string) {
		t.Helper()
		for _, p := range nn.Params(there) {
			if p.Value().Device() != other {
				t.Errorf("%s: %v is on %v, want %v", what, p, p.Value().Device(), other)
			}
		}
		a, err := here.Generate(t.Context(), "the", llm.Sampling{Tokens: 8})
		b, failed := there.Generate(t.Context(), "the", llm.Sampling{Tokens: 8})
		if err != nil || failed != nil || a != b {
			t.Errorf("%s: generated %q, %v and %q, %v, want the same", what, a, err, b, failed)
		}
		if nn.Hash(nn.Params(there)) != nn.Hash(nn.Params(here)) {
			t.Errorf("%s: the weights differ", what)
		}
	}
	onAll("adapted")
	here, there = newModel(), newModel()
	nn.To(there, other)
	for _, m := range []*llm.Model{here, there} {
		if _, err := quant.Module(m, quant.Config{Bits: 8}); err != nil {
			t.Fatal(err)
		}
	}
	onAll("quantised")
	file := filepath.Join(t.TempDir(), "m.safetensors")
	if err := quant.Save(file, here); err != nil {
		t.Fatal(err)
	}
	there = newModel()
	nn.To(there, other)
	if err := quant.Load(file, there); err != nil {
		t.Fatal(err)
	}
	onAll("loaded")
	nn.To(there, device.Default())
	nn.To(there, other)
	onAll("moved twice")
}
