package tensor

import (
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// TestIntegersAreFloatsFirst: what gives f32 of integers computes with them as f32, in which nothing wraps
// around. So it is equal to the same function of the tensor as f32.
func TestIntegersAreFloatsFirst(t *testing.T) {
	other := func(x Tensor) Tensor { return x.Flip() }
	for name, f := range map[string]func(x Tensor) Tensor{
		"exp": Tensor.Exp, "sqrt": Tensor.Sqrt, "tan": Tensor.Tan, "sinh": Tensor.Sinh, "cosh": Tensor.Cosh, "tanh": Tensor.Tanh,
		"asinh": Tensor.Asinh, "acosh": Tensor.Acosh, "atan": Tensor.Atan, "cbrt": Tensor.Cbrt, "log2": Tensor.Log2, "exp2": Tensor.Exp2,
		"softplus": Tensor.Softplus, "log_sigmoid": Tensor.LogSigmoid, "sigmoid": Tensor.Sigmoid, "silu": Tensor.Silu, "gelu": Tensor.Gelu,
		"elu":          func(x Tensor) Tensor { return x.Elu(0.5) },
		"leaky_relu":   func(x Tensor) Tensor { return x.LeakyRelu(0.5) },
		"softmax":      func(x Tensor) Tensor { return x.Softmax(0) },
		"log_sum_exp":  func(x Tensor) Tensor { return x.LogSumExp() },
		"var":          func(x Tensor) Tensor { return x.Var() },
		"std":          func(x Tensor) Tensor { return x.Std() },
		"norm":         func(x Tensor) Tensor { return x.Norm() },
		"norm_axis":    func(x Tensor) Tensor { return x.Norm(0) },
		"quantile":     func(x Tensor) Tensor { return x.Quantile(0.3) },
		"lerp":         func(x Tensor) Tensor { return x.Lerp(other(x), 0.25) },
		"hypot":        func(x Tensor) Tensor { return x.Hypot(other(x)) },
		"log_add_exp":  func(x Tensor) Tensor { return x.LogAddExp(other(x)) },
		"fmod":         func(x Tensor) Tensor { return x.Fmod(math.Inf(1)) },
		"mean_squares": func(x Tensor) Tensor { return MeanSquares(x, other(x)) },
		"bce":          func(x Tensor) Tensor { return BinaryCrossEntropy(x, other(x)) },
		"cosine":       func(x Tensor) Tensor { return CosineSimilarity(x, x, 0) },
	} {
		for _, c := range []struct {
			dt   dtype.Type
			list []int
		}{{dtype.U8, []int{3, 200, 0, 255}}, {dtype.I8, []int{-128, 127, 3, -7}}, {dtype.U16, []int{3, 500, 0}}, {dtype.U64, []int{3, 1, 50}}} {
			x := FromAs(c.dt, c.list)
			got, want := f(x), f(x.Cast(dtype.F32))
			size := MaxAbsDiff(Where(want.IsFinite(), want, 0), Scalar(0))
			if far := MaxAbsDiff(got, want); got.DType() != dtype.F32 || !(far <= 1e-6*size) {
				t.Errorf("%s of %v %v: got %v, want %v", name, c.dt, c.list, got, want)
			}
		}
	}
}
