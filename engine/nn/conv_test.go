package nn

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A network for MNIST, with the names and layouts that PyTorch's state_dict has for the same layers.
func TestConvNetwork(t *testing.T) {
	m := Sequential{
		NewConv2d(1, 8, 3, tensor.Conv{Padding: 1}), NewBatchNorm2d(8), ReLU(), MaxPool2d(2),
		NewConv2d(8, 16, 3, tensor.Conv{Stride: 2, Groups: 2}), ReLU(), GlobalAvgPool(), NewLinearBias(16, 10),
	}
	var got []string
	for _, p := range Params(m) {
		got = append(got, p.Name+" "+p.shapeInFile())
	}
	want := []string{
		"0.weight f32[8 1 3 3]", "0.bias f32[8]",
		"1.weight f32[8]", "1.bias f32[8]", "1.running_mean f32[8]", "1.running_var f32[8]", "1.num_batches_tracked i64[]",
		"4.weight f32[16 4 3 3]", "4.bias f32[16]", "7.weight f32[10 16]", "7.bias f32[10]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := m.Forward(tensor.Ones(5, 1, 28, 28)).Shape(); !slices.Equal(got, []int{5, 10}) {
		t.Errorf("got shape %v", got)
	}
	if trainable, all := len(Trainable(m)), len(Params(m)); trainable != all-3 {
		t.Errorf("%d of %d are trainable, want all but the running statistics", trainable, all)
	}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	SetTraining(m, true)
	m.Forward(tensor.Rand(5, 1, 28, 28)).Eval()
	SetTraining(m, false)
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	other := Sequential{
		NewConv2d(1, 8, 3, tensor.Conv{Padding: 1}), NewBatchNorm2d(8), ReLU(), MaxPool2d(2),
		NewConv2d(8, 16, 3, tensor.Conv{Stride: 2, Groups: 2}), ReLU(), GlobalAvgPool(), NewLinearBias(16, 10),
	}
	if err := other.Load(path); err != nil {
		t.Fatal(err)
	}
	if x := tensor.Rand(2, 1, 28, 28); Hash(Params(m)) != Hash(Params(other)) || !slices.Equal(m.Forward(x).Floats(), other.Forward(x).Floats()) {
		t.Error("a file does not bring back the network")
	}
}

