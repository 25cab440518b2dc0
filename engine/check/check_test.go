package check

import (
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// TestClose: what is near enough passes, and what is not is said with its place and a reason.
func TestClose(t *testing.T) {
	nan := math.NaN()
	ones := tensor.Ones
	of := func(v ...float32) tensor.Tensor { return tensor.From(v) }
	type floats []float64
	for _, c := range []struct {
		name      string
		got, want any
		says      string // "" passes
	}{
		{"tensors", of(1, 2), of(1, 2), ""},
		{"rounding", of(0.3), []float64{0.1 + 0.2}, ""},
		{"numbers", 0.1 + 0.2, 0.3, ""},
		{"a number and an item", ones(3).Sum().Item(), 3, ""},
		{"a tensor and a number", ones(3).Sum(), 3, ""},
		{"a tensor and slices", ones(2, 3), [][]float32{{1, 1, 1}, {1, 1, 1}}, ""},
		{"a named slice", floats{1, 2}, of(1, 2), ""},
		{"empty", []float64{}, tensor.Zeros(0), ""},
		{"NaN and NaN", of(1, float32(nan)), []float64{1, nan}, ""},
		{"infinity", math.Inf(1), math.Inf(1), ""},
		{"bf16", ones(4).Mul(1.01).Cast(dtype.BF16), ones(4).Cast(dtype.BF16), ""},
		{"complex", tensor.Complex(of(1), of(2)), []complex128{1 + 2i}, ""},
		{"lists", []tensor.Tensor{of(1), of(2)}, []tensor.Tensor{of(1), of(2)}, ""},

		{"no axis", ones(3), 3, "got shape [3], want [] (a sum over all elements has no axis)"},
		{"an axis", ones(3).Sum(), ones(3), "got shape [], want [3] (a sum over one axis keeps the others)"},
		{"kept", ones(2, 1), ones(2), "got shape [2 1], want [2] (an axis of length 1 too many: Squeeze removes it)"},
		{"not kept", ones(2), ones(2, 1), "an axis of length 1 is missing"},
		{"one too many", ones(1), 1, "got shape [1], want [] (an axis of length 1 too many"},
		{"transposed", ones(2, 3), ones(3, 2), "the axes are in another order"},
		{"reshaped", ones(2, 6), ones(3, 4), "as many elements, arranged otherwise"},
		{"no reduction", ones(2, 3), ones(3), "got shape [2 3], want [3] (axis 0 is too many)"},
		{"one reduction more", ones(3), ones(3, 4), "axis 1 of the wanted shape is missing"},
		{"another length", ones(2, 3), ones(2, 4), "got shape [2 3], want [2 4]"},
		{"huge", tensor.Ones(1<<20).Expand(1<<20, 1<<20), 1, "got shape [1048576 1048576], want []"},
		{"dtype", ones(2).Cast(dtype.F64), ones(2), "got f64, want f32"},
		{"a value", of(1, 2, 4), of(1, 2, 3), "got 4 at [2], want 3 (1 of 3 elements differ)"},
		{"two axes", tensor.From([][]float32{{1, 2}, {9, 4}}), [][]int{{1, 2}, {3, 4}}, "got 9 at [1 0], want 3 (1 of 4 elements differ)"},
		{"a factor", of(3, 6, 9), of(1, 2, 3), "got 9 at [2], want 3 (each is 3 times what is wanted)"},
		{"a sign", of(-1, -2), of(1, 2), "each is -1 times what is wanted"},
		{"a number", 2.5, 3, "got 2.5, want 3"},
		{"an integer", 4, 3, "got 4, want 3"},
		{"a bool", tensor.From([]bool{true, true}), []bool{true, false}, "got true at [1], want false"},
		{"NaN", of(1, float32(nan)), of(1, 2), "got NaN at [1], want 2"},
		{"a small value", of(0, 0), []float64{1e-7, 2e-7}, "got 0 at [1], want 2e-07"},
		{"beyond 2⁵³", tensor.From([]int{1<<53 + 1}), tensor.From([]int{1 << 53}), "got 9007199254740992, want"},
		{"nothing", tensor.Tensor{}, 1, "got no tensor (is there a return without a value?)"},
		{"nil", nil, 1, "got nil, which is no number"},
		{"a text", "3", 3, "got string, which is no number"},
		{"uneven", [][]int{{1}, {1, 2}}, 1, "got slices of different lengths"},
		{"the check", 1, "1", "the check wants string, which is no number: a mistake of the check"},
		{"a list", []tensor.Tensor{of(1), of(3)}, []tensor.Tensor{of(1), of(2)}, "[1]: got 3, want 2"},
		{"lists of two lengths", []tensor.Tensor{of(1)}, []tensor.Tensor{}, "got 1 tensor, want 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := New()
			Close(k, c.got, c.want)
			says(t, k, c.says)
		})
	}
}

