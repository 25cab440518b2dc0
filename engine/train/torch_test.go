package train

import (
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// whole gives all examples in each batch, in their order.
type whole data.Batch

func (w whole) Batch(int) (data.Batch, error) { return data.Batch(w), nil }
func (w whole) Fingerprint() string           { return "whole" }

// 50 steps of a network give PyTorch's losses and weights (tests/peers/nn_modules.py), with PyTorch's weights
// at the start.
func TestTrainingIsTorchs(t *testing.T) {
	all, _, err := safetensors.Load("testdata/torch.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	smoothed := func(outputs, targets tensor.Tensor) tensor.Tensor {
		return tensor.CrossEntropy(outputs, targets, tensor.CrossEntropyOptions{Smoothing: 0.1})
	}
	for _, c := range []struct {
		name, targets string
		rule          optim.Rule
		rate          float64
		loss          nn.Loss
	}{
		{"sgd", "y", optim.SGD{}, 0.05, nn.MSELoss},
		{"momentum", "y", optim.SGD{Momentum: 0.9, WeightDecay: 0.01}, 0.02, nn.MSELoss},
		{"nesterov", "y", optim.SGD{Momentum: 0.9, Nesterov: true}, 0.02, nn.MSELoss},
		{"adam", "y", optim.AdamW{}, 0.01, nn.MSELoss},
		{"adamw", "y", optim.AdamW{Beta1: 0.8, Beta2: 0.99, WeightDecay: 0.1}, 0.01, nn.MSELoss},
		{"classes", "class", optim.AdamW{}, 0.01, smoothed},
	} {
		for _, compile := range []bool{false, true} {
			m := nn.Sequential{nn.NewLinearBias(3, 16), nn.Tanh(), nn.NewLinearBias(16, 2)}
			if err := m.Load("testdata/model.safetensors"); err != nil {
				t.Fatal(err)
			}
			h, err := Run(t.Context(), WithLoss(m, c.loss), whole{Inputs: all["x"], Targets: all[c.targets]}, Options{
				Steps: 50, LR: optim.Constant(c.rate), Optimizer: c.rule, Compile: compile,
			})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			worst := 0.0
			for i, want := range all[c.name+"/loss"].Floats() {
				off := math.Abs(h.Loss[i]/float64(want) - 1)
				if worst = max(worst, off); off > 1e-5 {
					t.Errorf("%s, compile %v: step %d: got loss %v, want PyTorch's %v", c.name, compile, i+1, h.Loss[i], want)
					break
				}
			}
			for _, p := range nn.Params(m) {
				got, want := p.Value(), all[c.name+"/"+p.Name]
				if got.Rank() == 2 {
					got = got.Transpose()
				}
				if diff, most := tensor.MaxAbsDiff(got, want), want.Abs().Max().Item(); diff > 1e-5*most {
					t.Errorf("%s, compile %v: %s differs by %g, the largest is %g", c.name, compile, p.Name, diff, most)
				}
			}
			t.Logf("%s: losses within %.1e", c.name, worst)
		}
	}
}
