package nn

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
	for i := range got {
		if math.Abs(float64(got[i]-want[i])) > 1e-5 {
			t.Errorf("%s: got %v, want %v", what, got, want)
			return
		}
	}
}

func TestSequential(t *testing.T) {
	drop := NewDropout(0.5)
	m := Sequential{NewLinearBias(2, 3), ReLU(), drop, Sequential{NewLinear(3, 1)}}
	if got, want := names(Params(m)), []string{"0.weight", "0.bias", "3.0.weight"}; !slices.Equal(got, want) {
		t.Errorf("got weights %v, want %v", got, want)
	}
	if got := m.Forward(tensor.Ones(5, 2)).Shape(); !slices.Equal(got, []int{5, 1}) {
		t.Errorf("got shape %v", got)
	}
	if SetTraining(m, true); !drop.training {
		t.Error("the dropout has not heard of the training")
	}
	want := "Sequential: 4 layers\n  0 Linear: in 2, out 3, bias\n  1 ReLU\n  2 Dropout: p 0.5\n" +
		"  3 Sequential: 1 layer\n    0 Linear: in 3, out 1"
	if got := m.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	m[3] = NewLinear(3, 4) // a place is a slot
	if got := m.Forward(tensor.Ones(5, 2)).Shape(); !slices.Equal(got, []int{5, 4}) {
		t.Errorf("after an exchange: got shape %v", got)
	}
}

func TestNewMLP(t *testing.T) {
	m := NewMLP(2, 8, 4, 1)
	want := "Linear: in 2, out 8, bias; ReLU; Linear: in 8, out 4, bias; ReLU; Linear: in 4, out 1, bias"
	var got []string
	for _, l := range m {
		got = append(got, fmt.Sprint(l))
	}
	if strings.Join(got, "; ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	for _, widths := range [][]int{nil, {3}, {3, 0}} {
		if err := tensor.Try(func() { NewMLP(widths...) }); err == nil {
			t.Errorf("widths %v: no error", widths)
		}
	}
}

// The values are those of the functions' definitions.
func TestActivations(t *testing.T) {
	x := tensor.From([]float32{-1, 0, 2}, 3)
	e := math.E
	for _, c := range []struct {
		layer Layer
		name  string
		want  [3]float64
	}{
		{ReLU(), "ReLU", [3]float64{0, 0, 2}},
		{LeakyReLU(0.1), "LeakyReLU: slope 0.1", [3]float64{-0.1, 0, 2}},
		{ELU(2), "ELU: alpha 2", [3]float64{2*1/e - 2, 0, 2}},
		{GELU(), "GELU", [3]float64{-0.15865525, 0, 1.9544997}},
		{GELUTanh(), "GELUTanh", [3]float64{-0.15880801, 0, 1.9545977}},
		{SiLU(), "SiLU", [3]float64{-1 / (1 + e), 0, 2 / (1 + 1/e/e)}},
		{Sigmoid(), "Sigmoid", [3]float64{1 / (1 + e), 0.5, 1 / (1 + 1/e/e)}},
		{Tanh(), "Tanh", [3]float64{math.Tanh(-1), 0, math.Tanh(2)}},
		{Softplus(), "Softplus", [3]float64{math.Log1p(1 / e), math.Ln2, math.Log1p(e * e)}},
		{Softmax(0), "Softmax: axis 0", [3]float64{1 / (1 + e + e*e*e), e / (1 + e + e*e*e), e * e * e / (1 + e + e*e*e)}},
		{LogSoftmax(-1), "LogSoftmax: axis -1", [3]float64{-math.Log(1 + e + e*e*e), 1 - math.Log(1+e+e*e*e), 3 - math.Log(1+e+e*e*e)}},
	} {
		if got := fmt.Sprint(c.layer); got != c.name {
			t.Errorf("got name %q, want %q", got, c.name)
		}
		near(t, c.name, c.layer.Forward(x).Floats(), []float32{float32(c.want[0]), float32(c.want[1]), float32(c.want[2])})
	}
	if got := Flatten().Forward(tensor.Ones(2, 3, 4)).Shape(); !slices.Equal(got, []int{2, 12}) {
		t.Errorf("flatten: got %v, want [2 12]", got)
	}
}

func TestDropout(t *testing.T) {
	d, x := NewDropout(0.25), tensor.Ones(4000)
	if got := d.Forward(x).Sum().Item(); got != 4000 {
		t.Errorf("not in training: got the sum %v, want all elements", got)
	}
	d.SetTraining(true)
	kept := 0
	for _, v := range d.Forward(x).Floats() {
		if v != 0 && math.Abs(float64(v)-4.0/3) > 1e-6 {
			t.Fatalf("got %v, want 0 or 4/3", v)
		}
		if v != 0 {
			kept++
		}
	}
	if kept < 2800 || kept > 3200 {
		t.Errorf("kept %d of 4000 elements, want about 3000", kept)
	}
	for _, p := range []float64{-0.1, 1, math.NaN()} {
		if err := tensor.Try(func() { NewDropout(p) }); err == nil {
			t.Errorf("p %v: no error", p)
		}
	}
}

