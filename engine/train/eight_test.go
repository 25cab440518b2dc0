package train

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// Moments in 8 bits go through checkpoints and replayed steps without a change.
func TestMomentsIn8BitsGoOn(t *testing.T) {
	run := func(o Options) []float64 {
		t.Helper()
		o.LR, o.Clip, o.Optimizer, o.Seed = optim.Constant(1e-2), 1, optim.AdamW{Bits: 8}, 1
		m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Hidden: 144, Seed: 1})
		h, err := Run(context.Background(), m, data.Windows(text, 16, 4), o)
		if err != nil {
			t.Fatal(err)
		}
		return h.Loss
	}
	want := run(Options{Steps: 8})
	if got := run(Options{Steps: 8, Compile: true}); !slices.Equal(got, want) {
		t.Errorf("replayed: got %v, want %v", got, want)
	}
	dir := t.TempDir()
	run(Options{Steps: 5, Checkpoint: dir})
	if got := run(Options{Steps: 8, Checkpoint: dir, Resume: true}); !slices.Equal(got[len(got)-3:], want[5:]) {
		t.Errorf("from a checkpoint: got %v, want %v", got, want)
	}
	if want[7] >= want[0] {
		t.Errorf("got losses %v", want)
	}
}

// Weights in bf16 are trained whole by masters in f32: at a rate that rounding would lose the losses are
// those of weights in f32, and they go on with the same bits from a checkpoint, in replayed steps and after
// steps of several batches.
func TestWeightsInBF16AreTrainedWhole(t *testing.T) {
	run := func(dt dtype.Type, rule optim.Rule, o Options) ([]float64, string) {
		t.Helper()
		o.LR, o.Clip, o.Optimizer, o.Seed, o.Accumulate = optim.Constant(1e-4), 1, rule, 1, 2
		m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 64, Heads: 2, Hidden: 144, Seed: 1, DType: dt})
		h, err := Run(context.Background(), m, data.Windows(data.GoSource("sort"), 16, 4), o)
		if err != nil {
			t.Fatal(err)
		}
		return h.Loss, nn.Hash(nn.Params(m))
	}
	apart := func(a, b []float64) float64 {
		most := 0.0
		for i := range a {
			most = max(most, math.Abs(a[i]-b[i]))
		}
		return most
	}
	for _, c := range []struct {
		with, without optim.Rule
	}{
		{optim.AdamW{}, optim.AdamW{NoMasters: true}},
		{optim.AdamW{Bits: 8}, optim.AdamW{Bits: 8, NoMasters: true}},
	} {
		if c.with == (optim.AdamW{Bits: 8}) && !long.CI() {
			continue
		}
		const steps = 60
		wide, _ := run(dtype.F32, c.with, Options{Steps: steps})
		got, hash := run(dtype.BF16, c.with, Options{Steps: steps})
		lost, _ := run(dtype.BF16, c.without, Options{Steps: steps})
		if near, far := apart(got, wide), apart(lost, wide); near > far/3 {
			t.Errorf("%v: losses are up to %g from those of f32, without masters %g", c.with, near, far)
		}
		if c.with == (optim.AdamW{Bits: 8}) && !long.Tests() {
			continue // TestMomentsIn8BitsGoOn has them replayed and from a checkpoint
		}
		if again, same := run(dtype.BF16, c.with, Options{Steps: steps, Compile: true}); !slices.Equal(again, got) || same != hash {
			t.Errorf("%v, replayed: got other losses or weights", c.with)
		}
		dir := t.TempDir()
		run(dtype.BF16, c.with, Options{Steps: steps / 2, Checkpoint: dir})
		if again, same := run(dtype.BF16, c.with, Options{Steps: steps, Checkpoint: dir, Resume: true}); !slices.Equal(again, got) || same != hash {
			t.Errorf("%v, from a checkpoint: got other losses or weights", c.with)
		}
	}
}
