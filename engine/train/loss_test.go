package train

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
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
		if h.Tokens != 0 || !strings.Contains(h.String(), " samples/s") || h.Plot().YLabel != "" {
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

// An evaluation shows what was asked for beside the loss, and a checkpoint keeps it.
func TestMetrics(t *testing.T) {
	x := tensor.FromAs(dtype.F32, []int{-3, -2, -1, 1, 2, 3}, 6, 1)
	y := x.Gt(0).Cast(dtype.I64).Reshape(6)
	source := data.Pairs(x, y, 6)
	m := nn.NewLinearBias(1, 2)
	o := Options{
		Steps: 60, LR: optim.Constant(0.1), Seed: 1, Eval: source, EvalEvery: 30, EvalBatches: 2, Checkpoint: t.TempDir(), Resume: true,
		Metrics: map[string]nn.Loss{"accuracy": nn.Accuracy, "a second": nn.CrossEntropyLoss},
	}
	h, err := Run(context.Background(), WithLoss(m, nn.CrossEntropyLoss), source, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Eval) != 2 || h.Eval[1].Metrics["accuracy"] != 1 || h.Eval[1].Metrics["a second"] != h.Eval[1].Loss {
		t.Errorf("got %+v, want two evaluations, at last an accuracy of 1 and the loss twice", h.Eval)
	}
	if text := h.Text(0); !strings.Contains(text, "on other data "+lossText(h.Eval[1].Loss)+", a second "+lossText(h.Eval[1].Loss)+", accuracy 1.000 ·") {
		t.Errorf("got %s", text)
	}
	again, err := Run(context.Background(), WithLoss(nn.NewLinearBias(1, 2), nn.CrossEntropyLoss), source, o)
	if !math.IsNaN(again.Metric("precision")) || !math.IsNaN(new(History).Metric("accuracy")) {
		t.Error("there is a metric that was not asked for")
	}
	if err != nil || again.Examples != 360 || again.Metric("accuracy") != 1 {
		t.Errorf("resumed: got %+v, error %v, want 360 examples and the metrics", again, err)
	}
}

type plain struct{ nn.Module }

func (plain) Loss(inputs, targets tensor.Tensor) tensor.Tensor { return inputs.Mean() }

func TestMetricsRefused(t *testing.T) {
	m, source := nn.NewLinearBias(1, 1), data.Pairs(tensor.Ones(2, 1), tensor.Ones(2, 1), 1)
	for _, c := range []struct {
		m    Model
		eval data.Source
		want string
	}{
		{WithLoss(m, nn.MSELoss), nil, "train: got Metrics without Eval"},
		{plain{m}, source, "train: Metrics want outputs, and train.plain has no method Forward: make the model with train.WithLoss"},
	} {
		o := Options{Steps: 1, LR: optim.Constant(0.1), Eval: c.eval, Metrics: map[string]nn.Loss{"l1": nn.L1Loss}}
		if _, err := Run(context.Background(), c.m, source, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// An evaluation of as many batches as an epoch has, or of more, is over each row once.
func TestEvaluateOnce(t *testing.T) {
	m := &halved{}
	x := tensor.Range(5).Cast(dtype.F32).Reshape(5, 1)
	share := func(_, x tensor.Tensor) tensor.Tensor { return x.Ge(4).Cast(dtype.F32).Mean() }
	test := data.Pairs(x, x, 4)
	for _, source := range []data.Source{test, data.Map(test, func(b data.Batch, _ int) data.Batch { return b }), data.Pairs(x, x, 8)} {
		for _, batches := range []int{0, 2, 3, 9} {
			got, err := Evaluate(context.Background(), WithLoss(m, share), source, batches)
			if err != nil || math.Abs(got-0.2) > 1e-6 {
				t.Errorf("%v, %d batches: got %v and %v, want 0.2", source, batches, got, err)
			}
		}
	}
}
