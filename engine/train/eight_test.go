package train

import (
	"context"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/optim"
)

// Moments in 8 bits go through checkpoints and replayed steps without a change.
func TestMomentsIn8BitsGoOn(t *testing.T) {
	run := func(o Options) []float64 {
		t.Helper()
		o.LR, o.Clip, o.Optimizer, o.Seed = optim.Constant(1e-2), 1, optim.AdamW{Bits: 8}, 1
		m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Hidden: 144, Seed: 1})
		h, err := Run(context.Background(), m, data.Windows(data.GoSource("sort"), 16, 4), o)
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
