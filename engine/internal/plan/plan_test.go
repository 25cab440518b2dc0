package plan_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Launch counts are a property of the planner, so the reference device will do.
func TestMain(m *testing.M) {
	if err := device.Use("ref"); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// launches evaluates the tensors and returns the kernels' names.
func launches(ts ...tensor.Tensor) []string {
	r := profile.Record(context.Background(), func(context.Context) { tensor.Eval(ts...) })
	var names []string
	for _, k := range r.Kernels {
		names = append(names, slices.Repeat([]string{k.Name}, k.Launches)...)
	}
	return names
}

// ready returns evaluated random tensors.
func ready(shapes ...[]int) []tensor.Tensor {
	var ts []tensor.Tensor
	for _, s := range shapes {
		ts = append(ts, tensor.Randn(s...))
	}
	tensor.Eval(ts...)
	return ts
}

func TestLaunches(t *testing.T) {
	meanLoss := func(x tensor.Tensor) tensor.Tensor {
		return tensor.CrossEntropy(x, tensor.From([]int{1, -100, 3, 0}).Eval(), tensor.CrossEntropyOptions{})
	}
	for _, c := range []struct {
		name    string
		build   func() []tensor.Tensor
		want    string // kernels, in order
		unfused int    // launches with fusion off
	}{
		{"elementwise chain", func() []tensor.Tensor {
			x := ready([]int{4, 5}, []int{4, 5})
			return []tensor.Tensor{x[0].Mul(2).Add(x[1]).Exp().Sub(1)}
		}, "map_mul_add_exp_sub", 4},
		{"a bare op", func() []tensor.Tensor {
			return []tensor.Tensor{ready([]int{3})[0].Exp()}
		}, "exp", 1},
		{"two results of one chain", func() []tensor.Tensor {
			x := ready([]int{4, 5})[0].Exp()
			return []tensor.Tensor{x, x.Mul(x)}
		}, "map_exp_mul", 2},
		{"broadcasting a row and a column", func() []tensor.Tensor {
			x := ready([]int{4, 5}, []int{5}, []int{4, 1})
			return []tensor.Tensor{x[0].Add(x[1]).Mul(x[2])}
		}, "map_add_mul", 2},
		{"transposed operands", func() []tensor.Tensor {
			x := ready([]int{4, 5}, []int{5, 4})
			return []tensor.Tensor{x[0].Exp().Transpose().Add(x[1])}
		}, "map_exp_add", 2},
		{"a view of stored data", func() []tensor.Tensor {
			return []tensor.Tensor{ready([]int{4, 5})[0].Transpose().Slice(0, 1, 3)}
		}, "", 0},
		{"a reshape that needs a copy", func() []tensor.Tensor {
			return []tensor.Tensor{ready([]int{4, 5})[0].Transpose().Reshape(20)}
		}, "copy", 1},
		{"no elements", func() []tensor.Tensor {
			return []tensor.Tensor{ready([]int{0, 5})[0].Exp().Add(1)}
		}, "", 0},
		{"constants", func() []tensor.Tensor {
			return []tensor.Tensor{tensor.Full(3, 4, 5).Mul(2).Add(1)}
		}, "fill", 2},
		{"common subexpressions", func() []tensor.Tensor {
			x := ready([]int{4, 5})[0]
			return []tensor.Tensor{x.Exp().Sum().Add(x.Exp().Sum())}
		}, "exp_sum_add", 5},
		{"a reduction with prologue and epilogue", func() []tensor.Tensor {
			x := ready([]int{4, 5}, []int{4, 5})
			return []tensor.Tensor{x[0].Mul(x[1]).Sum(1).Sqrt()}
		}, "mul_sum_sqrt", 3},
		{"a reduction of everything", func() []tensor.Tensor {
			return []tensor.Tensor{ready([]int{4, 5})[0].Square().Mean().Mul(0.5)}
		}, "mul_mean_mul", 3},
		{"several reductions of one tensor", func() []tensor.Tensor {
			x := ready([]int{4, 5})[0]
			return []tensor.Tensor{x.Sum(1), x.Max(1)}
		}, "sum_reduce_max", 2},
		{"a mean loss over the rows that count", func() []tensor.Tensor { return []tensor.Tensor{meanLoss(ready([]int{4, 5})[0])} },
			"cross_entropy ne_cast_sum_sum_div", 6},
		{"a mean loss and its gradient", func() []tensor.Tensor {
			x := ready([]int{4, 5})[0]
			loss := meanLoss(x)
			return append(tensor.Grad(loss, x), loss)
		}, "ne_cast_sum_div cross_entropy_cross_entropy_grad sum_div", 8},
		{"a gradient that depends on the losses", func() []tensor.Tensor {
			x := ready([]int{4, 5})[0]
			loss := meanLoss(x)
			return tensor.Grad(loss.Square(), x)
		}, "cross_entropy ne_cast_sum_sum_and_3 cross_entropy_grad", 11},
		{"a quotient of sums over other axes", func() []tensor.Tensor {
			x := ready([]int{4, 4}, []int{4, 4})
			return []tensor.Tensor{x[0].Sum(0).Div(x[1].Sum(1))}
		}, "sum sum_div", 3},
		{"a variance, whose second sum needs the first", func() []tensor.Tensor {
			x := ready([]int{4, 5})[0]
			mean := x.Sum().Div(20)
			return []tensor.Tensor{x.Sub(mean).Square().Sum().Div(mean)}
		}, "sum_div sub_mul_sum_div", 6},
		{"softmax", func() []tensor.Tensor {
			return []tensor.Tensor{ready([]int{4, 5})[0].Mul(0.5).Softmax(-1)}
		}, "mul_softmax", 2},
		{"matmul, bias, activation, residual", func() []tensor.Tensor {
			x := ready([]int{16, 5}, []int{5, 6}, []int{6}, []int{16, 6})
			return []tensor.Tensor{tensor.Linear(x[0], x[1], x[2]).Silu().Add(x[3])}
		}, "matmul_bias_silu_add", 4},
		{"matmul of batches with one weight", func() []tensor.Tensor {
			x := ready([]int{2, 8, 5}, []int{5, 6})
			return []tensor.Tensor{x[0].MatMul(x[1]).Silu()}
		}, "matmul_silu", 2},
		{"products of one input", func() []tensor.Tensor {
			x := ready([]int{16, 5}, []int{5, 6}, []int{5, 4}, []int{5, 4})
			return []tensor.Tensor{x[0].MatMul(x[1]), x[0].MatMul(x[2]), x[0].MatMul(x[3])}
		}, "matmul", 3},
		{"a sum of products", func() []tensor.Tensor {
			x := ready([]int{16, 5}, []int{5, 6}, []int{16, 3}, []int{3, 6})
			return []tensor.Tensor{x[0].MatMul(x[1]).Add(x[2].MatMul(x[3]))}
		}, "matmul", 3},
		{"a feed-forward layer", func() []tensor.Tensor {
			x := ready([]int{16, 5}, []int{5, 7}, []int{5, 7}, []int{7, 5})
			return []tensor.Tensor{x[0].MatMul(x[1]).Silu().Mul(x[0].MatMul(x[2])).MatMul(x[3]).Add(x[0])}
		}, "matmul matmul_silu_mul matmul_add", 6},
		{"LoRA, many rows", func() []tensor.Tensor {
			x := ready([]int{16, 12}, []int{12, 10}, []int{12, 2}, []int{2, 10})
			return []tensor.Tensor{tensor.LoRALinear(x[0], x[1], x[2], x[3], 2)}
		}, "lora_down lora_linear", 5},
		{"LoRA, few rows", func() []tensor.Tensor {
			x := ready([]int{8, 12}, []int{12, 10}, []int{12, 2}, []int{2, 10})
			return []tensor.Tensor{tensor.LoRALinear(x[0], x[1], x[2], x[3], 2)}
		}, "lora_linear_rows", 5},
		{"LoRA by hand, many rows", func() []tensor.Tensor {
			x := ready([]int{16, 12}, []int{12, 10}, []int{12, 2}, []int{2, 10})
			return []tensor.Tensor{x[0].MatMul(x[1]).Add(x[0].MatMul(x[2]).MatMul(x[3]).Mul(2))}
		}, "matmul_mul matmul", 5},
		{"LoRA by hand, few rows", func() []tensor.Tensor {
			x := ready([]int{8, 12}, []int{12, 10}, []int{12, 2}, []int{2, 10})
			return []tensor.Tensor{x[0].MatMul(x[1]).Add(x[0].MatMul(x[2]).MatMul(x[3]).Mul(2))}
		}, "matmul_rows_mul", 5},
		{"q, k and v with LoRA", func() []tensor.Tensor { return adapted(16) }, "lora_down lora_linear", 15},
		{"q, k and v with LoRA, few rows", func() []tensor.Tensor { return adapted(8) }, "lora_linear_rows", 15},
		{"layer norm", func() []tensor.Tensor {
			x := ready([]int{4, 5}, []int{5}, []int{5})
			return []tensor.Tensor{x[0].LayerNorm(x[1], x[2], 1e-5)}
		}, "layer_norm", 1},
		{"RMS norm of a sum", func() []tensor.Tensor {
			x := ready([]int{4, 5}, []int{5}, []int{4, 5})
			return []tensor.Tensor{x[0].Add(x[2]).RMSNorm(x[1], 1e-5)}
		}, "add_rms_norm", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := launches(c.build()...)
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("launched %q, want %q", s, c.want)
			}
			tensor.Within(tensor.WithFusion(t.Context(), false), func() {
				if got := launches(c.build()...); len(got) != c.unfused {
					t.Errorf("without fusion: launched %q, want %d", got, c.unfused)
				}
			})
		})
	}
}

// adapted is the projections of an attention layer with adapters.
func adapted(rows int) []tensor.Tensor {
	x := ready([]int{rows, 12})[0]
	var out []tensor.Tensor
	for range 3 {
		w := ready([]int{12, 10}, []int{12, 2}, []int{2, 10})
		out = append(out, tensor.LoRALinear(x, w[0], w[1], w[2], 2))
	}
	return out
}
