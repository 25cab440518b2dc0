package train

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Running statistics are part of a checkpoint, although no gradient changes them: a run that goes on ends as
// one that was never stopped. A replayed step changes them as any other does.
func TestRunningStatistics(t *testing.T) {
	x := tensor.Linspace(-1, 1, 256).Reshape(32, 2, 4)
	y := x.Square().Sum(1, 2)
	model := func() nn.Sequential {
		random := tensor.NewRNG(3)
		first, last := nn.NewConv1d(2, 3, 2), nn.NewLinearNormal(random, 3, 1, 0.5)
		first.Weight.Set(random.Randn(3, 2, 2))
		first.Bias.Set(random.Randn(3))
		return nn.Sequential{first, nn.NewBatchNorm1d(3), nn.ReLU(), nn.GlobalAvgPool(), last}
	}
	for _, compile := range []bool{false, true} {
		o := Options{Steps: 6, LR: optim.Constant(0.01), Compile: compile, Seed: 1}
		run := func(m nn.Sequential, o Options) string {
			mustRun(t, WithLoss(m, nn.MSELoss), data.Pairs(x, y.Reshape(32, 1), 8), o)
			return nn.Hash(nn.Params(m))
		}
		straight := model()
		want := run(straight, o)
		if n := straight[1].(*nn.BatchNorm); n.Batches.Item() != 6 {
			t.Errorf("compile %v: the norm has seen %v batches, want 6", compile, n.Batches.Item())
		}
		o.Checkpoint, o.Steps = t.TempDir(), 3
		run(model(), o)
		o.Resume, o.Steps = true, 6
		if got := run(model(), o); got != want {
			t.Errorf("compile %v: a run that was resumed ends with other weights or statistics", compile)
		}
	}
}