func TestLosses(t *testing.T) {
	x, y := tensor.From([]float32{0, 1, 4}, 3), tensor.From([]float32{0, 0.5, 1}, 3)
	logits := tensor.From([]float32{0, 0, 0, math.Ln2}, 2, 2)
	for _, c := range []struct {
		name             string
		loss             Loss
		outputs, targets tensor.Tensor
		want             float64
	}{
		{"mse", MSELoss, x, y, (0.25 + 9) / 3},
		{"l1", L1Loss, x, y, (0.5 + 3) / 3},
		{"huber 1", HuberLoss(1), x, y, (0.125 + 2.5) / 3},
		{"huber 4", HuberLoss(4), x, y, (0.125 + 4.5) / 3},
		{"cross-entropy", CrossEntropyLoss, logits, tensor.From([]int64{0, 1}, 2), (math.Ln2 + math.Log(1.5)) / 2},
		{"binary cross-entropy", BCEWithLogitsLoss, logits.Reshape(4), tensor.From([]float32{0, 1, 1, 1}, 4), (3*math.Ln2 + math.Log(1.5)) / 4},
	} {
		if got := c.loss(c.outputs, c.targets).Item(); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	for name, loss := range map[string]Loss{"MSELoss": MSELoss, "L1Loss": L1Loss, "HuberLoss": HuberLoss(1), "BCEWithLogitsLoss": BCEWithLogitsLoss} {
		err := tensor.Try(func() { loss(tensor.Ones(3, 1), tensor.Ones(3)) })
		want := "nn." + name + ": got outputs f32[3 1] and targets f32[3], want equal shapes"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A file has the weights as PyTorch's load_state_dict takes them.
func TestSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	m := Sequential{NewLinearBias(2, 3), Tanh(), NewLayerNorm(3, 1e-5), NewLinear(3, 3)}
	x := tensor.Randn(4, 2).Eval()
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	tensors, metadata, err := safetensors.Load(path)
	if err != nil || metadata["format"] != "pt" {
		t.Fatalf("got metadata %v, error %v", metadata, err)
	}
	w := tensors["0.weight"]
	if !slices.Equal(w.Shape(), []int{3, 2}) || len(tensors) != 5 {
		t.Errorf("got %d tensors, 0.weight %v", len(tensors), w.Shape())
	}
	near(t, "x·Wᵀ + b", x.MatMul(w.Transpose()).Add(tensors["0.bias"]).Floats(), m[0].Forward(x).Floats())

	other := Sequential{NewLinearBias(2, 3), Tanh(), NewLayerNorm(3, 1e-5), NewLinear(3, 3)}
	Freeze(other[2])
	if err := other.Load(path); err != nil {
		t.Fatal(err)
	}
	if Hash(Params(other)) != Hash(Params(m)) || !slices.Equal(other.Forward(x).Floats(), m.Forward(x).Floats()) {
		t.Error("the model that was loaded is not the one that was saved")
	}
	if got, want := names(Trainable(other)), []string{"0.weight", "0.bias", "3.weight"}; !slices.Equal(got, want) {
		t.Errorf("after loading, trainable are %v, want %v", got, want)
	}
	narrow := Sequential{NewLinearBias(2, 3), Tanh(), NewLayerNorm(3, 1e-5), NewLinear(3, 3)}
	Convert(narrow, dtype.BF16)
	if err := narrow.Load(path); err != nil || Params(narrow)[0].Value().DType() != dtype.BF16 {
		t.Errorf("a file of f32 for weights of bf16: got %v, error %v", Params(narrow)[0], err)
	}
}

func TestLoadRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := Save(path, Sequential{NewLinearBias(2, 3)}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		m    Module
		want string
	}{
		{"a shape", Sequential{NewLinearBias(3, 2)}, `tensor "0.weight": got f32[3 2], want f32[2 3]`},
		{"a weight that is missing", Sequential{NewLinearBias(2, 3), NewLinear(3, 4)}, `no tensor "1.weight", want f32[4 3]`},
		{"a tensor too many", Sequential{NewLinear(2, 3)}, `the model has no weights ["0.bias"]`},
	} {
		before := Hash(Params(c.m))
		err := Load(path, c.m)
		if want := "nn: " + path + ": " + c.want; err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", c.name, err, want)
		}
		if Hash(Params(c.m)) != before {
			t.Errorf("%s: the model was changed", c.name)
		}
	}
}

func TestAccuracy(t *testing.T) {
	logits := tensor.From([][]float32{{1, 2}, {3, 1}, {0, 5}, {2, 1}})
	for _, c := range []struct {
		targets tensor.Tensor
		want    float64
	}{
		{tensor.From([]int{1, 0, 1, 0}), 1},
		{tensor.From([]uint8{1, 1, 1, 1}), 0.5},
		{tensor.From([]int{1, 1, -100, -100}), 0.5},
	} {
		if got := Accuracy(logits, c.targets).Item(); got != c.want {
			t.Errorf("%v: got %v, want %v", c.targets, got, c.want)
		}
	}
	want := "nn.Accuracy: got logits f32[4 2] and targets f32[4], want [… V] and integers [… ]"
	if err := tensor.Try(func() { Accuracy(logits, tensor.Ones(4)) }); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
