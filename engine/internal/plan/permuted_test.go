package plan_test

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A permuted tensor is multiplied where it lies: no launch copies it, and the results are those of the copy.
func TestProductOfPermuted(t *testing.T) {
	x := ready([]int{3, 5, 16}, []int{16, 6}, []int{16, 2}, []int{2, 6})
	for _, c := range []struct {
		name  string
		f     func(x tensor.Tensor) tensor.Tensor
		given tensor.Tensor
		want  string
	}{
		{"as it lies", func(y tensor.Tensor) tensor.Tensor { return y.MatMul(x[1]) }, x[0], "matmul"},
		{"permuted", func(y tensor.Tensor) tensor.Tensor { return y.MatMul(x[1]) }, x[0].Permute(1, 0, 2), "matmul"},
		{"permuted and evaluated", func(y tensor.Tensor) tensor.Tensor { return y.MatMul(x[1]) }, x[0].Permute(1, 0, 2).Eval(), "matmul"},
		{"a part of each row", func(y tensor.Tensor) tensor.Tensor { return y.MatMul(x[1]) }, ready([]int{3, 9, 20})[0].Slice(1, 2, 7).Slice(2, 1, 17), "matmul"},
		{"adapted", func(y tensor.Tensor) tensor.Tensor { return tensor.LoRALinear(y, x[1], x[2], x[3], 0.5) }, x[0], "lora_down lora_linear"},
		{"adapted, permuted", func(y tensor.Tensor) tensor.Tensor { return tensor.LoRALinear(y, x[1], x[2], x[3], 0.5) }, x[0].Permute(1, 0, 2), "matmul_mul matmul_add"},
	} {
		y := c.f(c.given)
		if got := strings.Join(launches(y), " "); got != c.want {
			t.Errorf("%s: launched %q, want %q", c.name, got, c.want)
		}
		rows := tensor.FromBytes(c.given.DType(), c.given.Bytes(), c.given.Shape()...)
		if d := tensor.MaxAbsDiff(y, c.f(rows)); d > 1e-5 {
			t.Errorf("%s: off by %g", c.name, d)
		}
	}
}

// So is its gradient.
func TestGradientOfPermuted(t *testing.T) {
	x, w := tensor.Randn(3, 5, 16).Param(), tensor.Randn(16, 6).Param()
	grads := func(y tensor.Tensor) []tensor.Tensor { return tensor.Grad(y.MatMul(w).Square().Sum(), x, w) }
	got, want := grads(x.Permute(1, 0, 2)), grads(x.Permute(1, 0, 2).Mul(1.0).Reshape(15, 16))
	for i := range got {
		if d := tensor.MaxAbsDiff(got[i], want[i]); d > 1e-3 {
			t.Errorf("gradient %d is off by %g", i, d)
		}
	}
	if names := launches(grads(x.Permute(1, 0, 2))...); strings.Contains(strings.Join(names, " "), "copy") {
		t.Errorf("launched %q", names)
	}
}