func TestConvLayers(t *testing.T) {
	same := NewConv1d(4, 6, 5, tensor.Conv{Same: true, Groups: 2})
	same.Bias = tensor.Tensor{}
	for _, c := range []struct {
		layer Layer
		text  string
		x     []int
		want  []int
	}{
		{NewConv2d(3, 8, 3, tensor.Conv{Stride: 2, Padding: 1}), "Conv2d: in 3, out 8, kernel 3×3, stride 2, padding 1", []int{2, 3, 9, 9}, []int{2, 8, 5, 5}},
		{same, "Conv1d: in 4, out 6, kernel 5, groups 2, same, no bias", []int{2, 4, 9}, []int{2, 6, 9}},
		{NewConv3d(2, 4, 2), "Conv3d: in 2, out 4, kernel 2×2×2", []int{1, 2, 3, 3, 3}, []int{1, 4, 2, 2, 2}},
		{NewConvTranspose2d(4, 2, 2, tensor.Conv{Stride: 2}), "ConvTranspose2d: in 4, out 2, kernel 2×2, stride 2", []int{1, 4, 3, 3}, []int{1, 2, 6, 6}},
		{NewConvTranspose1d(4, 2, 3, tensor.Conv{Stride: 2, Padding: 1, OutputPadding: 1}), "ConvTranspose1d: in 4, out 2, kernel 3, stride 2, padding 1, output padding 1",
			[]int{1, 4, 5}, []int{1, 2, 10}},
		{MaxPool1d(2), "MaxPool1d: kernel 2", []int{1, 4, 5}, []int{1, 4, 2}},
		{AvgPool1d(2), "AvgPool1d: kernel 2", []int{1, 4, 5}, []int{1, 4, 2}},
		{AvgPool2d(3, tensor.Pool{Stride: 1}), "AvgPool2d: kernel 3", []int{1, 4, 5, 5}, []int{1, 4, 3, 3}},
		{AdaptiveAvgPool2d(1, 2), "AdaptiveAvgPool2d: 1×2", []int{1, 4, 5, 5}, []int{1, 4, 1, 2}},
		{NewBatchNorm2d(4), "BatchNorm: channels 4, eps 1e-05, momentum 0.1", []int{1, 4, 5, 5}, []int{1, 4, 5, 5}},
	} {
		if got := fmt.Sprint(c.layer); got != c.text {
			t.Errorf("got  %s\nwant %s", got, c.text)
		}
		if got := c.layer.Forward(tensor.Ones(c.x...)).Shape(); !slices.Equal(got, c.want) {
			t.Errorf("%s: got shape %v, want %v", c.text, got, c.want)
		}
	}
	for _, c := range []struct {
		f    func()
		want string
	}{
		{func() { NewConv2d(0, 1, 3) }, "nn.NewConv2d: got in 0, want at least 1"},
		{func() { NewConv2d(3, 4, 3, tensor.Conv{Groups: 2}) }, "nn.NewConv2d: got 3 channels in and 4 out in 2 groups, want groups that divide both"},
		{func() { MaxPool2d(0) }, "nn.MaxPool2d: got kernel 0, want at least 1"},
		{func() { NewBatchNorm2d(4).Forward(tensor.Ones(2, 3, 5, 5)) }, "nn.BatchNorm: got f32[2 3 5 5], want [N 4 …] with 4 axes"},
		{func() { n := NewBatchNorm1d(4); n.SetTraining(true); n.Forward(tensor.Ones(1, 4)) }, "nn.BatchNorm: got f32[1 4] in training, want at least 2 elements of each channel"},
	} {
		if err := tensor.Try(c.f); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// What torch.nn.BatchNorm1d answers in float64, in training and after two passes: see the numbers there.
func TestBatchNorm(t *testing.T) {
	x := tensor.From([]float32{1.25, 1, -1, 0.25, -0.25, 1.5, -0.5, 0.5, -0.75, -1.25, 0.75, 0}, 3, 2, 2).Param()
	weight := tensor.From([]float32{-0.75, -1, 1.25, -1.5, 0.75, -1.25, 0, 0.25, 0.5, -0.5, -0.25, 1}, 3, 2, 2)
	for _, compiled := range []bool{false, true} {
		n := NewBatchNorm1d(2)
		n.Weight.Set(tensor.From([]float32{0.5, -1.5}))
		n.Bias.Set(tensor.From([]float32{0.25, 1}))
		SetTraining(Sequential{n}, true)
		step := func(...tensor.Tensor) []tensor.Tensor {
			y := n.Forward(x)
			return append(tensor.Grad(y.Mul(weight).Sum(), x, n.Weight, n.Bias), y)
		}
		if compiled {
			step = tensor.Compile(step)
		}
		got := step()
		for i, want := range [][]float32{
			{0.0504986, -0.1256922, -0.8340351, 3.5953884, 0.4208402, -0.1301822, 1.3158046, -1.3158046, 0.1874158, -0.4028802, -0.5559433, -2.20541},
			{-3.0334086, -2.8355271}, {-2.25, 0.75},
			{0.7258288, 0.6068716, 3.5204686, 0.3698829, 0.0120856, 0.844786, 2.2602343, -0.2602343, -0.2258288, -0.4637432, -0.8903514, 1},
		} {
			near(t, fmt.Sprintf("compiled %v, result %d", compiled, i), got[i].Floats(), want)
		}
		near(t, "mean", n.Mean.Floats(), []float32{0.025, 0})
		near(t, "variance", n.Variance.Floats(), []float32{1.0325, 0.9425})
		step()
		near(t, "mean after two", n.Mean.Floats(), []float32{0.0475, 0})
		near(t, "variance after two", n.Variance.Floats(), []float32{1.06175, 0.89075})
		if got := n.Batches.Item(); got != 2 {
			t.Errorf("compiled %v: %v batches, want 2", compiled, got)
		}
		n.SetTraining(false)
		near(t, "afterwards", n.Forward(x).Floats(),
			[]float32{0.8335014, 0.7121913, 2.5893184, 0.6026704, 0.105641, 0.9548115, 1.7946592, 0.2053408, -0.1369791, -0.3795992, -0.1919888, 1})
	}
}