func says(t *testing.T, k *T, want string) {
	t.Helper()
	switch err := k.Done(); {
	case err == nil && want != "":
		t.Errorf("passes, want %q; notes: %q", want, k.Notes())
	case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestOthers(t *testing.T) {
	x := tensor.Ones(64).Eval()
	late := tensor.Ones(3).Take(tensor.From([]int{7}), 0)
	quick := func() { x.Add(1).Eval() }
	slow := func() { tensor.Ones(256, 256).MatMul(tensor.Ones(256, 256)).Eval() }
	for _, c := range []struct {
		name  string
		check func(k *T)
		says  string
	}{
		{"a tolerance", func(k *T) { CloseTo(k, 1.05, 1, 0.1) }, ""},
		{"beyond it", func(k *T) { CloseTo(k, 1.2, 1, 0.1) }, "got 1.2, want 1"},
		{"no tolerance", func(k *T) { Equal(k, float32(1.0000001), float32(1)) }, "got 1.0000001, want 1"},
		{"two kinds of number", func(k *T) { Equal(k, int64(3), 3) }, ""},
		{"texts", func(k *T) { Equal(k, "a\nb", "ab") }, `got "a\nb", want "ab"`},
		{"long texts", func(k *T) { Equal(k, strings.Repeat("a", 1<<20), "b") }, `aaa…, want "b"`},
		{"types", func(k *T) { Equal(k, "3", []string{"3"}) }, "got string, want []string"},
		{"maps", func(k *T) { Equal(k, map[string]int{"a": 1}, map[string]int{"a": 1}) }, ""},
		{"a statement", func(k *T) { That(k, false, "softmax of large numbers overflows") }, "softmax of large numbers overflows"},
		{"a label", func(k *T) { Label(k, "n = 3"); Close(k, 1, 2); Label(k, ""); Close(k, 3, 4) }, "n = 3: got 1, want 2\ngot 3, want 4"},
		{"many", func(k *T) {
			for i := range 100 {
				Close(k, i, -1)
			}
		}, "got 9, want -1\n… and 90 more"},
		{"evaluation", func(k *T) { Close(k, late, tensor.Ones(1)) }, "index"},

		{"one launch", func(k *T) { Launches(k, func() { x.Exp().Add(1).Log() }, 1) }, ""},
		{"two launches", func(k *T) { Launches(k, func() { x.Exp().Eval().Sum() }, 1) }, "got 2 launches, want at most 1: "},
		{"what is given", func(k *T) {
			y := x.MatMul(x)
			Launches(k, func() { y.Add(1) }, 1)
		}, ""},
		{"a wrong shape", func(k *T) { Launches(k, func() { x.Add(tensor.Ones(3)) }, 1) }, "add: got f32[64] and f32[3]"},
		// A machine that is busy may take ten times as long for either; it does not take a thousand times.
		{"slower", func(k *T) {
			Faster(k, func() {
				for range 10 {
					slow()
				}
			}, quick, 4)
		}, "the teacher's time, want at most 4×"},
		{"as fast", func(k *T) { Faster(k, slow, slow, 50) }, ""},
		{"fails", func(k *T) { Faster(k, func() { x.Add(tensor.Ones(3)) }, slow, 50) }, "add: got f32[64] and f32[3]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := New()
			c.check(k)
			says(t, k, c.says)
		})
	}
}
