package train

import (
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Batches that are changed by a function and made ahead give the same weights as without, bit by bit, also
// when the run goes on from a checkpoint with another number of them ahead.
func TestAheadGoesOnExactly(t *testing.T) {
	x := tensor.NewRNG(1).Randn(40, 3)
	changed := func() data.Source {
		return data.Map(data.Pairs(x, x.Square(), 8), func(b data.Batch, n int) data.Batch {
			return data.Batch{Inputs: b.Inputs.Add(tensor.Randn(8, 3).Mul(0.1)), Targets: b.Targets}
		})
	}
	run := func(source data.Source, steps int, dir string) ([]float64, string) {
		t.Helper()
		tensor.Seed(2)
		m := nn.NewMLP(3, 8, 3)
		h, err := Run(t.Context(), WithLoss(m, nn.MSELoss), source, Options{
			Steps: steps, LR: optim.Constant(1e-2), Seed: 3, Checkpoint: dir, Resume: dir != "",
		})
		if err != nil {
			t.Fatal(err)
		}
		return h.Loss, nn.Hash(nn.Params(m))
	}
	wantLoss, want := run(changed(), 12, "")
	dir := t.TempDir()
	run(data.Ahead(changed(), 3), 7, dir)
	loss, got := run(data.Ahead(changed(), 1), 12, dir)
	if !slices.Equal(loss, wantLoss) || got != want {
		t.Errorf("got losses %v, want %v, or other weights", loss, wantLoss)
	}
}
