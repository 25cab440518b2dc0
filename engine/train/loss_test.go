package train

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A line with noise: the run finds what least squares finds.
func TestWithLoss(t *testing.T) {
	for _, compile := range []bool{false, true} {
		x := tensor.Linspace(-1, 1, 64).Reshape(64, 1)
		y := x.Mul(3).Add(x.Mul(20).Sin().Mul(0.1)).Add(0.5)
		slope := y.Sub(y.Mean()).Mul(x).Sum().Item() / x.Square().Sum().Item()
		line := nn.NewLinearBias(1, 1)
		h, err := Run(context.Background(), WithLoss(line, nn.MSELoss), data.Pairs(x, y, 64), Options{
			Steps: 200, LR: optim.Linear(0.2, 0, 200), Optimizer: optim.SGD{Momentum: 0.9}, Compile: compile, Seed: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := line.Weight.Item(); math.Abs(got-slope) > 1e-3 {
			t.Errorf("compile %v: got slope %v, want %v", compile, got, slope)
		}
		if got := line.Bias.Item(); math.Abs(got-y.Mean().Item()) > 1e-3 {
			t.Errorf("compile %v: got bias %v, want %v", compile, got, y.Mean().Item())
		}
		if h.Tokens != 0 || !strings.Contains(h.String(), " examples/s") || h.Plot().YLabel != "" {
			t.Errorf("a regression has no tokens: %v", h)
		}
	}
}

type halved struct{ training []bool }

func (h *halved) Members() []nn.Member { return nil }
func (h *halved) SetTraining(on bool)  { h.training = append(h.training, on) }

func (h *halved) Forward(x tensor.Tensor) tensor.Tensor { return x.Mul(0.5) }

// The layer itself hears of the training, and models of the same layer share an interrupted run.
func TestWithLossIsItsLayer(t *testing.T) {
	h := &halved{}
	got, err := Evaluate(context.Background(), WithLoss(h, nn.L1Loss), data.Pairs(tensor.Ones(4, 1), tensor.Zeros(4, 1), 2), 2)
	if err != nil || got != 0.5 || len(h.training) != 1 || h.training[0] {
		t.Errorf("got loss %v, error %v, told %v; want 0.5 and false", got, err, h.training)
	}

	m := nn.NewMLP(1, 4, 1)
	source := data.Pairs(tensor.Randn(16, 1), tensor.Randn(16, 1), 4)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stops := func(outputs, targets tensor.Tensor) tensor.Tensor {
		cancel()
		return nn.MSELoss(outputs, targets)
	}
	o := Options{Steps: 3, LR: optim.Constant(1e-3), Seed: 1}
	_, err = Run(ctx, WithLoss(m, stops), source, o)
	var interrupted *Interrupted
	if !errors.As(err, &interrupted) {
		t.Fatalf("got %v, want an interrupt", err)
	}
	history, err := Run(context.Background(), WithLoss(m, nn.MSELoss), source, o)
	if err != nil || history.Steps() != 3 {
		t.Errorf("got %v, error %v, want 3 steps", history, err)
	}
}
